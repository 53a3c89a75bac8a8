"""What every check shares: the verdict, the three ways to reach it, and safe calls of answers."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Verdict:
    """What a check found: prints as its sentence, and is true only for a right answer."""

    exercise: str
    correct: bool
    sentence: str

    def __bool__(self) -> bool:
        return self.correct

    def __repr__(self) -> str:
        return f"{'✓' if self.correct else '·'} Exercise {self.exercise}: {self.sentence}"


class NotAttempted(Exception):
    """The stub is still as it was: it gave ``None`` or ``...``."""


class Differs(Exception):
    """The answer is wrong; the message says what differs and hints at why."""


def check(exercise: str) -> Callable[[Callable[..., str]], Callable[..., Verdict]]:
    """Turn a function that returns praise, or raises :class:`Differs`, into a check.

    Whatever happens inside, the reader gets a sentence and never a traceback.
    """

    def decorate(function: Callable[..., str]) -> Callable[..., Verdict]:
        @functools.wraps(function)
        def checked(*answers: Any) -> Verdict:
            try:
                if any(unattempted(answer) for answer in answers):
                    raise NotAttempted
                return Verdict(exercise, True, function(*answers))
            except NotAttempted:
                return Verdict(exercise, False, "not attempted yet.")
            except Differs as difference:
                return Verdict(exercise, False, f"not yet. {difference}")
            except Exception as error:  # an answer of a kind that the check did not foresee
                return Verdict(
                    exercise,
                    False,
                    f"not yet. The check could not read this answer "
                    f"({type(error).__name__}: {error}).",
                )

        return checked

    return decorate


def unattempted(answer: Any) -> bool:
    """Whether an answer is the stub's placeholder, alone or inside a tuple or list."""
    if isinstance(answer, tuple | list):
        return any(unattempted(part) for part in answer)
    return answer is None or answer is ...


def call(answer: Callable[..., Any], *arguments: Any) -> Any:
    """Call a reader's function on copies; a stub or an error in it becomes a sentence."""
    if not callable(answer):
        raise Differs(f"A function is needed here; this is {type(answer).__name__}.")
    copies = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    try:
        result = answer(*copies)
    except Exception as error:
        raise Differs(f"Your function stopped with {type(error).__name__}: {error}") from error
    if unattempted(result):
        raise NotAttempted
    return result


def number(answer: Any, what: str = "the answer") -> float:
    """Read one finite number from a float, an integer or a tensor of one element."""
    try:
        value = float(answer)
    except (TypeError, ValueError, RuntimeError):
        raise Differs(f"{what} should be one number; this is {type(answer).__name__}.") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise Differs(f"{what} should be a finite number; this is {value}.")
    return value


def tensor_like(answer: Any, wanted: torch.Tensor, what: str = "the result") -> torch.Tensor:
    """Read a tensor of the wanted shape, or say which shape it has."""
    try:
        found = torch.as_tensor(answer).detach().to(wanted.dtype)
    except (TypeError, ValueError, RuntimeError):
        raise Differs(f"{what} should be a tensor; this is {type(answer).__name__}.") from None
    if found.shape != wanted.shape:
        raise Differs(f"{what} has shape {tuple(found.shape)}; {tuple(wanted.shape)} is needed.")
    return found


def same(answer: Any, wanted: torch.Tensor, hint: str, what: str = "the result") -> None:
    """Raise :class:`Differs` with the first differing entry and a hint, unless all agree."""
    found = tensor_like(answer, wanted, what)
    wrong = ~torch.isclose(found, wanted, rtol=1e-4, atol=1e-5)
    if wrong.any():
        place = tuple(wrong.nonzero()[0].tolist())
        where = f" at {list(place)}" if place else ""
        raise Differs(
            f"{what}{where} is {found[place].item():.4g}; "
            f"{wanted[place].item():.4g} was expected. {hint}"
        )
