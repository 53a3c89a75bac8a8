"""Checks for the exercises of chapter 12, a decoder alone."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from d2lattn.bare import split_heads
from d2lattn.bare_modern import rotary
from d2lattn.book.exercises.checking import (
    Differs,
    call,
    check,
    choose_letter,
    number,
    recognise,
    same,
    tensor_like,
)


def _keep(probs: Tensor, keep: Tensor, tokens: Tensor) -> Tensor:
    """Set all but the kept entries to 0; `keep` is in the order of `tokens`."""
    return torch.zeros_like(probs).scatter(0, tokens, keep.to(probs.dtype)) * probs


def _top_p(probs: Tensor, p: float) -> Tensor:
    """Keep the smallest set of likeliest tokens whose sum reaches p, and divide by its sum."""
    ordered, tokens = probs.sort(descending=True)
    kept = _keep(probs, ordered.cumsum(0) - ordered < p, tokens)
    return kept / kept.sum()


@check("12.1", right=(_top_p,))
def check_top_p(function: Callable[[Tensor, float], Tensor]) -> str:
    """Top-p for one row of probabilities, not sorted."""
    generator = torch.Generator().manual_seed(12)
    rows = [torch.tensor([0.1, 0.05, 0.6, 0.25])]
    rows += [torch.randn(n, generator=generator).mul(2).softmax(0) for n in (7, 20)]
    for probs in rows:
        for p in (0.8, 0.5):
            case = f"with {len(probs)} tokens and p = {p}"
            expected = _top_p(probs, p)
            result = tensor_like(call(function, probs, p, case=case), expected, f"{case}, it")
            ordered, tokens = probs.sort(descending=True)
            too_few = ordered.cumsum(0) <= p
            unsorted = probs * (probs.cumsum(0) - probs < p)
            recognise(
                result,
                [
                    (expected * _scale(probs, p), "Divide what is left by its sum."),
                    (_keep(probs, too_few, tokens), "The token that reaches p is missing."),
                    (
                        _keep(probs, too_few, tokens) / (ordered * too_few).sum(),
                        "The token that reaches p belongs to the set: the sum must reach p.",
                    ),
                    (unsorted / unsorted.sum(), "The sum must start at the likeliest token: sort."),
                    (
                        ordered * (ordered.cumsum(0) - ordered < p) / _scale(probs, p),
                        "The result is in sorted order; put each token back where it stood.",
                    ),
                ],
                expected,
            )
            same(result, expected, "Sort, sum up, and keep until the sum reaches p.", f"{case}, it")
    return "the smallest set that reaches p, and its probabilities sum to 1."


def _scale(probs: Tensor, p: float) -> Tensor:
    """Sum of the tokens that top-p keeps."""
    ordered = probs.sort(descending=True).values
    return (ordered * (ordered.cumsum(0) - ordered < p)).sum()


def _parameters(
    tied: bool = True, biases: bool = True, norms: bool = True, table: bool = True
) -> int:
    """Count GPT-2 medium: width 1,024, 24 blocks, 50,257 tokens, 1,024 positions."""
    D, depth, V = 1024, 24, 50257
    block = 12 * D**2 + (9 * D if biases else 0) + (4 * D if norms else 0)
    tables = V * D * (1 if tied else 2) + (1024 * D if table else 0)
    return depth * block + tables + (2 * D if norms else 0)


@check("12.2", right=(_parameters(),))
def check_parameters(answer: float) -> str:
    """The number of parameters of GPT-2 medium."""
    result = number(answer)
    recognise(
        result,
        [
            (_parameters(tied=False), "The logits use the table of tokens again; count it once."),
            (_parameters(table=False), "The table of 1,024 positions is missing."),
            (_parameters(biases=False), "The four layers of a block have biases, 9D in all."),
            (_parameters(norms=False), "A norm has 2D parameters; there are two in each block."),
            (_parameters() - 2048, "There is one more norm after the last block."),
            (124_439_808, "That is GPT-2 small. Medium has width 1,024 and 24 blocks."),
        ],
        _parameters(),
        rtol=0,
        atol=0.5,
    )
    if result != _parameters():
        raise Differs(f"{result:,.0f} is not it. A block has 12D² + 13D; add tables and last norm.")
    return "355 million; its checkpoint has as many."


class _Block(nn.Module):
    """The four parts of a GPT block, with random weights."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.Linear(width, width)  # any map (B, N, D) -> (B, N, D) will do here
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU())
        self.network.append(nn.Linear(4 * width, width))
        for parameter in self.parameters():
            nn.init.normal_(parameter)

    def __deepcopy__(self, memo: dict[int, object]) -> "_Block":
        return self  # the reader's function gets it as it is


def _block(X: Tensor, block: _Block) -> Tensor:
    X = X + block.attention(block.norm1(X))
    return X + block.network(block.norm2(X))


@check("12.3", right=(_block,))
def check_block(function: Callable[[Tensor, _Block], Tensor]) -> str:
    """The forward pass of a block that normalises first."""
    torch.manual_seed(12)
    block = _Block(6).eval().requires_grad_(False)
    X = torch.randn(2, 3, 6)
    attend, network, norm1, norm2 = block.attention, block.network, block.norm1, block.norm2
    once = X + attend(norm1(X))  # after the attention
    bare = X + attend(X)
    late = norm1(bare)
    normed = norm1(X)
    lost = normed + attend(normed)
    expected = _block(X, block)
    result = tensor_like(call(function, X, block), expected)
    recognise(
        result,
        [
            (norm2(late + network(late)), "That is the norm after each sum; it goes first."),
            (X + network(norm2(once)), "The second sum starts from the first one's result."),
            (once + network(once), "The network must read the norm of its input."),
            (bare + network(norm2(bare)), "The attention must read the norm of its input."),
            (network(norm2(once)), "The second residual connection is missing."),
            (
                attend(normed) + network(norm2(attend(normed))),
                "The first residual connection is missing.",
            ),
            (once + network(norm2(X)), "The network reads X from before the attention."),
            (lost + network(norm2(lost)), "The residual path must carry X itself, not its norm."),
            (once + network(norm1(once)), "The network has a norm of its own, norm2."),
        ],
        expected,
    )
    same(result, expected, "x + attention(norm1(x)), then x + network(norm2(x)).")
    return "the residual path stays a plain sum."


@check("12.4", right=("C",), wrong=["A", "B"])
def check_suspect(answer: str) -> str:
    """Why a loss falls to 0.01 and the writer repeats its input."""
    choose_letter(
        answer,
        {
            "A": "Without a mask the loss falls, too, because the model reads the next token. But "
            "then a later token changes earlier logits, and here none changed.",
            "B": "A high temperature changes what is drawn, not the loss.",
        },
    )
    return "each position had to predict the very token that it read."


def _attention(
    X: Tensor,
    W_qkv: Tensor,
    W_o: Tensor,
    num_heads: int,
    causal: bool = True,
    width: int | None = None,
    merge: bool = True,
) -> Tensor:
    """Causal self-attention, right or with a mistake of exercise 12.5."""
    N = X.shape[1]
    q, k, v = (split_heads(Y, num_heads) for Y in (X @ W_qkv).chunk(3, dim=-1))
    scores = q @ k.mT / (width or q.shape[-1]) ** 0.5  # (B, H, N, N)
    if causal:
        scores = scores.masked_fill(~torch.ones(N, N).tril().bool(), -torch.inf)
    heads = scores.softmax(dim=-1) @ v  # (B, H, N, D/H)
    merged = heads.transpose(1, 2) if merge else heads
    return merged.reshape(X.shape) @ W_o


@check("12.5", right=(_attention,))
def check_attention(function: Callable[[Tensor, Tensor, Tensor, int], Tensor]) -> str:
    """Causal self-attention with fused projections, from an empty cell."""
    generator = torch.Generator().manual_seed(12)
    X = torch.randn(2, 5, 12, generator=generator)
    W_qkv = torch.randn(12, 36, generator=generator) / 3
    W_o = torch.randn(12, 12, generator=generator) / 3
    theirs = nn.MultiheadAttention(12, 3, bias=False, batch_first=True)
    theirs.load_state_dict({"in_proj_weight": W_qkv.T, "out_proj.weight": W_o.T})
    later = torch.ones(5, 5).triu(1).bool()  # where PyTorch must not attend
    expected = theirs(X, X, X, attn_mask=later)[0].detach()
    arguments = X, W_qkv, W_o, 3
    result = tensor_like(call(function, *arguments), expected)
    recognise(
        result,
        [
            (_attention(*arguments, causal=False), "Each position attends to later ones: mask."),
            (_attention(*arguments, width=12), "Divide by the root of a head's width, D/H."),
            (_attention(*arguments, width=1), "The scores are still to be divided by √(D/H)."),
            (_attention(*arguments, merge=False), "Move the axis of heads back before merging."),
            (_attention(X, W_qkv, torch.eye(12), 3), "The output projection W_o is missing."),
            (_attention(X, W_qkv, W_o, 1), "There is one head; num_heads are wanted."),
        ],
        expected,
    )
    same(result, expected, "Project, cut, split, scores, mask, softmax, sum, merge, project.")
    return "as PyTorch's layer with a causal mask."


def _grouped(
    X: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    num_heads: int,
    num_groups: int,
    rotated: bool = True,
    rotated_values: bool = False,
    interleaved: bool = True,
    causal: bool = True,
) -> Tensor:
    """Grouped rotary self-attention, right or with a mistake of exercise 12.6."""
    q, k, v = (
        split_heads(X @ W, count)
        for W, count in ((W_q, num_heads), (W_k, num_groups), (W_v, num_groups))
    )
    if rotated:
        q, k = rotary(q), rotary(k)
    if rotated_values:
        v = rotary(v)
    repeats = num_heads // num_groups
    if interleaved:
        k, v = k.repeat_interleave(repeats, dim=1), v.repeat_interleave(repeats, dim=1)
    else:  # head i meets group i modulo G
        k, v = k.repeat(1, repeats, 1, 1), v.repeat(1, repeats, 1, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        later = torch.ones(X.shape[1], X.shape[1]).triu(1).bool()
        scores = scores.masked_fill(later, -torch.inf)
    return (scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2) @ W_o


@check("12.6", right=(_grouped,))
def check_grouped(function: Callable[..., Tensor]) -> str:
    """Causal self-attention of a LLaMA: rotary positions, and keys shared by groups of heads."""
    generator = torch.Generator().manual_seed(12)
    X = torch.randn(2, 5, 16, generator=generator)
    W_q, W_k, W_v, W_o = (
        torch.randn(16, width, generator=generator) / 4 for width in (16, 8, 8, 16)
    )
    arguments = X, W_q, W_k, W_v, W_o, 4, 2
    expected = _grouped(*arguments)
    result = tensor_like(call(function, *arguments), expected)
    recognise(
        result,
        [
            (_grouped(*arguments, rotated=False), "Queries and keys are still to be rotated."),
            (_grouped(*arguments, rotated_values=True), "Values are not rotated."),
            (
                _grouped(*arguments, interleaved=False),
                "Heads 1 and 2 share the first key, heads 3 and 4 the second: repeat_interleave.",
            ),
            (_grouped(*arguments, causal=False), "Each position attends to later ones: mask."),
        ],
        expected,
    )
    same(result, expected, "Project, split, rotate, repeat, attend under a mask, merge, project.")
    return "a LLaMA's attention, from an empty cell."
