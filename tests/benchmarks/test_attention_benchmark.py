"""The benchmark of attention: forms that agree, and a table that says so of each option."""

import attention
import pytest
import torch

from d2lattn.book.tables import read_tables

NAMES = ("none", "rotary", "ALiBi", "grouped", "one shared", "window", "window + first")


@pytest.mark.parametrize("name", NAMES)
def test_ours_with_an_option_is_the_kernel_with_it_and_sends_back_the_same(name, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(attention, "WINDOW", 5)
    forms = attention.option_forms(20, 32, 8)
    assert tuple(forms) == NAMES
    ours, kernel = forms[name]
    X = torch.randn(2, 20, 32, requires_grad=True)
    upstream, found = torch.randn_like(X), []
    for form in (ours, kernel):
        out = form(X, X, X, None)
        found.append([out, *torch.autograd.grad(out, (X, *ours.parameters()), upstream)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
    plain = attention.four_layers(ours, attention.bare)
    if ours.num_kv_heads == 8 and name != "none":  # the option does something
        assert not torch.allclose(plain(X, X, X, None), found[0][0], atol=1e-3)


def test_all_forms_of_multi_head_attention_agree():
    torch.manual_seed(0)
    steps = attention.training_steps(2, 12, 32, 4)  # which compares them
    assert list(steps) == ["ours", "PyTorch", "four layers", "explicit"]


def test_the_table_has_a_row_for_each_option(tmp_path, monkeypatch):
    monkeypatch.setattr(attention, "OPTIONS_SIZE", (1, 16, 32, 8))
    page = tmp_path / "options.md"
    page.write_text("\n".join(attention.options_table(0.0)) + "\n", "utf-8")
    (found,) = read_tables(page)
    assert tuple(found) == NAMES
    for ours, kernel, ratio, price, whole in ([float(x) for x in row] for row in found.values()):
        assert min(ours, kernel, ratio, price, whole) > 0
        assert ratio * price == pytest.approx(whole, rel=0.05)


def test_the_kernel_is_timed_beside_itself_in_pairs_and_with_the_explicit_form(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(attention, "SIZES", [(1, 4), (1, 6)])
    monkeypatch.setattr(attention, "REPEATS", 3)
    asked, dice = [], iter([0.9, 1.0, 1.1] * 4)

    def times(functions, seconds, least):
        asked.append(tuple(functions))
        outputs = [function() for function in functions.values()]
        for output in outputs:  # one call, whatever its name
            torch.testing.assert_close(output, outputs[0], rtol=0, atol=1e-5)
        again = 1.25 if "explicit" in functions else ratio()
        return {"once": 2.0, "explicit": 7.0, "again": 2.0 * again}

    def ratio():  # the same at all places of a repeat
        ratio.turn += 1
        if ratio.turn % attention.PLACES == 1:
            ratio.now = next(dice)
        return ratio.now

    ratio.turn = 0
    monkeypatch.setattr(attention, "median_times", times)
    page = tmp_path / "control.md"
    page.write_text("\n".join(attention.control_table(0.0)) + "\n", "utf-8")
    (found,) = read_tables(page)
    assert found == {f"1 × 8 × {n} × {n}": ["0.90 to 1.10", "1.25 to 1.25"] for n in (4, 6)}
    assert set(asked) == {("once", "again"), ("once", "explicit", "again")}
