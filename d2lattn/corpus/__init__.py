"""A miniature English-French corpus with gold word alignments, and a reader for a real one."""

from d2lattn.corpus.batches import Batch, Vocabulary, batches
from d2lattn.corpus.pairs import Corpus, Pair, generate, load_corpus

__all__ = [
    "Batch",
    "Corpus",
    "Pair",
    "Vocabulary",
    "batches",
    "generate",
    "load_corpus",
]
