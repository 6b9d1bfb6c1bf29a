"""TrainingResult: what a run has made, for those who report it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from features.basics.array_types import FloatArray
from qe.evaluation.coverage import Coverage
from qe.models.companions import Companions
from qe.models.model import Model
from qe.models.robustness import Robustness
from qe.training.objective import Objective
from qe.training.preparation import Prepared
from qe.training.search import SearchResult
from qe.training.words import Words


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """Everything between preparation and report.

    repeats      (repeats, n) out-of-fold predictions of the training rows
    nested       (n,) predictions of the whole procedure, search included; None unless asked for
    predictions  split -> its predictions, for every split that was not learned from
    covered      split -> coverage of the intervals, for every labelled one that they were not made from
    words        what is said of words; None for a model that judges none
    robustness   what was spoilt, and what the model made of it; None unless asked for
    """

    prepared: Prepared
    search: SearchResult
    objective: Objective
    repeats: FloatArray
    nested: FloatArray | None
    model: Model
    companions: Companions
    predictions: Mapping[str, FloatArray]
    covered: Mapping[str, Sequence[Coverage]]
    words: Words | None = None
    robustness: tuple[str, Robustness] | None = None

    @property
    def out_of_fold(self) -> FloatArray:
        """(n,) out-of-fold predictions of the first repeat."""
        first: FloatArray = self.repeats[0]
        return first
