"""Which would you sign?: the built page as somebody meets it to whom it was forwarded."""

import re

import pytest

pytestmark = pytest.mark.browser

NAME = "chapters/which-would-you-sign.html"
PHONE = {"width": 360, "height": 740}


@pytest.fixture
def opened(chromium, addresses):
    """Open the page in a window of its own, without a network; nothing may fail there."""
    troubles, contexts = [], []

    def open_page(scheme="file", address=None, **options):
        context = chromium.new_context(**({"viewport": PHONE} | options))
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        if scheme == "file":
            context.set_offline(True)
        page.goto(address or addresses[scheme] + NAME)
        page.wait_for_selector(".d2lx-sign")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def answer(page, signs: str) -> list[str]:
    """Go through the five pictures, and give what is said of each."""
    told = []
    for sign in signs:
        page.get_by_role("button", name="I sign" if sign == "y" else "I don’t").click()
        told.append(page.locator("[data-name='told']:visible").inner_text())
        page.locator(".d2lx-onward").click()
    return told


def test_somebody_who_trusts_their_eyes_is_right_once(opened):
    page = opened()
    told = answer(page, "nyyny")
    assert [" right: " in one for one in told] == [False, True, False, False, False]
    assert page.locator("[data-name='score']").inner_text() == "You were right about 1 of 5."


def test_somebody_who_tests_first_is_right_about_all(opened):
    page = opened(has_touch=True)
    for turned, signs in (
        ({"girl": "le"}, "y"),
        ({"the": "la"}, "y"),
        ({"old": "vieille", "she": "vieux"}, "n"),
        ({"him": "lui", "spoke": "leur"}, "y"),
        ({"the": "le", "horse": "la"}, "n"),
    ):
        for word, becomes in turned.items():
            states = page.locator(".d2lx-states button")
            states.filter(has_text=re.compile(rf"^{word}\b")).tap()
            asked = page.locator(".d2lx-asks")
            asked.get_by_text(becomes, exact=True).wait_for()
        answer(page, signs)
    assert page.locator("[data-name='score']").inner_text() == "You were right about 5 of 5."
    assert page.get_by_role("button", name="Pass it on").is_visible()
    back = page.get_by_role("navigation", name="Ways on").get_by_role("link").first
    assert "04b-believe-the-picture/walk" in back.get_attribute("href")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_before_or_after_the_answers(opened, accessible, theme):
    page = opened(color_scheme=theme)

    def clean(when):
        page.wait_for_timeout(600)  # a word that turns is seen through for half a second
        accessible(page, when)

    clean("at the start")
    answer(page, "nyyny")
    clean("at the end")


def test_it_says_what_it_is_without_scripts_and_where_it_is_linked(book):
    page = (book / NAME).read_text(encoding="utf-8")
    said = dict(re.findall(r'<meta (?:name|property)="([\w:]+)" content="([^"]*)">', page))
    assert said["og:title"].startswith("Which would you sign?")
    assert said["og:description"] == said["description"]
    assert "five attention pictures" in said["description"].lower()
    assert said["og:image"].endswith("/_static/card-sign.png")
    assert (book / "_static" / "card-sign.png").exists()
    # Nobody has to know anything, and so nothing is asked for
    assert "You need" not in page
    assert '<dl class="facts">' not in page
    assert "Interactive figure: which of these attention pictures would you sign?" in page
    landing = (book / "index.html").read_text(encoding="utf-8")
    assert f'href="{NAME}"' in landing
