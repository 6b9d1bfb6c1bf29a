"""Triage: publish, post-edit or retranslate, by thresholds on the predicted quality and a cost table."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import finite_or_none
from features.storage import strict_yaml
from qe.config.schema import Section, validated
from qe.data.dataset import LabelScale
from qe.display.numbers import NumberText, count, estimate, number, percent, percent_estimate
from qe.display.summary import Record
from qe.display.table import Column, Table
from qe.models.description import Description
from qe.models.training_rows import HeldOutPredictions
from qe.statistics.intervals import percentile_interval
from qe.statistics.resampling import bootstrap_scores
from qe.statistics.settings import check_enough, check_seed

Action = Literal["publish", "post-edit", "retranslate"]
ACTIONS: tuple[Action, ...] = get_args(Action)
_LARGEST = 400  # thresholds tried per side: quantiles of the predictions
_FOLDS, _POINTS = 5, 60  # of cross-fitting; of the curve of a trade-off


Cost = Annotated[float, Field(ge=0)]


class ActionCosts(Section):
    """Cost per segment of each action, from 0, in any one unit (minutes, cents), by its gold label.

    Parameters
    ----------
    publish_good : float, default=0.0
        Publishing a segment whose label is at least `good`.
    publish_bad : float
        Publishing a worse one, including complaints and later corrections.
    post_edit : float
        Post-editing a segment of the best label.
    post_edit_worst : float
        Post-editing one of the worst label; in between it grows linearly.
    retranslate : float
        Translating from scratch.
    good : float
        The label from which a segment may be published unchanged.
    """

    good: float
    publish_good: Cost = 0.0
    publish_bad: Cost
    post_edit: Cost
    post_edit_worst: Cost
    retranslate: Cost


def read_costs(path: Path) -> ActionCosts:
    content = strict_yaml.read(path, "cost table")
    if not isinstance(content, dict):
        raise InputError(
            "a cost table is a mapping", location=path, remedy=f"keys: {', '.join(ActionCosts.model_fields)}"
        )
    return validated(ActionCosts, content, path)


def closed_scale(described: Description) -> LabelScale:
    """The scale of a model's label; if it has an open end, that of the training labels."""
    scale, limits = described.scale, described.limits
    if limits is None or None not in (scale.low, scale.high):
        return scale
    return replace(scale, low=limits[0], high=limits[1])


def unusual_threshold(name: str, threshold: float | None, gold: FloatArray) -> str:
    """A note on a threshold outside of the middle 99 % of (n,) labels; else empty."""
    low, high = np.quantile(gold, [0.005, 0.995])
    if threshold is None or low <= threshold <= high:
        return ""
    return (
        f"{name}: {threshold:g} is outside of the middle 99 % of the labels, {low:g} to {high:g}; "
        "check that it is on their scale"
    )


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % bootstrap interval (None if it is undefined)."""

    value: float | None
    ci: tuple[float, float] | None


@dataclass(frozen=True)
class Triage(Record):
    """Thresholds on the predicted label, and their effect on labelled data.

    Attributes
    ----------
    publish, retranslate : float or None
        Labels: predictions at least as good as the first are published, those worse than the second
        retranslated, the rest post-edited; None: no segment.
    shares : mapping of str to Estimate
        Action -> share of the segments.
    published_bad : Estimate
        Share of the published segments that should not have been.
    edited_needlessly : Estimate
        Share of the post-edited or retranslated ones that could have been published.
    retranslated_wrongly : Estimate
        Share of the retranslated ones that post-editing would have made cheaper.
    cost : Estimate
        Mean cost per segment.
    saved : mapping of str to Estimate
        Action -> cost saved per segment against treating every segment that way.
    saved_share : Estimate
        Share of the cost of the cheapest single treatment that is saved.
    """

    publish: float | None
    retranslate: float | None
    shares: Mapping[str, Estimate]
    published_bad: Estimate
    edited_needlessly: Estimate
    retranslated_wrongly: Estimate
    cost: Estimate
    saved: Mapping[str, Estimate]
    saved_share: Estimate
    n: int

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "verdict": self.verdict}

    @property
    def alike(self) -> Action | None:
        """The action that all segments get, if they get the same."""
        return next((action for action in ACTIONS if self.shares[action].value == 1), None)

    @property
    def verdict(self) -> str:
        """The saving against the cheapest single treatment at the 95 % level, in words."""
        value, ci = self.saved_share.value, self.saved_share.ci
        if self.alike is not None:
            return f"all segments get the same action, {self.alike}: the predictions change nothing"
        if value is None or ci is None:
            return "whether anything is saved is undefined"
        if ci[0] > 0:
            return "the saving is significant: its 95 % interval is above 0"
        if ci[1] < 0:
            return "this costs more than treating all segments alike: the interval is below 0"
        return (
            "no saving is shown: its 95 % interval includes 0, so that treating all segments alike "
            "may cost as little"
        )


def cost_table(gold: FloatArray, costs: ActionCosts, scale: LabelScale) -> FloatArray:
    """(n, 3) cost of publishing, post-editing and retranslating every segment; the scale must be closed."""
    if scale.low is None or scale.high is None:
        raise InputError(f"the cost of post-editing needs the ends of the label '{scale.name}'",
                         remedy="give a range; --scale-low and --scale-high, or --model")  # fmt: skip
    if not scale.low <= costs.good <= scale.high:
        raise InputError(
            f"good: {costs.good:g} is outside of the label '{scale.name}', {scale.low:g} to {scale.high:g}",
            remedy="`good` is the label from which a segment may be published",
        )
    best, worst = (scale.high, scale.low) if scale.higher_is_better else (scale.low, scale.high)
    badness = (best - gold) / (best - worst)
    good = scale.sign * gold >= scale.sign * costs.good
    return np.column_stack(
        [
            np.where(good, costs.publish_good, costs.publish_bad),
            costs.post_edit + badness * (costs.post_edit_worst - costs.post_edit),
            np.full(len(gold), costs.retranslate),
        ]
    )


def triage(
    gold: FloatArray,
    predicted: FloatArray,
    costs: ActionCosts,
    scale: LabelScale,
    *,
    samples: int = 1000,
    seed: int = 0,
) -> Triage:
    """The cheapest thresholds on (n,) gold labels and predictions, and their effect.

    The thresholds are chosen on all segments, the figures use thresholds chosen on other segments
    (cross-fitting in five folds). Intervals resample segments, with fixed cross-fitted decisions.

    Raises InputError for fewer than 2 segments per fold, values that are not finite, and a negative seed.
    """
    check_seed(seed)
    check_enough(samples)
    if len(gold) < 2 * _FOLDS or len(gold) != len(predicted):
        raise InputError(f"{len(gold)} labels and {len(predicted)} predictions are too few, or differ")
    if not (np.isfinite(gold).all() and np.isfinite(predicted).all()):
        raise InputError("labels and predictions must be finite numbers")
    table, quality = cost_table(gold, costs, scale), scale.sign * predicted
    actions = np.empty(len(gold), np.int64)
    for test in np.array_split(np.random.default_rng(seed).permutation(len(gold)), _FOLDS):
        train = np.setdiff1d(np.arange(len(gold)), test)
        actions[test] = decide(quality[test], *thresholds(quality[train], table[train]))
    publish, retranslate = cheapest(gold, predicted, costs, scale)
    good = scale.sign * gold >= scale.sign * costs.good
    return Triage(
        publish=publish, retranslate=retranslate, n=len(gold), **_figures(actions, table, good, samples, seed)
    )


def cheapest(
    gold: FloatArray, predicted: FloatArray, costs: ActionCosts, scale: LabelScale
) -> tuple[float | None, float | None]:
    """(publish, retranslate) as in `Triage`: the cheapest thresholds on these (n,) segments."""
    publish, retranslate = thresholds(scale.sign * predicted, cost_table(gold, costs, scale))
    return (
        None if publish == np.inf else _label(publish, scale),
        None if retranslate == -np.inf else _label(retranslate, scale),
    )


def _label(quality: float, scale: LabelScale) -> float:
    low, high = sorted(scale.sign * end for end in (scale.low, scale.high) if end is not None)
    return float(scale.sign * np.clip(quality, low, np.nextafter(high, np.inf)))


def _figures(
    actions: NDArray[np.int64], table: FloatArray, good: NDArray[np.bool_], samples: int, seed: int
) -> dict[str, Any]:
    rows = np.arange(len(actions))
    taken = np.stack([actions == number for number in range(3)], axis=1)
    wasted = taken[:, 2] & (table[:, 1] < table[:, 2])
    counts = [*taken.T, taken[:, 0] & ~good, ~taken[:, 0], ~taken[:, 0] & good, wasted, rows >= 0]
    statistics = np.column_stack([*(c.astype(np.float64) for c in counts), table[rows, actions], table])
    real = statistics.sum(axis=0)[None]
    drawn = bootstrap_scores(statistics, lambda sums: sums, samples=samples, seed=seed)[0]

    def estimate(part: Callable[[FloatArray], FloatArray]) -> Estimate:
        with np.errstate(invalid="ignore", divide="ignore"):
            value, (low, high) = float(part(real)[0]), percentile_interval(part(drawn))
        return Estimate(finite_or_none(value), None if np.isnan(low) else (low, high))

    def share(above: int, below: int) -> Estimate:
        return estimate(lambda sums: sums[:, above] / sums[:, below])

    def saved(action: int) -> Estimate:
        return estimate(lambda sums: (sums[:, 9 + action] - sums[:, 8]) / sums[:, 7])

    return {
        "shares": {action: share(number, 7) for number, action in enumerate(ACTIONS)},
        "published_bad": share(3, 0),
        "edited_needlessly": share(5, 4),
        "retranslated_wrongly": share(6, 2),
        "cost": share(8, 7),
        "saved": {action: saved(number) for number, action in enumerate(ACTIONS)},
        "saved_share": estimate(lambda sums: 1 - sums[:, 8] / sums[:, 9:12].min(axis=1)),
    }


def thresholds(quality: FloatArray, table: FloatArray) -> tuple[float, float]:
    """(publish from, retranslate below), on predicted quality (higher is better), at least cost.

    All pairs of thresholds between at most 400 distinct predictions; infinite where an action is never best.
    Ties go to the pair that post-edits most.
    """
    order = np.argsort(quality, kind="stable")
    ranked, sums = quality[order], np.vstack([np.zeros(3), np.cumsum(table[order], axis=0)])
    cuts = np.flatnonzero(np.diff(ranked) > 0) + 1
    if len(cuts) > _LARGEST:
        cuts = cuts[np.linspace(0, len(cuts) - 1, _LARGEST).astype(np.int64)]
    cuts = np.concatenate([[0], cuts, [len(ranked)]])
    # below cuts[i]: retranslate; from cuts[j]: publish; between: post-edit
    low, high = sums[cuts][:, None], sums[cuts][None, :]
    cost = low[..., 2] + (high[..., 1] - low[..., 1]) + (sums[-1, 0] - high[..., 0])
    width = cuts[None, :] - cuts[:, None]
    cost = np.where(width >= 0, cost, np.inf)
    least = cost <= cost.min() + 1e-9 * max(1.0, abs(float(cost.min())))
    i, j = np.unravel_index(int(np.argmax(np.where(least, width, -1))), cost.shape)
    return _between(ranked, int(cuts[j])), _between(ranked, int(cuts[i]))


def _between(ranked: FloatArray, cut: int) -> float:
    if cut == 0:
        return -np.inf
    if cut == len(ranked):
        return np.inf
    return float((ranked[cut - 1] + ranked[cut]) / 2)


def decide(quality: FloatArray, publish: float, retranslate: float) -> NDArray[np.int64]:
    """(n,) 0 publish, 1 post-edit, 2 retranslate."""
    return np.where(quality >= publish, 0, np.where(quality < retranslate, 2, 1)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Cost and errors of publishing the `published[i]` best-predicted segments.

    published  (k,) share published
    bad        (k,) share of the published that should not have been; NaN if none is
    bad_ci     (k, 2) its 95 % bootstrap interval
    perfect    (k,) the same share if predictions ranked like the gold labels
    cost       (k,) mean cost, the rest post-edited or (below the threshold) retranslated
    base       share of bad segments among all: what publishing at random lets through
    """

    published: FloatArray
    bad: FloatArray
    bad_ci: FloatArray
    perfect: FloatArray
    cost: FloatArray
    base: float


def trade_off(
    gold: FloatArray,
    predicted: FloatArray,
    costs: ActionCosts,
    scale: LabelScale,
    retranslate: float | None,
    seed: int = 0,
) -> TradeOff:
    table, quality = cost_table(gold, costs, scale), scale.sign * predicted
    bad = (scale.sign * gold < scale.sign * costs.good).astype(np.float64)
    cuts = np.unique(np.linspace(0, len(gold), _POINTS + 1).round().astype(np.int64))
    order = np.argsort(-quality, kind="stable")
    other = table[:, 1].copy()
    if retranslate is not None:
        other = np.where(quality < scale.sign * retranslate, table[:, 2], other)
    summed = np.concatenate([[0.0], np.cumsum((table[:, 0] - other)[order])])
    ideal = bad[np.argsort(-scale.sign * gold, kind="stable")]
    shares = [_bad_share(bad[order][:cut], seed) for cut in cuts]
    return TradeOff(
        cuts / len(gold),
        np.array([value for value, _ in shares]),
        np.array([interval for _, interval in shares]),
        np.array([ideal[:cut].mean() if cut else np.nan for cut in cuts]),
        (other.sum() + summed[cuts]) / len(gold),
        float(bad.mean()),
    )


def _bad_share(bad: FloatArray, seed: int) -> tuple[float, tuple[float, float]]:
    if not len(bad):
        return np.nan, (np.nan, np.nan)
    drawn = bootstrap_scores(bad[:, None], lambda sums: sums[..., 0], samples=500, seed=seed)[0]
    return float(bad.mean()), percentile_interval(drawn / len(bad))


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    publish: FiniteFloat | None
    retranslate: FiniteFloat | None


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of a model, on the scale of its labels.

    Attributes
    ----------
    publish, retranslate : float or None
        Labels, as in `Triage`; None: none is published, or retranslated.
    notes : tuple of str
        On thresholds that are unusual for the model's labels.
    """

    publish: float | None
    retranslate: float | None
    scale: LabelScale
    notes: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, path: Path, scale: LabelScale) -> Self:
        """Raises InputError for a file without thresholds, and for thresholds in the wrong order."""
        try:
            content = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"cannot be read: {error}", location=path) from None
        if not isinstance(content, dict):
            raise InputError(
                "holds no thresholds", location=path, remedy="give what `qe triage --json` prints"
            )
        file = validated(_File, content, path)
        publish, retranslate, sign = file.publish, file.retranslate, scale.sign
        if publish is not None and retranslate is not None and sign * publish < sign * retranslate:
            problem = f"publishes from {publish:g} on, but retranslates what is worse than {retranslate:g}"
            raise InputError(problem, location=path)
        return cls(publish, retranslate, scale)

    @classmethod
    def from_file(cls, path: Path, model: Path, scale: LabelScale) -> Self:
        """Thresholds from a file (.json), or the cheapest for held-out predictions by a cost table (YAML)."""
        if path.suffix.lower() == ".json":
            read = cls.read(path, scale)
            if not HeldOutPredictions.exists(model):
                return read
            thresholds = {"publish": read.publish, "retranslate": read.retranslate}
            return read._with_notes(thresholds, HeldOutPredictions.load(model).gold)
        costs = read_costs(path)
        rows = HeldOutPredictions.load(model)
        found = cls(*cheapest(rows.gold, rows.predicted, costs, scale), scale)
        return found._with_notes({"good": costs.good}, rows.gold)

    def _with_notes(self, thresholds: Mapping[str, float | None], gold: FloatArray) -> Self:
        notes = (unusual_threshold(name, value, gold) for name, value in thresholds.items())
        return replace(self, notes=tuple(filter(None, notes)))

    def rules(self) -> dict[Action, str]:
        """What is done with which scores, in words."""
        return rules(self.publish, self.retranslate, self.scale.higher_is_better, "score")

    def action(self, prediction: float, outside: bool = False) -> Action:
        """What to do with a segment of that score; one outside the training data is not published."""
        quality, sign = self.scale.sign * prediction, self.scale.sign
        if self.publish is not None and quality >= sign * self.publish:
            return "post-edit" if outside else "publish"
        if self.retranslate is not None and quality < sign * self.retranslate:
            return "retranslate"
        return "post-edit"


def rules(
    publish: float | None, retranslate: float | None, higher_is_better: bool, subject: str
) -> dict[Action, str]:
    """What is done with which segments, in words; `subject` has the threshold: a score, a prediction.

    >>> rules(2.5, None, False, "score")["publish"]
    'score at most 2.500'
    """
    better, worse = ("at least", "below") if higher_is_better else ("at most", "above")
    return {
        "publish": "never" if publish is None else f"{subject} {better} {number(publish)}",
        "post-edit": "the rest",
        "retranslate": "never" if retranslate is None else f"{subject} {worse} {number(retranslate)}",
    }


def triage_tables(decision: Triage, higher_is_better: bool) -> list[Table]:
    told = rules(decision.publish, decision.retranslate, higher_is_better, "predicted")
    actions = [[action, _share(decision.shares[action]), rule] for action, rule in told.items()]
    figures = {
        "published but bad": (_share(decision.published_bad), "of the published"),
        "not published but good": (_share(decision.edited_needlessly), "of the others"),
        "retranslated, though editing is cheaper": (
            _share(decision.retranslated_wrongly), "of the retranslated",
        ),
        "mean cost per segment": (_cost(decision.cost), ""),
        **{f"saved against {name} everything": (_cost(one), "") for name, one in decision.saved.items()},
        "saved of the cheapest single treatment": (_share(decision.saved_share), ""),
    }  # fmt: skip
    note = (
        f"thresholds from {count(decision.n)} segments; figures cross-fitted, with 95 % bootstrap intervals"
    )
    rows = [[name, *cells] for name, cells in figures.items()]
    return [
        Table("", [Column("action"), Column("segments", "share"), Column("rule")], actions),
        Table("", [Column("figure"), Column("value"), Column("", "of")], rows, [decision.verdict, note]),
    ]


def actions_table(thresholds: Thresholds, counts: Mapping[str, int], scored: int) -> Table:
    rows = [
        [
            action,
            count(counts.get(action, 0)),
            percent(counts.get(action, 0) / scored if scored else None),
            rule,
        ]
        for action, rule in thresholds.rules().items()
    ]
    return Table("", [Column("action"), Column("segments"), Column("share"), Column("rule")], rows)


def _share(figure: Estimate) -> NumberText:
    return percent_estimate(figure.value, figure.ci)


def _cost(figure: Estimate) -> NumberText:
    return estimate(figure.value, figure.ci, 4)
