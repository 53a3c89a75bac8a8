"""Traits of explorables: those of traitlets, which here also take tensors and arrays.

Anything with ``.tolist()`` becomes lists and floats. A value that does not fit, NaN and infinity
among them, raises :class:`UnusableValue`, which is a ValueError as everywhere in ``d2lattn``.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import traitlets


class UnusableValue(ValueError, traitlets.TraitError):
    """A ValueError to readers and a TraitError to traitlets, which then restores the old value."""


def to_plain(value: Any) -> Any:
    """Turn tensors, arrays and sequences into lists; refuse NaN and infinity at any depth."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str):  # half of a surrogate pair cannot be stored in a notebook
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float) and not math.isfinite(value):
        raise UnusableValue(f"{value} is not a finite number")
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [to_plain(item) for item in value]
    return value


class _Plain(traitlets.TraitType[Any, Any]):
    """Mixin: convert a value with ``to_plain`` before traitlets checks it."""

    def validate(self, obj: Any, value: Any) -> Any:
        """Check a new value."""
        try:
            return super().validate(obj, to_plain(value))  # type: ignore[misc]
        except UnusableValue as error:
            raise UnusableValue(f"{self.name}: {error}") from None
        except traitlets.TraitError as error:
            raise UnusableValue(str(error)) from None


class Int(_Plain, traitlets.Int[int, Any]):
    """A whole number from ``min`` to ``max``."""


class Float(_Plain, traitlets.Float[float, Any]):
    """A finite number from ``min`` to ``max``."""


class Bool(_Plain, traitlets.Bool[bool, Any]):
    """True or False."""


class Choice(_Plain, traitlets.CaselessStrEnum[str]):
    """One of a few strings."""


class List(_Plain, traitlets.List[Any]):
    """A list of ``minlen`` to ``maxlen`` values of one trait."""


class Floats(List):
    """A list of at least one finite number."""

    def __init__(self, default: Sequence[float] = (), **limits: int) -> None:
        super().__init__(traitlets.Float(), list(default), **{"minlen": 1, **limits})


class Words(List):
    """A list of at least one string."""

    def __init__(self, default: Sequence[str] = (), **limits: int) -> None:
        super().__init__(traitlets.Unicode(), list(default), **{"minlen": 1, **limits})


class Matrix(List):
    """A list of rows of one length."""

    def __init__(self, default: Sequence[Sequence[float]] = (), **limits: int) -> None:
        row = traitlets.List(traitlets.Float(), minlen=1)
        super().__init__(row, list(default), **{"minlen": 1, **limits})

    def validate(self, obj: Any, value: Any) -> Any:
        """Check a new value."""
        rows = super().validate(obj, value)
        if len({len(row) for row in rows}) > 1:
            raise UnusableValue(f"{self.name} has rows of different lengths")
        return rows


class Converted(traitlets.TraitType[Any, Any]):
    """A value that ``convert(name, value)`` checks and converts."""

    def __init__(self, convert: Callable[[str, Any], Any], default: Any = None) -> None:
        super().__init__(default)
        self.convert = convert

    def validate(self, obj: Any, value: Any) -> Any:
        """Check a new value."""
        return self.convert(self.name or "", value)


def to_array(
    name: str, value: Any, *shape: int | None, low: float = -math.inf, high: float = math.inf
) -> list[Any]:
    """Nested lists of floats of this shape; None stands for any size from 1.

    >>> to_array("weights", [[1, 0]], None, 2)
    [[1.0, 0.0]]
    """
    value = to_plain(value)
    size, *rest = shape
    if not isinstance(value, list) or not value or len(value) != (size or len(value)):
        raise UnusableValue(f"{name} needs {size or 'some'} entries, not {str(value)[:60]}")
    if rest:
        return [to_array(f"{name}[{i}]", row, *rest, low=low, high=high) for i, row in
                enumerate(value)]  # fmt: skip
    if not all(isinstance(x, int | float) and low <= x <= high for x in value):
        raise UnusableValue(f"{name} needs numbers from {low} to {high}, not {str(value)[:60]}")
    return [float(x) for x in value]


def to_words(name: str, value: Any, longest: int | None = None) -> list[str]:
    """A list of at least one string, and of ``longest`` at most."""
    value = to_plain(value)
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise UnusableValue(f"{name} is {str(value)[:60]}; a list of strings is needed")
    if not 1 <= len(value) <= (longest or len(value)):
        raise UnusableValue(f"{name} has {len(value)} words; 1 to {longest or 'any'} are needed")
    return value


def get_fields(name: str, record: Any, fields: Iterable[str]) -> dict[str, Any]:
    """The fields of a mapping or of an object's attributes."""
    try:
        if isinstance(record, Mapping):
            return {field: record[field] for field in fields}
        return {field: getattr(record, field) for field in fields}
    except (KeyError, AttributeError) as error:
        raise UnusableValue(f"{name} lacks a field: {error}") from None


def check_count(name: str, items: Any, most: int) -> None:
    """Raise ValueError unless there are 1 to ``most`` items."""
    if isinstance(items, str) or not hasattr(items, "__len__") or not 1 <= len(items) <= most:
        raise UnusableValue(f"{name} needs 1 to {most} entries")


def check_indices(state: Mapping[str, Any], **counts: int) -> None:
    """Raise ValueError unless each named index is below its count."""
    for name, count in counts.items():
        if not state[name] < count:
            raise UnusableValue(f"{name} is {state[name]}; 0 … {count - 1} is needed")


def check_same_length(**lists: Sequence[Any]) -> None:
    """Raise ValueError unless all lists have the length of the first."""
    (first, expected), *rest = lists.items()
    for name, values in rest:
        if len(values) != len(expected):
            raise UnusableValue(
                f"{name} has {len(values)} entries and {first} has {len(expected)}; "
                "the same number is needed"
            )
