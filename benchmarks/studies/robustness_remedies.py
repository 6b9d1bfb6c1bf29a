"""What keeps rubbish from good scores: clipping, rubbish rows, monotone trees, a guard.

    python benchmarks/studies/robustness_remedies.py TRAIN HELD_OUT --languages ro en [--resources BUNDLE]

Figures of docs/results/robustness.md. Both are tables with source, target and score (higher is better).
Features learn nothing from labels: `surface`, and the 17 baseline features where there is a bundle.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from features.basics.array_types import FloatArray
from features.core.bundle import Bundle
from features.core.feature_set import FeatureSet
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer
from qe.data.dataset import LabelScale
from qe.data.perturbation import names, perturbed
from qe.display.numbers import number, percent
from qe.display.table import Column, Table
from qe.learning.learners.lightgbm import LightGBM
from qe.learning.learners.similarity import SvrRbf
from qe.models.guard.guard import Guard
from qe.models.robustness import robustness_of

REMEDIES: Final = ("clipped", "rubbish", "monotone", "guard")
SCALE: Final = LabelScale("score", None, None, True)
CLIPPED: Final = (0.005, 0.995)  # quantiles of the training rows
SHARE: Final = 0.05  # rubbish among the training rows
LEAST: Final = 0.1  # |Spearman| with the label from which a feature has a sign


@dataclass(frozen=True, eq=False)
class Data:
    """Rows with their (n, k) features and (n,) scores."""

    segments: Segments
    features: FloatArray
    scores: FloatArray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("held_out", type=Path)
    parser.add_argument("--languages", nargs=2, required=True)
    parser.add_argument("--resources", type=Path)
    parser.add_argument("--rows", type=int, default=200, help="rows that are spoilt")
    asked = parser.parse_args()
    bundle = None if asked.resources is None else Bundle(asked.resources)
    kinds: list[dict[str, Any]] = [{"kind": "surface"}, *([{"set": "baseline17"}] if bundle else [])]
    features = FeatureSet.make(kinds, bundle)
    train, held_out = (read(path, asked.languages, features) for path in (asked.train, asked.held_out))
    columns = [
        Column("learner"), Column("remedies"), Column("below, mean"), Column("least"),
        Column("best, no mark"), Column("Pearson"), Column("MAE"),
    ]  # fmt: skip
    print(Table("", columns, list(rows(train, held_out, features, asked.rows))).markdown())


def read(path: Path, languages: Sequence[str], features: FeatureSet) -> Data:
    table = pd.read_csv(path, sep="\t", quoting=3)
    own, other = map(Tokenizer, languages)
    segments = Segments(tuple(table["source"].astype(str)), tuple(table["target"].astype(str)), own, other)
    return Data(segments, features.extract(segments).to_numpy(float), table["score"].to_numpy(float))


def rows(train: Data, held_out: Data, features: FeatureSet, spoilt: int) -> Iterator[list[str]]:
    guard, _ = Guard.fit(train.segments)
    for learner in ("svr_rbf", "lightgbm"):
        able = [each for each in REMEDIES if each != "monotone" or learner == "lightgbm"]
        chosen = [some for size in range(len(able) + 1) for some in combinations(able, size)]
        for remedies in [
            some
            for some in chosen
            if len(some) in (0, 1, len(able)) or (some[-1] == "guard" and len(some) == 2)
        ]:
            judge = Judged.fit(train, features, learner, remedies, guard)
            scores, _ = judge(held_out.segments)
            found = robustness_of(judge, held_out.segments, SCALE, rows=spoilt)
            mean, least, kind = found.below
            unseen = float(np.mean([answer.unseen for answer in found.with_effect("destroying")]))
            yield [
                learner, " + ".join(remedies) or "none", percent(mean), f"{percent(least)} ({kind})",
                percent(unseen), number(float(np.corrcoef(scores, held_out.scores)[0, 1])),
                number(float(np.abs(scores - held_out.scores).mean())),
            ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Judged:
    """A model with remedies: scores and marks of segments."""

    features: FeatureSet
    model: BaseEstimator
    limits: tuple[FloatArray, FloatArray]
    labels: tuple[float, float]
    guard: Guard | None

    @classmethod
    def fit(
        cls, train: Data, features: FeatureSet, learner: str, remedies: Sequence[str], guard: Guard
    ) -> "Judged":
        x, y = train.features, train.scores
        limits = np.full(x.shape[1], -np.inf), np.full(x.shape[1], np.inf)
        if "clipped" in remedies:
            low, high = np.nanquantile(x, CLIPPED, axis=0)
            limits = low, high
        model = estimator(learner, signs(x, y) if "monotone" in remedies else None)
        real = np.clip(x, *limits)
        if "guard" in remedies:
            guard = guard.for_scores(cross_val_predict(model, real, y, cv=5), SCALE, y)
        if "rubbish" in remedies:
            wrong = rubbish(train.segments, features)
            real = np.concatenate([real, np.clip(wrong, *limits)])
            y = np.concatenate([y, np.full(len(wrong), y.min())])
        model.fit(real, y)
        kept = guard if "guard" in remedies else None
        return cls(features, model, limits, (float(y.min()), float(y.max())), kept)

    def __call__(self, segments: Segments) -> tuple[FloatArray, NDArray[np.bool_]]:
        x = np.clip(self.features.extract(segments).to_numpy(float), *self.limits)
        scores = np.clip(self.model.predict(x), *self.labels)
        if self.guard is None:
            return scores, np.zeros(len(scores), np.bool_)
        seen = self.guard.see(segments)
        return np.clip(self.guard.lowered(scores, seen.decided), *self.labels), seen.marked


def estimator(learner: str, constraints: list[int] | None) -> BaseEstimator:
    if learner == "lightgbm":
        given: dict[str, Any] = {} if constraints is None else {"monotone_constraints": constraints}
        trees = LightGBM().estimator(n_estimators=200, learning_rate=0.05, num_leaves=7, **given)
        return make_pipeline(SimpleImputer(keep_empty_features=True), trees)
    steps = (SimpleImputer(keep_empty_features=True), StandardScaler())
    return make_pipeline(*steps, SvrRbf().estimator(C=2.0, gamma="scale", epsilon=0.1))


def signs(x: FloatArray, y: FloatArray) -> list[int]:
    """(k,) the direction in which each feature goes with the label; 0 for those that hardly do."""
    made = [spearmanr(column, y, nan_policy="omit").statistic if np.nanstd(column) else 0.0 for column in x.T]
    return [int(np.sign(each)) if abs(each) >= LEAST else 0 for each in made]


def rubbish(segments: Segments, features: FeatureSet) -> FloatArray:
    """Features of rows spoilt in every destroying way, as many of each."""
    kinds, rng = names("destroying"), np.random.default_rng(0)
    each = max(1, round(SHARE * len(segments) / len(kinds)))
    made = [
        perturbed(segments, kind, 0, np.sort(rng.permutation(len(segments))[:each]).tolist())
        for kind in kinds
    ]
    return np.concatenate([features.extract(some).to_numpy(float) for some, _ in made if len(some)])


if __name__ == "__main__":
    main()
