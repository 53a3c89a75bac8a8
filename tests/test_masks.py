"""Lengths: what they mean, and which are refused."""

import pytest
import torch

import d2lattn as d2l
from d2lattn.masks import causal_mask, check_lengths, length_mask, window_mask


@pytest.mark.parametrize(
    ("lens", "shape", "mask"),
    [
        ([0, 2], (2, 3), [[0, 0, 0], [1, 1, 0]]),
        ([1, 3], (2, 5, 3), [[[1, 0, 0]], [[1, 1, 1]]]),
        ([1, 3], (2, 4, 5, 3), [[[[1, 0, 0]]], [[[1, 1, 1]]]]),
        ([[1, 2], [0, 3]], (2, 2, 3), [[[1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 1]]]),
        ([[1, 2]], (1, 4, 2, 3), [[[[1, 0, 0], [1, 1, 0]]]]),
    ],
)
def test_length_mask_is_true_at_valid_steps(lens, shape, mask):
    actual = length_mask(torch.tensor(lens), shape)
    assert actual.dtype == torch.bool
    assert actual.int().tolist() == mask
    assert torch.broadcast_shapes(actual.shape, shape) == shape


WRONG = [
    ([-1, 2], (2, 3), ValueError, r"valid_lens\[0\] is -1; it needs to be from 0 to 3"),
    ([[0, 9]], (1, 2, 3), ValueError, r"valid_lens\[0, 1\] is 9; it needs to be from 0 to 3"),
    (1, (2, 3), ValueError, r"valid_lens has shape \(\); it needs \(B,\) = \(2,\)"),
    ([[1, 2], [1, 2]], (2, 3), ValueError, r"valid_lens has .* it needs \(B,\) = \(2,\)"),
    ([[1]], (1, 7, 5, 3), ValueError, r"valid_lens has .* \(B,\) = \(1,\) or \(B, Q\) = \(1, 5\)"),
    ([1.0, 2.0], (2, 3), TypeError, "valid_lens has dtype torch.float32; it needs a tensor of int"),
    ([True, False], (2, 3), TypeError, r"valid_lens has dtype torch.bool; .* mask.sum\(-1\)"),
]


@pytest.mark.parametrize(("lens", "shape", "error", "message"), WRONG)
def test_wrong_lengths_raise(lens, shape, error, message):
    for check in (length_mask, check_lengths):
        with pytest.raises(error, match="^" + message):
            check(torch.tensor(lens), shape)
    with pytest.raises(error, match=message.replace("valid_lens", "^target_lens")):
        length_mask(torch.tensor(lens), shape, "target_lens")


# sequence_mask -----------------------------------------------------------------------------------


def test_sequence_mask_replaces_steps_after_the_length():
    X = torch.tensor([[1, 2, 3], [4, 5, 6]])
    masked = d2l.sequence_mask(X, torch.tensor([1, 2]))
    assert masked.tolist() == [[1, 0, 0], [4, 5, 0]]
    assert X.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert masked.dtype == X.dtype


@pytest.mark.parametrize(
    ("X", "valid_len", "error", "message"),
    [
        (torch.ones(3), [1], ValueError, r"X has shape \(3,\); it needs \(B, K\) or \(B, K, .*\)$"),
        (torch.ones(2, 3), [1], ValueError, r"valid_len has shape \(1,\); it needs \(B,\) = \(2,"),
        (torch.ones(2, 3), [1.0, 3.0], TypeError, "valid_len has dtype torch.float32"),
        ([[1.0, 2.0]], [1], TypeError, "X has type list; it needs a tensor$"),
    ],
)
def test_sequence_mask_rejects_wrong_arguments(X, valid_len, error, message):
    with pytest.raises(error, match="^" + message):
        d2l.sequence_mask(X, torch.tensor(valid_len))


# causal_mask -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_queries", "num_keys", "mask"),
    [
        (2, 4, [[1, 1, 1, 0], [1, 1, 1, 1]]),
        (3, 1, [[0], [0], [1]]),
    ],
)
def test_causal_mask_ends_at_the_diagonal(num_queries, num_keys, mask):
    actual = causal_mask(num_queries, num_keys)
    assert actual.dtype == torch.bool
    assert actual.int().tolist() == mask


def test_masks_are_made_on_the_device():
    device = torch.device("meta")
    assert causal_mask(2, 3, device).is_meta
    assert window_mask(2, 3, window=1, device=device).is_meta


def test_causal_mask_equals_growing_lengths():
    lens = torch.tensor([[3, 4, 5]])
    assert torch.equal(causal_mask(3, 5), length_mask(lens, (1, 3, 5))[0])


def test_mask_may_replace_the_lengths_of_every_attention():
    X, lens = torch.randn(2, 3, 4), torch.tensor([1, 3])
    shared = length_mask(lens, (2, 3, 3))  # (B, 1, K)
    heads = d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0)
    for attention, mask in (
        (d2l.DotProductAttention(0), shared),
        (d2l.AdditiveAttention(4, 4, 5, 0), shared),
        (heads, shared.unsqueeze(1)),
        (heads.attention, shared),
    ):
        expected = attention(X, X, X, lens)
        torch.testing.assert_close(attention(X, X, X, mask=mask), expected)
        for wrong, error in ((mask.float(), TypeError), (mask[0], ValueError)):
            with pytest.raises(error, match=r"^mask has"):
                attention(X, X, X, mask=wrong)
        with pytest.raises(TypeError, match="None beside valid_lens"):
            attention(X, X, X, lens, mask=mask)
