"""A training that is done once: what it taught is kept for the next page that needs it."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from d2lattn.cache import do_once
from d2lattn.checks import wrong
from d2lattn.training import History, train

HOOKS = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"


def train_once(
    model: nn.Module, loader: Callable[[torch.Generator], Iterable[Any]], **options: float
) -> History:
    """Do what `train` does, or take up what the same training taught the same model before.

    It is the same if the model at the start (its weights, which of them learn and which are tied,
    its buffers and settings), the first epoch's batches, the options, the code of this package and
    PyTorch's version are. So chapter 4b, which needs chapter 4's translator, need not train it
    again where chapter 4 has run.

    Args:
        model: what to train, made of modules of this package and of PyTorch, without hooks.
        loader: gives the batches of one epoch, shuffled by the generator that it is handed. It is
            called once more than there are epochs: the first batches tell which training it is.
        options: numbers as `train` takes them; `num_epochs` is needed.

    Returns:
        The history of the training, whenever that was.

    Raises:
        TypeError: a module of the model is defined elsewhere or has a hook, where a change of the
            code would go unnoticed, or an option is no number.
    """

    def make() -> dict[str, Any]:
        history = train(model, loader, **options)  # type: ignore[arg-type]
        return {"weights": model.state_dict(), "history": asdict(history)}

    result = do_once(_fingerprint(model, loader, options), make)
    model.load_state_dict(result["weights"])
    model.eval()
    return History(**result["history"])


def _fingerprint(
    model: nn.Module, loader: Callable[[torch.Generator], Iterable[Any]], options: dict[str, float]
) -> str:
    """Give a name that changes with whatever could change what the model learns."""
    for part in model.modules():
        if type(part).__module__.split(".")[0] not in ("torch", "d2lattn"):
            raise wrong(TypeError, "a module of the model", part, "one of d2lattn or PyTorch")
        if any(getattr(part, hooks) for hooks in HOOKS):
            raise wrong(TypeError, "a module of the model", part, "to be without hooks")
    for name, value in options.items():
        if not isinstance(value, int | float):
            raise wrong(TypeError, name, value, "a number")
    settings = [_settings(part) for part in model.modules()]
    seen = hashlib.sha256(repr((settings, sorted(options.items()))).encode())
    first: dict[int, str] = {}  # the name under which a tensor comes first, which is how ties show
    for name, tensor in chain(
        model.named_parameters(remove_duplicate=False), model.named_buffers(remove_duplicate=False)
    ):
        known = name, first.setdefault(id(tensor), name), tensor.requires_grad
        seen.update(repr(known).encode() + _bytes(tensor))
    shuffling = torch.Generator().manual_seed(int(options.get("seed", 0)))
    for tensor in _tensors(loader(shuffling)):
        seen.update(repr(tensor.shape).encode() + _bytes(tensor))
    return seen.hexdigest()


def _settings(part: nn.Module) -> list[tuple[str, Any]]:
    """Say of what class a module is and how it is set: not all of that is in its `repr`."""
    plain = (int, float, str, tuple, type(None))
    found = {name: value for name, value in vars(part).items() if isinstance(value, plain)}
    return [("class", type(part).__qualname__), *sorted((found | {"training": True}).items())]


def _bytes(tensor: Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()


def _tensors(batches: Any) -> Iterator[Tensor]:
    """Give every tensor of nested batches."""
    if isinstance(batches, Tensor):
        yield batches
    elif isinstance(batches, Iterable) and not isinstance(batches, str | bytes):
        for part in batches:
            yield from _tensors(part)
