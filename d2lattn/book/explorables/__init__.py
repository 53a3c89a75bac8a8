"""Interactive figures that run in a static page without a kernel, and live in Jupyter.

Kept out of ``import d2lattn``, because they load anywidget: a chapter says
``from d2lattn.book.explorables import CueMixer``. How to write one more:
``reference/write-an-explorable.md``.
"""

from d2lattn.book.explorables.alignment_judge import AlignmentJudge
from d2lattn.book.explorables.base import Explorable
from d2lattn.book.explorables.cue_mixer import CueMixer
from d2lattn.book.explorables.first_place import FirstPlace
from d2lattn.book.explorables.forge import Forge
from d2lattn.book.explorables.head_ablation import HeadAblation
from d2lattn.book.explorables.look_ahead import LookAhead
from d2lattn.book.explorables.matrix_memory import MatrixMemory
from d2lattn.book.explorables.nadaraya_watson_bench import NadarayaWatsonBench
from d2lattn.book.explorables.permute_and_encode import PermuteAndEncode
from d2lattn.book.explorables.running_softmax import RunningSoftmax
from d2lattn.book.explorables.saturation_lab import SaturationLab
from d2lattn.book.explorables.sign import Sign
from d2lattn.book.explorables.storyboard import Storyboard
from d2lattn.book.explorables.swap import Swap
from d2lattn.book.explorables.tour import TransformerTour
from d2lattn.book.explorables.turning_clock import TurningClock
from d2lattn.book.explorables.writers_memory import WritersMemory
from d2lattn.book.explorables.xray import TransformerXray

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
