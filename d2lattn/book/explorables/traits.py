"""What an explorable may be given: checked before anything is shown, and told in plain words.

Numbers come from lists, tensors, arrays or anything else with ``.tolist()``; they are kept as
Python floats. A value that will not do raises :class:`ValueError`, as everywhere in ``d2lattn``.
"""

import math
from collections.abc import Sequence
from typing import Any

import traitlets


class UnusableValue(ValueError, traitlets.TraitError):
    """A ValueError to readers, a TraitError to traitlets: so that it takes a change back."""


def plain(value: Any) -> Any:
    """Lists and floats out of tensors and arrays, at any depth."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return value


def one_number(name: str | None, value: Any) -> float:
    """A finite float, or ValueError naming what was found."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnusableValue(f"{name} is {_short(value)}; a number is needed")
    if not math.isfinite(value):
        raise UnusableValue(f"{name} is {value}; a finite number is needed")
    return float(value)


def numbers(name: str | None, value: Any) -> list[float]:
    """A list of at least one finite float, or ValueError naming what was found."""
    value = plain(value)
    if not isinstance(value, list):
        raise UnusableValue(f"{name} is {_short(value)}; a list of numbers is needed")
    if not value:
        raise UnusableValue(f"{name} is empty; at least one number is needed")
    return [one_number(f"{name}[{i}]", item) for i, item in enumerate(value)]


def rows(name: str | None, value: Any) -> list[list[float]]:
    """A matrix as a list of rows of the same length, or ValueError naming what was found."""
    value = plain(value)
    if not isinstance(value, list) or not value:
        raise UnusableValue(f"{name} is {_short(value)}; a list of rows is needed")
    found = [numbers(f"{name}[{i}]", row) for i, row in enumerate(value)]
    if len({len(row) for row in found}) > 1:
        lengths = [len(row) for row in found]
        raise UnusableValue(f"{name} has rows of lengths {lengths}; one length is needed")
    return found


def words(name: str | None, value: Any) -> list[str]:
    """A list of at least one string, or ValueError naming what was found."""
    value = plain(value)
    if not isinstance(value, list) or not value or not all(isinstance(w, str) for w in value):
        raise UnusableValue(f"{name} is {_short(value)}; a list of at least one string is needed")
    # Half of a surrogate pair cannot be stored in a notebook.
    return [word.encode("utf-8", "replace").decode("utf-8") for word in value]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class Number(traitlets.TraitType[float, Any]):
    """One finite number, above ``above`` and in ``low`` … ``high`` where these are given."""

    def __init__(
        self,
        default: float,
        *,
        above: float | None = None,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> None:
        super().__init__(default)
        self.above, self.low, self.high = above, low, high

    def validate(self, obj: Any, value: Any) -> float:
        """Check a new value."""
        found = one_number(self.name, value)
        if self.above is not None and found <= self.above:
            raise UnusableValue(f"{self.name} is {found}; more than {self.above} is needed")
        if not self.low <= found <= self.high:
            raise UnusableValue(
                f"{self.name} is {found}; a number from {self.low} to {self.high} is needed"
            )
        return found


class Whole(traitlets.TraitType[int, Any]):
    """One whole number from ``low`` to ``high``."""

    def __init__(self, default: int, *, low: int, high: int) -> None:
        super().__init__(default)
        self.low, self.high = low, high

    def validate(self, obj: Any, value: Any) -> int:
        """Check a new value."""
        found = one_number(self.name, value)
        if not found.is_integer() or not self.low <= found <= self.high:
            raise UnusableValue(
                f"{self.name} is {found:g}; a whole number from {self.low} to {self.high} is needed"
            )
        return int(found)


class Flag(traitlets.TraitType[bool, Any]):
    """True or False, and nothing that merely counts as such."""

    def validate(self, obj: Any, value: Any) -> bool:
        """Check a new value."""
        value = plain(value)
        if not isinstance(value, bool):
            raise UnusableValue(f"{self.name} is {_short(value)}; True or False is needed")
        return value


class Numbers(traitlets.TraitType[list[Any], Any]):
    """A list of at least one finite number, and of ``most`` at most: a figure follows the hand.

    >>> Numbers([1.0], most=2).most
    2
    """

    def __init__(self, default: Sequence[Any], *, most: int | None = None) -> None:
        super().__init__()
        self.start = default
        self.most = most

    def few(self, found: list[Any]) -> list[Any]:
        """The list, or ValueError when it is too long to be drawn within a frame."""
        if self.most is not None and len(found) > self.most:
            step = -(-len(found) // self.most)
            raise UnusableValue(
                f"{self.name} has {len(found)} entries; at most {self.most} can be drawn without "
                f"delay, for instance {self.name}[::{step}]"
            )
        return found

    def default(self, obj: Any = None) -> list[Any]:
        """A list of its own for each explorable."""
        return plain(self.start)

    def validate(self, obj: Any, value: Any) -> list[Any]:
        """Check a new value."""
        return self.few(numbers(self.name, value))


class Rows(Numbers):
    """A matrix: a list of rows of the same length."""

    def validate(self, obj: Any, value: Any) -> list[list[float]]:
        """Check a new value."""
        return self.few(rows(self.name, value))


class Words(Numbers):
    """A list of at least one string."""

    def validate(self, obj: Any, value: Any) -> list[str]:
        """Check a new value."""
        return self.few(words(self.name, value))


class Made(traitlets.TraitType[dict[str, Any], Any]):
    """What the explorable has made of the sentences it was given."""

    def default(self, obj: Any = None) -> dict[str, Any]:
        """Nothing yet."""
        return {}

    def validate(self, obj: Any, value: Any) -> dict[str, Any]:
        """What the explorable itself has made needs no check."""
        return value


class OneOf(traitlets.TraitType[str, Any]):
    """One of a few strings."""

    def __init__(self, options: Sequence[str], default: str) -> None:
        super().__init__(default)
        self.options = tuple(options)

    def validate(self, obj: Any, value: Any) -> str:
        """Check a new value."""
        if not isinstance(value, str) or value not in self.options:
            raise UnusableValue(
                f"{self.name} is {_short(value)}; one of {', '.join(self.options)} is needed"
            )
        return value


def same_length(**lists: Sequence[Any]) -> None:
    """Raise ValueError unless all lists have the length of the first."""
    (first, *others) = lists.items()
    for name, found in others:
        if len(found) != len(first[1]):
            raise UnusableValue(
                f"{name} has {len(found)} entries and {first[0]} has {len(first[1])}; "
                "the same number is needed"
            )
