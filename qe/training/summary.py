"""Summaries of a report: Markdown for descriptions of runs, a verdict in a sentence, tables of figures."""

from collections.abc import Mapping, Sequence
from typing import Any

from qe.display.numbers import NumberText, interval, p_value, settings, signed
from qe.display.table import Column, Table
from qe.evaluation.evaluate import CLASS_METRICS, json_name
from qe.statistics.metric import METRICS
from qe.statistics.settings import LEVEL

_FAMILIES = 4  # named in one line
# Parts of a report, the one that counts most first.
PARTS = {"test": "test", "nested": "nested cross-validation", "cross_validation": "cross-validation"}
SHOWN = ("delta_avg", "mae", "rmse", "pearson", "spearman")
# The rule of thumb of docs/own-data.md: from this Pearson correlation on.
_RANKS = ((0.3, "enough to rank roughly"), (0.5, "enough to rank"), (0.7, "ranks well"))


def location(part: str) -> str:
    return "on the test split" if part == "test" else f"in {PARTS[part]}"


def value_of(scores: Mapping[str, Any], metric: str) -> float | None:
    value = scores.get(json_name(metric))
    return None if value is None else float(value)


def best_of(report: Mapping[str, Any]) -> dict[str, Any]:
    best = report["search"]["best"]
    chosen = {"learner": best["learner"], "selector": best["selector"]}
    if best["learner_params"]:
        chosen[best["learner"]] = best["learner_params"]
    if best["selector_params"]:
        chosen[best["selector"]] = best["selector_params"]
    return chosen


def model_line(report: Mapping[str, Any]) -> str:
    best, features = report["search"]["best"], report["features"]
    kinds = dict.fromkeys(
        str(entry.get("kind", entry.get("set"))) for entry in report["experiment"]["features"]
    )
    names = ", ".join(list(kinds)[:_FAMILIES])
    more = f" and {len(kinds) - _FAMILIES} more" if len(kinds) > _FAMILIES else ""
    trees = " and trees" if features["trees"] else ""
    selector = "" if best["selector"] == "none" else f", chosen by {best['selector']}"
    plural = "" if features["n"] == 1 else "s"
    return f"{best['learner']} on {features['n']} feature{plural} ({names}{more}){trees}{selector}"


def summary(report: Mapping[str, Any], description: str = "", links: str = "") -> str:
    metric, name = report["experiment"]["evaluation"]["metric"], report["experiment"]["name"]
    label = report["data"]["label"]
    direction = "higher is better" if label["higher_is_better"] else "lower is better"
    best, kind = report["search"]["best"], METRICS.get(metric)
    params = ", ".join(settings(best[key]) for key in ("learner_params", "selector_params") if best[key])
    lines = [
        f"* {model_line(report)}; best of {report['search']['trials']} trials",
        *([f"* with {params}"] if params else []),
        f"* predicts {label['name']} ({direction}) of {report['data']['name']}",
    ]
    for part in PARTS:
        if (section := report[part]) is not None:
            values = {other: value_of(section["systems"][other], metric) for other in section["baselines"]}
            others = ", ".join(f"{other} {kind.formatted(value)}" for other, value in values.items())
            figure = f"{kind.title} {score_text(section['systems'][name], metric)}"
            lines.append(f"* {location(part)}: {figure}" + (f" (baselines: {others})" if others else ""))
    lines += [f"* {leak}" for leak in report["data"].get("leaks", ())]
    section, figure = _main_part(report)
    sentences = [f"**{figure}**" + (f" ({links})" if links else "")]
    baseline = _best_baseline(section, metric)
    test = None if baseline is None else _test(section, name, baseline, metric)
    if baseline is not None and test is not None and test["difference"] is not None:
        p = p_value(test["p_corrected"], LEVEL, test["undecided"])
        difference = signed(test["difference"], kind.digits)
        equals = "" if p.startswith("<") else "= "
        sentences.append(f"{difference} against the baseline {baseline.strip('()')} (p {equals}{p})")
    if entry := report.get("registration"):
        sentences.append(f"version {entry['version']}: {entry['reason']}")
    texts = ["; ".join(sentences), "\n".join(lines), description]
    return "\n\n".join(text for text in texts if text)


def _main_part(report: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The part that counts most, and its main figure as a sentence begins with it."""
    part = next(part for part in PARTS if report[part] is not None)
    metric, scores = report["experiment"]["evaluation"]["metric"], report[part]["systems"]
    figure = score_text(scores[report["experiment"]["name"]], metric)
    return report[part], f"{METRICS.get(metric).title} {figure} {location(part)}"


def score_text(scores: Mapping[str, Any], metric: str) -> NumberText:
    return METRICS.get(metric).formatted(
        value_of(scores, metric), scores.get("ci", {}).get(json_name(metric))
    )


def verdict(report: Mapping[str, Any]) -> str:
    section, figure = _main_part(report)
    metric, name = report["experiment"]["evaluation"]["metric"], report["experiment"]["name"]
    best = _best_baseline(section, metric)
    if best is None:
        return f"{figure}."
    value = METRICS.get(metric).formatted(value_of(section["systems"][best], metric))
    test, outcome, is_better = _test(section, name, best, metric), "", False
    if test is not None:
        p = test["p_corrected"]
        if p is None:
            undecided = "the segments are too few to tell them apart"
            outcome = f"; {undecided if test['undecided'] else 'p is undefined'}"
        elif p > LEVEL:
            outcome = f"; p {p_value(p, None)}: no difference is shown"
        else:
            is_better = (test["difference"] > 0) == METRICS.get(metric).higher_is_better
            outcome = f"; p {p_value(p, None)}: {'better' if is_better else 'worse'}"
    pearson, use = value_of(section["systems"][name], "pearson"), ""
    if is_better and pearson is not None:
        by = "" if metric == "pearson" else f" (Pearson {pearson:.2f})"
        use = f", yet of little use for ranking{by}"
        if pearson >= _RANKS[0][0]:
            ranks = [words for least, words in _RANKS if pearson >= least][-1]
            use = f", {ranks}{by}; not to publish unseen without thresholds"
    return f"{figure}; the best baseline, {best}, has {value}{outcome}{use}."


def _best_baseline(section: Mapping[str, Any], metric: str) -> str | None:
    values = {name: value_of(section["systems"][name], metric) for name in section["baselines"]}
    known = {name: value for name, value in values.items() if value is not None}
    sign = 1 if METRICS.get(metric).higher_is_better else -1
    return max(known, key=lambda name: sign * known[name], default=None)


def _test(section: Mapping[str, Any], name: str, baseline: str, metric: str) -> Mapping[str, Any] | None:
    names = (name, baseline, json_name(metric))
    tests = section["comparisons"]
    return next((t for t in tests if (t["system"], t["baseline"], t["metric"]) == names), None)


def scores_table(
    title: str,
    section: Mapping[str, Any],
    metric: str,
    other_metrics: Sequence[str] = SHOWN,
    *,
    intervals: bool = False,
) -> Table:
    """Systems by metrics, the experiment's first, with 95 % intervals (of the others with `intervals`)."""
    known = next(iter(section["systems"].values()))
    names = CLASS_METRICS if CLASS_METRICS[0] in known else other_metrics
    rest = [name for name in names if name != metric]
    columns = [Column("system"), _column(metric)]
    columns += [_column(m, drop=place) for place, m in enumerate(rest, start=1)]
    rows = []
    for system, scores in section["systems"].items():
        plain = scores if intervals else {key: value for key, value in scores.items() if key != "ci"}
        rows.append([system, score_text(scores, metric), *(score_text(plain, name) for name in rest)])
    return Table(title, columns, rows)


def per_fold_table(report: Mapping[str, Any]) -> Table:
    system, metric = report["experiment"]["name"], report["experiment"]["evaluation"]["metric"]
    figures = report["cross_validation"]["systems"][system]["per_fold"]
    names = sorted(figures, key=lambda name: name != metric)
    cells = [
        [METRICS.get(name).formatted(value) for value in (*entry["values"], entry["mean"], entry["sd"])]
        for name, entry in ((name, figures[name]) for name in names)
    ]
    folds = range(1, len(cells[0]) - 1)
    rows = [list(row) for row in zip((*map(str, folds), "mean", "sd"), *cells, strict=True)]
    columns = [Column("fold"), *(_column(name, drop=place) for place, name in enumerate(names))]
    return Table(f"{system}: each fold by itself", columns, rows)


def _column(metric: str, drop: int = 0) -> Column:
    kind = METRICS.get(metric)
    return Column(kind.title, metric, drop, about=kind.help)


def differences_table(section: Mapping[str, Any], system: str, metric: str) -> Table:
    kind = METRICS.get(metric)
    rows = [
        [
            test["baseline"], signed(test["difference"], kind.digits), interval(test["ci"], kind.digits),
            p_value(test["p_corrected"], LEVEL, test["undecided"]),
        ]
        for test in section["comparisons"]
        if test["metric"] == json_name(metric) and test["system"] == system
    ]  # fmt: skip
    columns = [Column("against"), Column(kind.title, "difference"), Column("95 % interval", "interval")]
    title = "Differences to the baselines, with p-values corrected for their number"
    return Table(title, [*columns, Column("p")], rows)


def front_table(search: Mapping[str, Any]) -> Table:
    metrics = search["objective"]
    kinds = [METRICS.get(metric) for metric in metrics]
    sign = -1 if kinds[0].higher_is_better else 1
    pairs = list(zip(kinds, metrics, strict=True))
    rows = [
        [str(trial["trial"]), *(kind.formatted(trial[m]) for kind, m in pairs), settings(trial["params"])]
        for trial in sorted(search["front"], key=lambda trial: sign * trial[metrics[0]])
    ]
    columns = [Column(kind.title, metric) for kind, metric in pairs]
    title = f"Pareto front; `--resume --trial N` fits another than {search['best_trial']}"
    return Table(title, [Column("trial"), *columns, Column("parameters", drop=1)], rows)
