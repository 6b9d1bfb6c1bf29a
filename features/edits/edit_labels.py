"""Edit labels: edits of every word between a translation and its post-edit, counted by category."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.edits.edit_alignment import Positions, WordOrder, edit_alignment, reversed_alignment, word_order
from features.edits.ter import common_ids
from features.text.annotation import ADJECTIVE, DETERMINER, NOUN, PUNCTUATION, UNKNOWN, VERB
from features.text.tokens import Tokens, ratio

EDITS = ("match", "form_changed", "word_changed", "pos_changed", "deleted", "inserted")
MATCH, FORM_CHANGED, WORD_CHANGED, POS_CHANGED, DELETED, INSERTED = range(len(EDITS))

Labels = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class EditLabels:
    """The words of n translations (`target`) and of the texts they became (`post_edit`).

    target, post_edit  (n_words,) label of every word, an index into EDITS
    partners           (n_words,) position in the post-edit of every target word's partner; -1: none
    target_offsets, post_edit_offsets  (n + 1,) where texts begin
    """

    target: Labels
    post_edit: Labels
    partners: Positions
    target_offsets: NDArray[np.int64]
    post_edit_offsets: NDArray[np.int64]

    @cached_property
    def post_edit_partners(self) -> Positions:
        return reversed_alignment(self.partners, self.target_offsets, self.post_edit_offsets)

    @cached_property
    def target_order(self) -> WordOrder:
        return word_order(self.partners, self.target_offsets)

    @cached_property
    def post_edit_order(self) -> WordOrder:
        rows = np.flatnonzero(self.partner_rows >= 0)
        spread = WordOrder(*(np.zeros(len(self.post_edit), np.int32) for _ in range(2)))
        spread.distances[rows] = self.target_order.distances[self.partner_rows[rows]]
        spread.group_sizes[rows] = self.target_order.group_sizes[self.partner_rows[rows]]
        return spread

    @cached_property
    def partner_rows(self) -> NDArray[np.int64]:
        text = np.repeat(np.arange(len(self.target_offsets) - 1), np.diff(self.post_edit_offsets))
        partners = self.post_edit_partners
        return np.where(partners >= 0, self.target_offsets[text] + partners, -1)


def edit_labels(
    words: tuple[Tokens, Tokens],
    lemmas: tuple[Tokens, Tokens],
    classes: tuple[Tokens, Tokens] | None = None,
) -> EditLabels:
    """Labels the words of n translations and post-edits, aligned by `edit_alignment`.

    A pair is a match if the words are equal, a changed form if only their lemmas are, or the words but for
    case; a changed part of speech if their word classes are known and differ, and else a changed word. Target
    words without partner are deleted, those of the post-edit inserted. Case does not count in lemmas.

    Source: Koponen 2012, section 3.

    Raises ValueError for sides of different length.
    """
    partners = edit_alignment(words, lemmas, classes)
    labels = EditLabels(
        np.full(len(words[0].ids), DELETED, np.uint8),
        np.full(len(words[1].ids), INSERTED, np.uint8),
        partners,
        words[0].offsets,
        words[1].offsets,
    )
    ref_rows = np.flatnonzero(labels.partner_rows >= 0)
    hyp_rows = labels.partner_rows[ref_rows]
    edits = np.full(len(hyp_rows), WORD_CHANGED, np.uint8)
    if classes is not None:
        edits[_differ(classes, hyp_rows, ref_rows)] = POS_CHANGED
    for sides in (lemmas, words):
        edits[_equal((sides[0].lower(), sides[1].lower()), hyp_rows, ref_rows)] = FORM_CHANGED
    edits[_equal(words, hyp_rows, ref_rows)] = MATCH
    labels.target[hyp_rows] = labels.post_edit[ref_rows] = edits
    return labels


def _equal(
    sides: tuple[Tokens, Tokens], hyp_rows: NDArray[np.int64], ref_rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    ids = common_ids(*sides)
    return np.asarray(ids[0][hyp_rows] == ids[1][ref_rows])


def _differ(
    classes: tuple[Tokens, Tokens], hyp_rows: NDArray[np.int64], ref_rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    known = [
        np.array([name != UNKNOWN for name in side.types], bool)[side.ids[rows]]
        for side, rows in zip(classes, (hyp_rows, ref_rows), strict=True)
    ]
    return np.asarray(~_equal(classes, hyp_rows, ref_rows) & known[0] & known[1])


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
        """Shares (7, 11) of some segments together: by word class, last all classes.

        Edits are per word (pairs, deleted, inserted), orders per pair; NaN if there is none.
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
    """Counts the words of n segments, by word class of the post-edit, or of the translation if deleted."""
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
    """Index (n_words,) into WORD_CLASSES of words given by class; `other` for other classes."""
    by_type = [WORD_CLASSES.index(name if name in WORD_CLASSES else OTHER) for name in classes.types]
    return np.array(by_type, np.int64)[classes.ids]


def _shares(counts: Counts) -> FloatArray:
    edits, orders = counts[:, : len(EDITS)], counts[:, len(EDITS) :]
    pairs = orders[:, :3].sum(axis=1, keepdims=True)  # kept, or moved in one of two ways
    return np.hstack([ratio(edits, edits.sum(axis=1, keepdims=True)), ratio(orders, pairs)])
