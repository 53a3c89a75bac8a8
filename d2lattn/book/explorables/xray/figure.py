"""X-ray of a tiny Transformer (chapter 7): it writes words backwards, and runs in the page."""

import base64
import math
import re
from collections.abc import Mapping
from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Bool,
    Converted,
    Floats,
    Int,
    UnusableValue,
    check_indices,
)

MOST_WEIGHTS, MOST_HEADS = 20_000, 8
SHORTEST, LONGEST = 2, 7  # letters of a word; a map of 15 places is what a phone has room for
MOST_LETTERS = 26

Packed = dict[str, Any]


def convert_network(_name: str, value: Any) -> Packed:
    """Pack a decoder without a source; what such a one was packed into stays as it is."""
    if isinstance(value, Mapping) and set(value) == {"heads", "pre", "parts"}:
        return dict(value)
    return pack_decoder(value)


def check_word(name: str, value: Any) -> str:
    """Raise ValueError unless it is a word of two to seven small letters."""
    if not isinstance(value, str) or not re.fullmatch(f"[a-z]{{{SHORTEST},{LONGEST}}}", value):
        raise UnusableValue(f"{name} is {value!r:.40}; {SHORTEST} to {LONGEST} letters are needed")
    return value


class TransformerXray(Explorable):
    """The inside of a tiny trained Transformer while it writes words backwards.

    It reads a word and ">", and writes the letters from last to first, then ".". It runs in the
    page: the letters change, the causal mask is lifted, positions are left out, the true answer is
    given in place of what it wrote. Shown are what it would write next after each layer (the output
    layer reads every layer, not the last alone), the weights of each head and how much of them is
    on the letter that should be written next, the lengths of what each part adds at one place and
    of what is there then, and the probabilities of the next token there.

    Args:
        network: a `d2lattn.TransformerDecoder` without cross-attention, in which the last two
            tokens are ">" and "." and those before are letters from a on, as in
            `d2lattn.book.experiments.reversal`; 20,000 weights and 8 heads in all at most.
        word: 2 to 7 letters.
        layer, head: which map is shown large, from 0; at first the last layer's first.
        position: the place that is looked at, from 0; at first that of ">". Behind the end of a
            shorter word's answer, its last place counts.
        mask: whether no position attends to a later one.
        positions: whether positions are encoded.
        forced: whether the true answer is given, as in training.
        lengths: the shortest and the longest word that it learned, which is said beside the figure.

    Each trait can be read, set and observed.

    Raises ValueError for other networks and for values that do not fit it.

    >>> import d2lattn as d2l
    >>> decoder = d2l.TransformerDecoder(10, 8, 16, 2, 2, cross_attention=False)
    >>> figure = TransformerXray(decoder, word="facade")
    >>> figure.layer, figure.position
    (1, 6)
    """

    module = "xray"

    network = Converted(convert_network, {}).tag(sync=True)
    word = Converted(check_word, "bead").tag(sync=True)
    layer = Int(0, min=0, max=MOST_HEADS - 1).tag(sync=True)
    head = Int(0, min=0, max=MOST_HEADS - 1).tag(sync=True)
    position = Int(4, min=0, max=2 * LONGEST).tag(sync=True)
    mask = Bool(True).tag(sync=True)
    positions = Bool(True).tag(sync=True)
    forced = Bool(False).tag(sync=True)
    lengths = Floats([3, 6], minlen=2, maxlen=2).tag(sync=True)

    def __init__(self, network: Any, word: Any = "bead", **state: Any) -> None:
        """Start at the arrow, with the last layer."""
        packed = convert_network("network", network)
        check_word("word", word)
        start = {"layer": _layers(packed) - 1, "position": len(word)}
        super().__init__(network=packed, word=word, **(start | state))

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        network, word = state["network"], state["word"]
        letters = "abcdefghijklmnopqrstuvwxyz"[: network["parts"]["embedding.weight"][0][0] - 2]
        if unknown := sorted(set(word) - set(letters)):
            raise UnusableValue(
                f"word is {word!r}; the network knows a to {letters[-1]}, not {unknown[0]}"
            )
        check_indices(state, layer=_layers(network), head=network["heads"])

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        sizes = {name: math.prod(shape) for name, (shape, _) in self.network["parts"].items()}
        groups: dict[str, int] = {}
        for name, size in sizes.items():
            block = re.match(r"blks\.(\d+)", name)
            group = f"layer {int(block[1]) + 1}" if block else name.split(".")[0]
            groups[group] = groups.get(group, 0) + size
        return paragraph(
            "Interactive figure: X-ray of a tiny Transformer. It reads a word such as “"
            f"{self.word}” and writes it backwards. The figure shows its attention weights, its "
            f"residual stream and its probabilities. It has {sum(sizes.values()):,} parameters:"
        ) + table(["part", "parameters"], groups.items())


def _layers(network: Packed) -> int:
    return sum(name.endswith("W_q.weight") for name in network["parts"])


def pack_decoder(decoder: Any) -> Packed:
    """Pack weights as base64 of float32; raise ValueError for networks that the page cannot run."""
    blocks = getattr(decoder, "blks", None)
    if blocks is None or not hasattr(decoder, "pos_encoding") or not hasattr(decoder, "dense"):
        raise UnusableValue(f"network is a {type(decoder).__name__}, not a TransformerDecoder")
    if any(block.attention2 is not None for block in blocks):
        raise UnusableValue("network has cross-attention; it needs cross_attention=False")
    if next(decoder.pos_encoding.parameters(), None) is not None:
        raise UnusableValue("network has learned positions; the figure computes sinusoids")
    heads = blocks[0].attention1.num_heads
    weights = {name: tensor.detach().cpu() for name, tensor in decoder.state_dict().items()}
    for name, count, most in (
        ("heads", heads * len(blocks), MOST_HEADS),
        ("weights", sum(tensor.numel() for tensor in weights.values()), MOST_WEIGHTS),
        ("tokens", len(weights["embedding.weight"]), MOST_LETTERS + 2),
    ):
        if count > most:
            raise UnusableValue(f"network has {count:,} {name}; {most:,} at most enter the page")
    if not all(tensor.isfinite().all() for tensor in weights.values()):
        raise UnusableValue("network has weights that are not finite")
    parts = {
        name: [list(tensor.shape), base64.b64encode(tensor.numpy().astype("<f4")).decode()]
        for name, tensor in weights.items()
    }
    return {"heads": heads, "pre": blocks[0].addnorm1.norm_first, "parts": parts}
