"""The translators that come trained: what is loaded, what their cards say, and that it is so."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

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


@each
def test_a_translator_is_ready(name):
    model, source_vocab, target_vocab, card = load_translator(name)
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


@each
def test_the_range_is_of_four_seeds(name):
    card = load_translator(name).card
    assert [one["seed"] for one in card["trainings"]] == [0, 1, 2, 3]
    assert script.outside(card["scores"], card) == []


@pytest.fixture(scope="module")
def few():
    """So few pairs that a training takes no time."""
    return load_corpus(num_train=200, num_valid=0, num_test=20, num_unseen=20, num_long=20)


def test_making_anew_gives_the_same_bytes_and_keeps_what_was_learned_of_the_range(few, folder):
    path = folder / "one-vector.safetensors"

    def seeds():
        return [one["seed"] for one in load_translator("one-vector").card["trainings"]]

    def weights():
        return load_file(path)["decoder.dense.weight"].clone()  # not the file, which will change

    script.make("one-vector", few, 0, torch.float16)
    first, learned = path.read_bytes(), weights()
    script.make("one-vector", few, 0, torch.float16)
    assert path.read_bytes() == first
    script.widen("one-vector", few, 1)
    assert seeds() == [0, 1]
    assert torch.equal(weights(), learned)
    assert weights().dtype == torch.float16
    script.make("one-vector", few, 0, torch.float16)
    assert seeds() == [0, 1]
    fewer = replace(few, train=few.train[:100])
    script.make("one-vector", fewer, 0, torch.float16)  # that is another training
    assert seeds() == [0]


def test_the_page_is_what_the_cards_say():
    cards = [load_translator(name).card for name in RECIPES]
    assert script.PAGE.read_text("utf-8") == script.page(cards)


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


def test_unknown_or_missing_translator_is_refused(folder):
    with pytest.raises(ValueError, match="name is 'transfromer'; it needs to be one of one-vector"):
        load_translator("transfromer")
    with pytest.raises(FileNotFoundError, match=r"transformer\.safetensors is missing"):
        load_translator("transformer")


@pytest.mark.parametrize("harm", ["cut", "without a card", "another name"])
def test_damaged_file_is_refused(harm, folder):
    path = folder / "one-vector.safetensors"
    if harm == "another name":
        write_translator("bidirectional", _small("bidirectional"), torch.float16)
        (folder / "bidirectional.safetensors").rename(path)
    else:
        write_translator("one-vector", _small("one-vector"), torch.float16)
        if harm == "cut":
            path.write_bytes(path.read_bytes()[:-100])
        else:
            save_file(load_file(path), path)
    with pytest.raises(ValueError, match="is damaged"):
        load_translator("one-vector")


@each
def test_card_matches_recipe_and_model(name):
    model, _, _, card = load_translator(name)
    recipe, training = RECIPES[name], card["training"]
    assert (card["name"], card["chapters"], card["model"]) == (name, recipe.chapters, recipe.what)
    assert card["parameters"] == sum(p.numel() for p in model.parameters())
    assert card["trained on"]["pairs"] == script.NUM_PAIRS
    assert training["epochs"] == recipe.num_epochs
    assert training["learning rate"] == recipe.learning_rate
    assert training["dropout"] == recipe.dropout
