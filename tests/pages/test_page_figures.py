"""Built pages with interactive figures, from a folder: no barrier in any view, in both themes."""

import re
from functools import partial

import pytest

pytestmark = pytest.mark.browser

# What these rules look at differs in the themes; what all others look at does not.
COLOURS = ["color-contrast", "link-in-text-block"]


def test_pages_with_figures_are_found(pages_with_figures):
    assert len(pages_with_figures) >= 3


def test_a_page_works_from_a_folder(visit, figures_on):
    seen = visit(figures_on, "file")
    seen.page.wait_for_selector(".d2lx > .d2lx")
    assert seen.look() + seen.end() == []


# The figures alone are asked each time (test_explorable_pages.py), in each of their views.
@pytest.mark.weekly
def test_axe_finds_nothing_in_its_figures(visit, accessible, figures_on):
    seen = visit(figures_on, "file")
    page = seen.page
    page.wait_for_selector(".d2lx > .d2lx")

    clean = partial(accessible, page, context=".d2lx")

    def clean_in_both_themes(view, **options):
        clean(f"{view}, light", **options)
        seen.turn("dark")
        clean(f"{view}, dark", runOnly=COLOURS)
        seen.turn("light")

    clean("in its page", rules={rule: {"enabled": False} for rule in COLOURS})
    # A colour stands before those of the elements around it: the text beside can go.
    page.evaluate(
        """() => document.querySelectorAll("article :not(style, :has(.d2lx), .d2lx, .d2lx *)")
            .forEach((one) => one.remove())"""
    )
    clean_in_both_themes("at the start", runOnly=COLOURS)
    for more in page.locator(".d2lx-fold > summary").all():
        more.click()
    predict = page.get_by_role("button", name="Predict first", disabled=False)
    if predict.count():
        while predict.count():
            predict.first.click()
            seen.wait_for_frame()  # its name changes, and the next one is the first
        clean_in_both_themes("while the reader predicts")
    views = page.locator(".d2lx").get_by_label(re.compile("View|Read links by")).all()
    for choose in views:
        choose.select_option(index=1)
    if views:
        clean_in_both_themes("in the second view")
    assert seen.end() == []
