"""pip requirements for scoring with a model, without packages that only training needs."""

from collections.abc import Iterator

from features.basics.plugins import DISTRIBUTION, kinds_in, version, versions, versions_of
from qe.learning.arrays import estimators
from qe.models.description import MAKERS, kinds_of
from qe.models.general import General
from qe.models.model import Model

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
