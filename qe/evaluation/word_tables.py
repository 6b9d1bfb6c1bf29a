"""Word-level reports as tables: systems by metric, differences of pairs, notes."""

from collections.abc import Mapping

from qe.display.numbers import Shown, count, estimate, interval, number, p_value
from qe.display.table import Column, Table
from qe.evaluation.reliability import BINS
from qe.evaluation.report_tables import INTERVAL
from qe.evaluation.word_level import METRICS, TITLES, WordReport
from qe.statistics.result import LEVEL


def word_tables(reports: Mapping[str, WordReport]) -> list[Table]:
    """One table a part: systems, best first by MCC, then the differences of pairs.

    Figures have intervals.
    """
    tables = []
    for part, report in reports.items():
        tables.append(_scores(part, report))
        if report.comparisons:
            tables.append(_differences(part, report))
    return tables


def summary_table(report: WordReport) -> Table:
    """The systems of one kind of tags, best first."""
    return _scores("tags", report)


def _scores(part: str, report: WordReport) -> Table:
    tags, bad = map(count, report.tags)
    title = f"{part}: {count(report.segments)} segments, {tags} tags, {bad} BAD"
    metrics = shown_metrics(report)
    columns = [Column("System"), *(Column(TITLES[m], m, drop=place) for place, m in enumerate(metrics))]
    names = sorted(report.scores, key=lambda name: -report.scores[name]["mcc"])
    return Table(title, columns, [[name, *(_cell(report, name, m) for m in metrics)] for name in names])


def shown_metrics(report: WordReport) -> list[str]:
    """The metrics of a table's columns."""
    calibrated = any("ece" in scores for scores in report.scores.values())
    return [*METRICS, *(["ece"] if calibrated else [])]


def _cell(report: WordReport, name: str, metric: str) -> Shown:
    if metric == "ece" and metric in report.scores[name]:
        error, chance = report.scores[name][metric], report.scores[name]["ece_by_chance"]
        return Shown(number(error), f"(chance {number(chance)})", value={"value": error, "by chance": chance})
    bounds = report.ci[name].get(metric) if report.ci else None
    return estimate(report.scores[name].get(metric), bounds)


def word_notes(reports: dict[str, WordReport]) -> list[str]:
    """What the tables rest on: test, units, correction with its family, clusters, cautions."""
    recipe = next(iter(reports.values())).recipe
    lines = []
    if recipe["samples"]:
        segments = next(iter(reports.values())).segments
        lines.append(f"{recipe['samples']:,} samples of {segments:,} whole segments, seed {recipe['seed']};"
                     f" 95 % intervals: {recipe['interval']}")  # fmt: skip
    if any("ece" in shown_metrics(report) for report in reports.values()):
        lines.append(
            f"ECE: mean of |mean P(BAD) - share of BAD| over {BINS} bins of equal mass, weighted by their"
            " tags; chance: what true probabilities would have on these segments"
        )
    if any(report.comparisons for report in reports.values()):
        sizes = ", ".join(f"{name}: {size}" for name, size in recipe["family"]["comparisons"].items())
        test = next(one.result.test for report in reports.values() for one in report.comparisons)
        lines.append(
            f"p: {test}; corrected ({recipe['correction']}) within families of comparisons ({sizes}), words"
            " and gaps apart"
        )
    for part, report in reports.items():
        if "mcc" in report.clusters and len(report.scores) > 1:
            groups = " > ".join(", ".join(group) for group in report.clusters["mcc"])
            lines.append(f"{part}, MCC clusters: {groups}")
    cautions = dict.fromkeys(note for report in reports.values() for note in report.notes)
    return [*lines, *(f"note: {note}" for note in cautions)]


def _differences(part: str, report: WordReport) -> Table:
    columns = [Column("System"), Column("minus"), Column("MCC"), Column(INTERVAL, "interval"), Column("p")]
    rows = [
        (
            one.system, one.baseline, number(one.result.difference), interval(one.ci),
            p_value(one.p_corrected, LEVEL, one.result.undecided),
        )
        for one in report.comparisons
        if one.metric == "mcc"
    ]  # fmt: skip
    return Table(f"{part}: differences", columns, rows)
