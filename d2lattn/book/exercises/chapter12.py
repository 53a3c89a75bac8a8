"""Checks for the exercises of chapter 12, a decoder alone."""

from functools import partial

import torch
from torch import Tensor, nn

from d2lattn.bare import split_heads
from d2lattn.bare_modern import rotary
from d2lattn.book.exercises.attending import attend_in_heads, mistakes_in_heads
from d2lattn.book.exercises.checking import Function, check, compare, judge_number
from d2lattn.book.exercises.choices import choice

_TOP_P_SLIPS = {
    "undivided": "Divide the probabilities that are left by their sum.",
    "too few": "The token with which the sum reaches p belongs to the set.",
    "too few, undivided": "The token with which the sum reaches p is missing.",
    "unsorted": "Sort first: the sum starts with the likeliest token.",
    "in order": "The result is in sorted order; put each token back where it stood.",
}


def _top_p(probs: Tensor, p: float, slip: str = "") -> Tensor:
    """Keep the smallest set of likeliest tokens whose sum reaches p; or make a mistake."""
    ordered, tokens = probs.sort(descending=True)
    if slip == "unsorted":
        ordered, tokens = probs, torch.arange(len(probs))
    sums = ordered.cumsum(0)
    kept = ordered * (sums <= p if slip.startswith("too few") else sums - ordered < p)
    if not slip.endswith("undivided"):
        kept = kept / kept.sum()
    return kept if slip == "in order" else torch.zeros_like(probs).scatter(0, tokens, kept)


@check("12.1", right=(_top_p,))
def check_top_p(function: Function) -> str:
    """Top-p for one row of probabilities, not sorted."""
    rows = [torch.tensor([0.1, 0.05, 0.6, 0.25])]
    rows += [torch.randn(n).mul(2).softmax(0) for n in (7, 20)]
    for probs in rows:
        for p in (0.8, 0.5):
            case = f"with {len(probs)} tokens and p = {p}"
            mistakes = [(_top_p(probs, p, slip), hint) for slip, hint in _TOP_P_SLIPS.items()]
            hint = "Sort, add up, and keep tokens until the sum reaches p."
            compare(
                function, (probs, p), _top_p(probs, p), mistakes, hint, "your output", case=case
            )
    return "the smallest set that reaches p, and its probabilities sum to 1."


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
    mistakes = {
        _parameters(tied=False): "The logits use the token embeddings again; count them only once.",
        _parameters(table=False): "The 1,024 position embeddings are missing.",
        _parameters(biases=False): "The four layers of a block have biases, 9D in all.",
        _parameters(norms=False): "A norm has 2D parameters; there are two norms in each block.",
        _parameters() - 2048: "There is one more norm after the last block.",
        124_439_808: "That is GPT-2 small. Medium has width 1,024 and 24 blocks.",
    }
    hint = "It is not {:,.0f}. A block has 12D² + 13D parameters; add embeddings and final norm."
    judge_number(answer, _parameters(), mistakes, hint, rtol=0, atol=0.5)
    return "355 million, as many as the published model has."


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
def check_block(function: Function) -> str:
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
    mistakes = [
        (norm2(late + network(late)), "You normalise each sum; normalise each input instead."),
        (X + network(norm2(once)), "The second sum must start from the result of the first."),
        (once + network(once), "The network must read its input after the norm."),
        (bare + network(norm2(bare)), "The attention must read its input after the norm."),
        (network(norm2(once)), "The second residual connection is missing."),
        (attend(normed) + network(norm2(attend(normed))), "The first residual path is missing."),
        (once + network(norm2(X)), "The network reads X from before the attention."),
        (
            lost + network(norm2(lost)),
            "The residual path must carry X itself, not the normalised X.",
        ),
        (once + network(norm1(once)), "The network has its own norm, norm2."),
    ]
    hint = "x + attention(norm1(x)), then x + network(norm2(x))."
    compare(function, (X, block), expected, mistakes, hint, "the result")
    return "the residual path stays a plain sum."


check_suspect = choice("12.4")


def _attention(X: Tensor, W_qkv: Tensor, W_o: Tensor, num_heads: int, slip: str = "") -> Tensor:
    """Causal self-attention, right or with a mistake of exercise 12.5."""
    causal = torch.ones(X.shape[1], X.shape[1]).tril().bool()
    q, k, v = (X @ W_qkv).chunk(3, dim=-1)
    return attend_in_heads(q, k, v, num_heads, causal, slip) @ W_o


@check("12.5", right=(_attention,))
def check_attention(function: Function) -> str:
    """Causal self-attention with fused projections, from an empty cell."""
    X = torch.randn(2, 5, 12)
    W_qkv = torch.randn(12, 36) / 3
    W_o = torch.randn(12, 12) / 3
    theirs = nn.MultiheadAttention(12, 3, bias=False, batch_first=True)
    theirs.load_state_dict({"in_proj_weight": W_qkv.T, "out_proj.weight": W_o.T})
    later = torch.ones(5, 5).triu(1).bool()  # where PyTorch must not attend
    expected = theirs(X, X, X, attn_mask=later)[0].detach()
    given = X, W_qkv, W_o, 3
    slips = "merge", "whole width", "no scale", "no mask"
    mistakes = [
        *mistakes_in_heads(partial(_attention, *given), slips),
        (_attention(X, W_qkv, torch.eye(12), 3), "The output projection W_o is missing."),
        (_attention(X, W_qkv, W_o, 1), "You used one head; split into num_heads."),
    ]
    hint = "Project, cut, split, compute scores, mask, apply the softmax, sum, merge, project."
    compare(function, given, expected, mistakes, hint)
    return "the same as PyTorch's layer with a causal mask."


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
def check_grouped(function: Function) -> str:
    """Causal self-attention of a LLaMA: rotary positions, and keys shared by groups of heads."""
    X = torch.randn(2, 5, 16)
    W_q, W_k, W_v, W_o = (torch.randn(16, width) / 4 for width in (16, 8, 8, 16))
    arguments = X, W_q, W_k, W_v, W_o, 4, 2
    expected = _grouped(*arguments)
    mistakes = [
        (_grouped(*arguments, rotated=False), "Rotate queries and keys."),
        (_grouped(*arguments, rotated_values=True), "Do not rotate the values."),
        (
            _grouped(*arguments, interleaved=False),
            "Heads 1 and 2 share a key head: use `repeat_interleave`.",
        ),
        (_grouped(*arguments, causal=False), "Positions attend to later ones: apply the mask."),
    ]
    hint = "Project, split, rotate, repeat, attend under a mask, merge, project."
    compare(function, arguments, expected, mistakes, hint, "the result")
    return "this is LLaMA's attention."
