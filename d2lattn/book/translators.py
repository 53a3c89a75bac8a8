"""Translators that come trained: what the pages say of one sentence then holds on every machine.

`tools/train_translators.py` trains them and writes a file for each, with its card;
`reference/models.md` shows all cards.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from d2lattn.checks import argument_error
from d2lattn.corpus import Vocabulary
from d2lattn.multihead import MultiHeadAttention
from d2lattn.seq2seq import (
    AttentionDecoder,
    EncoderDecoder,
    Seq2SeqAttentionDecoder,
    Seq2SeqDecoder,
    Seq2SeqEncoder,
)
from d2lattn.transformer import TransformerDecoder, TransformerEncoder

FOLDER = Path(__file__).with_name("trained")


@dataclass(frozen=True)
class Recipe:
    """What a translator is, and how it is trained: in batches of 64, by Adam."""

    chapters: str
    what: str
    num_epochs: int = 2
    learning_rate: float = 5e-3
    decay_share: float = 0.6  # the last part of training, over which the rate falls to 0
    dropout: float = 0.1  # of the embeddings that the decoder reads


GRUS = "GRUs of 128 units, embeddings of width 64"
BAHDANAU = f"{GRUS}; Bahdanau attention; the decoder starts from zeros, the encoder reads"
RECIPES = {
    "one-vector": Recipe(
        chapters="4, 4.6, 4.7",
        what=f"{GRUS}; no attention: every step receives the encoder's last state",
    ),
    "one-directional": Recipe(
        chapters="4.1, 4.6, 4.7, 4b, 4b.1, 4b.2, 4b.4",
        what=f"{BAHDANAU} forwards",
    ),
    "bidirectional": Recipe(
        chapters="4, 4a, 4.1, 4.4, 4.6, 4.7, 4b, 4b.1, 4b.2, 4b.4, 7b.3, 7c.1",
        what=f"{BAHDANAU} both ways",
    ),
    "four-heads": Recipe(
        chapters="5b, 5b.2, 5b.3, 5b.4",
        what=f"{GRUS}; the encoder reads both ways; four heads, whose queries are the new states",
        num_epochs=1,
    ),
    "transformer": Recipe(
        chapters="7b, 7b.1, 7b.3, 7c, 7c.1, 7c.2, 8, 8.3, 10.2, 10.3",
        what="Transformer of width 96, feed-forward networks of width 192, four heads, "
        "two layers each in the encoder and the decoder",
        num_epochs=1,
        learning_rate=3e-3,
        decay_share=0.7,
        dropout=0.0,
    ),
}


class Translator(NamedTuple):
    """A trained model in eval mode, what it reads and writes, and its card."""

    model: EncoderDecoder
    source_vocab: Vocabulary
    target_vocab: Vocabulary
    card: dict[str, Any]


def load_translator(name: str, dtype: torch.dtype = torch.float64) -> Translator:
    """Give one of the trained translators.

    Its numbers are float64: sums of many of them then agree in all digits that a page prints,
    whatever the processor and PyTorch's version.

    >>> model, source_vocab, target_vocab, card = load_translator("one-vector")
    >>> model.training, len(source_vocab), len(target_vocab), card["trained on"]["pairs"]
    (False, 223, 389, 42000)

    Args:
        name: one of `RECIPES`.
        dtype: of the weights.

    Raises:
        ValueError: there is no translator of this name, or its file is damaged.
        FileNotFoundError: its file is missing.
        TypeError: the dtype is none of floating-point numbers.
    """
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype is {dtype}; it needs to be one of floating-point numbers")
    return _read(name, dtype)


def new_translator(name: str, source_size: int, target_size: int) -> EncoderDecoder:
    """Make one that has learned nothing, for vocabularies of these sizes.

    >>> model = new_translator("transformer", source_size=223, target_size=389)
    >>> sum(parameter.numel() for parameter in model.parameters())
    468197

    Raises:
        ValueError: there is no translator of this name.
    """
    _file(name)
    if name == "transformer":
        return EncoderDecoder(
            TransformerEncoder(source_size, 96, 192, 4, 2),
            TransformerDecoder(target_size, 96, 192, 4, 2),
        )
    both_ways, dropout = name in ("bidirectional", "four-heads"), RECIPES[name].dropout
    encoder = Seq2SeqEncoder(source_size, 64, 128, 1, bidirectional=both_ways)
    if name == "one-vector":
        return EncoderDecoder(encoder, Seq2SeqDecoder(target_size, 64, 128, 1, dropout))
    if name == "four-heads":
        return EncoderDecoder(encoder, HeadsDecoder(target_size, num_heads=4))
    decoder = Seq2SeqAttentionDecoder(target_size, 64, 128, 1, dropout, bridge=False)
    return EncoderDecoder(encoder, decoder)


class HeadsDecoder(AttentionDecoder):
    """Chapter 5b's decoder: a GRU reads the French, and its new states ask, all in one call.

    >>> model = new_translator("four-heads", source_size=9, target_size=7)
    >>> scores, _ = model(torch.tensor([[5, 6, 2]]), torch.tensor([[1, 4]]))
    >>> scores.shape, model.decoder.attention_weights.shape  # (B, T, V), (B, H, T, S)
    (torch.Size([1, 2, 7]), torch.Size([1, 4, 2, 3]))

    Source: Luong and others 2015 ask with the new state, too.
    """

    def __init__(self, vocab_size: int, num_heads: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, 64)
        nn.init.normal_(self.embed.weight, std=0.3)
        self.dropout = nn.Dropout(0.1)
        self.gru = nn.GRU(64, 128, batch_first=True)
        self.heads = MultiHeadAttention(128, 128, 128, 128, num_heads, 0)
        self.dense = nn.Linear(256, vocab_size)

    def init_state(self, encoded: tuple[Tensor, Tensor], lens: Tensor | None = None) -> Any:
        """Keep the source's states; begin with zeros."""
        h, last = encoded
        return h, lens, torch.zeros_like(last)

    def forward(self, y: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Read target tokens (B, T), give scores of the next ones (B, T, V)."""
        h, lens, s = state  # (B, S, 128), (B,), (1, B, 128)
        states, s = self.gru(self.dropout(self.embed(y)), s)  # (B, T, 128)
        contexts = self.heads(states, h, h, lens)  # (B, T, 128)
        words = self.dense(torch.cat((contexts, states), dim=-1))
        return words, (h, lens, s)

    def select_state(self, state: Any, rows: Tensor) -> Any:
        """Keep some of the batch's rows."""
        h, lens, s = state
        return h[rows], None if lens is None else lens[rows], s[:, rows]

    @property
    def attention_weights(self) -> Tensor:
        """Weights of the last pass, (B, H, T, S)."""
        return self.heads.attention_weights


def write_translator(name: str, translator: Translator, dtype: torch.dtype) -> None:
    """Store a trained model with its vocabularies and card."""
    from safetensors.torch import save

    weights = {key: value.to(dtype) for key, value in translator.model.state_dict().items()}
    vocabularies = [translator.source_vocab.tokens, translator.target_vocab.tokens]
    about = {"card": translator.card, "vocabularies": vocabularies}
    # One string for all but the numbers: several would come in another order each time.
    metadata = {"translator": json.dumps(about, ensure_ascii=False)}
    FOLDER.mkdir(exist_ok=True)
    _file(name).write_bytes(save(weights, metadata))


def _file(name: str) -> Path:
    if name not in RECIPES:
        raise argument_error(ValueError, "name", repr(name), f"to be one of {', '.join(RECIPES)}")
    return FOLDER / f"{name}.safetensors"


def _read(name: str, dtype: torch.dtype) -> Translator:
    """Make the translator of a file that is whole."""
    from safetensors import safe_open

    path, cure = _file(name), "tools/train_translators.py writes it"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; {cure}")
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads(file.metadata()["translator"])
            weights = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (no dict)
        if about["card"]["name"] != name:
            raise ValueError(f"it holds {about['card']['name']}")
        source_vocab, target_vocab = map(_vocabulary, about["vocabularies"])
        with torch.random.fork_rng(devices=[]):  # a new model draws weights, which go unused
            model = new_translator(name, len(source_vocab), len(target_vocab))
        model.load_state_dict(weights)
    except Exception as error:  # whatever it is that a damaged file brings about
        raise ValueError(
            f"{path} is damaged ({type(error).__name__}: {error}); {cure} anew"
        ) from None
    return Translator(model.to(dtype).eval(), source_vocab, target_vocab, about["card"])


def _vocabulary(tokens: list[str]) -> Vocabulary:
    """Number tokens as they stand: in all beginnings of a list, its first one is most frequent."""
    return Vocabulary(tokens[: end + 1] for end in range(len(tokens)))
