"""A walk printed: as many pages as it has text for, with its fonts, and nothing hidden."""

import re

import pytest

from tools import make_pdf

pytestmark = pytest.mark.browser


def test_a_walk_becomes_a_pdf_with_a_name_and_an_outline(chromium, book, tmp_path):
    walk = book / "chapters" / "03-scoring-functions" / "walk.html"
    assert walk in make_pdf.walks(book)
    make_pdf.to_pdf(chromium, walk, tmp_path / "walk.pdf")
    data = (tmp_path / "walk.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert 6 <= len(re.findall(rb"/Type /Page\b(?!s)", data)) <= 20
    assert b"/Outlines" in data
    assert b"Literata" in data
