"""Every check of every chapter: its right answer, its mistakes, stubs and what is no answer.

A check declares its right answer and some wrong ones beside itself, and its tables of mistakes go
through `recognise`. So nothing here knows an exercise.
"""

import importlib
import inspect
import itertools
import math
import pkgutil
import re
import sys
from fractions import Fraction

import numpy as np
import pytest
import torch

from d2lattn.book import exercises
from d2lattn.book.exercises import checking
from d2lattn.book.exercises.checking import Check, WrongAnswer, agrees, recognise

CALL = checking.call

MODULES = [
    importlib.import_module(f"{exercises.__name__}.{module.name}")
    for module in pkgutil.iter_modules(exercises.__path__)
    if re.fullmatch(r"chapter\d+", module.name)
]
CHECKS = [
    check for module in MODULES for check in vars(module).values() if isinstance(check, Check)
]
FUNCTION_CHECKS = [check for check in CHECKS if callable(check.right[0])]
GENERIC = re.compile(r"could not read|stopped with|has shape|should be (a tensor|one number)")


def name_of(check):
    return f"{check.__module__.rpartition('.')[2]}.{check.__name__}"


each = pytest.mark.parametrize("check", CHECKS, ids=name_of)
each_of_a_function = pytest.mark.parametrize("check", FUNCTION_CHECKS, ids=name_of)


def replace(answers, place, other):
    return (*answers[:place], other, *answers[place + 1 :])


def wrong_answers(check):
    """All arguments of the check, for each wrong answer that it declares."""
    for wrong in check.wrong:
        complete = isinstance(wrong, tuple) and len(wrong) == len(check.right)
        yield wrong if complete else replace(check.right, 0, wrong)


def perturbed(value):
    """Something of the same kind that is wrong, and of no mistake that anybody would make."""
    if callable(value):
        return lambda *arguments: perturbed(value(*arguments))
    if isinstance(value, tuple | list):
        return type(value)(perturbed(part) for part in value)
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value * 1.37 + 0.411
    return value * 1.37 + 0.411 if type(value) in (int, float) else value


@each
def test_the_right_answer_gets_its_one_sentence(check):
    verdict = check(*check.right)
    assert verdict, verdict
    assert repr(verdict).startswith(f"✓ Exercise {check.exercise}: ")
    assert "\n" not in verdict.sentence


def test_every_exercise_has_one_check():
    numbers = [check.exercise for check in CHECKS]
    assert len(set(numbers)) == len(numbers)
    for check in CHECKS:
        chapter = int(check.__module__[-2:])
        assert re.fullmatch(rf"{chapter}[a-z]?\.\d+", check.exercise)


@each
def test_each_declared_wrong_answer_gets_a_hint_of_its_own(check):
    sentences = []
    for answers in wrong_answers(check):
        verdict = check(*answers)
        assert not verdict
        assert verdict.sentence.startswith("not yet. ")
        assert not GENERIC.search(verdict.sentence), verdict
        sentences.append(verdict.sentence)
    assert len(set(sentences)) == len(sentences), sentences
    assert check(*map(perturbed, check.right)).sentence not in sentences


class Tables:
    """The tables of mistakes that a check consults, noted while it judges two answers."""

    def __init__(self, check, monkeypatch):
        self.results = []  # of the calls of the right answer
        self.entries = []  # how many calls came before, a mistake and its hint
        self.hints = set()
        for module in (checking, importlib.import_module(check.__module__)):
            monkeypatch.setattr(module, "call", self.counting(CALL), raising=False)
            monkeypatch.setattr(module, "recognise", self.noting, raising=False)
        check(*map(perturbed, check.right))
        self.results.clear()
        check(*check.right)
        monkeypatch.undo()

    def counting(self, call):
        def counted(*arguments, **named):
            self.results.append(call(*arguments, **named))
            return self.results[-1]

        return counted

    def noting(self, answer, mistakes, *arguments, **named):
        mistakes = list(mistakes)
        for result, hint in mistakes:
            self.hints.add(without_numbers(hint))
            try:
                recognise(result, [(result, hint)], *arguments, **named)
            except WrongAnswer:  # it differs from the right answer
                self.entries.append((len(self.results), result, hint))
        recognise(answer, mistakes, *arguments, **named)


def without_numbers(hint):
    """A hint as it is in every case that a check tries."""
    return re.sub(r"\d+", "#", hint.lower())


def function_giving(right, results, first_call):
    """The right function, but for the calls from one on, which give these results."""
    calls = itertools.count(1 - first_call)

    def function(*arguments):
        call = next(calls)
        return results[call] if 0 <= call < len(results) else right(*arguments)

    return function


def parts_replaced(value, result):
    """What a mistake may have changed: all of the value, or a part."""
    yield result
    if isinstance(value, tuple | list):
        for place in range(len(value)):
            yield replace(tuple(value), place, result)


def answers_with(check, results, calls, mistake):
    """Answers that a reader could give, of which this mistake is the result."""
    right = check.right[0]
    if not callable(right):
        yield mistake if isinstance(mistake, tuple) else (mistake,)
        for place, value in enumerate(check.right):
            for changed in parts_replaced(value, mistake):
                yield replace(check.right, place, changed)
        return
    for changed in parts_replaced(results[calls - 1], mistake):
        yield (function_giving(right, [changed], calls),)
    if np.ndim(mistake) and calls == len(mistake):  # a part of it for each call
        yield (function_giving(right, list(mistake), 1),)


@each
def test_each_mistake_of_a_table_gets_its_hint_and_no_other(check, monkeypatch):
    tables = Tables(check, monkeypatch)
    assert check.wrong or tables.entries, "a check knows a mistake"
    hints = tables.hints
    declared = [without_numbers(check(*answers).sentence) for answers in wrong_answers(check)]
    given = {hint for hint in hints if any(hint in sentence for sentence in declared)}
    for calls, mistake, hint in tables.entries:
        hint = without_numbers(hint)
        if hint in given:
            continue
        for answers in answers_with(check, tables.results, calls, mistake):
            sentence = without_numbers(check(*answers).sentence)
            if hint in sentence:
                others = {other for other in hints if other not in hint}
                assert not any(other in sentence for other in others), sentence
                given.add(hint)
                break
    assert given == hints
    generic = without_numbers(check(*map(perturbed, check.right)).sentence)
    assert not any(hint in generic for hint in hints)


@each
def test_untouched_stub_counts_as_not_attempted(check):
    def stub(*arguments): ...

    answers = check.right
    untouched = [[None] * len(answers), [...] * len(answers)]
    for place, answer in enumerate(answers):
        untouched += [replace(answers, place, other) for other in (None, ...)]
        if callable(answer):
            untouched += [replace(answers, place, stub), replace(answers, place, lambda *a: ...)]
        if isinstance(answer, tuple | list):  # a part of it is still to be done
            for part in range(len(answer)):
                half = replace(tuple(answer), part, ...)
                untouched += [replace(answers, place, kind(half)) for kind in (tuple, list)]
    for given in untouched:
        verdict = check(*given)
        assert not verdict
        assert verdict.sentence == "not attempted yet.", given
        assert verdict.exercise in repr(verdict)


def stops(*arguments):
    raise KeyError("lost")


def leaves(*arguments):
    sys.exit()


VALUES = [
    *("text", b"abc", [], {"a": 1}, object(), -1, math.nan, math.inf, 10**400, 1j),
    *([1, [2, 3]], ("x", "y"), (math.nan,) * 2, (math.nan,) * 3),
    *(torch.zeros(0), torch.ones(2), torch.zeros(2, 2), torch.full((2,), math.nan)),
    *(torch.ones(2, dtype=torch.int64), (torch.ones(2), torch.ones(5))),
]
NO_ANSWERS = [*VALUES, stops, leaves, lambda: 1, lambda *a: 1.0, lambda *a: a[0]]
NO_ANSWERS += [lambda *a, value=value: value for value in VALUES]


@each
def test_unreadable_answer_gets_a_sentence_and_is_never_right(check):
    for number, answer in enumerate(NO_ANSWERS):
        for place in range(len(check.right)):
            verdict = check(*replace(check.right, place, answer))
            assert not verdict, (number, answer)
            assert verdict.sentence.startswith("not yet. "), (number, verdict)
            assert "\n" not in repr(verdict)


@each_of_a_function
def test_an_error_in_the_function_is_named(check):
    verdict = check(stops, *check.right[1:])
    assert "your function stopped with KeyError" in verdict.sentence.replace("Your", "your")


CHANGES = {
    torch.Tensor: lambda tensor: tensor.is_floating_point() and tensor.add_(1.0),
    set: lambda links: links.add("more"),
    list: lambda places: places.append("more"),
}


@each_of_a_function
@pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.__name__)
def test_function_that_changes_its_argument_is_told_so(check, kind):
    answer, *given = check.right
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


@each
def test_right_answer_passes_with_any_default_device_and_dtype(check):
    luck = torch.get_rng_state()
    torch.set_default_device("meta")
    torch.set_default_dtype(torch.float64)
    try:
        verdict = check(*check.right)
        assert torch.get_default_device() == torch.device("meta")
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    assert verdict, verdict
    assert torch.equal(torch.get_rng_state(), luck), "a reader's random numbers stay the same"


def change_each(change, answer):
    """An answer with each of its parts changed."""
    if isinstance(answer, tuple):
        return tuple(change_each(change, part) for part in answer)
    return change(answer)


def of_one_type(check, kind):
    """Whether an answer is made of such things alone."""
    types = set()
    change_each(lambda part: types.add(type(part)), check.right)
    return types <= kind


@pytest.mark.parametrize("kind", [np.bool_, np.array, torch.tensor], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("check", [c for c in CHECKS if of_one_type(c, {bool})], ids=name_of)
def test_true_and_false_may_come_from_numpy_and_pytorch(check, kind):
    assert check(*change_each(kind, check.right))
    wrong = check(*change_each(lambda part: kind(not part), check.right))
    assert not wrong
    assert "True or False" not in wrong.sentence


@pytest.mark.parametrize("kind", [np.float64, np.array, torch.tensor, Fraction])
@pytest.mark.parametrize("check", [c for c in CHECKS if of_one_type(c, {int, float})], ids=name_of)
def test_numbers_may_have_any_type(check, kind):
    assert check(*change_each(kind, check.right))


@each
def test_a_check_can_be_called_by_keyword(check):
    names = inspect.signature(check.function).parameters
    assert check(**dict(zip(names, check.right, strict=True)))
    assert "could not read" in check().sentence
    assert "could not read" in check(*check.right, other=1).sentence


def test_recognise_raises_the_hint_of_the_first_mistake():
    mistakes = [(torch.ones(2), "ones"), (torch.ones(3), "more"), (torch.ones(2), "again")]
    for found in (torch.ones(2), torch.ones(2).double(), torch.ones(2).requires_grad_(), [1, 1]):
        with pytest.raises(WrongAnswer, match=r"^ones$"):
            recognise(found, mistakes)
        recognise(found, mistakes, expected=torch.ones(2))
    for found in (torch.zeros(2), torch.ones(4), "ones", None):
        recognise(found, mistakes)


def test_two_results_agree_in_shape_and_within_the_tolerance():
    wanted = torch.tensor([0.0, 100.0])
    assert agrees(wanted + torch.tensor([0.9e-5, 0.9e-2]), wanted)
    assert not agrees(wanted + torch.tensor([1.1e-5, 0.0]), wanted)
    assert not agrees(wanted + torch.tensor([0.0, 1.1e-2]), wanted)
    assert agrees(wanted + torch.tensor([1.1e-5, 0.0]), wanted, atol=1e-4)
    assert agrees(wanted + torch.tensor([0.0, 1.1e-2]), wanted, rtol=1e-3)
    assert not agrees(wanted[:1], torch.zeros(2))  # though it would broadcast
