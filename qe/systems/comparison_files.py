"""Writes a comparison of MT systems into a folder: page, JSON, tables, segments, plots."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from features.storage.files import atomic_file
from qe.display import files
from qe.display.drawing import save
from qe.display.numbers import exact
from qe.display.records import csv_of
from qe.evaluation.plots import bucket_forest
from qe.statistics.buckets import bucket_row
from qe.systems import report
from qe.systems.changes import change_text, changes
from qe.systems.page import page
from qe.systems.results import SystemsComparison
from qe.systems.runs_plot import by_runs_plot, runs_plot
from qe.systems.text_metric import title_of
from qe.systems.texts import Texts


def write(
    comparison: SystemsComparison, folder: Path, source: Texts | None = None, language: str = ""
) -> None:
    """Write the files of a comparison: page, tables, changed segments, plot.

    They are comparison.html, report.json, table.csv, table.tex, changes.txt and .jsonl, segments.tsv,
    runs.png.

    With buckets, buckets.csv and by-KIND.png, too; with single runs, by-runs.png. `source` and the language
    of the translations are for the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files.write_json(folder / "report.json", comparison.to_json())
    files.write(folder / "table.csv", report.csv_table(comparison))
    files.write(folder / "table.tex", report.latex_table(comparison))
    changed = list(changes(comparison))
    files.write(folder / "changes.txt", "".join(map(change_text, changed)))
    lines = (json.dumps(asdict(change), ensure_ascii=False) for change in changed)
    files.write(folder / "changes.jsonl", "".join(f"{line}\n" for line in lines))
    _write_segments(comparison, folder / "segments.tsv")
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


def _write_segments(comparison: SystemsComparison, path: Path) -> None:
    metrics = list(comparison.metrics)
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.write("\t".join(["system", "run", "segment", *metrics]) + "\n")
        for system in comparison.scores:
            by_metric = [comparison.segment_scores(system, metric) for metric in metrics]
            for run, scores in enumerate(zip(*by_metric, strict=True), start=1):
                for segment, values in enumerate(zip(*scores, strict=True), start=1):
                    cells = (system, str(run), str(segment), *map(exact, values))
                    stream.write("\t".join(cells) + "\n")
