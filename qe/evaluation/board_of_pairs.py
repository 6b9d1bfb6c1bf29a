"""A leaderboard over language pairs and data sets, one column each."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from features.storage.damage import read_json
from qe.display import files
from qe.display.files import plain
from qe.display.numbers import p_value as p_shown
from qe.display.summary import summarised
from qe.display.table import UNBOUNDED, Column, Table
from qe.evaluation.leaderboard import Outputs, common_metric, outputs_of
from qe.statistics.family import correct
from qe.statistics.metric import METRICS, ExchangedMetric, title_of
from qe.statistics.result import LEVEL, p_value

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


@summarised
@dataclass(frozen=True, eq=False)
class BoardOfPairs:
    metric: str
    data: Sequence[str]
    baseline: str
    standings: Sequence[Standing]
    samples: int

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = plain({
            "metric": self.metric, "data": self.data, "baseline": self.baseline, "samples": self.samples,
            "systems": self.standings,
        })  # fmt: skip
        return values

    def summary(self) -> Table:
        shown, title = METRICS.get(self.metric).formatted, title_of(self.metric)
        columns = [Column(name) for name in ("system", *self.data, "macro average", "p")]
        rows = [
            [
                each.name,
                *(shown(each.figures[name]) if name in each.figures else "" for name in self.data),
                "" if math.isnan(each.average) else shown(each.average),
                "" if each.p is None else p_shown(each.p, LEVEL),
            ]
            for each in self.standings
        ]
        note = (
            f"p: macro average against {self.baseline}, predictions exchanged inside each data set "
            f"({self.samples:,} times), Holm over the systems"
        )
        return Table(f"{title} on {len(self.data)} data sets, out-of-fold predictions", columns, rows, [note])


def make(
    folders: Sequence[Path], *, baseline: Path | None = None, samples: int | None = None, seed: int = 0
) -> BoardOfPairs:
    """The board of runs on two data sets or more; runs that differ in their data alone are one system."""
    runs = {folder: outputs_of(folder) for folder in folders}
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
    p_values = _p_values(cells, names, metric, first, drawn, seed)
    means = {name: np.mean([row.get(place, math.nan) for place in names]) for name, row in figures.items()}
    standings = [Standing(name, row, float(means[name]), p_values.get(name)) for name, row in figures.items()]
    sign = -1 if METRICS.get(metric).higher_is_better else 1
    standings.sort(key=lambda item: (math.isnan(item.average), sign * item.average))
    return BoardOfPairs(metric, names, first, standings, drawn)


def write(board: BoardOfPairs, folder: Path) -> list[Path]:
    table = board.summary()
    contents = {
        "txt": table.text(UNBOUNDED),
        "md": table.markdown(),
        "json": files.json_text(board.to_json()),
    }
    for ending, content in contents.items():
        files.write(folder / f"leaderboard-pairs.{ending}", content)
    return [folder / f"leaderboard-pairs.{ending}" for ending in contents]


def _p_values(
    cells: Mapping[str, Mapping[str, Outputs]],
    data: Sequence[str],
    metric: str,
    baseline: str,
    samples: int,
    seed: int,
) -> dict[str, float]:
    whole = [name for name, row in cells.items() if set(data) <= set(row)]
    if baseline not in whole:
        return {}
    others = [name for name in whole if name != baseline]
    raw = [
        exchanged_p([(cells[name][d], cells[baseline][d]) for d in data], metric, samples, seed)
        for name in others
    ]
    return dict(zip(others, correct(raw, "holm").tolist(), strict=True)) if raw else {}


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
    return p_value(null, observed, "two-sided", exact=False, tolerance=1e-12)


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
