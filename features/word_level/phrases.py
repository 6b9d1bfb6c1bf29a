"""Phrase columns: which words of the translation known phrase pairs of the source cover."""

from typing import Any

import numba
import numpy as np

from features.basics.array_types import UNCOUNTED
from features.core.segments import Segments
from features.resources.phrase_table import PhraseTable
from features.text.ngram_tables import child
from features.text.tokens import segment_mean
from features.word_level.columns import Columns, prefixed, shifted, spread

_NAMES = ("target", "source", "pairs", "forward", "backward", "monolingual", "weight")


def phrase_columns(segments: Segments, table: PhraseTable) -> Columns:
    """Phrase pairs whose two sides both occur in the segment, by the target words they cover.

    target       words of the longest target side that covers the word (0: none)
    source       words of the longest source side among the pairs that cover it
    pairs        log of 1 + pairs that cover it
    forward      highest log p(target phrase | source phrase) among them; NaN if there is none
    backward     highest log p(source phrase | target phrase)
    weight       highest log lexical weight per word, of the target given the source
    monolingual  words of the longest phrase of the table that covers it, with any translation
    """
    source, target = segments.source_tokens, segments.target_tokens
    values = np.zeros((len(target.ids), len(_NAMES)))
    values[:, [3, 4, 6]] = -np.inf
    _cover(
        table.phrases(source, "source"), source.offsets, table.phrases(target, "target"), target.offsets,
        table.offsets, table.target, table.forward, table.backward, table.forward_weight, values,
    )  # fmt: skip
    values[np.isinf(values)] = np.nan
    values[:, 2] = np.log1p(values[:, 2])
    columns: Columns = {name: values[:, k] for k, name in enumerate(_NAMES)}
    covered = columns["target"]
    return prefixed(
        "phrase_",
        {
            **columns,
            "target_next": shifted(covered, target.offsets, 1),
            "target_previous": shifted(covered, target.offsets, -1),
            "segment": spread(segment_mean(covered, target.offsets), target.offsets),
        },
    )


@numba.njit(**UNCOUNTED)
def _cover(
    source: Any, source_offsets: Any, target: Any, target_offsets: Any, rows: Any, columns: Any,
    forward: Any, backward: Any, weight: Any, values: Any,
) -> None:  # fmt: skip
    longest = source.shape[1]
    for k in range(len(source_offsets) - 1):
        for j in range(target_offsets[k], target_offsets[k + 1]):
            for n in range(longest):
                phrase = target[j, n]
                if phrase < 0:
                    continue
                for word in range(j, j + n + 1):
                    values[word, 5] = max(values[word, 5], n + 1)
                for i in range(source_offsets[k], source_offsets[k + 1]):
                    for m in range(longest):
                        row = source[i, m]
                        if row < 0:
                            continue
                        entry = child(columns, rows[row], rows[row + 1], phrase)
                        if entry < 0:
                            continue
                        there, back = np.log(forward[entry]), np.log(backward[entry])
                        for word in range(j, j + n + 1):
                            values[word, 0] = max(values[word, 0], n + 1)
                            values[word, 1] = max(values[word, 1], m + 1)
                            values[word, 2] += 1
                            values[word, 3] = max(values[word, 3], there)
                            values[word, 4] = max(values[word, 4], back)
                            values[word, 6] = max(values[word, 6], weight[entry] / (n + 1))
