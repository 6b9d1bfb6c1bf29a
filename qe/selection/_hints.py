"""What parameters of selectors name: metrics, and learners or selectors with parameters of their own."""

from collections.abc import Mapping
from typing import Annotated, Any

from qe.learners._base import LEARNERS
from qe.learners._parameters import NameIn, StrategyIn
from qe.metrics._base import METRICS
from qe.selection._base import SELECTORS

MetricName = Annotated[str, NameIn(METRICS)]
LearnerConfig = Annotated[Mapping[str, Any], StrategyIn(LEARNERS)]
SelectorConfig = Annotated[Mapping[str, Any], StrategyIn(SELECTORS)]
