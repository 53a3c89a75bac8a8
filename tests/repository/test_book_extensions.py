"""What notebooks say by convention becomes what the page needs."""

import html
from types import SimpleNamespace

import pytest
from docutils import nodes
from math_core import LatexError
from myst_nb.sphinx_ import HideCodeCellNode
from pygments import highlight
from pygments.lexers import PythonLexer

from website.extensions import course, formulas, pages


def words(parts):
    return "".join(part.astext() for part in parts)


def test_a_formula_is_mathml_and_one_on_its_own_line_is_large():
    assert formulas.mathml("a_i") == "<math><msub><mi>a</mi><mi>i</mi></msub></math>"
    assert formulas.mathml("a", block=True).startswith('<math display="block">')
    with pytest.raises(LatexError):
        formulas.mathml(r"\frac{1")


@pytest.mark.parametrize(
    ("title", "number", "name"),
    [
        ("3. Why divide by √d?", "3", "Why divide by √d?"),
        ("4b. Can you believe the picture?", "4b", "Can you believe the picture?"),
        ("7b.2 Deeper: what does the cache save?", "7b.2", "Deeper: what does the cache save?"),
        ("3.1 Workshop", "3.1", "Workshop"),
    ],
)
def test_a_title_has_a_number_and_a_name(title, number, name):
    found = course.NUMBERED.match(title)
    assert (found["number"], found["name"]) == (number, name)


def test_a_title_without_a_number_has_none():
    assert course.NUMBERED.match("The end of the course") is None


def test_a_word_to_the_formatter_is_not_shown():
    code = "x = [1,\n     2]  # fmt: skip\ny = 1  # not fmt: skipped"
    assert pages.FOR_TOOLS.sub("", code) == "x = [1,\n     2]\ny = 1  # not fmt: skipped"


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("source", "Code"),
        ("content", "Solution"),
        ("outputs", "Output"),
        ("EncoderBlock", "EncoderBlock"),
        ("a < b", "a &lt; b"),
    ],
)
def test_a_fold_says_what_is_in_it_or_its_own_name(prompt, said):
    page = SimpleNamespace(body=[], encode=html.escape)
    pages.visit_folded(page, HideCodeCellNode(prompt_show=prompt))
    assert page.body == [f'<details class="fold"><summary>{said}</summary>\n']


def test_a_sentence_is_split_in_its_text_alone():
    link = nodes.emphasis("", "a: b")
    parts = [nodes.Text("Predict first: is "), link, nodes.Text(" so: or not?")]
    assert [words(piece) for piece in pages.split(parts, ": ")] == [
        "Predict first",
        "is a: b so",
        "or not?",
    ]


def test_words_are_taken_off_both_ends_of_a_sentence():
    parts = [nodes.Text("You need "), nodes.emphasis("", "chapter 1"), nodes.Text(" and 2.")]
    assert words(pages.without(parts, start="You need ", end=".")) == "chapter 1 and 2"
    assert words(pages.without([nodes.Text("A figure.")], start="You need ")) == "A figure."


def test_a_question_begins_with_a_capital_unless_it_begins_with_a_formula():
    assert words(pages.capital([nodes.Text(" which?")])) == "Which?"
    formula = nodes.math("", "d")
    assert pages.capital([formula, nodes.Text(" grows?")])[0] is formula


def test_code_marks_keywords_names_numbers_and_comments_and_nothing_else():
    code = 'def f(x):\n    return x + 2 @ "a"  # why\n'
    html = highlight(code, PythonLexer(), pages.InkFormatter())
    marked = set(pages.re.findall(r'class="(\w+)"', html)) - {"highlight"}
    assert marked == {"k", "nf", "mi", "s2", "c1"}
    assert "return</span> x + <span" in html
