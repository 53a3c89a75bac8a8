"""What all checks share: the verdict, three ways to reach it, and safe calls of answers."""

import functools
import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

Function = Callable[..., Any]
"""What a reader writes; its arguments and its result stand in the docstring of its check."""

# How far a right answer may be off, as a share of what is expected and beside 0.
RTOL, ATOL = 1e-4, 1e-5


@dataclass(frozen=True)
class Verdict:
    """The result of a check: it prints as a sentence, and is true only for a right answer."""

    exercise: str
    correct: bool
    sentence: str

    def __bool__(self) -> bool:
        return self.correct

    def __repr__(self) -> str:
        return f"{'✓' if self.correct else '·'} Exercise {self.exercise}: {self.sentence}"


class NotAttempted(Exception):
    """The stub is unchanged: it returned ``None`` or ``...``."""


class WrongAnswer(Exception):
    """The answer is wrong; the message says what differs and hints at why."""


class Check:
    """A check of one exercise, with a right answer and wrong ones.

    Whatever happens inside, the reader gets a sentence and never a traceback. New tensors are in
    single precision and on the CPU while a check runs, and random ones are the same at each call,
    whatever the notebook has set, so that the answer is tried on the numbers of the check.
    """

    def __init__(
        self,
        exercise: str,
        function: Callable[..., str],
        right: Sequence[Any],
        wrong: Sequence[Any],
    ) -> None:
        functools.update_wrapper(self, function)
        self.exercise = exercise
        self.function = function
        self.right = tuple(right)
        self.wrong = tuple(wrong)

    def __call__(self, *answers: Any, **named: Any) -> Verdict:
        """Judge the answers of a reader."""
        dtype = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            with torch.device("cpu"), torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                if any(unattempted(answer) for answer in (*answers, *named.values())):
                    raise NotAttempted
                return Verdict(self.exercise, True, self.function(*answers, **named))
        except NotAttempted:
            return Verdict(self.exercise, False, "not attempted yet.")
        except WrongAnswer as difference:
            sentence = _line(difference)
            sentence = f"not yet. {sentence[:1].upper()}{sentence[1:]}"
            return Verdict(self.exercise, False, sentence)
        # An answer of a kind that the check did not foresee, or one that would leave Python.
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {_line(error)}"
            sentence = f"not yet. The check could not read this answer ({reason})."
            return Verdict(self.exercise, False, sentence)
        finally:
            torch.set_default_dtype(dtype)


def check(
    exercise: str, right: Sequence[Any], wrong: Sequence[Any] = ()
) -> Callable[[Callable[..., str]], Check]:
    """Turn a function that returns praise, or raises :class:`WrongAnswer`, into a check.

    Args:
        exercise: its number.
        right: a right answer, as the arguments of the check.
        wrong: answers with a hint of their own that no table of :func:`recognise` holds, each in
            place of the first argument, or as a tuple of all.
    """

    def decorate(function: Callable[..., str]) -> Check:
        return Check(exercise, function, right, wrong)

    return decorate


def _line(error: BaseException) -> str:
    """A message in one line, whatever it quotes: a printed matrix has several."""
    return " ".join(str(error).split())


def unattempted(answer: Any) -> bool:
    """Whether an answer is the stub's placeholder, alone or inside a tuple or list."""
    if isinstance(answer, tuple | list):
        return any(unattempted(part) for part in answer)
    return answer is None or answer is ...


def call(answer: Callable[..., Any], *arguments: Any, case: str = "") -> Any:
    """Call a reader's function on copies; report a stub, an error or a changed argument.

    ``case`` names the call, such as "with 7 keys", if an answer may fail for only one of them.
    """
    if not callable(answer):
        raise WrongAnswer(f"A function is needed here; this is {type(answer).__name__}.")
    who = f"{case}, your function" if case else "your function"
    copies = [_copy(argument) for argument in arguments]
    try:
        result = answer(*copies)
    except (Exception, SystemExit) as error:  # `sys.exit()` would stop the notebook
        raise WrongAnswer(f"{who} stopped with {type(error).__name__}: {error}") from error
    if unattempted(result):
        raise NotAttempted
    for place, (copy, argument) in enumerate(zip(copies, arguments, strict=True), start=1):
        if not _unchanged(copy, argument):
            raise WrongAnswer(
                f"{who} changes its argument number {place}, which the caller may still need: "
                "work on a new tensor, set or list."
            )
    return result


def _is_tensor(thing: Any) -> bool:
    return isinstance(thing, torch.Tensor)


def _copy(argument: Any) -> Any:
    """A copy for a reader to use; of a frozen set, the set that exercises speak of."""
    if _is_tensor(argument):
        return argument.clone()
    return set(argument) if isinstance(argument, AbstractSet) else deepcopy(argument)


def _unchanged(copy: Any, argument: Any) -> bool:
    """Whether a copy is still what it was made of; a NaN in both is no change."""
    if not _is_tensor(copy):
        return copy == argument
    return copy.shape == argument.shape and torch.allclose(
        copy, argument, rtol=0, atol=0, equal_nan=True
    )


def read_number(answer: Any, what: str = "the answer") -> float:
    """Read one finite number from a float, an integer, a fraction or a tensor of one element."""
    try:
        value = _read(answer).item()
    except (TypeError, ValueError, RuntimeError):
        raise WrongAnswer(
            f"{what} should be one number; this is {type(answer).__name__}."
        ) from None
    if value != value or value in (float("inf"), float("-inf")):
        raise WrongAnswer(f"{what} should be a finite number; this is {value}.")
    return value


def read_bool(answer: Any, what: str = "the answer") -> bool:
    """Read True or False from Python or NumPy, or from a tensor or an array of one element."""
    try:
        result = answer.item() if hasattr(answer, "item") else answer
    except (ValueError, RuntimeError):  # it has several, or none
        raise WrongAnswer(
            f"{what} should be one True or False; this has shape {tuple(answer.shape)}."
        ) from None
    if not isinstance(result, bool):  # 0.6 would count as true, and 1 may be a count
        this = type(answer).__name__ if callable(answer) else reprlib.repr(answer)
        raise WrongAnswer(f"{what} should be True or False; this is {this}.")
    return result


def read_parts(answer: Any, count: int, hint: str) -> list[Any]:
    """Read this many values from a tuple, a list, an array or a tensor, or raise the hint."""
    parts = answer.tolist() if hasattr(answer, "tolist") else answer
    if not isinstance(parts, tuple | list) or len(parts) != count:
        raise WrongAnswer(hint)
    if unattempted(parts):
        raise NotAttempted
    return list(parts)


def read_tensor(answer: Any, expected: torch.Tensor, what: str = "the result") -> torch.Tensor:
    """Read a tensor of the required shape, or report the shape that it has."""
    try:
        result = _read(answer).to(expected.dtype)
    except (TypeError, ValueError, RuntimeError):
        raise WrongAnswer(f"{what} should be a tensor; this is {type(answer).__name__}.") from None
    if result.shape != expected.shape:
        raise WrongAnswer(
            f"{what} has shape {tuple(result.shape)}; {tuple(expected.shape)} is needed."
        )
    return result


def expect(answer: Any, expected: torch.Tensor, hint: str, what: str = "the result") -> None:
    """Raise :class:`WrongAnswer` with the first differing entry and a hint, unless all agree."""
    result = read_tensor(answer, expected, what)
    wrong = ~torch.isclose(result, expected, rtol=RTOL, atol=ATOL)
    if wrong.any():
        place = tuple(wrong.nonzero()[0].tolist())
        where = f" at {list(place)}" if place else ""
        raise WrongAnswer(
            f"{what}{where} is {tell_apart(result[place].item(), expected[place].item())} {hint}"
        )


def agrees(
    result: torch.Tensor, expected: torch.Tensor, rtol: float = RTOL, atol: float = ATOL
) -> bool:
    """Whether two tensors agree in shape and numbers, to some tolerance; nan agrees with nan."""
    return result.shape == expected.shape and torch.allclose(
        result, expected, rtol=rtol, atol=atol, equal_nan=True
    )


def recognise(
    answer: Any,
    mistakes: Iterable[tuple[Any, str]],
    expected: Any = None,
    rtol: float = RTOL,
    atol: float = ATOL,
) -> None:
    """Raise the hint of the first foreseen mistake that equals this answer.

    Args:
        answer: a number, a tensor, or nested lists of numbers; what is none of them is no mistake.
        mistakes: what a wrong answer would be, with its hint.
        expected: the right answer, where a mistake may happen to give it, too.
        rtol: how far the answer may be off, as a share of the mistake.
        atol: how far it may be off beside 0.
    """
    try:
        result = _read(answer)
    except (TypeError, ValueError, RuntimeError):
        return
    for mistake, hint in mistakes:
        wrong = _read(mistake)
        if expected is not None and agrees(wrong, _read(expected).to(wrong.dtype), rtol, atol):
            continue
        if agrees(result.to(wrong.dtype), wrong, rtol, atol):
            raise WrongAnswer(hint)


def compare(
    answer: Any,
    given: Sequence[Any],
    expected: torch.Tensor,
    mistakes: Iterable[tuple[Any, str]],
    hint: str,
    what: str = "your output",
    case: str = "",
    rtol: float = RTOL,
    atol: float = ATOL,
) -> torch.Tensor:
    """Call a reader's function with these arguments, and judge the tensor that it returns.

    ``what`` names the result, and ``case`` says which call this is, as for `call`; the others are
    those of `judge_tensor`.
    """
    what = f"{case}, {what}" if case else what
    return judge_tensor(call(answer, *given, case=case), expected, mistakes, hint, what, rtol, atol)


def judge_tensor(
    answer: Any,
    expected: torch.Tensor,
    mistakes: Iterable[tuple[Any, str]],
    hint: str,
    what: str,
    rtol: float = RTOL,
    atol: float = ATOL,
) -> torch.Tensor:
    """Read a tensor, and raise the hint of a foreseen mistake or, if it is wrong, another hint."""
    recognise(answer, mistakes, expected, rtol, atol)
    expect(answer, expected, hint, what)
    return read_tensor(answer, expected)


def module_with(
    answer: Any, sizes: Sequence[int], weights: Mapping[str, torch.Tensor], needs: str
) -> torch.nn.Module:
    """Make a reader's layer with these weights instead of its own, or report what is missing."""
    layer = call(answer, *sizes)
    if not isinstance(layer, torch.nn.Module):
        raise WrongAnswer(f"a class of layers is needed; it gave {type(layer).__name__}.")
    if not list(layer.parameters()):
        raise NotAttempted
    found = {name: tuple(weight.shape) for name, weight in layer.named_parameters()}
    if found != {name: weight.shape for name, weight in weights.items()}:
        raise WrongAnswer(f"{needs} Made with {tuple(sizes)}, your layer has {found}.")
    layer.load_state_dict(weights, strict=False)
    return layer


def judge_number(
    answer: Any,
    expected: float,
    mistakes: Mapping[Any, str],
    hint: str,
    what: str = "the answer",
    rtol: float = 1e-3,
    atol: float = 0.0,
) -> None:
    """Read a number; raise the hint of a foreseen mistake, or another hint unless it is right.

    The number replaces ``{}`` in the last hint.
    """
    result = read_number(answer, what)
    recognise(result, mistakes.items(), rtol=rtol, atol=atol)
    if not math.isclose(result, expected, rel_tol=rtol, abs_tol=atol):
        raise WrongAnswer(hint.format(result))


def judge_letters(answer: Any, right: str, reasons: Mapping[str, str]) -> None:
    """Read letters from a text or a set, and raise the reason of the first wrong one.

    Args:
        answer: such as "B", "a, b" or {"A", "B"}.
        right: the letters of a right answer.
        reasons: for each letter, why it belongs to the answer, or why not.
    """
    letters = sorted({*right, *reasons})
    chosen = {
        str(letter).strip(" ,").upper()
        for letter in (answer if isinstance(answer, str | AbstractSet | list | tuple) else "")
    } - {""}
    if not chosen or not chosen <= set(letters):
        raise WrongAnswer(f'Answer with letters from A to {letters[-1]}, such as "A" or "BC".')
    for letter in (*sorted(chosen - set(right)), *sorted(set(right) - chosen)):
        raise WrongAnswer(f"look at {letter} again: {reasons[letter]}")


def judge_statements(answer: Any, claims: Sequence[tuple[bool, str]]) -> None:
    """Read True or False for each claim, and raise the reason of the first wrong one."""
    parts = read_parts(answer, len(claims), f"Give {len(claims)} answers, True or False.")
    for place, ((right, reason), part) in enumerate(zip(claims, parts, strict=True), start=1):
        if read_bool(part, f"your answer to statement {place}") is not right:
            raise WrongAnswer(f"statement {place}: {reason}")


class LargestTensor(TorchFunctionMode):
    """Notes the size of the largest tensor that any torch function returns in its context.

    >>> with LargestTensor() as seen:
    ...     total = torch.ones(3, 4).sum()
    >>> seen.numel
    12
    """

    def __init__(self) -> None:
        super().__init__()
        self.numel = 0

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call the function, and note the size of what it returns."""
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.numel = max(self.numel, result.numel())
        return result


def tell_apart(result: float, expected: float) -> str:
    """Two numbers, in as many digits as it takes to tell them apart.

    >>> tell_apart(0.25, 0.5), tell_apart(0.230769, 0.230812)
    ('0.25; 0.5 was expected.', '0.23077; 0.23081 was expected.')
    """
    for digits in range(4, 18):
        texts = f"{result:.{digits}g}", f"{expected:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return f"{texts[0]}; {texts[1]} was expected."


def _read(answer: Any) -> torch.Tensor:
    """Numbers as a tensor: from a tensor, an array, or nested lists of numbers of any kind."""
    if _is_tensor(answer):
        if answer.is_complex():
            raise TypeError("complex")
        return answer.detach()
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    if isinstance(answer, tuple | list):
        return torch.stack([_read(part) for part in answer]) if answer else torch.empty(0)
    if isinstance(answer, str | bytes | bytearray):
        raise TypeError("text")
    return torch.tensor(float(answer), dtype=torch.float64)
