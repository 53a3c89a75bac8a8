"""Lab: find the missing mask.

Fill in the functions and the answers, and submit only this file (or a notebook that defines the
same names). The file `suspects.py` contains four models on which you can try your functions; the
grader uses other models.
"""

import torch  # noqa: F401


def causal_mask(length):
    """Return a boolean (length, length) tensor: true where a row (query) may attend to a column.

    Each position may attend to itself and to earlier positions.
    """
    raise NotImplementedError


def sees_later(model, tokens):
    """Return True if any row of the model's logits depends on a later token.

    The tokens are numbers from 0 to 9, of shape (1, T), and `model(tokens)` returns logits of shape
    (1, T, 10). Do not look inside the model: change tokens, and compare the logits. The model may
    be in training mode, with dropout.
    """
    raise NotImplementedError


def sees_padding(model, tokens, valid):
    """Return True if any of the first `valid` rows of logits depends on the tokens after them.

    Here `model(tokens, valid)` returns the logits. The tokens from index `valid` on are padding;
    there may be none.
    """
    raise NotImplementedError


# For each of the four models in suspects.py: True if a mask is missing. A and B are decoders, which
# need a causal mask; C and D are encoders, which may attend to all tokens except padding.
VERDICT = {"A": None, "B": None, "C": None, "D": None}

# Three to six sentences. Without a causal mask, the loss of a decoder falls even on new examples.
# Why? And why are the outputs of this decoder nevertheless bad?
WHY = """

"""
