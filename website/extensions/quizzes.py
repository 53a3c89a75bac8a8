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


def load_quiz(path: Path) -> Quiz:
    """Read one file."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    questions = tuple(
        Question(
            f"{path.stem}-{number}",
            item["asks"],
            Answer(item["right"], item["because"]),
            tuple(Answer(wrong["says"], wrong["means"]) for wrong in item["wrong"]),
            item.get("holds", ""),
        )
        for number, item in enumerate(data["questions"], 1)
    )
    return Quiz(path.stem, data["walk"], questions)


def sort_key(chapter: str) -> tuple[int, str]:
    """Sort chapters as 3, 3b, 4, …, 10."""
    number, letter = re.fullmatch(r"(\d+)(\w?)", chapter).groups()
    return int(number), letter


def load_quizzes(folder: Path = FOLDER) -> list[Quiz]:
    """Read all quizzes, in the order of the book."""
    return sorted(map(load_quiz, folder.glob("*.yaml")), key=lambda quiz: sort_key(quiz.chapter))


def escaped(text: str) -> str:
    r"""Escape what GIFT would read as markup.

    >>> escaped("q = {1}: 50 %")
    'q \\= \\{1\\}\\: 50 %'
    """
    return re.sub(r"([\\~=#{}:])", r"\\\1", text)


def gift(quizzes: list[Quiz]) -> str:
    """Write quizzes in GIFT, which Moodle and others import, and shuffle themselves."""
    parts = [
        "// Attention You Can Run: the quizzes of its walks. The text after # is shown afterwards."
    ]
    for quiz in quizzes:
        parts.append(f"$CATEGORY: Attention You Can Run/Chapter {quiz.chapter}")
        for item in quiz.questions:
            marked = [("=", item.right), *(("~", answer) for answer in item.wrong)]
            answers = "\n".join(
                f"\t{mark}{escaped(answer.says)}#{escaped(answer.means)}" for mark, answer in marked
            )
            parts.append(f"::{item.name}::[markdown]{escaped(item.asks)}{{\n{answers}\n}}")
    return "\n\n".join(parts) + "\n"


def table(quizzes: list[Quiz]) -> str:
    """Write quizzes as CSV, a row an answer."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["chapter", "question", "text", "correct", "answer", "explanation"])
    for quiz in quizzes:
        for item in quiz.questions:
            for kind, answer in [("yes", item.right), *(("no", other) for other in item.wrong)]:
                rows.writerow([quiz.chapter, item.name, item.asks, kind, answer.says, answer.means])
    return text.getvalue()


def write_files(folder: Path, quizzes: list[Quiz] | None = None) -> list[Path]:
    """Write all files into a folder."""
    quizzes = load_quizzes() if quizzes is None else quizzes
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
    for path in write_files(Path(sys.argv[1])):
        print(path)
