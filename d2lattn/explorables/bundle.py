"""Put an explorable's module, and what it uses of the kit, into one piece of JavaScript.

A notebook has no place for files beside it, so both hosts get a single string. The joining is by
lines and rests on three habits of the sources, which the tests check:

- every top-level declaration of ``kit.js`` starts in the first column, with ``const``,
  ``function`` or ``export`` before them, and nothing else does except ``}`` and comments;
- comments stand on lines of their own, statements end in semicolons, and no template string
  stands inside another;
- a module has one ``import { … } from "./kit.js";`` and ends in ``export default { render };``.
"""

import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
EXPORT = "export default { render };"

_DECLARATION = re.compile(r"^(?:export )?(?:const|function) (\w+)", re.MULTILINE)
_IMPORT = re.compile(r"^import \{([^}]*)\} from \"\./kit\.js\";\n", re.MULTILINE)
_STRING = re.compile(r'("(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`)')
_LOOSE = re.compile(r"\s*([=*/?:,;{}()<>&|\[\]!])\s*")
# Not beside another sign: "- -" must not become "--".
_SIGN = re.compile(r"(?<=[\w)\]]) ([+-]) (?=[\w(\[])")
_WORD = re.compile(r"\w+")


def squeeze(source: str) -> str:
    """Leave out comment lines and the white space that means nothing; strings stay as they are.

    >>> squeeze('// why\\n  const a = b - -1;\\n\\n  f(a + b, "1, 2");')
    'const a=b - -1;f(a+b,"1, 2");'
    """
    lines = (line.strip() for line in source.splitlines())
    text = "\n".join(line for line in lines if line and not line.startswith("//"))
    between = _STRING.split(text)
    # Odd places hold the strings.
    between[::2] = [_LOOSE.sub(r"\1", _SIGN.sub(r"\1", piece)) for piece in between[::2]]
    return "".join(between)


@cache
def _kit_parts() -> dict[str, str]:
    """The kit's declarations by name, in the order of the file."""
    source = (HERE / "kit.js").read_text(encoding="utf-8")
    starts = list(_DECLARATION.finditer(source))
    ends = [following.start() for following in starts[1:]] + [len(source)]
    return {
        start[1]: squeeze(source[start.start() : end]).removeprefix("export ")
        for start, end in zip(starts, ends, strict=True)
    }


def used_of_kit(names: set[str]) -> str:
    """The named parts of the kit with all that they mention themselves, in the file's order.

    Raises ValueError for a name that the kit does not have.
    """
    parts = _kit_parts()
    if unknown := sorted(names - parts.keys()):
        raise ValueError(f"kit.js has no {', '.join(unknown)}; it has {', '.join(parts)}")
    needed: set[str] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        needed.add(name)
        waiting |= (set(_WORD.findall(parts[name])) & parts.keys()) - needed
    return "\n".join(text for name, text in parts.items() if name in needed)


def bundle(source: str) -> str:
    """One ES module out of an explorable's source: ``export default { render }`` at its end.

    Raises ValueError when the source does not import the kit or has no default export.
    """
    found = _IMPORT.search(source)
    if not found or EXPORT not in source:
        raise ValueError(
            f'a module starts with import {{ … }} from "./kit.js"; and ends in {EXPORT}'
        )
    names = set(_WORD.findall(found[1]))
    body = _IMPORT.sub("", source, count=1).replace(EXPORT, "")
    return f"{used_of_kit(names)}\n{squeeze(body)}\n{EXPORT}\n"


@cache
def _rules() -> list[tuple[frozenset[str], str]]:
    """The style sheet's rules without white space, each with the kit's classes it is for."""
    text = (HERE / "kit.css").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*([{};,])\s*", r"\1", text)
    text = re.sub(r"\s+", " ", re.sub(r":\s+", ":", text)).strip().replace(";}", "}")
    rules = re.findall(r"[^{}]+\{(?:[^{}]|\{[^{}]*\})*\}", text)
    return [(frozenset(re.findall(r"\.(d2lx-\w+)", rule.split("{")[0])), rule) for rule in rules]


def style(code: str) -> str:
    """The style sheet, less the rules for classes that the code does not mention."""
    used = set(re.findall(r"d2lx-\w+", code))
    return "".join(rule for classes, rule in _rules() if not classes or classes & used)


@cache
def static_host() -> str:
    """The function that starts an explorable without a kernel."""
    return squeeze((HERE / "static.js").read_text(encoding="utf-8"))
