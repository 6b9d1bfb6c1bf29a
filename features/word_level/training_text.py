"""What the texts of training segments add to token tables: counts of words in contexts, predictors."""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import row_index
from features.core.segments import Segments, translated
from features.resources.aligner import Aligner
from features.storage.damage import Damaged, typed
from features.word_level.columns import Columns, Floats, Longs
from features.word_level.keys import (
    NOTHING,
    Keys,
    gap_sides,
    hashes,
    key_at,
    neighbour_keys,
    neighbours,
    paired,
    places,
    triple_keys,
)
from features.word_level.lookups import aligned_links
from features.word_level.tokens import TokenTable

Parts = NDArray[np.int64]
Counts = NDArray[np.int32]

PARTS = 8  # of the training segments: the counts for those of a part are those of the other parts
_UNSEEN = 1.0  # words in a context that were never seen there count for so many seen ones


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """Contexts, and the words in them; keys ascend.

    contexts, times, highest  (c,), (c, p) words seen in a context, (c, p) the count of the most frequent one
    events, occurrences       (e,) keys of a context with a word, (e, p) how often they were seen

    p is 1 (all training text), or 1 + `PARTS` while learning: all text, and that outside of each part.
    """

    contexts: Keys
    times: Counts
    highest: Counts
    events: Keys
    occurrences: Counts

    @classmethod
    def fit(cls, contexts: Keys, words: Keys, part: Parts) -> "ContextCounts":
        events, first, index = np.unique(paired(contexts, words), return_index=True, return_inverse=True)
        size = len(events)
        inside = np.bincount(index * PARTS + part, minlength=size * PARTS).reshape(size, PARTS)
        total = inside.sum(axis=1, keepdims=True)
        occurrences = np.hstack([total, total - inside]).astype(np.int32)
        distinct, of_event = np.unique(contexts[first], return_inverse=True)
        order = np.argsort(of_event, kind="stable")
        starts = np.searchsorted(of_event[order], np.arange(len(distinct)))
        times, highest = np.zeros((2, len(distinct), PARTS + 1), np.int32)
        if len(distinct):
            times = np.add.reduceat(occurrences[order], starts, axis=0, dtype=np.int32)
            highest = np.maximum.reduceat(occurrences[order], starts, axis=0)
        return cls(distinct, times, highest, events, occurrences)

    def columns(self, contexts: Keys, words: Keys, part: Parts | None = None) -> Floats:
        """Scores (n, 3): log of 1 + times the context was seen, share of the word, best share less that."""
        column = np.zeros(len(contexts), np.int64) if part is None else part + 1
        there, known = places(self.contexts, contexts)
        times, highest = np.zeros((2, len(contexts)))
        times[known] = self.times[there[known], column[known]]
        highest[known] = self.highest[there[known], column[known]]
        event, seen_there = places(self.events, paired(contexts, words))
        occurrences = np.zeros(len(contexts))
        occurrences[seen_there] = self.occurrences[event[seen_there], column[seen_there]]
        return np.column_stack(
            [np.log1p(times), occurrences / (times + _UNSEEN), (highest - occurrences) / (times + _UNSEEN)]
        )

    def learned(self) -> "ContextCounts":
        whole = (
            np.ascontiguousarray(counts[:, :1]) for counts in (self.times, self.highest, self.occurrences)
        )
        times, highest, occurrences = whole
        return ContextCounts(self.contexts, times, highest, self.events, occurrences)

    def save(self, path: Path) -> None:
        path.mkdir()
        for name, array in vars(self.learned()).items():
            np.save(path / f"{name}.npy", array, allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> "ContextCounts":
        names = ("contexts", "times", "highest", "events", "occurrences")
        counts = cls(**{name: np.load(path / f"{name}.npy", allow_pickle=False) for name in names})
        typed("contexts", counts.contexts, np.uint64, None)
        typed("events", counts.events, np.uint64, None)
        typed("times", counts.times, np.int32, len(counts.contexts), 1)
        typed("highest", counts.highest, np.int32, len(counts.contexts), 1)
        typed("occurrences", counts.occurrences, np.int32, len(counts.events), 1)
        return counts


def part_of(segment: Parts, n: int) -> Parts:
    """(n_tokens,) the part of each token's segment, of n: parts are contiguous."""
    return np.asarray(segment * PARTS // max(n, 1), np.int64)


_COLUMNS: Final = ("times", "share", "margin")
_FOLDER: Final = "text"


@dataclass(frozen=True, eq=False)
class TrainingText:
    """Counts of words in contexts, in translations of the other parts of the training segments."""

    counts: Mapping[str, ContextCounts]

    @classmethod
    def fit(
        cls, segments: Segments, labels: Mapping[str, Any], texts: Sequence[str], aligner: Aligner
    ) -> "TrainingText":
        pieces: list[tuple[dict[str, Keys], Keys, Parts]] = []
        for name in texts:
            side = translated(segments, name, tuple(labels[name]))
            target, source = side.target_tokens, side.source_tokens
            best = aligned_links(side, aligner).best
            word, original, offsets = hashes(target), hashes(source), np.asarray(target.offsets)
            aligned = key_at(original, best)
            before, after = (key_at(neighbour_keys(original, source.offsets, by), best) for by in (-1, 1))
            keys = {
                "word": word,
                "source": aligned,
                **neighbours(word, word, aligned, target.offsets),
                "source_before": paired(before, aligned),
                "source_after": paired(aligned, after),
            }
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
    n = len(table.offsets) - 1
    part = part_of(row_index(table.offsets), n) if is_training else None
    gap_part = part_of(row_index(table.gap_offsets), n) if is_training else None
    words: Columns = {}
    for name, keys in contexts(table.word_keys, table.offsets).items():
        values = text.counts[name].columns(keys, table.word_keys["word"], part)
        words |= {f"text_{name}_{what}": values[:, k] for k, what in enumerate(_COLUMNS)}
    left, right = gap_sides(table.word_keys["word"], table.offsets, NOTHING)
    beside_each_other = text.counts["before"].columns(left, right, gap_part)
    apart = text.counts["around"].columns(paired(left, right), left, gap_part)
    gaps = {
        "text_adjacent": beside_each_other[:, 1],
        "text_adjacent_margin": beside_each_other[:, 2],
        "text_left": beside_each_other[:, 0],
        "text_apart": apart[:, 0],
        "text_between": apart[:, 2],
        "text_apart_or_adjacent": apart[:, 0] - beside_each_other[:, 1] * beside_each_other[:, 0],
    }
    return table.with_columns(words, gaps)


def contexts(keys: Mapping[str, Keys], offsets: Longs) -> dict[str, Keys]:
    """name -> (n_tokens,) keys of each word's neighbours, its source word and that word's neighbours."""
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


OPTIONAL: Final = ("annotation_source", "annotation_target", "back_translation", "pseudo_reference")
DECODER: Final = ("subwords", "token_log_probabilities")  # what the system said of its own words
_FILE: Final = "used.json"


def save_used(used: Set[str], path: Path) -> None:
    (path / _FILE).write_text(json.dumps(sorted(used)), "utf-8")


def load_used(path: Path) -> frozenset[str]:
    used = json.loads((path / _FILE).read_text("utf-8"))
    if not isinstance(used, list) or any(name not in OPTIONAL for name in used):
        raise Damaged(f"{_FILE} names columns that are not read; known: {', '.join(OPTIONAL)}")
    return frozenset(used)


@dataclass(frozen=True, eq=False)
class Extension:
    """What a family of words learned in addition: counts in texts; `triples`: keys of three words."""

    triples: bool
    text: TrainingText | None

    @classmethod
    def fit(cls, family: Any, segments: Segments, labels: Mapping[str, Any], aligner: Aligner) -> "Extension":
        """By the settings `texts` and `triples` of a family."""
        texts = tuple(family.texts)
        return cls(family.triples, TrainingText.fit(segments, labels, texts, aligner) if texts else None)

    def extended(self, table: TokenTable, *, is_training: bool) -> TokenTable:
        """The table with more columns; `is_training`: the segments are those learned from."""
        if self.triples:
            keys = {**table.word_keys, **triple_keys(table.word_keys, table.offsets)}
            table = replace(table, word_keys=keys)
        return table if self.text is None else with_text(table, self.text, is_training=is_training)

    def save(self, path: Path) -> None:
        if self.text is not None:
            self.text.save(path)
