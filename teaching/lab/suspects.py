"""The models of the lab. Do not look for the mistake here: your functions should find it."""

import torch
from torch import nn

from d2lattn.bare import AddNorm, MultiHeadAttention, PositionWiseFFN, positions

NUM_TOKENS = 10
WIDTH = 16


class Model(nn.Module):
    """Two untrained blocks of self-attention, with logits for the next token.

    Call it with tokens of shape (1, T) and, if there is padding, with the number of tokens before
    the padding. It returns logits of shape (1, T, 10). A decoder needs a causal mask; an encoder
    may attend to all tokens except padding.
    """

    def __init__(self, seed, masks, dropout=0.0):
        super().__init__()
        torch.manual_seed(seed)
        self.masks = masks  # one per layer: from (T, number of valid tokens) to (T, T) or None
        self.embedding = nn.Embedding(NUM_TOKENS, WIDTH)
        self.attentions = nn.ModuleList(MultiHeadAttention(WIDTH, 2) for _ in masks)
        self.networks = nn.ModuleList(PositionWiseFFN(WIDTH, 2 * WIDTH) for _ in masks)
        self.norms = nn.ModuleList(AddNorm(WIDTH) for _ in range(2 * len(masks)))
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(WIDTH, NUM_TOKENS)
        self.eval()

    def forward(self, tokens, valid=None):
        """Return the logits of each position."""
        length = tokens.shape[1]
        X = self.dropout(self.embedding(tokens) + positions(length, WIDTH))  # (1, T, D)
        for layer, make_mask in enumerate(self.masks):
            mask = make_mask(length, length if valid is None else valid)
            attended = self.dropout(self.attentions[layer](X, X, X, mask))
            X = self.norms[2 * layer](X, attended)
            X = self.norms[2 * layer + 1](X, self.networks[layer](X))
        return self.dense(X)  # (1, T, V)


def later_hidden(length, valid):
    """Let each position attend to itself and to earlier positions."""
    return torch.ones(length, length).tril().bool()


def padding_hidden(length, valid):
    """Let each position attend to the tokens that are not padding."""
    return (torch.arange(length) < valid).expand(length, length)


def nothing_hidden(length, valid):
    """Let each position attend to all tokens."""
    return None


def suspects():
    """Return four models: A and B are decoders, C and D encoders. Some of them lack a mask."""
    return {
        "A": Model(1, [later_hidden, later_hidden]),
        "B": Model(2, [later_hidden, nothing_hidden]),
        "C": Model(3, [padding_hidden, nothing_hidden]),
        "D": Model(4, [padding_hidden, padding_hidden]),
    }
