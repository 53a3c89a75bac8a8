"""The five pictures: what they say of the translators, computed once more by plain PyTorch."""

import pytest
import torch

from d2lattn.book.experiments.attention_pictures import CASES, five_pictures
from d2lattn.book.explorables.sign.figure import verdicts
from d2lattn.book.translators import load_translator


@pytest.fixture(scope="module")
def pictures():
    return five_pictures()


def plain_decoder(model, states, words, keep=None, step=None):
    """Bahdanau's decoder step by step, with its own parameters and nothing else of the package.

    Gives each step's probabilities and weights; at `step` the states not in `keep` are unseen.
    """
    decoder = model.decoder
    keys = states @ decoder.attention.W_k.weight.T  # (S, H)
    state = torch.zeros(1, 1, decoder.rnn.hidden_size, dtype=states.dtype)
    chances, looks = [], []
    for t, word in enumerate(words):
        query = state[-1] @ decoder.attention.W_q.weight.T  # (1, H)
        scores = torch.tanh(query + keys) @ decoder.attention.w_v.weight[0]  # (S,)
        if keep is not None and t == step:
            scores[[i for i in range(len(scores)) if i not in keep]] = -torch.inf
        weights = scores.softmax(dim=0)
        read = torch.cat((weights @ states, decoder.embedding.weight[word]))
        _, state = decoder.rnn(read.view(1, 1, -1), state)
        chances.append((decoder.dense(state[-1, 0])).softmax(dim=0))
        looks.append(weights)
    return torch.stack(chances), torch.stack(looks)


@pytest.mark.parametrize("number", range(5))
@torch.no_grad()
def test_each_number_is_what_pytorch_gives(pictures, number):
    case, one = CASES[number], pictures[number]
    model, source_vocab, target_vocab, _ = load_translator(case.translator)
    painter = load_translator(case.drawn or case.translator).model

    def read(words, by=model):
        ids = torch.tensor([source_vocab.encode([*words, "<eos>"])])
        return by.encoder(ids)[0][0]  # (S + 1, D)

    own, foreign = read(one["source"]), read(one["other"])
    ids = target_vocab.encode(["<bos>", *one["target"]])
    asked = one["asked"]

    def likeliest(chances):
        value, best = chances[asked].max(dim=0)
        return [target_vocab.decode([best.item()])[0], pytest.approx(value.item(), abs=6e-4)]

    _, weights = plain_decoder(painter, read(one["source"], painter), ids)
    assert len(one["weights"]) == len(one["target"])
    for row, found in zip(one["weights"], weights, strict=False):
        assert row == pytest.approx(found[:-1].tolist(), abs=6e-4)
    chances, _ = plain_decoder(model, own, ids)
    written = target_vocab.decode(chances.argmax(dim=1).tolist())
    assert written == [*one["target"], "<eos>"]  # flawless
    for place in range(len(one["source"])):
        states = own.clone()
        states[place] = foreign[place]
        chances, _ = plain_decoder(model, states, ids)
        assert list(one["exchanged"][place]) == likeliest(chances)
        keep = [i for i in range(len(own)) if i != place]
        chances, _ = plain_decoder(model, own, ids, keep, asked)
        assert list(one["hidden"][place]) == likeliest(chances)
    chances, _ = plain_decoder(model, foreign, ids)
    assert likeliest(chances)[0] == one["turned"] != case.word


def test_no_two_pictures_have_the_same_verdicts_and_eyes_alone_find_one(pictures):
    found = [verdicts(one) for one in pictures]
    assert len({tuple(one.values()) for one in found}) == 5
    # Who signs what is plausible
    assert sum(one["plausible"] == one["used"] for one in found) == 1
