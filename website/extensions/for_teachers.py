"""Sphinx extension: what the teachers' pages draw from `teaching/`.

Directives: `quiz` folds the questions of one walk, `sessions` is the table of a plan, `session` one
row of it at length. The quizzes are written beside the pages as files, too.
"""

import html
import re
from pathlib import Path
from typing import Any

import nbformat
import yaml
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from website.extensions import quizzes
from website.extensions.pages import question

TEACHING = quizzes.FOLDER.parent
SESSIONS = TEACHING / "sessions.yaml"
FILES = "teaching"
"""The folder of the built book that holds what is downloaded."""


def load_plans(path: Path = SESSIONS) -> dict[str, list[dict[str, Any]]]:
    """Read the plans: `seven` sessions, six `more` after them, and `three`."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def minutes(walk: str) -> int:
    """Return how long a walk takes, as its first cell states."""
    path = TEACHING.parent / "chapters" / walk / "walk.ipynb"
    first = nbformat.read(path, as_version=4).cells[0].source
    return int(re.search(r"^- \*\*Time:\*\* (\d+) minutes", first, re.MULTILINE)[1])


class FromData(Directive):
    """Write Markdown that was made from data."""

    required_arguments = 1
    data: Path

    def depend(self, path: Path) -> None:
        """Read the page again where this file has changed."""
        self.state.document.settings.env.note_dependency(str(path))

    def markdown(self, element: nodes.Element, *lines: str) -> None:
        """Read lines as Markdown into an element."""
        self.state.nested_parse(StringList(list(lines), "teaching/"), 0, element)


def sentence(answer: quizzes.Answer) -> str:
    """Write an answer as a sentence of its own, and behind it what it means.

    >>> sentence(quizzes.Answer("8", "The mean."))
    '**8.** The mean.'
    """
    return f"**{answer.says}{'' if answer.says.endswith('.') else '.'}** {answer.means}"


class Quiz(FromData):
    """Five questions, each with its key folded below it."""

    def run(self) -> list[nodes.Node]:
        """Link the walk that answers the questions, and fold each answer below its question."""
        path = quizzes.FOLDER / f"{self.arguments[0]}.yaml"
        self.depend(path)
        quiz = quizzes.load_quiz(path)
        link = nodes.container()
        self.markdown(link, f"[Chapter {quiz.chapter}](../{quiz.walk}.ipynb) contains the answers.")
        return [link, *map(self.folded, quiz.questions)]

    def folded(self, item: quizzes.Question) -> nodes.Element:
        """Fold one."""
        title, _ = self.state.inline_text(item.asks, self.lineno)
        answer = nodes.Element()
        self.markdown(answer, sentence(item.right))
        wrong = [f"- {sentence(wrong)}" for wrong in item.wrong]
        self.markdown(answer, "*Typical wrong answers, and what they mean:*", "", *wrong)
        return question(title, *answer.children)


class QuizFiles(Directive):
    """Links to the quizzes as files."""

    def run(self) -> list[nodes.Node]:
        """Link what `write_files` writes."""
        env = self.state.document.settings.env
        up = "../" * env.docname.count("/")
        files = {
            "quizzes.csv": "all quizzes as a spreadsheet (CSV)",
            "quizzes.gift": "all quizzes for Moodle (GIFT)",
        }
        files |= {f"quiz-{q.chapter}.gift": f"quiz {q.chapter}" for q in quizzes.load_quizzes()}
        links = ", ".join(
            f'<a href="{up}{FILES}/{name}" download>{html.escape(text)}</a>'
            for name, text in files.items()
        )
        return [nodes.raw("", f"<p>Downloads: {links}.</p>\n", format="html")]


class Sessions(FromData):
    """The table of one plan."""

    def run(self) -> list[nodes.Node]:
        """A row a session: its walks with their minutes, and what is done before and after."""
        self.depend(SESSIONS)
        rows = [
            f"| {number} | {row['title']} | {self.walks(row)} | {row['before']} | {row['home']} |"
            for number, row in enumerate(load_plans()[self.arguments[0]], 1)
        ]
        element = nodes.container()
        head = [
            "| No. | Session | Walks (minutes) | Before | At home |",
            "| --: | --- | --- | --- | --- |",
        ]
        self.markdown(element, *head, *rows)
        return [element]

    def walks(self, session: dict[str, Any]) -> str:
        """Link the walks of a session."""
        parts = []
        for walk in session["walks"]:
            self.depend(TEACHING.parent / "chapters" / walk / "walk.ipynb")
            number = walk.partition("-")[0].lstrip("0")
            parts.append(f"[{number}](../chapters/{walk}/walk.ipynb) ({minutes(walk)})")
        return ", ".join(parts)


class Session(FromData):
    """One session: what happens in ninety minutes, and what is left out."""

    def run(self) -> list[nodes.Node]:
        """Write its table."""
        self.depend(SESSIONS)
        plan, number = self.arguments[0].split()
        session = load_plans()[plan][int(number) - 1]
        element = nodes.container()
        rows = [f"| {spent} | {what} |" for spent, what in session["in_class"]]
        self.markdown(element, "| Minutes | In class |", "| --: | --- |", *rows)
        self.markdown(element, f"**Leave out:** {session['leave_out']}")
        return [element]

    final_argument_whitespace = True


def write_files(app: Any, exception: Exception | None) -> None:
    """Write the quizzes beside the pages."""
    if exception is None and app.builder.format == "html":
        quizzes.write_files(Path(app.outdir) / FILES)


def setup(app: Any) -> dict[str, bool]:
    """Register all of it."""
    app.add_directive("quiz", Quiz)
    app.add_directive("quiz-files", QuizFiles)
    app.add_directive("sessions", Sessions)
    app.add_directive("session", Session)
    app.connect("build-finished", write_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
