"""The quizzes of `teaching/quizzes/`, a file a chapter, and the files that others read.

usage: python -m website.extensions.quizzes FOLDER

Writes quizzes.csv, quizzes.gift, and one .gift a walk.
"""

import csv
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

FOLDER = Path(__file__).resolve().parents[2] / "teaching" / "quizzes"


@dataclass(frozen=True)
class Answer:
    """One answer that a student gives, and what it tells."""

    says: str
    means: str


@dataclass(frozen=True)
class Question:
    """A question with its right answer, why it is right, and the typical wrong ones."""

    name: str
    asks: str
    right: Answer
    wrong: tuple[Answer, ...]
    holds: str = ""
    """Python that is true if the right answer is: for numbers, so that a test can work them out."""


@dataclass(frozen=True)
class Quiz:
    """The questions of one walk."""

    chapter: str
    walk: str
    questions: tuple[Question, ...]


def read(path: Path) -> Quiz:
    """Read one file."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    questions = tuple(
        Question(
            f"{path.stem}-{number}",
            one["asks"],
            Answer(one["right"], one["because"]),
            tuple(Answer(other["says"], other["means"]) for other in one["wrong"]),
            one.get("holds", ""),
        )
        for number, one in enumerate(found["questions"], 1)
    )
    return Quiz(path.stem, found["walk"], questions)


def place(chapter: str) -> tuple[int, str]:
    """Where a chapter stands among the others: 3, 3b, 4, …, 10."""
    number, letter = re.fullmatch(r"(\d+)(\w?)", chapter).groups()
    return int(number), letter


def read_all(folder: Path = FOLDER) -> list[Quiz]:
    """Read all quizzes, in the order of the book."""
    return sorted(map(read, folder.glob("*.yaml")), key=lambda quiz: place(quiz.chapter))


def escaped(text: str) -> str:
    r"""Take from a text what GIFT would read as a sign of its own.

    >>> escaped("q = {1}: 50 %")
    'q \\= \\{1\\}\\: 50 %'
    """
    return re.sub(r"([\\~=#{}:])", r"\\\1", text)


def gift(quizzes: list[Quiz]) -> str:
    """Write quizzes in GIFT, which Moodle and others import, and shuffle themselves."""
    parts = [
        "// Attention You Can Run: the quizzes of its walks. What follows # is told afterwards."
    ]
    for quiz in quizzes:
        parts.append(f"$CATEGORY: Attention You Can Run/Chapter {quiz.chapter}")
        for one in quiz.questions:
            marked = [("=", one.right), *(("~", answer) for answer in one.wrong)]
            answers = "\n".join(
                f"\t{mark}{escaped(answer.says)}#{escaped(answer.means)}" for mark, answer in marked
            )
            parts.append(f"::{one.name}::[markdown]{escaped(one.asks)}{{\n{answers}\n}}")
    return "\n\n".join(parts) + "\n"


def table(quizzes: list[Quiz]) -> str:
    """Write quizzes as CSV, a row an answer."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["chapter", "question", "asks", "right", "answer", "what it means"])
    for quiz in quizzes:
        for one in quiz.questions:
            for kind, answer in [("yes", one.right), *(("no", other) for other in one.wrong)]:
                rows.writerow([quiz.chapter, one.name, one.asks, kind, answer.says, answer.means])
    return text.getvalue()


def write(folder: Path, quizzes: list[Quiz] | None = None) -> list[Path]:
    """Write all files into a folder."""
    quizzes = read_all() if quizzes is None else quizzes
    folder.mkdir(parents=True, exist_ok=True)
    # A spreadsheet takes a file for UTF-8 if it begins so
    files = {"quizzes.csv": "\ufeff" + table(quizzes), "quizzes.gift": gift(quizzes)}
    files |= {f"quiz-{quiz.chapter}.gift": gift([quiz]) for quiz in quizzes}
    for name, text in files.items():
        (folder / name).write_bytes(text.encode("utf-8"))
    return [folder / name for name in files]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for path in write(Path(sys.argv[1])):
        print(path)
