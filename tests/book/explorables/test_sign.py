"""Which would you sign: what it accepts, its verdicts, and a visitor's minute with it."""

import copy
import re
from urllib.parse import unquote

import pytest
from explorable_pages import HOSTILE, PICTURES, assert_words_are_text, contrast, frame, sign
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn.book.explorables import Sign
from d2lattn.book.explorables.sign import pointed, verdicts

few = settings(
    deadline=None,
    max_examples=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}


def changed(**parts):
    return [PICTURES[0] | parts]


@pytest.mark.parametrize(
    ("pictures", "words"),
    [
        ([], "holds 0"),
        ("picture", "a mapping is needed"),
        ([{"source": ["a"]}], "has no asked"),
        ([7], "a mapping is needed"),
        (changed(other=["the", "cat"]), "as many words"),
        (changed(source=["a"] * 13, other=["a"] * 13), "at most 12"),
        (changed(weights=[[1, 0, 0]]), "3 rows of 3"),
        (changed(weights=[[1, 0, 2]] * 3), "from 0 to 1"),
        (changed(asked=3), "a place from 0 to 2"),
        (changed(gold=[]), "gold is empty"),
        (changed(gold=[True]), "a place from 0 to 2"),
        (changed(hidden=[["le", 0.9]]), "hidden has 1 entries"),
        (changed(exchanged=[["le", float("nan")]] * 3), "finite"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_unusable_pictures_are_told(pictures, words):
    with pytest.raises(ValueError, match=words):
        Sign(pictures)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"case": 2}, "0 … 1"),
        ({"swaps": [0]}, "1 entries; 2 are needed"),
        ({"swaps": [0, 2]}, "-1 … 1 is needed"),
        ({"swaps": [0, -2]}, "places"),
        ({"answers": ["no", "maybe"]}, "'', 'yes' or 'no'"),
        ({"keys": 1}, "has no keys"),
    ],
)
def test_unusable_state_is_told(state, words):
    with pytest.raises(ValueError, match=words):
        sign(**state)


def test_the_verdicts_are_those_of_the_definitions():
    assert verdicts(PICTURES[0]) == {"plausible": False, "used": True, "needed": True}
    assert verdicts(PICTURES[1]) == {"plausible": True, "used": False, "needed": False}


def told(page) -> str:
    return page.locator("[data-name='told']").inner_text()


def shown(page) -> dict[str, bool]:
    return {
        name: page.locator(f"[data-name='{name}']").inner_text().endswith("yes")
        for name in ("plausible", "used", "needed")
    }


def press(page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    frame(page)


@st.composite
def pictures(draw):
    """A sentence of some words, with any weights and any words that its states turn it into."""
    size, height = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    asked = draw(st.integers(0, height - 1))
    weights = st.lists(st.integers(0, 20), min_size=size, max_size=size)
    word = st.tuples(
        st.sampled_from([f"t{asked}", "turned", "third"]), st.sampled_from([0.5, 0.625, 0.999])
    )
    words = st.lists(word.map(list), min_size=size, max_size=size)
    return {
        "source": [f"s{i}" for i in range(size)],
        "target": [f"t{i}" for i in range(height)],
        "other": [f"o{i}" for i in range(size)],
        "asked": asked,
        "weights": [[x / 20 for x in draw(weights)] for _ in range(height)],
        "gold": sorted(draw(st.sets(st.integers(0, size - 1), min_size=1))),
        "turned": "turned",
        "exchanged": draw(words),
        "hidden": draw(words),
        "made": "Drawn at random.",
    }


@pytest.mark.browser
@given(pictures(), st.booleans())
@few
def test_the_page_judges_as_python_does(visit, picture, signs):
    page = visit(Sign([picture]).to_html(), again=True)
    lines = page.locator(".d2lx-asked")
    row = picture["weights"][picture["asked"]]
    for line in lines.all():
        place = int(line.get_attribute("data-link").split()[0])
        assert float(line.get_attribute("stroke-width")) == pytest.approx(
            max(0.7, 15 * row[place]), abs=0.006
        )
    assert lines.count() == sum(x > 0 for x in row)
    for place, (word, chance) in enumerate(picture["exchanged"]):
        states = page.locator(".d2lx-states button")
        states.nth(place).click()
        frame(page)
        result = page.locator("[data-name='tried']").inner_text()
        assert f"({chance:.3f})" in result
        assert ("becomes" in result) == (word != picture["target"][picture["asked"]])
    press(page, "I sign" if signs else "I don’t")
    found = verdicts(picture)
    assert shown(page) == found
    assert ("you were right" in told(page)) == (signs == found["used"])
    place = pointed(picture)
    assert f"the state at s{place} was " in told(page)
    assert ("was not used" in told(page)) == (not found["used"])


@pytest.mark.browser
def test_a_minute_by_keyboard_alone(visit):
    page = visit(sign().to_html())

    def to(name):
        """Tab to what is called so."""
        for _ in range(20):
            page.keyboard.press("Tab")
            text = page.evaluate("document.activeElement.innerText || ''")
            if re.fullmatch(name, text.strip(), re.DOTALL):
                return
        pytest.fail(f"no key leads to {name}")

    to("cat.*")
    page.keyboard.press("Space")
    frame(page)
    assert page.locator(".d2lx-asks ins").inner_text() == "la"
    assert page.get_by_role("button", pressed=True).inner_text().startswith("⇄ cow") or (
        page.get_by_role("button", pressed=True).locator(".d2lx-word").inner_text() == "cow"
    )
    page.keyboard.press("Space")
    frame(page)
    assert page.locator(".d2lx-asks ins").count() == 0
    to("I don’t")
    page.keyboard.press("Enter")
    frame(page)
    # The buttons are gone: the focus is on what they led to, and a held key goes no further.
    assert page.evaluate("document.activeElement.dataset.name") == "told"
    assert told(page) == "You did not sign, and you were wrong: the state at cat was used."
    # What was not tested is tested now, in sight.
    assert page.locator(".d2lx-asks ins").inner_text() == "la"
    to("Next picture")
    page.keyboard.press("Enter")
    frame(page)
    assert "chantent" in page.evaluate("document.activeElement.innerText")
    to("I don’t")
    page.keyboard.press("Enter")
    to("Your score")
    page.keyboard.press("Enter")
    frame(page)
    assert page.evaluate("document.activeElement.innerText") == "You were right about 1 of 2."
    cells = [row.split() for row in page.locator("tbody tr").all_inner_texts()]
    assert [row[-6:] for row in cells] == [
        ["✗", "no", "✓", "yes", "✓", "yes"],
        ["✓", "yes", "✗", "no", "✗", "no"],
    ]


@pytest.mark.browser
def test_what_was_signed_survives_a_reload_the_way_back_and_a_tap(visit):
    page = visit(sign().to_html(), "<a href='#far'>far</a><p id=far>Far</p>", scheme="http")
    press(page, "I sign")
    press(page, "Next picture")
    press(page, "I sign")
    before = told(page)
    page.wait_for_timeout(400)  # the address is written once the hand rests
    page.reload()
    page.wait_for_selector(".d2lx-sign")
    frame(page)
    assert told(page) == before
    assert "right about 1 of 2" in page.locator("[data-name='score']").inner_text()
    page.get_by_text("far", exact=True).click()
    page.get_by_role("button", name=re.compile("Picture 1 of 2")).click()
    frame(page)
    first = told(page)
    page.wait_for_timeout(400)
    page.go_back()
    frame(page)
    assert told(page) == first
    press(page, "Start again")
    assert page.get_by_role("button", name="I sign").is_visible()
    assert not page.locator("[data-name='score']").is_visible()
    press(page, "Bring my 2 answers back")
    assert told(page) == first
    # One tap on another picture takes nothing away either.
    page.get_by_role("button", name=re.compile("Picture 2 of 2")).click()
    frame(page)
    assert told(page) == before


@pytest.mark.browser
def test_a_link_shows_the_same_picture_and_leaves_the_signing_to_its_reader(visit):
    page = visit(sign().to_html(), scheme="http")
    press(page, "I sign")
    press(page, "Next picture")
    page.get_by_role("button", name="she").click()
    frame(page)
    page.wait_for_timeout(400)
    sent = page.evaluate("location.hash")
    assert unquote(sent) == "#d2lx.sign.case=1&d2lx.sign.swaps=[2,0]"
    other = visit(sign().to_html(), scheme="http", hash=sent)
    assert other.locator(".d2lx-asks ins").inner_text() == "chantent"
    assert other.get_by_role("button", name="I sign").is_visible()
    for bad in ("#d2lx.sign.case=7", "#d2lx.sign.swaps=[12,0]", "#d2lx.sign.swaps=[0]"):
        other = visit(sign().to_html(), scheme="http", hash=bad)
        assert "write le, not la" in other.locator(".d2lx-claim:visible").inner_text()
        assert other.locator("ins").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize(
    "bad", ["{", "null", '{"answers":["yes"]}', '{"answers":["maybe","no"]}', '{"answers":7}']
)
def test_what_somebody_else_kept_is_not_taken(visit, bad):
    page = visit(sign().to_html(), scheme="http")
    press(page, "I sign")
    page.evaluate(
        """(bad) => Object.keys(sessionStorage).filter((key) => key.includes(location.pathname))
          .forEach((key) => sessionStorage.setItem(key, bad))""",
        bad,
    )
    page.reload()
    page.wait_for_selector(".d2lx-sign")
    frame(page)
    assert page.get_by_role("button", name="I sign").is_visible()


@pytest.mark.browser
def test_a_finger_hits_every_word_and_the_first_screen_holds_the_question(visit):
    page = visit(sign().to_html(), **PHONE)
    for one in page.locator(".d2lx-states button").all():
        box = one.bounding_box()
        assert box["height"] >= 28
        assert box["width"] >= 40
    page.locator(".d2lx-states button").first.tap()
    frame(page)
    assert "le stays" in page.locator("[data-name='tried']").inner_text()
    button = page.get_by_role("button", name="I sign")
    box = button.bounding_box()
    assert box["height"] >= 44
    assert box["y"] + box["height"] < 640
    button.tap()
    frame(page)
    assert "you were right" in told(page)


@pytest.mark.browser
def test_forced_colours_show_what_is_exchanged_and_where_it_looked(visit):
    page = visit(sign(swaps=[2, -1]).to_html())
    page.emulate_media(forced_colors="active")
    look = """e => [getComputedStyle(e, '::before').backgroundColor,
        getComputedStyle(document.querySelector('.d2lx')).backgroundColor]"""
    states = page.locator(".d2lx-states button")
    assert contrast(page, *states.nth(0).evaluate(look)) >= 3
    # Hollow, and named by another shape besides
    assert contrast(page, *states.nth(2).evaluate(look)) < 1.5
    assert (
        page.locator(".d2lx-states [aria-pressed=true] .d2lx-word")
        .evaluate("e => getComputedStyle(e, '::before').content")
        .startswith('"⇄')
    )
    line = page.locator(".d2lx-asked").first.evaluate(
        """e => [getComputedStyle(e).stroke,
            getComputedStyle(document.querySelector('.d2lx')).backgroundColor]"""
    )
    assert contrast(page, *line) >= 3


@pytest.mark.browser
@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_word_turns_only_for_those_who_like_motion(visit, motion):
    page = visit(sign(swaps=[2, -1]).to_html())
    page.emulate_media(reduced_motion=motion)
    name = page.locator("ins").evaluate("e => getComputedStyle(e).animationName")
    assert name == ("none" if motion == "reduce" else "d2lx-turn")


@pytest.mark.browser
def test_the_address_that_is_passed_on_begins_at_the_beginning(visit):
    page = visit(sign().to_html(), scheme="http")
    for _ in range(2):
        press(page, "I sign")
        page.locator(".d2lx-onward").click()
        frame(page)
    page.wait_for_timeout(400)
    assert "case=1" in page.evaluate("location.hash")
    page.evaluate(
        """() => Object.defineProperty(navigator, 'clipboard', { value: {
          writeText: async (text) => { globalThis.copied = text; } } })"""
    )
    press(page, "Pass it on")
    frame(page)
    assert page.evaluate("copied") == page.url.split("#")[0]


@pytest.mark.browser
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda word: word[:12])
def test_words_stay_words(visit, hostile):
    given = copy.deepcopy(PICTURES)
    one = given[0]
    one["source"][0] = one["other"][0] = one["target"][0] = one["turned"] = one["made"] = hostile
    one["exchanged"][2] = one["hidden"][0] = [hostile, 0.5]
    page = visit(Sign(given, lesson=hostile).to_html(), width=360)
    page.locator(".d2lx-states button").nth(2).click()
    press(page, "I sign")
    assert_words_are_text(page)


@pytest.mark.browser
def test_words_look_like_something_to_tap_and_each_french_word_has_its_dot(visit):
    page = visit(sign().to_html())
    paper = page.evaluate("getComputedStyle(document.querySelector('.d2lx')).backgroundColor")
    under = page.locator(".d2lx-word").first.evaluate(
        "e => { const s = getComputedStyle(e); return [s.borderBottomStyle, s.borderBottomColor]; }"
    )
    assert under[0] == "dotted"
    assert contrast(page, under[1], paper) >= 3
    for dot in page.locator(".d2lx-french li").all():
        width, colour = dot.evaluate(
            """e => { const s = getComputedStyle(e, '::before');
                return [s.borderTopWidth, s.borderTopColor]; }"""
        )
        assert width == "2px"
        assert contrast(page, colour, paper) >= 3
