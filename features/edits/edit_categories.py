"""Edit categories by segment and word class: how many words, and what share of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.edits.edit_labels import DELETED, EDITS, EditLabels
from features.text.tokens import Tokens, ratio
from features.text.word_classes import ADJECTIVE, DETERMINER, NOUN, PUNCTUATION, VERB

Counts = NDArray[np.int64]

OTHER = "other"
WORD_CLASSES: Final = (NOUN, VERB, ADJECTIVE, DETERMINER, OTHER, PUNCTUATION)
ORDERS: Final = ("order_same", "moved_group", "moved_alone", "distance_1", "distance_2_or_more")
CATEGORIES: Final = (*EDITS, *ORDERS)
TOKENS = "tokens"
ALL = "all"  # the word classes together


@dataclass(frozen=True, eq=False)
class EditCounts:
    """Words of n segments by word class and category.

    counts     (n, 6, 11) by WORD_CLASSES and CATEGORIES: pairs of words, deleted and inserted words
    post_edit  (n,) words of the post-edit
    """

    counts: Counts
    post_edit: Counts

    def sums(self, rows: Sequence[int] | NDArray[np.int64]) -> FloatArray:
        """(7, 11) shares of some segments together: by word class, last all classes. Edits are per word
        (pairs, deleted, inserted), orders per pair; NaN if there is none.
        """
        counts = self.counts[np.asarray(rows, np.int64)].sum(axis=0)
        return _shares(np.vstack([counts, counts.sum(axis=0)]))

    def table(self) -> pd.DataFrame:
        """One row per segment: `tokens`, then shares as in `sums`: `match`, ..., `noun match`, ...."""
        whole = _shares(self.counts.sum(axis=1))
        columns = {TOKENS: self.post_edit.astype(np.float64)}
        columns |= dict(zip(CATEGORIES, whole.T, strict=True))
        for k, word_class in enumerate(WORD_CLASSES):
            for name, values in zip(CATEGORIES, _shares(self.counts[:, k]).T, strict=True):
                columns[f"{word_class} {name}"] = values
        return pd.DataFrame(columns)


def edit_counts(labels: EditLabels, classes: tuple[Tokens, Tokens]) -> EditCounts:
    """Counts the words of n segments. A pair and an inserted word have the word class that the post-edit
    gives them, a deleted word that of the translation; adverbs, pronouns, numbers, ... and words of unknown
    class are `other`.
    """
    post_edit = np.diff(labels.post_edit_offsets)
    text = np.repeat(np.arange(len(post_edit)), post_edit)
    deleted = np.flatnonzero(labels.target == DELETED)
    target_text = np.repeat(np.arange(len(post_edit)), np.diff(labels.target_offsets))
    groups = [word_groups(side) for side in classes]
    counts = np.zeros((len(post_edit), len(WORD_CLASSES), len(CATEGORIES)), np.int64)
    np.add.at(counts, (text, groups[1], labels.post_edit), 1)
    np.add.at(counts, (target_text[deleted], groups[0][deleted], labels.target[deleted]), 1)
    paired = labels.post_edit_partners >= 0
    distances, sizes = labels.post_edit_order.distances, labels.post_edit_order.group_sizes
    orders = (paired & (distances == 0), sizes > 1, sizes == 1, distances == 1, distances > 1)
    for k, kind in enumerate(orders, start=len(EDITS)):
        words = np.flatnonzero(kind)
        np.add.at(counts, (text[words], groups[1][words], np.full(len(words), k)), 1)
    return EditCounts(counts, post_edit)


def word_groups(classes: Tokens) -> NDArray[np.int64]:
    """(n_words,) index into WORD_CLASSES of words given by class. Classes that it lacks are `other`."""
    by_type = [WORD_CLASSES.index(name if name in WORD_CLASSES else OTHER) for name in classes.types]
    return np.array(by_type, np.int64)[classes.ids]


def _shares(counts: Counts) -> FloatArray:
    edits, orders = counts[:, : len(EDITS)], counts[:, len(EDITS) :]
    pairs = orders[:, :3].sum(axis=1, keepdims=True)  # kept, or moved in one of two ways
    return np.hstack([ratio(edits, edits.sum(axis=1, keepdims=True)), ratio(orders, pairs)])
