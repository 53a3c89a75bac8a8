"""A training that is kept: taken up where nothing changed, and done again where anything did."""

import copy
import pickle

import pytest
import torch
from torch import nn

from d2lattn import EncoderDecoder, Seq2SeqAttentionDecoder, Seq2SeqEncoder, cache, once, train
from d2lattn.corpus import Batch


def build(seed=0, bridge=True, dropout=0.1):
    torch.manual_seed(seed)
    decoder = Seq2SeqAttentionDecoder(29, 8, 8, 1, dropout, bridge=bridge)
    return EncoderDecoder(Seq2SeqEncoder(29, 8, 8, 1), decoder)


def loader(generator, count=2):
    """Batches of random sentences; what is learned from them does not matter."""
    lengths = torch.tensor([4, 3])
    for _ in range(count):
        source, target = torch.randint(4, 29, (2, 2, 4), generator=generator)
        yield Batch(source, lengths, target, lengths, ())


def others(generator):
    return loader(generator, count=3)


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("D2LATTN_CACHE", str(tmp_path))
    return tmp_path / "once"


@pytest.fixture
def trainings(monkeypatch):
    """What was really trained, one entry a time."""
    done = []

    def counted(*arguments, **options):
        done.append(options)
        return train(*arguments, **options)

    monkeypatch.setattr(once, "train", counted)
    return done


def test_the_second_time_gives_what_the_first_did(trainings):
    plain, first, second = build(), build(), build()
    expected = train(plain, loader, num_epochs=2, learning_rate=0.01)
    before = torch.get_rng_state()
    histories = [
        once.train_once(model, loader, num_epochs=2, learning_rate=0.01)
        for model in (first, second)
    ]
    assert len(trainings) == 1
    assert torch.equal(torch.get_rng_state(), before)
    assert histories[0] == histories[1]
    assert histories[0].loss == expected.loss
    for model in (first, second):
        assert not any(part.training for part in model.modules())
        for name, weight in plain.state_dict().items():
            assert torch.equal(model.state_dict()[name], weight)


def test_a_model_is_the_same_in_another_process_and_after_use(trainings):
    used = build()
    used(*(next(iter(loader(torch.Generator())))[i] for i in (0, 2, 1)))
    for model in (build(), pickle.loads(pickle.dumps(build())), copy.deepcopy(used), used):
        once.train_once(model, loader, num_epochs=1)
    assert len(trainings) == 1


@pytest.mark.parametrize(
    ("model", "batches", "options"),
    [
        (build(seed=1), loader, {}),
        (build(bridge=False), loader, {}),  # no weight and no printed line tells it
        (build(dropout=0.2), loader, {}),
        (build(), others, {}),
        (build(), loader, {"num_epochs": 2}),
        (build(), loader, {"learning_rate": 0.02}),
        (build(), loader, {"seed": 1}),
    ],
)
def test_whatever_is_new_is_trained(trainings, model, batches, options):
    once.train_once(build(), loader, num_epochs=1)
    once.train_once(model, batches, **({"num_epochs": 1} | options))
    assert len(trainings) == 2


def alike():
    """A model in which neither ties nor what is left out of `state_dict` show in the weights."""
    model = build()
    model.decoder.dense.weight.data = model.decoder.embedding.weight.data.clone()
    model.encoder.register_buffer("places", torch.zeros(3), persistent=False)
    return model


def frozen(model):
    model.encoder.requires_grad_(False)


def tied(model):
    model.decoder.dense.weight = model.decoder.embedding.weight


def placed(model):
    model.encoder.places += 1


@pytest.mark.parametrize("change", [frozen, tied, placed])
def test_what_weights_alone_do_not_tell_is_trained(trainings, change):
    once.train_once(alike(), loader, num_epochs=1)
    changed = alike()
    change(changed)
    once.train_once(changed, loader, num_epochs=1)
    assert len(trainings) == 2


@pytest.mark.parametrize("hook", ["forward", "forward_pre", "full_backward", "full_backward_pre"])
def test_a_hook_could_do_anything_and_is_refused(hook):
    model = build()
    getattr(model.decoder.dense, f"register_{hook}_hook")(lambda *_: None)
    with pytest.raises(TypeError, match="hook"):
        once.train_once(model, loader, num_epochs=1)


def test_new_code_is_trained(trainings, monkeypatch):
    once.train_once(build(), loader, num_epochs=1)
    assert b"def train_once" in cache._code()
    monkeypatch.setattr(cache, "_code", lambda: b"other code")
    once.train_once(build(), loader, num_epochs=1)
    monkeypatch.setattr(cache.torch, "__version__", "99.0")
    once.train_once(build(), loader, num_epochs=1)
    assert len(trainings) == 3


@pytest.mark.parametrize(
    "damage",
    [lambda b: b"", lambda b: b"no weights", lambda b: b[: len(b) // 2], lambda b: b"a"],
)
def test_a_damaged_file_is_as_none(trainings, kept, damage):
    once.train_once(build(), loader, num_epochs=1)
    (path,) = kept.glob("*.pt")
    path.write_bytes(damage(path.read_bytes()))
    once.train_once(build(), loader, num_epochs=1)
    once.train_once(build(), loader, num_epochs=1)
    assert len(trainings) == 2


def test_where_nothing_can_be_kept_it_trains(trainings, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("D2LATTN_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        assert once.train_once(build(), loader, num_epochs=1).loss
    assert len(trainings) == 2


def test_code_that_nobody_watches_is_refused():
    class Mine(nn.Linear):
        pass

    with pytest.raises(TypeError, match="a module of the model"):
        once.train_once(nn.Sequential(Mine(1, 1)), loader, num_epochs=1)
    with pytest.raises(TypeError, match="num_epochs"):
        once.train_once(build(), loader, num_epochs="1")
