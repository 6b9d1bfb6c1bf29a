"""TrainingText: words and gaps looked up in training segments' post-edits and references."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from features.core.segments import Segments, translated
from features.resources.aligner import Aligner
from features.word_level.columns import Columns, Longs
from features.word_level.context_counts import ContextCounts, Parts, part_of
from features.word_level.keys import (
    NOTHING,
    Keys,
    gap_sides,
    hashes,
    key_at,
    neighbour_keys,
    neighbours,
    paired,
)
from features.word_level.links import aligned_links
from features.word_level.tokens import TokenTable

_COLUMNS: Final = ("times", "share", "margin")
_FOLDER: Final = "text"


@dataclass(frozen=True, eq=False)
class TrainingText:
    """Counts of words in their contexts, in translations of the training segments. A context is made of a
    word's neighbours, its source word and the neighbours of that; see `contexts`. While learning, a segment
    is looked up in the texts of the other parts of the training segments: never in its own.

    counts  context -> its words
    """

    counts: Mapping[str, ContextCounts]

    @classmethod
    def fit(
        cls, segments: Segments, labels: Mapping[str, Any], texts: Sequence[str], aligner: Aligner
    ) -> "TrainingText":
        pieces: list[tuple[dict[str, Keys], Keys, Parts]] = []
        for name in texts:
            side = translated(segments, name, tuple(labels[name]))
            keys = _keys(side, aligner)
            offsets = np.asarray(side.target_tokens.offsets)
            part = part_of(side.target_tokens.text_index, len(segments))
            pieces.append((contexts(keys, offsets), keys["word"], part))
        words, parts = (np.concatenate([piece[k] for piece in pieces]) for k in (1, 2))
        counts = {
            name: ContextCounts.fit(np.concatenate([piece[0][name] for piece in pieces]), words, parts)
            for name in pieces[0][0]
        }
        return cls(counts)

    def save(self, path: Path) -> None:
        (path / _FOLDER).mkdir()
        for name, counts in self.counts.items():
            counts.save(path / _FOLDER / name)

    @classmethod
    def load(cls, path: Path) -> "TrainingText | None":
        if not (path / _FOLDER).is_dir():
            return None
        folders = {folder.name: folder for folder in (path / _FOLDER).iterdir()}
        return cls({name: ContextCounts.load(folder) for name, folder in folders.items()})


def with_text(table: TokenTable, text: TrainingText, *, is_training: bool) -> TokenTable:
    """The table with the text's columns of its words and gaps. `is_training`: the text belongs to these very
    segments.
    """
    n = len(table.offsets) - 1
    segment = np.repeat(np.arange(n), np.diff(table.offsets))
    part = part_of(segment, n) if is_training else None
    gap_part = part_of(np.repeat(np.arange(n), np.diff(table.gap_offsets)), n) if is_training else None
    words = _word_columns(table, text, part)
    gaps = _gap_columns(table, text, gap_part)
    return table.with_columns(words, gaps)


def contexts(keys: Mapping[str, Keys], offsets: Longs) -> dict[str, Keys]:
    """name -> (n_tokens,) keys of each word's neighbours, and of the source words that it translates.

    keys  `before` and `after`: its neighbours; `source`: the word it is aligned with; `source_before`,
          `source_after`: that with its neighbours in the source
    """
    before, after, source = keys["before"], keys["after"], keys["source"]
    around = paired(before, after)
    return {
        "before": before,
        "two_before": paired(neighbour_keys(before, offsets, -1), before),
        "after": after,
        "two_after": paired(after, neighbour_keys(after, offsets, 1)),
        "around": around,
        "source": source,
        "source_before": keys["source_before"],
        "source_after": keys["source_after"],
        "source_around": paired(keys["source_before"], keys["source_after"]),
        "source_and_before": paired(source, before),
        "source_and_after": paired(source, after),
        "source_and_around": paired(source, around),
    }


def _keys(segments: Segments, aligner: Aligner) -> dict[str, Keys]:
    target, source = segments.target_tokens, segments.source_tokens
    best = aligned_links(segments, aligner).best
    word, original = hashes(target), hashes(source)
    aligned = key_at(original, best)
    return {
        "word": word,
        "source": aligned,
        **neighbours(word, word, aligned, target.offsets),
        "source_before": paired(key_at(neighbour_keys(original, source.offsets, -1), best), aligned),
        "source_after": paired(aligned, key_at(neighbour_keys(original, source.offsets, 1), best)),
    }


def _word_columns(table: TokenTable, text: TrainingText, part: Parts | None) -> Columns:
    columns: Columns = {}
    for name, keys in contexts(table.word_keys, table.offsets).items():
        values = text.counts[name].columns(keys, table.word_keys["word"], part)
        columns |= {f"text_{name}_{what}": values[:, k] for k, what in enumerate(_COLUMNS)}
    return columns


def _gap_columns(table: TokenTable, text: TrainingText, part: Parts | None) -> Columns:
    left, right = gap_sides(table.word_keys["word"], table.offsets, NOTHING)
    beside_each_other = text.counts["before"].columns(left, right, part)
    apart = text.counts["around"].columns(paired(left, right), left, part)
    return {
        "text_adjacent": beside_each_other[:, 1],
        "text_adjacent_margin": beside_each_other[:, 2],
        "text_left": beside_each_other[:, 0],
        "text_apart": apart[:, 0],
        "text_between": apart[:, 2],
        "text_apart_or_adjacent": apart[:, 0] - beside_each_other[:, 1] * beside_each_other[:, 0],
    }
