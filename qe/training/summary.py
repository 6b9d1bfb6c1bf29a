"""Summary: what a report says in a few lines of Markdown, for descriptions of runs and models."""

from collections.abc import Mapping
from typing import Any

from qe.display.numbers import Shown, settings
from qe.evaluation.pairs import json_name
from qe.statistics.metric import METRICS

PARTS = {
    "test": "on the test split",
    "nested": "in nested cross-validation",
    "cross_validation": "in cross-validation",
}


def value_of(scores: Mapping[str, Any], metric: str) -> float | None:
    """A system's score; None if it is undefined."""
    value = scores.get(json_name(metric))
    return None if value is None else float(value)


def best_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """The winner of the search: learner, selector, and the parameters of each under its name."""
    best = report["search"]["best"]
    chosen = {"learner": best["learner"], "selector": best["selector"]}
    if best["learner_params"]:
        chosen[best["learner"]] = best["learner_params"]
    if best["selector_params"]:
        chosen[best["selector"]] = best["selector_params"]
    return chosen


def summary(report: Mapping[str, Any]) -> str:
    """What the experiment is, what won, and how good it is beside the baselines."""
    metric, name = report["experiment"]["evaluation"]["metric"], report["experiment"]["name"]
    search, label = report["search"], report["data"]["label"]
    direction = "higher is better" if label["higher_is_better"] else "lower is better"
    lines = [
        f"* {_winner(search['best'])}, best of {search['trials']} trials; {report['features']['n']} features",
        f"* predicts {label['name']} ({direction}) of {report['data']['name']}",
    ]
    for part, where in PARTS.items():
        if report[part] is not None:
            lines.append(f"* {where}: {_figure(report[part], name, metric)}")
    lines += [f"* {leak}" for leak in report["data"].get("leaks", ())]
    return "\n".join([f"**{report['experiment']['description'] or name}**", "", *lines])


def _winner(best: Mapping[str, Any]) -> str:
    selector = (
        "" if best["selector"] == "none" else f" after {best['selector']}{_params(best['selector_params'])}"
    )
    return f"{best['learner']}{_params(best['learner_params'])}{selector}"


def _params(params: Mapping[str, Any]) -> str:
    return f" ({settings(params)})" if params else ""


def _figure(section: Mapping[str, Any], name: str, metric: str) -> str:
    kind, scores = METRICS.get(metric), section["systems"]
    others = [f"{other} {kind.shown(value_of(scores[other], metric))}" for other in section["baselines"]]
    beside = f" (baselines: {', '.join(others)})" if others else ""
    return f"{kind.title} {shown(scores[name], metric)}{beside}"


def shown(scores: Mapping[str, Any], metric: str) -> Shown:
    """A system's score with its interval, if it has one."""
    return METRICS.get(metric).shown(value_of(scores, metric), scores.get("ci", {}).get(json_name(metric)))
