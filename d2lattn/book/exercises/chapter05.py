"""Checks for the exercises of chapters 5 and 5b, multi-head attention and what a head is worth."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lattn.bare import merge_heads, split_heads
from d2lattn.book.exercises.attending import (
    HEADS,
    MASKING,
    ONE_HEAD,
    SLIPS,
    attend_in_heads,
    mistakes_in_heads,
)
from d2lattn.book.exercises.checking import (
    Function,
    WrongAnswer,
    agrees,
    call,
    check,
    compare,
    expect,
    judge_number,
    module_with,
    read_number,
    read_parts,
    recognise,
)
from d2lattn.book.exercises.choices import choice

LOSSES = (
    *(3.20, 2.10, 0.90, 0.88, 0.60, 0.58, 0.31, 0.30),
    *(0.62, 0.60, 0.33, 0.31, 0.45, 0.44, 0.06, 0.05),
)
"""The table of exercise 5b.4: bit h of an index is set if head h is on."""


WRONG_SPLITS: tuple[tuple[Callable[[Tensor, int], Tensor], str], ...] = (
    (
        lambda x, num_heads: x.reshape(len(x), num_heads, x.shape[1], -1),
        "The shape is right, but head 1 contains pieces of the first positions only. Cut each row "
        "first, then exchange two axes.",
    ),
    (
        lambda x, num_heads: x.unflatten(-1, (num_heads, -1)),
        "The axis of heads is still behind that of positions.",
    ),
    (
        lambda x, num_heads: x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2),
        "You distributed the entries one by one. Each head gets neighbouring entries.",
    ),
)
WRONG_MERGES: tuple[tuple[Callable[[Tensor], Tensor], str], ...] = (
    (
        lambda heads: heads.reshape(len(heads), heads.shape[2], -1),
        "The shape is right, but a row contains several positions of one head. Move the axis of "
        "heads behind that of positions first.",
    ),
    (lambda heads: heads.flatten(1, 2), "You stacked the heads as more positions."),
    (lambda heads: heads.transpose(1, 2), "There are still four axes. Join the last two."),
    (lambda heads: heads.permute(0, 2, 3, 1).flatten(2), "A head's entries must stay together."),
    (lambda heads: heads.sum(dim=1), "The heads are concatenated, not added up."),
)


@check(
    "5.2",
    right=(split_heads, merge_heads),
    wrong=[
        *((split, merge_heads) for split, _ in WRONG_SPLITS),
        *((split_heads, merge) for merge, _ in WRONG_MERGES),
    ],
)
def check_split_and_merge(split: Function, merge: Function) -> str:
    """Split (B, N, D) into heads, (B, H, N, D / H), and merge them again."""
    for num_heads, width in ((3, 6), (2, 8)):
        x = torch.randn(2, 4, width)
        heads = torch.stack(x.chunk(num_heads, dim=-1), dim=1)  # (B, H, N, D / H)
        mistakes = [(wrong(x, num_heads), hint) for wrong, hint in WRONG_SPLITS]
        hint = "Head 1 contains the first D/H entries of every position."
        compare(split, (x, num_heads), heads, mistakes, hint, "your split")
        mistakes = [(wrong(heads), hint) for wrong, hint in WRONG_MERGES]
        compare(merge, (heads,), x, mistakes, "Merging undoes the split.", "your merge")
    return "cut each row and exchange two axes; to merge, undo both steps in reverse order."


def _padded_heads(q: Tensor, k: Tensor, v: Tensor, num_heads: int, valid: Tensor) -> Tensor:
    return attend_in_heads(q, k, v, num_heads, valid[:, None, None])


@check("5.3", right=(_padded_heads,))
def check_padded_heads(padded_heads: Function) -> str:
    """Attention in heads that share a padding mask (B, K), beside PyTorch's."""
    for num_heads, width, lens in ((2, 8, (5, 5)), (3, 6, (3, 4))):  # without padding, and with it
        q = torch.randn(2, 3, width)
        k, v = torch.randn(2, 2, 5, width)
        valid = torch.arange(5) < torch.tensor(lens)[:, None]
        mask = valid[:, None, None]  # (B, 1, 1, K)
        q_h, k_h, v_h = (split_heads(x, num_heads) for x in (q, k, v))
        pooled = F.scaled_dot_product_attention(q_h, k_h, v_h, attn_mask=mask)
        make = partial(attend_in_heads, q, k, v, num_heads, mask)
        mistakes = mistakes_in_heads(make, (*HEADS, *ONE_HEAD, *MASKING))
        hint, given = "Split, attend in each head with the mask, and merge.", (q, k, v)
        case = f"with {num_heads} heads"
        compare(
            padded_heads, (*given, num_heads, valid), merge_heads(pooled), mistakes, hint, case=case
        )
        q[..., 0], k[..., 0] = 6, k[..., 0] - 15 * math.sqrt(width)  # all of head 1's are lower
        expected = attend_in_heads(q, k, v, num_heads, mask)
        hint, case = (
            "A masked score is −∞, which is below any other score.",
            "where all scores of head 1 are below −50",
        )
        compare(padded_heads, (*given, num_heads, valid), expected, [], hint, case=case)
    return "one mask for all heads, and each head divides by the square root of its own width."


check_estimate = choice("5.4")


@check("5.5", right=(attend_in_heads,))
def check_repaired(repaired: Function) -> str:
    """Attention in heads, of projected queries, keys and values (B, N, D), merged."""
    for batch, num_queries, num_keys, width, heads in ((2, 4, 6, 8, 2), (1, 3, 3, 6, 3)):
        q = torch.randn(batch, num_queries, width)
        k, v = torch.randn(2, batch, num_keys, width)
        given = q, k, v, heads
        mistakes = mistakes_in_heads(partial(attend_in_heads, *given, None), (*HEADS, *ONE_HEAD))
        hint = "Compare each line with the walk's listing, on a batch that you can check by hand."
        compare(repaired, given, attend_in_heads(*given), mistakes, hint)
    return "split and merge keep positions together, and the scale depends on the width of a head."


class _MultiHead(nn.Module):
    """Multi-head attention, with one of SLIPS or one in the projections."""

    def __init__(self, num_hiddens: int, num_heads: int, slip: str = "") -> None:
        super().__init__()
        self.num_heads, self.slip = num_heads, slip
        bias = slip == "bias"
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Any = None) -> Tensor:
        q, k = self.W_q(queries), self.W_k(keys)  # (B, N, D)
        v = self.W_v(keys if self.slip == "keys as values" else values)
        output = attend_in_heads(q, k, v, self.num_heads, mask, self.slip)
        return output if self.slip == "no W_o" else self.W_o(output)


PROJECTIONS = "W_q", "W_k", "W_v", "W_o"


@check(
    "5.1", right=(_MultiHead,), wrong=[partial(_MultiHead, slip=slip) for slip in ("bias", *SLIPS)]
)
def check_multi_head(layer_class: Function) -> str:
    """Compare a class, of (num_hiddens, num_heads), with nn.MultiheadAttention."""
    weights = {f"{name}.weight": torch.randn(6, 6) for name in PROJECTIONS}
    needs = (
        "The layer needs four matrices, W_q, W_k, W_v and W_o, each "
        "nn.Linear(num_hiddens, num_hiddens, bias=False)."
    )
    layer = module_with(layer_class, (6, 3), weights, needs)
    pytorch = nn.MultiheadAttention(6, 3, bias=False, batch_first=True)
    *inputs, last = weights.values()
    pytorch.load_state_dict({"in_proj_weight": torch.cat(inputs), "out_proj.weight": last})
    queries = torch.randn(2, 4, 6)
    keys, values = torch.randn(2, 2, 5, 6)
    valid = torch.tensor([[True] * 3 + [False] * 2, [True] * 4 + [False]])  # (B, K)

    def with_slip(given: Sequence[Tensor], slip: str) -> Tensor:
        wrong = _MultiHead(6, 3, slip)
        wrong.load_state_dict(weights)
        return wrong(*given).detach()

    for mask, padding in (((), None), ((valid[:, None, None],), ~valid)):
        case = "with a mask" if mask else "without a mask"
        given = queries, keys, values, *mask
        expected, _ = pytorch(queries, keys, values, key_padding_mask=padding)
        mistakes = mistakes_in_heads(partial(with_slip, given), SLIPS)
        hint = "Project, split, attend, merge, project."
        compare(layer, given, expected.detach(), mistakes, hint, case=case)
    return "the same as nn.MultiheadAttention, with a mask and without."


check_one_look = choice("5.6")


def _kernel_mean(at: float, xs: Tensor, ys: Tensor, bandwidth: float) -> Tensor:
    weights = (-((at - xs) ** 2) / (2 * bandwidth**2)).softmax(dim=0)
    return weights @ ys


def _slope(x: float, xs: Tensor, ys: Tensor, bandwidth: float, delta: float) -> Tensor:
    above, below = (_kernel_mean(x + d, xs, ys, bandwidth) for d in (delta, -delta))
    return (above - below) / (2 * delta)


@check("5.7", right=(_slope,))
def check_slope(slope: Function) -> str:
    """How steep a kernel regression is at x, from its values at x + delta and x − delta."""
    xs = torch.linspace(-2, 3, 40)
    ys = xs.sin() + 0.1 * torch.randn(40)
    for x, bandwidth, delta in ((0.3, 0.4, 0.25), (1.6, 0.7, 0.4)):
        above, below = (_kernel_mean(x + d, xs, ys, bandwidth) for d in (delta, -delta))
        expected = _slope(x, xs, ys, bandwidth, delta)
        result = read_number(call(slope, x, xs, ys, bandwidth, delta), "your slope")
        at_x = _kernel_mean(x, xs, ys, bandwidth)
        hints = [
            (-expected, "The sign is wrong: a rising curve has a positive slope."),
            (above - below, "That is the rise. Divide it by the distance."),
            ((above - below) / delta, "The two positions are 2 delta apart."),
            ((above - at_x) / delta, "Use positions on both sides of x."),
            ((above + below) / 2, "That is the average of the two heights; subtract."),
        ]
        recognise(result, hints)
        hint = "Subtract two kernel averages, at x + delta and at x − delta, and divide."
        expect(result, expected.double(), hint, "your slope")
    return "one head is to the right of x, one to the left, and the output projection subtracts."


@check(
    "5.8",
    right=((2, 2.02),),
    wrong=[((5, 2.0),), ((2, 4.0),), ((2, 6.0),), ((2, 3.0),)],
)
def check_three_cities(answer: Sequence[float]) -> str:
    """How many heads v_a − 2 v_b + v_c needs, and the error of a single head, out of 6."""
    parts = read_parts(answer, 2, "Give two numbers: (heads, the error of one head).")
    mistakes = {
        3: "Three heads are enough. But are three needed? a and c have the same sign.",
        1: "The answer contains both signs, so one head is too few.",
    }
    judge_number(parts[0], 2, mistakes, "{:g} heads? Count the signs.", "the number of heads")
    left = read_number(parts[1], "the error of one head")
    if 3.7 < left < 4.4:
        raise WrongAnswer("That error remains if the head attends to a and c. It can do better.")
    if 5.6 < left < 6.5:
        raise WrongAnswer(
            "That is the error of always answering 0: has the model learned anything?"
        )
    if not 1.9 < left < 2.3:
        raise WrongAnswer(f"An error of {left:.2f}? Train one head longer; test on more questions.")
    return "one head for each sign; a single head ignores two cities, and each adds 1 to the error."


def _contributions(weights: Tensor, values: Tensor, W_o: Tensor) -> Tensor:
    blocks = W_o.T.unflatten(0, (len(values), -1))  # (H, d, O)
    return weights * (values @ blocks).norm(dim=-1).unsqueeze(1)  # (H, Q, K) by (H, 1, K)


@check("5b.1", right=(_contributions,))
def check_contributions(contributions: Function) -> str:
    """Lengths (H, Q, K) of contributions: weights (H, Q, K), values (H, K, d), W_o (O, H d)."""
    for heads, width, out in ((3, 2, 5), (2, 4, 3)):
        weights = torch.randn(heads, 4, 6).softmax(dim=-1)
        values = torch.randn(heads, 6, width)
        W_o = torch.randn(out, heads * width)
        blocks = W_o.T.unflatten(0, (heads, width))  # (H, d, O)
        lengths = (values @ blocks).norm(dim=-1).unsqueeze(1)  # (H, 1, K)
        expected = _contributions(weights, values, W_o)
        inside = weights * values.norm(dim=-1).unsqueeze(1)
        mistakes = [
            (
                inside,
                "That is the length inside the head. Multiply by the head's block of W_o first.",
            ),
            (
                lengths.expand_as(weights),
                "That is the length of the vectors that arrive. Multiply it by the weight.",
            ),
            (weights, "These are the weights. How long are the vectors that are weighted?"),
            (expected.square(), "That is the squared length; take the square root."),
            (
                weights * lengths.square(),
                "Take the square root before you multiply by the weight.",
            ),
        ]
        hint = "The output of head i is multiplied by columns i d to (i + 1) d − 1 of W_o."
        given = weights, values, W_o
        compare(
            contributions, given, expected, mistakes, hint, f"with {heads} heads, your contribution"
        )
    return "the length of a contribution is the weight times the length of the projected value."


def _prune(*given: Any, slip: str = "") -> tuple[Tensor, ...]:
    W_q, W_k, W_v, W_o, num_heads, kept = given
    width = len(W_q) // num_heads
    if slip == "removed":
        kept = [head for head in range(num_heads) if head not in kept]
    if slip == "strided":
        rows = [head + place * num_heads for head in kept for place in range(width)]
    else:
        rows = [head * width + place for head in kept for place in range(width)]
    if slip == "columns":
        return W_q[:, rows], W_k[:, rows], W_v[:, rows], W_o[rows]
    return W_q[rows], W_k[rows], W_v[rows], W_o if slip == "whole W_o" else W_o[:, rows]


PRUNING_SLIPS = {
    "removed": "You kept the heads that should be removed.",
    "strided": "A head has neighbouring rows: head i has rows i D/H to (i + 1) D/H − 1.",
    "columns": "Rows and columns are exchanged: a head has rows of W_q, W_k and W_v, and columns "
    "of W_o.",
    "whole W_o": "W_o still contains the columns of the removed heads.",
}


@check("5b.2", right=(_prune,), wrong=[partial(_prune, slip=slip) for slip in PRUNING_SLIPS])
def check_prune(prune: Function) -> str:
    """W_q, W_k, W_v and W_o of the kept heads alone; the output is as with the others off."""
    for num_heads, kept in ((4, [0, 3]), (3, [1])):
        given = *torch.randn(4, 12, 12), num_heads, kept
        result = read_parts(call(prune, *given), 4, "Give four matrices: W_q, W_k, W_v, W_o.")
        for slip, hint in PRUNING_SLIPS.items():
            wrong = _prune(*given, slip=slip)
            if all(agrees(torch.as_tensor(a), b) for a, b in zip(result, wrong, strict=True)):
                raise WrongAnswer(hint)
        for name, part, right in zip(PROJECTIONS, result, _prune(*given), strict=True):
            expect(part, right, "Select rows of W_q, W_k, W_v, columns of W_o.", f"your {name}")
    return "fewer rows and columns, and the same output as with the other heads off."


@check("5b.3", right=("DACB",), wrong=["ADCB", "DBCA", "DABC", "DACC", "DACX"])
def check_tests(letters: str) -> str:
    """Which measurement answers each of four questions."""
    if not isinstance(letters, str):
        raise WrongAnswer('Give four letters in the order of the questions, such as "ABCD".')
    chosen = "".join(letter for letter in letters.upper() if letter.isalnum())
    if len(chosen) != 4 or not set(chosen) <= set("ABCD"):
        raise WrongAnswer('Give four letters from A to D, such as "ABCD".')
    reasons = {
        "D": "Gold links are what a person would draw.",
        "A": "If replacing the state with another noun's changes the word, the model uses it.",
        "C": "The weight and two matrices determine how much of a value arrives.",
        "B": "To see what a head adds, switch it off, with the other heads on and off.",
    }
    for place, (given, right) in enumerate(zip(chosen, reasons, strict=True), start=1):
        if given != right:
            raise WrongAnswer(f"Look at question {place} again. {reasons[right]}")
    return (
        "Is a link plausible? Is a state used? Is a value passed on? Is a head needed? "
        "These are four questions, each with its own test."
    )


check_audit = choice("5b.4")
