"""Metrics of attention and of translation."""

import math
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import zip_longest
from typing import Any, NamedTuple

import torch
from torch import Tensor

from d2lattn.checks import argument_error, check_floats, optional_import


def attention_entropy(weights: Tensor) -> Tensor:
    """Entropy of each row of attention weights in nats, with 0 log 0 = 0.

    It is 0 if one key (or none) has weight in a row, and log K if K keys have equal weights.

    >>> attention_entropy(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
    tensor([0.0000, 0.6931])

    Args:
        weights: attention weights, shape (..., K).

    Returns:
        Shape (...), of the weights' dtype.

    Raises:
        TypeError: the weights are not floating-point numbers.
        ValueError: they have no axis of keys.
    """
    check_floats(weights=weights)
    if weights.dim() == 0:
        raise argument_error(ValueError, "weights", weights, "(..., K)")
    # In half precision a weight of many keys is smaller than the smallest normal number.
    w = weights if weights.dtype == torch.float64 else weights.float()
    # The logarithm is held above that of zero, so that a weight of 0 has a finite gradient.
    logs = w.clamp_min(torch.finfo(w.dtype).tiny).log()
    return (w * -logs).sum(dim=-1).to(weights.dtype)


class CorpusScore(NamedTuple):
    """A score from 0 to 100, and sacrebleu's signature: the settings that others need to match."""

    value: float
    signature: str


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[str | Sequence[str]],
    *,
    tokenize: str = "none",
    effective_order: bool = False,
) -> CorpusScore:
    """BLEU of a whole corpus by sacrebleu: how many n-grams, n = 1 to 4, the references share.

    >>> score = bleu(["le chat dort ."], [["le chien dort .", "le chat dort ."]])
    >>> round(score.value, 1), score.signature.split("|")[0]
    (100.0, 'nrefs:2')

    Args:
        hypotheses: the translations, tokens separated by spaces.
        references: for each hypothesis one reference, or a list of several that are all right.
        tokenize: sacrebleu's tokeniser; "none" for text that is already split at spaces.
        effective_order: leave out the n-grams that are longer than all hypotheses. Without it,
            a corpus with no hypothesis of four tokens scores 0, however good it is.

    Raises:
        TypeError: a sentence is not a string.
        ValueError: there are no hypotheses, the number of references differs, or there are lists
            of tokens in place of sentences.

    Source: Papineni et al. 2002; Post 2018 (sacrebleu).
    """
    with optional_import("d2l.bleu"):
        from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize=tokenize, force=True, effective_order=effective_order)
    return _corpus_score(metric, hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[str | Sequence[str]]) -> CorpusScore:
    """chrF2 of a whole corpus by sacrebleu: F-score of the character n-grams, n = 1 to 6.

    A word with a wrong ending gets some credit here, and none in BLEU.

    It takes sentences as `bleu` does, and raises the same errors.

    >>> round(chrf(["le chat dort ."], ["le chat dort ."]).value, 1)
    100.0

    Source: Popović 2015; Post 2018 (sacrebleu).
    """
    with optional_import("d2l.chrf"):
        from sacrebleu.metrics import CHRF

    return _corpus_score(CHRF(), hypotheses, references)


def _corpus_score(
    metric: Any, hypotheses: Sequence[str], references: Sequence[str | Sequence[str]]
) -> CorpusScore:
    for name, sentences in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(sentences, str):
            raise argument_error(TypeError, name, sentences, "a list of sentences")
    if not hypotheses:
        raise ValueError("hypotheses is empty; a corpus needs at least one sentence")
    if len(references) != len(hypotheses):
        needs = f"one for each of the {len(hypotheses)} hypotheses"
        raise ValueError(f"references holds {len(references)} entries; it needs {needs}")
    reference_sets = [[text] if isinstance(text, str) else list(text) for text in references]
    if not all(reference_sets):
        empty = reference_sets.index([])
        raise ValueError(f"references[{empty}] is empty; it needs one reference")
    for place, (hypothesis, texts) in enumerate(zip(hypotheses, reference_sets, strict=True)):
        named = [("hypotheses", hypothesis), *(("references", text) for text in texts)]
        for name, sentence in named:
            if not isinstance(sentence, str):
                raise argument_error(
                    TypeError, f"{name}[{place}]", sentence, "sentences as strings"
                )
    _check_no_token_lists(hypotheses, reference_sets)
    # sacrebleu wants streams: the first reference of every sentence, the second of every one, …
    streams = [list(stream) for stream in zip_longest(*reference_sets)]
    score = metric.corpus_score(list(hypotheses), streams)
    return CorpusScore(score.score, str(metric.get_signature()))


def _check_no_token_lists(hypotheses: Sequence[str], reference_sets: list[list[str]]) -> None:
    """Raise if references look like lists of tokens: in real ones, some would have two words."""
    places = [place for place, texts in enumerate(reference_sets) if len(texts) > 1]
    if any(len(text.split()) > 1 for place in places for text in reference_sets[place]):
        return
    for place in places:
        if len(hypotheses[place].split()) > 1:
            raise ValueError(
                f"references[{place}] is a list of {len(reference_sets[place])} single words; it "
                'needs whole sentences: join the tokens of each by " ".join(tokens)'
            )


Link = tuple[int, int]  # (place of a source word, place of a target word)


class AlignmentScores(NamedTuple):
    """How predicted links compare with gold links, from 0 to 1; an error rate of 0 is the best."""

    precision: float
    recall: float
    error_rate: float


def alignment_scores(
    predicted: Sequence[AbstractSet[Link]],
    sure: Sequence[AbstractSet[Link]],
    possible: Sequence[AbstractSet[Link]],
) -> AlignmentScores:
    """Precision, recall and alignment error rate of a corpus, as Och and Ney define them.

    With A predicted, S sure and P possible links, summed up over all pairs of sentences:
    precision ``|A ∩ P| / |A|``, recall ``|A ∩ S| / |S|``,
    error rate ``1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)``.

    >>> alignment_scores([{(0, 0), (1, 1), (2, 1)}], [{(0, 0), (1, 2)}], [{(0, 0), (1, 2), (1, 1)}])
    AlignmentScores(precision=0.6666666666666666, recall=0.5, error_rate=0.4)

    Args:
        predicted: for each pair a set of links (source, target).
        sure: links that a good alignment has.
        possible: links that it may have; every sure link is possible, too.

    Returns:
        The scores; a precision of no prediction and a recall of no sure link are nan.

    Raises:
        ValueError: the three differ in length, a sure link is not possible, or there is no link.

    Source: Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models".
    """
    if not len(predicted) == len(sure) == len(possible):
        raise ValueError(
            f"predicted, sure and possible hold {len(predicted)}, {len(sure)} and {len(possible)} "
            "sets; they need one for each pair of sentences"
        )
    num_predicted = num_sure = in_sure = in_possible = 0
    for pair, (a, s, p) in enumerate(zip(predicted, sure, possible, strict=True)):
        if not s <= p:
            raise ValueError(
                f"sure[{pair}] holds {sorted(s - p)}, which possible[{pair}] does not; "
                "every sure link needs to be possible"
            )
        num_predicted, num_sure = num_predicted + len(a), num_sure + len(s)
        in_sure, in_possible = in_sure + len(a & s), in_possible + len(a & p)
    if num_predicted + num_sure == 0:
        raise ValueError("predicted and sure hold no link at all; an error rate needs one")
    return AlignmentScores(
        precision=in_possible / num_predicted if num_predicted else math.nan,
        recall=in_sure / num_sure if num_sure else math.nan,
        error_rate=1 - (in_sure + in_possible) / (num_predicted + num_sure),
    )


def alignment_links(weights: Tensor, threshold: float | None = None) -> frozenset[Link]:
    """Read links (source, target) off an attention matrix.

    >>> sorted(alignment_links(torch.tensor([[0.9, 0.1], [0.4, 0.6]])))
    [(0, 0), (1, 1)]
    >>> sorted(alignment_links(torch.tensor([[0.9, 0.1], [0.4, 0.6]]), threshold=0.4))
    [(0, 0), (0, 1), (1, 1)]

    Args:
        weights: shape (T, S): rows are target words, columns source words.
        threshold: link all words whose weight is at least this; None links each target word to
            the source word with its largest weight.

    Raises:
        TypeError: the weights are not a tensor.
        ValueError: they are not a matrix.
    """
    if not isinstance(weights, Tensor):
        raise argument_error(TypeError, "weights", weights, "a tensor")
    if weights.dim() != 2:
        raise argument_error(ValueError, "weights", weights, "(T, S)")
    if weights.numel() == 0:
        return frozenset()
    pairs: Iterable[Any] = enumerate(weights.argmax(1).tolist())
    if threshold is not None:
        pairs = (weights >= threshold).nonzero().tolist()
    return frozenset((source, target) for target, source in pairs)


def shift_links(links: AbstractSet[Link], offset: int, target_length: int) -> frozenset[Link]:
    """Move each link to the target word `offset` places on; links that fall outside are dropped.

    >>> sorted(shift_links({(0, 0), (3, 1)}, 1, target_length=2))
    [(0, 1)]
    """
    return frozenset(
        (source, target + offset)
        for source, target in links
        if 0 <= target + offset < target_length
    )


def diagonal_links(source_length: int, target_length: int) -> frozenset[Link]:
    """Link each target word to the source word at the same relative position: a baseline.

    Without source words there is nothing to link.

    >>> sorted(diagonal_links(source_length=4, target_length=2))
    [(1, 0), (3, 1)]
    """
    _check_lengths(source_length, target_length)
    return frozenset(
        # The middle of target word t stands at (t + 1/2) / T of the sentence.
        ((2 * target + 1) * source_length // (2 * target_length), target)
        for target in range(target_length if source_length else 0)
    )


def uniform_links(
    source_length: int, target_length: int, generator: torch.Generator | None = None
) -> frozenset[Link]:
    """Link each target word to a source word drawn at random, as equal weights would.

    Without source words there is nothing to link.

    >>> links = uniform_links(source_length=3, target_length=5)
    >>> len(links), all(source < 3 for source, _ in links)
    (5, True)
    """
    _check_lengths(source_length, target_length)
    if source_length == 0:
        return frozenset()
    sources = torch.randint(source_length, (target_length,), generator=generator)
    return frozenset((source, target) for target, source in enumerate(sources.tolist()))


def _check_lengths(source_length: int, target_length: int) -> None:
    for name, length in (("source_length", source_length), ("target_length", target_length)):
        if length < 0:
            raise argument_error(ValueError, name, length, "to be 0 or more")
