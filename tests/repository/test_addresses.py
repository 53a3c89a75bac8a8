"""Addresses of pages for others: the map of the site, cards, what has moved, what is nowhere."""

from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest

from website.extensions import addresses

ROOT = Path(__file__).resolve().parents[2]


def app(url: str = "https://github.com/owner/name", moved: dict | None = None, out: Path = ROOT):
    """As much of Sphinx as the extension asks for."""
    title = SimpleNamespace(astext=lambda: "3. New <name>")
    return SimpleNamespace(
        outdir=str(out),
        config=SimpleNamespace(
            html_theme_options={"repository_url": url}, moved_pages=moved or {}, root_doc="index"
        ),
        env=SimpleNamespace(found_docs={"index", "chapters/new"}, titles={"chapters/new": title}),
        builder=SimpleNamespace(name="html", get_target_uri=lambda name: f"{name}.html"),
    )


def test_a_link_may_name_a_label_of_another_page():
    labels = {"sec-heads": ("chapters/new", "sec-heads"), "sec-old": ("chapters/old", "sec-old")}
    equations = {"eq-one": ("chapters/new", 1), "eq-other": ("chapters/old", 1)}
    domains = {
        "std": SimpleNamespace(anonlabels=labels),
        "math": SimpleNamespace(equations=equations),
        "py": SimpleNamespace(
            objects={
                "d2lattn.one": SimpleNamespace(docname="chapters/new", node_id="d2lattn.one"),
                "d2lattn.other": SimpleNamespace(docname="chapters/old", node_id="d2lattn.other"),
            }
        ),
    }
    env = SimpleNamespace(
        docname="chapters/new",
        metadata={"chapters/new": {"myst_slugs": {"a-heading": (3, "id1", "A heading")}}},
        get_domain=domains.get,
    )
    addresses.name_places(SimpleNamespace(env=env), None)
    found = {
        label: place for label, (_, place, _) in env.metadata["chapters/new"]["myst_slugs"].items()
    }
    assert found == {"a-heading": "id1", "sec-heads": "sec-heads", "eq-one": "equation-eq-one"} | {
        "d2lattn.one": "d2lattn.one"
    }


@pytest.mark.parametrize(
    ("repository", "home"),
    [
        ("https://github.com/owner/name", "https://owner.github.io/name/"),
        ("https://github.com/owner/name/", "https://owner.github.io/name/"),
        ("https://github.com/owner/owner.github.io", "https://owner.github.io/"),
    ],
)
def test_the_book_is_at_home_where_its_repository_is(repository, home):
    assert addresses.home(app(repository)) == home


def test_the_map_lists_each_page_once(tmp_path):
    addresses.write_map(app(out=tmp_path), None)
    text = (tmp_path / "sitemap.xml").read_text("utf8")
    assert text.count("<loc>") == 2
    assert "<loc>https://owner.github.io/name/</loc>" in text
    assert "<loc>https://owner.github.io/name/chapters/new.html</loc>" in text


def test_an_old_address_leads_on():
    (_, moved) = addresses.more_pages(app(moved={"chapters/old": "chapters/new"}))
    old, context, template = moved
    assert (old, template) == ("chapters/old", "moved.html")
    pages = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [
                jinja2.DictLoader(
                    {"layout.html": "{% block head %}{% endblock %}{% block body %}{% endblock %}"}
                ),
                jinja2.FileSystemLoader(ROOT / "website" / "theme"),
            ]
        )
    )
    html = pages.get_template(template).render(context, pathto=lambda name: f"../{name}.html")
    assert '<meta http-equiv="refresh" content="0; url=../chapters/new.html">' in html
    assert '<a href="../chapters/new.html">3. New &lt;name&gt;</a>' in html
    # What is known of the old page is known of the new one
    addresses.add_address(app(), old, template, context, None)
    assert context["address"] == "https://owner.github.io/name/chapters/new.html"
