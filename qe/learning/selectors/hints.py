"""Hints for selector parameters that name a metric, a learner or another selector."""

from collections.abc import Mapping
from typing import Annotated, Any

from qe.learning.learner import LEARNERS
from qe.learning.parameters import NameIn, StrategyIn
from qe.learning.selector import SELECTORS
from qe.statistics.metric import METRICS

MetricName = Annotated[str, NameIn(METRICS)]
LearnerConfig = Annotated[Mapping[str, Any], StrategyIn(LEARNERS)]
SelectorConfig = Annotated[Mapping[str, Any], StrategyIn(SELECTORS)]
