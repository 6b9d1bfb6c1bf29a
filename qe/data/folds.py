"""Folds of the training rows, and segments that are in both training and evaluation data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import regex
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.segments import Segments
from qe.data.dataset import Split

Rows = NDArray[np.int64]
Fold = tuple[Rows, Rows]  # (training rows, held-out rows)
Scheme = Literal["random", "block", "document", "contiguous", "language_pair"]
GROUPED: Mapping[str, tuple[str, str]] = {  # scheme -> what its groups are, what the segments must have
    "document": ("documents", "document ids"),
    "language_pair": ("language pairs", "language pairs"),
}


def groups_of(segments: Segments, scheme: Scheme) -> Sequence[str] | None:
    """(n,) the language pair of each row, or its document; None if the segments do not say."""
    return segments.language_pair if scheme == "language_pair" else segments.doc_id


def make_folds(
    n: int,
    folds: int,
    *,
    seed: int = 0,
    scheme: Scheme = "random",
    block: int = 31,
    documents: Sequence[str] | None = None,
    classes: FloatArray | None = None,
) -> list[Fold]:
    """`folds` pairs (training rows, held-out rows), each sorted; every row is held out once.

    Raises InputError for fewer segments, blocks or documents than folds, or where documents are needed and
    unknown.

    Parameters
    ----------
    scheme : {'random', 'block', 'document', 'contiguous', 'language_pair'}, default='random'
        `random`: as scikit-learn's KFold(shuffle=True, random_state=seed); `block`: contiguous blocks,
        distributed to the folds at random, so that neighbours (the same document) stay together; `document`:
        all rows of a document together; `language_pair`: all rows of a pair; `contiguous`: one stretch of
        neighbours for each fold, as scikit-learn's KFold without shuffling, for every seed.
    block : int, default=31
        Rows of a block.
    documents : sequence of str or None, default=None
        (n,) the document, or with `language_pair` the pair, of each row: `groups_of`.
    classes : array of float or None, default=None
        (n,) labels of two classes, which every fold then has in their shares, as far as documents allow
        (not of blocks).

    Examples
    --------
    >>> [test.tolist() for _, test in make_folds(6, 3, scheme="block", block=2, seed=1)]
    [[0, 1], [2, 3], [4, 5]]
    """
    if folds < 2:
        raise InputError(f"at least 2 folds are needed, but got {folds}", location="split.folds")
    if scheme in GROUPED:
        noun, names = GROUPED[scheme]
        if documents is None:
            raise InputError(
                f"the segments have no {names}", location="split.by", remedy="use by: block or by: random"
            )
        groups = np.unique(np.asarray(documents, dtype=object).astype(str), return_inverse=True)[1]
    elif scheme == "block":
        groups = np.arange(n) // block
        noun = f"blocks of {block} segments"
    else:
        groups = np.arange(n)
        noun = "segments"
    units = int(groups.max()) + 1 if n else 0
    if units < folds:
        raise InputError(
            f"{folds} folds need at least {folds} {noun}, but there are {units}", location="split.folds"
        )
    if scheme != "block":
        from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

        shuffle = scheme != "contiguous"
        classes = classes if shuffle else None
        stratified = classes is not None and np.unique(classes, return_counts=True)[1].min() >= folds
        kinds = (GroupKFold, StratifiedGroupKFold) if scheme in GROUPED else (KFold, StratifiedKFold)
        splitter: Any = kinds[int(stratified)](folds, shuffle=shuffle, random_state=seed if shuffle else None)
        parts = splitter.split(groups, classes, groups if scheme in GROUPED else None)
        held_out = [test for _, test in parts]
    else:
        order = np.random.default_rng(seed).permutation(units)
        held_out = [np.flatnonzero(np.isin(groups, order[i::folds])) for i in range(folds)]
    return [(np.setdiff1d(np.arange(n), test), np.sort(test)) for test in held_out]


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
    overlapping = {}
    for earlier, later in combinations(found, 2):
        known = {what: set(column) for what, column in found[earlier].items()}
        shared = {what: sum(key in known[what] for key in column) for what, column in found[later].items()}
        if any(shared.values()):
            overlapping[later, earlier] = shared
    return overlapping


def leaks(training: Split, judged: Mapping[str, Split], folds: Sequence[Fold]) -> tuple[str, ...]:
    """Warnings on pairs in both training and evaluation data, one sentence each."""
    own = keys(training)["pair"]
    known = set(own)
    counts = {name: sum(key in known for key in keys(split)["pair"]) for name, split in judged.items()}
    warnings = [
        f"{count:,} of the {len(judged[name]):,} pairs of '{name}' are training rows, too (equal source and "
        "target, up to case, punctuation and blanks): its figures are partly of what was learned"
        for name, count in counts.items()
        if count
    ]
    repetitions = Counter(own)
    repeated = np.array([repetitions[pair] > 1 for pair in own], bool)
    leaked: set[int] = set()
    for train, held_out in folds:
        learned = {own[row] for row in train[repeated[train]].tolist()}
        leaked |= {row for row in held_out[repeated[held_out]].tolist() if own[row] in learned}
    if leaked:
        warnings.append(
            f"{len(leaked):,} of the {len(own):,} training rows have an equal pair in another fold: what "
            "cross-validation finds is partly of what was learned; leave repetitions out, or keep them in "
            "one fold (split: {by: document}, or block)"
        )
    return tuple(warnings)
