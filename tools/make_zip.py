"""Put the built book into one zip, which is unpacked and opened from a folder.

usage: make zip, or after make book: python -m tools.make_zip [FILE]
"""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "_build" / "html"
NAME = "attention-you-can-run"
LEFT_OUT = {".buildinfo", ".nojekyll", "404.html", "sitemap.xml"}
"""What only Sphinx or a server reads."""
WHEN = (1980, 1, 1, 0, 0, 0)  # so that the same book makes the same file


def write(file: Path, book: Path = BOOK) -> int:
    """Write the zip, and say how many files it holds."""
    if not (book / "index.html").exists():
        raise SystemExit("the book is not built; call: make book")
    file.parent.mkdir(parents=True, exist_ok=True)
    paths = [path for path in sorted(book.rglob("*")) if path.is_file()]
    paths = [path for path in paths if str(path.relative_to(book)) not in LEFT_OUT]
    with ZipFile(file, "w", ZIP_DEFLATED) as folder:
        for path in paths:
            name = f"{NAME}/{path.relative_to(book).as_posix()}"
            entry = ZipInfo(name, WHEN)
            entry.external_attr = 0o644 << 16  # ZipInfo's own says that nobody may read it
            folder.writestr(entry, path.read_bytes(), ZIP_DEFLATED)
    return len(paths)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build" / f"{NAME}.zip"
    number = write(target)
    print(f"{number} files, {target.stat().st_size / 2**20:.1f} MB: {target}")
