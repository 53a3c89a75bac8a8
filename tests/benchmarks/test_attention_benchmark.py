"""The benchmark of attention: forms that agree, and a table that says so of each option."""

import pytest
import torch

from benchmarks import attention
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


def test_both_ways_of_timing_are_told_of_the_kernel_and_of_ours(tmp_path, monkeypatch):
    monkeypatch.setattr(attention, "SIZES", [(1, 4), (1, 6)])
    monkeypatch.setattr(attention, "REPEATS", 3)
    over = {("again", False): 1.0, ("again", True): 1.25, ("ours", False): 1.5, ("ours", True): 2.0}
    asked: list[tuple[str, ...]] = []

    def times(functions, seconds, least):
        outputs = [function() for function in functions.values()]
        for output in outputs:  # one result, whatever its name
            torch.testing.assert_close(output, outputs[0], rtol=0, atol=1e-5)
        asked.append(tuple(functions))
        other = asked[-1][-1]
        turn = asked.count(asked[-1]) - 1  # the same at all places of a repeat
        drift = (0.9, 1.0, 1.1)[turn // attention.PLACES % 3]
        ratio = over[other, "explicit" in functions]
        return {"once": 2.0, "explicit": 7.0, other: 2.0 * ratio * drift}

    monkeypatch.setattr(attention, "median_times", times)
    page = tmp_path / "control.md"
    page.write_text("\n".join(attention.control_table(0.0)) + "\n", "utf-8")
    (found,) = read_tables(page)
    cells = ["0.90 to 1.10", "1.12 to 1.38", "1.35 to 1.65", "1.80 to 2.20"]
    assert found == {f"1 × 8 × {n} × {n}": cells for n in (4, 6)}
