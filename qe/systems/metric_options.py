"""Metrics as written on the command line: `name` or `name:option=value,option=value`."""

from collections.abc import Mapping
from typing import Any

from features.basics.options import configured
from qe.systems.text_metric import MT_METRICS, TextMetric


def metric(text: str, defaults: Mapping[str, Any] | None = None) -> TextMetric:
    """The metric that `text` names; `defaults` hold for the options that it has and `text` leaves open.

    Raises InputError for unknown names, options or values, with the known ones.

    >>> metric("chrf:word_order=2", {"tokenize": "13a"})
    Chrf(order=6, word_order=2, beta=2.0, lowercase=False, white_space=False)
    """
    return configured(MT_METRICS, text, defaults)
