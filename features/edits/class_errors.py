# mypy: allow-untyped-decorators
"""Class errors of words as in Hjerson: inflection, reordering, missing, extra and lexical errors."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.edits.ter import common_ids
from features.text.tokens import Tokens, ratio

Labels = NDArray[np.uint8]
Counts = NDArray[np.int64]

CLASSES = ("inflection", "reordering", "missing", "extra", "lexical")
# Label 0 is a correct word; label k + 1 is CLASSES[k].
_RIGHT, _INFLECTION, _REORDERING, _MISSING, _EXTRA, _LEXICAL = range(6)
_MATCH, _SUBSTITUTION, _DELETION, _INSERTION = range(4)
_UNMATCHED, _SAME_WORD, _SAME_BASE = range(3)

# Table 2 of the source, columns rank>= x->en and en->x: word level, then block level, each as CLASSES.
_INTO_ENGLISH = (46.2, 53.8, 26.3, 42.7, 86.0, 47.9, 78.3, 21.1, 36.8, 79.5)
_FROM_ENGLISH = (71.7, 51.1, 54.4, 12.2, 58.3, 75.6, 60.0, 53.9, 10.0, 62.8)


@dataclass(frozen=True, eq=False)
class ClassErrors:
    """Label of each word of n hypotheses and references: 0 correct, k + 1 for CLASSES[k].

    Missing words are labelled in references only, extra words in hypotheses only.
    """

    hypothesis: Labels
    hypothesis_offsets: NDArray[np.int64]
    reference: Labels
    reference_offsets: NDArray[np.int64]

    @cached_property
    def hypothesis_lengths(self) -> Counts:
        return np.diff(self.hypothesis_offsets)

    @cached_property
    def reference_lengths(self) -> Counts:
        return np.diff(self.reference_offsets)

    def counts(self, side: str) -> Counts:
        """Wrong words (n, 5) of each class on the side `hypothesis` or `reference`."""
        return self._count(side, blocks=False)

    def blocks(self, side: str) -> Counts:
        """Groups (n, 5) of consecutive words of the same class."""
        return self._count(side, blocks=True)

    def _count(self, side: str, blocks: bool) -> Counts:
        if side not in ("hypothesis", "reference"):
            raise ValueError(f"side must be 'hypothesis' or 'reference', but got {side!r}")
        return np.asarray(_count(getattr(self, side), getattr(self, f"{side}_offsets"), blocks))

    def rates(self) -> FloatArray:
        """Errors per word (n, 10): INFER, RER, MISER, EXTER, LEXER, then the same in blocks.

        Missing words are per reference word, the others per hypothesis word; NaN if that side is empty.
        Source: Popovic 2012, "Class error rates for evaluation of machine translation output", 2.1.
        """
        return ratio(*self._rate_counts())

    def corpus_rates(self) -> FloatArray:
        return ratio(*(counts.sum(axis=0) for counts in self._rate_counts()))

    def _rate_counts(self) -> tuple[Counts, Counts]:
        """Errors (n, 10), and words (n, 10) that they are divided by."""
        is_missing = np.array([name == "missing" for name in CLASSES] * 2)
        errors = [np.hstack([self.counts(side), self.blocks(side)]) for side in ("hypothesis", "reference")]
        lengths = self.hypothesis_lengths[:, None], self.reference_lengths[:, None]
        return np.where(is_missing, errors[1], errors[0]), np.where(is_missing, lengths[1], lengths[0])


def reordering_alone(values: NDArray[Any]) -> FloatArray:
    # Counts or rates (..., 5 or 10) in a language without base forms: NaN for all other classes.
    is_known = np.array([name == "reordering" for name in CLASSES] * (values.shape[-1] // len(CLASSES)))
    return np.where(is_known, values, np.nan)


SUMS = ("wsumer", "bsumer", "wbsumer", "xensumer", "enxsumer")


def rate_sums(rates: FloatArray) -> FloatArray:
    """WSumER, BSumER, WBSumER, XENSumER, ENXSumER (n, 5) from (n, 10) rates; NaN if a rate is.

    The sum of the word rates, of the block rates, their mean; then the linear interpolations of all ten, with
    weights proportional to the rank>= values of Table 2 for translation into English and from English.
    Source: Popovic 2012, 2.2 and 3.3.
    """
    words, blocks = rates[:, :5].sum(axis=1), rates[:, 5:].sum(axis=1)
    # Not a matrix product: BLAS adds up in an order that depends on the number of rows.
    directed = [(rates * (np.array(w) / np.sum(w))).sum(axis=1) for w in (_INTO_ENGLISH, _FROM_ENGLISH)]
    return np.column_stack([words, blocks, (words + blocks) / 2, *directed])


def class_errors(
    hypothesis: Tokens, hypothesis_base: Tokens, reference: Tokens, reference_base: Tokens
) -> ClassErrors:
    """Labels the words of n pairs of texts; the `_base` texts hold the base form of each word.

    A word that is wrong by the edit distance and has its double among the wrong words of the other side is a
    reordering error. Otherwise a word without double anywhere on the other side is an inflection error if its
    base form has one, lexical if the edit distance substitutes it, else missing or extra. Equally good
    alignments: from the end, match or substitution before deletion before insertion. Doubles are paired from
    left to right. Case counts.

    Raises ValueError if the texts differ in number, or base forms and words in length. Source: Popovic 2011,
    "Hjerson: An Open Source Tool for Automatic Error Classification of Machine Translation Output".
    """
    sides = ((hypothesis, hypothesis_base), (reference, reference_base))
    if len(hypothesis) != len(reference) or any((a.offsets != b.offsets).any() for a, b in sides):
        raise ValueError("as many hypotheses as references, and one base form per word, must be given")
    words = common_ids(hypothesis, reference)
    bases = common_ids(hypothesis_base, reference_base)
    labels = [np.zeros(len(ids), np.uint8) for ids in words]
    _label_batch(*words, *bases, hypothesis.offsets, reference.offsets, *labels)
    return ClassErrors(labels[0], hypothesis.offsets, labels[1], reference.offsets)


@numba.njit(cache=True, nogil=True)
def _label_batch(
    hyp: Any, ref: Any, hyp_base: Any, ref_base: Any, hyp_at: Any, ref_at: Any, hyp_out: Any, ref_out: Any
) -> None:
    for k in range(len(hyp_at) - 1):
        h, r = slice(hyp_at[k], hyp_at[k + 1]), slice(ref_at[k], ref_at[k + 1])
        hyp_edit, ref_edit = _edits(hyp[h], ref[r])
        hyp_match, ref_match = np.zeros(len(hyp[h]), np.uint8), np.zeros(len(ref[r]), np.uint8)
        _pair(hyp[h], ref[r], hyp_match, ref_match, _SAME_WORD)
        _pair(hyp_base[h], ref_base[r], hyp_match, ref_match, _SAME_BASE)
        _classify(hyp_edit, hyp_match, _EXTRA, hyp_out[h])
        _classify(ref_edit, ref_match, _MISSING, ref_out[r])
        # Doubles among the wrong words only: those that are right count as taken.
        hyp_moved, ref_moved = (hyp_edit == _MATCH) * _SAME_BASE, (ref_edit == _MATCH) * _SAME_BASE
        _pair(hyp[h], ref[r], hyp_moved, ref_moved, _SAME_WORD)
        hyp_out[h][hyp_moved == _SAME_WORD] = _REORDERING
        ref_out[r][ref_moved == _SAME_WORD] = _REORDERING


@numba.njit(cache=True, nogil=True)
def _pair(hyp: Any, ref: Any, hyp_match: Any, ref_match: Any, mark: int) -> None:
    for i in range(len(ref)):
        if ref_match[i] == _UNMATCHED:
            for j in range(len(hyp)):
                if hyp_match[j] == _UNMATCHED and ref[i] == hyp[j]:
                    ref_match[i] = hyp_match[j] = mark
                    break


@numba.njit(cache=True, nogil=True)
def _classify(edits: Any, matches: Any, unpaired: int, classes: Any) -> None:
    for p in range(len(edits)):
        if matches[p] == _SAME_BASE:
            classes[p] = _INFLECTION
        elif matches[p] == _UNMATCHED and edits[p] == _SUBSTITUTION:
            classes[p] = _LEXICAL
        elif matches[p] == _UNMATCHED and edits[p] != _MATCH:
            classes[p] = unpaired


@numba.njit(cache=True, nogil=True)
def _edits(hyp: Any, ref: Any) -> Any:
    back = np.empty((len(ref) + 1, len(hyp) + 1), np.uint8)
    back[0, :], back[:, 0] = _INSERTION, _DELETION
    above, row = np.arange(len(hyp) + 1), np.empty(len(hyp) + 1, np.int64)
    for i in range(1, len(ref) + 1):
        row[0] = i
        for j in range(1, len(hyp) + 1):
            wrong = ref[i - 1] != hyp[j - 1]
            diagonal = above[j - 1] + wrong
            best = min(diagonal, above[j] + 1, row[j - 1] + 1)
            row[j] = best
            if best == diagonal:
                back[i, j] = _SUBSTITUTION if wrong else _MATCH
            else:
                back[i, j] = _DELETION if best == above[j] + 1 else _INSERTION
        above, row = row, above
    hyp_edit, ref_edit = np.empty(len(hyp), np.uint8), np.empty(len(ref), np.uint8)
    i, j = len(ref), len(hyp)
    while i > 0 or j > 0:
        operation = back[i, j]
        if operation != _INSERTION:
            i -= 1
            ref_edit[i] = operation
        if operation != _DELETION:
            j -= 1
            hyp_edit[j] = operation
    return hyp_edit, ref_edit


@numba.njit(cache=True, nogil=True)
def _count(labels: Any, offsets: Any, blocks: bool) -> Any:
    counts = np.zeros((len(offsets) - 1, 5), np.int64)
    for k in range(len(counts)):
        before = _RIGHT
        for p in range(offsets[k], offsets[k + 1]):
            label = labels[p]
            if label != _RIGHT and not (blocks and label == before):
                counts[k, label - 1] += 1
            before = label
    return counts
