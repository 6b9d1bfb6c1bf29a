"""Tables of evaluations: systems by metric, differences of pairs, buckets, words, oracles."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from qe.display.numbers import NumberText, count, estimate, general, interval, number, p_value, percent
from qe.display.table import Column, Table
from qe.evaluation.evaluate import OF_PAPERS, PUBLISHED, Report
from qe.evaluation.word_level import BINS, TITLES, WordReport
from qe.evaluation.word_level import METRICS as WORD_METRICS
from qe.statistics.buckets import BucketReport, Buckets, Dependence
from qe.statistics.comparisons import best_first
from qe.statistics.family import Bucket, Pair, Titles
from qe.statistics.metric import METRICS, title_of
from qe.statistics.ranks import cluster_note
from qe.statistics.settings import LEVEL

Kind = Literal["classes", "ranking", "scoring"]
KINDS: tuple[Kind, ...] = ("classes", "ranking", "scoring")
WINNER = "•"
PAIRS_LIMIT = 28  # pairs of 8 systems; more are for `--json`
INTERVAL = "95 % interval"


def report_tables(report: Report) -> list[Table]:
    """Tables of classes, ranking and scoring, sorted by first metric, and of differences; • marks winners."""
    kinds = [metrics_of(report, kind) for kind in KINDS]
    tables = [_table(report, metrics) for metrics in kinds if metrics]
    return [*tables, *(differences(report) if 0 < len(_compared(report)) <= PAIRS_LIMIT else [])]


def differences(report: Report) -> list[Table]:
    """Differences by the first metric of each kind, and p-values by others of papers."""
    primaries, pairs = _primaries(report), _compared(report)
    tested = {item.metric for item in report.comparisons}
    shown = [metric for metric in primaries if metric in tested]
    columns = [Column("System"), Column("minus")]
    for metric in shown:
        columns += [Column(title_of(metric), metric), Column(INTERVAL, f"{metric} interval")]
        columns += [Column("p", f"{metric} p")]
    rows = [
        [*pair, *(cell for metric in shown for cell in _difference(report.comparison(*pair, metric)))]
        for pair in pairs
    ]
    tables = [Table("Differences", columns, rows)]
    of_papers = [metric for metric in (*metrics_of(report, "classes"), *OF_PAPERS) if metric in tested]
    if set(of_papers) - {*primaries}:
        columns = [Column("System"), Column("minus"), *(Column(title_of(m), f"{m} p") for m in of_papers)]
        rows = [[*pair, *(p_cell(report.comparison(*pair, m)) for m in of_papers)] for pair in pairs]
        tables.append(Table("p of the differences, corrected", columns, rows))
    return tables


def summary_table(report: Report) -> Table:
    return replace(report_tables(report)[0], notes=notes(report))


def _best_first(report: Report, metric: str) -> list[str]:
    scores = {name: each.metrics[metric] for name, each in report.systems.items()}
    return best_first(scores, METRICS.get(metric).higher_is_better)


def metrics_of(report: Report, kind: Kind) -> list[str]:
    known = next(iter(report.systems.values())).metrics
    return [metric for metric in known if METRICS.get(metric).kind == kind]


def _compared(report: Report) -> list[tuple[str, str]]:
    return list(dict.fromkeys(item.names for item in report.comparisons))


def _primaries(report: Report) -> list[str]:
    kinds = (metrics_of(report, kind) for kind in KINDS)
    return [metrics[0] for metrics in kinds if metrics]


def _table(report: Report, metrics: Sequence[str]) -> Table:
    primary, *others = metrics
    kind, best = METRICS.get(primary), winners(report, primary)
    baseline = report.baselines[0] if len(report.baselines) == 1 and report.comparisons else None
    with_intervals = any(scores.ci for scores in report.systems.values())
    columns = [Column("", "winner"), Column("System"), Column(title_of(primary), primary)]
    columns += [Column(INTERVAL, "interval")] if with_intervals else []
    columns += [Column(title_of(m), m, drop=place) for place, m in enumerate(others, start=1)]
    columns += [Column("Predicted", "predicted", drop=len(others) + 1)] if kind.kind == "scoring" else []
    columns += [Column("p")] if baseline else []
    rows: list[Sequence[str]] = []
    for section in _sections(report, primary, baseline):
        for name in section:
            scores = report.systems[name]
            cells = [WINNER if name in best else "", name, kind.formatted(scores.metrics[primary])]
            cells += [interval(scores.ci[primary], kind.digits)] if with_intervals else []
            cells += [METRICS.get(metric).formatted(scores.metrics[metric]) for metric in others]
            cells += [interval(scores.interval, 2)] if kind.kind == "scoring" else []
            if baseline:
                cells.append("" if name == baseline else p_cell(report.comparison(name, baseline, primary)))
            rows.append(cells)
        rows.append(())
    return Table(f"By {title_of(primary)}", columns, rows)


def _difference(item: Pair) -> list[NumberText]:
    digits = METRICS.get(item.metric).digits
    return [number(item.result.difference, digits), interval(item.ci, digits), p_cell(item)]


def _sections(report: Report, metric: str, baseline: str | None) -> list[list[str]]:
    """The systems, best first; with a baseline those that are better, not different, and worse."""
    order, higher_is_better = _best_first(report, metric), METRICS.get(metric).higher_is_better
    if baseline is None:
        return [order]
    better: list[str] = []
    alike: list[str] = []
    worse: list[str] = []
    for name in order:
        pair = report.comparison(name, baseline, metric) if name != baseline else None
        if pair is None or not pair.p_corrected <= LEVEL:
            alike.append(name)
        else:
            (better if (pair.result.difference > 0) == higher_is_better else worse).append(name)
    return [section for section in (better, alike, worse) if section]


def p_cell(comparison: Pair, level: float = LEVEL) -> NumberText:
    return p_value(comparison.p_corrected, level, comparison.result.undecided)


def winners(report: Report, metric: str) -> list[str]:
    groups = report.clusters.get(metric, [])
    return groups[0] if len(groups) > 1 else []


def notes(report: Report) -> list[str]:
    rows = next(iter(report.systems.values())).n
    own = "documents" if report.recipe["units"].get("document") == rows else "segments"
    lines = [f"{count(rows)} {own}"]
    if any(winners(report, metric) for metric in _primaries(report)):
        lines.append(f"{WINNER}: no proven difference from the best by the metric that sorts the table")
    if len(pairs := _compared(report)) > PAIRS_LIMIT:
        lines.append(
            f"{len(pairs)} pairs of systems are too many for a table of differences: --json has them"
        )
    if len(report.baselines) == 1 and report.comparisons:
        lines.append(f"p: against {report.baselines[0]}, on the metric that sorts the table")
    if report.comparisons:
        lines += _test_notes(report)
    for metric, groups in report.clusters.items():
        if metric in _primaries(report) and len(report.systems) > 1:
            words = [", ".join(group) + cluster_note(group, report.equivalences, metric) for group in groups]
            lines.append(f"{title_of(metric)} clusters: " + " > ".join(words))
    for metric, ranks in report.ranks.items():
        if metric in _primaries(report):
            order = _best_first(report, metric)
            told = ", ".join(f"{name} {ranks[name]}" for name in order)
            lines.append(f"{title_of(metric)} ranks, simultaneous (bootstrap): {told}")
    lines += _equivalence_notes(report)
    return lines + [f"note: {note}" for note in report.notes]


def _equivalence_notes(report: Report) -> list[str]:
    shared = any(len(group) > 1 for groups in report.clusters.values() for group in groups)
    if shared and not report.equivalences:
        return [
            "systems of one cluster: no difference was found, which is not equality (--margin tests that)"
        ]
    lines = []
    for metric in dict.fromkeys(pair.metric for pair in report.equivalences):
        pairs = [pair for pair in report.equivalences if pair.metric == metric]
        told: dict[str, list[str]] = {}
        for pair in pairs:
            name = f"{pair.system} : {pair.baseline} (p {p_value(pair.p_corrected, None)})"
            told.setdefault(pair.verdict, []).append(name)
        words = "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in told.items())
        lines.append(f"{title_of(metric)} within {pairs[0].margin:g}, {pairs[0].test}: {words}")
    return lines


def _test_notes(report: Report) -> list[str]:
    recipe, family = report.recipe, report.recipe["family"]
    units = " and ".join(f"{size:,} {name}s" for name, size in recipe["units"].items())
    draws = {comparison.result.samples for comparison in report.comparisons if not comparison.result.exact}
    exact = any(comparison.result.exact for comparison in report.comparisons)
    samples = f"{recipe['samples']:,} samples" if draws else "all exchanges counted"
    if draws and min(draws) < recipe["samples"]:
        samples = f"up to {samples} (fewer where p is large)"
    errors = [item.result.error for item in report.comparisons if not math.isnan(item.result.error)]
    error = max(errors, default=0)
    size = max(family["comparisons"].values(), default=0)
    scopes = {"metric": "of one metric", "table": "of all metrics", "all": "of the whole table"}
    compared = f"{size} comparison{'s' * (size != 1)} {scopes[family['scope']]}"
    lines = [
        f"{recipe['test']} of {units}, {samples}{' or all' * (exact and bool(draws))}, seed {recipe['seed']};"
        " 95 % intervals: jackknife",
        f"p corrected ({recipe['correction']}) over the {compared}."
        f" Uncorrected, the chance of at least one false finding at {LEVEL} would be"
        f" {number(recipe['experimentwise_error_uncorrected'], 2)}.",
    ]
    return lines + ([f"Monte-Carlo standard error of p: up to {general(error, 2)}"] if error else [])


_BUCKET_COLUMNS = (
    Column("metric", once=True), Column("system", once=True), Column("minus", once=True), Column("bucket"),
    Column("segments", drop=1), Column("score", drop=2), Column("minus's", "score of minus", drop=2),
    Column("difference"), Column(INTERVAL, "interval"), Column("p"),
)  # fmt: skip


def bucket_tables(report: BucketReport, digits: int | None = None, titles: Titles = title_of) -> list[Table]:
    """A table for each kind of buckets, unless the pairs are too many; p-values are corrected."""
    if _too_many_pairs(report):
        return []
    return [bucket_table(report, item, digits, titles=titles) for item in report.buckets]


def _too_many_pairs(report: BucketReport) -> bool:
    return len({item.names for item in report.differences}) > PAIRS_LIMIT


def bucket_table(
    report: BucketReport,
    buckets: Buckets,
    digits: int | None = None,
    metric: str | None = None,
    titles: Titles = title_of,
) -> Table:
    rows: list[Sequence[str]] = []
    before: tuple[str, ...] = ()
    for item in report.by_kind(buckets.name, metric):
        names, bucket = (titles(item.metric), *item.names), item.bucket or Bucket("", "", 0)
        rows += [()] if before and names != before else []
        shown = METRICS.get(item.metric).digits if digits is None else digits
        scores = [number(score, shown) for score in item.scores]
        told = number(item.result.difference, shown), interval(item.ci, shown), p_cell(item, report.level)
        rows.append((*names, bucket.label, count(bucket.segments), *scores, *told))
        before = names
    return Table(f"By {buckets.name}: {buckets.about}", _BUCKET_COLUMNS, rows)


def bucket_notes(report: BucketReport, titles: Titles = title_of) -> list[str]:
    sizes = ", ".join(f"{titles(name)}: {size}" for name, size in report.family["comparisons"].items())
    lines = [
        f"buckets: p corrected ({report.family['correction']}) within families of comparisons ({sizes}: all"
        " buckets of all kinds); 95 % intervals: jackknife, uncorrected"
    ]
    dependences = report.dependences
    if _too_many_pairs(report):
        dependences = ()
        lines.append(
            f"buckets: more than {PAIRS_LIMIT} pairs of systems are too many for tables: --json has them"
        )
    for by in dict.fromkeys(item.kind for item in dependences):
        own = [item for item in dependences if item.kind == by]
        for pair in dict.fromkeys((item.system, item.baseline) for item in own):
            told = [
                f"{titles(item.metric)} {verdict(item, report.level)}"
                for item in own
                if (item.system, item.baseline) == pair
            ]
            lines.append(f"does {' : '.join(pair)} depend on {by}? {'; '.join(told)}")
    return [*lines, *(f"note: {note}" for note in report.notes)]


def verdict(item: Dependence, level: float) -> str:
    if math.isnan(item.p_corrected):
        return "cannot be decided"
    shown = "yes" if item.p_corrected <= level else "not shown"
    return f"{shown} (p {p_value(item.p, None)}, corrected {p_value(item.p_corrected, None)})"


def word_tables(reports: Mapping[str, WordReport]) -> list[Table]:
    tables = []
    for part, report in reports.items():
        tables.append(_word_scores(part, report))
        if report.comparisons:
            titles = ("System", "minus", "MCC", INTERVAL, "p")
            pairs = [pair for pair in report.comparisons if pair.metric == "mcc"]
            rows = [[*pair.names, *_difference(pair)] for pair in pairs]
            columns = [Column(title, "interval" if title == INTERVAL else "") for title in titles]
            tables.append(Table(f"{part}: differences", columns, rows))
    return tables


def word_summary_table(report: WordReport) -> Table:
    return _word_scores("tags", report)


def _word_scores(part: str, report: WordReport) -> Table:
    tags, bad = map(count, report.tags)
    title = f"{part}: {count(report.segments)} segments, {tags} tags, {bad} BAD"
    metrics = shown_metrics(report)
    columns = [Column("System"), *(Column(TITLES[m], m, drop=place) for place, m in enumerate(metrics))]
    names = sorted(report.scores, key=lambda name: -report.scores[name]["mcc"])
    rows: list[list[str]] = []
    for name in names:
        scores, bounds = report.scores[name], report.ci[name] if report.ci else {}
        cells = [estimate(scores.get(metric), bounds.get(metric)) for metric in metrics]
        if "ece" in scores:
            error, chance = scores["ece"], scores["ece_by_chance"]
            both = {"value": error, "by chance": chance}
            cells[-1] = NumberText(number(error), f"(chance {number(chance)})", value=both)
        rows.append([name, *cells])
    return Table(title, columns, rows)


def shown_metrics(report: WordReport) -> list[str]:
    calibrated = any("ece" in scores for scores in report.scores.values())
    return [*WORD_METRICS, *(["ece"] if calibrated else [])]


def word_notes(reports: dict[str, WordReport]) -> list[str]:
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
        test = next(item.result.test for report in reports.values() for item in report.comparisons)
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


_WITH_INTERVAL = ("delta_avg", "mae")


def oracle_table(oracles: Mapping[str, Mapping[str, Any]], best: str | None = None) -> Table:
    """One row per oracle from JSON values of `Oracle.to_json`; with a system `best`, its share of each."""
    title = "oracles: they know the post-edits, the oracle effort the labels"
    columns = [Column("oracle")]
    columns += [Column(METRICS.get(m).title, m, drop=m not in _WITH_INTERVAL) for m in PUBLISHED]
    if best is not None:
        title += f"\nreached: {best}, in % of their DeltaAvg"
        columns.append(Column("reached"))
    rows = []
    for name, values in oracles.items():
        known = {metric: values.get("ci", {}).get(metric) for metric in _WITH_INTERVAL}
        cells = [METRICS.get(m).formatted(values.get(m), known.get(m)) for m in PUBLISHED]
        reached = [] if best is None else [percent(values.get("reached", {}).get(best), 0)]
        rows.append([name, *cells, *reached])
    return Table(title, columns, rows)


def best_system(systems: Mapping[str, float | None]) -> str | None:
    known = {name: value for name, value in systems.items() if value is not None and value == value}
    return max(known, key=lambda name: known[name]) if known else None
