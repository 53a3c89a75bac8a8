"""Tour (chapter 7): the whole Transformer in one drawing, walked block by block.

The drawing and the sentences of the walk are in ``tour.json``.
"""

import html
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import traitlets

from d2lattn.book.explorables.base import Explorable, clip, paragraph, table
from d2lattn.book.explorables.traits import Int, UnusableValue, check_indices, to_array, to_words

MOST = 16  # words of a sentence, for which a phone has room
LIKELY = 5
WALK = json.loads(files("d2lattn.book.explorables").joinpath("tour.json").read_text("utf-8"))
STOPS = tuple(stop["key"] for stop in WALK["stops"])
"""The stops of the walk, in the order of the flow; what links, lengths and looks are named by."""

SHORT = {stop["name"]: tuple(stop["stops"]) for stop in WALK["short"]}
"""The stops of the short walk, and what each of them lights."""


class TransformerTour(Explorable):
    """Encoder and decoder in one drawing; a walk through the blocks says what each does.

    At each of the 17 stops: a sentence or two, the formula, the shapes that go in and come out for
    the given sentence, and where the text explains it. `TransformerTour.of` adds what a model
    computes there.

    Args:
        source: 1 to 16 source tokens, <eos> included.
        target: 1 to 16 target tokens, <eos> included; the decoder gets
            `begin` and all but the last.
        num_hiddens, ffn_num_hiddens, num_heads, num_layers: the model's sizes.
        vocab_size: number of target words.
        batch_size: number of sentences.
        begin: the sign that the decoder reads first.
        links: where a stop is explained, by its name in ``tour.STOPS``: an anchor ("#residual") or
            an address within the book.
        lengths: of the vector that a stop gives, by its name, with its label: ("cow", 9.8).
        looks: what a stop weighs, by its name: (label, names, weights).
        block: the stop that is lit, from 1.
        short: four stops in place of 17, each with a sentence about letters, without formulas and
            shapes; ``links`` go by the names in ``tour.SHORT``.

    Traits that can be read, set and observed: block. The others hold what is shown.

    Raises ValueError for sentences too long, for sizes below 1, and for names of no stop.

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
        links: Mapping[str, str] | None = None,
        lengths: Mapping[str, tuple[str, float]] | None = None,
        looks: Mapping[str, tuple[str, Sequence[str], Sequence[float]]] | None = None,
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
            names = list(SHORT)
            stops = [
                {"name": stop["name"], "said": stop["text"].format(**values)}
                for stop in WALK["short"]
            ]
        else:
            names = list(STOPS)
            stops = [_fill_stop(stop, values, sizes) for stop in WALK["stops"]]
        check_indices({"block": block - 1}, block=len(names))
        for key, entries in (("link", links), ("length", lengths), ("look", looks)):
            for name, value in (entries or {}).items():
                if name not in names:
                    raise UnusableValue(f"there is no stop {name!r}; there are {', '.join(names)}")
                stops[names.index(name)][key] = CONVERTERS[key](value)
        super().__init__(drawing=_fill_drawing(values, short), stops=stops, block=block)

    @classmethod
    def of(
        cls,
        model: Any,
        source: Sequence[str],
        target: Sequence[str],
        source_vocab: Any,
        target_vocab: Any,
        *,
        follow: tuple[int, int] | None = None,
        layer: int = 0,
        head: int = 0,
        links: Mapping[str, str] | None = None,
        block: int = 1,
    ) -> "TransformerTour":
        """Walk through a model: its sizes, and what it computes for one word and one step.

        Args:
            model: an `EncoderDecoder` of the two Transformer stacks, post-norm as it is drawn.
            source: tokens, <eos> included.
            target: tokens, <eos> included.
            source_vocab: gives numbers by ``encode`` and words by ``tokens``.
            target_vocab: the same for the target.
            follow: the place of a source word and the step of a target word, from 0; by default
                the word before <eos>, and the second step.
            layer: which block of each stack is shown, from 0.
            head: whose weights are shown, from 0.
            links: see the class.
            block: the stop that is lit, from 1.
        """
        place, step = follow or (max(0, len(source) - 2), min(1, len(target) - 1))
        outputs, scores = _run(model, source, target, source_vocab, target_vocab, layer)
        word, inputs = source[place], ["<bos>", *target[:-1]]
        encoder, decoder, first = model.encoder, model.decoder, model.encoder.blks[0]
        lengths = {
            name: (f"of “{token}”", outputs[name][0, position].norm().item())
            for names, token, position in (
                (STOPS[1:7], word, place),
                (STOPS[8:15], inputs[step], step),
            )
            for name in names
        }
        which = f"head {head + 1} of block {layer + 1}"
        probabilities, numbers = scores[0, step].softmax(dim=-1).topk(min(LIKELY, scores.shape[-1]))
        looks: dict[str, Any] = {
            "ask itself": (
                f"“{word}” looks at ({which})",
                source,
                encoder.attention_weights[0, layer, head, place],
            ),
            "ask the past": (
                f"The step of “{inputs[step]}” looks at ({which})",
                inputs,
                decoder.self_attention_weights[0, layer, head, step],
            ),
            "ask the source": (
                f"The step of “{inputs[step]}” looks at ({which})",
                source,
                decoder.attention_weights[0, layer, head, step],
            ),
            "softmax": (
                f"After “{inputs[step]}” come",
                [target_vocab.tokens[number] for number in numbers.tolist()],
                probabilities,
            ),
        }
        return cls(
            source,
            target,
            num_hiddens=decoder.dense.in_features,
            ffn_num_hiddens=first.ffn.dense1.out_features,
            num_heads=first.attention.num_heads,
            num_layers=len(decoder.blks),
            vocab_size=decoder.dense.out_features,
            links=links,
            lengths=lengths,
            looks=looks,
            block=block,
        )

    def words(self) -> str:
        """HTML for where no script runs."""
        if "gives" in self.stops[0]:
            rows = [(self.stops[k]["name"], self.stops[k]["gives"]) for k in (3, 9, 11, 5, 15)]
            blocks = table(["block", "it gives"], rows)
        else:
            blocks = table(
                ["block", "what it does"], [(stop["name"], stop["said"]) for stop in self.stops]
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
        "said": stop["text"].format(**values),
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


def _convert_link(address: Any) -> str:
    if not isinstance(address, str) or not re.fullmatch(r"(?!//)[\w./-]*(#[\w.-]+)?", address):
        raise UnusableValue(f"link is {address!r}; it needs to be an address within the book")
    return address


def _convert_length(entry: tuple[str, float]) -> list[Any]:
    label, length = entry
    return [label, round(to_array("length", [length], 1)[0], 3)]


def _convert_look(entry: tuple[str, Sequence[str], Any]) -> list[Any]:
    label, names, weights = entry
    weights = to_array("weights of a look", weights, len(names))
    return [label, to_words("names of a look", names), [round(x, 4) for x in weights]]


CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "link": _convert_link,
    "length": _convert_length,
    "look": _convert_look,
}


def _run(
    model: Any, source: Any, target: Any, source_vocab: Any, target_vocab: Any, layer: int
) -> tuple[dict[str, Any], Any]:
    """What each stop gives, (1, S, D) or (1, T, D) by its name, and the scores (1, T, V)."""
    encoder, decoder = model.encoder, model.decoder
    if encoder.blks[0].addnorm1.norm_first:
        raise UnusableValue("the model norms first; the drawing shows the norm after each sum")
    outputs: dict[str, Any] = {}
    hooks = []

    def watch(module: Any, before: str, after: str) -> None:
        def keep(_module: Any, inputs: tuple[Any, ...], result: Any) -> None:
            outputs.update({before: inputs[-1], after: result})

        hooks.append(module.register_forward_hook(keep))

    left, right = encoder.blks[layer], decoder.blks[layer]
    hooks.append(
        encoder.pos_encoding.register_forward_hook(
            lambda _module, inputs, result: outputs.update(embed=inputs[0], position=result)
        )
    )
    hooks.append(
        decoder.pos_encoding.register_forward_hook(
            lambda _module, _inputs, result: outputs.update(enter=result)
        )
    )
    # An add & norm is given what went in and what the sublayer made of it.
    watch(left.addnorm1, "ask itself", "add")
    watch(left.addnorm2, "network", "encoded")
    watch(right.addnorm1, "ask the past", "add past")
    watch(right.addnorm2, "ask the source", "add source")
    watch(right.addnorm3, "decoder network", "decoded")
    training = model.training
    # Explorables load no PyTorch of their own: the model brings it.
    numbers = decoder.dense.weight.detach()
    X = numbers.new_tensor([source_vocab.encode(source)]).long()  # (1, S)
    Y = numbers.new_tensor([target_vocab.encode(["<bos>", *target[:-1]])]).long()  # (1, T)
    try:
        model.eval()
        scores, _ = model(X, Y)
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    return {name: output.detach() for name, output in outputs.items()}, scores.detach()
