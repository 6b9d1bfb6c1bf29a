"""What a finished run looks like in a terminal."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from qe.evaluation.oracle_table import oracle_table
from qe.training.train import Outcome

_METRICS = ("delta_avg", "mae", "rmse", "pearson", "spearman")


def print_outcome(outcome: Outcome) -> None:
    """The figures of a run beside its baselines, the best parameters, and where to look."""
    report, console = outcome.report, Console()
    for title, section in (
        (_title(report), report["cross_validation"]),
        ("nested cross-validation: the whole procedure, selection included", report["nested"]),
        ("test split", report["test"]),
    ):
        if section is not None:
            console.print(scores_table(title, section, report["experiment"]["evaluation"]["metric"]))
            if section.get("oracles"):
                console.print(oracle_table(section["oracles"], report["experiment"]["name"]))
    best = report["search"]["best"]
    parameters = {**best["learner_params"], **best["selector_params"]}
    shown = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in parameters.items())
    console.print(f"best of {_trials(report['search'])}: {best['learner']} {shown}")
    for line in notes(report):
        console.print(line)
    if report["registration"]:
        entry = report["registration"]
        alias = "champion" if entry["champion"] else "challenger" if entry["challenger"] else "waits"
        console.print(f"registered as {entry['name']} version {entry['version']}: {alias}, {entry['reason']}")
    console.print(f"report, predictions, plots and model: {outcome.output}", soft_wrap=True)


def _trials(search: Mapping[str, Any]) -> str:
    more = {"passed over": search["passed_over"], "failed": len(search["failures"])}
    others = ", ".join(f"{number} more {how}" for how, number in more.items() if number)
    return f"{search['trials']} trials" + (f" ({others})" if others else "")


def notes(report: Mapping[str, Any]) -> list[str]:
    """What a reader of the figures should know of the model, a sentence each."""
    lines = _failure_lines(report["search"]["failures"])
    if report["model"]["calibrated"]:
        lines.append("the learner only ranks: its scores were calibrated to the scale on the training labels")
    front = report["model"].get("front")
    if front:
        steps = ", ".join(f"{p['features']} features at {p['cost']:g}: {p['metric']:.3f}" for p in front)
        lines.append(f"Pareto front of the selection (metric, higher is better): {steps}")
    return [*lines, *_word_lines(report.get("words") or {})]


def _failure_lines(failures: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why trials failed, a line for each reason."""
    reasons = [failure["reason"] for failure in failures]
    return [f"{reasons.count(reason)} of the trials failed: {reason}" for reason in dict.fromkeys(reasons)]


def _word_lines(words: Mapping[str, Any]) -> list[str]:
    """What the folds say of words, gaps and source words, a line each."""
    titles = {"f1_mult": "F1-mult", "mcc": "MCC"}
    return [
        f"{part} (out of fold): "
        + ", ".join(f"{titles[m]} {_cell(section['tagged_by'][m], m, True)}" for m in titles)
        + f", ECE {_cell(section['tagged_by']['f1_mult'], 'ece', False)}"
        + f" (by chance {_cell(section['tagged_by']['f1_mult'], 'ece_by_chance', False)})"
        for part, section in words.items()
    ]


def _title(report: Mapping[str, Any]) -> str:
    folds = report["cross_validation"]
    chosen = " (parameters chosen on these folds)" if folds["selected_on_these_folds"] else ""
    name = report["experiment"]["name"]
    return f"{name}: cross-validation, {folds['folds']} folds by {folds['by']}, seed {folds['seed']}{chosen}"


def scores_table(title: str, section: Mapping[str, Any], metric: str) -> Table:
    """Systems by metrics: the experiment's own first, with 95 % intervals."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    table.add_column("system", min_width=10, overflow="fold")
    names = list(dict.fromkeys((metric, *_METRICS)))
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for system, scores in section["systems"].items():
        table.add_row(system, *(_cell(scores, name, name == metric) for name in names))
    return table


def _cell(scores: Mapping[str, Any], metric: str, with_interval: bool) -> str:
    name = metric if metric in scores else f"{metric}_percent"
    value = scores.get(name)
    if value is None:
        return "undefined"
    interval = scores.get("ci", {}).get(name) if with_interval else None
    return f"{value:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")


def print_json(outcomes: Sequence[Outcome]) -> None:
    """The reports as JSON: one object, or a list of several."""
    reports = [outcome.report for outcome in outcomes]
    print(json.dumps(reports[0] if len(reports) == 1 else reports, indent=1))


def print_comparisons(report: Mapping[str, Any]) -> None:
    """The differences to the baselines with p-values, on the test split where its labels are known."""
    section = report["test"] or report["nested"] or report["cross_validation"]
    shown = {report["experiment"]["evaluation"]["metric"], "delta_avg", "mae"}
    for entry in section["comparisons"]:
        if entry["metric"] in shown:
            pair = f"{entry['system']} against {entry['baseline']}"
            print(f"{pair}: {entry['metric']} {entry['difference']:+.4f}, {_p(entry)}")


def _p(entry: Mapping[str, Any]) -> str:
    if entry["p"] is None:
        return "cannot be decided: " + entry["undecided"] if entry["undecided"] else "p undefined"
    return f"p = {entry['p']:.4g} ({entry['p_corrected']:.4g} corrected)"
