"""Mark the wrong words of a translation: those outside a longest common subsequence."""

from collections.abc import Sequence


def wrong_words(written: Sequence[str], wanted: Sequence[str]) -> list[bool]:
    """Return for each written word whether it lies outside a longest common subsequence.

    A missing word marks nothing; compare the lengths to find it.

    >>> wrong_words("la vache a vu".split(), "la vache l' a vue".split())
    [False, False, False, True]
    >>> wrong_words("le le chien".split(), "le chien".split())
    [False, True, False]
    """
    n, m = len(written), len(wanted)
    longest = [[0] * (m + 1) for _ in range(n + 1)]  # of what follows from there on
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            longest[i][j] = (
                1 + longest[i + 1][j + 1]
                if written[i] == wanted[j]
                else max(longest[i + 1][j], longest[i][j + 1])
            )
    wrong, i, j = [True] * n, 0, 0
    while i < n and j < m:
        if written[i] == wanted[j]:
            wrong[i] = False
            i, j = i + 1, j + 1
        elif longest[i][j + 1] >= longest[i + 1][j]:
            j += 1
        else:
            i += 1
    return wrong


def mark(written: str, wanted: str) -> str:
    """Put wrong words in brackets, and an ellipsis where words are missing.

    >>> mark("les chats dorment .", "le chat dort .")
    '[les chats dorment] .'
    >>> mark("il mange .", "il mange et boit .")
    'il mange [...] .'
    """
    ours, theirs = written.split(), wanted.split()
    wrong = wrong_words(ours, theirs)
    kept = iter(word for word, bad in zip(ours, wrong, strict=True) if not bad)
    # Between two correct words, the expected translation may have further ones.
    parts: list[str] = []
    place, run = 0, list[str]()
    for word, bad in [*zip(ours, wrong, strict=True), ("", False)]:
        if bad:
            run.append(word)
            continue
        right = next(kept, None)
        end = theirs.index(right, place) if right is not None else len(theirs)
        if run:
            parts.append(f"[{' '.join(run)}]")
        elif end > place:
            parts.append("[...]")
        if right is not None:
            parts.append(word)
        place, run = end + 1, []
    return " ".join(parts)
