"""What each check of each chapter does, whatever its exercise: one test for all of them.

The chapters' own modules give a right answer to every check, and test what is theirs alone: the
wrong answers that were foreseen, each with its hint.
"""

import importlib
import math
import pkgutil
import re

import pytest
import torch

from d2lattn.book import exercises

CHAPTERS = [
    module.name
    for module in pkgutil.iter_modules(exercises.__path__)
    if re.fullmatch(r"chapter\d+", module.name)
]
CHECKS = {}
for chapter in CHAPTERS:
    CHECKS |= importlib.import_module(f"test_exercises_{chapter}").CHECKS


def name_of(check):
    return f"{check.__module__.rpartition('.')[2]}.{check.__name__}"


def in_place_of(answers, place, other):
    return [*answers[:place], other, *answers[place + 1 :]]


each = pytest.mark.parametrize("check", CHECKS, ids=name_of)
each_of_a_function = pytest.mark.parametrize(
    "check", [check for check, answers in CHECKS.items() if callable(answers[0])], ids=name_of
)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_check_is_here_and_has_an_exercise_of_its_own(chapter):
    module = importlib.import_module(f"d2lattn.book.exercises.{chapter}")
    checks = {check for name, check in vars(module).items() if name.startswith("check_")}
    assert checks == {check for check in CHECKS if check.__module__ == module.__name__}
    exercises_of = [check(None).exercise for check in checks]
    fewest = 4 if chapter >= "chapter09" else 7  # the last chapters: one short workshop
    assert len(set(exercises_of)) == len(checks) >= fewest
    own = re.compile(rf"{int(chapter[-2:])}b?\.\d+")  # its second walk's among them
    assert all(own.fullmatch(exercise) for exercise in exercises_of)


@each
def test_the_right_answer_passes(check):
    verdict = check(*CHECKS[check])
    assert verdict, verdict
    assert repr(verdict).startswith(f"✓ Exercise {check(None).exercise}: ")


@each
def test_an_untouched_stub_is_not_attempted(check):
    def stub(*arguments): ...

    answers = CHECKS[check]
    untouched = [[None] * len(answers), [...] * len(answers)]
    for place, answer in enumerate(answers):
        untouched += [in_place_of(answers, place, other) for other in (None, ...)]
        if callable(answer):
            untouched += [
                in_place_of(answers, place, stub),
                in_place_of(answers, place, lambda *a: ...),
            ]
        if isinstance(answer, tuple | list):  # a part of it is still to be done
            for part in range(len(answer)):
                half = in_place_of(answer, part, ...)
                untouched += [in_place_of(answers, place, kind(half)) for kind in (tuple, list)]
    for given in untouched:
        verdict = check(*given)
        assert not verdict
        assert verdict.sentence == "not attempted yet.", given
        assert verdict.exercise in repr(verdict)


def stops(*arguments):
    raise KeyError("lost")


VALUES = [
    "text",
    "",
    "ab",
    b"abc",
    [],
    {},
    {"a": 1},
    object(),
    -1,
    math.nan,
    math.inf,
    -math.inf,
    10**400,
    1j,
    [1, [2, 3]],
    ("x", "y"),
    (math.nan, math.nan),
    (math.nan, math.nan, math.nan),
    [0.0, -1e300, 7.0, math.inf],
    torch.zeros(0),
    torch.ones(2),
    torch.zeros(2, 2),
    torch.full((2,), math.nan),
    torch.ones(2, dtype=torch.int64),
    (torch.ones(2), torch.ones(5)),
    {1},
]
GARBAGE = [*VALUES, stops, lambda: 1, lambda *a: 1.0, lambda *a: a[0]]
GARBAGE += [lambda *a, value=value: value for value in VALUES]


@each
def test_garbage_gets_a_sentence_and_never_raises(check):
    answers = CHECKS[check]
    for number, garbage in enumerate(GARBAGE):
        for place in range(len(answers)):
            verdict = check(*in_place_of(answers, place, garbage))
            assert not verdict, (number, garbage)
            assert verdict.sentence.startswith("not yet. "), (number, verdict)
            assert repr(verdict).count("\n") == 0


@each_of_a_function
def test_an_error_in_the_function_is_named(check):
    verdict = check(stops, *CHECKS[check][1:])
    assert "your function stopped with KeyError" in verdict.sentence.replace("Your", "your")


CHANGES = {
    torch.Tensor: lambda tensor: tensor.is_floating_point() and tensor.add_(1.0),
    set: lambda links: links.add("more"),
    list: lambda places: places.append("more"),
}


@each_of_a_function
@pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.__name__)
def test_a_function_that_changes_its_argument_is_told(check, kind):
    answer, *given = CHECKS[check]
    changed = []

    def changes(*arguments):
        result = answer(*arguments)
        result = result.clone() if isinstance(result, torch.Tensor) else result
        for argument in arguments:
            if isinstance(argument, kind) and CHANGES[kind](argument) is not False:
                changed.append(argument)
        return result

    verdict = check(changes, *given)
    assert bool(verdict) == (not changed)
    assert ("changes its argument" in verdict.sentence) == bool(changed), verdict


def with_each(change, answer):
    """An answer with each of its parts changed."""
    return (
        tuple(with_each(change, part) for part in answer)
        if isinstance(answer, tuple)
        else change(answer)
    )
