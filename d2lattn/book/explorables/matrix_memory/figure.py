"""Matrix memory (chapter 11): guests tell their drinks to a matrix, and ask for them again."""

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import Float, Int

GUESTS = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana")
DRINKS = ("tea", "milk", "juice", "water")
LEAST = 0.5


class MatrixMemory(Explorable):
    """Eight guests, each with a key of four numbers, and one of four drinks that each wants.

    Whoever tells adds the key times the drink to a matrix of 4 x 4. Whoever is asked for reads in
    it: the rows, each as often as the key says. The largest drink is served.

    Each trait can be read, set and observed.

    Traits:
        told: how many guests have told, 0 to 8. The first four keys stand at right angles.
        asked: who is asked for, 0 to 7.
        keep: the share of the matrix that is left at each new guest, 0.5 to 1.

    Raises ValueError for anything else.

    >>> memory = MatrixMemory(told=7)
    >>> memory.told, memory.asked, memory.keep
    (7, 0, 1.0)
    """

    module = "matrix_memory"

    told = Int(1, min=0, max=len(GUESTS)).tag(sync=True)
    asked = Int(0, min=0, max=len(GUESTS) - 1).tag(sync=True)
    keep = Float(1.0, min=LEAST, max=1.0).tag(sync=True)

    def words(self) -> str:
        """HTML for where no script runs."""
        return paragraph(
            "Interactive figure: a matrix of four features by four drinks, to which guests tell "
            "what they want, and what each reads in it."
        ) + table(
            ["guests so far", "guest who asks", "kept at each new guest"],
            [(self.told, GUESTS[self.asked], f"{self.keep:g}")],
        )
