# mypy: allow-untyped-decorators
"""Word alignment of translations and references by TER: what stands where after its shifts."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.edits.ter import (
    BEAM_WIDTH,
    DELETION,
    INSERTION,
    SHIFT_CANDIDATES,
    SHIFT_DISTANCE,
    SHIFT_SIZE,
    common_ids,
    shifted,
)
from features.text.tokens import Tokens

Positions = NDArray[np.int32]
_NONE = -1


@dataclass(frozen=True, eq=False)
class TerAlignment:
    """Columns (n_tokens,) int32 for the hypothesis tokens: positions inside their texts.

    aligned  the reference word that it equals or is substituted by; -1 if it is inserted
    places   where it stands after the shifts
    """

    aligned: Positions
    places: Positions


def ter_alignment(hypothesis: Tokens, reference: Tokens) -> TerAlignment:
    """The alignment behind `ter(hypothesis, reference)`, with its default limits. Case counts.

    >>> hypothesis = Tokens.from_lists(["this week the saudis denied information".split()])
    >>> reference = Tokens.from_lists(["saudi arabia denied this week information".split()])
    >>> alignment = ter_alignment(hypothesis, reference)
    >>> alignment.aligned.tolist(), alignment.places.tolist()
    ([3, 4, 0, 1, 2, 5], [3, 4, 0, 1, 2, 5])

    Raises ValueError if the two sides have different numbers of texts.
    """
    if len(hypothesis) != len(reference):
        raise ValueError(f"{len(hypothesis)} hypotheses, but {len(reference)} references")
    left, right = common_ids(hypothesis, reference)
    aligned, places = np.full(len(left), _NONE, np.int32), np.zeros(len(left), np.int32)
    limits = np.array([BEAM_WIDTH, SHIFT_DISTANCE, SHIFT_SIZE, SHIFT_CANDIDATES], np.int64)
    _align_batch(left, hypothesis.offsets, right, reference.offsets, limits, aligned, places)
    return TerAlignment(aligned, places)


@numba.njit(cache=True, nogil=True)
def _align_batch(
    hyp: Any, hyp_at: Any, ref: Any, ref_at: Any, limits: Any, aligned: Any, places: Any
) -> None:
    for k in range(len(hyp_at) - 1):
        left, right = hyp[hyp_at[k] : hyp_at[k + 1]], ref[ref_at[k] : ref_at[k + 1]]
        order = np.arange(len(left))
        if len(left) > 0 and len(right) > 0:
            _, order, back = shifted(left, right, limits)
            _read_path(back, order, aligned[hyp_at[k] : hyp_at[k + 1]])
        for p in range(len(order)):
            places[hyp_at[k] + order[p]] = p


@numba.njit(cache=True, nogil=True)
def _read_path(back: Any, order: Any, aligned: Any) -> None:
    i, j = back.shape[0] - 1, back.shape[1] - 1
    while i > 0 or j > 0:
        operation = back[i, j]
        if operation != INSERTION:
            i -= 1
        if operation != DELETION:
            j -= 1
        if operation != INSERTION and operation != DELETION:
            aligned[order[j]] = i
