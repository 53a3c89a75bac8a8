"""`attention_weights`: one contract for everything that attends."""

from collections.abc import Callable
from typing import Any

from torch import Tensor


class Attends:
    """Comes before `nn.Module` among the bases of what has attention weights.

    At the end of `forward`, so that a call that fails changes nothing, a module tells `_keep` how
    its weights are worked out, from tensors without a graph. Nothing is worked out unless somebody
    reads them. Copies and files of a module start without: what it last looked at is not part of
    it, and tensors of `torch.func` cannot be stored.
    """

    _weights: Callable[[], Tensor] | None = None

    @property
    def attention_weights(self) -> Tensor:
        """Weights of the last call, before dropout: rows are queries, columns are keys.

        Raises:
            RuntimeError: there was no call.
        """
        if self._weights is None:
            raise RuntimeError("attention_weights: there are none before the first forward pass")
        return self._weights()

    def _keep(self, weights: Callable[[], Tensor]) -> None:
        vars(self)["_weights"] = weights  # `nn.Module` would first search its parameters: slow

    def __getstate__(self) -> dict[str, Any]:
        return {name: kept for name, kept in self.__dict__.items() if name != "_weights"}
