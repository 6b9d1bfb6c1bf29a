"""Leaderboards of runs: of one data set, or with a column for each language pair and data set."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, FiniteFloat

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.storage.damage import Damaged, damage_reported, read_json
from qe.data.dataset import LabelScale
from qe.display import files
from qe.display.numbers import count, interval, number, p_value
from qe.display.summary import Printable, Record
from qe.display.table import UNBOUNDED, Column, Table
from qe.evaluation.evaluate import PUBLISHED, Report, SystemScores, evaluate
from qe.statistics.family import correct
from qe.statistics.metric import METRICS, ExchangedMetric, title_of
from qe.statistics.result import p_value as share_as_extreme
from qe.statistics.settings import LEVEL, SignificanceSettings

_AGAIN = "run the experiment again"


class _Label(BaseModel):
    name: str
    low: FiniteFloat | None
    high: FiniteFloat | None
    higher_is_better: bool


class _Data(BaseModel):
    name: str
    label: _Label


class _Evaluation(BaseModel):
    metric: str = "delta_avg"


class _Experiment(BaseModel):
    name: str
    evaluation: _Evaluation = _Evaluation()
    description: str
    published: dict[str, float | None] | None = None


class _CrossValidation(BaseModel):
    selected_on_these_folds: bool = False


class _Features(BaseModel):
    n: int


class _Run(BaseModel):
    experiment: _Experiment
    data: _Data
    features: _Features
    cross_validation: _CrossValidation
    nested: dict[str, Any] | None
    seconds: float = math.nan


@dataclass(frozen=True)
class Entry:
    """One row: a run, its out-of-fold scores, and the corrected p-value against the baseline."""

    name: str
    run: _Run
    scores: SystemScores
    best_cluster: bool
    p: float | None

    @property
    def figures(self) -> str:
        """What was chosen on the segments behind the scores: a key of `_FIGURES`."""
        if self.run.nested is not None:
            return "nested"
        return "selected" if self.run.cross_validation.selected_on_these_folds else "plain"

    @property
    def published(self) -> Mapping[str, float | None]:
        return self.run.experiment.published or {}


@dataclass(frozen=True, eq=False)
class Leaderboard(Printable):
    """Entries, best first by `metric`, the whole evaluation behind them, and what they share."""

    title: str
    metric: str
    baseline: str | None
    entries: Sequence[Entry]
    report: Report

    def summary(self) -> Table:
        """The runs, best first."""
        return table(self)


def make(
    folders: Sequence[Path], *, baseline: str | Path | None = None, samples: int | None = None, seed: int = 0
) -> Leaderboard:
    """The leaderboard of output folders of `qe train` on the training segments of one dataset.

    Out-of-fold predictions are compared, nested ones where an experiment made them, unless another was
    selected on its folds without them: then all are compared by the figures of their folds. `baseline` is a
    name or one of the folders; default: the experiment named `baseline`. The metric is that of the
    experiments, DeltaAvg where they differ in it.
    """
    runs = {folder: _run(folder) for folder in folders}
    if any(run.nested is None and run.cross_validation.selected_on_these_folds for run in runs.values()):
        runs = {folder: run.model_copy(update={"nested": None}) for folder, run in runs.items()}
    tables = {folder: _predictions(folder, runs[folder].nested is not None) for folder in folders}
    first = tables[folders[0]]
    for folder, table in tables.items():
        if not table["id"].equals(first["id"]) or not np.array_equal(table["gold"], first["gold"]):
            raise InputError(
                "was run on other segments than the others",
                location=folder,
                remedy="`qe compare` of runs on several data sets makes a column of each",
            )
    if len(runs) < len(folders):
        raise InputError("is given twice", location=Counter(folders).most_common(1)[0][0])
    names = _names(runs)
    systems = {names[folder]: table["chosen"].to_numpy() for folder, table in tables.items()}
    if isinstance(baseline, Path):
        baseline = names[baseline]
    if baseline is None and "baseline" in systems and len(systems) > 1:
        baseline = "baseline"
    if baseline is not None and baseline not in systems:
        raise InputError(f"no run is named '{baseline}'", remedy=f"runs: {', '.join(systems)}")
    data = runs[folders[0]].data
    scale = LabelScale(**data.label.model_dump())
    metric = common_metric([run.experiment.evaluation.metric for run in runs.values()])
    METRICS.get(metric)
    report = evaluate(
        first["gold"].to_numpy(),
        systems,
        scale,
        SignificanceSettings(samples=samples, seed=seed),
        baselines=(baseline,) if baseline else (),
        metrics=tuple(dict.fromkeys((metric, *PUBLISHED[:2], "pearson", *PUBLISHED[2:]))),
    )
    best = next(iter(report.clusters.get(metric, [[]])))
    p_values = {name: report.comparison(name, baseline, metric).p_corrected
                for name in systems if baseline not in (None, name)}  # fmt: skip
    entries = [
        Entry(name, runs[folder], report.systems[name], name in best, p_values.get(name))
        for folder, name in names.items()
    ]
    sign = -1 if METRICS.get(metric).higher_is_better else 1
    entries.sort(key=lambda entry: np.nan_to_num(sign * entry.scores.metrics[metric], nan=np.inf))
    title = f"{data.name}, {data.label.name}: {len(first):,} segments, out-of-fold predictions"
    return Leaderboard(title, metric, baseline, entries, report)


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a run said of its training segments, out of fold; `sign` times a value is quality."""

    gold: FloatArray
    predicted: FloatArray
    sign: float
    metric: str

    def score(self, metric: str) -> float:
        return METRICS.get(metric)().score(self.sign * self.gold, self.sign * self.predicted)


def are_of_one_data_set(folders: Sequence[Path]) -> bool:
    tables = [_predictions(folder, nested=False)[["id", "gold"]] for folder in folders]
    return all(table.equals(tables[0]) for table in tables)


def _names(runs: Mapping[Path, _Run]) -> dict[Path, str]:
    own = {folder: run.experiment.name for folder, run in runs.items()}
    shared = Counter(own.values())
    return {folder: name if shared[name] == 1 else str(folder) for folder, name in own.items()}


def common_metric(metrics: Sequence[str]) -> str:
    return metrics[0] if len(set(metrics)) == 1 else "delta_avg"


def _run(folder: Path) -> _Run:
    file = folder / "report.json"
    if not file.is_file():
        raise InputError("holds no finished run (no report.json)", location=folder)
    with damage_reported("the report of the run", file, _AGAIN):
        return _Run.model_validate(read_json("the report of the run", file, _AGAIN))


def _predictions(folder: Path, nested: bool) -> pd.DataFrame:
    file, column = folder / "predictions.parquet", "nested" if nested else "predicted"
    with damage_reported("the predictions of the run", file, _AGAIN):
        table = pd.read_parquet(file)
        if missing := {"split", "id", "gold", column} - set(table.columns):
            raise Damaged(f"has no column {', '.join(sorted(missing))}")
        table = table[table["split"] == "train"].reset_index(drop=True)
        table = table.assign(gold=table["gold"].astype(float), chosen=table[column].astype(float))
        if not len(table) or not np.isfinite(table[["gold", "chosen"]].to_numpy()).all():
            raise Damaged("no training segments, or labels or predictions that are no numbers")
        return table[["id", "gold", "chosen"]]


def table(board: Leaderboard) -> Table:
    """The leaderboard, best first; figures of a paper stand last."""
    others = [metric for metric in PUBLISHED if metric != board.metric]
    published = _published_metrics(board)
    columns = [Column("", "best"), Column("experiment")]
    columns += [Column("features", drop=5), Column("figures", drop=6)]
    columns += [Column(title_of(board.metric), board.metric), Column("95 % interval", "interval")]
    columns += [Column(title_of(m), m, drop=place) for place, m in enumerate(others, start=1)]
    columns += [Column("p")] if board.baseline else []
    columns += [Column(f"published {title_of(m)}", f"published {m}", drop=len(others) + 3) for m in published]
    rows = []
    for entry in board.entries:
        first, *figures = (METRICS.get(m).formatted(entry.scores.metrics[m]) for m in (board.metric, *others))
        bounds = interval(entry.scores.ci[board.metric], METRICS.get(board.metric).digits)
        cells = ["•" if entry.best_cluster else "", entry.name, count(entry.run.features.n), entry.figures]
        cells += [first, bounds, *figures]
        if board.baseline:
            cells.append("" if entry.p is None else p_value(entry.p, LEVEL, undecided=math.isnan(entry.p)))
        given = (entry.published.get(metric) for metric in published)
        rows.append([*cells, *("" if value is None else number(value, 2) for value in given)])
    return Table(board.title, columns, rows, legend(board))


def _published_metrics(board: Leaderboard) -> list[str]:
    given = {m for entry in board.entries for m, value in entry.published.items() if value is not None}
    return [metric for metric in PUBLISHED if metric in given]


_FIGURES = {
    "nested": "the whole procedure, selection included",
    "selected": "parameters chosen on the same folds (optimistic)",
    "plain": "nothing was chosen",
}


def legend(board: Leaderboard) -> list[str]:
    title = title_of(board.metric)
    lines = []
    if any(entry.best_cluster for entry in board.entries):
        lines.append(f"• no proven difference from the best ({title}, randomization, Holm over all pairs)")
    if board.baseline:
        lines.append(f"p: {title} against {board.baseline}, Holm over the leaderboard")
    kinds = {entry.figures for entry in board.entries}
    told = [f"{kind}: {meaning}" for kind, meaning in _FIGURES.items() if kind in kinds]
    lines.append(f"figures: {'; '.join(told)}")
    if _published_metrics(board):
        lines.append("published figures are of the task's test set, ours of the training segments")
    return lines + [f"note: {note}" for note in board.report.notes]


def write(board: Leaderboard, folder: Path) -> list[Path]:
    """leaderboard.txt, .md, .html and .json, each atomically; returns their paths."""
    shown, recipe = table(board), board.report.recipe
    settings = (f"{key} {recipe[key]}" for key in ("seed", "samples", "correction") if key in recipe)
    page = files.render(
        "qe.evaluation", "leaderboard.html", {}, title=board.title, languages=("", ""),
        table=replace(shown, title="").html(), recipe=", ".join(settings),
    )  # fmt: skip
    contents = {
        "txt": shown.text(UNBOUNDED), "md": shown.markdown(), "html": page,
        "json": files.json_text(board.report.to_json()),
    }  # fmt: skip
    return _write(folder / "leaderboard", contents)


def _write(stem: Path, contents: Mapping[str, str]) -> list[Path]:
    paths = {stem.with_name(f"{stem.name}.{ending}"): content for ending, content in contents.items()}
    for path, content in paths.items():
        files.write(path, content)
    return list(paths)


SAMPLES = 1_000
# What tells data apart, or is said for people: runs that differ in nothing else are of one system.
_OF_DATA = ("dataset", "resources", "text", "translations", "annotations")
_FOR_PEOPLE = ("name", "description", "absent", "published", "tracking")


@dataclass(frozen=True)
class Standing:
    """One system: its figure on each data set, and their mean (NaN unless it has all).

    `p` is corrected, against the baseline; None for the baseline, and without a mean.
    """

    name: str
    figures: Mapping[str, float]
    average: float
    p: float | None


@dataclass(frozen=True, eq=False)
class BoardOfPairs(Record):
    metric: str
    data: Sequence[str]
    baseline: str
    samples: int
    systems: Sequence[Standing]

    def summary(self) -> Table:
        shown, title = METRICS.get(self.metric).formatted, title_of(self.metric)
        columns = [Column(name) for name in ("system", *self.data, "macro average", "p")]
        rows = [
            [
                each.name,
                *(shown(each.figures[name]) if name in each.figures else "" for name in self.data),
                "" if math.isnan(each.average) else shown(each.average),
                "" if each.p is None else p_value(each.p, LEVEL),
            ]
            for each in self.systems
        ]
        note = (
            f"p: macro average against {self.baseline}, predictions exchanged inside each data set "
            f"({self.samples:,} times), Holm over the systems"
        )
        return Table(f"{title} on {len(self.data)} data sets, out-of-fold predictions", columns, rows, [note])


def board_of_pairs(
    folders: Sequence[Path], *, baseline: Path | None = None, samples: int | None = None, seed: int = 0
) -> BoardOfPairs:
    """The board of runs on two data sets or more; runs that differ in their data alone are one system."""
    runs = {}
    for folder in folders:
        report = _run(folder)
        table = _predictions(folder, report.nested is not None)
        sign = LabelScale(**report.data.label.model_dump()).sign
        gold, predicted = table["gold"].to_numpy(), table["chosen"].to_numpy()
        runs[folder] = Outputs(gold, predicted, sign, report.experiment.evaluation.metric)
    reports = {folder: read_json("the report of the run", folder / "report.json") for folder in folders}
    data = _data_names(reports)
    systems = _systems(reports, data)
    cells: dict[str, dict[str, Outputs]] = {}
    for folder, run in runs.items():
        if data[folder] in cells.get(systems[folder], {}):
            systems[folder] = str(folder)  # a second run of the same: a row of its own
        cells.setdefault(systems[folder], {})[data[folder]] = run
    names = list(dict.fromkeys(data.values()))
    metric = common_metric([run.metric for run in runs.values()])
    first = systems[folders[0] if baseline is None else baseline]
    figures = {name: {place: run.score(metric) for place, run in row.items()} for name, row in cells.items()}
    drawn = SAMPLES if samples is None else samples
    whole = [name for name, row in cells.items() if set(names) <= set(row)]
    others = [name for name in whole if name != first and first in whole]
    raw = [
        exchanged_p([(cells[name][d], cells[first][d]) for d in names], metric, drawn, seed)
        for name in others
    ]
    p_values = dict(zip(others, correct(raw, "holm").tolist(), strict=True))
    means = {name: np.mean([row.get(place, math.nan) for place in names]) for name, row in figures.items()}
    standings = [Standing(name, row, float(means[name]), p_values.get(name)) for name, row in figures.items()]
    sign = -1 if METRICS.get(metric).higher_is_better else 1
    standings.sort(key=lambda item: (math.isnan(item.average), sign * item.average))
    return BoardOfPairs(metric, names, first, drawn, standings)


def write_board_of_pairs(board: BoardOfPairs, folder: Path) -> list[Path]:
    shown, content = board.summary(), files.json_text(board.to_json())
    contents = {"txt": shown.text(UNBOUNDED), "md": shown.markdown(), "json": content}
    return _write(folder / "leaderboard-pairs", contents)


def exchanged_p(pairs: Sequence[tuple[Outputs, Outputs]], metric: str, samples: int, seed: int) -> float:
    """Two-sided p of the difference of two macro averages, exchanged by data set.

    Source: Riezler and Maxwell 2005, Figure 1, stratified by data set.
    """
    generator, kind = np.random.default_rng(seed), METRICS.get(metric)()
    scale = kind.on_common_scale if isinstance(kind, ExchangedMetric) else np.asarray
    sides = [
        (item.sign * item.gold, *(scale(o.sign * o.predicted) for o in (item, other)))
        for item, other in pairs
    ]

    def difference(swaps: Callable[[int], Any]) -> float:
        parts = []
        for gold, item, other in sides:
            swap = swaps(len(gold))
            left, right = np.where(swap, other, item), np.where(swap, item, other)
            parts.append(kind.score(gold, left) - kind.score(gold, right))
        return float(np.mean(parts))

    observed = difference(lambda n: np.zeros(n, bool))
    null = np.array([difference(lambda n: generator.random(n) < 0.5) for _ in range(samples)])
    return share_as_extreme(null, observed, "two-sided", exact=False, tolerance=1e-12)


def _data_names(reports: Mapping[Path, Mapping[str, Any]]) -> dict[Path, str]:
    first: dict[str, str] = {}
    named = {}
    for folder, report in reports.items():
        key, data = report["recipe"]["dataset"], report["data"]
        section = report["experiment"]["dataset"]
        pair = section.get("pair") if isinstance(section, Mapping) else None
        words = [data["name"], *([pair] if pair and pair not in data["name"] else []), data["label"]["name"]]
        if key not in first:
            name = " ".join(words)
            first[key] = name if name not in first.values() else f"{name} ({len(first) + 1})"
        named[folder] = first[key]
    return named


def _systems(reports: Mapping[Path, Mapping[str, Any]], data: Mapping[Path, str]) -> dict[Path, str]:
    keys = {}
    for folder, report in reports.items():
        own = {k: v for k, v in report["experiment"].items() if k not in (*_OF_DATA, *_FOR_PEOPLE)}
        keys[folder] = json.dumps(own, sort_keys=True)
    groups: dict[str, list[Path]] = {}
    for folder, key in keys.items():
        groups.setdefault(key, []).append(folder)
    names: dict[str, str] = {}
    for key, group in groups.items():
        words = [word for folder in group for word in re.split(r"\W+", data[folder])] if group[1:] else []
        name = _common([reports[folder]["experiment"]["name"] for folder in group], words)
        names[key] = name if name and name not in names.values() else str(group[0])
    return {folder: names[key] for folder, key in keys.items()}


def _common(names: Sequence[str], omitted: Sequence[str] = ()) -> str:
    """The words that all names have, in their order, without those of their data."""
    others = [set(name.split("-")) for name in names[1:]]
    common = (word for word in names[0].split("-") if all(word in other for other in others))
    return "-".join(word for word in common if word not in omitted)
