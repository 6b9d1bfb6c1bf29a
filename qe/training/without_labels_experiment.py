"""The experiment of a model without labels: what parallel text and a decoder say of translations."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from features.basics.errors import InputError
from qe.config.experiment import IN_MEMORY, Experiment, made

DECODER: Final = ("subwords", "token_log_probabilities")
_DECODER_MEAN: Final = "decoder_mean"
_WORDS: Final = "word_quality_synthetic_word_mean"


def unlabelled_experiment(
    name: str, columns: Collection[str], parallel: tuple[Path, Path] | None
) -> Experiment:
    """The mean log-probability of subwords, where the table has the decoder's columns, and the mean P(BAD) of
    words, where there is parallel text.

    Raises InputError if there is neither.

    Source: Fomicheva et al. 2020, section 4.1 (TP); this project (`synthetic_word_quality`).
    """
    features = list[dict[str, Any]]()
    if set(DECODER) <= set(columns):
        features.append({"kind": "decoder", "only": [_DECODER_MEAN]})
    content: dict[str, Any] = {}
    negative = []
    if parallel is not None:
        features.append({"kind": "word_quality", "knowledge": ["synthetic"], "only": [_WORDS]})
        negative.append(_WORDS)
        content["resources"] = dict(zip(("source", "target"), map(str, parallel), strict=True))
    if not features:
        raise InputError(
            "there is nothing to judge translations by",
            remedy="give parallel text (--parallel SOURCE TARGET), or what the decoder said of its output: "
            f"the columns {' and '.join(DECODER)}",
        )
    content |= {
        "name": name,
        "description": "Learned from no label: what parallel text or the decoder says",
        "dataset": {"format": IN_MEMORY, "path": "."},
        "features": features,
        "learner": {"kind": "unsupervised_mean", "params": {"negative": negative}, "space": {}},
    }
    return made(content, Path())
