"""One training loop for every model of the course, and the loss that it lowers."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

if TYPE_CHECKING:
    from d2lattn.corpus import Batch

BatchLoss = Callable[[nn.Module, Any], tuple[Tensor, int]]
IGNORED = -100
"""Stands for a target that does not count; no token has this number."""


def masked_loss(logits: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    """Cross-entropy of the valid target tokens: their mean, in nats per token.

    What the model says where there is padding makes no difference.

    Args:
        logits: scores of the next token, shape (B, T, V).
        targets: the tokens that came, shape (B, T).
        valid_lens: how many tokens of each row count, from 0 to T, shape (B,).

    Returns:
        One number; it carries a gradient.

    Raises:
        ValueError: a shape does not fit, or no token is valid.

    >>> logits = torch.zeros(1, 3, 4)  # four tokens, all as likely: log 4 nats
    >>> masked_loss(logits, torch.tensor([[2, 1, 0]]), torch.tensor([2]))
    tensor(1.3863)
    """
    if logits.dim() != 3:
        raise ValueError(f"logits has shape {tuple(logits.shape)}; it needs (B, T, V)")
    if targets.shape != logits.shape[:2]:
        raise ValueError(
            f"targets has shape {tuple(targets.shape)}; it needs (B, T) = {tuple(logits.shape[:2])}"
        )
    if valid_lens.shape != targets.shape[:1]:
        raise ValueError(
            f"valid_lens has shape {tuple(valid_lens.shape)}; it needs (B,) = {(len(targets),)}"
        )
    steps = torch.arange(targets.shape[1], device=targets.device)
    valid = steps < valid_lens.unsqueeze(-1)  # (T,) < (B, 1) -> (B, T)
    if not valid.any():
        raise ValueError("valid_lens holds zeros only; a mean needs at least one valid token")
    # Targets that are marked, rather than logits that are picked: no copy of the largest tensor.
    marked = targets.masked_fill(~valid, IGNORED)
    return F.cross_entropy(logits.flatten(0, 1), marked.flatten(), ignore_index=IGNORED)


def shift_right(targets: Tensor, bos: int = 1) -> Tensor:
    """Give what a decoder reads to predict `targets`, shape (B, T): <bos>, then all but the last.

    >>> shift_right(torch.tensor([[7, 8, 2]]))
    tensor([[1, 7, 8]])
    """
    return torch.cat((torch.full_like(targets[:, :1], bos), targets[:, :-1]), dim=1)


def translation_loss(model: nn.Module, batch: "Batch") -> tuple[Tensor, int]:
    """Loss of an encoder-decoder on a batch by teacher forcing, and how many tokens it is over.

    Whatever the model would have said, the decoder reads the true target up to each token.
    """
    logits, _ = model(batch.source, shift_right(batch.target), batch.source_valid_lens)
    loss = masked_loss(logits, batch.target, batch.target_valid_lens)
    return loss, int(batch.target_valid_lens.sum())


@dataclass
class History:
    """What training did, a number for each epoch.

    `loss` is the mean over the tokens of the epoch while the model learned, `validation` what
    `validate` gave after it, `tokens_per_second` counts valid target tokens.
    """

    loss: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    tokens_per_second: list[float] = field(default_factory=list)


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
    validate: Callable[[nn.Module], float] | None = None,
    target_loss: float | None = None,
    progress: bool = False,
) -> History:
    """Train a model with Adam; the same seed gives the same run, and no other generator is touched.

    Args:
        model: what to train; in place.
        loader: gives the batches of one epoch, shuffled by the generator that it is handed.
        num_epochs: how often to go through the data.
        learning_rate: Adam's, at the start.
        decay_share: over this last share of all steps the learning rate falls to 0 in a straight
            line; 0 keeps it as it is.
        clip_norm: longer gradients are cut to this length.
        seed: of shuffling and dropout. (What the weights start from is up to the caller.)
        batch_loss: gives a batch's mean loss and over how many tokens it is.
        validate: gives a loss to watch after each epoch, for instance `mean_loss` of other data.
        target_loss: stop after an epoch whose validation loss (training loss, without `validate`)
            is no higher.
        progress: show a bar.

    Returns:
        The history, an entry for each epoch.

    Raises:
        ValueError: `num_epochs` is below 1, `decay_share` is not a share, or there is no batch.
        FloatingPointError: the loss is no longer a finite number.

    >>> history = train(
    ...     nn.Linear(1, 1),
    ...     lambda generator: [torch.ones(4, 1)] * 50,
    ...     num_epochs=9,
    ...     batch_loss=lambda model, batch: ((model(batch) - 3).square().mean(), len(batch)),
    ...     learning_rate=0.1,
    ...     target_loss=0.1,
    ... )
    >>> 1 < len(history.loss) < 9, history.loss[-1] <= 0.1 < history.loss[0]
    (True, True)
    """
    if num_epochs < 1:
        raise ValueError(f"num_epochs is {num_epochs}; training needs 1 or more")
    if not 0 <= decay_share <= 1:
        raise ValueError(f"decay_share is {decay_share}; a share needs to be from 0 to 1")
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    generator = torch.Generator().manual_seed(seed)
    history = History()
    with torch.random.fork_rng(devices=[]), _progress_bar(num_epochs, progress) as bar:
        torch.manual_seed(seed)
        for epoch in range(num_epochs):
            model.train()
            batches = list(loader(generator))
            if not batches:
                raise ValueError("loader gave no batch; training needs at least one")
            start, loss_sum, num_tokens = time.perf_counter(), 0.0, 0
            for step, batch in enumerate(batches):
                done = (epoch + step / len(batches)) / num_epochs
                rate = min(1.0, (1 - done) / decay_share) if decay_share else 1.0
                for group in optimizer.param_groups:
                    group["lr"] = learning_rate * rate
                loss, count = batch_loss(model, batch)
                if not math.isfinite(loss.item()):
                    raise FloatingPointError(
                        f"the loss is {loss.item()} in epoch {epoch + 1}, step {step + 1}; "
                        f"a learning_rate below {learning_rate} may help"
                    )
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
                optimizer.step()
                loss_sum, num_tokens = loss_sum + loss.item() * count, num_tokens + count
                bar.update(1 / len(batches))
            history.tokens_per_second.append(num_tokens / (time.perf_counter() - start))
            history.loss.append(loss_sum / num_tokens)
            if validate is not None:
                history.validation.append(validate(model))
            watched = (history.validation or history.loss)[-1]
            bar.set_postfix_str(f"loss {watched:.3f}")
            if target_loss is not None and watched <= target_loss:
                break
    model.eval()
    return history


@torch.no_grad()
def mean_loss(
    model: nn.Module, batches: Iterable[Any], batch_loss: BatchLoss = translation_loss
) -> float:
    """Mean loss over all tokens of the batches, without learning and without dropout.

    Raises:
        ValueError: there is no batch.
    """
    was_training = model.training
    model.eval()
    losses = [batch_loss(model, batch) for batch in batches]
    model.train(was_training)
    if not losses:
        raise ValueError("batches is empty; a mean needs at least one batch")
    return sum(loss.item() * count for loss, count in losses) / sum(count for _, count in losses)


def _progress_bar(num_epochs: int, progress: bool) -> Any:
    """Count epochs in text or, in a notebook, in a widget."""
    from tqdm.auto import tqdm

    layout = "{l_bar}{bar}| {n:.1f}/{total_fmt} epochs, {elapsed}{postfix}"
    return tqdm(total=num_epochs, disable=not progress, bar_format=layout)
