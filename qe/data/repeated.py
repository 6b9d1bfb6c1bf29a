"""Repeated segments: figures are too good if a segment is in both training and evaluation data."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import regex

from qe.data.dataset import Split
from qe.data.folds import Fold


def text_key(text: str) -> str:
    """The key of a sentence: letters, marks and digits in lower case; else the text itself."""
    return "".join(regex.findall(r"[\p{L}\p{M}\p{N}]", text.lower())) or text


def keys(split: Split) -> dict[str, list[Any]]:
    source = [text_key(text) for text in split.segments.source]
    target = [text_key(text) for text in split.segments.target]
    return {"source": source, "target": target, "pair": list(zip(source, target, strict=True))}


def overlaps(splits: Mapping[str, Split]) -> dict[tuple[str, str], dict[str, int]]:
    """(later, earlier) split -> how many sources, targets and pairs of the later one the earlier one has."""
    found = {name: keys(split) for name, split in splits.items()}
    counts = {
        (later, earlier): {
            what: _shared(column, found[earlier][what]) for what, column in found[later].items()
        }
        for earlier, later in combinations(found, 2)
    }
    return {names: shared for names, shared in counts.items() if any(shared.values())}


def leaks(training: Split, judged: Mapping[str, Split], folds: Sequence[Fold]) -> tuple[str, ...]:
    """Warnings on pairs in both training and evaluation data, one sentence each."""
    own = keys(training)["pair"]
    counts = {name: _shared(keys(split)["pair"], own) for name, split in judged.items()}
    of_splits = (
        f"{count:,} of the {len(judged[name]):,} pairs of '{name}' are training rows, too (equal source and "
        "target, up to case, punctuation and blanks): its figures are partly of what was learned"
        for name, count in counts.items()
        if count
    )
    return (*of_splits, *_of_folds(own, folds))


def _shared(keys: Sequence[Any], earlier_keys: Sequence[Any]) -> int:
    known = set(earlier_keys)
    return sum(key in known for key in keys)


def _of_folds(pairs: Sequence[Any], folds: Sequence[Fold]) -> Iterator[str]:
    counts = Counter(pairs)
    twice = np.array([counts[pair] > 1 for pair in pairs], bool)
    leaked: set[int] = set()
    for train, held_out in folds:
        learned = {pairs[row] for row in train[twice[train]].tolist()}
        leaked |= {row for row in held_out[twice[held_out]].tolist() if pairs[row] in learned}
    if leaked:
        yield (
            f"{len(leaked):,} of the {len(pairs):,} training rows have an equal pair in another fold: what "
            "cross-validation finds is partly of what was learned; leave repetitions out, or keep them in "
            "one fold (split: {by: document}, or block)"
        )
