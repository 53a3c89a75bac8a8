"""The Sphinx extensions: formulas, labels of questions, links to places and to sources."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from math_core import LatexError

from website.extensions import addresses, formulas, pages


def test_formula_becomes_mathml_and_a_wrong_one_an_error():
    assert formulas.mathml("a_i") == "<math><msub><mi>a</mi><mi>i</mi></msub></math>"
    assert formulas.mathml("a", block=True).startswith('<math display="block">')
    with pytest.raises(LatexError):
        formulas.mathml(r"\frac{1")


@pytest.mark.parametrize(
    ("title", "kind", "label", "question"),
    [
        ("Predict first: which one?", "predict", "Predict first", "Which one?"),
        ("Chapter 2: which one?", "recall", "Chapter 2", "Which one?"),
        ("How we count", "more", None, "How we count"),
    ],
)
def test_italic_label_names_the_kind_of_a_question(title, kind, label, question):
    parts = [nodes.Text(title)]
    if label:
        parts = [nodes.emphasis("", f"{label}:"), nodes.Text(title.removeprefix(f"{label}:"))]
    element = pages.question(parts, nodes.paragraph("", "The answer."))
    assert kind in element[0]["classes"]
    texts = {node["classes"][0]: node.astext() for node in element.findall(nodes.inline)}
    assert texts == ({"label": label} if label else {}) | {"question": question}


def test_link_may_name_a_label_an_equation_or_an_object_of_another_page():
    domains = {
        "std": SimpleNamespace(anonlabels={"sec-a": ("page", "id-a"), "sec-b": ("other", "id-b")}),
        "math": SimpleNamespace(equations={"eq-a": ("page", 1), "eq-b": ("other", 1)}),
        "py": SimpleNamespace(
            objects={"d2lattn.a": SimpleNamespace(docname="page", node_id="d2lattn.a")}
        ),
    }
    env = SimpleNamespace(docname="page", metadata={"page": {}}, get_domain=domains.get)
    addresses.name_places(SimpleNamespace(env=env), nodes.Element())
    places = {label: slug[1] for label, slug in env.metadata["page"]["myst_slugs"].items()}
    assert places == {"sec-a": "id-a", "eq-a": "equation-eq-a", "d2lattn.a": "d2lattn.a"}


def test_object_leads_to_its_source():
    info = {"module": "d2lattn.masks", "fullname": "sequence_mask"}
    link = addresses.source_link("https://host/blob/main", "py", info)
    assert link.startswith("https://host/blob/main/d2lattn/masks.py#L")
    assert addresses.source_link("", "py", {"module": "d2lattn.masks", "fullname": "gone"}) is None
