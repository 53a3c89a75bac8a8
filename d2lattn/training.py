"""One training loop for every model of the course, and the loss that it minimises."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lattn.checks import (
    argument_error,
    check_floats,
    check_integers,
    check_range,
    check_shapes,
    check_share,
    check_sizes,
    optional_import,
)
from d2lattn.masks import length_mask

BatchLoss = Callable[[nn.Module, Any], tuple[Tensor, int]]


class TranslationBatch(Protocol):
    """Padded sentences, each with <eos> at its end, and how many tokens of each row are valid."""

    @property
    def source(self) -> Tensor:
        """Tokens that the encoder reads, (B, S)."""

    @property
    def source_valid_lens(self) -> Tensor:
        """Lengths of the source, (B,)."""

    @property
    def target(self) -> Tensor:
        """Tokens that the decoder should generate, (B, T)."""

    @property
    def target_valid_lens(self) -> Tensor:
        """Lengths of the target, (B,)."""


def masked_loss(logits: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """Cross-entropy of the valid target tokens: their mean, in nats per token.

    Takes scores of the next token (B, T, V), the true tokens (B, T), and how many of each row
    count, from 0 to T, (B,). Scores at padding have no effect, even infinite ones.

    >>> logits = torch.zeros(1, 3, 4)  # four equally likely tokens: log 4 nats
    >>> masked_loss(logits, torch.tensor([[2, 1, 0]]), torch.tensor([2]))
    tensor(1.3863)

    If no token is valid, or a valid one is beyond the vocabulary, it raises ValueError.
    """
    check_floats(logits=logits)
    check_integers("targets", targets)
    check_shapes(logits=(logits, "B", "T", "V"), targets=(targets, "B", "T"))
    valid = length_mask(valid_lens, targets.shape)  # (B, T)
    if not valid.any():
        raise argument_error(
            ValueError, "valid_lens", valid_lens.tolist(), "a length above 0 for a mean"
        )
    check_range("targets", targets.masked_fill(~valid, 0), 0, logits.shape[2] - 1)
    logits, targets = logits[valid], targets[valid].long()  # (N, V), (N,): the valid tokens alone
    # For half-precision logits, too, the sum over all tokens is in single precision.
    return F.cross_entropy(logits.to(torch.promote_types(logits.dtype, torch.float32)), targets)


def shift_right(targets: Tensor, bos: int = 1) -> Tensor:
    """Return what a decoder reads to predict `targets`, (B, T): <bos>, then all but the last.

    >>> shift_right(torch.tensor([[7, 8, 2]]))
    tensor([[1, 7, 8]])
    """
    return torch.cat((torch.full_like(targets[:, :1], bos), targets[:, :-1]), dim=1)


def translation_loss(model: nn.Module, batch: TranslationBatch) -> tuple[Tensor, int]:
    """Return the loss of an encoder-decoder on a batch, and the number of its target tokens.

    Teacher forcing: whatever the model predicts, it reads the true target before each token.
    """
    logits, _ = model(batch.source, shift_right(batch.target), batch.source_valid_lens)
    loss = masked_loss(logits, batch.target, batch.target_valid_lens)
    return loss, int(batch.target_valid_lens.sum())


@dataclass
class History:
    """What was measured in training, one number per epoch."""

    loss: list[float] = field(default_factory=list)  # mean over its tokens, while the model learned
    tokens_per_second: list[float] = field(default_factory=list)  # valid target tokens


def train(
    model: nn.Module,
    loader: Callable[[torch.Generator], Iterable[Any]],
    *,
    num_epochs: int,
    learning_rate: float = 3e-3,
    decay_share: float = 0.5,
    clip_norm: float = 1.0,
    seed: int = 0,
    batch_loss: BatchLoss = translation_loss,
    after_epoch: Callable[[History], Any] | None = None,
    progress: bool = False,
) -> History:
    """Train a model with Adam, in place, and leave it in eval mode, ready to use.

    The same seed gives the same run. Afterwards, every random generator has its former state,
    and after an error, every submodule has its former mode.

    >>> history = train(
    ...     nn.Linear(1, 1),
    ...     lambda generator: [torch.ones(4, 1)] * 50,
    ...     num_epochs=9,
    ...     batch_loss=lambda model, batch: ((model(batch) - 3).square().mean(), len(batch)),
    ...     learning_rate=0.1,
    ...     after_epoch=lambda history: history.loss[-1] <= 0.01,
    ... )
    >>> 1 < len(history.loss) < 9, history.loss[-1] <= 0.01 < history.loss[0]
    (True, True)

    `loader` returns the batches of one epoch, shuffled by the generator that it gets, and
    `batch_loss` returns the mean loss of a batch and its number of tokens. `learning_rate` is the
    initial one; over the last `decay_share` of all steps it falls to 0 (`decay_factor`). Gradients
    longer than `clip_norm` are scaled down to it. `seed` is for shuffling and dropout; initial
    weights are up to the caller. `after_epoch` is called with the history so far, say to record
    `mean_loss` on other data, and ends the training if it returns a true value. `progress` shows
    a progress bar, which requires tqdm.

    A loss or a gradient that is not finite raises FloatingPointError; the weights are then those
    before that step.
    """
    check_sizes(num_epochs=num_epochs)
    check_share("decay_share", decay_share)
    if not 0 < learning_rate < math.inf:
        raise argument_error(ValueError, "learning_rate", learning_rate, "to be above 0 and finite")
    if not clip_norm > 0:
        raise argument_error(
            ValueError, "clip_norm", clip_norm, "to be above 0 (math.inf: no clipping)"
        )
    parameters = list(model.parameters())  # once: at each step it would slow a small model
    optimizer = torch.optim.Adam(parameters)  # each step sets its learning rate
    shuffling = torch.Generator().manual_seed(seed)
    history = History()
    bar = _progress_bar(num_epochs) if progress else nullcontext()
    # `evaluating` restores all modes after an error; each epoch switches to training itself.
    with evaluating(model), _seeded(seed, model), bar as shown:
        for epoch in range(num_epochs):
            model.train()
            batches = list(loader(shuffling))
            if not batches:
                raise ValueError("loader gave no batch; training needs at least one")
            start, loss_sum, num_tokens = time.perf_counter(), 0.0, 0
            for step, batch in enumerate(batches):
                done = (epoch + step / len(batches)) / num_epochs
                optimizer.param_groups[0]["lr"] = learning_rate * decay_factor(done, decay_share)
                loss, count = batch_loss(model, batch)
                optimizer.zero_grad()
                loss.backward()
                length = nn.utils.clip_grad_norm_(parameters, clip_norm)
                _check_finite(loss.item(), length.item(), f"epoch {epoch + 1}, step {step + 1}")
                optimizer.step()
                loss_sum, num_tokens = loss_sum + loss.item() * count, num_tokens + count
                if shown is not None:
                    shown.update(1 / len(batches))
            history.tokens_per_second.append(num_tokens / (time.perf_counter() - start))
            history.loss.append(loss_sum / num_tokens)
            if shown is not None:
                shown.set_postfix_str(f"loss {history.loss[-1]:.3f}")
            if after_epoch is not None and after_epoch(history):
                break
    model.eval()
    return history


def decay_factor(done: float, decay_share: float) -> float:
    """Return the fraction of the learning rate that is left after this fraction of all steps.

    It is 1, and falls to 0 in a straight line over the last `decay_share`.

    >>> [decay_factor(done, decay_share=0.5) for done in (0, 0.5, 0.75, 1)]
    [1.0, 1.0, 0.5, 0.0]
    """
    return min(1.0, (1 - done) / decay_share) if decay_share else 1.0


@torch.no_grad()
def mean_loss(
    model: nn.Module, batches: Iterable[Any], batch_loss: BatchLoss = translation_loss
) -> float:
    """Return the mean loss over all tokens of the batches (one at least), without dropout.

    >>> def loss_of(model, batch):
    ...     return model(batch).mean(), len(batch)
    >>> mean_loss(nn.Dropout(), [torch.tensor([1.0]), torch.tensor([4.0, 4.0])], loss_of)
    3.0
    """
    with evaluating(model):
        losses = [batch_loss(model, batch) for batch in batches]
    if not losses:
        raise ValueError("batches is empty; a mean needs at least one batch")
    return sum(loss.item() * count for loss, count in losses) / sum(count for _, count in losses)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode; afterwards, even after an error, restore every submodule's mode.

    >>> model = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    >>> with evaluating(model):
    ...     [dropout.training for dropout in model]
    [False, False]
    >>> [dropout.training for dropout in model]
    [True, False]
    """
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def _seeded(seed: int, model: nn.Module) -> Iterator[None]:
    """Seed the generators of a model's dropout, and no others; restore them afterwards."""
    # torch.manual_seed would seed every device, whether the model is on it or not.
    generators = [torch.default_generator]
    for device in {parameter.device for parameter in model.parameters()}:
        if device.type == "mps":  # at most one device, whose generator is elsewhere
            generators.append(torch.mps._get_default_mps_generator())
        elif device.type not in ("cpu", "meta"):
            generators.append(torch.get_device_module(device).default_generators[device.index])
    before = [(generator, generator.get_state()) for generator in generators]
    try:
        for generator in generators:
            generator.manual_seed(seed)
        yield
    finally:
        for generator, state in before:
            generator.set_state(state)


def _check_finite(loss: float, length: float, place: str) -> None:
    if not math.isfinite(loss):
        raise FloatingPointError(f"the loss is {loss} in {place}; a smaller learning_rate may help")
    if not math.isfinite(length):
        raise FloatingPointError(
            f"the loss is {loss:.4g} in {place}, but its gradient has length {length}; "
            "torch.autograd.set_detect_anomaly(True) names the operation that this comes from, "
            "for instance the logarithm or the root of 0"
        )


def _progress_bar(num_epochs: int) -> Any:
    """Show a bar of epochs, as text or, in a notebook, as a widget."""
    with optional_import("progress=True"):
        from tqdm.auto import tqdm
    layout = "{l_bar}{bar}| {n:.1f}/{total_fmt} epochs, {elapsed}{postfix}"
    return tqdm(total=num_epochs, bar_format=layout)
