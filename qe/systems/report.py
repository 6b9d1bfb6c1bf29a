"""A comparison as a table, LaTeX and CSV, and the segments that changed most."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from qe.systems.results import SystemsComparison
from qe.systems.settings import CLAIMS

_EXAMPLES = 20  # segments shown per direction
COLUMNS = ("metric", "system", "mean", "s_sel", "s_test", "s_dev", "p", "p corr.", "95 % interval")


@dataclass(frozen=True)
class Change:
    """A segment that one system translates better or worse than the baseline.

    before, after  segment scores, means over runs; the texts are those of the median runs
    """

    metric: str
    system: str
    baseline: str
    change: str  # improved or worsened
    segment: int  # from 1
    before: float
    after: float
    reference: str | None
    baseline_text: str
    system_text: str


def rows(comparison: SystemsComparison) -> list[tuple[str, ...]]:
    """The cells of the table for people, one row per metric and system; '-' where undefined."""
    lines = []
    for metric in comparison.metrics:
        for system, by_metric in comparison.scores.items():
            score = by_metric[metric]
            spreads = score.instability
            compared = comparison.against_baseline(system, metric)
            p = ("baseline", "") if compared is None else tuple(
                "?" if compared.result.undecided else p_text(value)
                for value in (compared.result.p, compared.p_corrected)
            )  # fmt: skip
            numbers = (spreads.mean, spreads.s_sel, spreads.s_test, spreads.s_dev)
            interval = "-" if np.isnan(score.ci).any() else f"{score.ci[0]:.2f} .. {score.ci[1]:.2f}"
            lines.append((metric, system, *map(_number, numbers), *p, interval))
    return lines


def header(comparison: SystemsComparison) -> tuple[str, ...]:
    """The names of the columns of `rows`."""
    confidence = f"{100 * comparison.recipe['confidence']:g} % interval"
    return (*COLUMNS[:-1], confidence)


def footnotes(comparison: SystemsComparison) -> list[str]:
    """What the numbers rest on, in words."""
    recipe = comparison.recipe
    lines = [f"{recipe['segments']} segments; baseline: {recipe['baseline']}; seed {recipe['seed']}"]
    if comparison.comparisons:
        result = comparison.comparisons[0].result
        family = recipe["families"]
        sizes = ", ".join(f"{name}: {size}" for name, size in family["comparisons"].items())
        lines.append(
            f"p: {result.test}, {result.tail}, exchange {result.exchange}, {result.samples} samples;"
            f" corrected ({recipe['correct']}) within families of comparisons ({sizes}); uncorrected at .05,"
            f" one of {recipe['comparisons']} is spurious with probability up to"
            f" {recipe['experimentwise_error']:.2f}"
        )
        lines += _claims(comparison)
    for compared in comparison.comparisons:
        if (same := compared.equivalence) is not None:
            lines.append(
                f"{same.system} : {same.baseline} by {same.metric} within {same.margin:g}: {same.verdict}"
                f" ({same.test}, corrected p {p_text(same.p_corrected)};"
                f" not worse by that: p {p_text(same.p_noninferior)})"
            )
    for metric, ranks in comparison.ranks.items():
        told = ", ".join(f"{name} {interval}" for name, interval in ranks.items())
        lines.append(f"ranks by {metric}, simultaneous (bootstrap): {told}")
    if any(compared.result.undecided for compared in comparison.comparisons):
        lines.append("?: cannot be decided")
    lines += [f"{metric}: {comparison.signature(metric)}" for metric in comparison.metrics]
    return lines + list(recipe["notes"])


def _claims(comparison: SystemsComparison) -> list[str]:
    """What the differences are claimed for, and what the other claims would give."""
    asked = comparison.recipe["exchange"]
    if asked is None or max(len(system.runs) for system in comparison.systems) == 1:
        return []
    claims = {unit: text.replace("segments", _units(comparison)) for unit, text in CLAIMS.items()}
    lines = ["claim: " + "; and ".join(claims[unit] for unit in asked.split("+"))]
    for unit in dict.fromkeys(unit for compared in comparison.comparisons for unit in compared.others):
        told = [
            f"{compared.system} by {compared.metric} {'?' if other.undecided else p_text(other.p)}"
            for compared in comparison.comparisons
            if (other := compared.others.get(unit)) is not None
        ]
        lines.append(f"for {claims[unit]} (--exchange {unit}), uncorrected: {', '.join(told)}")
    return lines


def _units(comparison: SystemsComparison) -> str:
    return " and ".join(f"{name}s" for name in comparison.recipe["units"])


def csv_table(comparison: SystemsComparison) -> str:
    """Every number of the report with full precision, one line per metric and system."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([
        "metric", "system", "runs", "mean", "pooled", "s_sel", "s_test", "s_dev", "ci_low", "ci_high",
        "median_run", "baseline", "difference", "difference_low", "difference_high", "p", "p_corrected",
        "test", "exchange", "samples", "tail", "p_smallest", "p_error", "undecided", "signature",
    ])  # fmt: skip
    for metric in comparison.metrics:
        for system, by_metric in comparison.scores.items():
            score, compared = by_metric[metric].to_json(), comparison.against_baseline(system, metric)
            own = [score[key] for key in ("mean", "pooled", "s_sel", "s_test", "s_dev")]
            against: list[Any] = [None] * 13
            if compared is not None:
                told = compared.to_json()
                against = [told["baseline"], told["difference"], *told["ci"]]
                against += [told[key] for key in ("p", "p_corrected", "test", "exchange", "samples", "tail")]
                against += [told[key] for key in ("p_smallest", "p_error", "undecided")]
            cells = [metric, system, len(score["runs"]), *own, *score["ci"], score["median_run"], *against]
            cells.append(comparison.signature(metric))
            writer.writerow(["" if cell is None else cell for cell in cells])
    return stream.getvalue()


def latex_table(comparison: SystemsComparison) -> str:
    """A table for a paper (packages booktabs and multirow), in the form of Clark et al. 2011, Table 1."""
    lines = [
        r"\begin{table}",
        r"\centering",
        r"\begin{tabular}{llrrrrr}",
        r"\toprule",
        r"Metric & System & Avg & $\overline{s}_{\mathrm{sel}}$ & $s_{\mathrm{test}}$"
        r" & $s_{\mathrm{dev}}$ & $p$ \\",
    ]
    for metric, kind in comparison.metrics.items():
        lines.append(r"\midrule")
        arrow = {True: r" $\uparrow$", False: r" $\downarrow$", None: ""}[kind.higher_is_better]
        label = rf"\multirow{{{len(comparison.scores)}}}{{*}}{{{_escaped(metric)}{arrow}}}"
        for system, by_metric in comparison.scores.items():
            spreads = by_metric[metric].instability
            compared = comparison.against_baseline(system, metric)
            p = "--" if compared is None else _latex_p(compared.p_corrected)
            numbers = (spreads.mean, spreads.s_sel, spreads.s_test, spreads.s_dev)
            cells = [label, _escaped(system), *(_number(v).replace("-", "--") for v in numbers), p]
            lines.append(" & ".join(cells) + r" \\")
            label = ""
    caption = _escaped(". ".join(footnotes(comparison)[:2]))
    signatures = [
        rf"{_escaped(m)}: \texttt{{{_escaped(comparison.signature(m))}}}" for m in comparison.metrics
    ]
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{caption}. {'; '.join(signatures)}.}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def changes(comparison: SystemsComparison, examples: int = _EXAMPLES) -> Iterator[Change]:
    """The segments that improved and worsened most, for every comparison by a metric with a direction."""
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


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def p_text(p: float) -> str:
    """Four decimals, '-' where undefined."""
    return "-" if np.isnan(p) else f"{p:.4f}"


def _latex_p(p: float) -> str:
    if np.isnan(p):
        return "--"
    return "$<$0.001" if p < 0.001 else f"{p:.3f}"


def _escaped(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return re.sub(r"[\\~^&%$#_{}]", lambda m: special.get(m.group(), "\\" + m.group()), text)
