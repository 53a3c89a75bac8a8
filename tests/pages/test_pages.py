"""Every page of the built book, in a real browser with the network cut."""

from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from lxml import html

pytestmark = pytest.mark.browser


CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"


def page_of(path: Path) -> str:
    return f"chapters/{path.parent.name}/{path.stem}.html"


def test_every_chapter_is_in_the_book(pages):
    chapters = {page_of(path) for path in CHAPTERS.glob("[0-9]*/*.ipynb")}
    assert chapters
    assert chapters | {"index.html"} <= set(pages)


def test_a_reader_stumbles_over_nothing(visit, page_name):
    seen = visit(page_name, "http", 360, "dark")
    troubles = {"on a phone": seen.look()}
    seen.turn("light", width=1280)
    troubles["at a desk"] = seen.look() + scrolling_code(seen.page)
    troubles["at any time"] = seen.end()
    assert troubles == {"on a phone": [], "at a desk": [], "at any time": []}


def test_the_landing_page_works_from_a_folder(visit):
    seen = visit("index.html", "file")
    assert seen.look() + seen.end() == []


def test_pages_load_one_style_sheet_and_one_script_and_only_two_pages_load_more(trees):
    def loaded(name):
        links = trees[name].xpath("//script/@src | //link[@rel='stylesheet']/@href")
        folder = Path(name).parent
        return {normpath(folder / urlsplit(link).path) for link in links}

    shared = {"_static/book.css", "_static/book.js"}
    more = {name: loaded(name) - shared for name in trees}
    assert all(loaded(name) >= shared for name in trees)
    assert {name for name, paths in more.items() if paths} == {"index.html", "search.html"}
    assert more["index.html"] == {"_static/landing.js"}


def scrolling_code(page) -> list[str]:
    """Code with its shape comments fits the column of a wide window, opened if it was folded."""
    return page.evaluate(
        """() => {
            for (const folded of document.querySelectorAll("article details")) folded.open = true;
            return [...document.querySelectorAll("article .cell_input pre")]
                .filter(e => e.scrollWidth > e.clientWidth + 1)
                .map(e => `scrolls: ${e.textContent.slice(0, 80)}`);
        }"""
    )


@pytest.fixture(scope="module")
def trees(book, pages):
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
    return {name: html.parse(book / name, parser).getroot() for name in pages}


def test_no_internal_link_is_broken(book, trees):
    ids = {name: {*tree.xpath("//@id"), *tree.xpath("//a/@name")} for name, tree in trees.items()}
    broken = []
    for name, tree in trees.items():
        for link in tree.xpath("//a/@href | //img/@src | //link/@href | //script/@src"):
            address, fragment = urldefrag(link)
            if urlsplit(link).scheme or link.startswith("//") or link in ("#", ""):
                continue
            path = unquote(urlsplit(address).path)
            target = (book / name).parent / path if path else book / name
            if not target.resolve().exists():
                broken.append(f"{name}: {link}")
                continue
            key = str(target.resolve().relative_to(book.resolve()))
            if fragment and key in ids and unquote(fragment) not in ids[key]:
                broken.append(f"{name}: {link} (no such place)")
    assert sorted(set(broken)) == []


def test_the_index_has_every_term_and_few_letters(trees):
    index, glossary = trees["genindex.html"], trees["reference/glossary.html"]
    names = {link.text_content() for link in index.xpath("//ul[contains(@class, 'entries')]//a")}
    assert len(glossary.xpath("//dt/@id")) > 200
    linked = {
        urldefrag(link)[1] for link in index.xpath("//ul[contains(@class, 'entries')]//a/@href")
    }
    assert linked >= set(glossary.xpath("//dt/@id"))
    assert {"attention", "注意力"} <= names
    sections = set(index.xpath("//article//section/@id"))
    assert {
        link.removeprefix("#") for link in index.xpath("//nav[@class='letters']/a/@href")
    } == sections
    assert len(sections) <= 28


def test_every_notebook_page_offers_binder(trees):
    notebooks = {page_of(path).removesuffix(".html") for path in CHAPTERS.glob("[0-9]*/*.ipynb")}
    assert notebooks
    for name in notebooks:
        links = trees[f"{name}.html"].xpath("//a/@href")
        launches = [link for link in links if "mybinder.org" in link]
        assert launches, name
        for link in launches:
            # the chapter itself, in JupyterLab; its workshop is beside it in the list of files
            assert urlsplit(link).query == f"urlpath=lab/tree/{name}.ipynb"


@pytest.mark.parametrize("scheme", ["file", "http"])
def test_search_finds_a_term(visit, scheme):
    seen = visit("search.html?q=bandwidth", scheme)
    seen.page.wait_for_selector("#search-results li a", timeout=15000)
    assert seen.troubles == []
    found = seen.page.eval_on_selector_all(
        "#search-results li a", "links => links.map(a => a.getAttribute('href'))"
    )
    assert any("02-nadaraya-watson/walk" in link for link in found)
    seen.page.goto(seen.page.url.split("?")[0] + "?q=zzzzqqq")
    seen.page.wait_for_function(
        "document.querySelector('#search-results')?.innerText.includes('did not match')"
    )
    assert seen.page.query_selector("#search-results li") is None


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("name", ["index.html", "reference/notation.html"])
def test_a_page_leads_to_the_search_by_mouse_and_by_keys(visit, name, width):
    page = visit(name, width=width).page
    page.get_by_role("link", name="Search").click()
    page.wait_for_function("document.activeElement?.name === 'q'")
    page.keyboard.type("bandwidth")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a", timeout=15000)
    page.go_back()
    page.go_back()
    page.keyboard.press("Control+k")
    page.wait_for_url("**/search.html")


def test_the_theme_switch_turns_all_pages_dark(chromium, addresses):
    context = chromium.new_context(color_scheme="light")
    page = context.new_page()
    page.goto(addresses["http"])
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    dark = page.evaluate(background)
    assert dark != light
    page.goto(addresses["http"] + "reference/glossary.html")
    assert page.evaluate(background) == dark
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(background) == light
    context.close()
