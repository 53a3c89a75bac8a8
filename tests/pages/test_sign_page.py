"""Which would you sign?: the page that readers pass on, on a phone without a network."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

NAME = "chapters/which-would-you-sign.html"
# For each picture: which states turn which word, and whether to sign it
RIGHT = [
    ({"girl": "le"}, True),
    ({"the": "la"}, True),
    ({"old": "vieille", "she": "vieux"}, False),
    ({"him": "lui", "spoke": "leur"}, True),
    ({"the": "le", "horse": "la"}, False),
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_reader_who_tests_first_is_right_about_all(visit, accessible, theme):
    opened = visit(NAME, "file", width=360, theme=theme, has_touch=True, offline=True)
    page = opened.page
    accessible(page, "at the start")
    for turned, sign in RIGHT:
        for word, becomes in turned.items():
            states = page.locator(".d2lx-states button")
            states.filter(has_text=re.compile(rf"^{word}\b")).tap()
            page.locator(".d2lx-asks").get_by_text(becomes, exact=True).wait_for()
        page.get_by_role("button", name="I sign" if sign else "I don’t").click()
        page.locator(".d2lx-onward").click()
    expect(page.locator("[data-name='score']")).to_have_text("You were right about 5 of 5.")
    expect(page.get_by_role("button", name="Pass it on")).to_be_visible()
    accessible(page, "at the end")
    assert opened.problems == []


def test_card_and_landing_page_lead_to_it(book):
    page = (book / NAME).read_text(encoding="utf-8")
    assert '<meta property="og:title" content="Which would you sign?' in page
    assert "/_static/card-sign.png" in page
    assert f'href="{NAME}"' in (book / "index.html").read_text(encoding="utf-8")
