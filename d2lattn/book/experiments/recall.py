"""Chapter 11's experiment: pairs of a key and a word are told, then each key is asked for its word.

What has been told stands in one matrix, however many pairs they are, or in a list of all of them,
which softmax attention asks. First nothing is learned: keys and the vectors of words are random, of
length 1. Then the keys and all vectors are learned, in several networks side by side along a
leading axis S.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

NUM_WORDS = 64
NUM_KEYS = 256
"""That a network knows; none is told twice in a text."""
WAYS = ("softmax", "products", "positive", "corrected")
"""How a network keeps what it is told: a list, or a matrix in three ways."""
TRAINED = (4, 8, 16, 32, 64)
"""Pairs in a text of training."""


class Told(NamedTuple):
    """Keys (..., n, d), the numbers of the words told with them (..., n), and all words (64, d)."""

    keys: Tensor
    words: Tensor
    vectors: Tensor


def unit(*shape: int, generator: torch.Generator) -> Tensor:
    """Draw vectors of length 1, in all directions alike.

    >>> unit(2, 3, generator=torch.Generator().manual_seed(0)).norm(dim=-1).round(decimals=4)
    tensor([1., 1.])
    """
    return F.normalize(torch.randn(*shape, generator=generator), dim=-1)


def tell(num_texts: int, num_pairs: int, width: int, generator: torch.Generator) -> Told:
    """Draw texts of random keys, each with a random word.

    >>> told = tell(5, 3, 8, torch.Generator().manual_seed(0))
    >>> told.keys.shape, told.words.shape, told.vectors.shape
    (torch.Size([5, 3, 8]), torch.Size([5, 3]), torch.Size([64, 8]))
    """
    return Told(
        unit(num_texts, num_pairs, width, generator=generator),
        torch.randint(NUM_WORDS, (num_texts, num_pairs), generator=generator),
        unit(NUM_WORDS, width, generator=generator),
    )


def memory(
    keys: Tensor, values: Tensor, keep: float = 1.0, corrected: float | Tensor | None = None
) -> Tensor:
    """Write pairs into a matrix, one after the other, which is 0 at first.

    Args:
        keys: shape (..., n, d).
        values: shape (..., n, v).
        keep: the share of what stands there that is left at each new pair.
        corrected: if it is given, not the value is written, but this share of what the value has
            more than what its key finds there already (the delta rule, for keys of length 1).

    Returns:
        The matrix, (..., d, v).

    >>> keys, values = torch.tensor([[1.0, 0], [1, 0]]), torch.tensor([[2.0], [3.0]])
    >>> memory(keys, values).squeeze(), memory(keys, values, keep=0.5).squeeze()
    (tensor([5., 0.]), tensor([4., 0.]))
    >>> memory(keys, values, corrected=1.0).squeeze()
    tensor([3., 0.])
    """
    if corrected is None:
        ago = torch.arange(keys.shape[-2] - 1, -1, -1)  # how many pairs came after, (n,)
        left = (keys.new_tensor(keep) ** ago).unsqueeze(-1)  # (n, 1)
        return (left * keys).mT @ values  # (..., d, n) x (..., n, v) -> (..., d, v)
    matrix = keys.new_zeros(*keys.shape[:-2], keys.shape[-1], values.shape[-1])
    for j in range(keys.shape[-2]):
        key, value = keys[..., j : j + 1, :], values[..., j : j + 1, :]  # (..., 1, d), (..., 1, v)
        matrix = keep * matrix
        missing = value - key @ matrix  # (..., 1, v) - (..., 1, d) x (..., d, v)
        matrix = matrix + corrected * key.mT @ missing  # (..., d, 1) x (..., 1, v)
    return matrix


def recalled(told: Told, matrix: Tensor) -> Tensor:
    """Say for each key whether the word that is read is the one told with it, (..., n).

    What a key reads in the matrix is compared with all words, and the largest product wins.

    >>> told = tell(2, 1, 8, torch.Generator().manual_seed(0))
    >>> recalled(told, memory(told.keys, told.vectors[told.words]))
    tensor([[True],
            [True]])
    """
    read = told.keys @ matrix  # (..., n, d) x (..., d, v) -> (..., n, v)
    return (read @ told.vectors.T).argmax(dim=-1) == told.words  # (..., n, v) x (v, 64)


class Networks(nn.Module):
    """S networks: a vector for each key as it is told and as it is asked, and for each word.

    Args:
        way: one of `WAYS`. "softmax" keeps all keys and values, and asks them as chapter 3 does.
            "products" keeps the sum of all products of key and value. "positive" makes features
            elu(x) + 1 of keys and queries and keeps the features' sum, too, by which what is read
            is divided. "corrected" writes by the delta rule, with keys and queries of length 1, a
            share of each correction that is learned.
        width: of keys and of values, so the matrix has width x width numbers.
        num_networks: S.
        seed: of the first vectors.
    """

    def __init__(self, way: str, width: int, num_networks: int, seed: int = 0) -> None:
        super().__init__()
        self.way = way
        generator = torch.Generator().manual_seed(seed)

        def table(rows: int, scale: float) -> nn.Parameter:
            entries = torch.randn(num_networks, rows, width, generator=generator)
            return nn.Parameter(entries * scale)

        self.told = table(NUM_KEYS, width**-0.5 if way in ("products", "corrected") else 1.0)
        self.asked = nn.Parameter(self.told.detach().clone())  # at first, asked as it was told
        self.values, self.words = table(NUM_WORDS, width**-0.5), table(NUM_WORDS, 1.0)
        self.share = nn.Parameter(torch.full((num_networks, 1, 1, 1), 2.0))  # before a sigmoid

    def forward(self, keys: Tensor, words: Tensor) -> Tensor:
        """Tell the pairs and ask every key: (S, B, n) twice -> scores of words, (S, B, n, 64)."""
        network = torch.arange(len(keys)).view(-1, 1, 1)  # (S, 1, 1)
        k, q = self.told[network, keys], self.asked[network, keys]  # (S, B, n, D)
        read = self.read(q, k, self.values[network, words])  # (S, B, n, D)
        return read @ self.words.mT.unsqueeze(1)  # (S, B, n, D) x (S, 1, D, 64)

    def read(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """What each query reads of all pairs: (S, B, n, D) three times -> (S, B, n, D)."""
        if self.way == "softmax":
            return F.scaled_dot_product_attention(q, k, v)
        if self.way == "products":
            return q @ memory(k, v)  # (S, B, n, D) x (S, B, D, D)
        if self.way == "positive":
            q, k = F.elu(q) + 1, F.elu(k) + 1
            return (q @ memory(k, v)) / (q @ k.sum(dim=-2).unsqueeze(-1))
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        return q @ memory(k, v, corrected=self.share.sigmoid())


def draw(
    num_networks: int, num_texts: int, num_pairs: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw texts for each network: numbers of keys, none twice in a text, and of words.

    >>> keys, words = draw(3, 2, 40, torch.Generator().manual_seed(0))
    >>> keys.shape, words.shape, len(set(keys[0, 0].tolist()))
    (torch.Size([3, 2, 40]), torch.Size([3, 2, 40]), 40)
    """
    dice = torch.rand(num_networks, num_texts, NUM_KEYS, generator=generator)
    keys = dice.topk(num_pairs, dim=-1).indices  # (S, B, n)
    return keys, torch.randint(NUM_WORDS, keys.shape, generator=generator)


def learn(
    way: str, width: int, rate: float, num_networks: int = 5, num_steps: int = 1000
) -> Networks:
    """Train on 32 fresh texts a network and step, of 4 to 64 pairs, which are all asked for.

    By Adam, at a rate that falls to 0.
    """
    networks = Networks(way, width, num_networks)
    optimizer = torch.optim.Adam(networks.parameters(), lr=rate)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, num_steps)
    generator = torch.Generator().manual_seed(1)
    for _ in range(num_steps):
        num_pairs = TRAINED[int(torch.randint(len(TRAINED), (1,), generator=generator))]
        keys, words = draw(num_networks, 32, num_pairs, generator)
        scores = networks(keys, words).flatten(0, 2)  # (S, B, n, 64) -> (S B n, 64)
        loss = F.cross_entropy(scores, words.flatten()) * num_networks
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        falling.step()
    return networks


@torch.no_grad()
def accuracy(networks: Networks, num_pairs: int, purpose: str = "test") -> Tensor:
    """The share of right words of each network over 100 texts of so many pairs, (S,).

    The texts for choosing a rate ("validation") are others than those that are told of ("test").
    """
    seed = {"validation": 2, "test": 3}[purpose]
    generator = torch.Generator().manual_seed(seed)
    keys, words = draw(len(networks.told), 100, num_pairs, generator)
    right = networks(keys, words).argmax(dim=-1) == words  # (S, B, n)
    return right.float().mean(dim=(1, 2))
