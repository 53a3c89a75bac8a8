"""The benchmark behind 5b.3 and 5b.4: its translator is the page's, and it asks what it says."""

import ast
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
import torch
from torch import nn

import d2lattn as d2l
from benchmarks import heads
from d2lattn.corpus import Vocabulary, load_corpus

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def corpus():
    return load_corpus(num_train=300, num_unseen=0, num_long=0)


@pytest.fixture
def translator(corpus):
    """One that has learned nothing, with four heads."""
    vocabs = [Vocabulary(getattr(p, side) for p in corpus.train) for side in ("source", "target")]
    model = heads.build(4, tuple(map(len, vocabs)), seed=0)
    return heads.Translator(model, *vocabs, d2l.History(), 0.0)


def pages_decoder():
    """HeadsDecoder as the page writes it."""
    page = ROOT / "chapters" / "05b-worth-of-a-head" / "deeper-translator.ipynb"
    names = {"torch": torch, "nn": nn, "d2l": d2l}
    for cell in nbformat.read(page, as_version=4).cells:
        if cell.source.startswith(("class WithSource", "class HeadsDecoder")):
            found = [part for part in ast.parse(cell.source).body if isinstance(part, ast.ClassDef)]
            exec(compile(ast.Module(found, []), "page", "exec"), names)
    return names["HeadsDecoder"]


@pytest.mark.parametrize("num_heads", heads.HEADS)
def test_the_decoder_is_the_pages(num_heads):
    says = []
    for decoder in (pages_decoder(), heads.HeadsDecoder):
        torch.manual_seed(3)
        made = decoder(20, num_heads)
        h, last = torch.randn(2, 5, 128), torch.randn(1, 2, 128)
        state = made.init_state((h, last), torch.tensor([5, 3]))
        words, state = made(torch.randint(20, (2, 4)), state)  # dropout on: it is part of both
        one, _ = made.eval()(torch.tensor([[4]]), made.select_state(state, torch.tensor([1])))
        says.append((words, one))
    assert all(map(torch.equal, *says))


def fixed_looks(monkeypatch, places):
    """Let every head look where `places` says, for each pair and target word."""

    def attention(_, batch):
        return [
            torch.stack(
                [
                    nn.functional.one_hot(torch.tensor(where(pair)), len(pair.source)).float()
                    for where in places
                ]
            )
            for pair in batch.pairs
        ]

    monkeypatch.setattr(d2l, "teacher_forced_attention", attention)


def test_error_rates_are_of_each_head_and_of_their_mean(monkeypatch, corpus, translator):
    def gold(pair):
        linked = {target: source for source, target in pair.possible | pair.sure}
        return [linked.get(target, 0) for target in range(len(pair.target))]

    def wrong(pair):
        return [(place + 1) % len(pair.source) for place in gold(pair)]

    fixed_looks(monkeypatch, (gold, wrong, gold))
    rates = heads.error_rates(translator, corpus.test[:50])
    assert list(rates) == ["head 1", "head 2", "head 3", heads.MEAN]
    assert rates["head 1"] == rates["head 3"] == rates[heads.MEAN] < 0.15  # gold outvotes
    assert rates["head 2"] > 0.85


class Own(nn.Module):
    """Each state is its word's number, and knows of no other word."""

    def forward(self, source, lens):
        return source.unsqueeze(-1).float(), torch.zeros(1, 1, 1)


class All(Own):
    """Each state holds the numbers of all words."""

    def forward(self, source, lens):
        states, last = super().forward(source, lens)
        return states.sum(dim=1, keepdim=True).expand_as(states), last


class Reading(d2l.AttentionDecoder):
    """Writes *la*, and *le* where a state is another than in the first row, which is untouched."""

    attention_weights = torch.zeros(1, 1)

    def __init__(self, vocab):
        super().__init__()
        self.vocab = vocab

    def init_state(self, encoded, lens=None):
        return encoded[0]

    def forward(self, X, state):
        turned = (state != state[0]).flatten(1).any(dim=1).long()  # (N,)
        words = torch.tensor(self.vocab.encode(["la", "le"]))[turned]
        logits = nn.functional.one_hot(words, len(self.vocab)).float()  # (N, V)
        return logits[:, None].expand(-1, X.shape[1], -1), state


@pytest.mark.parametrize(("encoder", "turned"), [(Own, (False, True)), (All, (True, True))])
def test_a_state_carries_over_what_it_knows(corpus, translator, encoder, turned):
    model = d2l.EncoderDecoder(encoder(), Reading(translator.target_vocab))
    turning = replace(translator, model=model)
    found = list(heads.articles_turned(turning, corpus.test[:300], heads.WHEN[:1]))
    assert {(one["article"], one["noun"]) for one in found} == {turned}
    assert {one["when"] for one in found} == {"at all steps"}


@pytest.mark.slow
def test_its_page_can_be_written(page_of):
    written = page_of(heads, "--seeds", 0, 1, 2, 3, 4, "--pairs", 64, "--held-out", 60)
    stored = (ROOT / "reference" / "benchmarks" / "heads.md").read_text(encoding="utf-8")
    names = [
        [line.split("|")[1] for line in text.splitlines() if line.startswith("|")]
        for text in (written, stored)
    ]
    assert names[0] == names[1]  # the stored tables have the rows that the script makes
