"""Forge and audit: what it accepts, its numbers beside d2l's own, and a reader's way."""

import copy
import re

import pytest
import torch
from explorable_pages import HOSTILE, SENTENCES, assert_words_are_text, forge, frame, live, shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn.analysis.metrics import alignment_links, alignment_scores, diagonal_links, shift_links
from d2lattn.book.explorables import Forge

few = settings(
    deadline=None,
    max_examples=20,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

ANSWERS = {
    "plausible": "Plausible only",
    "faithful": "Faithful only",
    "both": "Both",
    "neither": "Neither",
}


def translators(weights, changes=None, bleu=96.0):
    one = {
        "bleu": bleu,
        "weights": weights,
        "translations": [" ".join(pair["target"]) for pair in SENTENCES],
        "changes": changes or [[[x > 0.5 for x in row] for row in rows] for rows in weights],
    }
    return {"a": one, "b": copy.deepcopy(one)}


OWN = [one["weights"] for one in SENTENCES]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], translators([]), [0]), "shown holds"),
        ((SENTENCES, translators(OWN), []), "shown holds 0"),
        ((SENTENCES, translators(OWN), [2]), "shown holds 2"),
        ((SENTENCES, {"a": translators(OWN)["a"]}), "two names"),
        ((SENTENCES, {"a": {}, "b": {}}), "has no bleu"),
        ((SENTENCES, translators(OWN[:1])), "weights has 1 entries"),
        ((SENTENCES[:1], translators([OWN[0][:-1]])), "translations has 2"),
        ((SENTENCES, translators([OWN[0], [[2, 0]] * 3])), "from 0 to 1"),
        ((SENTENCES, translators([OWN[0], [[0.5, 0.5, 0]] * 3])), "3 rows of 2, without <eos>"),
        ((SENTENCES, translators(OWN, [OWN[0], [[0, 1]]])), "3 rows of 2"),
        (([SENTENCES[0], {"source": ["a"]}], translators(OWN)), "has no target"),
        (([SENTENCES[0], SENTENCES[1] | {"sure": [(1, 0)]}], translators(OWN)), "possible does"),
        ((SENTENCES, translators(OWN, bleu=float("nan"))), "finite"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_unusable_sentences_are_told(arguments, words):
    with pytest.raises(ValueError, match=words):
        Forge(*arguments)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"sentence": 2}, "0 … 1"),
        ({"case": 9}, "0 … 8"),
        ({"threshold": 0.33}, "multiple of 0.05"),
        ({"shift": 2}, "from -1 to 1"),
        ({"darkest": 0}, "from 0.05 to 1"),
        ({"view": "look"}, "forge, audit"),
        ({"answers": ["yes"]}, "list of plausible"),
        ({"opened": ["gold"]}, "list of lists"),
        ({"keys": 1}, "has no keys"),
    ],
)
def test_unusable_state_is_told(state, words):
    with pytest.raises(ValueError, match=words):
        forge(**state)


@st.composite
def judged(draw):
    """A sentence, the weights of two translators, and what hiding each state changes."""
    num_source, num_target = draw(st.integers(1, 6)), draw(st.integers(2, 6))
    places = st.tuples(st.integers(0, num_source - 1), st.integers(0, num_target - 1))
    possible = draw(st.frozensets(places, max_size=8))
    sure = frozenset(link for link in possible if draw(st.booleans()))
    row = st.lists(st.integers(0, 40), min_size=num_source, max_size=num_source).filter(any)
    rows = st.lists(row, min_size=num_target, max_size=num_target)
    weights = [torch.tensor(draw(rows), dtype=torch.float32) for _ in range(2)]
    flags = st.lists(st.booleans(), min_size=num_source, max_size=num_source)
    changes = [draw(st.lists(flags, min_size=num_target, max_size=num_target)) for _ in range(2)]
    sentence = {
        "source": [f"s{i}" for i in range(num_source)],
        "target": [f"t{i}" for i in range(num_target)],
        "sure": sure,
        "possible": possible,
    }
    return sentence, [w / w.sum(-1, keepdim=True) for w in weights], changes


@pytest.mark.browser
@given(
    st.lists(judged(), min_size=1, max_size=3),
    st.integers(0, 1),
    st.integers(-1, 1),
    st.integers(0, 19),
)
@few
def test_evidence_is_that_of_the_metrics(visit, given_, drawn, shift, twentieths):
    sentences, weights, changes = zip(*given_, strict=True)
    threshold = twentieths / 20
    models = {
        name: {
            "bleu": 90,
            "translations": ["t"] * len(sentences),
            "weights": [pair[who] for pair in weights],
            "changes": [pair[who] for pair in changes],
        }
        for who, name in enumerate("ab")
    }
    figure = Forge(sentences, models, [0], drawn=drawn, shift=shift, threshold=threshold)
    page = visit(figure.to_html(), again=True)
    # Links are read off the picture: the largest weight of a row, where it is not left white.
    links, diagonal, gold, changed, other = [], [], [], [], []
    for one, pair, effects in given_:
        matrix, height, size = pair[drawn], len(one["target"]), len(one["source"])
        reached = alignment_links(matrix, threshold - 1e-6)
        seen = shift_links(alignment_links(matrix) & reached, shift, height)
        links.append(seen)
        diagonal.append(diagonal_links(size, height))
        gold.append((one["sure"], one["possible"]))
        for source, target in seen:
            effect = torch.tensor(effects[drawn][target]).double()
            changed.append(effect[source].item())
            rest = torch.cat((effect[:source], effect[source + 1 :]))
            other.append(rest.mean().item() if size > 1 else 0.0)

    def error(found, where):
        sure, possible = zip(*gold[where], strict=True)
        try:
            return alignment_scores(found[where], sure, possible).error_rate
        except ValueError:
            return float("nan")

    close = lambda x: pytest.approx(x, abs=1e-6, nan_ok=True)  # noqa: E731
    for name, where in (("here", slice(0, 1)), ("all", slice(None))):
        assert shown(page, f"{name}-error") == close(error(links, where))
        assert shown(page, f"{name}-diagonal") == close(error(diagonal, where))
    mean = lambda xs: sum(xs) / len(xs) if xs else float("nan")  # noqa: E731
    assert shown(page, "all-changed") == close(mean(changed))
    # Sent with three decimals.
    assert shown(page, "all-other") == pytest.approx(mean(other), abs=1e-3, nan_ok=True)


def text(page, name):
    return page.locator(f"[data-name='{name}']").inner_text()


@pytest.mark.browser
def test_random_links_are_the_mean_of_all_draws(visit):
    page = visit(forge().to_html())
    sure = sum(len(one["sure"]) / len(one["source"]) for one in SENTENCES)
    possible = sum(len(one["possible"]) / len(one["source"]) for one in SENTENCES)
    num_words, num_sure = 9, sum(len(one["sure"]) for one in SENTENCES)
    wanted = 1 - (sure + possible) / (num_words + num_sure)
    assert shown(page, "all-uniform") == pytest.approx(wanted, abs=1e-3)


@pytest.mark.browser
def test_a_forger_changes_the_picture_and_the_page_names_it(visit):
    page = visit(forge().to_html())
    main = page.locator(".d2lx-stage")
    colours = lambda: main.locator("rect[data-value]").evaluate_all(  # noqa: E731
        "all => all.map(one => one.getAttribute('fill') + one.getAttribute('fill-opacity'))"
    )
    before, error = colours(), shown(page, "all-error")
    sentence = page.locator(".d2lx-forge > div").first
    head = sentence.inner_text().split("\n")[0]
    assert "Nothing changed" in page.locator(".d2lx-forge").inner_text()
    page.get_by_role("slider", name="Full ink from").press("Home")
    frame(page)
    assert colours() != before
    assert shown(page, "all-error") == error
    assert "full ink begins at 0.05" in sentence.inner_text()
    page.get_by_role("button", name="Slip of one row").click()
    frame(page)
    # The last word has no row any more.
    assert [one.startswith("url") for one in colours()] == [False] * 30 + [True] * 6
    assert shown(page, "all-error") > error
    assert "the label of the word before its own" in sentence.inner_text()
    assert "full ink" not in sentence.inner_text().split("You changed")[1]
    page.get_by_role("slider", name="No ink below").press("End")
    frame(page)
    assert "weights under 0.95 have no ink" in sentence.inner_text()
    page.get_by_label("Encoder").select_option("forwards")
    frame(page)
    # The translation stays, and so does what is said of BLEU.
    assert sentence.inner_text().split("\n")[0] == head
    assert "forwards 95.8, both ways 96.8" in sentence.inner_text()
    page.get_by_role("button", name="Reset").locator("visible=true").click()
    frame(page)
    assert colours() == before
    assert shown(page, "all-error") == error


@pytest.mark.browser
def test_gold_is_outlined_where_the_label_says(visit):
    page = visit(forge().to_html())
    boxes = page.locator(".d2lx-stage [data-gold=sure]")
    assert boxes.count() == 0
    page.get_by_label("Outline gold links").check()
    frame(page)
    assert boxes.count() == len(SENTENCES[0]["sure"])
    places = lambda: boxes.evaluate_all(  # noqa: E731
        "all => all.map(one => [one.getAttribute('x'), one.getAttribute('y')])"
    )
    before = places()
    page.get_by_role("slider", name="Label of a row").press("ArrowLeft")
    frame(page)
    assert places() == before
    # In a blind case the word without a row is not there.
    page.get_by_label("View").select_option(index=1)
    cases(page).select_option(index=1)
    page.get_by_role("button", name="Error rate against gold").click()
    frame(page)
    assert boxes.count() == sum(t < 2 for _, t in SENTENCES[1]["sure"])


def readings(**state):
    """Two heads of one translator; the second looks at the last word, whatever it writes."""
    own = [one["weights"] for one in SENTENCES]
    late = [[[0.0] * (len(row) - 1) + [1.0] for row in rows] for rows in own]
    one = translators(own)["a"]
    sentences = [one | {"agreement": [(len(one["source"]) - 1, 0)]} for one in SENTENCES]
    return Forge(sentences, {"head 1": one, "head 2": one | {"weights": late}}, [0, 1], **state)


def test_of_one_translator_no_picture_stands_in_for_another():
    both, one = forge().data, readings().data
    assert (both["one_model"], one["one_model"]) == (False, True)
    assert any(case["drawn"] != case["tested"] for case in both["cases"])
    assert all(case["drawn"] == case["tested"] for case in one["cases"])
    assert [case["words"] for case in one["cases"]] == [case["words"] for case in both["cases"]]
    worse = {case["drawn"] for case in one["cases"] if case["words"] == "form"}
    assert worse == {1}


@pytest.mark.browser
def test_readings_of_one_translator_are_called_so(visit):
    page = visit(readings().to_html())
    picture = page.locator(".d2lx-forge")
    assert "this is what head 1 did." in picture.inner_text()
    assert re.search(r"BLEU on 2 sentences: 96\.0\.", picture.inner_text())
    page.get_by_label("Weights").select_option("head 2")
    frame(page)
    assert "this is what head 2 did." in picture.inner_text()
    page.get_by_label("View").select_option(index=1)
    page.get_by_role("button", name="Neither").click()
    frame(page)
    assert "How it was made: the weights of head 2." in text(page, "audit-verdict")
    assert "model" not in picture.inner_text()


def cases(page):
    return page.get_by_role("combobox", name="Case")


@pytest.mark.browser
def test_an_auditor_by_keyboard_alone(visit):
    page = visit(forge(view="audit").to_html())
    picked = cases(page)
    count = picked.locator("option").count()
    assert count >= 8
    assert text(page, "audit-verdict") == ""
    right = 0
    for k in range(count):
        assert text(page, "audit-verdict") == ""
        for name in ("Error rate against gold", "Baselines", "Hide-the-state test", "Scale"):
            piece = page.get_by_role("button", name=name)
            assert piece.get_attribute("aria-expanded") == "false"
            piece.press("Enter")
            frame(page)
            assert piece.get_attribute("aria-expanded") == "true"
        numbers = lambda name: [  # noqa: E731
            float(found) for found in re.findall(r"\d+\.\d+(?![\d.]* %)", text(page, name))
        ]
        error = float(re.search(r"sentences: ([\d.]+\d)", text(page, "piece-gold"))[1])
        looked, other = (x / 100 for x in numbers("piece-hidden"))
        plausible = error <= 0.1
        faithful = looked >= 0.1 and looked >= 10 * other
        truth = {
            (True, True): "both",
            (True, False): "plausible",
            (False, True): "faithful",
            (False, False): "neither",
        }[plausible, faithful]
        answer = list(ANSWERS)[k % 4]
        right += answer == truth
        button = page.get_by_role("button", name=ANSWERS[answer], exact=True)
        button.press("Enter")
        frame(page)
        verdict = text(page, "audit-verdict")
        wanted = ANSWERS[truth].lower()
        assert f"You said {ANSWERS[answer].lower()}; the evidence supports {wanted}." in verdict
        assert "How it was made" in verdict
        assert button.get_attribute("aria-pressed") == "true"
        assert button.evaluate("one => one === document.activeElement")
        # The first answer counts.
        page.get_by_role("button", name="Neither").press("Enter")
        frame(page)
        assert f"You said {ANSWERS[answer].lower()};" in text(page, "audit-verdict")
        page.get_by_role("button", name="Next case").press("Enter")
        frame(page)
    tally = text(page, "audit-tally")
    assert f"{count} of {count} audited, {right} as the evidence has it." in tally
    assert "Final tally" in tally
    assert page.locator("[data-name='audit-tally'] tbody tr").count() == count
    page.get_by_role("button", name="Start again").press("Enter")
    frame(page)
    assert text(page, "audit-verdict") == ""


@pytest.mark.browser
def test_nothing_tells_the_verdict_before_the_answer(visit):
    page = visit(forge(view="audit").to_html())
    telling = re.compile("supports|You said|How it was made|forwards|both ways")
    for k in range(cases(page).locator("option").count()):
        cases(page).select_option(index=k)
        page.get_by_role("application").press("ArrowRight")
        frame(page)
        assert not telling.search(page.locator(".d2lx-forge").inner_text())
        assert "weight" not in page.locator(".d2lx-cell").inner_text()
        for name in ("gold", "baselines", "hidden", "scale"):
            found = page.locator(f"[data-name='piece-{name}']")
            assert not found.is_visible()
            assert found.text_content() == ""
        assert page.locator("[data-name='audit-verdict']").text_content() == ""
        labels = page.locator(".d2lx-forge [aria-label]").evaluate_all(
            "all => all.map(one => one.getAttribute('aria-label')).join(' ')"
        )
        assert not telling.search(labels)


@pytest.mark.browser
def test_the_scale_that_is_opened_is_honest(visit):
    page = visit(forge(view="audit", case=2).to_html())
    values = lambda: page.locator(".d2lx-stage rect[data-value]").evaluate_all(  # noqa: E731
        "all => all.map(one => Number(one.dataset.value))"
    )
    forged = values()
    page.get_by_role("button", name="Scale").click()
    frame(page)
    assert text(page, "piece-scale").startswith("In what you saw, full ink began at 0.10")
    honest = values()
    assert [min(1, value / 0.1) for value in honest] == pytest.approx(forged)
    assert honest == [value for row in SENTENCES[1]["weights"] for value in row]


@pytest.mark.browser
def test_one_announcement_a_key_press(visit):
    page = visit(forge(view="audit").to_html())
    page.evaluate(
        """() => {
          globalThis.heard = [];
          for (const voice of document.querySelectorAll(
              '[aria-live]:not([aria-live=off]), [role=status]'))
            new MutationObserver(() => heard.push(voice.textContent)).observe(
              voice, { childList: true, characterData: true, subtree: true });
        }"""
    )
    for name, words in (
        ("Hide-the-state test", "Hiding the state that the picture points at"),
        ("Both", "You said both; the evidence supports"),
        ("Next case", "Case 2."),
    ):
        page.evaluate("heard.length = 0")
        page.get_by_role("button", name=name, exact=True).press("Enter")
        page.wait_for_function("heard.length > 0")
        page.wait_for_timeout(700)
        heard = page.evaluate("heard")
        assert len(heard) == 1
        assert heard[0].startswith(words)


@pytest.mark.browser
def test_python_hears_what_the_reader_does(visit):
    figure = forge(view="audit")
    page = visit()
    live(page, figure)
    page.get_by_role("button", name="Baselines").click()
    page.get_by_role("button", name="Neither").click()
    page.get_by_role("button", name="Next case").click()
    page.get_by_label("View").select_option(index=0)
    page.get_by_role("slider", name="No ink below").press("ArrowRight")
    frame(page)
    for name, value in page.evaluate("sent").items():
        setattr(figure, name, value)
    assert (figure.view, figure.case, figure.threshold) == ("forge", 1, 0.05)
    assert figure.answers[0] == "neither"
    assert figure.opened[0] == ["baselines"]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
def test_hostile_words_are_text(visit, width):
    n = len(HOSTILE)
    links = [(i, i) for i in range(n)]
    sentence = {"source": HOSTILE, "target": HOSTILE[::-1], "sure": links, "possible": links}
    one = {
        "bleu": 50,
        "weights": [torch.eye(n)],
        "changes": [torch.eye(n)],
        "translations": [" ".join(HOSTILE)],
    }
    figure = Forge([sentence], {HOSTILE[0]: one, HOSTILE[1]: one})
    page = visit(figure.to_html(), width=width)
    for view in (0, 1):
        page.get_by_label("View").select_option(index=view)
        page.get_by_role("application").press("ArrowDown")
        if view:
            page.get_by_role("button", name="Both", exact=True).click()
        frame(page)
        assert_words_are_text(page)
        assert "<img src=x" in page.locator(".d2lx-forge").inner_text()


@pytest.mark.browser
def test_result_stands_beside_its_control_on_a_phone(visit):
    page = visit(forge().to_html(), width=360)
    stage = page.locator(".d2lx-stage").bounding_box()
    last = page.get_by_role("slider", name="Full ink from").bounding_box()
    # A phone shows 640 pixels of a page, and more.
    assert last["y"] + last["height"] - stage["y"] <= 640
    page.get_by_label("View").select_option(index=1)
    frame(page)
    button = page.get_by_role("button", name="Both", exact=True)
    button.click()
    frame(page)
    below = page.locator("[data-name='audit-verdict']").bounding_box()["y"]
    assert 0 <= below - button.bounding_box()["y"] <= 100


@pytest.mark.browser
def test_forced_colours_and_print_keep_everything(visit):
    page = visit(forge(view="audit", answers=["both"], case=0).to_html())
    for media in ({"forced_colors": "active"}, {"forced_colors": "none", "media": "print"}):
        page.emulate_media(**media)
        frame(page)
        pressed = page.get_by_role("button", name="Both", exact=True)
        border = lambda one: one.evaluate("e => getComputedStyle(e).borderTopWidth")  # noqa: E731
        assert border(pressed) == "2px"
        assert border(page.get_by_role("button", name="Neither")) == "1px"
        assert text(page, "audit-verdict").startswith("You said both")
        assert page.locator(".d2lx-stage rect[data-value]").first.is_visible()


@pytest.mark.browser
def test_a_link_holds_the_forgery_and_no_answer(visit):
    page = visit(forge().to_html())
    page.get_by_role("slider", name="Label of a row").press("ArrowLeft")
    page.get_by_role("slider", name="No ink below").press("ArrowRight")
    page.get_by_label("View").select_option(index=1)
    page.get_by_role("button", name="Both", exact=True).click()
    page.wait_for_function("location.hash.includes('view')")
    link = page.evaluate("decodeURIComponent(location.hash)")
    assert "shift=-1" in link
    assert "threshold=0.05" in link
    assert "both" not in link
