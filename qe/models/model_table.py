"""A model in a table: what it was trained on, by what, and how good it was found."""

from collections.abc import Iterator, Mapping
from typing import Any

from qe.data.report_tables import scale_text
from qe.display.numbers import count, settings
from qe.display.summary import entries
from qe.display.table import Table
from qe.models.model import Model
from qe.statistics.metric import METRICS

_FIGURES = ("delta_avg", "spearman", "mae")


def model_table(model: Model) -> Table:
    """One row for each thing to know; models without labels have no figures."""
    return entries("model", model.name, _rows(model, model.about))


def _rows(model: Model, about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    candidate, scale, data = model.candidate, model.scale, about.get("data", {})
    yield "learner", f"{candidate.learner} {settings(candidate.learner_params)}".strip()
    yield "selection", f"{candidate.selector} {settings(candidate.selector_params)}".strip()
    families = dict.fromkeys(str(config["kind"]) for config in model.feature_set.configs)
    yield "features", f"{count(len(model.feature_set.names))}: {', '.join(families)}"
    yield "label", scale_text(scale)
    yield "languages", " to ".join(tokenizer.language for tokenizer in model.tokenizers)
    yield "needs", ", ".join(model.columns())
    splits = ", ".join(f"{name} {count(rows)}" for name, rows in data.get("splits", {}).items())
    yield "data", f"{data['name']}: {splits}" if data else ""
    yield "terms of the data", "; ".join(data.get("terms", ()))
    yield "trained", about.get("trained", "")
    found = about.get("cross_validation", {})
    told = [f"{METRICS.get(m).title} {METRICS.get(m).formatted(found[m])}" for m in _FIGURES if m in found]
    yield "out of fold", ", ".join(told)
