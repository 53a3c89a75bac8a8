"""The minutes in a header come from what the page shows."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import honest_time, run_notebooks


def minutes(*cells) -> int:
    return honest_time.cost(new_notebook(cells=list(cells))).minutes


def code(source="x = 1", tags=(), **data):
    outputs = [new_output("display_data", data={k.replace("_", "/"): v for k, v in data.items()})]
    return new_code_cell(source, metadata={"tags": list(tags)}, outputs=outputs if data else [])


def test_100_words_take_a_minute_and_the_next_one_begins_another():
    assert minutes(new_markdown_cell("word " * 100)) == 1
    assert minutes(new_markdown_cell("word " * 101)) == 2


def test_a_displayed_formula_takes_a_minute():
    text = "Words.\n\n$$\na + b\n$$ (eq-a)\n\n$$\nc\n$$\n\nAnd $x$ in the text."
    found = honest_time.cost(new_notebook(cells=[new_markdown_cell(text)]))
    assert (found.formulas, found.minutes) == (2, 3)


@pytest.mark.parametrize(
    "text",
    [
        "```python\\n" + "word " * 200 + "\\n```",
        "$$\\n" + "word " * 200 + "\\n$$",
        "(" + "word" * 200 + ")=",
        "[](" + "word/" * 200 + ")",
    ],
)
def test_code_formulas_labels_and_addresses_are_no_words(text):
    text = text.replace("\\n", "\n")
    assert honest_time.cost(new_notebook(cells=[new_markdown_cell(text)])).words <= 1


def test_a_folded_answer_is_read_and_a_prediction_thought_about():
    folded = new_markdown_cell(":::{dropdown} Predict: what comes?\n" + "word " * 32 + "\n:::")
    found = honest_time.cost(new_notebook(cells=[folded]))
    assert (found.words, found.predictions, found.minutes) == (35, 1, 2)  # 21 s and 90 s


def test_twelve_lines_of_code_or_output_take_two_minutes():
    assert minutes(code("\n".join(["x = 1"] * 12))) == 2
    assert minutes(code("\n".join(["x = 1"] * 12), text_plain="1")) == 3
    stream = new_output("stream", name="stdout", text="1\n" * 9)
    assert minutes(new_code_cell("", outputs=[stream])) == 2


@pytest.mark.parametrize(
    ("tags", "lines"),
    [([], (3, 1)), (["hide-input"], (0, 1)), (["remove-input"], (0, 1)), (["hide-output"], (3, 0))]
    + [([tag], (0, 0)) for tag in ("hide-cell", "remove-cell")],
)
def test_what_the_page_hides_costs_nothing(tags, lines):
    cell = code("assert a\nb = 1\nc = 2", tags, text_plain="one line")
    found = honest_time.cost(new_notebook(cells=[cell]))
    assert (found.code_lines, found.output_lines) == lines
    assert (found.visible_assertions, found.longest_listing) == ((1, 3) if lines[0] else (0, 0))


def test_figures_drawings_and_explorables_are_told_apart():
    cells = [
        code("", image_png="", text_plain="<Figure>"),
        code("", text_html="<svg></svg>", text_plain="A drawing"),
        code("", text_html='<div data-d2lx="a"><svg></svg></div>', text_plain="Mixer()"),
        code("", text_markdown="```python\na\nb\n```", text_plain="a\nb"),
    ]
    found = honest_time.cost(new_notebook(cells=cells))
    assert (found.figures, found.explorables) == (2, 1)
    assert (found.code_lines, found.output_lines, found.longest_listing) == (2, 0, 2)
    assert found.minutes == 5  # 90 s, 3 min, 2 lines


def test_the_minutes_of_an_exercise_hold_its_code():
    exercise = new_markdown_cell("## Exercise 1\n\n*Difficulty 2 of 3, about 8 minutes.*")
    assert minutes(exercise, code("\n".join(["x = 1"] * 70))) == 9


@pytest.mark.parametrize("before", ["… minutes", "9 minutes, 8 of them reading"])
@pytest.mark.parametrize(
    ("name", "after"), [("walk", "4 minutes, 3 of them reading"), ("workshop", "4 minutes")]
)
def test_writing_mends_the_header_and_nothing_else(before, name, after, tmp_path, capsys):
    path = tmp_path / f"{name}.ipynb"
    header = new_markdown_cell(f"# Title\n\n*About {before}. You need nothing.*")
    predict = new_markdown_cell(":::{dropdown} Predict: what comes?\nIt.\n:::")
    cells = [header, new_markdown_cell("word " * 210), predict]
    nbformat.write(new_notebook(cells=cells), path)
    honest_time.main(["--write", str(path)])
    found = nbformat.read(path, as_version=4)
    assert found.cells[0].source == f"# Title\n\n*About {after}. You need nothing.*"
    assert honest_time.said(found) == honest_time.cost(found).minutes == 4
    assert "4   22" in capsys.readouterr().out


def test_a_changed_word_renames_its_cell_and_nothing_else(tmp_path):
    path = tmp_path / "walk.ipynb"
    header = new_markdown_cell("# Title\n\n*About 3 minutes, 3 of them reading. You need nothing.*")
    notebook = new_notebook(cells=[header, new_markdown_cell("word " * 200)])
    run_notebooks.tidy(notebook)
    nbformat.write(notebook, path)
    before = path.read_bytes()
    honest_time.main(["--write", str(path)])
    assert path.read_bytes() == before
    path.write_text(path.read_text("utf8").replace("You need nothing", "You need little"), "utf8")
    honest_time.main(["--write", str(path)])
    after = nbformat.read(path, as_version=4)
    assert after.cells[0].id != notebook.cells[0].id
    assert after.cells[1] == notebook.cells[1]
