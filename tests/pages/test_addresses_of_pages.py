"""What the built book tells others: a map, a card for each page, and a page for no page."""

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from lxml import etree, html

pytestmark = pytest.mark.browser


def test_the_map_and_the_pages_agree(book, pages):
    places = etree.parse(book / "sitemap.xml").xpath("//*[local-name()='loc']/text()")
    home = min(places, key=len)
    assert home.startswith("https://")
    listed = {place.removeprefix(home) or "index.html" for place in places}
    assert len(listed) == len(places)
    made = {"404.html", "genindex.html", "search.html"}  # not written by hand
    assert listed == set(pages) - made


def test_each_page_says_what_it_is_and_where(book, pages):
    titles, addresses = [], []
    for name in pages:
        head = html.parse(book / name).getroot().find("head")
        said = {m.get("property") or m.get("name"): m.get("content") for m in head.iter("meta")}
        titles.append(head.findtext("title"))
        assert titles[-1].endswith("Attention You Can Run"), name
        assert said["og:image"].startswith("https://"), name
        assert (book / "_static" / said["og:image"].rsplit("/", 1)[1]).exists()
        if name in {"404.html", "genindex.html", "search.html"}:
            continue
        assert 25 <= len(said["description"]) <= 200, f"{name}: {said['description']}"
        assert said["og:description"] == said["description"]
        (canonical,) = (e.get("href") for e in head.iter("link") if e.get("rel") == "canonical")
        assert canonical == said["og:url"]
        addresses.append(canonical)
    assert len(set(titles)) == len(titles)
    assert len(set(addresses)) == len(addresses)


def test_a_walk_is_described_by_its_question(book):
    page = html.parse(book / "chapters" / "03-scoring-functions" / "walk.html").getroot()
    (said,) = page.xpath("//meta[@name='description']/@content")
    assert said.startswith("Why is attention sure of itself before it has learned anything")


class LikePages(SimpleHTTPRequestHandler):
    """Gives out 404.html at any address that is nowhere, as the host does."""

    def log_message(self, *arguments):
        pass

    def send_error(self, code, message=None, explain=None):
        body = (self.book / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def like_pages(book):
    LikePages.book = book
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(LikePages, directory=str(book)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.mark.parametrize("where", ["gone.html", "chapters/an/old/address.html"])
def test_an_address_that_is_nowhere_gets_a_page_that_leads_back(chromium, like_pages, where):
    page = chromium.new_page()
    # A browser that reads ahead may ask for scripts at the wrong place first; what counts is loaded
    with page.expect_response(f"{like_pages}_static/book.css") as style:
        assert page.goto(like_pages + where).status == 404
    assert style.value.ok
    assert "no such page" in page.locator("h1").inner_text()
    font = page.locator("h1").evaluate("e => getComputedStyle(e).fontFamily")
    assert font.startswith("Text")
    page.get_by_role("link", name="the first one").click()
    page.wait_for_url(re.compile(r":\d+/index\.html$"))
    page.close()
