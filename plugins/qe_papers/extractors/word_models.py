"""Words by lexical models: triggers, lexicon, predicted words, confidence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, Positive
from features.core.extractor import Extractor, Feature, FittedExtractor
from features.core.resource import load_fields, save_fields
from features.core.segments import Segments
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.word_lexicon import WordLexicon
from features.storage.damage import finite, typed, within
from features.text.ngram_tables import unit_ngrams
from features.text.tokens import Tokens, ratio, segment_max, segment_mean, segment_sum
from features.word_level.labels import post_edit_labels
from qe_papers.families import SIDES
from qe_papers.learned.development_set import EVIDENCE, DevelopmentSet, NaiveBayes, evidence_of
from qe_papers.resources.triggers import Triggers
from qe_papers.resources.word_prediction import WordPrediction

_LORIA = "LORIA at WMT12, section 4, equation 1"


@dataclass(frozen=True)
class TriggerScores(Extractor):
    """Intra-lingual and cross-lingual mutual information of words, counted by token.

    A word has none with itself. Rare and unseen pairs count 0.
    """

    plain: ClassVar[str] = "words that usually go together"

    source_triggers: Triggers
    target_triggers: Triggers
    cross_triggers: Triggers

    @property
    def features(self) -> Sequence[Feature]:
        within = "mean mutual information of each {} word with the others; NaN below two words"
        across = "mean mutual information of each target word with the source words; NaN if a side is empty"
        rows = (*((side, within.format(side)) for side in SIDES), ("cross", across))
        return [Feature(f"triggers_{name}", what, _LORIA, "nats") for name, what in rows]

    def extract(self, segments: Segments) -> FloatArray:
        source, target = segments.source_tokens, segments.target_tokens
        within = self.source_triggers.within(source), self.target_triggers.within(target)
        return np.column_stack([*within, self.cross_triggers.across(target, source)])


_UEDIN = "University of Edinburgh at WMT12, section 3.4"
_UNDEFINED = "words without a classifier do not count; NaN if no word has one"


@dataclass(frozen=True)
class WordLexiconScores(Extractor):
    """Geometric mean and minimum of p(target word | source words), and their logarithms."""

    plain: ClassVar[str] = "whether the words translate each other"

    word_lexicon: WordLexicon

    @property
    def features(self) -> Sequence[Feature]:
        rows = (
            ("mean", "geometric mean of the probabilities", 3, "probability"),
            ("min", "least probability", 4, "probability"),
            ("mean_log10", "mean log10 probability", 3, "log10"),
            ("min_log10", "least log10 probability", 4, "log10"),
        )
        what = f"{{}} of the target words; {_UNDEFINED}"
        return [
            Feature(f"word_lexicon_{name}", what.format(text), f"{_UEDIN}, equation {equation}", unit)
            for name, text, equation, unit in rows
        ]

    def extract(self, segments: Segments) -> FloatArray:
        logs = self.word_lexicon.log_probability(segments.source_tokens, segments.target_tokens)
        values = logs / np.log(10)
        offsets = segments.target_tokens.offsets
        known = np.isfinite(values)
        mean = ratio(segment_sum(np.where(known, values, 0.0), offsets), segment_sum(known, offsets))
        least = -segment_max(np.where(known, -values, -np.inf), offsets)
        least[np.isinf(least)] = np.nan
        return np.column_stack([10**mean, 10**least, mean, least])


_UEDIN_PREDICTION: Final = "Buck 2012 (UEdin), section 3.5"
_KINDS: Final = {"filtered": "kept words", "hashed": "hashed words"}


@dataclass(frozen=True)
class WordPredictionScores(Extractor):
    """NNdist, NNprob+, HNNdist and HNNprob+: distance and mean prediction of two networks.

    Distances are between the predicted and the actual target vector; means are geometric, over predictions
    for the words of the translation. NaN if source or translation has no word known to the network. The
    filtered network uses words from files, as in the paper (`resources: {read: {source_kept_words: FILE,
    target_kept_words: FILE}}`), or the most frequent words of the corpus. Networks are trained on `pairs` of
    the corpus, evenly spaced: 30,000 unless `resources: {settings: {word_prediction_hashed: {pairs: N}}}`
    sets another number.
    """

    plain: ClassVar[str] = "how predictable the words of the translation are"

    word_prediction_filtered: WordPrediction
    word_prediction_hashed: WordPrediction

    @property
    def features(self) -> Sequence[Feature]:
        distance = "Euclidean distance of predicted and observed words, by a network of"
        mean, features = "geometric mean probability of the observed words, by a network of", list[Feature]()
        for kind, of in _KINDS.items():
            stem = f"word_prediction_{kind}"
            features.append(Feature(f"{stem}_distance", f"{distance} {of}", _UEDIN_PREDICTION, "distance"))
            features.append(Feature(f"{stem}_probability", f"{mean} {of}", _UEDIN_PREDICTION, "probability"))
        return features

    def extract(self, segments: Segments) -> FloatArray:
        sides = segments.source_tokens, segments.target_tokens
        scores = [getattr(self, f"word_prediction_{kind}").score(*sides) for kind in _KINDS]
        return np.column_stack([column for pair in scores for column in pair])


_PRHLT: Final = "PRHLT-UPV at WMT12, section 2.2; Sanchis et al. 2007"
# Criterion -> condition of a correct word.
CRITERIA: Final[Mapping[str, str]] = {
    "levenshtein": "kept by a cheapest edit",
    "position": "at its own place in the post-edit",
    "near": "within two positions in the post-edit",
    "any": "anywhere in the post-edit",
}
SMOOTHINGS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # in occurrences; a tuning grid
_FOLDS: Final = 10  # folds of the development set
_NEAR: Final = 2

Corpus = Literal["training", "development"]


@dataclass(frozen=True, kw_only=True)
class _Confidence(Extractor):
    lexicon_source_to_target: Lexicon
    target_lm: LanguageModel
    bins: Count = 10
    order: Count = 1

    def _evidence(self, segments: Segments) -> FloatArray:
        target = segments.target_tokens
        known = evidence_of(self.lexicon_source_to_target, self.target_lm, segments.source_tokens, target)
        return np.asarray(_windows(known, target, self.order).mean(axis=-1))

    def _columns(self, segments: Segments, model: NaiveBayes, smoothing: FloatArray) -> FloatArray:
        units, columns = _units(segments.target_tokens.lower(), self.order), list[FloatArray]()
        confidences = model.confidences(units, self._evidence(segments), smoothing)
        for confidence, quartiles in zip(confidences, model.quartiles, strict=True):
            quarter = np.searchsorted(quartiles, confidence, side="right")
            columns.append(segment_mean(confidence, units.offsets))
            columns += [segment_mean(quarter == q, units.offsets) for q in range(4)]
        return np.column_stack(columns)


@dataclass(frozen=True, kw_only=True)
class WordConfidence(_Confidence, FittedExtractor):
    """Means of P(right|word, evidence), and shares of words by quarter of the training words' probabilities.

    corpus     training data: the training rows (`training`) with their post-edits, or the part
               `development_set`, translated by our own decoder, with references; each criterion's
               `smoothing` is then tuned there in ten folds
    order      order of the n-grams that replace words; orders of 2 or more are part of the names
    bins       number of equal-frequency bins for evidence values
    smoothing  weight, in occurrences, of the statistics of all words relative to those of the word

    Evidence: the word's probability by IBM Model 1 and by the language model, and the longest n-gram that
    ends in it. Each criterion of a correct word has its classifier; the paper's average position in n-best
    lists is replaced by nearby words. An n-gram is kept by an edit if all its words are, and occurs nearby if
    it does so as a whole; its evidence is the mean of its words'. All values are NaN for a translation
    without an n-gram.

    Raises InputError for training rows without a word, or n-gram.
    """

    plain: ClassVar[str] = "words of the translation that look wrong"

    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"corpus": "development"},)

    smoothing: Positive = 5.0
    corpus: Corpus = "training"
    _model: NaiveBayes | None = field(default=None, init=False, repr=False)

    @classmethod
    def for_settings(cls, settings: Mapping[str, Any]) -> type[Extractor]:
        return _OfDevelopmentSet if settings.get("corpus") == "development" else cls

    @property
    def features(self) -> Sequence[Feature]:
        return _features("word_confidence", self.order, "post-edit")

    def labels_used(self) -> tuple[str, ...]:
        return ("post_edit",)

    def fit(self, segments: Segments, labels: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        words = segments.target_tokens.lower()
        units = _units(words, self.order)
        if not len(units.ids):
            what = "word" if self.order == 1 else f"{self.order}-gram"
            raise InputError(f"no training row has a {what}", location="extractor 'word_confidence'")
        post_edit = segments.target_tokenizer.tokens([str(text) for text in labels["post_edit"]]).lower()
        right = np.array(list(_right(words, post_edit, self.order)))
        smoothing = np.full(len(CRITERIA), self.smoothing, np.float64)
        model = NaiveBayes.fit(units, self._evidence(segments), right, self.bins, smoothing)
        return self.with_learned(_model=model)

    def extract(self, segments: Segments) -> FloatArray:
        smoothing = np.full(len(CRITERIA), self.smoothing, np.float64)
        return self._columns(segments, self.learned(self._model), smoothing)

    def save(self, path: Path) -> None:
        save_fields(path, self.learned(self._model))

    def restore(self, path: Path) -> Self:
        model = load_fields(path, NaiveBayes)
        rows, criteria = len(model.words), len(CRITERIA)
        typed("edges", model.edges, np.float64, EVIDENCE, self.bins - 1)
        typed("occurrences", model.occurrences, np.int64, criteria, rows, 2)
        typed("evidence", model.evidence, np.int64, criteria, EVIDENCE, rows, self.bins, 2)
        typed("quartiles", model.quartiles, np.float64, criteria, 3)
        within("occurrences", model.occurrences, 0, 2**40)
        within("evidence", model.evidence, 0, 2**40)
        finite("edges", model.edges)
        finite("quartiles", model.quartiles)
        return self.with_learned(_model=model)


@dataclass(frozen=True, eq=False, kw_only=True)
class _OfDevelopmentSet(_Confidence):
    development_set: DevelopmentSet
    corpus: Corpus = "development"

    @property
    def features(self) -> Sequence[Feature]:
        return _features("word_confidence_development", self.order, "reference")

    def extract(self, segments: Segments) -> FloatArray:
        return self._columns(segments, *self._tuned)

    @cached_property
    def _tuned(self) -> tuple[NaiveBayes, FloatArray]:
        texts = self.development_set
        units = _units(texts.machine, self.order)
        evidence = _windows(texts.evidence, texts.machine, self.order).mean(axis=-1)
        right = np.array(list(_right(texts.machine, texts.reference, self.order)))
        return NaiveBayes.tuned(units, evidence, right, self.bins, SMOOTHINGS, _FOLDS)


def _features(stem: str, order: int, text: str) -> list[Feature]:
    made, units = list[Feature](), "words" if order == 1 else f"{order}-grams"
    for name, right in CRITERIA.items():
        what = f"confidence that {units} are {right.replace('post-edit', text)}"
        own = f"{stem}_{name}" if order == 1 else f"{stem}_{order}_{name}"
        made.append(Feature(f"{own}_mean", f"mean {what}", _PRHLT, "probability"))
        for q in range(1, 5):
            made.append(Feature(f"{own}_quartile{q}", f"{what}: share in quarter {q}", _PRHLT, "share"))
    return made


def _units(words: Tokens, order: int) -> Tokens:
    return words if order == 1 else unit_ngrams(words, order)


def _windows(values: NDArray[Any], tokens: Tokens, order: int) -> NDArray[Any]:
    """Values (..., n_units, order) of the tokens of every n-gram, from (..., n_tokens).

    >>> _windows(np.array([1, 2, 3, 4]), Tokens.from_lists([["a", "b", "c"], ["d"]]), 2).tolist()
    [[1, 2], [2, 3]]
    """
    if values.shape[-1] < order:
        return np.empty((*values.shape[:-1], 0, order), values.dtype)
    first = np.arange(values.shape[-1] - order + 1)
    inside = first + order <= tokens.offsets[1:][tokens.text_index[first]]
    return sliding_window_view(values, order, axis=-1)[..., inside, :]


def _right(target: Tokens, post_edit: Tokens, order: int = 1) -> Iterator[BoolArray]:
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
