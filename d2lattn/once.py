"""Work that is done once: what a training gave is kept for the next page that needs it."""

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from torch import Tensor, nn

from d2lattn.cache import cache_directory
from d2lattn.checks import wrong
from d2lattn.training import History, train

MOST = 50
"""How many results are kept; a further one takes the place of the one unused for longest."""

PATIENCE = 600.0
"""Seconds to wait for another process, which may have died where the disk does not notice."""


def train_once(
    model: nn.Module, loader: Callable[[torch.Generator], Iterable[Any]], **options: float
) -> History:
    """Do what `train` does, or take up what the same training taught the same model before.

    It is the same if the weights at the start, the batches, the options, the code of this package
    and PyTorch's version are. So chapter 4b, which needs chapter 4's translator, need not train it
    again where chapter 4 has run.

    Args:
        model: what to train, made of modules of this package and of PyTorch.
        loader: gives the batches of one epoch, shuffled by the generator that it is handed.
        options: numbers as `train` takes them; `num_epochs` is needed.

    Returns:
        The history of the training, whenever that was.

    Raises:
        TypeError: a module of the model is defined elsewhere, where a change of its code would go
            unnoticed, or an option is no number.
    """

    def make() -> dict[str, Any]:
        history = train(model, loader, **options)  # type: ignore[arg-type]
        return {"weights": model.state_dict(), "history": asdict(history)}

    result = do_once(_fingerprint(model, loader, options), make)
    model.load_state_dict(result["weights"])
    model.eval()
    return History(**result["history"])


def do_once(name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Give what `make` gives, or what it gave before under this name.

    The name says all that the result depends on, but for the code of this package and PyTorch's
    version: where these have changed, it is made anew. While another process makes it, this one
    waits. Results lie in `cache_directory`, below ``once``.

    Args:
        name: as long as need be; a number stands for it on the disk.
        make: gives tensors, numbers and texts, in dictionaries and lists.
    """
    seen = hashlib.sha256(_code() + repr((torch.__version__, name)).encode())
    path = cache_directory() / "once" / f"{seen.hexdigest()}.pt"
    with _alone(path):
        result = _load(path)
        if result is None:
            result = make()
            _save(path, result)
    return result


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let others wait who want the same file; where no lock can be had, nobody does."""
    with ExitStack() as held:
        with suppress(OSError, NotImplementedError):
            path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(FileLock(path.with_suffix(".lock"), timeout=PATIENCE))
        yield


def _fingerprint(
    model: nn.Module, loader: Callable[[torch.Generator], Iterable[Any]], options: dict[str, float]
) -> str:
    """Give a name that changes with whatever could change what the model learns."""
    for part in model.modules():
        if type(part).__module__.split(".")[0] not in ("torch", "d2lattn"):
            raise wrong(TypeError, "a module of the model", part, "one of d2lattn or PyTorch")
    for name, value in options.items():
        if not isinstance(value, int | float):
            raise wrong(TypeError, name, value, "a number")
    settings = [_settings(part) for part in model.modules()]
    seen = hashlib.sha256(repr((settings, sorted(options.items()))).encode())
    for name, weight in model.state_dict().items():
        seen.update(name.encode() + _bytes(weight))
    shuffling = torch.Generator().manual_seed(int(options.get("seed", 0)))
    for tensor in _tensors(loader(shuffling)):
        seen.update(repr(tensor.shape).encode() + _bytes(tensor))
    return seen.hexdigest()


def _settings(part: nn.Module) -> list[tuple[str, Any]]:
    """Say of what class a module is and how it is set: not all of that is in its `repr`."""
    plain = (int, float, str, tuple, type(None))
    found = {name: value for name, value in vars(part).items() if isinstance(value, plain)}
    return [("class", type(part).__qualname__), *sorted((found | {"training": True}).items())]


@cache
def _code() -> bytes:
    """All of this package's code: which of it a training runs through is hard to say."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return b"".join(file.read_bytes() for file in files)


def _bytes(tensor: Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()


def _tensors(batches: Any) -> Iterator[Tensor]:
    """Give every tensor of nested batches."""
    if isinstance(batches, Tensor):
        yield batches
    elif isinstance(batches, Iterable) and not isinstance(batches, str | bytes):
        for part in batches:
            yield from _tensors(part)


def _load(path: Path) -> dict[str, Any] | None:
    """Read a result, if it is there and whole."""
    try:
        result: dict[str, Any] = torch.load(path, weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError):
        return None
    with suppress(OSError):
        path.touch()  # used now
    return result


def _save(path: Path, result: dict[str, Any]) -> None:
    """Keep it, whole or not at all; a folder that cannot be written costs only time."""
    with suppress(OSError):
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            torch.save(result, Path(folder) / path.name)
            os.replace(Path(folder) / path.name, path)
        by_use = sorted(path.parent.glob("*.pt"), key=lambda file: file.stat().st_mtime)
        for file in by_use[:-MOST]:
            file.unlink()
            file.with_suffix(".lock").unlink(missing_ok=True)
