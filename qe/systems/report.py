"""A comparison of MT systems as a table, as CSV, in sentences, and by the segments that changed most."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from qe.display import files
from qe.display.numbers import estimate, general, interval, number, p_value, probability
from qe.display.table import Column, Table, csv_of
from qe.evaluation.tables import bucket_tables
from qe.statistics.family import Pair
from qe.statistics.settings import CLAIMS
from qe.systems.power import needed_table, single_runs_tables
from qe.systems.results import SystemsComparison, pair_json
from qe.systems.text_metric import title_of

_EXAMPLES = 20  # segments shown per direction


@dataclass(frozen=True)
class Change:
    """A segment that one system translates better or worse than the baseline; scores are means over runs."""

    metric: str
    system: str
    baseline: str
    change: str  # improved or worsened
    segment: int  # from 1
    baseline_score: float
    system_score: float
    reference: str | None
    baseline_text: str
    system_text: str


def changes(comparison: SystemsComparison, examples: int = _EXAMPLES) -> Iterator[Change]:
    for compared in comparison.comparisons:
        better = comparison.metrics[compared.metric].higher_is_better
        if better is None:
            continue
        means = [
            comparison.segment_scores(name, compared.metric).mean(axis=0)
            for name in (compared.baseline, compared.system)
        ]
        gain = np.nan_to_num((means[1] - means[0]) * (1 if better else -1))
        order = np.argsort(-gain, kind="stable")
        for change, chosen in (
            ("improved", [i for i in order[:examples] if gain[i] > 0]),
            ("worsened", [i for i in order[::-1][:examples] if gain[i] < 0]),
        ):
            for i in chosen:
                yield Change(
                    compared.metric, compared.system, compared.baseline, change, int(i) + 1,
                    float(means[0][i]), float(means[1][i]),
                    comparison.references[0].lines[i] if comparison.references else None,
                    _median_text(comparison, compared.baseline, compared.metric, i),
                    _median_text(comparison, compared.system, compared.metric, i),
                )  # fmt: skip


def _median_text(comparison: SystemsComparison, system: str, metric: str, segment: int) -> str:
    runs = next(s.runs for s in comparison.systems if s.name == system)
    return runs[comparison.scores[system][metric].instability.median_run].lines[segment]


def change_text(change: Change) -> str:
    return (
        f"{change.change} by {title_of(change.metric)}: segment {change.segment}, "
        f"{number(change.baseline_score, 2)} ({change.baseline}) -> "
        f"{number(change.system_score, 2)} ({change.system})\n"
        f"  reference: {change.reference or '-'}\n"
        f"  {change.baseline}: {change.baseline_text}\n"
        f"  {change.system}: {change.system_text}\n\n"
    )


TOLD = 3  # systems that have a sentence each


def verdict(comparison: SystemsComparison) -> str:
    baseline = comparison.recipe["baseline"]
    others = [name for name in comparison.scores if name != baseline]
    if len(others) <= TOLD:
        found = [
            [pair for metric in comparison.metrics if (pair := comparison.against_baseline(name, metric))]
            for name in others
        ]
        told = ("; ".join(_sentence(comparison, pair) for pair in pairs) for pairs in found)
        return " ".join(f"{name}: {sentence}." for name, sentence in zip(others, told, strict=True))
    told = (f"{_count(comparison, metric)} by {title_of(metric)}" for metric in comparison.metrics)
    return f"{len(others)} systems against {baseline}: {'; '.join(told)}."


def _sentence(comparison: SystemsComparison, item: Pair) -> str:
    own, other = (comparison.scores[name][item.metric].instability.mean for name in item.names)
    told = f"{title_of(item.metric)} {number(own, 2)} against {number(other, 2)}"
    if item.result.undecided:
        return f"{told}, the segments are too few to tell them apart"
    return f"{told}, {_finding(comparison, item)} (p {p_value(item.p_corrected, None)})"


def _finding(comparison: SystemsComparison, item: Pair) -> str:
    better = comparison.metrics[item.metric].higher_is_better
    if item.p_corrected > comparison.settings.level:
        return "no difference is shown"
    if better is None:
        return "different"
    return "better" if (item.result.difference > 0) == better else "worse"


def _count(comparison: SystemsComparison, metric: str) -> str:
    compared = [item for item in comparison.comparisons if item.metric == metric]
    found = [_finding(comparison, item) for item in compared if not item.result.undecided]
    kinds = [f"{found.count(kind)} {kind}" for kind in ("better", "worse", "different") if kind in found]
    return ", ".join(kinds) or "no difference is shown"


_ARROWS = {True: " ↑", False: " ↓", None: ""}
_SPREADS = (
    Column("s_sel", drop=2, latex=r"$\overline{s}_{\mathrm{sel}}$", about="spread with other segments"),
    Column("s_test", drop=3, latex=r"$s_{\mathrm{test}}$", about="spread over runs of training"),
    Column("s_dev", drop=1, latex=r"$s_{\mathrm{dev}}$", about="spread over runs on the development set"),
)
_P = (
    Column("p", drop=4, latex="$p$", about="chance of such a difference without a cause"),
    Column("p corr.", latex=r"$p_{\mathrm{corr}}$", about="the same, for all tests together"),
)


def table(comparison: SystemsComparison) -> Table:
    """A row per metric and system, as in Clark et al. 2011, Table 1."""
    return _table(comparison, footnotes(comparison))


def _table(comparison: SystemsComparison, notes: Sequence[str]) -> Table:
    confidence = f"{100 * comparison.recipe['confidence']:g} %"
    minus = f"minus {comparison.recipe['baseline']}"
    columns = [
        Column("metric", once=True), Column("system"),
        Column("mean", latex="Avg", about="score, over all runs"), *_spreads(comparison),
        Column(f"{confidence} interval", "interval", drop=5, about="of the mean"),
        Column(f"difference, {confidence}", "difference", about=minus), *_P,
    ]  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for metric, kind in comparison.metrics.items():
        name = title_of(metric) + _ARROWS[kind.higher_is_better]
        rows += [(), *((name, system, *_cells(comparison, system, metric)) for system in comparison.scores)]
    return Table("", columns, rows, notes)


def _spreads(comparison: SystemsComparison) -> list[Column]:
    shown = [score.instability for by_metric in comparison.scores.values() for score in by_metric.values()]
    return [column for column in _SPREADS if any(np.isfinite(vars(each)[column.title]) for each in shown)]


def _cells(comparison: SystemsComparison, system: str, metric: str) -> list[str]:
    score, compared = comparison.scores[system][metric], comparison.against_baseline(system, metric)
    spreads = [vars(score.instability)[column.title] for column in _spreads(comparison)]
    tested = ["baseline", "", ""]
    if compared is not None:
        tests = (compared.result.p, None), (compared.p_corrected, comparison.settings.level)
        p = [p_value(value, level, compared.result.undecided) for value, level in tests]
        tested = [estimate(compared.result.difference, compared.ci, 2), *p]
    numbers = [number(value, 2) for value in (score.instability.mean, *spreads)]
    return [*numbers, interval(score.ci, 2), *tested]


def footnotes(comparison: SystemsComparison) -> list[str]:
    lines = _numbers_notes(comparison)
    if comparison.comparisons:
        lines += _claims(comparison)
    for compared in comparison.comparisons:
        if (same := compared.equivalence) is not None:
            lines.append(
                f"{same.system} : {same.baseline} by {title_of(same.metric)} within {same.margin:g}:"
                f" {same.verdict}"
                f" ({same.test}, corrected p {p_value(same.p_corrected, None)};"
                f" not worse by that: p {p_value(same.p_noninferior, None)})"
            )
    for metric, ranks in comparison.ranks.items():
        told = ", ".join(f"{name} {interval}" for name, interval in ranks.items())
        lines.append(f"ranks by {title_of(metric)}, simultaneous (bootstrap): {told}")
    return [*lines, *_signatures(comparison), *comparison.recipe["notes"]]


def _signatures(comparison: SystemsComparison) -> list[str]:
    return [f"{title_of(metric)}: {comparison.signature(metric)}" for metric in comparison.metrics]


def _numbers_notes(comparison: SystemsComparison) -> list[str]:
    recipe = comparison.recipe
    level = probability(recipe["level"])
    spreads = "; ".join(f"{column.title}: {column.about}" for column in _spreads(comparison))
    lines = [f"{recipe['segments']} segments; baseline: {recipe['baseline']}; seed {recipe['seed']}"]
    lines += [spreads] if spreads else []
    if comparison.comparisons:
        result = comparison.comparisons[0].result
        family = recipe["families"]
        spurious = recipe["experimentwise_error"]
        sizes = ", ".join(f"{title_of(name)}: {size}" for name, size in family["comparisons"].items())
        lines.append(
            f"p: {result.test}, {result.tail}, exchange {result.exchange}, {result.samples} samples;"
            f" corrected ({recipe['correct']}) within families of comparisons ({sizes}); uncorrected at"
            f" {level}, one of {recipe['comparisons']} is spurious with probability up to"
            f" {number(spurious, 2 if spurious >= 0.01 else 4)}"
        )
    return lines


def _claims(comparison: SystemsComparison) -> list[str]:
    asked = comparison.recipe["exchange"]
    if asked is None or max(len(system.runs) for system in comparison.systems) == 1:
        return []
    units = " and ".join(f"{name}s" for name in comparison.recipe["units"])
    claims = {unit: text.replace("segments", units) for unit, text in CLAIMS.items()}
    level = comparison.settings.level
    lines = ["claim: " + "; and ".join(claims[unit] for unit in asked.split("+"))]
    for unit in dict.fromkeys(unit for compared in comparison.comparisons for unit in compared.other_claims):
        told = [
            f"{compared.system} by {title_of(compared.metric)} {p_value(other.p, level, other.undecided)}"
            for compared in comparison.comparisons
            if (other := compared.other_claims.get(unit)) is not None
        ]
        lines.append(f"for {claims[unit]} (--exchange {unit}), uncorrected: {', '.join(told)}")
    return lines


_OF_PAIR = (
    "difference", "difference_low", "difference_high", "p", "p_corrected", "test", "exchange", "samples",
    "tail", "p_smallest", "p_error", "undecided",
)  # fmt: skip


def csv_table(comparison: SystemsComparison) -> str:
    rows = []
    for metric, system in product(comparison.metrics, comparison.scores):
        score = comparison.scores[system][metric].to_json()
        compared = comparison.against_baseline(system, metric)
        told: dict[str, Any] = dict.fromkeys(("baseline", *_OF_PAIR))
        if compared is not None:
            told = pair_json(compared)
            told["difference_low"], told["difference_high"] = told["ci"]
        rows.append({
            "metric": metric, "system": system, "runs": len(score["runs"]),
            **{key: score[key] for key in ("mean", "pooled", "s_sel", "s_test", "s_dev")},
            "ci_low": score["ci"][0], "ci_high": score["ci"][1], "median_run": score["median_run"],
            **{key: told[key] for key in ("baseline", *_OF_PAIR)}, "signature": comparison.signature(metric),
        })  # fmt: skip
    return csv_of(rows)


def tables(comparison: SystemsComparison) -> list[Table]:
    baseline, segments = comparison.recipe["baseline"], comparison.recipe["segments"]
    titles = ", ".join(map(title_of, comparison.metrics))
    main = _table(comparison, [*_numbers_notes(comparison), *_signatures(comparison)])
    shown = [replace(main, title=f"{titles} of {segments} segments; differences: system minus {baseline}")]
    if comparison.ranks:
        columns = [Column("system"), *(Column(title_of(metric)) for metric in comparison.ranks)]
        by_metric = comparison.ranks.values()
        rows = [[system, *(str(ranks[system]) for ranks in by_metric)] for system in comparison.scores]
        shown.append(Table("Ranks, simultaneous (bootstrap)", columns, rows))
    if same := [pair.equivalence for pair in comparison.comparisons if pair.equivalence is not None]:
        names = ("metric", "system", "against", "margin", "equivalent", "p corr.", "p, not worse")
        rows = [
            [title_of(item.metric), item.system, item.baseline, general(item.margin), item.verdict,
             p_value(item.p_corrected, None), p_value(item.p_noninferior, None)]
            for item in same
        ]  # fmt: skip
        shown.append(Table(f"Equivalence ({same[0].test})", list(map(Column, names)), rows))
    return [*shown, *further_tables(comparison)]


def further_tables(comparison: SystemsComparison) -> list[Table]:
    power = [needed_table(comparison)] if comparison.power else []
    single = single_runs_tables(comparison.single_runs, comparison.settings.level)
    parted = [] if comparison.buckets is None else bucket_tables(comparison.buckets, 2, title_of)
    return [*power, *single, *parted]


def latex_tables(comparison: SystemsComparison) -> str:
    return files.latex(tables(comparison))


def markdown_tables(comparison: SystemsComparison) -> str:
    return files.markdown(
        "Comparison", [verdict(comparison), *comparison.recipe["notes"]], tables(comparison)
    )
