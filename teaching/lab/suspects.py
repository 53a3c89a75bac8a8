"""The models of the lab. Do not look for the mistake here: your functions are to find it."""

import torch
from torch import nn

from d2lattn.bare import AddNorm, MultiHeadAttention, PositionWiseFFN, positions

NUM_TOKENS = 10
WIDTH = 16


class Model(nn.Module):
    """Two blocks of self-attention, untrained, and scores for the next token.

    Call it with tokens (1, T), and with the number of those that are no padding if there is any. It
    gives scores (1, T, 10). A writer is to be masked causally, a reader is to see all but padding.
    """

    def __init__(self, seed, masks, dropout=0.0):
        super().__init__()
        torch.manual_seed(seed)
        self.masks = masks  # one a layer: takes (T, number of valid tokens), gives (T, T) or None
        self.embedding = nn.Embedding(NUM_TOKENS, WIDTH)
        self.attentions = nn.ModuleList(MultiHeadAttention(WIDTH, 2) for _ in masks)
        self.networks = nn.ModuleList(PositionWiseFFN(WIDTH, 2 * WIDTH) for _ in masks)
        self.norms = nn.ModuleList(AddNorm(WIDTH) for _ in range(2 * len(masks)))
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(WIDTH, NUM_TOKENS)
        self.eval()

    def forward(self, tokens, valid=None):
        """Give each place its scores."""
        length = tokens.shape[1]
        X = self.dropout(self.embedding(tokens) + positions(length, WIDTH))  # (1, T, D)
        for layer, make_mask in enumerate(self.masks):
            mask = make_mask(length, length if valid is None else valid)
            attended = self.dropout(self.attentions[layer](X, X, X, mask))
            X = self.norms[2 * layer](X, attended)
            X = self.norms[2 * layer + 1](X, self.networks[layer](X))
        return self.dense(X)  # (1, T, V)


def later_hidden(length, valid):
    """Let each place see itself and what stands before it."""
    return torch.ones(length, length).tril().bool()


def padding_hidden(length, valid):
    """Let each place see the tokens that are no padding."""
    return (torch.arange(length) < valid).expand(length, length)


def nothing_hidden(length, valid):
    """Let each place see all."""
    return None


def suspects():
    """Four models: A and B are writers, C and D are readers. In some of them a mask is missing."""
    return {
        "A": Model(1, [later_hidden, later_hidden]),
        "B": Model(2, [later_hidden, nothing_hidden]),
        "C": Model(3, [padding_hidden, nothing_hidden]),
        "D": Model(4, [padding_hidden, padding_hidden]),
    }
