"""Every page of the built book, as files and in a browser with the network cut."""

import gzip
import re
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit
from zipfile import ZipFile

import pytest
from lxml import etree, html

from tools import make_pdf, make_zip
from tools.run_notebooks import NOTEBOOKS

pytestmark = pytest.mark.browser

GENERATED = {"404.html", "genindex.html", "search.html"}
WALKS = sorted(
    f"chapters/{path.parent.name}/walk.html" for path in NOTEBOOKS if path.stem == "walk"
)


# Compressed kilobytes that a phone loads for the first view; of another chapter's page, 200
LIMITS = {
    "index.html": 130,
    "chapters/which-would-you-sign.html": 150,
    "reference/glossary.html": 300,
}


def kilobytes(file: Path) -> float:
    return len(gzip.compress(file.read_bytes())) / 1024


@pytest.fixture(scope="module")
def trees(book, pages):
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
    return {name: html.parse(book / name, parser).getroot() for name in pages}


def test_page_works_and_is_light_on_phone_and_desk_in_both_themes(visit, book, page_name):
    opened = visit(page_name, width=360, theme="dark")
    problems = {"on a phone": opened.visible_problems()}
    opened.finish()
    weights = {file: kilobytes(book / file) for file in opened.files()}
    if page_name.startswith("chapters/") or page_name in LIMITS:
        problems["weight"] = sum(weights.values()) > LIMITS.get(page_name, 200) and weights
    if page_name != "search.html":  # only it loads the search
        problems["search"] = [file for file in weights if "search" in file]
    opened.change("light", width=1280)
    problems["on a desk"] = opened.visible_problems()
    # Code with its shape comments fits the column of a wide window, also where it was folded
    problems["code"] = opened.page.evaluate(
        """async () => {
            for (const folded of document.querySelectorAll("article details")) folded.open = true;
            document.body.getBoundingClientRect();
            await document.fonts.ready;
            return [...document.querySelectorAll("article .cell_input pre")]
                .filter(e => e.scrollWidth > e.clientWidth + 1)
                .map(e => `scrolls sideways: ${e.textContent.slice(0, 80)}`);
        }"""
    )
    problems["at any time"] = [
        p for p in opened.finish() if page_name != "404.html" or "404" not in p
    ]
    assert not any(problems.values()), problems


def test_no_internal_link_is_broken(book, trees):
    ids = {name: {*tree.xpath("//@id"), *tree.xpath("//a/@name")} for name, tree in trees.items()}
    broken = set()
    for name, tree in trees.items():
        for link in tree.xpath("//a/@href | //img/@src | //link/@href | //script/@src"):
            address, fragment = urldefrag(link)
            if urlsplit(link).scheme or link.startswith("//") or link in ("#", ""):
                continue
            path = unquote(urlsplit(address).path)
            target = (book / name).parent / path if path else book / name
            key = normpath(target.relative_to(book))
            if not target.resolve().exists():
                broken.add(f"{name}: {link}")
            elif fragment and key in ids and unquote(fragment) not in ids[key]:
                broken.add(f"{name}: {link} (no such place)")
    assert not broken, "mend or remove these links:\n" + "\n".join(sorted(broken))


def test_every_notebook_has_its_page_with_links_to_run_it(trees):
    for path in NOTEBOOKS:
        place = path.relative_to(path.parents[1 if path.parent.name == "chapters" else 2])
        name = place.with_suffix("").as_posix()
        links = trees[f"{name}.html"].xpath("//a/@href")
        if path.stem in {"walk", "workshop"}:
            assert any(f"urlpath=lab/tree/{name}.ipynb" in link for link in links), name
            assert any(link.endswith(f"/blob/colab/{name}.ipynb") for link in links), name
        for kind in ("blob", "edit"):
            assert any(f"/{kind}/main/{name}.ipynb" in link for link in links), name


def test_sitemap_and_pages_agree(book, pages):
    places = etree.parse(book / "sitemap.xml").xpath("//*[local-name()='loc']/text()")
    root = min(places, key=len).removesuffix("index.html")
    assert root.startswith("https://")
    assert sorted(place.removeprefix(root) for place in places) == sorted(set(pages) - GENERATED)


def test_head_names_and_describes_each_page(book, trees):
    titles, addresses = [], []
    for name, tree in trees.items():
        head = tree.find("head")
        meta = {m.get("property") or m.get("name"): m.get("content") for m in head.iter("meta")}
        titles.append(head.findtext("title"))
        assert (book / "_static" / meta["og:image"].rsplit("/", 1)[1]).exists()
        if name in GENERATED:
            continue
        assert 25 <= len(meta["description"]) <= 200, f"{name}: {meta['description']}"
        (canonical,) = tree.xpath("//link[@rel='canonical']/@href")
        assert canonical == meta["og:url"]
        addresses.append(canonical)
    assert len(set(titles)) == len(titles)
    assert len(set(addresses)) == len(addresses)


def test_chinese_is_marked_as_chinese(trees):
    for name in ("reference/glossary.html", "reference/notes-map.html", "genindex.html"):
        elements = [e for e in trees[name].iter() if isinstance(e.tag, str)]
        chinese = [e for e in elements if re.search(r"[一-鿿]", e.text or "")]
        assert chinese
        assert all(e.xpath("ancestor-or-self::*[@lang='zh']") for e in chinese), name


def test_plots_are_described_svg_in_the_colours_of_the_theme(trees):
    plots = [plot for tree in trees.values() for plot in tree.xpath("//div[@class='plot']")]
    assert len(plots) > 25
    for plot in plots:
        assert plot.get("role") == "img"
        assert len(plot.get("aria-label").split()) >= 6
        assert len(plot.findall("svg")) == 2  # for a wide column and for a phone
        colours = re.findall(rb"#[0-9a-f]{6}\b", html.tostring(plot))
        assert not colours, f"use a colour of the palette in place of {colours}"


@pytest.mark.parametrize("name", ["gone.html", "chapters/an/old/address.html"])
def test_unknown_address_gets_a_page_that_leads_back(visit, name):
    page = visit(name).page
    assert page.locator("h1").evaluate("e => getComputedStyle(e).fontFamily").startswith("Text")
    page.get_by_role("link", name="the first page").click()
    page.wait_for_url(re.compile(r":\d+/index\.html$"))


@pytest.mark.parametrize("scheme", ["file", "http"])
def test_search_finds_a_term(visit, scheme):
    opened = visit("search.html?q=bandwidth", scheme)
    opened.page.locator("#search-results li a[href*='02-nadaraya-watson/walk']").first.wait_for()
    assert opened.problems == []
    opened.page.goto(opened.page.url.split("?")[0] + "?q=zzzzqqq")
    opened.page.get_by_text("did not match").wait_for()


def test_search_works_where_storage_is_forbidden(visit):
    page = visit("search.html?q=bandwidth").page
    page.set_content(f"<iframe sandbox='allow-scripts' src='{page.url}'></iframe>")
    page.frame_locator("iframe").locator("#search-results li a").first.wait_for()


def test_page_leads_to_the_search_by_mouse_and_keyboard(visit):
    page = visit("reference/notation.html", width=360).page
    words = page.get_by_role("searchbox")

    def type_before_it_runs(route):
        words.fill("bandwidth")
        route.continue_()

    page.route("**/searchtools.js*", type_before_it_runs)
    page.get_by_role("link", name="Search").click()
    page.wait_for_load_state()
    words.press("Enter")
    page.wait_for_url("**/search.html?q=bandwidth*")
    page.locator("#search-results li a").first.wait_for()
    page.goto(page.url.split("search.html")[0] + "index.html", wait_until="load")
    page.keyboard.press("Control+k")
    page.wait_for_url("**/search.html")


def test_book_works_from_a_zip(visit, book, pages, tmp_path):
    folder = tmp_path / "a folder with spaces, ü and #"
    make_zip.write(folder / "book.zip")
    with ZipFile(folder / "book.zip") as packed:
        packed.extractall(folder)
    root = folder / make_zip.NAME
    names = {path.relative_to(root).as_posix() for path in root.rglob("*.html")}
    assert {name for name in names if "_static" not in name} == set(pages) - make_zip.LEFT_OUT
    for name in ("index.html", WALKS[2], "reference/quizzes.html", "search.html?q=bandwidth"):
        opened = visit(name, folder=root)
        assert opened.visible_problems() + opened.finish() == []


def test_walk_becomes_a_pdf_with_an_outline_and_our_fonts(chromium, book, tmp_path):
    walk = book / WALKS[2]
    assert walk in make_pdf.walks(book)
    make_pdf.to_pdf(chromium, walk, tmp_path / "walk.pdf")
    data = (tmp_path / "walk.pdf").read_bytes()
    assert 6 <= len(re.findall(rb"/Type /Page\b(?!s)", data)) <= 20
    assert b"/Outlines" in data
    assert b"Literata" in data
