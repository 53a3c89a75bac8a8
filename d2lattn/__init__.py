"""d2lattn: the helper package of *Attention You Can Run*.

`bare` goes from attention to the Transformer on one page; the modules beside it add checks, options
and PyTorch's fused kernel. The names are those of the study notes that the course follows, so a
listing that says ``d2l.X`` runs with ``import d2lattn as d2l``. Importing the package loads the
library; what belongs to the book is loaded when it is used.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "d2lattn needs PyTorch; install it with: pip install -r requirements.txt"
    ) from None

from d2lattn.analysis.ablation import (
    every_subset,
    head_contributions,
    head_means,
    value_lengths,
    without_heads,
)
from d2lattn.analysis.exchanging import exchange_each_state
from d2lattn.analysis.hiding import hide_each_state
from d2lattn.analysis.metrics import (
    AlignmentScores,
    CorpusScore,
    alignment_links,
    alignment_scores,
    attention_entropy,
    bleu,
    chrf,
    diagonal_links,
    shift_links,
    uniform_links,
)
from d2lattn.analysis.steps import AttentionSteps, attention_steps, teacher_forced_attention
from d2lattn.checks import optional_import
from d2lattn.decoding import Hypothesis, beam_search, greedy_decode
from d2lattn.kernel_regression import (
    KERNELS,
    NWKernelRegression,
    boxcar,
    epanechnikov,
    gaussian,
    leave_one_out,
    leave_one_out_error,
    nadaraya_watson,
    triangular,
)
from d2lattn.masks import sequence_mask
from d2lattn.multihead import MultiHeadAttention, transpose_output, transpose_qkv
from d2lattn.positional import (
    LearnedPositionalEncoding,
    LinearBiases,
    NoPositionalEncoding,
    PositionalEncoding,
    RotaryPositions,
    sinusoids,
)
from d2lattn.scoring import (
    AdditiveAttention,
    DotProductAttention,
    additive_scores,
    masked_softmax,
)
from d2lattn.seq2seq import (
    AttentionDecoder,
    Decoder,
    Encoder,
    EncoderDecoder,
    Seq2SeqAttentionDecoder,
    Seq2SeqDecoder,
    Seq2SeqEncoder,
)
from d2lattn.training import History, masked_loss, mean_loss, shift_right, train, translation_loss
from d2lattn.transformer import (
    AddNorm,
    DecoderBlock,
    EncoderBlock,
    PositionWiseFFN,
    TransformerDecoder,
    TransformerEncoder,
)

__all__ = [
    "KERNELS",
    "AddNorm",
    "AdditiveAttention",
    "AlignmentScores",
    "AttentionDecoder",
    "AttentionSteps",
    "CorpusScore",
    "Decoder",
    "DecoderBlock",
    "DotProductAttention",
    "Encoder",
    "EncoderBlock",
    "EncoderDecoder",
    "History",
    "Hypothesis",
    "LearnedPositionalEncoding",
    "LinearBiases",
    "MultiHeadAttention",
    "NWKernelRegression",
    "NoPositionalEncoding",
    "PositionWiseFFN",
    "PositionalEncoding",
    "RotaryPositions",
    "Seq2SeqAttentionDecoder",
    "Seq2SeqDecoder",
    "Seq2SeqEncoder",
    "TransformerDecoder",
    "TransformerEncoder",
    "additive_scores",
    "alignment_links",
    "alignment_scores",
    "attention_entropy",
    "attention_steps",
    "beam_search",
    "bleu",
    "boxcar",
    "chrf",
    "diagonal_links",
    "epanechnikov",
    "every_subset",
    "exchange_each_state",
    "gaussian",
    "greedy_decode",
    "head_contributions",
    "head_means",
    "hide_each_state",
    "leave_one_out",
    "leave_one_out_error",
    "masked_loss",
    "masked_softmax",
    "mean_loss",
    "nadaraya_watson",
    "sequence_mask",
    "shift_links",
    "shift_right",
    "sinusoids",
    "teacher_forced_attention",
    "train",
    "translation_loss",
    "transpose_output",
    "transpose_qkv",
    "triangular",
    "uniform_links",
    "value_lengths",
    "without_heads",
]

BOOK = {
    "name_curves": "d2lattn.book.figures:name_curves",
    "plt": "matplotlib.pyplot",
    "plotting": "d2lattn.book.plotting",
    "show_heatmaps": "d2lattn.book.plotting:show_heatmaps",
    "show_source": "d2lattn.book.plotting:show_source",
    "use_book_style": "d2lattn.book.figures:use_book_style",
    "use_svg_display": "d2lattn.book.figures:use_svg_display",
}
"""Names that need more than PyTorch, each with its module or `module:name`."""


def __getattr__(name: str) -> Any:
    """Load a name of the book when it is used."""
    if name not in BOOK:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module_name, _, attribute = BOOK[name].partition(":")
    with optional_import(f"d2l.{name}"):
        module = import_module(module_name)
    return getattr(module, attribute) if attribute else module


def __dir__() -> list[str]:
    """List the package's names, with the book's where they can be loaded."""
    special = [name for name in globals() if name.startswith("__")]
    return sorted([*__all__, *special, *(BOOK if find_spec("matplotlib") else ())])
