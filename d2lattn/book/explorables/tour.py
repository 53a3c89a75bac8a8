"""Tour (chapter 7): the whole Transformer in one drawing, walked block by block."""

import html
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from d2lattn.book.explorables.base import Explorable, clip, paragraph, table
from d2lattn.book.explorables.traits import (
    Numbers,
    UnusableValue,
    Whole,
    one_number,
    plain,
    same_length,
    words,
)

MOST = 16  # words of a sentence, for which a phone has room
LIKELY = 5
STOPS = (
    *("source", "embed", "position", "ask itself", "add", "network", "encoded"),
    *("target", "enter", "ask the past", "add past", "ask the source", "add source"),
    *("decoder network", "decoded", "dense", "softmax"),
)
"""The stops of the walk, in the order of the flow; what links, lengths and looks are named by."""

SHORT = {
    "letters become vectors": ("source", "embed", "position", "target", "enter"),
    "attention": ("ask itself", "ask the past", "ask the source"),
    "add & norm, and the network": (
        *("add", "encoded", "add past", "add source", "decoded"),
        *("network", "decoder network"),
    ),
    "scores": ("dense", "softmax"),
}
"""The stops of the short walk, and what each of them lights."""

# --- the drawing, from the bottom to the top ------------------------------------------------------

SIZE = [320, 450, 134, 26]  # the drawing, and a box of it
PITCH, LEFT, RIGHT = 34, 14, 172
TOKENS = 18  # letters for which a box has room
DESCRIPTION = (
    "Two columns, read upwards. Left, the encoder: source tokens, embedding times root D, "
    "positions added, then several times a block of self-attention, add and norm, feed-forward, "
    "add and norm. Right, the decoder: target tokens, embedding, positions, then several times a "
    "block of masked self-attention, add and norm, cross-attention, add and norm, feed-forward, "
    "add and norm; above these dense, softmax and the next words. Around each attention and each "
    "feed-forward a line leads to the add and norm after it. From the top of the encoder an arrow "
    "brings keys and values into cross-attention."
)


def _top(k: int) -> int:
    """Where box k of a column begins; the blocks that repeat have room around them."""
    return SIZE[1] - 24 - SIZE[3] - PITCH * k - 8 * (k >= 3) - 14 * (k >= 9)


def _middle(k: int) -> int:
    return _top(k) + SIZE[3] // 2


def _drawing(
    source: Sequence[str], target: Sequence[str], num_layers: int, begin: str
) -> dict[str, Any]:
    """Boxes [stop, x, y, label], wires [stop that lights them, line, tip], frames and texts."""
    read, given = clip(" ".join(source), TOKENS), clip(" ".join([begin, *target[:-1]]), TOKENS)
    encoder = [
        *((1, read), (2, "embedding × √D"), (3, "+ positions")),
        *((4, "self-attention"), (5, "add & norm"), (6, "feed-forward"), (7, "add & norm")),
    ]
    decoder = [
        *((8, given), (9, "embedding × √D"), (9, "+ positions")),
        *((10, "masked self-attention"), (11, "add & norm"), (12, "cross-attention")),
        *((13, "add & norm"), (14, "feed-forward"), (15, "add & norm")),
        *((16, "dense"), (17, "softmax"), (17, clip(" ".join(target), TOKENS))),
    ]
    boxes, wires = [], []
    half = SIZE[2] // 2
    for x, column, around in ((LEFT, encoder, (3, 5)), (RIGHT, decoder, (3, 5, 7))):
        middle = x + half
        for k, (stop, label) in enumerate(column):
            boxes.append([stop, x, _top(k), label])
            if k:
                end = _top(k) + SIZE[3]
                tip = f"M{middle} {end}l-4 6h8z"
                wires.append([0, f"M{middle} {_top(k - 1)}V{end}", tip])
        outer, side, turn = (7, x, -5) if x == LEFT else (313, x + SIZE[2], 5)
        for k in around:
            line = f"M{middle} {_top(k) + SIZE[3] + 6}H{outer}V{_middle(k + 1)}H{side}"
            tip = f"M{side} {_middle(k + 1)}l{turn}-4v8z"
            wires.append([column[k + 1][0], line, tip])
    up = f"M{LEFT + half} {_top(6)}V{_top(6) - 20}H160V{_middle(5)}H{RIGHT}"
    wires.append([12, up, f"M{RIGHT} {_middle(5)}l-6-4v8z"])
    bottom = _top(3) + SIZE[3] + 9
    frames = "".join(f"M{x} {_top(k) - 8}h152V{bottom}h-152z" for x, k in ((2, 6), (166, 8)))
    texts = [
        [LEFT + half, SIZE[1] - 6, "the encoder reads"],
        [RIGHT + half, SIZE[1] - 6, "the decoder reads"],
        [20, _top(6) - 13, f"{num_layers} ×"],
        [184, _top(8) - 11, f"{num_layers} ×"],
        [118, _top(6) - 25, "keys, values"],
    ]
    return {"size": SIZE, "boxes": boxes, "wires": wires, "frames": frames, "texts": texts}


def _svg(drawing: dict[str, Any]) -> str:
    """The drawing where no script runs, in the colour of the text around it."""
    width, height, wide, high = drawing["size"]
    boxes = "".join(f"M{x} {y}h{wide}v{high}h-{wide}z" for _, x, y, _ in drawing["boxes"])
    lines = boxes + drawing["frames"] + "".join(line for _, line, _ in drawing["wires"])
    texts = [[x + wide // 2, y + 17, label] for _, x, y, label in drawing["boxes"]]
    written = "".join(
        f'<text x="{x}" y="{y}">{html.escape(text)}</text>'
        for x, y, text in texts + drawing["texts"]
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" fill="currentColor" '
        'font-size="12" text-anchor="middle" style="max-width:100%">'
        f"<title>The whole Transformer</title><desc>{DESCRIPTION}</desc>"
        f'<path fill="none" stroke="currentColor" d="{lines}"/>'
        f'<path d="{"".join(tip for *_, tip in drawing["wires"])}"/>{written}</svg>'
    )


def _shortened(drawing: dict[str, Any]) -> dict[str, Any]:
    """The same drawing, its boxes and wires lit at the stops of the short walk."""
    at = {STOPS.index(one) + 1: k for k, several in enumerate(SHORT.values(), 1) for one in several}
    plainer = {"embedding × √D": "embedding", "dense": "scores"}
    boxes = [[at[stop], x, y, plainer.get(label, label)] for stop, x, y, label in drawing["boxes"]]
    boxes[-1][3] = f"writes {boxes[-1][3]}"
    wires = [[at.get(stop, 0), line, tip] for stop, line, tip in drawing["wires"]]
    return drawing | {"boxes": boxes, "wires": wires}


# --- the words of the walk ------------------------------------------------------------------------


def _said(
    source: Sequence[str], target: Sequence[str], n: Mapping[str, int], begin: str
) -> list[list[str]]:
    """Of each stop: name, sentences, formula, letters that go in and come out, and of weights."""
    width = f"{n['D'] / n['H']:g}"
    norm = "normed: brought to mean 0 and variance 1"
    ask = "softmax(QKᵀ / √(D/H)) V"
    return [
        [
            "source tokens",
            f"The encoder gets the whole source sentence at once: {n['S']} tokens, each as its "
            "number in a vocabulary.",
            f"X = [{', '.join(clip(word, 16) for word in source)}]",
            "",
            "B S",
        ],
        [
            "embedding × √D",
            f"Each token is looked up in a table: a vector of {n['D']} numbers. Times √D = "
            f"{math.sqrt(n['D']):.1f} they are about as large as the waves that are added next.",
            "x = √D · E[token]",
            "B S",
            "B S D",
        ],
        [
            "positions added",
            "Attention by itself sees no order. So each place has a pattern of sines and cosines, "
            "which is added to whatever token stands there.",
            "x + p(place)",
            "B S D",
            "B S D",
        ],
        [
            "self-attention",
            "Each word asks all words of its own sentence, itself included. Queries, keys and "
            f"values come from the same vectors; {n['H']} heads ask side by side, each {width} "
            "wide.",
            f"{ask}, with Q, K and V from x",
            "B S D",
            "B S D",
            "B H S S",
        ],
        [
            "add & norm",
            "What attention found is added to what went in: nothing is lost, and a gradient has a "
            f"straight way back. Then each vector is {norm}.",
            "LN(x + attention(x))",
            "B S D",
            "B S D",
        ],
        [
            "feed-forward",
            f"The same small network at every place, each on its own: {n['D']} numbers become "
            f"{n['F']}, negative ones 0, and {n['F']} become {n['D']}. It mixes no words; only "
            "attention does.",
            "W₂ relu(W₁x + b₁) + b₂",
            "B S D",
            "B S D",
        ],
        [
            "add & norm: the block ends",
            "Added and normed again. A block's output has the shape of its input, so "
            f"{n['N']} can stand on each other. What the last one gives is kept for the decoder.",
            "LN(x + FFN(x))",
            "B S D",
            "B S D",
        ],
        [
            "target tokens",
            f"The decoder gets what is written so far, after the sign {begin}. In training that is "
            "the whole target, moved by one step; when it writes, its own words.",
            f"Y = [{', '.join(clip(word, 16) for word in [begin, *target[:-1]])}]",
            "",
            "B T",
        ],
        [
            "embedding and positions",
            "The same as on the left, with a table of its own: look up, times √D, add the waves of "
            "the step.",
            "x = √D · E[token] + p(step)",
            "B T",
            "B T D",
        ],
        [
            "masked self-attention",
            "Each step asks the steps up to itself. Later ones get the weight 0: in training they "
            "stand there already, and the first of them is the word to be predicted.",
            "softmax(mask(QKᵀ / √(D/H))) V, with Q, K and V from x",
            "B T D",
            "B T D",
            "B H T T",
        ],
        [
            "add & norm",
            f"What the step found in its own past is added to what it was; then {norm}.",
            "LN(x + attention(x))",
            "B T D",
            "B T D",
        ],
        [
            "cross-attention",
            "Here the two halves meet: each step asks the source sentence, as in chapter 4. The "
            "queries come from the decoder, keys and values from the top of the encoder.",
            f"{ask}, with Q from x; K and V from the encoder",
            "B T D, B S D",
            "B T D",
            "B H T S",
        ],
        [
            "add & norm",
            f"What the step found in the source is added to what it was; then {norm}.",
            "LN(x + attention(x, source))",
            "B T D",
            "B T D",
        ],
        [
            "feed-forward",
            "Again a small network at every step, each on its own.",
            "W₂ relu(W₁x + b₁) + b₂",
            "B T D",
            "B T D",
        ],
        [
            "add & norm: the block ends",
            f"Added and normed: one decoder block is done. There are {n['N']}, and each of them "
            "asks the same top of the encoder.",
            "LN(x + FFN(x))",
            "B T D",
            "B T D",
        ],
        [
            "dense",
            f"One linear map gives each of the {n['V']} target words a score, at every step.",
            "Wx + b",
            "B T D",
            "B T V",
        ],
        [
            "softmax: the next words",
            "The scores become probabilities of the word that comes next. The likeliest is "
            "written, and goes in below as the next step.",
            "softmax(Wx + b)",
            "B T V",
            "B T V",
        ],
    ]


def _said_shortly(n: Mapping[str, int]) -> list[str]:
    """A sentence or two for each stop of the short walk, about letters."""
    return [
        f"Each letter is looked up in a table: a vector of {n['D']} numbers. The pattern of its "
        "place is added to it.",
        "Letters that are read ask each other. A place of the answer asks itself and the places "
        "before it, then all that was read.",
        "What a part found is added to what went in, and the sum is brought to one size. The "
        "network, too, takes each place by itself.",
        f"Each of {n['V']} tokens gets a score at every place, and softmax makes probabilities of "
        "the scores. The likeliest is written.",
    ]


class Shown(Numbers):
    """What is shown, as the constructor made it."""

    def validate(self, obj: Any, value: Any) -> Any:
        """Check a new value."""
        if not value or not isinstance(value, list | dict):
            raise UnusableValue(f"{self.name} is made from the sentence; make another figure")
        return value


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

    drawing: Any = Shown([]).tag(sync=True)
    stops: Any = Shown([]).tag(sync=True)
    block = Whole(1, low=1, high=len(STOPS)).tag(sync=True)

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
        source, target = words("source", source), words("target", target)
        for name, found in (("source", source), ("target", target)):
            if len(found) > MOST:
                raise UnusableValue(f"{name} has {len(found)} words; 1 to {MOST} are needed")
        n = {"B": batch_size, "S": len(source), "T": len(target), "D": num_hiddens}
        n |= {"F": ffn_num_hiddens, "H": num_heads, "N": num_layers, "V": vocab_size}
        for letter, size in n.items():
            if not one_number(letter, size).is_integer() or size < 1:
                raise UnusableValue(f"{letter} is {size}; a whole number from 1 is needed")
        drawing = _drawing(source, target, num_layers, begin)
        stops = [_stop(words, n) for words in _said(source, target, n, begin)]
        names: Sequence[str] = STOPS
        if short:
            drawing, names = _shortened(drawing), list(SHORT)
            stops = [
                {"name": name, "said": said}
                for name, said in zip(SHORT, _said_shortly(n), strict=True)
            ]
            if block > len(names):
                raise UnusableValue(f"block is {block}; the short walk has {len(names)} stops")
        for key, values in (("link", links), ("length", lengths), ("look", looks)):
            for stop, value in (values or {}).items():
                if stop not in names:
                    raise UnusableValue(f"there is no stop {stop!r}; there are {', '.join(names)}")
                stops[names.index(stop)][key] = CHECKS[key](value)
        super().__init__(drawing=drawing, stops=stops, block=block)

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
        inside, scores = _run(model, source, target, source_vocab, target_vocab, layer)
        read, asking = source[place], ["<bos>", *target[:-1]]
        encoder, decoder, first = model.encoder, model.decoder, model.encoder.blks[0]
        lengths = {
            stop: (f"of “{word}”", inside[stop][0, at].norm().item())
            for stops, word, at in ((STOPS[1:7], read, place), (STOPS[8:15], asking[step], step))
            for stop in stops
        }
        which = f"head {head + 1} of block {layer + 1}"
        probabilities, places = scores[0, step].softmax(dim=-1).topk(min(LIKELY, scores.shape[-1]))
        looks: dict[str, Any] = {
            "ask itself": (
                f"“{read}” looks at ({which})",
                source,
                encoder.attention_weights[0, layer, head, place],
            ),
            "ask the past": (
                f"The step of “{asking[step]}” looks at ({which})",
                asking,
                decoder.self_attention_weights[0, layer, head, step],
            ),
            "ask the source": (
                f"The step of “{asking[step]}” looks at ({which})",
                source,
                decoder.attention_weights[0, layer, head, step],
            ),
            "softmax": (
                f"After “{asking[step]}” come",
                [target_vocab.tokens[number] for number in places.tolist()],
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
            blocks = (
                ["block", "it gives"],
                [(self.stops[k]["name"], self.stops[k]["gives"]) for k in (3, 9, 11, 5, 15)],
            )
        else:
            blocks = ["block", "what it does"], [(one["name"], one["said"]) for one in self.stops]
        return (
            paragraph(
                "Interactive figure: the whole Transformer. A walk through its blocks says what "
                "each does, what goes in and what comes out."
            )
            + _svg(self.drawing)
            + table(*blocks)
        )


def _stop(words: list[str], n: Mapping[str, int]) -> dict[str, Any]:
    name, said, formula, gets, gives, *weights = words
    found = {"name": name, "said": said, "formula": formula, "gives": _shape(gives, n)}
    if weights:
        found["weights"] = _shape(weights[0], n)
    if gets:
        found["gets"] = " and ".join(_shape(one, n) for one in gets.split(", "))
    return found | {"count": math.prod(n[letter] for letter in gives.split())}


def _shape(letters: str, n: Mapping[str, int]) -> str:
    """Letters and numbers of a shape.

    >>> _shape("B S", {"B": 1, "S": 7})
    '(B, S) = (1, 7)'
    """
    names = letters.split()
    return f"({', '.join(names)}) = ({', '.join(str(n[one]) for one in names)})"


def _link(address: Any) -> str:
    if not isinstance(address, str) or not re.fullmatch(r"(?!//)[\w./-]*(#[\w.-]+)?", address):
        raise UnusableValue(
            f"link is {address!r}; an anchor or an address within the book is needed"
        )
    return address


def _length(value: Any) -> list[Any]:
    label, length = value
    return [str(label), round(one_number("length", length), 3)]


def _look(value: Any) -> list[Any]:
    label, names, weights = value
    names = words("names of a look", names)
    found = [round(one_number("weight", x), 4) for x in plain(weights)]
    same_length(names=names, weights=found)
    return [str(label), names, found]


CHECKS = {"link": _link, "length": _length, "look": _look}


def _run(
    model: Any, source: Any, target: Any, source_vocab: Any, target_vocab: Any, layer: int
) -> tuple[dict[str, Any], Any]:
    """What each stop gives, (1, S, D) or (1, T, D) by its name, and the scores (1, T, V)."""
    encoder, decoder = model.encoder, model.decoder
    if encoder.blks[0].addnorm1.norm_first:
        raise UnusableValue("the model norms first; the drawing shows the norm after each sum")
    inside: dict[str, Any] = {}
    hooks = []

    def watch(module: Any, before: str, after: str) -> None:
        def keep(_module: Any, given: tuple[Any, ...], result: Any) -> None:
            inside.update({before: given[-1], after: result})

        hooks.append(module.register_forward_hook(keep))

    left, right = encoder.blks[layer], decoder.blks[layer]
    hooks.append(
        encoder.pos_encoding.register_forward_hook(
            lambda _module, given, result: inside.update(embed=given[0], position=result)
        )
    )
    hooks.append(
        decoder.pos_encoding.register_forward_hook(
            lambda _module, _given, result: inside.update(enter=result)
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
    return {name: found.detach() for name, found in inside.items()}, scores.detach()
