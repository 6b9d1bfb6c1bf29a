"""TextMetric: translations and references -> statistics -> a score. Think twice before adding here."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from features.core.catalogue import Catalogue
from features.core.tokens import FloatArray
from qe.mt_metrics._texts import Texts


class TextMetric(ABC):
    """A dataclass whose fields are its options (`name:option=value` on the command line).

    higher_is_better   which direction is good; None where neither is
    needs_references   whether `statistics` reads the references at all
    """

    higher_is_better: ClassVar[bool | None]
    needs_references: ClassVar[bool] = True

    @abstractmethod
    def statistics(self, hypotheses: Texts, references: Sequence[Texts]) -> FloatArray:
        """(n, k) sufficient statistics per segment, against one or several references for each."""

    @abstractmethod
    def aggregate(self, sums: FloatArray) -> FloatArray:
        """(..., k) sums of statistics over segments -> (...) scores; NaN where undefined."""

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        """(n, k) statistics -> (n,) score of each segment by itself."""
        return self.aggregate(statistics)

    def score(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        """The score of a whole text; `references` holds one or several columns of n segments."""
        statistics = self.statistics(Texts.of(hypotheses), [Texts.of(column) for column in references])
        return float(self.aggregate(statistics.sum(axis=0)))


MT_METRICS: Catalogue[TextMetric] = Catalogue("qe.mt_metrics", TextMetric, "metric")
