"""What needs more than PyTorch is imported when asked for; one line says what is missing."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def asked_for(what: str) -> Iterator[None]:
    """Say in one line that `what` needs a package of the book, if an import in here fails.

    >>> with asked_for("d2l.bleu"):
    ...     import a_package_that_is_not_here
    Traceback (most recent call last):
    ModuleNotFoundError: d2l.bleu needs a_package_that_is_not_here; install what the book needs: \
pip install '.[book]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise ModuleNotFoundError(
            f"{what} needs {package}; install what the book needs: pip install '.[book]'"
        ) from None
