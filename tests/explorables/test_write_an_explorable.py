"""The example on the page for those who write one more, taken from the page and run."""

import re
from pathlib import Path

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from explorable_pages import frame, shown

from d2lattn.explorables.bundle import HERE, _kit_parts

PAGE = Path(__file__).resolve().parents[2] / "reference" / "write-an-explorable.md"


def listing(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return found


@pytest.fixture
def temperature(tmp_path):
    module = tmp_path / "temperature.js"
    module.write_text(listing("js"), encoding="utf-8")
    names: dict = {}
    source = listing("python").replace('"temperature.js"', repr(str(module)))
    exec(compile(source, PAGE.name, "exec"), names)
    return names["Temperature"]


@pytest.mark.browser
def test_example_runs_and_is_right(visit, temperature):
    page = visit(temperature(scores=[3, 1, 0], temperature=2).to_html())
    weights = torch.softmax(torch.tensor([3.0, 1, 0]).double() / 2, 0)
    for i, weight in enumerate(weights):
        assert shown(page, f"bar-{i}") == pytest.approx(weight.item())
    page.get_by_role("slider", name="Temperature").press("End")
    frame(page)
    assert shown(page, "entropy") == pytest.approx(torch.log(torch.tensor(3.0)).item(), abs=0.02)
    assert Axe().run(page).violations_count == 0


def test_example_checks_what_it_is_given(temperature):
    with pytest.raises(ValueError, match="temperature"):
        temperature(temperature=0)
    with pytest.raises(ValueError, match="scores"):
        temperature(scores=[1, 2])


def test_example_is_thirty_lines():
    assert len(listing("js").splitlines()) <= 30


def test_page_names_only_what_the_kit_has():
    table = PAGE.read_text(encoding="utf-8").split("| part |")[1].split("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", table)) - {"value"}
    assert named <= _kit_parts().keys()
    exported = set(
        re.findall(
            r"^export (?:const|function) (\w+)", (HERE / "kit.js").read_text(encoding="utf-8"), re.M
        )
    )
    assert exported - named <= {"redsRgb", "onWidth", "ticks"}
