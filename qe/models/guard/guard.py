"""Guard: measures how unusual a row is, and moves scores of rubbish to the worst."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from features.core.segments import Segments
from features.storage.arrays import rising, typed
from features.storage.damage import Damaged
from qe.data.dataset import LabelScale
from qe.data.perturbation import names, perturbed
from qe.models.artifact import Artifact
from qe.models.guard.columns import COLUMNS, columns
from qe.models.guard.decoder_text import mismatch
from qe.models.guard.detector import Detector
from qe.models.guard.knowledge import Knowledge

FEWEST: Final = 20  # training rows below which there is no guard
_MOST: Final = 10_000  # training rows that it is learned from
_FOLDS: Final = 5
_KIND: Final = 500  # rows of each kind of rubbish, at most
_POINTS: Final = 2_001  # of the held-out distribution
MARKED: Final = 0.99
# From the median of held-out translations to the last, scores lose so many of their standard deviations,
# or of those of the labels if that is more (less if few rows taught the guard): scores of a weak model hardly
# differ. Beyond what held-out translations reach they go to the worst score. Chosen on held-out translations
# of five models.
_SLOPE: Final = 0.3
_LEAST_SLOPE: Final = 0.1  # of the labels' standard deviations
_SHRUNK: Final = 100  # training rows with which the slope is half as steep
_SURE: Final = 1.64  # standard errors of the quantile from which scores go to the worst
_OUTLIERS: Final = 2  # held-out rows that may lie beyond it even where few rows make the quantile unsure
_REACH: Final = 0.2  # how far beyond it scores are the worst, in parts of the way from median to maximum
_BEND: Final = 0.7
_DECODER: Final = "the decoder's subwords make another text"
_ANOTHER: Final = 0.1  # letters beyond what training rows have, from which the score is the worst


@dataclass(frozen=True, eq=False)
class GuardResult:
    """What the guard says of a batch.

    decided  (n,) the detector's log-odds
    outside  (n,) the share of held-out translations that lie closer to the training rows
    unusual  (n, columns) how unusual each sign is
    mismatched  (n,) which rows have subwords of another text
    """

    decided: FloatArray
    outside: FloatArray
    unusual: FloatArray
    mismatched: NDArray[np.bool_]

    @property
    def marked(self) -> NDArray[np.bool_]:
        """(n,) which rows lie outside."""
        return self.outside >= MARKED

    def reasons(self, max_signs: int = 2) -> list[str]:
        """The most unusual signs of each row that is marked, the most unusual first; nothing for others."""
        order = np.argsort(-self.unusual, axis=1, kind="stable")
        return [
            "; ".join([*[_DECODER] * is_mismatched, *(COLUMNS[i].phrase for i in row.tolist())][:max_signs])
            if marked
            else ""
            for row, is_mismatched, marked in zip(order, self.mismatched.tolist(), self.marked, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Guard(Artifact):
    """The guard, learned from the texts of the training rows and rubbish made of them.

    No label is used, but for how widely labels are spread.

    held_out_log_odds  the detector's log-odds of translations that it had not seen, ascending quantiles
    rows      training rows that it was learned from
    differs   the share of letters in which a decoder's subwords differ from training translations, at most
    worst     the worst score of a training row by a model that has not seen it
    slope     how much scores lose from the median of translations to the last one
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
        """The guard of training rows, and (n,) log-odds of each by a guard that has not seen it.

        Raises InputError for texts without words.
        """
        rng = np.random.default_rng(seed)
        sample = np.sort(rng.permutation(len(segments))[:_MOST])
        chosen = _with_tokens(segments.take(sample))
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

        *apart, detector = side_by_side(detector_without, range(_FOLDS + 1))  # the last one has all
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
        """The result for a batch; a row's values do not depend on other rows."""
        signs = columns(segments, self.knowledge)
        beyond = mismatch(segments) - self.differs
        decided = np.maximum(self.detector.decide(signs), self._decided_of(beyond))
        return GuardResult(decided, self.outside(decided), self.detector.unusual(signs), beyond > 0)

    def _decided_of(self, excess: FloatArray) -> FloatArray:
        middle, first, last = np.quantile(self.held_out_log_odds, [0.5, MARKED, 1])
        worst = last + _REACH * (last - middle)
        share = np.clip(excess / _ANOTHER, 0, 1)
        return np.where(excess > 0, first + share * (worst - first), -np.inf)

    def outside(self, decided: FloatArray) -> FloatArray:
        """(n,) the share of held-out translations with smaller log-odds."""
        return np.asarray(
            np.interp(decided, self.held_out_log_odds, np.linspace(0, 1, len(self.held_out_log_odds)))
        )

    def for_scores(self, scores: FloatArray, scale: LabelScale, labels: FloatArray) -> Self:
        """The guard for models with these (n,) scores of unseen rows.

        labels  of the rows that the models learned from; their standard deviation alone is used
        """
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
        """(n,) out-of-fold scores lowered as a model's are.

        Each fold is lowered by its own scores and the deviation of the labels that it learned from.
        So the label of a row reaches its prediction by no way, not even by models of the other folds.

        unseen  (n,) log-odds of the rows by a guard that had not seen them
        folds   the rows that each learns from, and those that it holds out
        labels  (n,)
        """
        lowered = scores.copy()
        for learned, rows in folds:
            guard = self.for_scores(scores[rows], scale, labels[learned])
            lowered[rows] = guard.lowered(scores[rows], unseen[rows])
        return lowered

    def _ramp(self, decided: FloatArray) -> FloatArray:
        return np.clip(2 * self.outside(decided) - 1, 0, 1)

    def lowered(self, scores: FloatArray, decided: FloatArray) -> FloatArray:
        """(n,) scores, lowered by log-odds.

        The further outside a row is, the nearer its score is to the worst. None gets better than it was by
        more than the mean loss of translations.
        """
        quality, worst = scores * self.sign, self.worst * self.sign
        quality = quality - self.slope * (self._ramp(decided) - 0.25)  # 0.25: its mean over translations
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


def _with_tokens(segments: Segments) -> Segments:
    fresh = replace(segments)
    _ = fresh.source_tokens, fresh.target_tokens  # kept by what is taken of the rows
    return fresh


def rubbish_of(segments: Segments, seed: int, max_rows: int) -> Sequence[Segments]:
    """Each kind of rubbish, made of at most `max_rows` rows."""
    rng = np.random.default_rng(seed)
    kinds = names("destroying")
    rows = [np.sort(rng.permutation(len(segments))[:max_rows]).tolist() for _ in kinds]
    made = [perturbed(segments, name, seed, chosen)[0] for name, chosen in zip(kinds, rows, strict=True)]
    return [each for each in made if len(each)]
