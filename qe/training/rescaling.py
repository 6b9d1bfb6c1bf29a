"""Rescaling: labels of one kind on the scale of another."""

import numpy as np
from scipy.stats import rankdata

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.data.dataset import LabelScale


def rescaled(
    labels: FloatArray, scale: LabelScale, gold: FloatArray, onto: LabelScale, how: str
) -> FloatArray:
    """(n,) labels on another scale, within its ends, reversed if its direction differs.

    how  `standard`: mean and deviation become those of `gold`, labels of that scale; `ranks`: each becomes
         the quantile of `gold` that it is of the labels; `none`: nothing changes

    >>> one, other = LabelScale("hter", 0, 1, False), LabelScale("da", None, None, True)
    >>> labels, gold = np.array([0.0, 0.2, 0.4]), np.array([-10.0, 0.0, 10.0])
    >>> rescaled(labels, one, gold, other, "standard").round(9).tolist()
    [10.0, 0.0, -10.0]

    Raises InputError for `none` where name or direction of the scales differ.
    """
    turned = scale.sign * onto.sign
    if how == "none":
        if (scale.name, turned) != (onto.name, 1):
            raise InputError(
                f"labels '{scale.name}' cannot stand for '{onto.name}' as they are",
                remedy="set `scaling: standard` or `scaling: ranks`",
            )
        return onto.clip(labels)
    if how == "ranks":
        shares = (rankdata(turned * labels) - 0.5) / len(labels)
        return onto.clip(np.quantile(gold, shares, method="hazen"))
    deviation = labels.std()
    standard = (labels - labels.mean()) / (deviation if deviation > 0 else 1.0)
    return onto.clip(gold.mean() + turned * gold.std() * standard)
