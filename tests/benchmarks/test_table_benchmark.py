"""The benchmark behind chapter 9: forms that agree, gradients that are right, tables as read."""

import pytest
import torch

from benchmarks import table
from d2lattn.book.tables import read_tables


@pytest.mark.parametrize("name", table.FORMS)
def test_each_form_gives_the_same_and_sends_back_the_same(name):
    torch.manual_seed(0)
    inputs = torch.randn(3, 1, 1, 300, table.WIDTH, dtype=torch.float64).unbind()
    upstream = torch.randn_like(inputs[0])
    found = []
    for attention in (table.FORMS[name][0], table.FORMS["table"][0]):
        leaves = [x.clone().requires_grad_() for x in inputs]
        out = attention(*leaves)
        found.append([out, *torch.autograd.grad(out, leaves, upstream)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=0)


def test_the_backward_pass_computed_anew_is_the_gradient():
    torch.manual_seed(0)
    inputs = [torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    for tile in (1, 2, 5, 9):
        assert torch.autograd.gradcheck(table.RunningAttention.apply, (*inputs, tile))


def test_what_is_kept_for_the_way_back_is_two_numbers_a_query():
    inputs = [torch.randn(64, 8, requires_grad=True) for _ in range(3)]
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x.shape) or x, lambda x: x):
        table.RunningAttention.apply(*inputs, 16)
    assert sorted(kept) == [(64, 1), (64, 1), *4 * [(64, 8)]]


def test_the_tables_are_read_as_the_walk_reads_them(tmp_path):
    page = tmp_path / "table.md"
    page.write_text("\n".join(table.tables([128, 256], 0.0)) + "\n", "utf-8")
    forward, forward_ms, both, both_ms = read_tables(page)
    for found, forms in ((forward, 4), (forward_ms, 4), (both, 6), (both_ms, 6)):
        assert list(found) == ["128", "256"]
        assert all(len(cells) == forms for cells in found.values())
    assert [float(x) for x in forward["256"][:1]] == [pytest.approx(2 * 256**2 * 4e-6, abs=0.01)]
    written = read_tables(table.FOLDER / "table.md")
    for n, cells in forward.items():  # memory is exact
        assert cells[0] == written[0][n][0]
