"""The benchmarks' reports: every page is rendered from its results, and every benchmark runs."""

import importlib
import json
import shlex
import sys

import pytest

from benchmarks import report
from d2lattn.book.tables import format_rows

NAMES = sorted(path.stem for path in (report.FOLDER / "results").glob("*.json"))
PAIRS = "--pairs 200 --held-out 60"
KEEP = "--keep kept.jsonl"
SMOKE = {  # by page: the benchmark's smallest case, and whether it has the stored page's rows
    "believing": (f"believing --seeds 0 {PAIRS} --sentences 10 --epochs 1", False),
    "head-worth": (f"head_worth {PAIRS}", True),
    "heads": (f"heads {PAIRS}", True),
    "layers": ("layers --seconds 0", True),
    "looking-up": (
        f"looking_up --names 'wish, scaled dot, 64' --moments 20 100 200 {KEEP}",
        False,
    ),
    "memory": (f"memory --seeds 0 {PAIRS} --epochs 1 --seconds 0 {KEEP}", True),
    "multi-head": ("attention --heads --seconds 0", True),
    "notebooks": ("notebooks chapters/01-attention-cues/workshop.ipynb", False),
    "one-vector": (f"one_vector {PAIRS} --epochs 1 --threads 1", True),
    "recall": (f"recall --steps 2 --seconds 0 --written 64 --texts 64 {KEEP}", False),
    "relative": (f"relative --seeds 0 1 2 3 4 {PAIRS} --epochs 1 --seconds 0 {KEEP}", True),
    "swapping": (f"swapping {PAIRS} --sentences 40 --epochs 1", True),
    "table": ("table --lengths 128 256 --seconds 0", False),
    "transformer": (f"transformer --seeds 0 {PAIRS} --epochs 1", True),
    "transformer-encoder": ("transformer --encoder --seconds 0", True),
    "transformer-race": (f"transformer --race --seeds 0 {PAIRS} --epochs 1 {KEEP}", True),
    "transformer-race-longer": (f"transformer --longer --seeds 0 {PAIRS} --epochs 1 {KEEP}", True),
    "transformer-race-sentences": (f"transformer --sentences {PAIRS} --epochs 1", True),
    "translation": (f"translation --seeds 0 {PAIRS} --epochs 1 --step-seconds 0", True),
}


def load(name, folder=report.FOLDER):
    return json.loads((folder / "results" / f"{name}.json").read_text("utf-8"))


def names_of(content):
    """Give the heads of a table, and the names of its rows."""
    return [column for column, _ in content["columns"]], [row[0] for row in content["rows"]]


@pytest.mark.parametrize("name", NAMES)
def test_page_is_rendered_from_its_results(name):
    results = load(name)
    assert {"command", "python", "pytorch", "processor", "threads", "tables"} <= results.keys()
    page = (report.FOLDER / f"{name}.md").read_text("utf-8")
    assert page == report.render(name, results)
    assert "nan" not in str([format_rows(content) for content in results["tables"].values()])
    for content in results["tables"].values():
        assert report.markdown_table(content) in page
    assert (report.FOLDER / "results" / f"{name}.json").read_text() == report.to_json(results)


def test_each_page_has_results_and_a_template_and_a_place_in_the_book():
    assert {path.stem for path in report.FOLDER.glob("*.md")} == set(NAMES)
    assert {path.name for path in report.TEMPLATES.iterdir()} == {f"{n}.md.jinja" for n in NAMES}
    book = (report.FOLDER.parent / "benchmarks.md").read_text("utf-8")
    for name in NAMES:
        assert f"{{include}} benchmarks/{name}.md" in book, name


@pytest.mark.weekly
@pytest.mark.parametrize("name", SMOKE)
def test_smallest_case_has_the_tables_of_the_page(name, tmp_path, monkeypatch, one_thread):
    command, has_same_rows = SMOKE[name]
    module, *arguments = shlex.split(command.replace("kept.jsonl", str(tmp_path / "kept.jsonl")))
    monkeypatch.chdir(report.FOLDER.parents[1])
    monkeypatch.setattr(sys, "argv", [module, *arguments, "--output", str(tmp_path)])
    importlib.import_module(f"benchmarks.{module}").main()
    stored, results = load(name), load(name, tmp_path)
    assert "nan" not in (tmp_path / f"{name}.md").read_text("utf-8")
    assert results.keys() == stored.keys()
    for key, content in results["tables"].items():
        columns, rows = names_of(content)
        stored_columns, stored_rows = names_of(stored["tables"][key])
        assert columns == stored_columns, key
        assert rows == stored_rows if has_same_rows else rows, key


def test_training_is_not_repeated(tmp_path):
    from benchmarks.measure import train_missing

    trained = []

    def measure(name, seed):
        trained.append((name, seed))
        return {"way": name, "seed": seed, "pairs": 7, "loss": 0.5}

    for seeds in ([0], [0, 1]):
        runs = train_missing(tmp_path / "kept", "way", ["a", "b"], seeds, {"pairs": 7}, measure)
        assert [run["seed"] for run in runs["b"]] == seeds
    assert trained == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
