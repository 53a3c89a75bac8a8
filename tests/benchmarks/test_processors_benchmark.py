"""The benchmark that runs walks as on other processors."""

from pathlib import Path

import nbformat
import processors
import pytest
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parents[2]


def notebook(*cells):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


@pytest.mark.slow
def test_a_notebook_is_run_with_the_settings_and_asked_at_its_end():
    asked = notebook("import os", "import torch", "print('something else')", "x = {'a': 0.25}")
    questions = {
        "a": ("x['a']", ".1f"),
        "kernels": ("torch.backends.cpu.get_cpu_capability() in ('DEFAULT', 'NO AVX')", ".0f"),
        "products": ("os.environ['MKL_CBWR'] == 'COMPATIBLE'", ".0f"),
        "folder": ("os.path.exists('../04-bahdanau/walk.ipynb')", ".0f"),
    }
    env = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
    assert processors.run(asked, questions, env) == [0.25, 1, 1, 1]


@pytest.mark.slow
def test_an_assertion_that_does_not_hold_ends_it():
    with pytest.raises(CellExecutionError, match="AssertionError"):
        processors.run(notebook("assert 1 > 2"), {"a": ("1", ".1f")}, {})


def test_the_page_has_an_answer_to_each_question():
    lines = (ROOT / "reference" / "benchmarks" / "processors.md").read_text("utf-8").splitlines()
    names = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    asked = [text for questions in processors.ASKED.values() for text in questions]
    assert [name for name in names if not name.startswith("walk ")] == asked
    for line in lines:
        if line.startswith("| "):
            assert line.count("|") == 2 + len(processors.ARITHMETICS)
