"""What another processor changes: walks that train, run again where numbers are rounded otherwise.

A processor's vector units decide in which order sums are taken, and so how they are rounded. After
a thousand steps of training that has made another network. python benchmarks/processors.py runs
the walks of chapters 4, 4b and 7b, assertions included, once for each way to compute that PyTorch
has on this processor, prints what they found and writes it to reference/benchmarks/processors.md.
"""

import argparse
import ast
import os
import platform
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import torch
from measure import print_and_write, processor
from nbclient import NotebookClient
from translation import FOLDER, row, rule

CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"

# PyTorch's own kernels by ATEN_CPU_CAPABILITY, the matrix products by MKL_CBWR
ARITHMETICS = {
    "as PyTorch chooses": {},
    "products for AVX2": {"MKL_CBWR": "AVX2"},
    "products for any": {"MKL_CBWR": "COMPATIBLE"},
    "kernels for AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "both for AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2"},
    "kernels for any": {"ATEN_CPU_CAPABILITY": "default"},
}

Questions = dict[str, tuple[str, str]]  # what is asked: an expression of the notebook, its format


def both(text: str, expression: str, form: str) -> Questions:
    """Ask the same of 4b's two translators."""
    return {
        f"{text}, {name}": (expression.format(f'"{name}"'), form)
        for name in ("one-directional", "bidirectional")
    }


RIGHT = "sum(map(str.__eq__, wrote[{}], pair.target))"
ASKED: dict[str, Questions] = {
    "04-bahdanau": {
        f"BLEU, {name}, {split}": (f'bleu_of("{name}", "{split}")', ".1f")
        for name in ("one vector", "attention")
        for split in ("test", "long")
    },
    "04b-believe-the-picture": {
        **both("error rate", "error[{}]", ".2f"),
        **both("misses that lie right of gold, %", "100 * to_the_right[{}]", ".0f"),
        **both("cost most, on gold, %", '100 * part(groups[{}, False], "worst")', ".0f"),
        **both("cost most, elsewhere, %", '100 * part(groups[{}, True], "worst")', ".0f"),
        **both("the sentence, tokens right of 13", RIGHT, ".0f"),
        **both("there, P of *l'*", 'objects["none", {}][0]', ".2f"),
    },
    "07b-transformer-at-work": {
        "BLEU, test": ('bleu["test"]', ".1f"),
        "BLEU, long": ('bleu["long"]', ".1f"),
        "BLEU, short sentences counted from 8": ("moved[2]", ".1f"),
        "error rate, mean of all heads": ("whole", ".2f"),
        "error rate, layer 2's fourth head": ("heads[1][3]", ".2f"),
        "P of *le*, exchanged at *the*": ('exchanged["the"][1]', ".2f"),
        "P of *le*, exchanged at *cow*": ('exchanged["cow"][1]', ".2f"),
        "the same for the fourth head alone": ('exchanged["cow, for this head"][1]', ".2f"),
        "the same for the seven others": ('exchanged["cow, for the other 7"][1]', ".2f"),
    },
}


def run(notebook: nbformat.NotebookNode, questions: Questions, env: dict[str, str]) -> list[float]:
    """Run a notebook with these settings, and give the value of each expression at its end."""
    expressions = ", ".join(expression for expression, _ in questions.values())
    last = nbformat.v4.new_code_cell(f"print([float(x) for x in ({expressions},)])")
    notebook.cells.append(last)
    beside = {"metadata": {"path": CHAPTERS / "04-bahdanau"}}  # pages are as near from any chapter
    client = NotebookClient(notebook, timeout=None, kernel_name="python3", resources=beside)
    client.execute(env=os.environ | env)
    return ast.literal_eval(last.outputs[-1].text)


def walks(env: dict[str, str]) -> list[list[float]]:
    """Run all walks with these settings; what one has trained is there for the next, as always."""
    with tempfile.TemporaryDirectory() as cache:
        settings = env | {"D2LATTN_CACHE": cache, "OMP_NUM_THREADS": "1"}
        return [
            run(nbformat.read(CHAPTERS / name / "walk.ipynb", as_version=4), questions, settings)
            for name, questions in ASKED.items()
        ]


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    with ThreadPoolExecutor(options.at_once) as pool:
        found = list(pool.map(walks, ARITHMETICS.values()))
    yield "<!-- Written by: python benchmarks/processors.py -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, 1 thread."
        " Command: `python benchmarks/processors.py`. PyTorch's kernels and its library for matrix "
        "products (MKL) were told to compute for another processor than they would choose; each "
        "column is a training of its own, from the same first numbers and with the same data in "
        "the same order. (Two that agree in every digit of a table rounded alike.) In each, all "
        "assertions of the three walks held."
    )
    yield ""
    for place, (name, questions) in enumerate(ASKED.items()):
        number = name.split("-")[0].lstrip("0")
        yield row(f"walk {number}", *ARITHMETICS)
        yield rule(1 + len(ARITHMETICS))
        for line, (text, (_, form)) in enumerate(questions.items()):
            yield row(text, *(f"{each[place][line]:{form}}" for each in found))
        yield ""


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-once", type=int, default=2, help="how many run side by side")
    parser.add_argument("--output", type=Path, default=FOLDER / "processors.md")
    options = parser.parse_args()
    print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
