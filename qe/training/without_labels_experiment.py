"""The experiment of a model without labels, from parallel text, a decoder, an encoder."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from features.basics.errors import InputError
from features.encoding.places import is_path
from qe.config.experiment import IN_MEMORY, Experiment, made

DECODER: Final = ("subwords", "token_log_probabilities")
_DECODER_MEAN: Final = "decoder_mean"
_COSINE: Final = "encoder_source_centred_cosine"
_WORDS: Final = "word_quality_synthetic_word_mean"


def unlabelled_experiment(
    name: str, columns: Collection[str], parallel: tuple[Path, Path] | None, encoder: str | Path | None = None
) -> Experiment:
    """The experiment with every feature that the given columns and files allow.

    Features are the mean log-probability of subwords if the table has the decoder's columns, the mean
    P(BAD) of words if there is parallel text, and the cosine of source and target, centred by language,
    if there is an encoder.

    Raises InputError if there is none of them.

    Source: Fomicheva et al. 2020, section 4.1 (TP); this project (`synthetic_word_quality`, `encoder`).
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
    if encoder is not None:
        features.append(_encoder_feature(encoder))
    if not features:
        raise InputError(
            "there is nothing to judge translations by",
            remedy="give parallel text (--parallel SOURCE TARGET), an encoder (--encoder MODEL), or "
            f"what the decoder said of its output: the columns {' and '.join(DECODER)}",
        )
    content |= {
        "name": name,
        "description": "Learned from no label: what parallel text, an encoder or the decoder says",
        "dataset": {"format": IN_MEMORY, "path": "."},
        "features": features,
        "learner": {"kind": "unsupervised_mean", "params": {"negative": negative}, "space": {}},
    }
    return made(content, Path())


def _encoder_feature(encoder: str | Path) -> dict[str, Any]:
    model = str(Path(encoder).absolute() if is_path(encoder) else encoder)
    return {"kind": "encoder", "model": model, "prediction": False, "pca": 0, "only": [_COSINE]}
