"""A table of results from the output folders of `qe train`: the figures of each report.json.

    python docs/site/results.py output/wmt12/*                                   # prints it
    python docs/site/results.py output/wmt12/* --page docs/results/wmt12.md      # puts it into a page

In a page the table stands between `<!-- table of runs begins -->` and `<!-- table of runs ends -->`. Figures
are from cross-validation, the first with its interval; the best row is first.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage.damage import read_json
from features.storage.files import atomic_file
from qe.display.numbers import count, estimate, number
from qe.display.table import Column, Table
from qe.statistics.metric import METRICS, title_of

METRIC_NAMES = ("delta_avg", "spearman", "mae", "rmse")
BEGIN, END = "<!-- table of runs begins -->\n", "<!-- table of runs ends -->"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, help="output folders of `qe train`")
    parser.add_argument("--metrics", nargs="+", default=METRIC_NAMES, choices=METRICS.names)
    parser.add_argument("--page", type=Path, help="page to put the table into; default: print it")
    arguments = parser.parse_args()
    text = table(arguments.runs, arguments.metrics).markdown()
    if arguments.page is None:
        print(text, end="")
    else:
        put(text, arguments.page)


def table(runs: Sequence[Path], metrics: Sequence[str] = METRIC_NAMES) -> Table:
    """A row for each run. Raises InputError for a folder without a report."""
    first = metrics[0]
    reports = [read_json("the report", run / "report.json", "train it again") for run in runs]
    reports.sort(key=lambda report: _order(report, first))
    published = [m for m in metrics if any(_published(report).get(m) is not None for report in reports)]
    columns = [
        Column("experiment"),
        Column("features"),
        Column("figures"),
        *(Column(title_of(metric)) for metric in metrics),
        Column("CPU s"),
        *(Column(f"published {title_of(metric)}") for metric in published),
    ]
    return Table("", columns, [_row(report, metrics, published) for report in reports], [_LEGEND])


_LEGEND = (
    "selected: parameters chosen on the same folds (optimistic); plain: nothing was chosen outside the folds"
)


def _figures(report: Mapping[str, Any]) -> dict[str, Any]:
    figures: dict[str, Any] = report["cross_validation"]["systems"][report["experiment"]["name"]]
    return figures


def _published(report: Mapping[str, Any]) -> Mapping[str, float | None]:
    return report["experiment"]["published"] or {}


def _order(report: Mapping[str, Any], metric: str) -> float:
    value = _figures(report)[metric]
    if value is None:
        return float("inf")
    return -float(value) if METRICS.get(metric).higher_is_better else float(value)


def _row(report: Mapping[str, Any], metrics: Sequence[str], published: Sequence[str]) -> list[str]:
    figures, section = _figures(report), report["cross_validation"]
    bounds = figures.get("ci", {}).get(metrics[0])
    return [
        report["experiment"]["name"],
        count(report["features"]["n"]),
        "selected" if section["selected_on_these_folds"] else "plain",
        estimate(figures[metrics[0]], bounds),
        *(number(figures[metric]) for metric in metrics[1:]),
        count(round(sum(part["cpu_seconds"] for part in report["time"]))),
        *(number(_published(report).get(m), 2) for m in published),
    ]


def put(text: str, page: Path) -> None:
    """Replaces the table of a page. Raises InputError for a page without the marks."""
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(
            "has no place for the table",
            location=page,
            remedy=f"write {BEGIN.strip()} and {END} where it belongs",
        )
    with atomic_file(page) as temporary:
        temporary.write_text(f"{before}{begin}\n{text}\n{end}{after}", "utf-8")


if __name__ == "__main__":
    main()
