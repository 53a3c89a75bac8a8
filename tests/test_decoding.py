import math
from itertools import islice, pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from d2lattn.decoding import Hypothesis, beam_search, greedy_decode, greedy_steps
from d2lattn.seq2seq import (
    Decoder,
    Encoder,
    EncoderDecoder,
    Seq2SeqAttentionDecoder,
    Seq2SeqDecoder,
    Seq2SeqEncoder,
)
from d2lattn.training import shift_right
from d2lattn.transformer import TransformerDecoder

pytestmark = pytest.mark.usefixtures("one_thread")

VOCAB = 9
SOURCE = torch.tensor([[4, 5, 2]])
TWO = torch.zeros(2, 1, dtype=torch.long)  # sources that nobody reads
ONE = TWO[:1]
RANDOM_MODELS = settings(deadline=None, max_examples=25, derandomize=True)
decoders = st.sampled_from([Seq2SeqDecoder, Seq2SeqAttentionDecoder])


def build(decoder, seed):
    """A random model with weights large enough that its choices differ from each other."""
    torch.manual_seed(seed)
    model = EncoderDecoder(Seq2SeqEncoder(VOCAB, 4, 8, 1), decoder(VOCAB, 4, 8, 1))
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model


def sentences(seed, batch_size=3, length=5):
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(3, VOCAB, (batch_size, length), generator=generator)
    return source, torch.randint(1, length + 1, (batch_size,), generator=generator)


def log_probability(model, source, hypothesis, *, eos=2):
    """What the model says of a translation, by teacher forcing."""
    target = torch.tensor([hypothesis.tokens + [eos] * hypothesis.finished])
    logits, _ = model.eval()(source, shift_right(target))
    return logits.log_softmax(-1).gather(2, target.unsqueeze(-1)).sum().item()


class Table(Decoder):
    """A decoder whose next token depends on the last one alone, by a table (V, V) of chances."""

    def __init__(self, chances):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(chances).clamp_min(1e-9).log())

    def init_state(self, enc_outputs, *args):
        return enc_outputs

    def forward(self, X, state):
        return self.logits[X], state

    def select_state(self, state, rows):
        return state[rows]


class Nothing(Encoder):
    def forward(self, X, *args):
        return torch.zeros(len(X))


# <pad> <bos> <eos> a b: greedy takes a (0.6) and then every way is poor; b is followed by <eos>.
TRAP = [
    [0.0, 0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.6, 0.4],
    [0.0, 0.0, 1.0, 0.0, 0.0],
    [0.2, 0.2, 0.3, 0.2, 0.1],
    [0.0, 0.0, 0.9, 0.1, 0.0],
]


def test_beam_finds_likelier_translation_than_greedy():
    model = EncoderDecoder(Nothing(), Table(TRAP))
    for greedy in greedy_decode(model, TWO):
        assert greedy.tokens == [3]
        assert greedy.score == pytest.approx(torch.tensor(0.6 * 0.3).log().item())
        assert greedy.attention_weights is None
    for best in beam_search(model, TWO, beam_size=2):
        assert best.tokens == [4]
        assert best.finished
        assert best.score == pytest.approx(torch.tensor(0.4 * 0.9).log().item())
        assert best.attention_weights is None


def test_length_penalty_favours_longer_translations():
    model = EncoderDecoder(Nothing(), Table([[0.0, 0.0, 0.4, 0.6, 0.0]] * 5))
    # <eos> at once, log(0.4) / 1**p, against three tokens, log(0.6**3) / 3**p: equal at 0.47
    for penalty, length in ((0.0, 0), (0.4, 0), (0.5, 3), (3.0, 3)):
        (best,) = beam_search(model, ONE, beam_size=4, max_len=3, length_penalty=penalty)
        assert len(best.tokens) == length


@RANDOM_MODELS
@given(decoder=decoders, seed=st.integers(0, 10**6))
def test_beam_of_one_equals_greedy(decoder, seed):
    model, (source, lengths) = build(decoder, seed), sentences(seed)
    greedy = greedy_decode(model, source, lengths, max_len=7)
    beam = beam_search(model, source, lengths, beam_size=1, max_len=7)
    assert greedy == beam


def tied(seed):
    """A model of 64 to 400 tokens, many of which are exactly as likely as others."""
    generator = torch.Generator().manual_seed(seed)
    vocab_size = int(torch.randint(64, 400, (), generator=generator))
    model = EncoderDecoder(Nothing(), Table([]))
    logits = torch.randn(vocab_size, vocab_size, generator=generator)
    model.decoder.logits.data = 1.3 * (2 * logits).round()
    return model


@pytest.mark.parametrize("seed", range(40))
def test_larger_beams_never_score_lower_with_ties(seed):
    model = tied(seed)
    (greedy,) = greedy_decode(model, ONE, max_len=5)
    actual = [beam_search(model, ONE, beam_size=k, max_len=5)[0] for k in (1, 2, 3, 4)]
    assert actual[0] == greedy
    for smaller, larger in pairwise(actual):
        assert larger.score >= smaller.score


def test_exhaustive_beam_finds_the_best_translation():
    model, (source, _) = build(Seq2SeqAttentionDecoder, 3), sentences(3, batch_size=1)
    everything = [()]
    best = -torch.inf
    with torch.no_grad():
        for _ in range(3):
            everything = [(*tokens, new) for tokens in everything for new in range(VOCAB)]
            ended = torch.tensor(everything)
            logits, _ = model.eval()(source.expand(len(ended), -1), shift_right(ended))
            scores = logits.log_softmax(-1).gather(2, ended.unsqueeze(-1)).sum(dim=(1, 2))
            complete = (ended[:, -1] == 2) | torch.tensor(ended.shape[1] == 3)
            best = max(best, scores[complete].max().item())
            everything = [tokens for tokens in everything if tokens[-1] != 2]
    (actual,) = beam_search(model, source, beam_size=VOCAB**2, max_len=3)
    assert actual.score == pytest.approx(best, abs=1e-5)


@RANDOM_MODELS
@given(decoder=decoders, seed=st.integers(0, 10**6), beam_size=st.integers(1, 4))
def test_scores_equal_teacher_forcing(decoder, seed, beam_size):
    model, (source, lengths) = build(decoder, seed), sentences(seed)
    actual = greedy_decode(model, source, lengths, max_len=7)
    actual += beam_search(model, source, lengths, beam_size=beam_size, max_len=7)
    for place, hypothesis in enumerate(actual):
        row = place % len(source)
        alone = source[row : row + 1, : lengths[row]]
        said = log_probability(model, alone, hypothesis)
        assert hypothesis.score == pytest.approx(said, abs=1e-4)


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_weights_end_with_their_sentences(search):
    model, (source, lengths) = build(Seq2SeqAttentionDecoder, 13), sentences(13, batch_size=8)
    actual = search(model, source, lengths, max_len=6)
    assert len({len(hypothesis.tokens) for hypothesis in actual}) > 1
    for row, hypothesis in enumerate(actual):
        weights = hypothesis.attention_weights
        assert weights.shape == (len(hypothesis.tokens), lengths[row])
        assert 2 not in hypothesis.tokens
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(len(weights)))
        if hypothesis.tokens:  # the same as by teacher forcing
            target = torch.tensor([hypothesis.tokens])
            model(source[row : row + 1, : lengths[row]], shift_right(target))
            torch.testing.assert_close(model.decoder.attention_weights[0], weights)


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_bos_and_eos_can_be_chosen(search):
    follows = [[0.0] * 5 for _ in range(5)]
    for token, following in ((4, 2), (2, 1), (1, 3), (3, 0), (0, 0)):
        follows[token][following] = 1.0
    model = EncoderDecoder(Nothing(), Table(follows))
    (best,) = search(model, ONE, bos=4, eos=3)
    assert (best.tokens, best.finished, best.score) == ([2, 1], True, pytest.approx(0, abs=1e-5))
    (best,) = search(model, ONE, bos=4, eos=3, max_len=2)
    assert (best.tokens, best.finished) == ([2, 1], False)
    (best,) = search(model, ONE, bos=4, eos=3, max_len=3)
    assert (best.tokens, best.finished) == ([2, 1], True)


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_search_ends_at_max_len_or_when_all_have_ended(search):
    steps = []

    class Counting(Table):
        def forward(self, X, state):
            steps.append(X.shape)
            return super().forward(X, state)

    endless = [[0.0, 0.0, 0.0, 1.0, 0.0]] * 5
    for hypothesis in search(EncoderDecoder(Nothing(), Counting(endless)), TWO):
        assert hypothesis.tokens == [3] * 50
    assert len(steps) == 50
    assert steps[0] == (2 if search is greedy_decode else 8, 1)
    steps.clear()
    at_once = [[0.0, 0.0, 1.0, 0.0, 0.0]] * 5
    for hypothesis in search(EncoderDecoder(Nothing(), Counting(at_once)), TWO):
        assert hypothesis == Hypothesis([], pytest.approx(0, abs=1e-5), True, None)
    assert len(steps) == 1


def test_search_stops_once_the_best_cannot_change():
    steps = []

    class Numbered(Encoder):
        def forward(self, X, *args):
            return torch.arange(len(X))

    class OfEachSentence(Table):
        def forward(self, X, state):
            steps.append(1)
            return self.logits[state.unsqueeze(1), X], state

    first = [0.0, 0.0, 0.6, 0.4] + [0.0] * 26  # what goes on here is likelier than
    second = [0.9 / 29] * 2 + [0.1] + [0.9 / 29] * 27  # what ends here
    model = EncoderDecoder(Numbered(), OfEachSentence([[first] * 30, [second] * 30]))
    actual = beam_search(model, TWO, beam_size=2)
    assert [best.tokens for best in actual] == [[], []]
    assert len(steps) == 1


def modes(model):
    return [module.training for module in model.modules()]


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
@pytest.mark.parametrize("training", [True, False])
def test_search_is_without_dropout_and_graph_and_restores_every_mode(search, training):
    model = build(Seq2SeqAttentionDecoder, 0).train(training)
    model.encoder.train(not training)
    before, while_at_it = modes(model), []
    model.decoder.rnn.register_forward_hook(lambda *_: while_at_it.extend(modes(model)))
    model.decoder.dense.register_forward_hook(
        lambda *given: while_at_it.append(given[-1].requires_grad)
    )
    search(model, SOURCE, max_len=2)
    assert not any(while_at_it)  # nor is there a graph
    assert modes(model) == before

    def fail(*_):
        raise KeyError

    model.decoder.rnn.register_forward_hook(fail)
    with pytest.raises(KeyError):
        search(model, SOURCE, max_len=2)
    assert modes(model) == before


def test_wrong_arguments_raise():
    model = build(Seq2SeqDecoder, 0)
    for search in (greedy_decode, beam_search):
        with pytest.raises(ValueError, match=r"^max_len is 0; it needs to be 1 or more$"):
            search(model, SOURCE, max_len=0)
        with pytest.raises(ValueError, match=r"^source has shape"):
            search(model, SOURCE[0])
        with pytest.raises(TypeError, match=r"^source has dtype"):
            search(model, SOURCE.float())
    for options in ({"beam_size": 0}, {"length_penalty": math.nan}, {"length_penalty": math.inf}):
        with pytest.raises(ValueError, match=f"^{next(iter(options))} is "):
            beam_search(model, SOURCE, **options)


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_writes_the_likeliest_token(search, dtype):
    """Logits that differ, of log-probabilities that round alike."""
    model = EncoderDecoder(Nothing(), Table([[0.0] * 900] * 900))
    model.decoder.logits.data = torch.zeros(900, 900, dtype=dtype)
    model.decoder.logits.data[:, 7] = 2**-9
    (best,) = search(model, ONE, max_len=3, eos=-1)
    assert best.tokens == [7, 7, 7]


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_decoder_without_source_can_be_searched(search):
    class Silent(Encoder):
        def forward(self, X, *args):
            return None

    torch.manual_seed(0)
    decoder = TransformerDecoder(VOCAB, 8, 8, 2, 2, cross_attention=False).eval()
    (best,) = search(EncoderDecoder(Silent(), decoder), SOURCE, max_len=4, eos=-1)
    assert best.attention_weights is None
    read = torch.tensor([[1, *best.tokens[:-1]]])
    log_probs = decoder(read, decoder.init_state())[0][0].log_softmax(-1)
    assert best.score == pytest.approx(log_probs[range(4), best.tokens].sum().item(), abs=1e-5)


def test_greedily_reads_all_earlier_tokens():
    torch.manual_seed(0)
    decoder = TransformerDecoder(VOCAB, 8, 8, 2, 2, cross_attention=False).eval()
    begun = torch.tensor([[4, 5, 6], [7, 8, 3]])
    with torch.no_grad():
        steps = list(islice(greedy_steps(decoder, decoder.init_state(), begun), 5))
        for token, log_prob in steps:
            log_probs = decoder(begun, decoder.init_state())[0][:, -1].log_softmax(-1)
            assert torch.equal(token, log_probs.argmax(-1, keepdim=True))
            torch.testing.assert_close(log_prob, log_probs.amax(-1, keepdim=True))
            begun = torch.cat((begun, token), dim=1)
    assert len(steps) == 5


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_without_likeliest_token_raise(search, bad):
    model = EncoderDecoder(Nothing(), Table(TRAP))
    (right, _) = search(model, TWO)
    with torch.no_grad():
        model.decoder.logits[2] = bad  # behind <eos>, where nobody asks
        assert search(model, TWO) == [right, right]
        model.decoder.logits[3:] = bad
    with pytest.raises(FloatingPointError, match=r"^the scores of token 2 hold nan or inf, or on"):
        search(model, TWO)
    with torch.no_grad():
        model.decoder.logits[1, 0] = math.nan
    with pytest.raises(FloatingPointError, match=r"^the scores of token 1 hold nan"):
        search(model, TWO)
