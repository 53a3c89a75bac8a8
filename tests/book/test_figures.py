"""The interactive figures on the built pages: no barrier in any of their views, in both themes."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_the_figures(visit, soups_with_figures, theme):
    for name in soups_with_figures:
        page = visit(name, theme=theme).page
        page.wait_for_selector(".d2lx > .d2lx")

        def clean(view, page=page, name=name):
            results = Axe().run(page, context=".d2lx")
            assert results.violations_count == 0, f"{name}, {view}: {results.generate_report()}"

        clean("at the start")
        predict = page.get_by_role("button", name="Predict first", disabled=False)
        while predict.count():
            predict.first.click()
            page.wait_for_timeout(100)  # its name changes, and the next one is the first
        clean("while the reader predicts")
        for choose in page.locator(".d2lx").get_by_label(re.compile("View|Read links by")).all():
            choose.select_option(index=1)
        clean("in the second view")


@pytest.fixture(scope="module")
def soups_with_figures(book, pages):
    found = [name for name in pages if "data-d2lx=" in (book / name).read_text("utf8")]
    assert len(found) >= 3
    return found
