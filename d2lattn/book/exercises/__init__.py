"""Checks that a reader's answers meet, one module a chapter.

A check never stops a notebook. It returns a :class:`Verdict`, which prints as one sentence and is
true only for a right answer::

    from d2lattn.book.exercises import chapter01
    chapter01.check_pooling(my_pooling)
"""

from d2lattn.book.exercises.checking import Verdict

__all__ = ["Verdict"]
