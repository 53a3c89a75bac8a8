import inspect
import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice, pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from d2lattn.decoding import Hypothesis, beam_search, greedily, greedy_decode
from d2lattn.seq2seq import (
    Decoder,
    Encoder,
    EncoderDecoder,
    Seq2SeqAttentionDecoder,
    Seq2SeqDecoder,
    Seq2SeqEncoder,
)
from d2lattn.training import shift_right
from d2lattn.transformer import TransformerDecoder, TransformerEncoder

pytestmark = pytest.mark.usefixtures("one_thread")

VOCAB = 9
SOURCE = torch.tensor([[4, 5, 2]])
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


def test_a_beam_finds_what_greedy_walks_past():
    model = EncoderDecoder(Nothing(), Table(TRAP))
    source = torch.zeros(2, 1, dtype=torch.long)
    for greedy in greedy_decode(model, source):
        assert greedy.tokens == [3]
        assert greedy.score == pytest.approx(torch.tensor(0.6 * 0.3).log().item())
        assert greedy.attention_weights is None
    for best in beam_search(model, source, beam_size=2):
        assert best.tokens == [4]
        assert best.finished
        assert best.score == pytest.approx(torch.tensor(0.4 * 0.9).log().item())
        assert best.attention_weights is None


@RANDOM_MODELS
@given(decoder=decoders, seed=st.integers(0, 10**6))
def test_a_beam_of_one_is_greedy(decoder, seed):
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
def test_ties_make_no_larger_beam_worse(seed):
    model, source = tied(seed), torch.zeros(1, 1, dtype=torch.long)
    (greedy,) = greedy_decode(model, source, max_len=5)
    found = [beam_search(model, source, beam_size=k, max_len=5)[0] for k in (1, 2, 3, 4)]
    assert found[0] == greedy
    for smaller, larger in pairwise(found):
        assert larger.score >= smaller.score


def test_of_tokens_that_are_alike_the_first_is_taken():
    model = EncoderDecoder(Nothing(), Table([[1 / 300] * 300] * 300))
    source = torch.zeros(2, 1, dtype=torch.long)
    for search in (greedy_decode, beam_search):
        for best in search(model, source, max_len=3, eos=299):
            assert best.tokens == [0, 0, 0]
            assert best.score == pytest.approx(3 * math.log(1 / 300), rel=1e-6)


@RANDOM_MODELS
@given(decoder=decoders, seed=st.integers(0, 10**6))
def test_larger_beams_never_score_lower(decoder, seed):
    model, (source, lengths) = build(decoder, seed), sentences(seed)
    before = [-torch.inf] * len(source)
    for beam_size in (1, 2, 3, 5, 8, 12):  # 12 is more than there are tokens
        found = beam_search(model, source, lengths, beam_size=beam_size, max_len=6)
        scores = [hypothesis.score for hypothesis in found]
        assert all(new >= old - 1e-5 for new, old in zip(scores, before, strict=True))
        before = scores


@pytest.mark.parametrize("seed", [10, 17, 35, 43])
def test_a_larger_beam_keeps_what_the_usual_beam_would_lose(seed):
    # These models make the beam worse as it grows, if all continuations are ranked together.
    model, (source, lengths) = build(Seq2SeqDecoder, seed), sentences(seed, batch_size=20)
    found = [beam_search(model, source, lengths, beam_size=k, max_len=6) for k in (1, 2, 3)]
    for smaller, larger in pairwise(found):
        for less, more in zip(smaller, larger, strict=True):
            assert more.score >= less.score - 1e-5


def test_a_beam_wide_enough_finds_the_best_of_all():
    model, (source, _) = build(Seq2SeqAttentionDecoder, 3), sentences(3, batch_size=1)
    everything = [()]
    best = -torch.inf
    with torch.no_grad():
        for _ in range(3):
            everything = [(*tokens, new) for tokens in everything for new in range(VOCAB)]
            ended = torch.tensor([tokens for tokens in everything])
            logits, _ = model.eval()(source.expand(len(ended), -1), shift_right(ended))
            scores = logits.log_softmax(-1).gather(2, ended.unsqueeze(-1)).sum(dim=(1, 2))
            complete = (ended[:, -1] == 2) | torch.tensor(ended.shape[1] == 3)
            best = max(best, scores[complete].max().item())
            everything = [tokens for tokens in everything if tokens[-1] != 2]
    (found,) = beam_search(model, source, beam_size=VOCAB**2, max_len=3)
    assert found.score == pytest.approx(best, abs=1e-5)


@RANDOM_MODELS
@given(decoder=decoders, seed=st.integers(0, 10**6), beam_size=st.integers(1, 4))
def test_scores_are_the_model_s_own(decoder, seed, beam_size):
    model, (source, lengths) = build(decoder, seed), sentences(seed)
    found = greedy_decode(model, source, lengths, max_len=7)
    found += beam_search(model, source, lengths, beam_size=beam_size, max_len=7)
    for place, hypothesis in enumerate(found):
        row = place % len(source)
        alone = source[row : row + 1, : lengths[row]]
        said = log_probability(model, alone, hypothesis)
        assert hypothesis.score == pytest.approx(said, abs=1e-4)


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_weights_are_cut_where_the_sentences_end(search):
    model, (source, lengths) = build(Seq2SeqAttentionDecoder, 13), sentences(13, batch_size=8)
    found = search(model, source, lengths, max_len=6)
    assert len({len(hypothesis.tokens) for hypothesis in found}) > 1
    for row, hypothesis in enumerate(found):
        weights = hypothesis.attention_weights
        assert weights.shape == (len(hypothesis.tokens), lengths[row])
        assert 2 not in hypothesis.tokens
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(len(weights)))
        if hypothesis.tokens:  # the same as by teacher forcing
            target = torch.tensor([hypothesis.tokens])
            model(source[row : row + 1, : lengths[row]], shift_right(target))
            torch.testing.assert_close(model.decoder.attention_weights[0], weights)


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_a_sentence_s_company_changes_nothing(search):
    model, (source, lengths) = build(Seq2SeqAttentionDecoder, 8), sentences(8, batch_size=6)
    together = search(model, source, lengths, max_len=6)
    for row, hypothesis in enumerate(together):
        (alone,) = search(model, source[row : row + 1, : lengths[row]], max_len=6)
        assert alone.tokens == hypothesis.tokens


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_decoding_stops_at_max_len(search):
    model, (source, lengths) = build(Seq2SeqDecoder, 0), sentences(0)
    with torch.no_grad():
        model.decoder.dense.bias[2] = -100  # never <eos>
    for hypothesis in search(model, source, lengths, max_len=4):
        assert len(hypothesis.tokens) == 4
        assert not hypothesis.finished


def test_a_length_penalty_favours_longer_translations():
    model = EncoderDecoder(Nothing(), Table(TRAP))
    source = torch.zeros(1, 1, dtype=torch.long)
    lengths = [
        len(beam_search(model, source, beam_size=8, max_len=6, length_penalty=p)[0].tokens)
        for p in (0.0, 1.0, 4.0)
    ]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_a_length_penalty_divides_by_a_power_of_the_length():
    chain = [[0.0] * 5 for _ in range(5)]
    # <eos>: 0.4; a <eos>: 0.36; what comes after a b is far less likely.
    chain[1][2], chain[1][3], chain[3][2], chain[3][4] = 0.4, 0.6, 0.6, 0.4
    model, source = EncoderDecoder(Nothing(), Table(chain)), torch.zeros(1, 1, dtype=torch.long)
    # ln 0.4 = -0.916, ln 0.36 = -1.022: longer wins if 1.022 / 2**p < 0.916, from p = 0.158.
    for penalty, tokens in ((-1.0, []), (0.0, []), (0.15, []), (0.17, [3]), (1.0, [3])):
        (best,) = beam_search(model, source, max_len=3, length_penalty=penalty)
        assert best.tokens == tokens
        assert best.score == pytest.approx(math.log(0.36 if tokens else 0.4))  # no penalty in it


def test_a_translation_that_was_cut_off_is_as_long_as_its_tokens():
    chain = [[0.0, 0.0, 0.6, 0.4, 0.0]] * 5
    model, source = EncoderDecoder(Nothing(), Table(chain)), torch.zeros(1, 1, dtype=torch.long)
    # Both are of one token, <eos> or another; if the other counted an <eos>, it would win.
    (best,) = beam_search(model, source, beam_size=2, max_len=1, length_penalty=1.0)
    assert best.tokens == []


def test_what_a_search_does_unless_told_otherwise():
    for search, expected in (
        (greedy_decode, {"source_valid_lens": None, "max_len": 50, "bos": 1, "eos": 2}),
        (
            beam_search,
            {
                "source_valid_lens": None,
                "beam_size": 4,
                "length_penalty": 0.0,
                "max_len": 50,
                "bos": 1,
                "eos": 2,
            },
        ),
    ):
        assert expected == {
            name: parameter.default
            for name, parameter in inspect.signature(search).parameters.items()
            if parameter.default is not parameter.empty
        }


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_the_tokens_that_begin_and_end_can_be_chosen(search):
    follows = [[0.0] * 5 for _ in range(5)]
    for token, following in ((4, 2), (2, 1), (1, 3), (3, 0), (0, 0)):
        follows[token][following] = 1.0
    model = EncoderDecoder(Nothing(), Table(follows))
    source = torch.zeros(1, 1, dtype=torch.long)
    (best,) = search(model, source, bos=4, eos=3)
    assert (best.tokens, best.finished, best.score) == ([2, 1], True, pytest.approx(0, abs=1e-5))
    (best,) = search(model, source, bos=4, eos=3, max_len=2)
    assert (best.tokens, best.finished) == ([2, 1], False)
    (best,) = search(model, source, bos=4, eos=3, max_len=3)
    assert (best.tokens, best.finished) == ([2, 1], True)


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_a_search_goes_on_to_max_len_and_stops_when_all_have_ended(search):
    steps = []

    class Counting(Table):
        def forward(self, X, state):
            steps.append(X.shape)
            return super().forward(X, state)

    source = torch.zeros(2, 1, dtype=torch.long)
    endless = [[0.0, 0.0, 0.0, 1.0, 0.0]] * 5
    for hypothesis in search(EncoderDecoder(Nothing(), Counting(endless)), source):
        assert hypothesis.tokens == [3] * 50
    assert len(steps) == 50
    assert steps[0] == (2 if search is greedy_decode else 8, 1)
    steps.clear()
    at_once = [[0.0, 0.0, 1.0, 0.0, 0.0]] * 5
    for hypothesis in search(EncoderDecoder(Nothing(), Counting(at_once)), source):
        assert hypothesis == Hypothesis([], pytest.approx(0, abs=1e-5), True, None)
    assert len(steps) == 1


def test_a_penalised_search_waits_for_those_that_are_less_likely_so_far():
    chain = [[0.0] * 5 for _ in range(5)]
    chain[1][2], chain[1][3], chain[3][4], chain[4][2] = 0.6, 0.4, 1.0, 1.0
    model, source = EncoderDecoder(Nothing(), Table(chain)), torch.zeros(1, 1, dtype=torch.long)
    assert beam_search(model, source, beam_size=2)[0].tokens == []
    assert beam_search(model, source, beam_size=2, length_penalty=2.0)[0].tokens == [3, 4]


def test_what_goes_on_does_not_win_over_what_ended_as_likely():
    chain = [[0.0, 0.0, 0.0, 0.5, 0.5]] * 5  # the first slot goes on with 3, the second ends with 4
    model, source = EncoderDecoder(Nothing(), Table(chain)), torch.zeros(1, 1, dtype=torch.long)
    (best,) = beam_search(model, source, beam_size=2, eos=4)
    assert best == Hypothesis([], pytest.approx(math.log(0.5)), True, None)


def test_a_search_stops_once_each_sentence_has_its_best():
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
    found = beam_search(model, torch.zeros(2, 1, dtype=torch.long), beam_size=2)
    assert [best.tokens for best in found] == [[], []]
    assert len(steps) == 1


def test_slots_that_find_nothing_to_continue_hold_nothing_up():
    model, steps = EncoderDecoder(Nothing(), Table([])), []
    follows = torch.full((5, 5), -torch.inf)  # what is not said to follow cannot follow
    for token, following in ((1, 2), (1, 3), (3, 2), (2, 4), (4, 2), (0, 2)):
        follows[token, following] = 0.0
    model.decoder.logits.data = follows
    model.decoder.register_forward_hook(lambda *_: steps.append(1))
    source = torch.zeros(1, 1, dtype=torch.long)
    (best,) = beam_search(model, source, beam_size=3, length_penalty=1.0)
    assert best == Hypothesis([3], pytest.approx(math.log(0.5)), True, None)
    assert len(steps) == 2


def test_hypotheses_can_be_compared():
    one = Hypothesis([3], -1.0, True, torch.ones(1, 2))
    assert one == Hypothesis([3], -1.0, True, torch.zeros(1, 2))
    assert one == Hypothesis([3], -1.0, True, None)
    for other in (
        Hypothesis([4], -1.0, True, None),
        Hypothesis([3], -2.0, True, None),
        Hypothesis([3], -1.0, False, None),
    ):
        assert one != other
    with pytest.raises(AttributeError):
        one.score = 0.0


def modes(model):
    return [module.training for module in model.modules()]


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
@pytest.mark.parametrize("training", [True, False])
def test_a_search_leaves_every_mode_as_it_was(search, training):
    model = build(Seq2SeqAttentionDecoder, 0).train(training)
    model.encoder.train(not training)
    before, while_at_it = modes(model), []
    model.decoder.rnn.register_forward_hook(lambda *_: while_at_it.extend(modes(model)))
    search(model, SOURCE, max_len=2)
    assert not any(while_at_it)
    assert modes(model) == before

    def fail(*_):
        raise KeyError

    model.decoder.rnn.register_forward_hook(fail)
    with pytest.raises(KeyError):
        search(model, SOURCE, max_len=2)
    assert modes(model) == before


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_a_search_holds_no_graph(search):
    model, needed = build(Seq2SeqAttentionDecoder, 0), []
    model.decoder.dense.register_forward_hook(lambda *given: needed.append(given[-1].requires_grad))
    search(model, SOURCE, max_len=2)
    assert needed
    assert not any(needed)


def test_sizes_that_make_no_sense_are_told_so():
    model, (source, lengths) = build(Seq2SeqDecoder, 0), sentences(0)
    for search in (greedy_decode, beam_search):
        with pytest.raises(ValueError, match=r"^max_len is 0; it needs to be 1 or more$"):
            search(model, source, lengths, max_len=0)
        with pytest.raises(ValueError, match=r"^source has shape \(5,\); it needs \(B, S\)$"):
            search(model, source[0])
        with pytest.raises(TypeError, match=r"^source has dtype torch.float32; it needs a tensor"):
            search(model, source.float())
        with pytest.raises(TypeError, match=r"^source has type list; it needs a tensor of int"):
            search(model, source.tolist())
        with pytest.raises(ValueError, match=r"X\[0, 0\] is 9"):
            search(model, torch.full((1, 2), VOCAB))
        assert len(search(model, source, lengths, max_len=1)) == len(source)
    with pytest.raises(ValueError, match=r"^beam_size is 0; it needs to be 1 or more$"):
        beam_search(model, source, lengths, beam_size=0)
    for penalty in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match=rf"^length_penalty is {penalty}; it needs to be fini"):
            beam_search(model, source, lengths, length_penalty=penalty)


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
def test_a_decoder_without_a_source_is_served(search):
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


def test_writing_on_reads_all_that_was_written():
    torch.manual_seed(0)
    decoder = TransformerDecoder(VOCAB, 8, 8, 2, 2, cross_attention=False).eval()
    begun = torch.tensor([[4, 5, 6], [7, 8, 3]])
    with torch.no_grad():
        steps = list(islice(greedily(decoder, decoder.init_state(), begun), 5))
        for token, log_prob in steps:
            log_probs = decoder(begun, decoder.init_state())[0][:, -1].log_softmax(-1)
            assert torch.equal(token, log_probs.argmax(-1, keepdim=True))
            torch.testing.assert_close(log_prob, log_probs.amax(-1, keepdim=True))
            begun = torch.cat((begun, token), dim=1)
    assert len(steps) == 5


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_without_a_likeliest_token_are_told_so(search, bad):
    model = EncoderDecoder(Nothing(), Table(TRAP))
    source = torch.zeros(2, 1, dtype=torch.long)
    (right, _) = search(model, source)
    with torch.no_grad():
        model.decoder.logits[2] = bad  # behind <eos>, where nobody asks
        assert search(model, source) == [right, right]
        model.decoder.logits[3:] = bad
    with pytest.raises(FloatingPointError, match=r"^the scores of token 2 hold nan or inf, or on"):
        search(model, source)
    with torch.no_grad():
        model.decoder.logits[1, 0] = math.nan
    with pytest.raises(FloatingPointError, match=r"^the scores of token 1 hold nan"):
        search(model, source)


@pytest.mark.parametrize("search", [greedy_decode, partial(beam_search, length_penalty=1.0)])
def test_what_a_model_says_behind_the_end_is_not_asked(search):
    """One sentence ends at once, the other after three tokens."""

    class Numbered(Encoder):
        def forward(self, X, *args):
            return X[:, 0]

    follows = torch.full((5, 5), -torch.inf)
    for token, following in ((1, 3), (3, 4), (4, 2)):
        follows[token, following] = 0.0
    model = EncoderDecoder(Numbered(), Table([]))
    model.decoder.logits.data = follows  # of <eos>, all is -inf
    first = model.decoder.forward

    def forward(X, state):
        logits, state = first(X, state)
        at_once = ((X == 1) & (state.unsqueeze(1) == 0)).unsqueeze(-1)
        return torch.where(at_once, follows[4], logits), state

    model.decoder.forward = forward
    short, long = search(model, torch.tensor([[0], [1]]))
    assert (short.tokens, long.tokens) == ([], [3, 4])
    assert short.score == long.score == 0


def test_close_scores_are_told_apart():
    """In single precision, the logarithms of 7.822401 and 7.822400 are the same."""
    model = EncoderDecoder(Nothing(), Table([]))
    logits = torch.zeros(50, 50)
    logits[1, 3], logits[1, 4] = 0.0105, 0.01
    logits[3, 2], logits[4, 2] = 0.01, 0.0105115
    model.decoder.logits.data = logits
    source = torch.zeros(1, 1, dtype=torch.long)
    (greedy,), (best,) = (beam_search(model, source, beam_size=k, max_len=2) for k in (1, 2))
    assert (greedy.tokens, best.tokens) == ([3], [4])
    assert greedy.score < best.score < greedy.score + 5e-6


@pytest.mark.parametrize("beam_size", [2, 4])  # of four slots, two have nothing to continue
@pytest.mark.parametrize("penalty", [30.0, 300.0])
def test_large_penalties_favour_the_longer(beam_size, penalty):
    """The power of a length of 40 is more than single precision holds: 1e48, or even 1e480."""
    follows = torch.full((42, 42), -torch.inf)
    follows[1, 3], follows[41, 2], follows[0, 2], follows[2, 2] = 0.0, 0.0, 0.0, 0.0
    for token in range(3, 41):
        follows[token, token + 1] = 0.0
    follows[20, 2] = 1.0  # likelier here than to go on
    model = EncoderDecoder(Nothing(), Table([]))
    model.decoder.logits.data = follows
    source = torch.zeros(1, 1, dtype=torch.long)
    for p, last, logit in ((penalty, 41, 0), (0.0, 20, 1), (-penalty, 20, 1)):
        (best,) = beam_search(model, source, beam_size=beam_size, length_penalty=p)
        assert best.tokens == list(range(3, last + 1))
        assert best.score == pytest.approx(logit - math.log(1 + math.e))


def test_what_is_certain_wins_under_any_penalty():
    certain = torch.full((5, 5), -torch.inf)
    certain[:, 2] = 0.0  # <eos>, and nothing else, so that three slots stay empty
    model = EncoderDecoder(Nothing(), Table([]))
    model.decoder.logits.data = certain
    for penalty in (-30.0, 0.0, 1.0, 30.0):
        (best,) = beam_search(model, SOURCE, max_len=5, length_penalty=penalty)
        assert best == Hypothesis([], 0.0, True, None)


@pytest.mark.parametrize("search", [greedy_decode, beam_search])
@pytest.mark.parametrize("which", ["Bahdanau", "Transformer"])
def test_two_threads_share_one_model(which, search):
    """Each gets the weights of its own sentence, whatever the other has passed meanwhile."""
    torch.manual_seed(0)
    if which == "Bahdanau":
        model = build(Seq2SeqAttentionDecoder, 0)
    else:
        sizes = VOCAB, 8, 16, 2, 2
        model = EncoderDecoder(TransformerEncoder(*sizes), TransformerDecoder(*sizes))
    model.train()
    sources = [torch.randint(3, VOCAB, (1, 3 + number % 4)) for number in range(40)]
    alone = [search(model, source, max_len=6)[0] for source in sources]
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(lambda source: search(model, source, max_len=6)[0], sources))
    for found, expected in zip(together, alone, strict=True):
        assert found.tokens == expected.tokens
        assert torch.equal(found.attention_weights, expected.attention_weights)
    assert all(module.training for module in model.modules())
