"""Interactive figures that run in a static page without a kernel, and live in Jupyter.

Kept out of ``import d2lattn``, because they load anywidget: a chapter says
``from d2lattn.book.explorables import CueMixer``. How to write one more:
``reference/write-an-explorable.md``.
"""

from d2lattn.book.explorables.alignment_judge.figure import AlignmentJudge
from d2lattn.book.explorables.base import Explorable
from d2lattn.book.explorables.cue_mixer.figure import CueMixer
from d2lattn.book.explorables.first_place.figure import FirstPlace
from d2lattn.book.explorables.forge.figure import Forge
from d2lattn.book.explorables.head_ablation.figure import HeadAblation
from d2lattn.book.explorables.look_ahead.figure import LookAhead
from d2lattn.book.explorables.matrix_memory.figure import MatrixMemory
from d2lattn.book.explorables.nadaraya_watson_bench.figure import NadarayaWatsonBench
from d2lattn.book.explorables.permute_and_encode.figure import PermuteAndEncode
from d2lattn.book.explorables.running_softmax.figure import RunningSoftmax
from d2lattn.book.explorables.saturation_lab.figure import SaturationLab
from d2lattn.book.explorables.sign.figure import Sign
from d2lattn.book.explorables.storyboard.figure import Storyboard
from d2lattn.book.explorables.swap.figure import Swap
from d2lattn.book.explorables.tour.figure import TransformerTour
from d2lattn.book.explorables.turning_clock.figure import TurningClock
from d2lattn.book.explorables.writers_memory.figure import WritersMemory
from d2lattn.book.explorables.xray.figure import TransformerXray

__all__ = [
    "AlignmentJudge",
    "CueMixer",
    "Explorable",
    "FirstPlace",
    "Forge",
    "HeadAblation",
    "LookAhead",
    "MatrixMemory",
    "NadarayaWatsonBench",
    "PermuteAndEncode",
    "RunningSoftmax",
    "SaturationLab",
    "Sign",
    "Storyboard",
    "Swap",
    "TransformerTour",
    "TransformerXray",
    "TurningClock",
    "WritersMemory",
]
