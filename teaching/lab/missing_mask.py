"""Lab: find the missing mask.

Fill in what is open, and hand in this file alone (or a notebook with the same names). Beside it
lies `suspects.py`, with four models to try your functions on; the grader has others.
"""

import torch  # noqa: F401


def causal_mask(length):
    """Return a boolean tensor (length, length): true where a row may ask a column.

    Each place may ask itself and what stands before it.
    """
    raise NotImplementedError


def sees_later(model, tokens):
    """Return True if any row of the model's scores depends on a token that comes after it.

    Tokens are (1, T), numbers from 0 to 9, and `model(tokens)` gives scores (1, T, 10). Do not look
    inside the model: change tokens, and compare. It may come in training mode, with dropout.
    """
    raise NotImplementedError


def sees_padding(model, tokens, valid):
    """Return True if any of the first `valid` rows of scores depends on the tokens after them.

    Here `model(tokens, valid)` gives the scores. The tokens from `valid` on are padding; there may
    be none.
    """
    raise NotImplementedError


# Of the four models in suspects.py: True where a mask is missing. A and B are writers, to be masked
# causally; C and D are readers, which are to see all but padding.
VERDICT = {"A": None, "B": None, "C": None, "D": None}

# Three to six sentences. Without its causal mask, the loss of a decoder falls even on new examples.
# Why? And why does it write badly all the same?
WHY = """

"""
