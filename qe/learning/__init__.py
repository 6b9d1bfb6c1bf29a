"""Learners and feature selectors."""

from typing import TYPE_CHECKING

from features.basics.exports import exports

if TYPE_CHECKING:
    from qe.learning.learner import Learner as Learner
    from qe.learning.selector import Selector as Selector

__getattr__, __dir__ = exports(__name__, "qe.learning.learner.LEARNERS", "qe.learning.selector.SELECTORS")
