"""Writer's memory (chapter 10): the bytes of a cache, and the tokens that a query can attend to."""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import Int, UnusableValue, Words, get_fields

MOST_TOKENS, MOST_FIRST, MOST_HEADS, MOST_NUMBERS, MOST_LAYERS = 24, 4, 128, 256, 128
NUMBER_BYTES = (1, 2, 4)
SIZES = ("layers", "query_heads", "kv_heads", "head_dim")

# To write "her", one must remember whom it means.
TEXT = "the happy cow saw the old dog , and the dog that slept by the door did not see her ."


class WritersMemory(Explorable):
    """A text is generated token by token; its keys and values are kept, shared or deleted.

    For each token, `layers` · `kv_heads` keys and as many values of `head_dim` numbers are kept.
    Query heads share them evenly: `query_heads` is a multiple of `kv_heads`.

    Args:
        tokens: the text, at most 24 tokens; if not given, one of the book's.
        models: sizes to choose from, each by its model's name: a mapping with layers, query_heads,
            kv_heads and head_dim. Cite where they stand.
        **state: the traits.

    Each trait can be read, set and observed.

    Traits:
        layers, query_heads, kv_heads, head_dim: the sizes of the model.
        number_bytes: 1, 2 or 4 bytes per number.
        window: how many of the last tokens are kept, the newest among them; 0: all.
        num_first: how many of the first tokens are kept besides, 0 to 4.
        written: how many tokens have been written; the query is that of the last.
        asked: the position of the token to attend to, from 0; at most the last one written.

    Raises ValueError for anything else.

    >>> memory = WritersMemory(kv_heads=1, written=3)
    >>> memory.token_bytes, memory.asked
    (8192, 2)
    """

    module = "writers_memory"

    tokens = Words(TEXT.split(), maxlen=MOST_TOKENS).tag(sync=True)
    models = traitlets.Dict().tag(sync=True)
    query_heads = Int(8, min=1, max=MOST_HEADS).tag(sync=True)
    kv_heads = Int(8, min=1, max=MOST_HEADS).tag(sync=True)
    head_dim = Int(64, min=1, max=MOST_NUMBERS).tag(sync=True)
    layers = Int(32, min=1, max=MOST_LAYERS).tag(sync=True)
    number_bytes = Int(2, min=1, max=4).tag(sync=True)
    window = Int(0, min=0, max=MOST_TOKENS).tag(sync=True)
    num_first = Int(0, min=0, max=MOST_FIRST).tag(sync=True)
    written = Int(12, min=1, max=MOST_TOKENS).tag(sync=True)
    asked = Int(2, min=0, max=MOST_TOKENS - 1).tag(sync=True)

    def __init__(
        self,
        tokens: Sequence[str] | None = None,
        models: Mapping[str, Mapping[str, int]] | None = None,
        **state: Any,
    ) -> None:
        if tokens is not None:
            state["tokens"] = list(tokens)
            state.setdefault("written", max(1, min(12, len(tokens))))
            state.setdefault("asked", min(2, len(tokens) - 1))
        super().__init__(models={n: self._sizes(n, m) for n, m in (models or {}).items()}, **state)

    @classmethod
    def _sizes(cls, name: str, model: Mapping[str, int]) -> dict[str, int]:
        """Sizes of a model, or ValueError that names the model."""
        traits = cls.class_traits()
        fields = get_fields(name, model, SIZES)
        sizes = {size: traits[size].validate(None, value) for size, value in fields.items()}
        _check_sharing(sizes, name)
        return sizes

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        _check_sharing(state, "the figure")
        if state["number_bytes"] not in NUMBER_BYTES:
            raise UnusableValue(f"number_bytes is {state['number_bytes']}; 1, 2 or 4 is needed")
        count = len(state["tokens"])
        for name, most in (("window", count), ("written", count), ("asked", count - 1)):
            if state[name] > most:
                raise UnusableValue(f"{name} is {state[name]}; with {count} tokens, {most} at most")

    @property
    def token_bytes(self) -> int:
        """Bytes that are kept for one token: a key and a value in each key head of each layer."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.number_bytes

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        sizes = ("layers", "query heads", "key heads", "width of a head")
        return paragraph(
            f"Interactive figure: “{' '.join(self.tokens)}” is written token by token; the bytes "
            "of its cache, and the tokens that the last query can attend to."
        ) + table(
            [*sizes, "bytes per number", "bytes per token"],
            [(*(getattr(self, size) for size in SIZES), self.number_bytes, self.token_bytes)],
        )


def _check_sharing(state: Mapping[str, int], name: str) -> None:
    """Raise a ValueError unless query heads share key heads evenly."""
    if state["query_heads"] % state["kv_heads"]:
        raise UnusableValue(
            f"kv_heads of {name} is {state['kv_heads']}; a divisor of query_heads, "
            f"{state['query_heads']}, is needed"
        )
