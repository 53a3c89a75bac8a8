"""The translators that come trained: what is loaded, what their cards say, and that it is so."""

import ast
import json
import time
from pathlib import Path

import nbformat
import pytest
import torch
from safetensors import safe_open

import d2lattn as d2l
from d2lattn.book import translators
from d2lattn.book.translators import RECIPES, load_translator, new_translator, write_translator
from d2lattn.corpus import Pair, batches, load_corpus
from tools import train_translators as script

ROOT = Path(__file__).resolve().parents[2]
SENTENCE = "his old dogs and the happy cow often saw her here ."
WRITTEN = "ses vieux chiens et la vache heureuse l' ont souvent vue ici ."

each = pytest.mark.parametrize("name", RECIPES)


@pytest.fixture(scope="module")
def corpus():
    """The held-out pairs, which do not depend on how many are trained on."""
    return load_corpus(num_train=0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A place of their own for files that a test writes."""
    monkeypatch.setattr(translators, "FOLDER", tmp_path)
    return tmp_path


# --- what is loaded ------------------------------------------------------------------------------


@each
def test_a_translator_is_ready_within_a_second(name):
    start = time.process_time()
    model, source_vocab, target_vocab, card = load_translator(name)
    assert time.process_time() - start < 1
    assert not any(part.training for part in model.modules())
    assert {p.dtype for p in model.parameters()} | {b.dtype for b in model.buffers()} == {
        torch.float64
    }
    assert all(torch.isfinite(p).all() for p in model.parameters())
    assert len(source_vocab) == card["words"]["English"] > 200
    assert len(target_vocab) == card["words"]["French"] > 300


@each
def test_words_are_numbered_as_in_training(name, corpus):
    """The lists are the corpus's own, by how often training has a word; a shift would show."""
    _, source_vocab, target_vocab, _ = load_translator(name)
    with safe_open(translators.FOLDER / f"{name}.safetensors", framework="pt") as file:
        stored = json.loads(file.metadata()["translator"])["vocabularies"]
    assert [source_vocab.tokens, target_vocab.tokens] == stored
    assert stored[0][:4] == stored[1][:4] == ["<pad>", "<bos>", "<eos>", "<unk>"]
    for pair in corpus.test:
        assert source_vocab.unk not in source_vocab.encode(pair.source)
        assert target_vocab.unk not in target_vocab.encode(pair.target)


@pytest.mark.weekly
def test_the_vocabularies_are_those_of_the_training_pairs():
    train = load_corpus(num_train=script.NUM_PAIRS).train
    for name in RECIPES:
        _, source_vocab, target_vocab, _ = load_translator(name)
        for vocab, side in ((source_vocab, "source"), (target_vocab, "target")):
            fresh = translators.Vocabulary(getattr(pair, side) for pair in train)
            assert vocab.tokens == fresh.tokens


@pytest.mark.parametrize(
    ("name", "english", "french"),
    [
        ("one-vector", "my story is big .", "mon histoire est grande ."),
        ("one-directional", SENTENCE, WRITTEN),
        ("bidirectional", SENTENCE, WRITTEN),
        ("four-heads", SENTENCE, WRITTEN),
        ("transformer", "the happy cow saw her .", "la vache heureuse l' a vue ."),
    ],
)
def test_what_the_walks_show_is_written_right(name, english, french):
    pair = Pair(*(tuple(text.split()) for text in (english, french)))
    assert script.translate(load_translator(name), [pair]) == [french]


# --- what can go wrong ---------------------------------------------------------------------------


def _small(name):
    """One that has learned nothing, with five words on either side."""
    vocab = translators.Vocabulary([["b", "a", "c", "d", "e"]])
    return translators.Translator(new_translator(name, 9, 9), vocab, vocab, {"name": name})


def test_what_is_written_is_what_is_read(folder):
    one = _small("four-heads")
    write_translator("four-heads", one, torch.float32)
    first = (folder / "four-heads.safetensors").read_bytes()
    model, *vocabs, card = load_translator("four-heads", torch.float32)
    assert card == {"name": "four-heads"}
    assert [vocab.tokens for vocab in vocabs] == [one.source_vocab.tokens] * 2
    for key, value in one.model.state_dict().items():
        assert torch.equal(model.state_dict()[key], value), key
    write_translator("four-heads", one, torch.float32)
    assert (folder / "four-heads.safetensors").read_bytes() == first


# --- cards ---------------------------------------------------------------------------------------


# --- the script ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def few():
    """So few pairs that a training takes no time."""
    return load_corpus(num_train=200, num_valid=0, num_test=20, num_unseen=20, num_long=20)


def test_a_training_is_the_recipe_s(few):
    """From the same first numbers, with the same batches, at the rate that the card tells."""
    name, recipe = "four-heads", RECIPES["four-heads"]
    found = script.train(name, few, seed=3)
    vocabs = found.source_vocab, found.target_vocab
    torch.manual_seed(3)
    model = new_translator(name, *map(len, vocabs))
    d2l.train(
        model,
        lambda generator: batches(few.train, *vocabs, 64, generator=generator),
        num_epochs=recipe.num_epochs,
        learning_rate=recipe.learning_rate,
        decay_share=recipe.decay_share,
        seed=3,
    )
    for key, value in model.state_dict().items():
        assert torch.equal(found.model.state_dict()[key], value), key


def test_the_page_is_what_the_cards_say():
    cards = [load_translator(name).card for name in RECIPES]
    assert script.PAGE.read_text("utf-8") == "\n".join(script.page(cards)) + "\n"


def test_all_files_together_are_small():
    files = sorted(translators.FOLDER.iterdir())
    assert [path.stem for path in files] == sorted(RECIPES)
    assert sum(path.stat().st_size for path in files) < 3.6e6


# --- that it is so -------------------------------------------------------------------------------


@each
def test_the_first_sentences_are_translated_as_the_card_says(name, corpus):
    translator = load_translator(name)
    assert script.right(translator, corpus.test[: script.FIRST]) == (translator.card[script.RIGHT])


# How many of the first sentences are right is counted each time, above.
@pytest.mark.weekly
@each
def test_all_scores_are_those_of_the_card(name, corpus):
    translator = load_translator(name)
    assert script.judge(translator, corpus) == translator.card["scores"]


@pytest.mark.weekly
@each
def test_a_training_ends_where_the_card_says(name):
    corpus = load_corpus(num_train=script.NUM_PAIRS)
    assert script.check(name, corpus) == []


def test_the_heads_can_be_searched_with_a_beam(corpus):
    """Rows of the state go with their sentences."""
    model, *vocabs, _ = load_translator("four-heads")
    several, *alone = (
        d2l.beam_search(model, batch.source, batch.source_valid_lens, beam_size=3, max_len=20)
        for pairs in (corpus.test[:3], *([pair] for pair in corpus.test[:3]))
        for batch in batches(pairs, *vocabs, 3, bucket=False)
    )
    assert [best.tokens for best in several] == [best.tokens for (best,) in alone]


def test_chapter_5_s_decoder_is_the_one_on_its_page(corpus):
    walk = next(
        path
        for path in ROOT.glob("chapters/**/*.ipynb")
        if "class HeadsDecoder" in path.read_text("utf-8")
    )
    names = {"torch": torch, "nn": torch.nn, "d2l": d2l}
    for cell in nbformat.read(walk, as_version=4).cells:
        if cell.source.startswith(("class WithSource", "class HeadsDecoder")):
            found = [part for part in ast.parse(cell.source).body if isinstance(part, ast.ClassDef)]
            exec(compile(ast.Module(found, []), "walk", "exec"), names)
    ours, *vocabs, _ = load_translator("four-heads")
    theirs = d2l.EncoderDecoder(ours.encoder, names["HeadsDecoder"](len(vocabs[1]), 4).double())
    theirs.decoder.load_state_dict(ours.decoder.state_dict())
    theirs.eval()
    torch.manual_seed(0)
    first = names["HeadsDecoder"](9, 4).state_dict()
    torch.manual_seed(0)
    for key, value in translators.HeadsDecoder(9, 4).state_dict().items():
        assert torch.equal(first[key], value), key
    (batch,) = batches(corpus.test[:20], *vocabs, 20)
    arguments = batch.source, d2l.shift_right(batch.target), batch.source_valid_lens
    assert torch.equal(ours(*arguments)[0], theirs(*arguments)[0])
    ours_at, theirs_at = (m.decoder.heads.attention_weights for m in (ours, theirs))
    assert torch.equal(ours_at, theirs_at)
    assert torch.equal(ours.decoder.attention_weights, ours_at)
