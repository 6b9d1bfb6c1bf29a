"""Choice by a log-linear model whose weights are tuned on the BLEU of the chosen text."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from sklearn.pipeline import Pipeline

from features.basics.array_types import FloatArray
from qe.display.summary import summarised
from qe.systems.mt_metrics.ngrams import Bleu
from qe_papers.choosers._mert import mert
from qe_papers.choosers._pairs import standardised, standardiser
from qe_papers.selection.chooser import Chooser, Outputs


@summarised
@dataclass(frozen=True, eq=False)
class LogLinear(Chooser):
    """One weight per feature, and one for the system's prior. The prior is its BLEU against the other
    systems' outputs. Weights by minimum error rate training on the BLEU of all chosen translations
    together.

    Source: Vilar et al. 2012, section 3; the feature set `vilar` has its features.

    Attributes
    ----------
    restarts : int
        Random initial weights, in addition to those of the prior.
    """

    restarts: int = 4
    seed: int = 0
    scale: Pipeline | None = None
    prior: tuple[float, float] = (0.0, 1.0)
    weights: FloatArray | None = None

    def fit(self, outputs: Outputs) -> Self:
        spread = float(np.std(outputs.agreement)) if len(outputs.agreement) else 0.0
        prior = (float(np.mean(outputs.agreement)), spread) if spread > 0 else (0.0, 1.0)
        fitted = replace(self, scale=standardiser(outputs), prior=prior)
        values = fitted._values(outputs)
        start = np.zeros(values.shape[2])
        start[-1] = 1.0
        aggregate = Bleu().aggregate
        weights = mert(
            values, outputs.statistics, aggregate, start=start, restarts=self.restarts, seed=self.seed
        )
        return replace(fitted, weights=weights)

    def preferences(self, outputs: Outputs) -> FloatArray:
        if self.weights is None:
            raise ValueError("fit first")
        return np.asarray(self._values(outputs) @ self.weights)

    def _values(self, outputs: Outputs) -> FloatArray:
        if self.scale is None:
            raise ValueError("fit first")
        values = standardised(self.scale, outputs)
        mean, spread = self.prior
        given = outputs.agreement if len(outputs.agreement) else np.full(len(values), mean)
        priors = np.broadcast_to(((given - mean) / spread)[:, None, None], (*values.shape[:2], 1))
        return np.concatenate([values, priors], axis=2)
