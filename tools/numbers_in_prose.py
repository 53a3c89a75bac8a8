"""Look up each number of a notebook's prose: what the page says, the page must also show.

usage: python -m tools.numbers_in_prose [NOTEBOOK ...]   (all of chapters/ if none is named)

Evidence is whatever a reader can see on the page: printed outputs, tables, formulas and code in
sight or folded, texts of figures, the state of an interactive figure, the benchmark pages that the
page links, what another page shows to which the sentence or the one before links, and one step of
arithmetic with numbers of these two. Exempt are numbers with a citation, whole numbers up to ten,
numbers in words, years, and numbers that name a chapter, page, figure, exercise or seed. A whole
number after "about" may be rounded at its zeros.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import permutations
from math import exp, prod
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from d2lattn.book.figures import SVG
from tools.run_notebooks import NOTEBOOKS

ROOT = Path(__file__).resolve().parent.parent
NUMBER = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\w]|[.,]\d)"
    r"(?P<unit>\s?(?:per\s?cent|million|[KMGT]B)\b|\s?%)?"
)
PARTS_WITHOUT_CLAIMS = re.compile(
    r"^:::\{div\} (?:facts|effort).*?^:::$"  # minutes
    r"|^#+ .*?$|^\*\*Figure [\d.]+\*\*|^\([\w-]+\)=$|^:::+.*?$"
    r"|^\d+\. "  # a list's own numbers
    r"|\{(?:cite|eq|term)[:\w]*\}`[^`]*`"
    r"|\]\([^)]*\)|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
SHOWN = re.compile(  # parts of a Markdown cell that are themselves evidence
    r"^```.*?^```$|^\|.*?\|$|\$\$.*?\$\$|\$[^$]+\$|`[^`\n]+`|!\[[^\]]*\]", re.DOTALL | re.MULTILINE
)
NAMES = re.compile(
    r"\b(?:[Cc]hapters?|[Ff]igures?|[Ww]orkshops?|[Pp]ages?|[Ee]xercises?|[Tt]able|[Ss]ections?"
    r"|[Ss]eeds?|[Ss]tep|[Tt]ask|PyTorch|Python)\s(?:\d[\d.a-c,]*(?:\s(?:and|to|or)\s\d[\d.a-c]*)?)"
    r"|\b\d{1,2}[a-c]?\.\d{1,2}\b(?=\])|\b1[5-9]\d\d\b|\b20\d\d\b"
)
SENTENCE_END = re.compile(r"(?<=[.?!])[*_)]*\s+(?=\W*[A-Z])|\n\n")
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
SCALES: dict[str, list[float]] = {
    "%": [100],
    "per cent": [100],
    "percent": [100],
    "million": [1e-6],
} | {unit: [1000.0**-n, 1024.0**-n] for n, unit in enumerate(("KB", "MB", "GB", "TB"), 1)}
"""What a shown number may be multiplied by where the prose gives it with a unit."""
ABOUT = re.compile(r"(?:about|some|nearly|almost|around|roughly|over|more than)\s$", re.I)


@dataclass
class Claim:
    """A number of the prose, where it stands, and what may prove it."""

    cell: int
    text: str
    value: float
    step: float
    """Unit of its last digit: 0.1 for 14.5."""
    sentences: str
    """Its sentence and the one before."""
    scales: list[float] = field(default_factory=list)


@dataclass
class Page:
    """Claims of a notebook and the numbers it shows."""

    path: Path
    claims: list[Claim] = field(default_factory=list)
    evidence: set[float] = field(default_factory=set)

    def unsupported(self) -> list[Claim]:
        """List the claims that neither a shown number nor arithmetic with such supports."""
        shown = [c for c in self.claims if any(agrees(c, value) for value in self.evidence)]
        known = self.evidence | {claim.value for claim in shown} | set(range(11))
        return [
            claim
            for claim in self.claims
            if claim not in shown
            and "{cite" not in claim.sentences
            and not any(agrees(claim, value) for value in computed(claim, known))
            and not any(agrees(claim, value) for value in linked(claim, self.path))
        ]


def numbers(text: str) -> Iterator[float]:
    """Yield the absolute value of each number in a text."""
    text = text.replace("{,}", ",").replace("\\,", "").replace("_", "")
    for found in re.finditer(
        r"(\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(\.\d+)?(?:e([-+]?\d\d?)(?!\w))?", text
    ):
        whole, fraction, power = found.groups()
        if whole or fraction:
            yield float((whole or "0").replace(",", "") + (fraction or "")) * 10.0 ** int(
                power or 0
            )


def agrees(claim: Claim, value: float) -> bool:
    """Say whether a value, rounded as the prose rounds, is the claim."""
    slack = 0.5 * claim.step * (1 + 1e-9) + 1e-12
    return any(abs(claim.value - scale * value) <= slack for scale in (1, *claim.scales))


def computed(claim: Claim, known: set[float]) -> Iterator[float]:
    """Yield what one step of arithmetic makes of other, known numbers near the claim."""
    text = claim.sentences.replace(claim.text, " ")
    values = set(numbers(text)) | {
        float(WORDS.index(word)) for word in re.findall(r"[a-z]+", text.lower()) if word in WORDS
    }
    for a, b in permutations(values & known, 2):
        yield from (a + b, a - b, a * b)
        if b:
            yield a / b
        if claim.scales and b:
            yield 1 - a / b
            yield a / b - 1
    yield from (power for a in values & known for power in (a**2, a**0.5))
    for chain in re.findall(r"[\d.,]+(?: [·×] [\d.,]+)+", text.replace("\\cdot", "·")):
        yield prod(numbers(chain))
    for power in re.findall(r"e\^\{?([-−]?[\d.]*\d)", text):
        yield exp(float(power.replace("−", "-")))


@cache
def evidence_of(path: Path) -> set[float]:
    """Collect the numbers that another page shows."""
    if path.suffix == ".ipynb":
        return read_page(nbformat.read(path, as_version=4), path).evidence
    return set(numbers(path.read_text("utf-8")))


def linked(claim: Claim, path: Path) -> Iterator[float]:
    """Yield what the notebooks and tables show to which the claim's sentences link."""
    for target in re.findall(r"\]\(([^)#\s]+\.(?:ipynb|md))", claim.sentences):
        there = (path.parent / target).resolve()
        if there.is_file():
            yield from evidence_of(there)


def read_claims(cell: int, source: str) -> Iterator[Claim]:
    """Yield the numbers that the prose of a Markdown cell claims."""
    prose = SHOWN.sub(lambda part: re.sub(r"[^\n]", "\0", part[0]), source)
    prose = PARTS_WITHOUT_CLAIMS.sub(lambda part: re.sub(r"[^\n]", " ", part[0]), prose)
    prose = NAMES.sub(lambda part: " " * len(part[0]), prose)
    for found in NUMBER.finditer(prose):
        whole, fraction = found[1].replace(",", ""), found[2] or ""
        value = float(whole + fraction)
        if not fraction and value <= 10 and found["unit"] is None:
            continue
        step = 10.0 ** -max(len(fraction) - 1, 0)
        if not fraction and ABOUT.search(prose[: found.start()]):
            step = 10.0 ** (len(whole) - len(whole.rstrip("0")))
        scales = SCALES.get((found["unit"] or "").strip(), [])
        before = re.split(SENTENCE_END, source[: found.end()])[-2:]
        after = re.split(SENTENCE_END, source[found.end() :])[0]
        yield Claim(cell, found[0].strip(), value, step, " ".join(before) + after, scales)


def shown_by(output: NotebookNode) -> Iterator[str]:
    """Yield the texts that a reader sees in an output."""
    yield output.get("text", "")
    data = output.get("data", {})
    yield data.get("text/markdown", "")
    html = data.get("text/html", "")
    plain = data.get("text/plain", "")
    if "data-d2lx" in html:  # words and tables, then the state
        yield re.sub(r"<!--.*?-->|<script.*?</script>|<[^>]*>", " ", html, flags=re.DOTALL)
        yield from re.findall(r'<script type="application/json">(.*?)</script>', html)
    elif html:
        yield re.sub(r"<style.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)
        yield plain
    elif "image/png" not in data:
        yield plain
    for drawn in output.get("metadata", {}).get("image/png", {}).get(SVG, {}).values():
        yield from re.findall(r"<text[^>]*>([^<]*)<", drawn)


def shown_beside(path: Path, source: str) -> Iterator[str]:
    """Yield the texts of the drawings and benchmark pages that a cell shows, reads or links."""
    for name in set(re.findall(r"images/([\w-]+\.svg)", source)):
        drawing = (ROOT / "images" / name).read_text("utf-8")
        yield from re.findall(r">([^<>]+)<", re.sub(r"<style.*?</style>", "", drawing, flags=re.S))
    for name in re.findall(r"sec-benchmark-([\w-]+)|([\w-]+)\.md\b", source):
        file = ROOT / "reference/benchmarks" / f"{name[0] or name[1]}.md"
        if file.exists():
            yield file.read_text("utf-8")


def read_page(notebook: NotebookNode, path: Path) -> Page:
    """Collect the claims of a notebook and the numbers it shows."""
    page = Page(path)
    texts: list[str] = []
    for i, cell in enumerate(notebook.cells):
        tags = set(cell.metadata.get("tags", []))
        if cell.cell_type == "markdown":
            page.claims.extend(read_claims(i, cell.source))
            texts.extend(SHOWN.findall(cell.source))
            texts.extend(shown_beside(path, cell.source))
        elif cell.cell_type == "code" and "remove-cell" not in tags:
            texts.append(re.sub(r"(?<!\w)[A-Za-z_]\w*", " ", cell.source))
            texts.extend(shown_beside(path, cell.source))
            texts.append(json.dumps(cell.metadata.get("mystnb", {}), ensure_ascii=False))
            for output in cell.outputs:
                texts.extend(shown_by(output))
    page.evidence = {value for text in texts for value in numbers(text)}
    return page


def report(notebook: NotebookNode, path: Path) -> list[str]:
    """Say of each unsupported number where it stands and what to do."""
    return [
        f"{path.parent.name}/{path.name}, cell {claim.cell}: nothing on the page shows "
        f"{claim.text!r}. Print it, correct it, or let it stand in a table, a formula or a "
        f"drawing.\n    {' '.join(claim.sentences.split())}"
        for claim in read_page(notebook, path).unsupported()
    ]


def main(names: list[str]) -> int:
    """Report on the named notebooks, or on all."""
    lines: list[str] = []
    for path in [Path(name).resolve() for name in names] or NOTEBOOKS:
        lines += report(nbformat.read(path, as_version=4), path)
    print("\n".join([*lines, f"{len(lines)} numbers that nothing shows"]))
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
