"""Robustness: how a model scores perturbed translations and harmless changes."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import finite_or_none
from features.basics.progress import Progress, silent
from features.core.segments import Segments
from qe.data.dataset import LabelScale
from qe.data.perturbation import EFFECTS, PERTURBATIONS, Effect, names, perturbed
from qe.display.summary import summarised
from qe.language.programs.made_columns import remake_columns
from qe.models.model import Model

FEWEST: Final = 30  # rows that are changed, whatever the time
SECONDS: Final = 10.0
_OF_ONE_TEXT: Final = ("annotation_target", "alignment")
_LOWEST, _BEST = 0.1, 0.75  # quantiles of the originals' scores

Judge = Callable[[Segments], tuple[FloatArray, NDArray[np.bool_]]]
Checked = Callable[[str, str], str]  # source, translation -> what checks find, in parts joined by "; "


@dataclass(frozen=True)
class Answer:
    """What the model says of one perturbation.

    n       rows that it changed, their original's score above the lowest tenth
    below   the share of them that score below their original
    drop    mean fall of the score, in label units (negative: it rose)
    moved   mean absolute change, in standard deviations of the originals' scores
    best    the share that lands in the best quarter of the originals
    unseen  the share that does so without a mark
    marked  the share that is marked as outside
    flagged the share in which checks find what they do not find in the original; None if there are none
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


@summarised
@dataclass(frozen=True)
class Robustness:
    """All answers, by effect and name; perturbations that changed no row are not among them.

    Attributes
    ----------
    rows : int
        Rows that were changed.
    marked : float
        The share of originals that is marked as outside.
    """

    rows: int
    marked: float
    answers: tuple[Answer, ...]

    def with_effect(self, effect: Effect) -> tuple[Answer, ...]:
        """The answers about perturbations of one effect."""
        return tuple(a for a in self.answers if a.effect == effect)

    @property
    def below(self) -> tuple[float, float, str]:
        """The share of destroyed rows below their original: mean over kinds, least, its kind.

        NaN if no kind changed a row.
        """
        shares = {answer.name: answer.below for answer in self.with_effect("destroying")}
        if not shares:
            return float("nan"), float("nan"), ""
        worst = min(shares, key=lambda name: shares[name])
        return float(np.mean(list(shares.values()))), shares[worst], worst

    def to_json(self) -> dict[str, Any]:
        mean, least, worst = self.below
        return {
            "rows": self.rows,
            "marked": self.marked,
            "destroyed_below": {
                "mean": finite_or_none(mean),
                "least": finite_or_none(least),
                "kind": worst or None,
            },
            "perturbations": [
                asdict(answer) | {"moved": finite_or_none(answer.moved)} for answer in self.answers
            ],
        }


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
    """Perturbs rows in every known way, and compares the scores.

    judge     gives (n,) scores and (n,) marks: `judge_of` a model, or any other
    segments  translations that the model has not learned from
    rows      how many are changed; None: as many as ten seconds allow, at least 30 if there are as many
    kinds     names of perturbations; none: all
    checked   what checks say of source and translation, as `Flags.text`

    Raises InputError if there are no segments, and for an unknown perturbation.
    """
    if not len(segments):
        raise InputError("there are no translations to change", remedy="give a file with some")
    chosen = tuple(kinds) or names()
    for name in chosen:
        PERTURBATIONS.get(name)
    order = np.random.default_rng(seed).permutation(len(segments))
    began = time.perf_counter()
    scores, marked = judge(segments)
    if rows is None:
        each = (time.perf_counter() - began) / len(segments)
        rows = max(FEWEST, int(SECONDS / max(each * len(chosen), 1e-9)))
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
    effect, quality = PERTURBATIONS.get(name).effect, originals.quality
    changed, rows = perturbed(originals.segments, name, seed, originals.rows.tolist())
    kept = quality[rows] > np.quantile(quality, _LOWEST)
    if not kept.any():
        return None
    changed, rows = changed.take(np.flatnonzero(kept)), rows[kept]
    scores, marked = judge(changed)
    new, old = scores * originals.sign, quality[rows]
    best = new >= np.quantile(quality, _BEST)
    spread = float(quality.std())
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
        None if checked is None else _flagged(checked, originals.segments.take(rows), changed),
    )


def _flagged(checked: Checked, originals: Segments, changed: Segments) -> float:
    old, new = (
        [set(checked(*pair).split("; ")) for pair in zip(each.source, each.target, strict=True)]
        for each in (originals, changed)
    )
    return float(np.mean([bool(now - was - {""}) for was, now in zip(old, new, strict=True)]))


def of_one_text(model: Model) -> list[str]:
    """The columns that the user gives the model, and that fit no other translation."""
    return [name for name in model.columns() if name in _OF_ONE_TEXT]


def judge_of(model: Model) -> Judge:
    """The scores and marks of a model, its made columns computed again.

    Raises InputError for a model that needs what only the user has of a translation (`of_one_text`).
    """
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
