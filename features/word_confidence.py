"""Confidence in words and n-grams of a translation by smoothed naive Bayes, learned from post-edits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, Positive
from features.core.extractor import Feature, FittedExtractor
from features.core.resource_files import load_fields, save_fields
from features.core.segments import Segments
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.storage.arrays import finite, typed, within
from features.text.tokens import Tokens, segment_mean
from features.text.unit_ngrams import unit_ngrams
from features.text.vocabulary import UNK, Vocabulary
from features.word_level.labels import post_edit_labels

_PRHLT: Final = "PRHLT-UPV at WMT12, section 2.2; Sanchis et al. 2007"
# Criterion -> when a word of a translation is right.
CRITERIA: Final[Mapping[str, str]] = {
    "levenshtein": "kept by a cheapest edit",
    "position": "at its own place in the post-edit",
    "near": "within two places of its own in the post-edit",
    "any": "anywhere in the post-edit",
}
_NEAR: Final = 2
_EVIDENCE: Final = 3  # kinds of it: IBM Model 1, language model, longest n-gram that the model has
_QUARTILES: Final = (0.25, 0.5, 0.75)

Flags = NDArray[np.bool_]
Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Model:
    """What was counted of training words.

    words      those that were seen
    edges      (kinds of evidence, bins - 1) between the bins of each kind
    seen       (criteria, words + markers, 2) wrong and right occurrences of every word; row 0: of all
    evidence   (criteria, kinds, words + markers, bins, 2) the same by bin
    quartiles  (criteria, 3) of the confidence of training words
    """

    words: Vocabulary
    edges: NDArray[np.float64]
    seen: Longs
    evidence: Longs
    quartiles: NDArray[np.float64]


@dataclass(frozen=True)
class WordConfidence(FittedExtractor):
    """Means of P(right | word, evidence), and shares of words in each quarter of those of training words.

    order      of the n-grams that stand in the place of words; those of 2 or more have it in their names
    bins       of equal size that values of evidence are put into
    smoothing  weight, in occurrences, of what holds for all words against what was counted of the word

    Evidence: the word's probability by IBM Model 1, by the language model, and the longest n-gram that ends
    in it. One classifier for each criterion of when a word is right; the paper's average position is that of
    n-best lists, here words nearby. An n-gram is kept by an edit if all its words are, and stands somewhere
    if it does so as a whole; its evidence is the mean of its words'. Everything is NaN of a translation
    without an n-gram.

    Raises InputError for training rows without a word, or n-gram.
    """

    plain: ClassVar[str] = "words of the translation that look wrong"

    lexicon_source_to_target: Lexicon
    target_lm: LanguageModel
    bins: Count = 10
    smoothing: Positive = 5.0
    order: Count = 1
    _model: _Model | None = field(default=None, init=False, repr=False)

    @property
    def features(self) -> Sequence[Feature]:
        made, units = [], "words" if self.order == 1 else f"{self.order}-grams"
        for name, right in CRITERIA.items():
            what = f"confidence that {units} are {right}"
            stem = f"word_confidence_{name}" if self.order == 1 else f"word_confidence_{self.order}_{name}"
            made.append(Feature(f"{stem}_mean", f"mean {what}", _PRHLT, "probability"))
            made += [
                Feature(f"{stem}_quartile{q}", f"{what}: share in quarter {q}", _PRHLT, "share")
                for q in range(1, 5)
            ]
        return made

    def labels_used(self) -> tuple[str, ...]:
        return ("post_edit",)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        words_of, target = segments.target_tokens.lower(), self._units(segments)
        if not len(target.ids):
            units = "word" if self.order == 1 else f"{self.order}-gram"
            raise InputError(f"no training row has a {units}", where="extractor 'word_confidence'")
        post_edit = segments.target_tokenizer.tokens([str(text) for text in labels["post_edit"]]).lower()
        words, _ = Vocabulary.by_frequency(target.types, target.ids)
        values = self._evidence(segments)
        shares = np.arange(1, self.bins) / self.bins
        edges = np.array([np.quantile(kind, shares) for kind in values]).reshape(_EVIDENCE, -1)
        binned, ids = _binned(values, edges), target.ids_in(words)
        right = np.array(list(_right(words_of, post_edit, self.order)))
        counted = [_counted(ids, binned, flags, len(words), self.bins) for flags in right]
        seen, evidence = (np.stack(parts) for parts in zip(*counted, strict=True))
        confidences = self._confidences(ids, binned, seen, evidence)
        quartiles = np.quantile(confidences, _QUARTILES, axis=1).T
        return self.with_learned(_model=_Model(words, edges, seen, evidence, quartiles))

    def extract(self, segments: Segments) -> FloatArray:
        model, target = self.learned(self._model), self._units(segments)
        binned = _binned(self._evidence(segments), model.edges)
        confidences = self._confidences(target.ids_in(model.words), binned, model.seen, model.evidence)
        columns = []
        for confidence, quartiles in zip(confidences, model.quartiles, strict=True):
            quarter = np.searchsorted(quartiles, confidence, side="right")
            columns.append(segment_mean(confidence, target.offsets))
            columns += [segment_mean(quarter == q, target.offsets) for q in range(4)]
        return np.column_stack(columns)

    def _units(self, segments: Segments) -> Tokens:
        """The words of the translations, or their n-grams."""
        words = segments.target_tokens.lower()
        return words if self.order == 1 else unit_ngrams(words, self.order)

    def _evidence(self, segments: Segments) -> FloatArray:
        """(kinds, n_units); the least number that there is where nothing is known."""
        target = segments.target_tokens
        scores = self.target_lm.score(target)
        translated = self.lexicon_source_to_target.score(segments.source_tokens, target).maximum
        kinds = np.array([translated, scores.token_log10, scores.token_matched], np.float64)
        known = np.nan_to_num(kinds, nan=-1e9, neginf=-1e9)
        return np.asarray(_windows(known, target, self.order).mean(axis=-1))

    def _confidences(self, ids: NDArray[np.int32], binned: Longs, seen: Longs, evidence: Longs) -> FloatArray:
        """(criteria, n_tokens) P(right | word, evidence)."""
        result = np.empty((len(seen), len(ids)))
        for c, (of_words, of_bins) in enumerate(zip(seen, evidence, strict=True)):
            prior = (of_words[0] + 1) / (of_words[0].sum() + 2)
            counts = of_words[ids] + self.smoothing * prior
            logs = np.log(counts / counts.sum(axis=1, keepdims=True))
            for kind, places in zip(of_bins, binned, strict=True):
                general = (kind[0] + 1) / (kind[0].sum(axis=0) + self.bins)  # (bins, 2) P(bin | class)
                own = (kind[ids, places] + self.smoothing * general[places]) / (
                    of_words[ids] + self.smoothing
                )
                logs += np.log(own)
            result[c] = 1 / (1 + np.exp(np.clip(logs[:, 0] - logs[:, 1], -500, 500)))
        return result

    def save(self, path: Path) -> None:
        save_fields(path, self.learned(self._model))

    def restore(self, path: Path) -> Self:
        model = load_fields(path, _Model)
        rows, criteria = len(model.words), len(CRITERIA)
        typed("edges", model.edges, np.float64, _EVIDENCE, self.bins - 1)
        typed("seen", model.seen, np.int64, criteria, rows, 2)
        typed("evidence", model.evidence, np.int64, criteria, _EVIDENCE, rows, self.bins, 2)
        typed("quartiles", model.quartiles, np.float64, criteria, len(_QUARTILES))
        for name in ("seen", "evidence"):
            within(name, getattr(model, name), 0, 2**40)
        for name in ("edges", "quartiles"):
            finite(name, getattr(model, name))
        return self.with_learned(_model=model)


def _binned(values: FloatArray, edges: FloatArray) -> Longs:
    """(kinds, n_tokens) the bin of every value."""
    pairs = zip(values, edges, strict=True)
    return np.array([np.searchsorted(e, v, side="right") for v, e in pairs], np.int64).reshape(values.shape)


def _counted(
    ids: NDArray[np.int32], binned: Longs, right: Flags, words: int, bins: int
) -> tuple[Longs, Longs]:
    """(words, 2) occurrences, (kinds, words, bins, 2) the same by bin; row 0 holds the sums."""
    classes = right.astype(np.int64)
    seen, evidence = np.zeros((words, 2), np.int64), np.zeros((len(binned), words, bins, 2), np.int64)
    for rows in (ids, np.full_like(ids, UNK)):
        np.add.at(seen, (rows, classes), 1)
        for kind, places in zip(evidence, binned, strict=True):
            np.add.at(kind, (rows, places, classes), 1)
    return seen, evidence


def _windows(values: NDArray[Any], tokens: Tokens, order: int) -> NDArray[Any]:
    """(..., n_units, order) of (..., n_tokens): the values of the tokens of every n-gram.

    >>> _windows(np.array([1, 2, 3, 4]), Tokens.from_lists([["a", "b", "c"], ["d"]]), 2).tolist()
    [[1, 2], [2, 3]]
    """
    if values.shape[-1] < order:
        return np.empty((*values.shape[:-1], 0, order), values.dtype)
    first = np.arange(values.shape[-1] - order + 1)
    inside = first + order <= tokens.offsets[1:][tokens.text_index[first]]
    return sliding_window_view(values, order, axis=-1)[..., inside, :]


def _right(target: Tokens, post_edit: Tokens, order: int = 1) -> Iterator[Flags]:
    """(n_units,) by every criterion, whether a word or n-gram is right."""
    kept = _windows(~post_edit_labels(target, post_edit).words, target, order)
    yield np.asarray(kept.all(axis=-1))
    if order > 1:
        target, post_edit = (unit_ngrams(tokens, order) for tokens in (target, post_edit))
    for reach in (0, _NEAR, None):
        yield np.array(
            [
                word in (others if reach is None else others[max(place - reach, 0) : place + reach + 1])
                for i in range(len(target))
                for others in (post_edit.words(i),)
                for place, word in enumerate(target.words(i))
            ],
            bool,
        )
