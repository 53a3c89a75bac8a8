"""Checks for the exercises of chapters 3 and 3b, scores and their scale."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lattn.book.exercises.checking import (
    Function,
    LargestTensor,
    WrongAnswer,
    agrees,
    call,
    check,
    compare,
    expect,
    module_with,
    read_number,
    read_tensor,
    recognise,
)
from d2lattn.book.exercises.choices import choice
from d2lattn.scoring import AdditiveAttention, DotProductAttention


def _softmax_where(scores: Tensor, valid: Tensor) -> Tensor:
    return scores.masked_fill(~valid, -math.inf).softmax(dim=-1).nan_to_num(0.0)


@check(
    "3.2",
    right=(_softmax_where,),
    wrong=[
        lambda scores, valid: scores.masked_fill(~valid, -1e6).softmax(dim=-1),
        lambda scores, valid: scores.masked_fill(~valid, -1e9).softmax(dim=-1) * valid,
        lambda scores, valid: scores.masked_fill(~valid, -math.inf).softmax(dim=-1),
        lambda scores, valid: _softmax_where(scores, valid) + 0.5 * ~valid.any(-1, keepdim=True),
    ],
)
def check_softmax_where(softmax_where: Function) -> str:
    """Softmax over the keys where a boolean mask is true; zeros where it is true nowhere."""
    scores = torch.randn(2, 3, 5)  # (B, Q, K)
    valid = torch.rand(2, 3, 5) < 0.5
    valid[..., 0], valid[..., 1] = True, False  # each row has a valid and a masked key
    expected = _softmax_where(scores, valid)
    masked = scores.masked_fill(~valid, -math.inf)
    axis = "The softmax runs along the wrong axis; the keys are the last one."
    mistakes = [
        (scores.masked_fill(~valid, 0.0).softmax(dim=-1), "A masked score of 0 still gets weight."),
        (scores.softmax(dim=-1) * valid, "Rows no longer sum to 1: mask before the softmax."),
        (_softmax_where(scores, ~valid), "Inverted: a query may attend where `valid` is true."),
        (masked.softmax(dim=0), axis),
        (masked.softmax(dim=1), axis),
    ]
    hint = "Each row should be a softmax over its valid keys."
    compare(softmax_where, (scores, valid), expected, mistakes, hint, "your weights")

    # Scores this low lose to any number that stands for a masked score but infinity.
    for low in (-2e9, -3e38):
        scores, valid = torch.tensor([[[low, low, 0.0]]]), torch.tensor([[[True, True, False]]])
        result = read_tensor(call(softmax_where, scores, valid), scores, "your weights")
        if result.isnan().any() or (result == 0).all():
            raise WrongAnswer(
                f"With scores of {low:g}, your valid keys get no weight, or NaN. Mask the scores "
                "with minus infinity, not with a finite number, then call softmax: it subtracts "
                "the largest score first."
            )
        expect(
            result,
            torch.tensor([[[0.5, 0.5, 0.0]]]),
            f"With scores of {low:g}, a masked key gets weight: use −∞, not a finite number.",
            "your weight",
        )

    nothing = torch.zeros(1, 2, 3, dtype=torch.bool)
    nothing[0, 1, 0] = True
    empty = read_tensor(call(softmax_where, torch.ones(1, 2, 3), nothing), torch.zeros(1, 2, 3))
    if empty.isnan().any():
        raise WrongAnswer("A row with no valid key is NaN: the softmax divides 0 by 0 there.")
    if (empty[0, 0] > 0).any():
        raise WrongAnswer("A row with no valid key has weights above 0; all should be 0.")
    expect(empty[0, 1], torch.tensor([1.0, 0.0, 0.0]), "One valid key gets all the weight.")
    return (
        "masked keys get weight 0, rows sum to 1, and rows without a valid key contain only zeros."
    )


class _Additive(nn.Module):
    """Additive attention; other features, another mask or another axis are mistakes."""

    def __init__(
        self,
        key_size: int,
        query_size: int,
        num_hiddens: int,
        features: Callable[[Tensor, Tensor], Tensor] = lambda q, k: torch.tanh(q + k),
        valid: Callable[[Tensor], Tensor] = lambda mask: mask,
        softmax: int = -1,
    ) -> None:
        super().__init__()
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.features, self.valid, self.softmax = features, valid, softmax

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        q, k = self.W_q(queries).unsqueeze(-2), self.W_k(keys).unsqueeze(-3)
        # (B, Q, 1, h), (B, 1, K, h) -> (B, Q, K, h) -> (B, Q, K)
        scores = self.w_v(self.features(q, k)).squeeze(-1)
        weights = scores.masked_fill(~self.valid(mask), -1e9).softmax(dim=self.softmax)
        return weights @ values  # (B, Q, K) x (B, K, V) -> (B, Q, V)


ADDITIVE_SLIPS: list[tuple[dict[str, Any], str]] = [
    ({"features": lambda q, k: torch.tanh(q - k)}, "Add the key to the query; do not subtract it."),
    (
        {"features": lambda q, k: torch.tanh(k - q)},
        "Add the query to the key; do not subtract it.",
    ),
    (
        {"features": lambda q, k: q + k},
        "The tanh is missing. Without it, the query cancels in the softmax.",
    ),
    (
        {"features": lambda q, k: q.tanh() + k.tanh()},
        "Add the projections first, then take the tanh of the sum.",
    ),
    ({"valid": lambda mask: mask | True}, "The mask is not used: padding has weight."),
    ({"valid": lambda mask: ~mask}, "The mask is inverted: it is true at real keys."),
    ({"softmax": -2}, "The softmax has to run along the keys."),
]
"""Exercise 3b.1: mistakes, as arguments of the layer, and their hints."""


@check("3b.1", right=(_Additive,), wrong=[partial(_Additive, **slip) for slip, _ in ADDITIVE_SLIPS])
def check_additive_attention(layer_class: Function) -> str:
    """Compare a class, of (key_size, query_size, num_hiddens), with the package's layer."""
    needs = "W_q, W_k and w_v must be nn.Linear without a bias, for queries, keys and hidden units."
    for q, k, h in ((3, 2, 4), (5, 7, 6)):
        names, shapes = ("W_q", "W_k", "w_v"), ((h, q), (h, k), (1, h))
        weights = {f"{n}.weight": torch.randn(s) for n, s in zip(names, shapes, strict=True)}
        layer = module_with(layer_class, (k, q, h), weights, needs)
        package = AdditiveAttention(k, q, h, dropout=0)
        package.load_state_dict(weights)
        inputs = torch.randn(2, 4, q), torch.randn(2, 5, k), torch.randn(2, 5, 3)
        lengths = torch.tensor([2, 4])
        given = *inputs, torch.arange(5) < lengths.view(2, 1, 1)  # the mask is (B, 1, K)
        mistakes = []
        for slip, message in ADDITIVE_SLIPS:
            wrong = _Additive(k, q, h, **slip)
            wrong.load_state_dict(weights)
            mistakes.append((wrong(*given).detach(), message))
        hint = "Compare each step with the formula and with its shapes."
        expected, case = package(*inputs, lengths).detach(), f"with widths {q} and {k}"
        compare(layer, given, expected, mistakes, hint, case=case)
    return "the same output as d2l.AdditiveAttention, with different widths and with a mask."


check_divisor = choice("3.3")


def _softmax_backward(weights: Tensor, gradient: Tensor) -> Tensor:
    return weights * (gradient - (weights * gradient).sum(dim=-1, keepdim=True))


def _by_jacobian(weights: Tensor, gradient: Tensor) -> Tensor:
    jacobian = torch.diag_embed(weights) - weights.unsqueeze(2) * weights.unsqueeze(1)
    return (jacobian @ gradient.unsqueeze(2)).squeeze(2)  # (B, K, K) x (B, K, 1) -> (B, K)


@check("3.6", right=(_softmax_backward,), wrong=[_by_jacobian])
def check_softmax_backward(softmax_backward: Function) -> str:
    """The Jacobian of the softmax times a gradient, row by row."""
    weights = torch.randn(3, 6).softmax(dim=-1)
    gradient = torch.randn(3, 6)
    mean = (weights * gradient).sum(dim=-1, keepdim=True)  # (B, 1)
    expected = _softmax_backward(weights, gradient)

    mistakes = [
        (weights * gradient, "That is the part α ∘ g alone; the part -α (αᵀ g) is missing."),
        (gradient - mean, "The factor α in front is missing."),
        (weights * (gradient - (weights * gradient).sum()), "Each row needs its own sum."),
        (weights * (gradient - gradient.mean(dim=-1, keepdim=True)), "Weight the mean by α: αᵀ g."),
    ]
    hint = "Write J g as α ∘ g - α (αᵀ g)."
    result = compare(softmax_backward, (weights, gradient), expected, mistakes, hint, "your result")

    wide = (4 * torch.randn(2, 64)).softmax(dim=-1)
    gradient = 10 * torch.randn(2, 64)
    with LargestTensor() as seen:
        result = call(softmax_backward, wide, gradient)
    expected = _softmax_backward(wide, gradient)
    expect(result, expected, "Take the sizes from the arguments.", "with 64 keys, your result")
    if seen.numel >= 64 * 64:
        raise WrongAnswer("The numbers are right, but your code built a K × K matrix.")
    return "K numbers in, K numbers out, and no K × K matrix in between."


def _nearest(
    queries: Tensor, keys: Tensor, values: Tensor, h: float, norm: float = 0.5, sign: int = 1
) -> Tensor:
    """Attention by distance; another factor of the keys' squared norms is a mistake."""
    norms = keys.square().sum(dim=-1).unsqueeze(-2)  # (B, K, D) -> (B, 1, K)
    scores = sign * (queries @ keys.mT - norm * norms) / h**2  # (B, Q, K)
    return scores.softmax(dim=-1) @ values  # (B, Q, K) x (B, K, V) -> (B, Q, V)


def _by_differences(queries: Tensor, keys: Tensor, values: Tensor, h: float) -> Tensor:
    difference = queries.unsqueeze(2) - keys.unsqueeze(1)  # (B, Q, 1, D) - (B, 1, K, D)
    return (-difference.square().sum(dim=-1) / (2 * h**2)).softmax(dim=-1) @ values


@check("3b.2", right=(_nearest,), wrong=[_by_differences])
def check_distance_attention(attention: Function) -> str:
    """Attention with the Gaussian score −‖q − k‖² / 2h², from a matrix product."""
    queries = torch.randn(2, 3, 4)
    keys, values = torch.randn(2, 2, 5, 4)
    given = queries, keys, values
    expected = _by_differences(*given, 1.7)
    mistakes = [
        (_nearest(*given, 1.7, sign=-1), "The sign is wrong: a near key needs a high score."),
        (_nearest(*given, 1.7**0.5), "Divide by the square of the bandwidth."),
        (_nearest(*given, 1.7 / 2**0.5), "The factor 1/2 of the Gaussian is missing."),
        (_nearest(*given, 1.0), "The bandwidth is not used."),
        (_nearest(*given, 1.7, norm=0.0), "That is the dot product: the keys' norms are missing."),
        (_nearest(*given, 1.7, norm=1.0), "Subtract only half of the key's squared norm."),
    ]
    hint = "Multiply out ‖q − k‖², and drop the term that is the same for all keys."
    result = compare(attention, (*given, 1.7), expected, mistakes, hint)

    wide = torch.randn(1, 32, 32)
    with LargestTensor() as seen:
        result = call(attention, wide, wide, wide, 3.0)
    case = "with 32 keys, your output"
    expect(
        result, _by_differences(wide, wide, wide, 3.0), "Take the sizes from the arguments.", case
    )
    if seen.numel >= 32 * 32 * 32:
        raise WrongAnswer("The output is right, but your code built a tensor of all differences.")
    return "a matrix product and the norms of the keys are enough: the norm of the query cancels."


def _general(
    queries: Tensor, keys: Tensor, values: Tensor, W: Tensor, mask: Tensor, softmax: int = -1
) -> Tensor:
    scores = queries @ W @ keys.mT  # (B, Q, D_q) x (D_q, D_k) x (B, D_k, K) -> (B, Q, K)
    return scores.masked_fill(~mask, -1e9).softmax(dim=softmax) @ values


@check("3b.5", right=(_general,))
def check_general_attention(attention: Function) -> str:
    """Attention with the score qᵀ W k, for queries and keys of different widths."""
    shapes = (2, 4, 3), (2, 5, 2), (2, 5, 6), (3, 2)
    queries, keys, values, W = (torch.randn(shape) for shape in shapes)
    mask = torch.arange(5) < torch.tensor([2, 4]).view(2, 1, 1)  # (B, 1, K)
    expected = F.scaled_dot_product_attention(queries @ W, keys, values, mask, scale=1.0)
    given = queries, keys, values, W
    mistakes = [
        (_general(*given, mask | True), "The mask is not used: padding has weight."),
        (_general(*given, ~mask), "The mask is inverted: it is true at real keys."),
        (_general(*given, mask, softmax=-2), "The softmax has to run along the keys."),
        (_general(queries, keys, values, W / 2**0.5, mask), "Do not divide this score by √d."),
        ((queries @ W @ keys.mT * mask) @ values, "The softmax is missing."),
    ]
    hint = "The scores are queries @ W @ keys.mT; then apply the mask and the softmax."
    compare(attention, (*given, mask), expected, mistakes, hint)
    return "the same as PyTorch's attention with queries @ W: one matrix makes the widths equal."


@check("3.7", right=(2.02,), wrong=[1.0, 0.5, -2.0, 3.0])
def check_slope(measured_slope: float) -> str:
    """The growth of the variance of q·k over d for entries that share a component."""
    result = read_number(measured_slope, "the slope")
    if 0.9 <= result <= 1.1:
        raise WrongAnswer(
            "A slope of 1 belongs to independent entries, or to the standard deviation instead of "
            "the variance. Is s drawn once for each vector, and shared by its entries?"
        )
    if 0.4 <= result <= 0.6:
        raise WrongAnswer(
            "A slope of 1/2 belongs to the standard deviation of independent entries."
        )
    if -2.2 <= result <= -1.8:
        raise WrongAnswer("The sign is wrong: the variance grows with d.")
    if not 1.75 <= result <= 2.2:
        raise WrongAnswer(
            f"The slope is {result:.3g}. Take the variance over many pairs, and fit log(variance) "
            "against log(d)."
        )
    return "close to 2: the shared parts add d equal products, so divide such scores by d."


def _attention(
    scale: str = "width", softmax: int = -1, before: bool = True
) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """Attention over (B, Q, D), (B, K, D), (B, K, V) and a mask, right or with mistakes of 3.3."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor, valid: Tensor) -> Tensor:
        divisor = {"width": keys.shape[-1], "keys": keys.shape[-2]}[scale]
        scores = queries @ keys.mT / math.sqrt(divisor)  # (B, Q, D) x (B, D, K) -> (B, Q, K)
        if before:
            scores = scores.masked_fill(~valid, -math.inf)
        return (scores.softmax(dim=softmax) * valid) @ values  # (B, Q, K) x (B, K, V)

    return attend


LEFT = {
    ("keys", -2, False): "The scale, the axis of the softmax and the mask are all wrong.",
    ("width", -2, False): "The scale is right. Along which axis should weights sum to 1?",
    ("keys", -1, False): "The axis is right. By what number does the formula divide?",
    ("width", -1, False): "One mistake is left: what is the sum of a row that is masked like this?",
    ("keys", -1, True): "One mistake is left: by what number does the formula divide?",
    ("width", -2, True): "Your output is NaN. Along another axis than the keys, a softmax can meet "
    "nothing but minus infinity, and divide 0 by 0. Along which axis should weights sum to 1?",
}
"""Exercise 3.4: what to look at, by which mistakes an answer still has."""


@check("3.4", right=(_attention(),))
def check_repaired(attention: Function) -> str:
    """Masked scaled dot-product attention on a batch, from memory or from a wrong listing."""
    shapes = (2, 4, 9), (2, 6, 9), (2, 6, 3)
    queries, keys, values = (torch.randn(shape) for shape in shapes)
    valid = torch.arange(6) < torch.tensor([4, 2]).view(2, 1, 1)  # (B, 1, K)
    tensors = queries, keys, values, valid
    expected = _attention()(*tensors)
    everywhere = torch.ones(2, 1, 6, dtype=torch.bool)
    mistakes = [(_attention(*left)(*tensors), hint) for left, hint in LEFT.items()] + [
        (_attention()(*tensors[:3], everywhere), "The mask is not used: padding has weight."),
        (_attention()(*tensors[:3], ~valid), "The mask is inverted: it is true at real keys."),
        (_attention()(queries * 3, *tensors[1:]), "The scores are not divided by √d."),
    ]
    compare(attention, tensors, expected, mistakes, "Compare with the three functions of the walk.")
    return "divide by √d, mask before the softmax, and run the softmax along the keys."


def _from_lengths(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    lengths: Tensor,
    more: int = 0,
    scale: float | None = None,
) -> Tensor:
    """Attention by valid lengths, (B,) or (B, Q); `more` keys or another scale are mistakes."""
    lengths = lengths.unsqueeze(-1) if lengths.dim() == 2 else lengths.view(-1, 1, 1)
    mask = torch.arange(keys.shape[1]) < lengths + more  # (B, 1 or Q, K)
    return F.scaled_dot_product_attention(queries, keys, values, mask, scale=scale)


def _compare_lengths(attention: Function, lengths: Tensor) -> None:
    """Compare attention with the package's, for such valid lengths."""
    queries = torch.randn(2, 2, 3)  # B = Q: a wrong axis raises no error
    keys, values = torch.randn(2, 2, 5, 3)
    given = queries, keys, values, lengths
    expected = DotProductAttention(dropout=0)(*given)
    mistakes = [
        (_from_lengths(*given, more=1), "You allow one key too many: n is valid if n < length."),
        (_from_lengths(*given, more=9), "Every key has weight: compare arange(K) with lengths."),
        (_from_lengths(*given, scale=1.0), "The scores are not divided by √d."),
    ]
    if lengths.dim() == 1:
        each = lengths.expand(2, 2)
        hint = "Your mask is (B, K) and is read as (Q, K). Give it the shape (B, 1, K)."
        mistakes.append((_from_lengths(*given[:3], each), hint))
    hint = "Check the mask (arange(K) < lengths, before the softmax), √d, and the softmax's axis."
    case = f"with lengths of shape {tuple(lengths.shape)}"
    compare(attention, given, expected, mistakes, hint, case=case)


@check("3.8", right=(_from_lengths,))
def check_from_lengths(attention: Function) -> str:
    """Scaled dot-product attention that takes valid lengths, as the package does."""
    for lengths in (torch.tensor([2, 4]), torch.tensor([[1, 2], [4, 3]])):
        _compare_lengths(attention, lengths)
    return "the same as d2l.DotProductAttention, with a length for each sequence or for each query."


@check("3.1", right=(_from_lengths,))
def check_valid_lens(attention: Function) -> str:
    """Scaled dot-product attention with one valid length for each sequence."""
    _compare_lengths(attention, torch.tensor([2, 4]))
    return "padding gets no weight, the other weights sum to 1, and the scores are divided by √d."


check_leak = choice("3.5")


check_box = choice("3b.3")


def _one_more(queries: Tensor, entry: float = 1.0) -> Tensor:
    return torch.cat([queries, torch.full((len(queries), 1), entry)], dim=1)


@check(
    "3b.4",
    right=(lambda queries: _one_more(queries),),
    wrong=[
        lambda queries: _one_more(queries).roll(1, dims=1),
        lambda queries: _one_more(2 * queries),
        lambda queries: _one_more(queries, 0.0),
        lambda queries: torch.cat([queries, queries[:, :1]], dim=1),
        lambda queries: _one_more(queries, float(queries.sum())),
    ],
)
def check_one_more(one_more: Function) -> str:
    """Add an entry to each query, so that a column of W_q has the effect of a bias."""
    for count, width in ((3, 4), (5, 2)):
        queries = torch.randn(count, width)
        expected = _one_more(queries)
        result = call(one_more, queries, case=f"with {count} queries of width {width}")
        result = read_tensor(result, expected, "your result")
        added = result[:, -1]
        if agrees(result[:, 1:], queries):
            raise WrongAnswer("Put the new entry at the end, where the new column of W_q is.")
        expect(result[:, :-1], queries, "The query itself should not change.", "your result")
        recognise(added, [(torch.zeros(count), "The new column times 0 is 0, so nothing changes.")])
        if not agrees(added, added[:1].expand(count)):
            raise WrongAnswer("A bias is the same for all queries, so the new entry must be, too.")
        mirrored = call(one_more, -2 * queries, case="with all queries multiplied by −2")
        mirrored = read_tensor(mirrored, expected, "your result")
        if not agrees(mirrored[:, -1], added):
            raise WrongAnswer("Your entry changes with the queries. Make it a constant.")
    return "the constant entry, multiplied by the last column of W_q, is the bias for every query."
