"""What a finished run looks like in a terminal."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from qe.display.numbers import estimate, general, number, p_value, settings, signed
from qe.display.table import Table
from qe.evaluation.evaluate import json_name
from qe.evaluation.tables import oracle_table
from qe.evaluation.word_level import TITLES
from qe.statistics.metric import METRICS
from qe.statistics.settings import LEVEL
from qe.training.summary import front_table, per_fold_table, scores_table, verdict
from qe.training.train import Outcome


def outcome_parts(outcome: Outcome, per_fold: bool = False) -> Iterator[Table | str]:
    """Scores, the verdict, the search and where everything is."""
    report = outcome.report
    search = report["search"]
    if outcome.unchanged:
        yield f"{outcome.output} is finished: the same experiment made it; --overwrite repeats it"
    for title, section in (
        (_title(report), report["cross_validation"]),
        ("nested cross-validation: the whole procedure, selection included", report["nested"]),
        ("test split", report["test"]),
    ):
        if section is not None:
            yield scores_table(title, section, report["experiment"]["evaluation"]["metric"])
            if section.get("oracles"):
                yield oracle_table(section["oracles"], report["experiment"]["name"])
    if per_fold:
        yield per_fold_table(report)
    yield verdict(report)
    best = search["best"]
    parameters = {**best["learner_params"], **best["selector_params"]}
    taken = f"trial {search['best_trial']}, chosen" if search["chosen"] else "best"
    failed = len(search["failures"])
    more = {"passed over": search["skipped"], "pruned": search.get("pruned"), "failed": failed}
    others = [f"{number} more {how}" for how, number in more.items() if number]
    if not re.fullmatch("[0-9]+ trials?", search["ended"]):
        others.append(f"the search ended: {search['ended']}")
    trials = f"{search['trials']} trials" + (f" ({', '.join(others)})" if others else "")
    yield f"{taken} of {trials}: {best['learner']} {settings(parameters)}"
    yield from notes(report)
    if search["front"]:
        yield front_table(search)
    if entry := outcome.registered:
        reason = report["registration"]["reason"]
        yield f"registered as {entry.name} version {entry.version}: {entry.alias or 'waits'}, {reason}"
    yield f"report, predictions, plots and model: {outcome.output}"


def notes(report: Mapping[str, Any]) -> list[str]:
    failures = report["search"]["failures"]
    reasons = [failure["reason"] for failure in failures]
    failure_lines = [
        f"{reasons.count(reason)} of the trials failed: {reason}" for reason in dict.fromkeys(reasons)
    ]
    lines = [*report["data"].get("leaks", ()), *report["search"].get("notes", ()), *failure_lines]
    if report["model"]["calibrated"]:
        lines.append("the learner only ranks: its scores were calibrated to the scale on the training labels")
    front = report["model"].get("front")
    if front:
        steps = ", ".join(
            f"{p['features']} features at {general(p['cost'])}: {number(p['metric'])}" for p in front
        )
        lines.append(f"Pareto front of the selection (metric, higher is better): {steps}")
    words = report.get("words") or {}
    word_lines = [
        f"{part} (out of fold): "
        + ", ".join(_word_figure(section["tagged_by"][metric], metric) for metric in ("f1_mult", "mcc"))
        + f", {_word_figure(section['tagged_by']['f1_mult'], 'ece')}"
        + f" (by chance {number(section['tagged_by']['f1_mult']['ece_by_chance'])})"
        for part, section in words.items()
    ]
    return [*lines, *word_lines]


def _word_figure(scores: Mapping[str, Any], metric: str) -> str:
    return f"{TITLES[metric]} {estimate(scores[metric], scores.get('ci', {}).get(metric))}"


def _title(report: Mapping[str, Any]) -> str:
    folds = report["cross_validation"]
    chosen = " (parameters chosen on these folds)" if folds["selected_on_these_folds"] else ""
    name, by = report["experiment"]["name"], folds["by"]
    made = (
        f"contiguous folds{chosen}" if by == "contiguous" else f"folds by {by}, seed {folds['seed']}{chosen}"
    )
    return f"{name}: cross-validation, {folds['folds']} {made}"


def comparisons(report: Mapping[str, Any]) -> Iterator[str]:
    """The differences to the baselines with p-values, on the test split if its labels are known."""
    section = report["test"] or report["nested"] or report["cross_validation"]
    metrics = (report["experiment"]["evaluation"]["metric"], "delta_avg", "mae")
    names = {json_name(metric): metric for metric in metrics}
    for entry in section["comparisons"]:
        if entry["metric"] in names:
            kind = METRICS.get(names[entry["metric"]])
            pair = f"{entry['system']} against {entry['baseline']}"
            found = f"cannot be decided: {entry['undecided']}" if entry.get("undecided") else "p undefined"
            if entry["p"] is not None:
                found = f"p {p_value(entry['p'], None)} (corrected {p_value(entry['p_corrected'], LEVEL)})"
            yield f"{pair}: {kind.title} {signed(entry['difference'], kind.digits + 1)}, {found}"
