"""Matrix memory (chapter 11): a matrix stores which drink each guest wants, and is read again."""

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import Float, Int

GUESTS = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana")
DRINKS = ("tea", "milk", "juice", "water")
LEAST = 0.5


class MatrixMemory(Explorable):
    """Eight guests, each with a key of four numbers, and one of four drinks that each wants.

    Each guest so far has added the outer product of key and drink to a 4 x 4 matrix. The key of
    the guest who asks reads it: the rows are added, each times its entry of the key. The drink
    with the largest sum is served.

    Each trait can be read, set and observed.

    Traits:
        told: how many guests have been added, 0 to 8. The first four keys are at right angles.
        asked: the guest who asks, 0 to 7.
        keep: what the matrix is multiplied by before each new guest, 0.5 to 1.

    Raises ValueError for anything else.

    >>> memory = MatrixMemory(told=7)
    >>> memory.told, memory.asked, memory.keep
    (7, 0, 1.0)
    """

    module = "matrix_memory"

    told = Int(1, min=0, max=len(GUESTS)).tag(sync=True)
    asked = Int(0, min=0, max=len(GUESTS) - 1).tag(sync=True)
    keep = Float(1.0, min=LEAST, max=1.0).tag(sync=True)

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        return paragraph(
            "Interactive figure: a matrix with a row for each of the four entries of a key and a "
            "column for each of four drinks, and what the key of one guest reads in it."
        ) + table(
            ["guests so far", "guest who asks", "factor before each new guest"],
            [(self.told, GUESTS[self.asked], f"{self.keep:g}")],
        )
