"""One pair of systems by one metric, the tests that there are, and their names in reports."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from features.basics.errors import unknown_name
from features.basics.undefined import finite_or_none
from qe.display.summary import summarised
from qe.statistics.bootstrap import NAMES
from qe.statistics.metric import METRICS
from qe.statistics.randomization import NAME as RANDOMIZATION
from qe.statistics.result import TestResult
from qe.statistics.tukey import NAME as TUKEY
from qe.statistics.tukey import SCHEFFE

Test = Literal["ar", "bootstrap", "win-ratio", "tukey", "scheffe"]
_CALLED = RANDOMIZATION, NAMES["centred"], NAMES["win-ratio"], TUKEY, SCHEFFE
TESTS = dict(zip(get_args(Test), _CALLED, strict=True))
CONFIDENCE = 0.95


def json_name(metric: str) -> str:
    """What a metric is called in JSON reports."""
    return (METRICS.get(metric).json_key if metric in METRICS else "") or metric


def check_test(test: str) -> None:
    """Raises InputError for a test that is not known."""
    if test not in TESTS:
        raise unknown_name("test", test, TESTS)


@summarised
@dataclass(frozen=True)
class Comparison:
    """One pair of systems on one metric.

    `difference` is system minus baseline, `ci` its interval.
    """

    system: str
    baseline: str
    metric: str
    result: TestResult
    p_corrected: float
    ci: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "baseline": self.baseline,
            "metric": json_name(self.metric),
            **self.result.to_json(),
            "p_corrected": finite_or_none(self.p_corrected),
            "ci": [finite_or_none(bound) for bound in self.ci],
        }
