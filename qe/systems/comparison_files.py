"""A comparison of MT systems in a folder: page, JSON, tables, segments, plots."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from features.storage.files import atomic_file
from qe.data.writing import table_writer
from qe.display import charts, files
from qe.display.charts import save
from qe.display.files import figures, render
from qe.display.numbers import number
from qe.display.table import csv_of
from qe.evaluation.plots import bucket_forest
from qe.evaluation.tables import bucket_table
from qe.evaluation.tables import verdict as bucket_verdict
from qe.statistics.buckets import bucket_row
from qe.systems import report
from qe.systems.report import Change, change_text, changes, verdict
from qe.systems.results import SingleRuns, SystemsComparison
from qe.systems.text_metric import title_of
from qe.systems.texts import Texts

DIRECTIONS = {True: "higher is better", False: "lower is better", None: "neither direction is better"}


def runs_plot(comparison: SystemsComparison) -> Figure:
    names, metrics = list(comparison.scores), comparison.metrics
    figure, panels = charts.panels(1.2 + 1.3 * len(names) * len(metrics), 3.6, columns=len(metrics))
    for axes, (metric, kind) in zip(panels, metrics.items(), strict=True):
        shapes = {}
        for place, name in enumerate(names):
            score = comparison.scores[name][metric]
            drawn, runs = score.bootstrap[np.isfinite(score.bootstrap)], score.instability.runs
            if len(drawn) > 1 and np.ptp(drawn) > 0:
                shapes[place] = drawn
            offsets = np.linspace(-0.12, 0.12, len(runs)) if len(runs) > 1 else np.zeros(1)
            axes.plot(place + offsets, runs, "o", color=charts.BLUE, markersize=5)
            axes.hlines(score.instability.mean, place - 0.25, place + 0.25, color=charts.VERMILLION)
        if shapes:
            axes.violinplot(list(shapes.values()), list(shapes), widths=0.8, showextrema=False)
        note = "; ".join(filter(None, (kind.about, DIRECTIONS[kind.higher_is_better])))
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
        charts.describe(axes, title_of(metric), note)
    charts.footnote(figure, "points: runs; bars: means; shapes: bootstrap of the mean")
    return figure


def by_runs_plot(comparisons: Sequence[SingleRuns]) -> Figure:
    metrics = list(dict.fromkeys(item.metric for item in comparisons))
    figure, panels = charts.panels(1.2 + 2.6 * len(metrics), 3.6, columns=len(metrics))
    for axes, metric in zip(panels, metrics, strict=True):
        own = [item for item in comparisons if item.metric == metric]
        for place, item in enumerate(own):
            numbers, shift = item.by_number_of_runs, (place - (len(own) - 1) / 2) * 0.5 / len(own)
            charts.curve(
                axes, [each.runs + shift for each in numbers], [each.median for each in numbers],
                [each.bounds for each in numbers], place, bars=True, linestyle="none", marker="o",
                label=f"{item.system} minus {item.baseline}",
            )  # fmt: skip
        axes.axhline(0, color=charts.INK, linewidth=1)
        axes.set_xticks([each.runs for each in own[0].by_number_of_runs])
        charts.describe(axes, title_of(metric), "difference")
    charts.footnote(figure, "runs of each system; bars: 95 % of the ways to choose them")
    return figure


_DIGITS = 2  # of scores in buckets
SHOWN = 10  # segments of each direction, system and metric

Marked = list[tuple[str, bool]]
"""Runs of words, and whether the other translation lacks them."""


@dataclass(frozen=True)
class ShownSegment:
    """A segment on the page; `bands` has the bucket of each kind that it is in."""

    change: Change
    source: str | None
    baseline: Marked
    system: Marked
    bands: Mapping[str, str]


def page(
    comparison: SystemsComparison,
    source: Texts | None = None,
    languages: tuple[str, str] = ("", ""),
    plots: Mapping[str, bytes] | None = None,
) -> str:
    """The page, all its text escaped; `plots` are pictures (PNG) by kind of buckets."""
    recipe: Any = comparison.recipe
    others = [name for name in comparison.scores if name != recipe["baseline"]]
    directions = {name: DIRECTIONS[metric.higher_is_better] for name, metric in comparison.metrics.items()}
    parted, pictures, tables = comparison.buckets, {}, {}
    for item in parted.buckets if parted else ():
        if item.name in (plots or {}):
            shown = {f"Differences by {item.name} with intervals": (plots or {})[item.name]}
            pictures[item.name] = figures(shown)[0]
        for metric in comparison.metrics:
            if parted and parted.by_kind(item.name, metric):
                title = f"{title_of(metric)} by {item.name} ({directions[metric]})"
                inside = bucket_table(parted, item, _DIGITS, metric, title_of)
                tables[item.name, metric] = replace(inside, title=title).html()
    versions = ", ".join(f"{name} {version}" for name, version in recipe["versions"].items())
    level = comparison.settings.level
    return render(
        "qe.systems", "page.html",
        {"verdict": partial(bucket_verdict, level=level), "number": number, "title_of": title_of},
        title=f"{', '.join(others) or 'no other system'} against {recipe['baseline']}",
        found=verdict(comparison), comparison=comparison, table=report.table(comparison).html(),
        parted=parted, pictures=pictures, bucket_tables=tables, directions=directions,
        segments=list(_segments(comparison, source)), languages=languages,
        recipe=f"seed {recipe['seed']} · {recipe['samples']:,} samples · {versions}",
    )  # fmt: skip


def _segments(
    comparison: SystemsComparison, source: Texts | None
) -> Iterator[tuple[str, str, list[tuple[str, list[ShownSegment]]]]]:
    kinds = comparison.buckets.buckets if comparison.buckets else ()
    every = changes(comparison, SHOWN)
    for (system, metric), of_metric in groupby(every, lambda change: (change.system, change.metric)):
        by_change = []
        for name, of_name in groupby(of_metric, lambda change: change.change):
            shown = []
            for change in of_name:
                row = change.segment - 1
                own, other = change.system_text.split(), change.baseline_text.split()
                bands = {item.name: item.label(row) for item in kinds}
                text = None if source is None else source.lines[row]
                shown.append(ShownSegment(change, text, marked(other, own), marked(own, other), bands))
            by_change.append((name, shown))
        yield system, metric, by_change


def marked(words: Sequence[str], counterpart: Sequence[str]) -> Marked:
    """Runs of words, and whether they are not aligned with equal words of the other translation."""
    runs: Marked = []
    matcher = SequenceMatcher(None, words, counterpart, autojunk=False)
    for tag, first, last, _, _ in matcher.get_opcodes():
        if last > first:
            runs.append((" ".join(words[first:last]), tag != "equal"))
    return runs


def write(
    comparison: SystemsComparison, folder: Path, source: Texts | None = None, language: str = ""
) -> None:
    """Write the files of a comparison: page, JSON, tables, changed segments, plots."""
    folder.mkdir(parents=True, exist_ok=True)
    files.write_json(folder / "report.json", comparison.to_json())
    files.write(folder / "table.csv", report.csv_table(comparison))
    files.write(folder / "table.tex", report.latex_tables(comparison))
    changed = list(changes(comparison))
    files.write(folder / "changes.txt", "".join(map(change_text, changed)))
    lines = (json.dumps(asdict(change), ensure_ascii=False) for change in changed)
    files.write(folder / "changes.jsonl", "".join(f"{line}\n" for line in lines))
    path, columns = folder / "segments.tsv", ["system", "run", "segment", *comparison.metrics]
    types = dict.fromkeys(columns, pa.string())
    with atomic_file(path) as temporary, table_writer(temporary, path, types) as write_rows:
        for system in comparison.scores:
            by_metric = [comparison.segment_scores(system, metric) for metric in comparison.metrics]
            for run, scores in enumerate(zip(*by_metric, strict=True), start=1):
                numbered = enumerate(zip(*scores, strict=True), start=1)
                rows = ((system, run, segment, *map(float, values)) for segment, values in numbered)
                write_rows([dict(zip(columns, row, strict=True)) for row in rows])
    save(runs_plot(comparison), folder / "runs.png")
    if comparison.single_runs:
        save(by_runs_plot(comparison.single_runs), folder / "by-runs.png")
    plots = _write_buckets(comparison, folder)
    files.write(folder / "comparison.html", page(comparison, source, ("", language), plots))


def _write_buckets(comparison: SystemsComparison, folder: Path) -> Mapping[str, bytes]:
    parted, plots = comparison.buckets, {}
    if parted is None:
        return {}
    rows = [{**bucket_row(item), "ci_low": item.ci[0], "ci_high": item.ci[1]} for item in parted.differences]
    files.write(folder / "buckets.csv", csv_of([{k: v for k, v in row.items() if k != "ci"} for row in rows]))
    for place, item in enumerate(parted.buckets, start=1):
        if (figure := bucket_forest(parted, item, title_of)) is not None:
            path = folder / f"by-{place}-{files.folder_name(item.name)}.png"
            save(figure, path, dpi=100)
            plots[item.name] = path.read_bytes()
    return plots
