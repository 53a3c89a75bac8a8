"""The contract of `attention_weights`, on the smallest module that keeps it."""

import copy
import pickle

import pytest
import torch
from torch import nn

from d2lattn.scoring import Attends


class Even(Attends, nn.Module):
    reads = 0

    def forward(self, num_keys):
        self._weights = lambda: self.work_out(num_keys)

    def work_out(self, num_keys):
        self.reads += 1
        return torch.full((1, num_keys), 1 / num_keys)


def test_weights_are_of_the_last_call_and_cost_nothing_unless_read():
    module = Even()
    module(2)
    module(4)
    assert module.reads == 0
    assert module.attention_weights.tolist() == [[0.25] * 4]


def test_there_are_none_before_the_first_call():
    with pytest.raises(RuntimeError, match=r"^attention_weights: there are none before the first"):
        _ = Even().attention_weights


def test_copies_start_without():
    module = Even()
    module(2)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        with pytest.raises(RuntimeError, match="there are none"):
            _ = twin.attention_weights
    assert module.attention_weights.tolist() == [[0.5, 0.5]]
