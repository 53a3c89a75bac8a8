"""Tour (chapter 7): the whole Transformer in one drawing, explained block by block.

The drawing and the sentences of the walk are in ``tour.json``.
"""

import html
import json
import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import traitlets

from d2lattn.book.explorables.base import Explorable, clip, paragraph, table
from d2lattn.book.explorables.traits import Int, check_indices, to_array, to_words

MOST = 16  # words of a sentence, for which a phone has room
WALK = json.loads(files("d2lattn.book.explorables.tour").joinpath("tour.json").read_text("utf-8"))
STOPS = tuple(stop["key"] for stop in WALK["stops"])
"""The stops of the walk, in the order of the flow."""

SHORT = {stop["name"]: tuple(stop["stops"]) for stop in WALK["short"]}
"""The stops of the short walk, and what each of them lights."""


class TransformerTour(Explorable):
    """Encoder and decoder in one drawing; at each stop, a block is explained.

    At each of the 17 stops: a sentence or two, the formula, and the shapes of input and output
    for the given sentence.

    Args:
        source: 1 to 16 source tokens, <eos> included.
        target: 1 to 16 target tokens, <eos> included; the decoder gets
            `begin` and all but the last.
        num_hiddens, ffn_num_hiddens, num_heads, num_layers: the model's sizes.
        vocab_size: number of target words.
        batch_size: number of sentences.
        begin: the sign that the decoder reads first.
        block: the stop that is lit, from 1.
        short: four stops in place of 17, each with a sentence about letters, without formulas and
            shapes.

    Traits that can be read, set and observed: block. The others hold what is shown.

    Raises ValueError for sentences too long and for sizes below 1.

    >>> tour = TransformerTour(["the", "cow", "<eos>"], ["la", "vache", "<eos>"], num_hiddens=8)
    >>> tour.stops[3]["name"], tour.stops[3]["gives"]
    ('self-attention', '(B, S, D) = (1, 3, 8)')
    """

    module = "tour"

    drawing = traitlets.Dict().tag(sync=True)
    stops: Any = traitlets.List().tag(sync=True)
    block = Int(1, min=1, max=len(STOPS)).tag(sync=True)

    def __init__(
        self,
        source: Any,
        target: Any,
        *,
        num_hiddens: int = 96,
        ffn_num_hiddens: int = 192,
        num_heads: int = 4,
        num_layers: int = 2,
        vocab_size: int = 300,
        batch_size: int = 1,
        begin: str = "<bos>",
        block: int = 1,
        short: bool = False,
    ) -> None:
        """Make the drawing and the stops."""
        source, target = to_words("source", source, MOST), to_words("target", target, MOST)
        sizes = {"B": batch_size, "S": len(source), "T": len(target), "D": num_hiddens}
        sizes |= {"F": ffn_num_hiddens, "H": num_heads, "N": num_layers, "V": vocab_size}
        to_array("sizes", list(sizes.values()), None, low=1)
        values = _placeholder_values(source, target, begin, sizes)
        if short:
            stops = [
                {"name": stop["name"], "text": stop["text"].format(**values)}
                for stop in WALK["short"]
            ]
        else:
            stops = [_fill_stop(stop, values, sizes) for stop in WALK["stops"]]
        check_indices({"block": block - 1}, block=len(stops))
        super().__init__(drawing=_fill_drawing(values, short), stops=stops, block=block)

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        if "gives" in self.stops[0]:
            rows = [(self.stops[k]["name"], self.stops[k]["gives"]) for k in (3, 9, 11, 5, 15)]
            blocks = table(["block", "it gives"], rows)
        else:
            blocks = table(
                ["block", "what it does"], [(stop["name"], stop["text"]) for stop in self.stops]
            )
        return (
            paragraph(
                "Interactive figure: the whole Transformer. A walk through its blocks says what "
                "each does, what goes in and what comes out."
            )
            + _draw_svg(self.drawing)
            + blocks
        )


def _placeholder_values(
    source: list[str], target: list[str], begin: str, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """What stands in the place of {names} in ``tour.json``."""
    inputs = [begin, *target[:-1]]
    labels = {"source": source, "target": target, "decoder": inputs}
    lists = {"source_words": source, "decoder_words": inputs}
    return {
        **sizes,
        "begin": begin,
        "root": f"{math.sqrt(sizes['D']):.1f}",
        "width": f"{sizes['D'] / sizes['H']:g}",
        # as many letters as a box of the drawing has room for
        **{name: clip(" ".join(words), 18) for name, words in labels.items()},
        **{name: ", ".join(clip(word, 16) for word in words) for name, words in lists.items()},
    }


def _fill_stop(
    stop: Mapping[str, Any], values: Mapping[str, Any], sizes: Mapping[str, int]
) -> dict[str, Any]:
    filled = {
        "name": stop["name"],
        "text": stop["text"].format(**values),
        "formula": stop["formula"].format(**values),
        "gives": _shape(stop["gives"], sizes),
    }
    if "weights" in stop:
        filled["weights"] = _shape(stop["weights"], sizes)
    if "gets" in stop:
        filled["gets"] = " and ".join(_shape(letters, sizes) for letters in stop["gets"])
    return filled | {"count": math.prod(sizes[letter] for letter in stop["gives"].split())}


def _shape(letters: str, sizes: Mapping[str, int]) -> str:
    """Letters and numbers of a shape.

    >>> _shape("B S", {"B": 1, "S": 7})
    '(B, S) = (1, 7)'
    """
    names = letters.split()
    return f"({', '.join(names)}) = ({', '.join(str(sizes[name]) for name in names)})"


def _fill_drawing(values: Mapping[str, Any], short: bool) -> dict[str, Any]:
    """Boxes [stop, x, y, label], wires [stop that lights them, line, tip], frames and texts.

    In the short walk, boxes and wires are lit at its stops.
    """
    drawing = WALK["drawing"]
    lit_at = {k: k for k in range(len(STOPS) + 1)}  # 0 is lit nowhere
    labels = {}
    if short:
        labels = WALK["plain_labels"]
        for k, names in enumerate(SHORT.values(), 1):
            for name in names:
                lit_at[STOPS.index(name) + 1] = k
    return {
        "size": drawing["size"],
        "boxes": [
            [lit_at[stop], x, y, labels.get(label, label).format(**values)]
            for stop, x, y, label in drawing["boxes"]
        ],
        "wires": [[lit_at[stop], line, tip] for stop, line, tip in drawing["wires"]],
        "frames": drawing["frames"],
        "texts": [[x, y, text.format(**values)] for x, y, text in drawing["texts"]],
    }


def _draw_svg(drawing: Mapping[str, Any]) -> str:
    """The drawing where no script runs, in the colour of the text around it."""
    width, height, box_width, box_height = drawing["size"]
    boxes = "".join(
        f"M{x} {y}h{box_width}v{box_height}h-{box_width}z" for _, x, y, _ in drawing["boxes"]
    )
    lines = boxes + drawing["frames"] + "".join(line for _, line, _ in drawing["wires"])
    labels = [[x + box_width // 2, y + 17, label] for _, x, y, label in drawing["boxes"]]
    texts = "".join(
        f'<text x="{x}" y="{y}">{html.escape(text)}</text>'
        for x, y, text in labels + drawing["texts"]
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" fill="currentColor" '
        'font-size="12" text-anchor="middle" style="max-width:100%">'
        f"<title>The whole Transformer</title><desc>{WALK['description']}</desc>"
        f'<path fill="none" stroke="currentColor" d="{lines}"/>'
        f'<path d="{"".join(tip for *_, tip in drawing["wires"])}"/>{texts}</svg>'
    )
