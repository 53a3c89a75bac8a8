"""d2lattn: the helper package of *Attention You Can Run*.

One module a chapter, and a few that chapters share. The names are those of the study notes that
the course follows, so a listing that says ``d2l.X`` runs with ``import d2lattn as d2l``.
"""

# ruff: noqa: F401 (the names imported here are the package's face)
from typing import Any

try:
    import torch
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "d2lattn needs PyTorch; install it with: pip install -r requirements.txt"
    ) from None

from d2lattn.ablation import (
    every_subset,
    head_contributions,
    head_means,
    value_lengths,
    without_heads,
)
from d2lattn.decoding import (
    AttentionSteps,
    Hypothesis,
    attention_steps,
    beam_search,
    greedy_decode,
    teacher_forced_attention,
)
from d2lattn.drawings import show_drawing
from d2lattn.hiding import changed_by_hiding, hide_each_state
from d2lattn.kernels import (
    KERNELS,
    NWKernelRegression,
    boxcar,
    epanechnikov,
    gaussian,
    leave_one_out_error,
    nadaraya_watson,
    others,
    triangular,
)
from d2lattn.masks import sequence_mask
from d2lattn.metrics import (
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
from d2lattn.multihead import MultiHeadAttention, transpose_output, transpose_qkv
from d2lattn.once import train_once
from d2lattn.plotting import show_heatmaps, show_source, use_book_style, use_svg_display
from d2lattn.positional import LearnedPositionalEncoding, PositionalEncoding, sinusoids
from d2lattn.processes import side_by_side
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


def __getattr__(name: str) -> Any:
    """Give ``d2lattn.plt`` when it is asked for: matplotlib is not loaded before."""
    if name == "plt":
        import matplotlib.pyplot as plt

        return plt
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
