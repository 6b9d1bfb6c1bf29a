"""One experiment: preparation, extraction, search, fit, report."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.training.ablation import Ablation as Ablation
    from qe.training.ablation import LearningCurve as LearningCurve
    from qe.training.ablation import ablate as ablate
    from qe.training.plan import Plan as Plan
    from qe.training.train import Outcome as Outcome
    from qe.training.without_labels import Unlabelled as Unlabelled

__getattr__, __dir__ = exports(__name__)
