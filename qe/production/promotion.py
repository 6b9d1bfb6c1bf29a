"""Registry: versions of a model, and promotion of a challenger that is better, on record."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, did_you_mean
from features.basics.numerals import finite_or_none
from features.storage.files import digest
from qe.config.experiment import Experiment
from qe.data.dataset import LabelScale
from qe.data.table_rows import Row, read_rows
from qe.display.numbers import p_value, signed
from qe.display.summary import Record
from qe.models.model import Model
from qe.models.training_rows import Learned
from qe.scoring.row_formats import Names, Needs
from qe.scoring.scorer import Options, Scorer, needs_of
from qe.statistics.comparisons import Comparisons, Scored
from qe.statistics.draws import Levels
from qe.statistics.intervals import exceeds
from qe.statistics.metric import METRICS, Metric, title_of
from qe.statistics.result import TestResult
from qe.statistics.settings import ResamplingSettings, Tail, check_seed
from qe.tracking import registry
from qe.tracking.logged_models import model_directory
from qe.training.train import Outcome


@dataclass(frozen=True, eq=False)
class Labelled:
    name: str
    rows: Sequence[Row]
    gold: FloatArray

    @property
    def fingerprint(self) -> str:
        texts = [sorted((k, v) for k, v in columns.items() if v is not None) for columns, _ in self.rows]
        return digest(texts, self.gold.tobytes())


@dataclass(frozen=True)
class Decision(Record):
    """Whether a challenger is promoted, and the evidence.

    Attributes
    ----------
    gain : float or None
        Challenger minus champion on the metric, in the direction in which more is better; None without a
        champion.
    ci : pair of float and float or None
        Its 95 % jackknife interval.
    p : float or None
        Of a gain no larger than the margin (`better_by`); None where so few segments cannot decide.
    learned : int
        Segments that were left out, because a model has learned from them.
    silent : tuple of str
        Versions (of earlier releases) that do not record their training data.
    """

    name: str
    challenger: str
    champion: str | None
    promoted: bool
    reason: str
    metric: str
    scores: Mapping[str, float]
    gain: float | None
    ci: tuple[float, float] | None
    p: float | None
    test: str | None
    margin: float
    level: float
    samples: int
    seed: int
    data: str
    data_fingerprint: str
    n: int
    learned: int = 0
    silent: tuple[str, ...] = ()


def promote(
    name: str,
    data: Labelled,
    *,
    metric: str = "mae",
    margin: float = 0.0,
    level: float = 0.05,
    samples: int = 10_000,
    seed: int = 0,
    challenger: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Decision:
    """Makes the challenger champion if it is better by more than `margin`, at significance `level`.

    Segments that either was trained on are left out. The decision and its evidence are recorded on the
    challenger. Without a champion there is no test. Raises InputError for an unknown model or version, labels
    of different scales, rows that a model cannot score, or none that is new to both.

    Parameters
    ----------
    challenger : str or None, default=None
        Its version; default: the version with that alias.
    columns : mapping of str to str or None, default=None
        Headers of the data by the models' names; others are found as `qe score` finds them.
    """
    _check(margin, level, samples)
    check_seed(seed)
    metric = METRICS.spelled(metric)
    version, champion = _contenders(name, challenger)
    versions = [version] if champion is None else [version, champion]
    folders = {version: model_directory(f"models:/{name}/{version}") for version in versions}
    models = {version: Model.load(folder) for version, folder in folders.items()}
    headers = list(dict.fromkeys(header for row, _ in data.rows for header in row))
    needs = Needs.joined(list(map(needs_of, models.values())), "a model")
    names = Names(columns or {}).for_table(needs, headers, headers, data.name)
    renamed = replace(data, rows=[names.view(row) for row in data.rows])
    unseen, silent = _unseen(name, folders, renamed)
    unopposed = Decision(
        name, version, champion, True, "there is no champion", metric, {}, None, None, None, None, margin,
        level, samples, seed, unseen.name, unseen.fingerprint, len(unseen.gold),
        learned=len(data.gold) - len(unseen.gold), silent=silent,
    )  # fmt: skip
    decision = _decided(unopposed, models, unseen)
    if decision.promoted:
        registry.make_champion(name, version)
    tags = {
        "promotion.decision": "promoted" if decision.promoted else "refused",
        "promotion.reason": decision.reason,
        "promotion.evidence": json.dumps({**decision.to_json(), "at": _now()}),
    }
    registry.tag_version(name, version, tags)
    return decision


def _unseen(name: str, folders: Mapping[str, Path], data: Labelled) -> tuple[Labelled, tuple[str, ...]]:
    pairs = [(str(columns.get("source")), str(columns.get("target"))) for columns, _ in data.rows]
    new, silent = np.ones(len(pairs), bool), []
    for version, folder in folders.items():
        learned = Learned.find(folder)
        if learned is None:
            silent.append(version)
        else:
            new &= ~learned.knows(pairs)
    if not new.any():
        problem = f"versions {' and '.join(folders)} of '{name}' have learned from every segment"
        raise InputError(problem, location=data.name, remedy="compare them on other data")
    rows = [row for row, is_new in zip(data.rows, new, strict=True) if is_new]
    return Labelled(data.name, rows, data.gold[new]), tuple(silent)


@dataclass(frozen=True)
class Candidacy:
    """A model that was just trained, and the labelled segments for its comparison."""

    outcome: Outcome
    metric: str
    data: Labelled


def promote_trained(candidates: Sequence[Candidacy]) -> list[Decision]:
    """`promote` for models that were just registered: of each name, the one that measured best."""
    best: dict[str, Candidacy] = {}
    for candidate in candidates:
        entry = candidate.outcome.report["registration"]
        if entry is None or entry["champion"]:
            continue
        other = best.get(entry["name"])
        sign = 1 if METRICS.get(candidate.metric).higher_is_better else -1
        if other is None or sign * (entry["value"] - other.outcome.report["registration"]["value"]) > 0:
            best[entry["name"]] = candidate
    return [
        promote(name, c.data, metric=c.metric, challenger=c.outcome.report["registration"]["version"])
        for name, c in best.items()
    ]


def rollback(name: str) -> tuple[str, str]:
    """Gives the alias back to the champion's predecessor: (version demoted, version champion again)."""
    versions = {entry.version: entry for entry in registry.model_versions(name)}
    champion = registry.aliased(name, registry.CHAMPION)
    if champion is None:
        raise InputError(f"no version of '{name}' is champion")
    previous = versions[champion].tags.get(registry.PREVIOUS)
    if previous is None or previous not in versions:
        raise InputError(f"version {champion} of '{name}' has no predecessor to go back to")
    registry.set_alias(name, registry.CHAMPION, previous)
    registry.tag_version(
        name, champion, {"promotion.decision": "rolled back", "rollback.to": previous, "rollback.at": _now()}
    )
    return champion, previous


def from_table(path: Path, label: str) -> Labelled:
    rows = list(read_rows(path))
    gold = np.empty(len(rows))
    for number, (columns, reason) in enumerate(rows):
        location = f"{path}, row {number + 1}"
        if reason:
            raise InputError(reason, location=location)
        if label not in columns:
            remedy = f"it has {', '.join(columns)}{did_you_mean(label, columns)}"
            raise InputError(f"no column '{label}'", location=location, remedy=remedy)
        try:
            gold[number] = float(columns[label])
        except (TypeError, ValueError):
            raise InputError(f"the label {columns[label]!r} is no number", location=location) from None
        if not np.isfinite(gold[number]):
            raise InputError(f"the label {columns[label]!r} is not finite", location=location)
    return Labelled(path.name, rows, gold)


def of_experiment(loaded: Experiment, split: str | None = None) -> Labelled:
    from qe.training.reading import read_dataset, test_split

    dataset = read_dataset(loaded)
    name, location = split or test_split(dataset, loaded), f"experiment '{loaded.name}'"
    if name is None:
        raise InputError("it has no test split", location=location, remedy="name a split")
    chosen = dataset.split(name)
    if chosen.scores is None:
        raise InputError(f"the split '{name}' has no labels", location=location, remedy="name another split")
    names, columns = zip(*chosen.segments.columns(), strict=True)
    rows = [(dict(zip(names, values, strict=True)), "") for values in zip(*columns, strict=True)]
    return Labelled(f"{dataset.name}/{name}", rows, chosen.scores)


def _check(margin: float, level: float, samples: int) -> None:
    if margin < 0 or not 0 < level < 1 or samples < 100:
        raise InputError(
            f"margin >= 0, 0 < level < 1, samples >= 100 must hold, but got {margin:g}, {level:g}, {samples}"
        )
    least = ceil(1 / level) - 1
    if margin == 0 and samples < least:
        raise InputError(
            f"{samples:,} samples cannot give a p-value of {level:g}", remedy=f"ask for {least:,} or more"
        )


def _contenders(name: str, challenger: str | None) -> tuple[str, str | None]:
    versions = [entry.version for entry in registry.model_versions(name)]
    champion = registry.aliased(name, registry.CHAMPION)
    version = challenger or registry.aliased(name, registry.CHALLENGER)
    if version is None:
        example = versions[-1] if versions else "N"
        raise InputError(f"no version of '{name}' is challenger", remedy=f"name one: --challenger {example}")
    if version not in versions:
        raise InputError(f"'{name}' has no version {version}", remedy=f"versions: {', '.join(versions)}")
    if version == champion:
        raise InputError(f"version {version} of '{name}' is the champion already")
    return version, champion


def _decided(unopposed: Decision, models: Mapping[str, Model], data: Labelled) -> Decision:
    metric = METRICS.get(unopposed.metric)()
    predicted, scale = _predictions(unopposed.name, models, data)
    gold = scale.sign * data.gold
    scores = {version: metric.score(gold, values) for version, values in predicted.items()}
    decision = replace(unopposed, scores=scores)
    if len(models) == 1:
        return decision
    new, old = predicted.values()
    result = better_by(gold, new, old, metric, decision.margin, decision.samples, decision.seed)
    shortfall = result.reach.shortfall(decision.level) if result.reach is not None and result.units else ""
    better = bool(result.difference > decision.margin and result.p <= decision.level and not shortfall)
    settings = ResamplingSettings(samples=decision.samples, seed=decision.seed)
    ci = _compared(gold, new, old, metric, settings).interval(("new", "old", "metric"))
    if not metric.higher_is_better:
        ci = -ci[1], -ci[0]
    return replace(
        decision,
        promoted=better,
        reason=_reason(decision, better, result, shortfall),
        test=result.test,
        gain=finite_or_none(result.difference),
        ci=None if np.isnan(ci[0]) else ci,
        p=None if shortfall else finite_or_none(result.p),
    )


def better_by(
    gold: FloatArray,
    new: FloatArray,
    old: FloatArray,
    metric: Metric,
    margin: float,
    samples: int,
    seed: int = 0,
) -> TestResult:
    """Whether new predictions (n,) are better than old ones by more than a margin; one-sided.

    Without a margin predictions are exchanged; with one they are not exchangeable: a jackknife t test.
    """
    sign = 1.0 if metric.higher_is_better else -1.0
    tail: Tail = "greater" if metric.higher_is_better else "less"
    pair = _compared(gold, new, old, metric, ResamplingSettings(samples=samples, seed=seed, tail=tail))
    gain = sign * pair.difference("new", "old", "metric")
    if margin == 0:
        return replace(pair.test("new", "old")["metric"], difference=gain)
    reach = replace(pair.levels.reach, tail="greater")
    left_out = [sign * differences for differences in pair.jackknife_differences(("new", "old", "metric"))]
    p = exceeds(gain, left_out, margin, reach.min_p)
    return TestResult(gain, p, "one-sided t test (jackknife)", "segment", 0, "greater", False, reach)


def _compared(
    gold: FloatArray, new: FloatArray, old: FloatArray, metric: Metric, settings: ResamplingSettings
) -> Comparisons:
    scored = Scored.from_predictions(gold, {"new": new, "old": old}, {"metric": metric})
    return Comparisons(scored, Levels.from_groups(None, len(gold)), settings)


def _reason(decision: Decision, better: bool, result: TestResult, shortfall: str) -> str:
    metric, margin, gain = decision.metric, decision.margin, result.difference
    shown = f"{signed(gain, METRICS.get(metric).digits + 1)} {title_of(metric)}"
    than = f"than champion version {decision.champion} by {shown} (more than {margin:g} required)"
    if shortfall:
        return f"that version {decision.challenger} is better {than} cannot be decided: {shortfall}"
    than += f", p {p_value(result.p, None)}"
    if better:
        return f"version {decision.challenger} is better {than}"
    chance = f"that may be chance at level {decision.level:g}" if gain > margin else "the gain is too small"
    return f"version {decision.challenger} is not shown to be better {than}: {chance}"


def _predictions(
    name: str, models: Mapping[str, Model], data: Labelled
) -> tuple[dict[str, FloatArray], LabelScale]:
    predicted, scales = {}, []
    for version, model in models.items():
        outputs = Scorer(model, Options(drift=False)).score(data.rows).rows
        for number, output in enumerate(outputs, start=1):
            if output["score"] is None:
                reason = output["reason"] or "undefined score"
                raise InputError(f"version {version} cannot score row {number}: {reason}", location=data.name)
        predicted[version] = model.scale.sign * np.array([output["score"] for output in outputs])
        scales.append(model.scale)
    if any(scale != scales[0] for scale in scales):
        raise InputError(f"versions {' and '.join(models)} of '{name}' predict labels of different scales")
    return predicted, scales[0]


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
