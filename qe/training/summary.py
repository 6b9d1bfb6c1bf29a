"""Summary: a report in a few lines of Markdown, for descriptions of runs and models."""

from collections.abc import Mapping
from typing import Any

from qe.display.numbers import Shown, p_value, settings, signed
from qe.evaluation.pairs import json_name
from qe.statistics.metric import METRICS
from qe.statistics.result import LEVEL

_FAMILIES = 4  # named in one line
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


def model_line(report: Mapping[str, Any]) -> str:
    """What the model is: learner, selector, number and families of its features."""
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


def summary(report: Mapping[str, Any], said: str = "", links: str = "") -> str:
    """The verdict, what won, and how good it is in every part, in Markdown.

    said   what the experiment's file says of it, if that is still true
    links  to the files of the run
    """
    metric, name = report["experiment"]["evaluation"]["metric"], report["experiment"]["name"]
    label = report["data"]["label"]
    direction = "higher is better" if label["higher_is_better"] else "lower is better"
    lines = [
        f"* {model_line(report)}; best of {report['search']['trials']} trials",
        *([f"* with {_params(report['search']['best'])}"] if _params(report["search"]["best"]) else []),
        f"* predicts {label['name']} ({direction}) of {report['data']['name']}",
    ]
    for part, location in PARTS.items():
        if report[part] is not None:
            lines.append(f"* {location}: {_figure(report[part], name, metric)}")
    lines += [f"* {leak}" for leak in report["data"].get("leaks", ())]
    told = [said] if said else []
    return "\n\n".join([_verdict(report, name, metric), *([links] if links else []), "\n".join(lines), *told])


def _verdict(report: Mapping[str, Any], name: str, metric: str) -> str:
    part = next(part for part in PARTS if report[part] is not None)
    section, kind = report[part], METRICS.get(metric)
    sentences = [f"**{kind.title} {shown(section['systems'][name], metric)} {PARTS[part]}**"]
    own = (name, json_name(metric))
    against = [
        c for c in section["comparisons"]
        if (c["system"], c["metric"]) == own and c["difference"] is not None
    ]  # fmt: skip
    if against:
        # The baseline that is hardest to beat.
        sign = 1 if kind.higher_is_better else -1
        best = min(against, key=lambda one: sign * one["difference"])
        p = p_value(best["p_corrected"], LEVEL, best["undecided"])
        difference = signed(best["difference"], kind.digits)
        told = p if p.startswith("<") else f"= {p}"
        sentences.append(f"{difference} against the baseline {best['baseline'].strip('()')} (p {told})")
    entry = report.get("registration")
    if entry:
        sentences.append(f"version {entry['version']}: {entry['reason']}")
    return "; ".join(sentences)


def _params(best: Mapping[str, Any]) -> str:
    return ", ".join(settings(best[key]) for key in ("learner_params", "selector_params") if best[key])


def _figure(section: Mapping[str, Any], name: str, metric: str) -> str:
    kind, scores = METRICS.get(metric), section["systems"]
    others = [f"{other} {kind.shown(value_of(scores[other], metric))}" for other in section["baselines"]]
    beside = f" (baselines: {', '.join(others)})" if others else ""
    return f"{kind.title} {shown(scores[name], metric)}{beside}"


def shown(scores: Mapping[str, Any], metric: str) -> Shown:
    """A system's score with its interval, if it has one."""
    return METRICS.get(metric).shown(value_of(scores, metric), scores.get("ci", {}).get(json_name(metric)))
