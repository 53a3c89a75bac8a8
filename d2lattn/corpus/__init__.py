"""A miniature English-French corpus with gold word alignments, and a reader for a real one."""

from typing import Any

from d2lattn.corpus.batches import Batch, Vocabulary, batches
from d2lattn.corpus.pairs import Corpus, Pair, generate, load_corpus

__all__ = [
    "Batch",
    "Corpus",
    "Pair",
    "Vocabulary",
    "batches",
    "download_tatoeba",
    "generate",
    "load_corpus",
    "read_tatoeba",
]


def __getattr__(name: str) -> Any:
    """Give what few need when it is asked for: a download's functions."""
    if name in ("download_tatoeba", "read_tatoeba"):
        from d2lattn.corpus import tatoeba

        return getattr(tatoeba, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
