"""Turning clock (chapter 8): pairs of a query and a key, rotated by position, and the score."""

import math

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import Bool, Choice, Int

FAR, REACH, ASKS, MOST = 24, 6, 3, 12


class TurningClock(Explorable):
    """Two pairs of a query and of a key, drawn as arrows, and their score.

    Each pair of the query is (2, 0), and so is each of the key unless `ahead` rotates it. A
    position rotates the first pair by 60° and the second by 30°, or adds a vector of length 1 with
    that angle to each, or does nothing. The score is q·k / √4.

    Each trait can be read, set and observed.

    Traits:
        way: "turned" (rotary positions), "added" (chapter 6's sinusoids) or "none".
        place: the position of the query, 0 to 24.
        distance: from the query to the key, −6 to 6.
        ahead: the distance at which the score is largest, −3 to 3: the key's pairs are first
            rotated back by so many positions.
        together: show the first pair alone, added and rotated side by side. One slider moves both
            words, another the key alone, to a distance of 0 to 2.
        moved: by how many positions both are moved then, 0 to 12; the query starts at 0.

    Raises ValueError for anything else.

    >>> clock = TurningClock(place=4)
    >>> clock.way, clock.place, clock.distance, clock.ahead
    ('turned', 4, 1, 0)
    """

    module = "turning_clock"

    way = Choice(("turned", "added", "none"), "turned").tag(sync=True)
    place = Int(1, min=0, max=FAR).tag(sync=True)
    distance = Int(1, min=-REACH, max=REACH).tag(sync=True)
    ahead = Int(0, min=-ASKS, max=ASKS).tag(sync=True)

    together = Bool(False).tag(sync=True)
    moved = Int(0, min=0, max=MOST).tag(sync=True)

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        if self.together:
            rows = []
            for moved in range(7):
                a, b = (math.pi / 3 * (moved + place) for place in (0, 1))
                q, k = (2 + math.cos(a), math.sin(a)), (2 + math.cos(b), math.sin(b))
                rows.append(
                    (moved, f"{q[0] * k[0] + q[1] * k[1]:.1f}", f"{4 * math.cos(b - a):.1f}")
                )
            return paragraph(
                "Interactive figure: a query and the key of the next position move together, and "
                "their dot product is drawn, with positions that are added and with rotations."
            ) + table(["both moved by", "added", "rotated"], rows)
        return paragraph(
            "Interactive figure: two pairs of a query and of a key, rotated by their positions, "
            "and the score at every distance."
        ) + table(
            ["encoding", "position of the query", "position of the key", "best distance"],
            [(self.way, self.place, self.place + self.distance, self.ahead)],
        )
