"""Checks for the exercises of chapters 7 and 7a, the Transformer."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import torch
from torch import Tensor, nn

from d2lattn import bare
from d2lattn.book.exercises.attending import HEADS, MASKING, attend_in_heads, mistakes_in_heads
from d2lattn.book.exercises.checking import (
    Function,
    WrongAnswer,
    agrees,
    call,
    check,
    compare,
    expect,
    judge_number,
    read_number,
    read_parts,
    read_tensor,
    recognise,
)
from d2lattn.book.exercises.choices import choice
from d2lattn.masks import causal_mask
from d2lattn.positional import sinusoids

Layer = Callable[[Tensor], Tensor]


def _norm(
    X: Tensor, eps: float, axes: int | tuple[int, ...] = -1, correction: int = 0, power: float = 0.5
) -> Tensor:
    """Subtract the mean along some axes, and divide by a power of the variance there."""
    centred = X - X.mean(dim=axes, keepdim=True)
    return centred / (X.var(dim=axes, keepdim=True, correction=correction) + eps) ** power


def _layer_norm(X: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
    return gain * _norm(X, eps) + shift


@check("7.1", right=(_layer_norm,))
def check_layer_norm(layer_norm: Function) -> str:
    """Layer normalisation of X (B, T, D) with gain and shift (D,)."""
    for shape, eps in (((3, 4, 5), 1e-5), ((2, 3, 6), 0.5)):
        X = 2 * torch.randn(shape) + 1
        gain, shift = torch.randn(2, shape[-1])
        case = f"for X of shape {shape} and eps = {eps}"
        expected = _layer_norm(X, gain, shift, eps)
        centred = X - X.mean(dim=-1, keepdim=True)
        squares = X.square().mean(dim=-1, keepdim=True)
        mistakes = [
            (gain * _norm(X, eps, axes) + shift, f"{hint} Each position has its own mean.")
            for axes, hint in (
                ((0, 1), "You average over sequences and positions: that is batch normalisation."),
                (1, "You average over the positions of a sequence."),
                ((1, 2), "You normalise a sequence as a whole."),
            )
        ]
        mistakes += [
            (gain * _norm(X, eps, -1, 1) + shift, "In the variance, divide by D, not D - 1."),
            (gain * _norm(X, eps, -1, 0, 1) + shift, "Divide by the square root of the variance."),
            (gain * _norm(X, 0) + shift, "Where is eps? It is an argument, not always 1e-5."),
            (gain * _norm(X, eps), "The shift is missing."),
            (_norm(X, eps) + shift, "The gain is missing."),
            (gain * centred / (squares + eps).sqrt() + shift, "Subtract the square of the mean."),
        ]
        hint = "Mean and variance along the last axis."
        compare(
            layer_norm, (X, gain, shift, eps), expected, mistakes, hint, "your result", case=case
        )
    return "normalise each position on its own, then apply gain and shift."


check_estimate = choice("7.2")


def _as_attention(X: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor) -> tuple[Tensor, Tensor]:
    return (X @ W_1.T + b_1).relu(), W_2.T  # (T, D) x (D, F) -> (T, F)


def _below_zero(X: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor) -> tuple[Tensor, Tensor]:
    weights, values = _as_attention(X, W_1, b_1, W_2)
    return -weights, -values


@check("7.3", right=(_as_attention,), wrong=[_below_zero])
def check_as_attention(as_attention: Function) -> str:
    """The position-wise network as weights (T, F) over values (F, D)."""
    for places, width, hidden in ((3, 4, 6), (5, 2, 3)):
        X, W_1 = torch.randn(places, width), torch.randn(hidden, width)
        b_1, W_2 = torch.randn(hidden), torch.randn(width, hidden)
        scores = X @ W_1.T + b_1  # (T, D) x (D, F) -> (T, F)
        expected, _ = _as_attention(X, W_1, b_1, W_2)
        case = f"for {places} positions"
        result = call(as_attention, X, W_1, b_1, W_2, case=case)
        parts = read_parts(result, 2, "Give two tensors: the weights and the values.")
        weights = read_tensor(parts[0], expected, f"{case}, your first result, the weights,")
        values = read_tensor(parts[1], W_2.T, f"{case}, your second result, the values,")
        mistakes = [
            (scores, "These are the scores. What does the network do with those below 0?"),
            (scores.softmax(dim=-1), "That is attention's softmax. The network has a relu there."),
            ((X @ W_1.T).relu(), "The bias b_1 is missing."),
            ((X @ W_1.T).relu() + b_1, "Add the bias b_1 before the relu."),
        ]
        recognise(weights, mistakes)
        recognise(values, [(W_1, "The rows of W_1 are compared with x: they are the keys.")])
        if not agrees(weights @ values, expected @ W_2.T):
            expect(weights, expected, "Weight j is relu(w_j · x + b_j).", f"{case}, your weight")
            expect(values, W_2.T, "Value j is column j of W_2.", f"{case}, your value")
        if (weights < 0).any():
            raise WrongAnswer("A weight is below 0. The output of a relu never is.")
    return "F learned pairs: keys in W_1, values in W_2, and a ReLU in place of the softmax."


STEP_MISTAKES = {
    "restarts": (
        "positions go on where the last call stopped",
        "which position does the first token of the second call get?",
    ),
    "top_left": (
        "new tokens attend to those that are kept",
        "call it with one token at a time, and print the weights. Where are they not 0?",
    ),
    "forgets": (
        "keys and values of all tokens are kept",
        "how many keys does the third call return?",
    ),
}
"""Exercise 7.4: what each mistake is called, what is right without it, what to ask with it."""


def _step(
    restarts: bool = False, top_left: bool = False, forgets: bool = False
) -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """Exercise 7.4's function, right or with some of its mistakes."""

    def step(
        X: Tensor, keys: Tensor, values: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        (new, width), past = X.shape, len(keys)
        Z = X + sinusoids(past + new, width)[0 if restarts else past :][:new]  # (T, D)
        all_keys, all_values = torch.cat((keys, Z @ W_k)), torch.cat((values, Z @ W_v))
        scores = Z @ W_q @ all_keys.T / math.sqrt(width)  # (T, D) x (D, P + T) -> (T, P + T)
        seen = torch.ones_like(scores).tril(0 if top_left else past) > 0
        output = scores.masked_fill(~seen, -math.inf).softmax(dim=-1) @ all_values
        return (output, Z @ W_k, Z @ W_v) if forgets else (output, all_keys, all_values)

    return step


def _in_steps(step: Callable[..., object], X: Tensor, sizes: Sequence[int], *W: Tensor) -> Tensor:
    """Process X (T, D) in calls of so many tokens each; return all outputs, (T, D)."""
    keys = values = X[:0]  # (0, D)
    outputs = []
    for call_number, piece in enumerate(X.split(list(sizes)), start=1):
        case = f"in call {call_number} of {len(sizes)}"
        result = call(step, piece, keys, values, *W, case=case)
        parts = read_parts(result, 3, "Give three tensors: output, keys and values.")
        outputs.append(read_tensor(parts[0], piece, f"{case}, your output"))
        for name, part in (("keys", parts[1]), ("values", parts[2])):
            if not isinstance(part, Tensor):
                raise WrongAnswer(f"{case}, your {name} should be a tensor.")
        keys, values = parts[1:]
    return torch.cat(outputs)


@check(
    "7.4",
    right=(_step(),),
    wrong=[_step(*left) for left in list(product((False, True), repeat=3))[1:]],
)
def check_step(step: Function) -> str:
    """Decode step by step with keys and values kept, from a listing with three mistakes."""
    for sizes, width in (((2, 1, 3, 1), 4), ((1, 1, 1, 1, 1), 6), ((5,), 4)):
        X = torch.randn(sum(sizes), width)
        W = torch.randn(3, width, width).unbind()
        result = _in_steps(step, X, sizes, *W)
        for left in list(product((True, False), repeat=3))[:-1]:
            if len(sizes) > 1 and agrees(result, _in_steps(_step(*left), X, sizes, *W)):
                mistakes = list(zip(STEP_MISTAKES.values(), left, strict=True))
                done = [right for (right, _), is_left in mistakes if not is_left]
                asks = [ask for (_, ask), is_left in mistakes if is_left]
                start = f"Right: {' and '.join(done)}. " if done else ""
                count = ("One mistake is left", "Two are left; first", "Three are left; first")
                raise WrongAnswer(f"{start}{count[len(asks) - 1]}: {asks[0]}")
        expected = _in_steps(_step(), X, (len(X),), *W)
        what = f"in calls of {', '.join(map(str, sizes))} tokens, your output"
        expect(result, expected, "Compare with all tokens in one call.", what)
    return "however the tokens are split into calls, the outputs are those of one call."


check_reorder = choice("7.5")
check_audit = choice("7.6")


@check(
    "7.7",
    right=((2, 0.3),),
    wrong=[((3, 0.3),), ((2, 30),), ((2, 1.0),), ((2, 0.1),)],
)
def check_reach(answer: Sequence[float]) -> str:
    """How many steps one layer follows, and the share right one step further with four heads."""
    parts = read_parts(answer, 2, "Give two numbers: (steps, share).")
    mistakes = {
        1: "One step needs no attention: the token contains the next shelf. Train for two steps.",
        4: "Two layers follow four steps; here, there is only one layer.",
    }
    hint = "{:g} steps? Train one layer for 2, 3 and 4 steps."
    judge_number(parts[0], 2, mistakes, hint, "the number of steps")
    share = read_number(parts[1], "the share")
    if 1 < share <= 100:
        raise WrongAnswer("Give the share as a number from 0 to 1.")
    if share > 0.9:
        raise WrongAnswer(
            "That is the share for two steps, or after a much longer training. Train four heads "
            "for three steps with the page's 300 training steps."
        )
    if not 0.2 <= share < 0.6:
        raise WrongAnswer(
            f"A share of {share:.2f}? Train with the page's 300 training steps, and test the "
            "trained model on new notes."
        )
    return (
        "with one head, a layer follows two steps; with four heads, it has not learned a third "
        "after 300 training steps; a second layer doubles the steps."
    )


# Written from memory: the pieces of a Transformer.


@check("7.8", right=(attend_in_heads,))
def check_masked_heads(attention: Function) -> str:
    """Masked attention in heads, of projected queries, keys and values, merged."""
    for batch, width, heads in ((2, 8, 2), (1, 6, 3)):
        q, k, v = torch.randn(3, batch, 5, width)
        mask = causal_mask(5, 5) & (torch.arange(5) != 1).expand(batch, 1, 1, 5)
        given = q, k, v, heads, mask
        mistakes = mistakes_in_heads(partial(attend_in_heads, *given), (*HEADS, *MASKING))
        hint, case = "Split, score, mask, softmax, merge.", f"with {heads} heads"
        compare(attention, given, attend_in_heads(*given), mistakes, hint, case=case)
    return "split, score, mask, softmax, weighted sum, merge."


@check("7.9", right=(bare.positions,))
def check_positions(positions: Function) -> str:
    """The sinusoidal encoding of T positions, (T, D)."""
    for length, width in ((5, 6), (9, 4)):
        expected = bare.positions(length, width)
        case = f"for T = {length} and D = {width}"
        waves = expected.unflatten(-1, (-1, 2))  # (T, D/2, 2)
        angles = torch.arange(length).unsqueeze(1) * 10000 ** (-torch.arange(width // 2) / width)
        slow = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        mistakes = [
            (waves.mT.flatten(1), "The sines come before the cosines; they should alternate."),
            (waves.flip(-1).flatten(1), "In each pair, the sine comes first."),
            (slow, "The exponent of pair j is 2j / D, not j / D."),
            (bare.positions(length + 1, width)[1:], "The positions start at 1; the first is 0."),
        ]
        hint = "Columns 2j and 2j + 1 are sine and cosine of i / 10000^(2j / D)."
        given = length, width
        compare(positions, given, expected, mistakes, hint, "your result", case=case, atol=1e-4)
    return "sine and cosine alternate, at D / 2 frequencies."


Attend = Callable[..., Tensor]
Norm = Callable[[Tensor, Tensor], Tensor]


def _parts(
    width: int,
) -> tuple[tuple[Attend, Attend], Callable[[Tensor], Tensor], tuple[Norm, Norm, Norm]]:
    """Two attention layers, a network and three add & norms, all with weights of their own."""

    def attend(W: Tensor) -> Attend:
        return lambda q, k, v, mask=None: bare.attention(q @ W[0], k @ W[1], v @ W[2], mask)[0]

    def norm(gain: Tensor) -> Norm:
        return lambda X, Y: gain * _norm(X + Y, 1e-5)

    W = torch.randn(2, 3, width, width)
    V = torch.randn(width, width)
    first, second, third = torch.rand(3, width) + 0.5
    norms = norm(first), norm(second), norm(third)
    return (attend(W[0]), attend(W[1])), lambda X: (X @ V).relu() @ V.T, norms


def _encoder_block(
    X: Tensor,
    mask: Tensor,
    attention: Attend,
    norm1: Norm,
    ffn: Callable[[Tensor], Tensor],
    norm2: Norm,
) -> Tensor:
    X = norm1(X, attention(X, X, X, mask))
    return norm2(X, ffn(X))


@check("7.10", right=(_encoder_block,))
def check_encoder_block(encoder_block: Function) -> str:
    """An encoder block of given parts."""
    for shape in ((2, 4, 3), (1, 5, 4)):
        (attend, _), ffn, (norm1, norm2, _) = _parts(shape[-1])
        X = torch.randn(shape)
        mask = (torch.arange(shape[1]) < shape[1] - 1).expand(shape[0], 1, -1)  # (B, 1, S)
        expected = _encoder_block(X, mask, attend, norm1, ffn, norm2)
        case = f"for X of shape {shape}"
        Y, zero = attend(X, X, X, mask), torch.zeros_like(X)
        Z = norm1(X, Y)
        unmasked = norm1(X, attend(X, X, X))
        mistakes = [
            (norm2(unmasked, ffn(unmasked)), "The mask is not passed to the attention."),
            (norm2(norm1(Y, zero), ffn(norm1(Y, zero))), "The first residual sum is missing."),
            (norm2(ffn(Z), zero), "The second residual connection is missing."),
            (norm2(Z, ffn(X)), "The network's input is norm1's result, not the block's input."),
            (Z, "The network and its norm are missing."),
        ]
        hint = "X = norm1(X, …), then norm2(X, …)."
        compare(
            encoder_block, (X, mask, attend, norm1, ffn, norm2), expected, mistakes, hint, case=case
        )
    return "attention and the network, each with a residual connection and a norm."


def _after_self_attention(
    X: Tensor,
    encoded: Tensor,
    source_mask: Tensor | None,
    attend: Attend,
    ffn: Callable[[Tensor], Tensor],
    norms: tuple[Norm, Norm, Norm],
) -> Tensor:
    X = norms[1](X, attend(X, encoded, encoded, source_mask))
    return norms[2](X, ffn(X))


def _decoder_block(
    X: Tensor,
    encoded: Tensor,
    source_mask: Tensor,
    attentions: tuple[Attend, Attend],
    ffn: Callable[[Tensor], Tensor],
    norms: tuple[Norm, Norm, Norm],
) -> Tensor:
    X = norms[0](X, attentions[0](X, X, X, causal_mask(X.shape[1], X.shape[1])))
    return _after_self_attention(X, encoded, source_mask, attentions[1], ffn, norms)


@check("7.11", right=(_decoder_block,))
def check_decoder_block(decoder_block: Function) -> str:
    """A decoder block of given parts, which makes its own causal mask."""
    for batch, target, source, width in ((2, 4, 4, 3), (1, 3, 5, 4)):
        (attend1, attend2), ffn, norms = _parts(width)
        norm1, _, norm3 = norms
        X = torch.randn(batch, target, width)
        H = torch.randn(batch, source, width)
        mask = (torch.arange(source) < source - 1).expand(batch, 1, -1)  # (B, 1, S)
        given = (X, H, mask, (attend1, attend2), ffn, norms)
        expected = _decoder_block(*given)
        case = f"for T = {target} and S = {source}"
        causal = causal_mask(target, target)
        Y = attend1(X, X, X, causal)
        Z, lost = norm1(X, Y), norm1(Y, torch.zeros_like(X))
        blind, turned = (norm1(X, attend1(X, X, X, which)) for which in (None, causal.mT))
        end, rest = _after_self_attention, (attend2, ffn, norms)
        mistakes = [
            (end(blind, H, mask, *rest), "The causal mask is missing."),
            (end(turned, H, mask, *rest), "The causal mask is transposed."),
            (end(Z, H, None, *rest), "Cross-attention attends to padding: use source_mask."),
            (end(Z, Z, causal, *rest), "Keys and values of cross-attention come from the encoder."),
            (norm3(Z, ffn(Z)), "Cross-attention is missing."),
            (end(lost, H, mask, *rest), "The first residual connection is missing."),
            (Z, "Only the first of the three sublayers is there."),
        ]
        hint = "Three lines: self-attention, cross-attention, network."
        compare(decoder_block, given, expected, mistakes, hint, case=case)
    return "masked self-attention, cross-attention, network."


def _decoder(
    factor: float = 8**0.5,
    places: float = 1,
    masked: bool = True,
    listed: bool = False,
    softmax: bool = False,
) -> type[nn.Module]:
    """Exercise 7.12's class, right or with one of its mistakes, for width 8."""

    class Decoder(bare.TransformerDecoder):
        def __init__(self, *sizes: int) -> None:
            super().__init__(*sizes)  # type: ignore[no-untyped-call]
            if listed:
                self.__dict__["blocks"] = [*self.blocks]
                del self._modules["blocks"]

        def forward(self, tokens: Tensor, encoded: Tensor, mask: Tensor | None = None) -> Tensor:
            X = factor * self.embedding(tokens) + places * bare.positions(tokens.shape[1], 8)
            for block in self.blocks:
                X = block(X, encoded, mask if masked else None)
            logits: Tensor = self.dense(X)
            return logits.softmax(dim=-1) if softmax else logits

    return Decoder


DECODER_MISTAKES = (
    (_decoder(factor=1), "the embeddings are not multiplied by √D."),
    (_decoder(places=0), "the positional encoding is missing."),
    (_decoder(places=8**0.5), "only the embeddings are multiplied by √D, not the positions."),
    (_decoder(masked=False), "the blocks do not get source_mask."),
    (_decoder(softmax=True), "these are probabilities. Return the logits."),
)


@check(
    "7.12",
    right=(_decoder(),),
    wrong=[*(mistake for mistake, _ in DECODER_MISTAKES), _decoder(listed=True)],
)
def check_decoder(decoder_class: Function) -> str:
    """A decoder class: embedding, positions, a stack of the walk's blocks, and logits."""
    sizes = 7, 2, 8, 12, 2  # vocab_size, num_blocks, num_hiddens, ffn_num_hiddens, num_heads
    tokens, encoded = torch.tensor([[1, 5, 4], [1, 3, 2]]), torch.randn(2, 4, 8)
    mask = torch.tensor([[True] * 4, [True, True, True, False]])[:, None, None]
    model = call(decoder_class, *sizes)
    if not isinstance(model, nn.Module):
        raise WrongAnswer("your class must inherit from nn.Module.")
    result = call(model, tokens, encoded, mask)
    weights, twin = (dict(m.named_parameters()) for m in (model, bare.TransformerDecoder(*sizes)))
    mine, theirs = ({name: w.shape for name, w in one.items()} for one in (weights, twin))
    if mine != theirs:
        raise WrongAnswer(
            "the weights should be those of `embedding`, two different `blocks` and `dense`. "
            "Blocks in a plain list are never trained: use nn.ModuleList."
        )

    def output(kind: type[nn.Module]) -> Tensor:
        other = kind(*sizes)
        other.load_state_dict(weights)
        return other(tokens, encoded, mask)

    for kind, hint in DECODER_MISTAKES:
        if agrees(result, output(kind)):
            raise WrongAnswer(hint)
    expect(result, output(_decoder()), "Embed, then all blocks, then logits.", "your output")
    return "embeddings times √D plus positions, then all blocks, then the logits."


class _Given:
    """Something that an answer works with itself, and not with a copy."""

    def __deepcopy__(self, memo: dict[int, object]) -> "_Given":
        return self


class _Scorer(_Given, nn.Module):
    """A model of two tables: logits (B, T, V) of tokens and of the source."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.Parameter(torch.randn(2, 6, 6))

    def forward(self, source: Tensor, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.tables[0][inputs] + self.tables[1][source].mean(dim=1, keepdim=True)


class _Descent(_Given, torch.optim.SGD):
    """Plain gradient descent."""


def _training_step(
    shift: bool = True,
    masked: bool = True,
    clears: bool = True,
    steps: bool = True,
    softmaxes: int = 1,
) -> Callable[..., float]:
    """Exercise 7.13's function, right or with one of its mistakes."""

    def step(
        model: _Scorer, optimizer: _Descent, source: Tensor, tokens: Tensor, pad: int
    ) -> float:
        inputs, target = (tokens[:, :-1], tokens[:, 1:]) if shift else (tokens, tokens)
        logits = model(source, inputs).mT  # (B, V, T)
        for _ in range(softmaxes - 1):  # cross_entropy has one
            logits = logits.softmax(dim=1)
        ignored = pad if masked else -100
        loss = nn.functional.cross_entropy(logits, target, ignore_index=ignored)
        if clears:
            optimizer.zero_grad()
        loss.backward()
        if steps:
            optimizer.step()
        return loss.item()

    return step


TRAINING_MISTAKES = (
    (_training_step(shift=False), "inputs and target are the same: shift the inputs by one."),
    (_training_step(masked=False), "padding in the target is included in the loss."),
    (_training_step(softmaxes=2), "use no softmax before cross_entropy, which contains one."),
    (_training_step(clears=False), "the gradients of the last step are still there: zero_grad."),
    (_training_step(steps=False), "the parameters do not change: zero_grad, backward, step."),
)


@check("7.13", right=(_training_step(),), wrong=[step for step, _ in TRAINING_MISTAKES])
def check_training_step(training_step: Function) -> str:
    """A training step on tokens (B, T + 1), whose padding is left out of the loss."""

    def trained(step: Callable[..., float]) -> Tensor:
        torch.manual_seed(714)  # the same numbers for each step that is tried
        model = _Scorer()
        optimizer = _Descent(model.parameters(), lr=1.0)
        losses = []
        for _ in range(3):
            source = torch.randint(3, 6, (2, 4))
            tokens = torch.randint(3, 6, (2, 5))
            tokens[:, 0], tokens[0, 3], tokens[0, 4] = 1, 2, 0  # start, end, padding
            losses.append(read_number(call(step, model, optimizer, source, tokens, 0), "your loss"))
        return torch.cat((torch.tensor(losses), model.tables.detach().flatten()))

    result = trained(training_step)
    for step, hint in TRAINING_MISTAKES:
        if agrees(result, trained(step)):
            raise WrongAnswer(hint)
    expected = trained(_training_step())
    expect(result[:3], expected[:3], "Shift; average over real tokens.", "the loss of three steps")
    expect(result[3:], expected[3:], "zero_grad, backward, step.", "a parameter after three steps")
    return "shifted inputs, masked mean, and then zero_grad, backward and step."


class _Writer(_Given):
    """A model whose next token follows from all tokens so far and from the source."""

    def encoder(self, source: Tensor, mask: Tensor) -> Tensor:
        return (source * mask[:, 0, 0]).sum(dim=1, keepdim=True)  # (B, 1)

    def decoder(self, tokens: Tensor, encoded: Tensor, mask: Tensor) -> Tensor:
        following = 2 + (tokens.cumsum(dim=1) + encoded) % 5
        return nn.functional.one_hot(following, 7).float()  # (B, T, V)


def _greedy(
    model: _Writer,
    source: Tensor,
    mask: Tensor,
    max_len: int,
    bos: int,
    eos: int,
    place: int = -1,
    context: int = 99,
    ends: Callable[[Tensor], Tensor] = torch.all,
) -> Tensor:
    """Exercise 7.14's function, right or with one of its mistakes."""
    encoded = model.encoder(source, mask)
    tokens = torch.full_like(source[:, :1], bos)
    while tokens.shape[1] <= max_len and not ends((tokens == eos).any(dim=1)):
        logits = model.decoder(tokens[:, -context:], encoded, mask)
        tokens = torch.cat((tokens, logits[:, place, None].argmax(dim=-1)), dim=1)
    return tokens[:, 1:]


@check("7.14", right=(_greedy,))
def check_greedy(greedy: Function) -> str:
    """Greedy decoding of a batch, without the start token."""
    model = _Writer()
    for rows, max_len in (([[3, 3, 4], [3, 3, 0]], 9), ([[5, 3, 4], [3, 5, 6]], 3)):
        source = torch.tensor(rows)
        given = (model, source, (source != 0)[:, None, None], max_len, 1, 2)
        expected = _greedy(*given).float()
        case = f"with max_len = {max_len}"
        start = torch.ones_like(expected[:, :1])
        mistakes = [
            (torch.cat((start, expected), dim=1), "The start token is not part of the result."),
            (_greedy(*given, place=0), "You read the logits of the first position."),
            (_greedy(*given, context=1), "The model needs all tokens so far, not only the last."),
            (_greedy(*given, ends=torch.any), "You stop when one row has ended; wait for all."),
            (
                _greedy(*given, ends=lambda ended: torch.tensor(False)),
                "Stop when each row has an end token, at its end or before.",
            ),
        ]
        hint = "Append the token with the largest logit at the last position."
        compare(greedy, given, expected, mistakes, hint, "your result", case)
    return "start token, largest logit at the last position, append, until all rows end."
