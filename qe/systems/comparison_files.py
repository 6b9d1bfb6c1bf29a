"""A comparison as a folder of files."""

import csv
import io
import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np

from features.storage.files import atomic_file
from qe.systems.page import page
from qe.systems.report import Change, changes, csv_table, latex_table
from qe.systems.results import SystemsComparison
from qe.systems.texts import Texts


def write(
    comparison: SystemsComparison, folder: Path, source: Texts | None = None, language: str = ""
) -> None:
    """comparison.html, report.json, table.csv, table.tex, changes.txt and .jsonl, segments.tsv, runs.png.

    With buckets, buckets.csv and by-KIND.png, too. `source` and the language of the translations are for the
    page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "report.json", json.dumps(comparison.to_json(), indent=1) + "\n")
    _write(folder / "table.csv", csv_table(comparison))
    _write(folder / "table.tex", latex_table(comparison))
    changed = list(changes(comparison))
    _write(folder / "changes.txt", "".join(_change_text(change) for change in changed))
    _write(
        folder / "changes.jsonl", "".join(f"{json.dumps(asdict(c), ensure_ascii=False)}\n" for c in changed)
    )
    _write_segments(comparison, folder / "segments.tsv")
    _write_plot(comparison, folder / "runs.png")
    plots = _write_buckets(comparison, folder)
    _write(folder / "comparison.html", page(comparison, source, ("", language), plots))


def _write_buckets(comparison: SystemsComparison, folder: Path) -> dict[str, bytes]:
    """buckets.csv and a plot of each kind of buckets; kind -> the plot."""
    from qe.evaluation.bucket_plot import bucket_forest
    from qe.evaluation.plots import save

    parted, plots = comparison.buckets, {}
    if parted is None:
        return {}
    stream = io.StringIO()
    rows = [{**one.to_json(), "ci_low": one.ci[0], "ci_high": one.ci[1]} for one in parted.differences]
    columns = [name for name in rows[0] if name != "ci"]
    writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    _write(folder / "buckets.csv", stream.getvalue())
    for place, one in enumerate(parted.buckets, start=1):
        if (figure := bucket_forest(parted, one)) is not None:
            name = re.sub(r"[^\w-]", "_", one.name)
            path = folder / f"by-{place}-{name}.png"
            save(figure, path, dpi=100)
            plots[one.name] = path.read_bytes()
    return plots


def _write_segments(comparison: SystemsComparison, path: Path) -> None:
    """system, run and segment (both from 1), then one score per metric."""
    metrics = list(comparison.metrics)
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.write("\t".join(["system", "run", "segment", *metrics]) + "\n")
        for system in comparison.scores:
            by_metric = [comparison.segment_scores(system, metric) for metric in metrics]
            for run, scores in enumerate(zip(*by_metric, strict=True), start=1):
                for segment, values in enumerate(zip(*scores, strict=True), start=1):
                    cells = (system, str(run), str(segment), *(f"{value:.6f}" for value in values))
                    stream.write("\t".join(cells) + "\n")


def _write_plot(comparison: SystemsComparison, path: Path) -> None:
    """A panel per metric: the runs as points on the bootstrap distribution of each system's mean."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = list(comparison.scores)
    figure = Figure(figsize=(1.2 + 1.3 * len(names) * len(comparison.metrics), 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(comparison.metrics), squeeze=False)[0]
    for axes, (metric, kind) in zip(panels, comparison.metrics.items(), strict=True):
        for place, name in enumerate(names):
            score = comparison.scores[name][metric]
            drawn = score.drawn[np.isfinite(score.drawn)]
            if len(drawn) > 1 and np.ptp(drawn) > 0:
                body = axes.violinplot(drawn, [place], widths=0.8, showextrema=False)["bodies"][0]
                body.set(facecolor="#56B4E9", alpha=0.35)
            runs = score.instability.runs
            offsets = np.linspace(-0.12, 0.12, len(runs)) if len(runs) > 1 else [0.0]
            axes.plot(place + np.asarray(offsets), runs, "o", color="#0072B2", markersize=5)
            axes.hlines(score.instability.mean, place - 0.25, place + 0.25, color="#D55E00")
        direction = {True: "higher is better", False: "lower is better", None: "no direction"}
        axes.set_title(f"{metric}\n({direction[kind.higher_is_better]})", fontsize=9)
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=8)
    figure.supxlabel("points: runs; bars: means; shapes: bootstrap of the mean", fontsize=8)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)


def _change_text(change: Change) -> str:
    return (
        f"{change.change} by {change.metric}: segment {change.segment}, "
        f"{change.before:.2f} ({change.baseline}) -> {change.after:.2f} ({change.system})\n"
        f"  reference: {change.reference or '-'}\n"
        f"  {change.baseline}: {change.baseline_text}\n"
        f"  {change.system}: {change.system_text}\n\n"
    )


def _write(path: Path, text: str) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(text, "utf-8", newline="")
