"""MLflow: runs, metrics, artifacts, registered models."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.tracking.registry import Version as Version
    from qe.tracking.registry import model_versions as model_versions
    from qe.tracking.runs import Run as Run
    from qe.tracking.settings import TrackingSettings as TrackingSettings

__getattr__, __dir__ = exports(__name__)
