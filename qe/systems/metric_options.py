"""Metrics as written on the command line: `name` or `name:option=value,option=value`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from features.basics.errors import unknown_name
from features.basics.options import configured
from qe.systems.text_metric import MT_METRICS, TextMetric
from qe.systems.texts import TOKENIZATIONS
from qe.systems.usual_tokens import language_of


def metric(text: str, defaults: Mapping[str, Any] | None = None) -> TextMetric:
    """The metric that `text` names.

    `defaults` hold for the options that it has and `text` leaves open.

    Raises InputError for unknown names, options or values, with the known ones.

    >>> metric("chrf:word_order=2", {"tokenize": "13a"})
    Chrf(order=6, word_order=2, beta=2.0, lowercase=False, white_space=False)
    """
    return configured(MT_METRICS, text, defaults)


def metrics_for(
    names: Sequence[str], tokenize: str | None, language: str | None, texts: Sequence[str]
) -> dict[str, TextMetric]:
    """The metrics that `names` say, by name.

    tokenize  of TOKENIZATIONS, for every metric of tokens; None: what each takes for the language
    language  None: one with blanks between words
    texts     references, looked at where no language is given

    Raises InputError for unknown names, and where no tokenization suits the language.
    """
    if tokenize is not None:
        if tokenize not in TOKENIZATIONS:
            raise unknown_name("tokenization", tokenize, TOKENIZATIONS)
        return {name: metric(name, {"tokenize": tokenize, "language": language or "en"}) for name in names}
    return {name: _usual(name, language, texts) for name in names}


def tokenizations_of(metrics: Iterable[TextMetric]) -> list[str]:
    """Tokenizations that were set for metrics with a tokenization of their own.

    Metrics that split text themselves unless told otherwise are looked at.

    >>> tokenizations_of([metric("bleu:tokenize=intl"), metric("ter"), metric("chrf")])
    ['intl']
    """
    usual = ((metric, metric.usual("en").get("tokenize", "none")) for metric in metrics)
    return [vars(metric)["tokenize"] for metric, tokenize in usual if tokenize != "none"]


def _usual(name: str, language: str | None, texts: Sequence[str]) -> TextMetric:
    if "tokenize=" in name:
        return metric(name, {"language": language or "en"})
    kind = MT_METRICS.get(name.partition(":")[0])
    return metric(name, kind.usual(language_of(language, texts)))
