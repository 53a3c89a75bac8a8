"""Exercises that ask for letters, for True or False, or for numbers: tables in ``choices.toml``."""

import re
import tomllib
from collections.abc import Iterator
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

from d2lattn.book.exercises.checking import Check, judge_letters, judge_number, judge_statements

TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


def choice(exercise: str) -> Check:
    """Make the check of an exercise from its table.

    >>> from d2lattn.book.exercises.chapter07 import check_reorder
    >>> check_reorder("A")
    ✓ Exercise 7.5: each hypothesis takes its parent's keys and values; they all share one source.
    """
    table = TABLES[exercise]
    (kind,) = {"letters", "claims", "numbers"} & table.keys()
    questions = table[kind]
    signature = Signature(
        [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in table["answers"]]
    )
    as_one = len(signature.parameters) < len(questions)  # all claims in one sequence
    right = tuple(question["right"] for question in questions)

    def judge(*answers: Any, **named: Any) -> str:
        answers = signature.bind(*answers, **named).args
        if kind == "claims":
            claims = [(question["right"], question["reason"]) for question in questions]
            judge_statements(answers[0] if as_one else answers, claims)
            return table["praise"]
        for answer, question in zip(answers, questions, strict=True):
            if kind == "letters":
                judge_letters(answer, **question)
            else:
                options = {key: value for key, value in question.items() if key != "right"}
                options["mistakes"] = dict(question["mistakes"])
                judge_number(answer, question["right"], **options)
        return table["praise"]

    chapter = int(re.findall(r"\d+", exercise)[0])
    judge.__name__, judge.__doc__ = table["name"], table["about"]
    judge.__module__ = f"{__package__}.chapter{chapter:02}"
    judge.__signature__ = signature  # type: ignore[attr-defined]
    all_wrong = [
        (*right[:place], wrong, *right[place + 1 :])
        for place, question in enumerate(questions)
        for wrong in wrong_answers(question)
    ]
    if as_one:
        return Check(exercise, judge, (right,), [(wrong,) for wrong in all_wrong])
    return Check(exercise, judge, right, all_wrong)


def wrong_answers(question: dict[str, Any]) -> Iterator[str | bool]:
    """Yield answers with one letter too many or too few, or the wrong truth value."""
    if "reason" in question:
        yield not question["right"]
    for letter in question.get("reasons", ()):
        if wrong := set(question["right"]) ^ {letter}:
            yield "".join(sorted(wrong))
