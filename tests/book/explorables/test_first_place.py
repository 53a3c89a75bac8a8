"""First place: what the slider shows, and what does not fit together."""

import pytest
from explorable_pages import first_place, frame


@pytest.mark.browser
def test_the_slider_counts_the_words_and_strikes_out_what_is_wrong(visit):
    page = visit(first_place().to_html())
    assert page.locator(".d2lx-place").all_inner_texts() == ["0", "1", "2", "3"]
    assert page.locator("del").count() == 0
    page.get_by_role("slider").fill("1")
    frame(page)
    assert page.locator(".d2lx-place").all_inner_texts() == ["1", "2", "3", "4"]
    assert page.locator("del").all_inner_texts() == ["la"]
    assert page.locator("[data-name=bleu-0]").inner_text() == "61.5"
    page.get_by_role("button", name="From 2").click()
    frame(page)
    assert page.locator("[data-name=bleu-0]").inner_text() == "30.2"
