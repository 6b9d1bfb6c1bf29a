"""Guard: computes out-of-distribution scores, and gives corrupted translations the worst score."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from features.core.segments import Segments
from features.storage.boosted_trees import check_trees
from features.storage.damage import Damaged, rising, typed
from features.word_level.trees import TreeWalks
from qe.data.dataset import LabelScale
from qe.data.perturbation import names, perturbed
from qe.models.artifact import Artifact
from qe.models.guard.columns import COLUMNS, columns, mismatch
from qe.models.guard.knowledge import Knowledge

FEWEST: Final = 20  # minimum number of training rows
_MOST: Final = 10_000  # maximum number of training rows
_FOLDS: Final = 5
_KIND: Final = 500  # maximum rows of each kind of corruption
_POINTS: Final = 2_001  # quantiles of the held-out distribution
MARKED: Final = 0.99
# Score loss from the median held-out translation to the most unusual one, in standard deviations of the
# scores, or at least _LEAST_SLOPE of the labels, because scores of a weak model hardly differ. Few training
# rows reduce it. Rows more unusual than all held-out translations get the worst score. Chosen on held-out
# translations of five models.
_SLOPE: Final = 0.3
_LEAST_SLOPE: Final = 0.1  # in standard deviations of the labels
_SHRUNK: Final = 100  # number of training rows at which the slope is halved
_SURE: Final = 1.64  # standard errors added to the share from which scores approach the worst
_OUTLIERS: Final = 2  # minimum held-out rows beyond it, even if few rows make it uncertain
_REACH: Final = 0.2  # distance beyond it at which scores are the worst, as a share of maximum - median
_BEND: Final = 0.7
_DECODER: Final = "the decoder's subwords make another text"
_ANOTHER: Final = 0.1  # excess share of letters over training rows from which the score is the worst
_ROUNDS: Final = 150
_SETTINGS: Final = {
    "objective": "binary", "num_leaves": 15, "learning_rate": 0.1, "min_child_samples": 10, "max_bin": 127,
    "feature_fraction": 0.5, "verbose": -1, "deterministic": True, "force_row_wise": True,
    "num_threads": 1,  # several fits run in parallel
}  # fmt: skip
_REFERENCE_ROWS: Final = 2_000
_EXTREME: Final = 3  # number of most unusual signs that are added up
_USUAL: Final = 0.99


@dataclass(frozen=True, eq=False)
class Detector:
    """Boosted trees (LightGBM's text) that classify rows as real or corrupted by their signs."""

    trees: str
    reference: FloatArray

    @classmethod
    def fit(cls, real: FloatArray, rubbish: FloatArray, seed: int) -> Self:
        """Fits (n, columns) signs of real and (m, columns) of corrupted translations, weighted equally."""
        import lightgbm

        ordered = np.sort(real, axis=0)
        if len(ordered) > _REFERENCE_ROWS:
            ordered = ordered[np.linspace(0, len(ordered) - 1, _REFERENCE_ROWS).round().astype(np.int64)]
        reference = ordered.T.copy()
        unfitted = cls("", reference)
        rows = np.concatenate([unfitted.inputs(real), unfitted.inputs(rubbish)])
        labels = np.repeat([0.0, 1.0], [len(real), len(rubbish)])
        weights = np.repeat([1.0, len(real) / max(len(rubbish), 1)], [len(real), len(rubbish)])
        settings = {
            **_SETTINGS, "seed": seed, "monotone_constraints": [1] * rows.shape[1],
        }  # fmt: skip
        booster = lightgbm.train(settings, lightgbm.Dataset(rows, labels, weight=weights), _ROUNDS)
        return cls(booster.model_to_string(), reference)

    def inputs(self, signs: FloatArray) -> FloatArray:
        """Inputs (n, columns + 2): the signs, the worst sign's excess, the sum of the most unusual signs."""
        unusual = self.unusual(signs)
        beyond = np.maximum((signs - self._usual) / self._spread, 0).max(axis=1, initial=0)
        together = np.sort(unusual, axis=1)[:, -_EXTREME:].sum(axis=1)
        return np.column_stack([signs, beyond, together])

    def unusual(self, signs: FloatArray) -> FloatArray:
        """-log10 (n, columns) of the share of translations whose sign is at least as large."""
        m = self.reference.shape[1]
        columns = zip(self.reference, signs.T, strict=True)
        larger = [m - np.searchsorted(known, values, side="left") for known, values in columns]
        return np.asarray(-np.log10((np.column_stack(larger) + 0.5) / (m + 1)))

    @cached_property
    def _usual(self) -> FloatArray:
        return np.asarray(np.quantile(self.reference, _USUAL, axis=1))

    @cached_property
    def _spread(self) -> FloatArray:
        return np.asarray(np.maximum(self._usual - np.median(self.reference, axis=1), 1e-3))

    @cached_property
    def walks(self) -> TreeWalks:
        return TreeWalks.from_text(self.trees)

    def decide(self, signs: FloatArray) -> FloatArray:
        """Log-odds (n,) of corrupted against real translations, at equal base rates."""
        return self.walks.sums(self.inputs(signs).astype(np.float32))

    def check_arrays(self) -> None:
        check_trees(self.trees)
        typed("reference", self.reference, np.float64, len(COLUMNS), None)
        if self.walks.width != len(COLUMNS) + 2 or not self.reference.shape[1]:
            raise Damaged(f"the guard's trees take {self.walks.width} columns, not {len(COLUMNS) + 2}")


@dataclass(frozen=True, eq=False)
class GuardResult:
    """The guard's result for a batch.

    decided     (n,) the detector's log-odds
    outside     (n,) share of held-out translations with smaller log-odds
    unusual     (n, columns) -log10 of the tail share of each sign
    mismatched  (n,) whether the subwords belong to another text
    """

    decided: FloatArray
    outside: FloatArray
    unusual: FloatArray
    mismatched: NDArray[np.bool_]

    @property
    def marked(self) -> NDArray[np.bool_]:
        return self.outside >= MARKED

    def reasons(self, max_signs: int = 2) -> list[str]:
        """The most unusual signs of each marked row, most unusual first; empty for other rows."""
        order = np.argsort(-self.unusual, axis=1, kind="stable")
        return [
            "; ".join([*[_DECODER] * is_mismatched, *(COLUMNS[i].phrase for i in row.tolist())][:max_signs])
            if marked
            else ""
            for row, is_mismatched, marked in zip(order, self.mismatched.tolist(), self.marked, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Guard(Artifact):
    """Out-of-distribution detector trained on the training texts and corrupted copies of them.

    held_out_log_odds  ascending quantiles of the detector's log-odds of held-out translations
    differs   maximum share of letters in which decoder subwords differ from training translations
    worst     worst out-of-fold score of a training row
    slope     score loss from the median held-out translation to the most unusual one
    sign      1 if higher scores are better, else -1
    """

    file: ClassVar[str] = "guard"
    noun: ClassVar[str] = "the guard"

    knowledge: Knowledge
    detector: Detector
    held_out_log_odds: FloatArray
    rows: int
    differs: float = 0.0
    worst: float = 0.0
    slope: float = 0.0
    sign: float = 1.0

    @classmethod
    def fit(cls, segments: Segments, seed: int = 0, progress: Progress = silent) -> tuple[Self, FloatArray]:
        rng = np.random.default_rng(seed)
        sample = np.sort(rng.permutation(len(segments))[:_MOST])
        chosen = replace(segments.take(sample))  # without the tokens of the other rows
        _ = chosen.source_tokens, chosen.target_tokens  # cached, so that selected rows share them
        folds = rng.permutation(len(chosen)) % _FOLDS
        real = np.empty((len(chosen), len(COLUMNS)))
        rubbish, parts = list[FloatArray](), list[NDArray[np.int64]]()
        for fold in range(_FOLDS):
            progress("guard", fold, _FOLDS + 1)
            inside, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            knowledge, held_out = Knowledge.learn(chosen.take(inside)), chosen.take(out)
            real[out] = columns(held_out, knowledge)
            made = rubbish_of(held_out, seed, _KIND // _FOLDS)
            rubbish += [columns(each, knowledge) for each in made]
            parts.append(np.full(sum(map(len, made)), fold))
        wrong, part = np.concatenate(rubbish), np.concatenate(parts)

        def detector_without(fold: int) -> Detector:
            return Detector.fit(real[folds != fold], wrong[part != fold], seed)

        *apart, detector = side_by_side(detector_without, range(_FOLDS + 1))  # the last one uses all rows
        decided = np.empty(len(chosen))
        for fold, unaware in enumerate(apart):
            decided[folds == fold] = unaware.decide(real[folds == fold])
        known = np.quantile(decided, np.linspace(0, 1, _POINTS))
        differs = float(np.quantile(mismatch(chosen), MARKED))
        guard = cls(Knowledge.learn(chosen), detector, known, len(chosen), differs)
        unseen = np.empty(len(segments))
        unseen[sample] = decided
        others = np.setdiff1d(np.arange(len(segments)), sample)
        unseen[others] = guard.see(segments.take(others)).decided
        progress("guard", _FOLDS + 1, _FOLDS + 1)
        return guard, unseen

    def see(self, segments: Segments) -> GuardResult:
        signs = columns(segments, self.knowledge)
        beyond = mismatch(segments) - self.differs  # excess share of letters
        middle, first, last = np.quantile(self.held_out_log_odds, [0.5, MARKED, 1])
        worst = last + _REACH * (last - middle)
        mismatched = np.where(beyond > 0, first + np.clip(beyond / _ANOTHER, 0, 1) * (worst - first), -np.inf)
        decided = np.maximum(self.detector.decide(signs), mismatched)
        return GuardResult(decided, self.outside(decided), self.detector.unusual(signs), beyond > 0)

    def outside(self, decided: FloatArray) -> FloatArray:
        return np.asarray(
            np.interp(decided, self.held_out_log_odds, np.linspace(0, 1, len(self.held_out_log_odds)))
        )

    def for_scores(self, scores: FloatArray, scale: LabelScale, labels: FloatArray) -> Self:
        """The guard adapted to (n,) out-of-fold scores, by the deviation of the training labels."""
        worst = scores.min() if scale.higher_is_better else scores.max()
        slope = max(_SLOPE * float(scores.std()), _LEAST_SLOPE * float(labels.std()))
        slope *= self.rows / (self.rows + _SHRUNK)
        return replace(self, worst=float(worst), slope=slope, sign=scale.sign)

    def held_out_lowered(
        self,
        scores: FloatArray,
        unseen: FloatArray,
        folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
        scale: LabelScale,
        labels: FloatArray,
    ) -> FloatArray:
        """Out-of-fold scores (n,) lowered as in the final model by the cross-fitted log-odds `unseen` (n,).

        Each fold uses its own scores and the standard deviation of its training labels, so that a row's label
        does not affect its prediction, not even through models of other folds.
        """
        lowered = scores.copy()
        for learned, rows in folds:
            guard = self.for_scores(scores[rows], scale, labels[learned])
            lowered[rows] = guard.lowered(scores[rows], unseen[rows])
        return lowered

    def lowered(self, scores: FloatArray, decided: FloatArray) -> FloatArray:
        """Scores (n,) lowered towards the worst by log-odds; none improves by more than the mean loss."""
        quality, worst = scores * self.sign, self.worst * self.sign
        ramp = np.clip(2 * self.outside(decided) - 1, 0, 1)
        quality = quality - self.slope * (ramp - 0.25)  # 0.25: mean ramp of translations
        share = MARKED + _SURE * np.sqrt(MARKED * (1 - MARKED) / self.rows)
        share = min(share, 1 - _OUTLIERS / self.rows)
        first, middle, last = np.quantile(self.held_out_log_odds, [share, 0.5, 1])
        pull = np.clip((decided - first) / max(_REACH * (last - middle), 1e-9), 0, 1) ** _BEND
        return np.asarray(self.sign * np.minimum(quality, quality + pull * (worst - quality)))

    def check_arrays(self) -> None:
        typed("held_out_log_odds", self.held_out_log_odds, np.float64, None)
        rising("held_out_log_odds", self.held_out_log_odds, None, None)
        if self.rows < 1:
            raise Damaged(f"`rows` must be at least 1, but is {self.rows}")
        self.detector.check_arrays()
        self.knowledge.check_arrays()


def rubbish_of(segments: Segments, seed: int, max_rows: int) -> Sequence[Segments]:
    rng = np.random.default_rng(seed)
    kinds = names("destroying")
    rows = [np.sort(rng.permutation(len(segments))[:max_rows]).tolist() for _ in kinds]
    made = [perturbed(segments, name, seed, chosen)[0] for name, chosen in zip(kinds, rows, strict=True)]
    return [each for each in made if len(each)]
