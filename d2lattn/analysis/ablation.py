"""Switch heads off, and measure what each of them adds to the output (chapter 5b).

The input of `W_o` is the concatenated heads, so a hook there sees the output of each head and can
replace it. A compiled attention ignores hooks that are added later.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import index
from typing import Any

import torch
from torch import Tensor

from d2lattn.checks import argument_error, check_floats
from d2lattn.multihead import MultiHeadAttention, split_heads
from d2lattn.scoring import repeat_heads
from d2lattn.training import evaluating


@torch.no_grad()
def value_lengths(attention: MultiHeadAttention, values: Tensor) -> Tensor:
    """Measure the norm of W_o W_v v for each value and head: how long a value is in the output.

    >>> attention = MultiHeadAttention(2, 2, 2, num_hiddens=2, num_heads=2, dropout=0)
    >>> _ = [torch.nn.init.eye_(matrix) for matrix in attention.parameters()]
    >>> value_lengths(attention, torch.tensor([[[3.0, 0.0], [4.0, -1.0]]]))
    tensor([[[3., 4.],
             [0., 1.]]])

    Args:
        attention: with H heads.
        values: as the attention takes them, shape (B, K, value_size).

    Returns:
        Shape (B, H, K).

    Raises:
        TypeError: `values` are not floating-point numbers, or are not of the attention's dtype.
        ValueError: their shape does not fit.

    Source: Kobayashi et al. 2020.
    """
    check_floats(module=attention.W_v.weight, values=values)
    if values.dim() != 3 or values.shape[2] != attention.W_v.in_features:
        raise argument_error(ValueError, "values", values, f"(B, K, {attention.W_v.in_features})")
    shared = split_heads(attention.W_v(values), attention.num_kv_heads)  # (B, G, K, D / H)
    heads = repeat_heads(shared, attention.num_heads)  # (B, G, K, D / H) -> (B, H, K, D / H)
    # (O, D) -> (H, D / H, O): the rows of W_o's transpose that each head meets
    outward = attention.W_o.weight.T.unflatten(0, (attention.num_heads, -1))
    return (heads @ outward).norm(dim=-1)  # (B, H, K, D / H) x (H, D / H, O) -> (B, H, K)


@torch.no_grad()
def head_contributions(attention: MultiHeadAttention, values: Tensor) -> Tensor:
    """Measure what each key adds to each output through each head: weight times `value_lengths`.

    A weight says how much of a value is used; the value may still be short, or `W_o` may remove it.

    >>> attention = MultiHeadAttention(2, 2, 2, num_hiddens=2, num_heads=2, dropout=0)
    >>> _ = [torch.nn.init.eye_(matrix) for matrix in attention.parameters()]
    >>> values = torch.tensor([[[3.0, 0.0], [3.0, 1.0]]])
    >>> _ = attention(torch.zeros(1, 1, 2), values, values)  # both heads weight both keys equally
    >>> head_contributions(attention, values)
    tensor([[[[1.5000, 1.5000]],
    <BLANKLINE>
             [[0.0000, 0.5000]]]])

    Args:
        attention: with H heads; the weights are those of its last call.
        values: those of the last call, shape (B, K, value_size).

    Returns:
        The norm of weight times W_o W_v v, shape (B, H, Q, K).

    Raises:
        AttributeError: there was no call.
        TypeError: as `value_lengths` raises.
        ValueError: the shape of `values` is not that of the last call.

    Source: Kobayashi et al. 2020, who consider the heads of a layer together.
    """
    lengths = value_lengths(attention, values).unsqueeze(2)  # (B, H, 1, K)
    weights = attention.attention_weights  # (B, H, Q, K)
    batch_size, _, _, num_keys = weights.shape
    if values.shape[:2] != (batch_size, num_keys):
        needs = f"({batch_size}, {num_keys}, value_size), as in the last call"
        raise argument_error(ValueError, "values", values, needs)
    return weights * lengths  # (B, H, Q, K) by (B, H, 1, K)


@contextmanager
def without_heads(
    attention: MultiHeadAttention, heads: Iterable[int], means: Tensor | None = None
) -> Iterator[None]:
    """Switch heads off inside a `with` block: their output is 0, or their mean.

    >>> attention = MultiHeadAttention(2, 2, 2, num_hiddens=2, num_heads=2, dropout=0)
    >>> _ = [torch.nn.init.eye_(matrix) for matrix in attention.parameters()]
    >>> X = torch.ones(1, 1, 2)
    >>> with without_heads(attention, [0]):
    ...     attention(X, X, X).tolist()
    [[[0.0, 1.0]]]

    Args:
        attention: with H heads.
        heads: which to switch off, from 0.
        means: what `head_means` gives, shape (H, D / H); zeros otherwise.

    Raises:
        ValueError: there is no such head, or the shape of `means` does not fit.
        RuntimeError: at the end of the block, if nothing called the attention.

    Source: Michel et al. 2019, with zeros.
    """
    weight, num_heads = attention.W_o.weight, attention.num_heads
    shape = num_heads, weight.shape[1] // num_heads  # (H, D / H)
    instead = weight.new_zeros(shape) if means is None else means.to(weight)
    if instead.shape != shape:
        raise argument_error(ValueError, "means", means, str(shape))
    off = torch.zeros(shape, dtype=torch.bool, device=weight.device)
    for head in heads:
        if not 0 <= head < num_heads:
            raise argument_error(ValueError, "heads", head, f"to be from 0 to {num_heads - 1}")
        off[index(head)] = True  # a tensor or a boolean would be taken for a mask

    called = False

    def ablate(joined: Tensor) -> Tensor:
        nonlocal called
        called = True
        # (H, D / H) twice -> (D,) beside (B, Q, D)
        return torch.where(off.flatten(), instead.flatten().to(joined.dtype), joined)

    with _observe_joined_heads(attention, ablate):
        yield
    if not called:
        raise RuntimeError(
            "without_heads: nothing called the attention in this block, or it is compiled"
        )


@contextmanager
def _observe_joined_heads(
    attention: MultiHeadAttention, observe: Callable[[Tensor], Any]
) -> Iterator[None]:
    """Call `observe` with the input of `W_o`, (B, Q, D), which it may replace by returning one."""
    hook = attention.W_o.register_forward_pre_hook(lambda _, inputs: observe(inputs[0]))
    try:
        yield
    finally:
        hook.remove()


@torch.no_grad()
def head_means(attention: MultiHeadAttention, run: Callable[[], object]) -> Tensor:
    """Return the mean output of each head over all queries of `run`.

    Replacing a head with zeros also removes the constant part of its output; replacing it with its
    mean removes only what depends on the input.

    >>> attention = MultiHeadAttention(2, 2, 2, num_hiddens=2, num_heads=2, dropout=0)
    >>> _ = [torch.nn.init.eye_(matrix) for matrix in attention.parameters()]
    >>> values = torch.tensor([[[3.0, 0.0]], [[5.0, 1.0]]])
    >>> head_means(attention, lambda: attention(values, values, values))
    tensor([[4.0000],
            [0.5000]])

    Args:
        attention: with H heads; it is in eval mode while `run` runs.
        run: calls the attention, or the model it is part of, on the data; once or several times.

    Returns:
        Shape (H, D / H).

    Raises:
        ValueError: `run` never calls the attention.
    """
    weight = attention.W_o.weight
    exact = torch.promote_types(weight.dtype, torch.float32)  # sums of half precision overflow
    total, count = torch.zeros_like(weight[0], dtype=exact), 0  # (D,)

    def collect(joined: Tensor) -> None:
        nonlocal total, count
        joined = joined.flatten(0, -2)  # (B, Q, D) -> (B * Q, D)
        total, count = total + joined.sum(dim=0, dtype=exact), count + len(joined)

    with _observe_joined_heads(attention, collect), evaluating(attention):
        run()
    if not count:
        raise argument_error(ValueError, "run", run, "to call the attention")
    means = (total / count).to(weight.dtype)
    return means.unflatten(0, (attention.num_heads, -1))  # (D,) -> (H, D / H)


@torch.no_grad()
def every_subset(
    attention: MultiHeadAttention,
    measure: Callable[[], float | Tensor],
    means: Tensor | None = None,
) -> list[float]:
    """Measure with every subset of the heads switched on, the others being off.

    >>> attention = MultiHeadAttention(2, 2, 2, num_hiddens=2, num_heads=2, dropout=0)
    >>> _ = [torch.nn.init.eye_(matrix) for matrix in attention.parameters()]
    >>> X = torch.tensor([[[1.0, 10.0]]])
    >>> every_subset(attention, lambda: attention(X, X, X).sum())
    [0.0, 1.0, 10.0, 11.0]

    Args:
        attention: with H heads; it is in eval mode throughout. A model around it is not touched.
        measure: gives one number; it is called 2^H times.
        means: as in `without_heads`.

    Returns:
        2^H numbers. For the one at index s, head h is on if bit h of s is set: the first is
        without any head, the last with all heads, the one at index 2^h with head h alone.

    Raises:
        ValueError: the shape of `means` does not fit.
        RuntimeError: `measure` never calls the attention.
    """
    places = range(attention.num_heads)
    measured = []
    with evaluating(attention):
        for on in range(2**attention.num_heads):
            off = [head for head in places if not on >> head & 1]
            with without_heads(attention, off, means):
                measured.append(float(measure()))
    return measured
