"""Edit distances to several references."""

from collections.abc import Hashable, Sequence

import numpy as np

from features.basics.array_types import FloatArray


def least_edits(columns: Sequence[Sequence[Sequence[Hashable]]]) -> FloatArray:
    """(n, 2) edits to the nearest reference, and mean reference length.

    columns[0] holds the translations; the nearest reference needs the fewest edits.
    """
    from rapidfuzz.distance import Levenshtein

    hypotheses, *references = columns
    edits = [
        [Levenshtein.distance(left, right) for left, right in zip(hypotheses, reference, strict=True)]
        for reference in references
    ]
    lengths = np.mean([[len(text) for text in reference] for reference in references], axis=0)
    return np.stack([np.min(edits, axis=0), lengths], axis=1).astype(np.float64)
