"""Quizzes and plans: complete, right where a number can be worked out, and as others read."""

import csv
import math
import re
from pathlib import Path

import numpy as np
import pytest

from website.extensions import for_teachers, quizzes

ROOT = Path(__file__).resolve().parents[2]
QUIZZES = quizzes.load_quizzes()
QUESTIONS = [question for quiz in QUIZZES for question in quiz.questions]
PLANS = for_teachers.load_plans()
SESSIONS = [(plan, i) for plan, sessions in PLANS.items() for i in range(len(sessions))]


def softmax(scores):
    powers = np.exp(np.array(scores, dtype=float))
    return powers / powers.sum()


def test_each_walk_of_the_plans_has_a_quiz_of_five_questions():
    planned = {walk for sessions in PLANS.values() for one in sessions for walk in one["walks"]}
    assert {f"chapters/{walk}/walk" for walk in planned} <= {quiz.walk for quiz in QUIZZES}
    assert {len(quiz.questions) for quiz in QUIZZES} == {5}
    for quiz in QUIZZES:
        assert (ROOT / quiz.walk).with_suffix(".ipynb").exists()
        assert Path(quiz.walk).parent.name.split("-")[0].lstrip("0") == quiz.chapter


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_a_question_has_one_right_answer_and_wrong_ones_with_their_meaning(question):
    answers = [question.right, *question.wrong]
    assert len({answer.says for answer in answers}) == len(answers) >= 3
    for answer in answers:
        assert answer.says.strip()
        assert len(answer.means.split()) >= 3


@pytest.mark.parametrize(
    "question", [q for q in QUESTIONS if re.search(r"\d", q.right.says)], ids=lambda q: q.name
)
def test_a_right_number_can_be_worked_out(question):
    names = {
        "softmax": softmax,
        "array": np.array,
        "log": math.log,
        "sqrt": math.sqrt,
        "inf": math.inf,
        "isclose": np.isclose,
    }
    assert question.holds
    assert eval(question.holds, names)


def test_files_for_moodle_and_spreadsheets_hold_every_answer(tmp_path):
    paths = quizzes.write_files(tmp_path / "new")
    assert len(paths) == 2 + len(QUIZZES)
    table = (tmp_path / "new" / "quizzes.csv").read_text("utf-8-sig")
    answers = sum(1 + len(question.wrong) for question in QUESTIONS)
    assert len([*csv.reader(table.splitlines())]) >= 1 + answers
    for path in paths[2:]:
        text = re.sub(r"\\.", "", path.read_text("utf-8"))  # without what is escaped
        assert len(re.findall(r"^::[\w-]+::\[markdown\][^{}]*\{$", text, re.M)) == 5, path.name
        assert text.count("\t=") == 5


@pytest.mark.parametrize(("plan", "i"), SESSIONS)
def test_a_session_fills_ninety_minutes(plan, i):
    session = PLANS[plan][i]
    assert sum(spent for spent, _ in session["in_class"]) == 90
    assert session.keys() == {"title", "walks", "before", "in_class", "leave_out", "home"}


NAMED = re.compile(r"\b[Ff]igures? \d+[a-c]?\.\d+(?: and \d+[a-c]?\.\d+)?")


@pytest.mark.parametrize(("plan", "i"), SESSIONS)
def test_a_figure_that_a_session_names_is_in_its_walks(plan, i):
    session = PLANS[plan][i]
    there = "".join(
        (ROOT / "chapters" / walk / "walk.ipynb").read_text("utf8") for walk in session["walks"]
    )
    for _, what in session["in_class"] + [(0, session["leave_out"])]:
        for name in re.findall(r"\d+[a-c]?\.\d+", " ".join(m[0] for m in NAMED.finditer(what))):
            assert f"**Figure {name}." in there, what
