"""Model card (README.md of a model's folder), its table of data, quality and origin; pip requirements."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from features.basics.plugins import DISTRIBUTION, kinds_in, version, versions, versions_of
from qe.data.check import scale_text
from qe.display.numbers import count, settings
from qe.display.summary import entries
from qe.display.table import Table
from qe.learning.arrays import estimators
from qe.models.description import MAKERS, Description, kinds_of
from qe.models.general import General
from qe.models.model import Model
from qe.models.robustness import Robustness
from qe.models.robustness_table import destruction_note
from qe.statistics.metric import METRICS


def origin(described: Description) -> str:
    about, scale = described.about, described.scale
    languages = "-".join(tokenizer.language for tokenizer in described.tokenizers)
    data = about.get("data") or {}
    rows = (data.get("splits") or {}).get("train")
    counted = "" if rows is None else f"{rows:,} "
    of = f" of {data['name']}" if data.get("name") else ""
    ends = "" if scale.low is None or scale.high is None else f" from {scale.low:g} to {scale.high:g}"
    day = f" on {about['trained']}" if about.get("trained") else ""
    return f"Trained{day} on {counted}{languages} rows{of}, with labels of {scale.name}{ends}."


_FIGURES = ("delta_avg", "spearman", "mae")


def model_table(model: Model) -> Table:
    candidate, about, data = model.candidate, model.about, model.about.get("data", {})
    families = dict.fromkeys(str(config["kind"]) for config in model.feature_set.configs)
    splits = ", ".join(f"{name} {count(rows)}" for name, rows in data.get("splits", {}).items())
    found = about.get("cross_validation", {})
    figures = [f"{METRICS.get(m).title} {METRICS.get(m).formatted(found[m])}" for m in _FIGURES if m in found]
    rows = {
        "learner": f"{candidate.learner} {settings(candidate.learner_params)}".strip(),
        "selection": f"{candidate.selector} {settings(candidate.selector_params)}".strip(),
        "features": f"{count(len(model.feature_set.names))}: {', '.join(families)}",
        "label": scale_text(model.scale),
        "languages": " to ".join(tokenizer.language for tokenizer in model.tokenizers),
        "needs": ", ".join(model.columns()),
        "data": f"{data['name']}: {splits}" if data else "",
        "terms of the data": "; ".join(data.get("terms", ())),
        "trained": about.get("trained", ""),
        "out of fold": ", ".join(figures),
    }
    return entries("model", model.name, rows.items())


FILE: Final = "README.md"


@dataclass(frozen=True, eq=False)
class Card:
    model: Model
    robustness: Robustness | None = None

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(self.text(), "utf-8")

    def text(self) -> str:
        model = self.model
        lines = [
            f"# {model.name}",
            f"Predicts {model.scale.name} of translations. Made by {DISTRIBUTION} {version()}.",
            model_table(model).markdown().strip(),
        ]
        if model.guard is not None:
            lines.append("Rows unlike the training translations are marked, and lose score.")
        if self.robustness is not None and self.robustness.with_effect("destroying"):
            lines.append(f"Perturbed translations: {destruction_note(self.robustness)}.")
        lines.append("    qe score --model THIS_FOLDER --input FILE --output scores.tsv")
        return "\n\n".join(lines) + "\n"


# Extra of this project -> packages among MAKERS that only this extra installs.
_EXTRAS = {"encoder": ("onnxruntime", "tokenizers"), "segmenters": ("jieba", "pythainlp", "sudachipy")}


def requirements(model: Model) -> list[str]:
    """Lines of a requirements file with the installed versions, also of packages that compute columns."""
    models = [model, *_within(model)]
    tokenizers = [tokenizer for each in models for tokenizer in each.tokenizers]
    needed = {"encoder": any(map(_encodes, models)), "segmenters": any(t.segmenter for t in tokenizers)}
    extras = [name for name, is_needed in needed.items() if is_needed]
    own = f"{DISTRIBUTION}[{','.join(extras)}]" if extras else DISTRIBUTION
    plugins = versions_of(kinds_of(model.candidate, model.feature_set.configs))
    unused = {name for extra, names in _EXTRAS.items() if extra not in extras for name in names}
    makers = versions(*(name for name in MAKERS if name not in unused))
    more = {**makers, **(versions("lightgbm") if any(map(_boosts, models)) else {}), **plugins}
    return [f"{own}=={version()}", *(f"{name}=={number}" for name, number in more.items())]


def _within(model: Model) -> Iterator[Model]:
    for extractor in model.feature_set.extractors:
        if isinstance(extractor, General):
            yield from (extractor.saved, *_within(extractor.saved))


def _boosts(model: Model) -> bool:
    modules = (kind.__module__ for part in estimators(model.pipeline) for kind in type(part).__mro__)
    return any(module.partition(".")[0] == "lightgbm" for module in modules)


def _encodes(model: Model) -> bool:
    configs = list(model.feature_set.configs)
    return bool({"encoder", "multilingual"} & set(kinds_in(configs))) or any(
        "encoder" in each.get("knowledge", ()) for each in configs
    )
