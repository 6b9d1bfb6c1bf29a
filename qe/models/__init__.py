"""Trained models: pipeline, intervals, explanations, drift; saving and loading."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.models.drift import DriftReport as DriftReport
    from qe.models.drift import Profile as Profile
    from qe.models.explanation import Explainer as Explainer
    from qe.models.intervals import Intervals as Intervals
    from qe.models.model import Model as Model
    from qe.models.robustness import Robustness as Robustness
    from qe.models.signatures import sign as sign
    from qe.models.signatures import verify as verify
    from qe.models.taxonomy import Taxonomy as Taxonomy

__getattr__, __dir__ = exports(__name__, "qe.models.taxonomy.TAXONOMIES")
