"""Interactive figures that run in a static page without a kernel, and live in Jupyter.

Kept out of ``import d2lattn``, because they load anywidget: a chapter says
``from d2lattn.explorables import CueMixer``. How to write one more:
``reference/write-an-explorable.md``.
"""

from d2lattn.explorables.alignment_judge import AlignmentJudge
from d2lattn.explorables.base import Explorable
from d2lattn.explorables.cue_mixer import CueMixer
from d2lattn.explorables.forge import Forge
from d2lattn.explorables.head_ablation import HeadAblation
from d2lattn.explorables.nadaraya_watson_bench import NadarayaWatsonBench
from d2lattn.explorables.permute_and_encode import PermuteAndEncode
from d2lattn.explorables.saturation_lab import SaturationLab
from d2lattn.explorables.storyboard import Storyboard
from d2lattn.explorables.tour import TransformerTour
from d2lattn.explorables.xray import TransformerXray

__all__ = [
    "AlignmentJudge",
    "CueMixer",
    "Explorable",
    "Forge",
    "HeadAblation",
    "NadarayaWatsonBench",
    "PermuteAndEncode",
    "SaturationLab",
    "Storyboard",
    "TransformerTour",
    "TransformerXray",
]
