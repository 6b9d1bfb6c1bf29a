"""The experiment file: its schema, its loading, the spaces of a search."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.config.distributions import Choice as Choice
    from qe.config.distributions import FloatRange as FloatRange
    from qe.config.distributions import IntRange as IntRange
    from qe.config.experiment import Experiment as Experiment
    from qe.config.experiment import load as load

__getattr__, __dir__ = exports(__name__)
