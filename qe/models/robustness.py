"""Robustness: a model's scores of perturbed translations and harmless changes."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.segments import Segments
from qe.data.dataset import LabelScale
from qe.data.perturbation import EFFECTS, Effect, names, perturbation_of, perturbed
from qe.display.files import plain_fields
from qe.display.summary import Printable
from qe.language.made_columns import remake_columns
from qe.models.model import Model

FEWEST: Final = 30  # minimum number of perturbed rows, regardless of time
MAX_ROWS: Final = 100  # maximum, unless a number is given
SECONDS: Final = 20.0  # of the processor
_OF_ONE_TEXT: Final = ("annotation_target", "alignment")
_NORMAL: Final = 1.959964  # 97.5 % of a normal distribution lie below
_LOWEST, _BEST = 0.1, 0.75  # quantiles of the original scores

Judge = Callable[[Segments], tuple[FloatArray, NDArray[np.bool_]]]
Checked = Callable[[str, str], str]  # source, translation -> failed checks, joined by "; "


@dataclass(frozen=True)
class Answer:
    """A model's response to one perturbation.

    n       number of perturbed rows whose original scores above the lowest tenth
    below   share that scores below the original
    drop    mean decrease of the score, in label units (negative: an increase)
    moved   mean absolute change, in standard deviations of the original scores
    best    share that scores within the best quarter of the originals
    unseen  share that does so without being marked
    marked  share marked as out of distribution
    flagged share in which checks report something new; None without checks
    """

    name: str
    effect: Effect
    n: int
    below: float
    drop: float
    moved: float
    best: float
    unseen: float
    marked: float
    flagged: float | None = None

    @property
    def below_interval(self) -> tuple[float, float]:
        """95 % interval of `below` over rows (Wilson 1927).

        >>> [round(bound, 3) for bound in Answer("", "harmless", 10, 1.0, 0, 0, 0, 0, 0).below_interval]
        [0.722, 1.0]
        """
        spread = _NORMAL**2 / self.n
        middle = (self.below + spread / 2) / (1 + spread)
        half = _NORMAL * sqrt(self.below * (1 - self.below) / self.n + spread / 4 / self.n) / (1 + spread)
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Robustness(Printable):
    """All responses, by effect and name, without perturbations that changed no row.

    Attributes
    ----------
    rows : int
        Number of perturbed rows.
    marked : float
        Share of originals marked as out of distribution.
    """

    rows: int
    marked: float
    answers: tuple[Answer, ...]

    def with_effect(self, effect: Effect) -> tuple[Answer, ...]:
        return tuple(a for a in self.answers if a.effect == effect)

    @property
    def below(self) -> tuple[float, float, str]:
        """Share of destroyed rows that score below their original: mean over kinds, minimum, its kind."""
        shares = {answer.name: answer.below for answer in self.with_effect("destroying")}
        if not shares:
            return float("nan"), float("nan"), ""
        worst = min(shares, key=lambda name: shares[name])
        return float(np.mean(list(shares.values()))), shares[worst], worst

    def to_json(self) -> dict[str, Any]:
        mean, least, worst = self.below
        content = {
            "rows": self.rows,
            "marked": self.marked,
            "destroyed_below": {"mean": mean, "least": least, "kind": worst or None},
            "perturbations": [{**vars(each), "below_interval": each.below_interval} for each in self.answers],
        }
        return plain_fields(content)


def robustness_of(
    judge: Judge,
    segments: Segments,
    scale: LabelScale,
    *,
    seed: int = 0,
    rows: int | None = None,
    kinds: Sequence[str] = (),
    checked: Checked | None = None,
    progress: Progress = silent,
) -> Robustness:
    """Applies every perturbation to rows, and compares the scores.

    judge     returns (n,) scores and (n,) marks, like `judge_of`
    segments  translations that the model has not learned from
    rows      number of rows; None: as many as 20 CPU seconds allow, from 30 to 100 if available
    kinds     names of perturbations; none: all
    checked   results of checks for source and translation, as in `Flags.text`
    """
    if not len(segments):
        raise InputError("there are no translations to change", remedy="give a file with some")
    chosen = tuple(kinds) or names()
    for name in chosen:
        perturbation_of(name)
    order = np.random.default_rng(seed).permutation(len(segments))
    scores, marked = judge(segments)
    if rows is None:  # by the time that the first kind takes: new texts take longer than those known
        began = time.process_time()
        changed, _ = perturbed(segments, chosen[0], seed, order[:FEWEST].tolist())
        judge(changed)
        each = (time.process_time() - began) / max(len(changed), 1)
        rows = min(MAX_ROWS, max(FEWEST, int(SECONDS / max(each * len(chosen), 1e-9))))
    taken = np.sort(order[:rows])
    originals = _Originals(segments, scores * scale.sign, taken, scale.sign)
    answers = []
    for done, name in enumerate(chosen):
        progress("perturbations", done, len(chosen))
        if (answer := _answer(name, judge, originals, seed, checked)) is not None:
            answers.append(answer)
    progress("perturbations", len(chosen), len(chosen))
    answers.sort(key=lambda answer: (EFFECTS.index(answer.effect), answer.name))
    return Robustness(len(taken), float(marked.mean()), tuple(answers))


@dataclass(frozen=True, eq=False)
class _Originals:
    segments: Segments
    quality: FloatArray
    rows: NDArray[np.int64]
    sign: float


def _answer(
    name: str, judge: Judge, originals: _Originals, seed: int, checked: Checked | None
) -> Answer | None:
    effect, quality = perturbation_of(name).effect, originals.quality
    changed, rows = perturbed(originals.segments, name, seed, originals.rows.tolist())
    kept = quality[rows] > np.quantile(quality, _LOWEST)
    if not kept.any():
        return None
    changed, rows = changed.take(np.flatnonzero(kept)), rows[kept]
    scores, marked = judge(changed)
    new, old = scores * originals.sign, quality[rows]
    best = new >= np.quantile(quality, _BEST)
    spread, flagged = float(quality.std()), None
    if checked is not None:
        before, after = (
            [set(checked(*pair).split("; ")) for pair in zip(each.source, each.target, strict=True)]
            for each in (originals.segments.take(rows), changed)
        )
        flagged = float(np.mean([bool(now - was - {""}) for was, now in zip(before, after, strict=True)]))
    return Answer(
        name,
        effect,
        len(rows),
        float((new < old).mean()),
        float((old - new).mean()),
        float(np.abs(old - new).mean() / spread) if spread else float("nan"),
        float(best.mean()),
        float((best & ~marked).mean()),
        float(marked.mean()),
        flagged,
    )


def of_one_text(model: Model) -> list[str]:
    return [name for name in model.columns() if name in _OF_ONE_TEXT]


def judge_of(model: Model) -> Judge:
    if columns := of_one_text(model):
        raise InputError(
            f"the model needs '{columns[0]}', and a changed translation has none",
            remedy="ask a model that makes it by a program, or does without",
        )

    def judge(segments: Segments) -> tuple[FloatArray, NDArray[np.bool_]]:
        segments = remake_columns(segments, model.made_columns)
        scores, seen = model.judge(segments, model.features(segments))
        return scores, np.zeros(len(segments), np.bool_) if seen is None else seen.marked

    return judge
