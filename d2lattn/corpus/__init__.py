"""A miniature English-French corpus with gold word alignments, and a reader for a real one."""

from d2lattn.corpus.batches import Batch, Vocabulary, batches
from d2lattn.corpus.pairs import Corpus, Pair, generate, load_corpus
from d2lattn.corpus.tatoeba import download_tatoeba, read_tatoeba

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
