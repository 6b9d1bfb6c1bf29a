"""Edit labels: edits of every word between a translation and its post-edit, counted by category."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, row_index
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
from features.text.annotation import ADJECTIVE, DETERMINER, NOUN, PUNCTUATION, UNKNOWN, VERB
from features.text.tokens import Tokens, ratio

Positions = NDArray[np.int32]
_NONE = -1


def edit_alignment(
    words: tuple[Tokens, Tokens],
    lemmas: tuple[Tokens, Tokens],
    classes: tuple[Tokens, Tokens] | None = None,
) -> Positions:
    """Position (n_words,) in the other text of the word that each word of the first side became; -1: none.

    words    the two sides of n pairs of texts, such as translations and post-edits
    lemmas   the base form of every word
    classes  the word class of every word, if known

    1. Equal words are paired; 2. then words with equal base forms. Each time the pair goes first that is
    closest by TER's alignment (after its shifts), then the one furthest left. 3. The rest between two pairs,
    in TER's order, is substituted: if one side has more words there, those of the same word class are paired,
    as many as possible, otherwise the first ones.

    Case does not count. Raises ValueError for sides of different length. Source: Koponen 2012, "Comparing
    human perceptions of post-editing effort with post-editing operations", section 3 (there aligned by
    humans, with the source).

    >>> words = Tokens.from_lists(["la casa blanca".split()]), Tokens.from_lists(["las casas azules".split()])
    >>> lemmas = Tokens.from_lists(["el casa blanco".split()]), Tokens.from_lists(["el casa azul".split()])
    >>> edit_alignment(words, lemmas).tolist()
    [0, 1, 2]
    """
    words, lemmas = (words[0].lower(), words[1].lower()), (lemmas[0].lower(), lemmas[1].lower())
    layers = (words, lemmas) if classes is None else (words, lemmas, classes)
    if any((layer[i].offsets != words[i].offsets).any() for layer in layers for i in (0, 1)):
        raise ValueError("every word must have one lemma and one class")
    ter = ter_alignment(*words)
    ids = [common_ids(*layer) for layer in layers]
    if classes is None:
        ids.append([np.zeros_like(side) for side in ids[0]])
    partners = np.full(len(ids[0][0]), _NONE, np.int32)
    columns = tuple(side for layer in ids for side in layer)
    _align_batch(columns, (words[0].offsets, words[1].offsets), ter.aligned, ter.places, partners)
    return partners


def reversed_alignment(
    partners: Positions, offsets: NDArray[np.int64], second_offsets: NDArray[np.int64]
) -> Positions:
    """The alignment seen from the second side: (n_words,) partners of its words; -1 for none."""
    result = np.full(int(second_offsets[-1]), _NONE, np.int32)
    text = row_index(offsets)
    rows = np.flatnonzero(partners >= 0)
    result[second_offsets[text[rows]] + partners[rows]] = rows - offsets[text[rows]]
    return result


@numba.njit(cache=True, nogil=True)
def _align_batch(columns: Any, offsets: Any, aligned: Any, places: Any, partners: Any) -> None:
    hyp, ref, hyp_lemma, ref_lemma, hyp_class, ref_class = columns
    hyp_at, ref_at = offsets
    for k in range(len(hyp_at) - 1):
        h, r = slice(hyp_at[k], hyp_at[k + 1]), slice(ref_at[k], ref_at[k + 1])
        is_paired = np.zeros(len(ref[r]), np.bool_)
        expected = _expected(aligned[h], places[h])
        _pair_equal(hyp[h], ref[r], expected, partners[h], is_paired)
        _pair_equal(hyp_lemma[h], ref_lemma[r], expected, partners[h], is_paired)
        _substitute(hyp_class[h], ref_class[r], places[h], partners[h], is_paired)


@numba.njit(cache=True, nogil=True)
def _expected(aligned: Any, places: Any) -> Any:
    order = np.argsort(places)
    expected = np.empty(len(aligned), np.int64)
    last = -2  # before the first reference word, which is at 0
    for j in order:
        if aligned[j] >= 0:
            last = 2 * aligned[j]
            expected[j] = last
        else:
            expected[j] = last + 1
    return expected


@numba.njit(cache=True, nogil=True)
def _pair_equal(hyp: Any, ref: Any, expected: Any, partners: Any, is_paired: Any) -> None:
    for j in range(len(hyp)):  # most words are where they are expected
        i = expected[j] // 2
        if partners[j] < 0 and expected[j] == 2 * i and not is_paired[i] and hyp[j] == ref[i]:
            partners[j], is_paired[i] = i, True
    while True:
        best, best_j, best_i = -1, -1, -1
        for j in range(len(hyp)):
            if partners[j] >= 0:
                continue
            for i in range(len(ref)):
                if is_paired[i] or hyp[j] != ref[i]:
                    continue
                distance = abs(expected[j] - 2 * i)
                if best < 0 or distance < best:
                    best, best_j, best_i = distance, j, i
        if best < 0:
            return
        partners[best_j], is_paired[best_i] = best_i, True


@numba.njit(cache=True, nogil=True)
def _substitute(hyp_class: Any, ref_class: Any, places: Any, partners: Any, is_paired: Any) -> None:
    order = np.argsort(places)
    paired = np.array([j for j in order if partners[j] >= 0], np.int64)
    chain = paired[_longest_rise(partners[paired])]
    low_place, low_ref = -1, -1
    for c in range(len(chain) + 1):
        place = places[chain[c]] if c < len(chain) else len(places)
        goal = partners[chain[c]] if c < len(chain) else len(is_paired)
        left = np.array([j for j in order[low_place + 1 : place] if partners[j] < 0], np.int64)
        right = np.array([i for i in range(low_ref + 1, goal) if not is_paired[i]], np.int64)
        low_place, low_ref = place, goal
        if len(left) == 0 or len(right) == 0:
            continue
        if len(left) <= len(right):
            for a, b in enumerate(_best_pairs(hyp_class[left], ref_class[right])):
                partners[left[a]], is_paired[right[b]] = right[b], True
        else:
            for b, a in enumerate(_best_pairs(ref_class[right], hyp_class[left])):
                partners[left[a]], is_paired[right[b]] = right[b], True


@numba.njit(cache=True, nogil=True)
def _longest_rise(values: Any) -> Any:
    n = len(values)
    lengths = np.ones(n, np.int64)  # of the longest rise that starts here
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if values[j] > values[i]:
                lengths[i] = max(lengths[i], lengths[j] + 1)
    kept = np.zeros(n, np.bool_)
    wanted, last = 0 if n == 0 else lengths.max(), -1
    for i in range(n):
        if wanted > 0 and lengths[i] == wanted and (last < 0 or values[i] > values[last]):
            kept[i], last, wanted = True, i, wanted - 1
    return kept


@numba.njit(cache=True, nogil=True)
def _best_pairs(shorter: Any, longer: Any) -> Any:
    k, m = len(shorter), len(longer)
    best = np.zeros((k + 1, m + 1), np.int64)  # equal pairs of few[a:] with many[b:]
    for a in range(k - 1, -1, -1):
        for b in range(m - (k - a), -1, -1):
            best[a, b] = best[a + 1, b + 1] + (shorter[a] == longer[b])
            if m - b > k - a:
                best[a, b] = max(best[a, b], best[a, b + 1])
    chosen = np.empty(k, np.int64)
    b = 0
    for a in range(k):
        while best[a + 1, b + 1] + (shorter[a] == longer[b]) < best[a, b]:
            b += 1
        chosen[a] = b
        b += 1
    return chosen


@dataclass(frozen=True, eq=False)
class WordOrder:
    """Places moved by each left word (n_words,), and size of its group; 0: not moved, or no partner."""

    distances: Positions
    group_sizes: Positions


def word_order(partners: Positions, offsets: NDArray[np.int64]) -> WordOrder:
    """Compares the places of paired words in n pairs of texts.

    partners  (n_words,) position of each left word's partner inside the right text; -1 for none
    offsets   (n + 1,) of the left texts

    Places are counted among paired words only. Words form a group if they are neighbours on both sides, in
    the same order. Source: Koponen 2012, "Comparing human perceptions of post-editing effort with
    post-editing operations", section 3.
    """
    order = WordOrder(np.zeros(len(partners), np.int32), np.zeros(len(partners), np.int32))
    _order_batch(partners, offsets, order.distances, order.group_sizes)
    return order


@numba.njit(cache=True, nogil=True)
def _order_batch(partners: Any, offsets: Any, distances: Any, group_sizes: Any) -> None:
    for k in range(len(offsets) - 1):
        text = slice(offsets[k], offsets[k + 1])
        rows = np.flatnonzero(partners[text] >= 0)
        places = np.argsort(np.argsort(partners[text][rows]))  # on the right side
        distance, size = distances[text], group_sizes[text]
        start = 0
        for x in range(len(rows)):
            if x > 0 and places[x] != places[x - 1] + 1:
                start = x
            distance[rows[x]] = abs(places[x] - x)
            if places[x] != x:
                size[rows[start : x + 1]] = x + 1 - start


@dataclass(frozen=True, eq=False)
class TerAlignment:
    """The reference word (n_tokens,) equal to or substituting each hypothesis word (-1: inserted), and
    its place after the shifts.
    """

    aligned: Positions
    places: Positions


def ter_alignment(hypothesis: Tokens, reference: Tokens) -> TerAlignment:
    """The alignment behind `ter(hypothesis, reference)`, with its default limits; case counts."""
    if len(hypothesis) != len(reference):
        raise ValueError(f"{len(hypothesis)} hypotheses, but {len(reference)} references")
    left, right = common_ids(hypothesis, reference)
    aligned, places = np.full(len(left), _NONE, np.int32), np.zeros(len(left), np.int32)
    limits = np.array([BEAM_WIDTH, SHIFT_DISTANCE, SHIFT_SIZE, SHIFT_CANDIDATES], np.int64)
    _align_ter_batch(left, hypothesis.offsets, right, reference.offsets, limits, aligned, places)
    return TerAlignment(aligned, places)


@numba.njit(cache=True, nogil=True)
def _align_ter_batch(
    hyp: Any, hyp_at: Any, ref: Any, ref_at: Any, limits: Any, aligned: Any, places: Any
) -> None:
    for k in range(len(hyp_at) - 1):
        left, right = hyp[hyp_at[k] : hyp_at[k + 1]], ref[ref_at[k] : ref_at[k + 1]]
        order = np.arange(len(left))
        if len(left) > 0 and len(right) > 0:
            _, order, back = shifted(left, right, limits)
            i, j = len(right), len(left)
            while i > 0 or j > 0:
                operation = back[i, j]
                i -= operation != INSERTION
                j -= operation != DELETION
                if operation != INSERTION and operation != DELETION:
                    aligned[hyp_at[k] + order[j]] = i
        for p in range(len(order)):
            places[hyp_at[k] + order[p]] = p


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
        known = [
            np.array([name != UNKNOWN for name in side.types], bool)[side.ids[rows]]
            for side, rows in zip(classes, (hyp_rows, ref_rows), strict=True)
        ]
        differ = np.asarray(~_equal(classes, hyp_rows, ref_rows) & known[0] & known[1])
        edits[differ] = POS_CHANGED
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
