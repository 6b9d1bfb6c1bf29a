"""Similarity of source and translation: explicit semantic analysis, topics, moved words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.hints import Count, Share
from features.core.extractor import Extractor, Feature
from features.core.segments import Segments
from features.edits.edit_labels import edit_labels
from features.text.stems import base_form_tokens, base_forms
from features.text.tokens import ratio, segment_sum
from qe_papers.families import SIDES
from qe_papers.resources.ngram_documents import K1, B, NgramDocuments, Padded
from qe_papers.resources.topic_model import TopicModel

Within = Literal["corpus", "segment"]
Kind = Literal["okapi", "okapi_segment", "matching"]
Weighting = Literal["one", "frequency", "log_frequency", "inverse_frequency", "idf"]
WEIGHTINGS = get_args(Weighting)

_TCD = "Trinity College Dublin at WMT12, section"
_MEASURES = {
    "okapi": ("cosine of Okapi BM25 vectors of {n}-grams", f"{_TCD} 2.1.1", "cosine"),
    "okapi_segment": (
        "cosine of Okapi BM25 vectors of {n}-grams, in the space of the segment's own",
        f"{_TCD} 2.1.1",
        "cosine",
    ),
    "matching": ("{n}-grams found in the corpus, shorter ones in their place", f"{_TCD} 2.1.2", "share"),
}
_UNITS = {"frequency": "occurrences", "log_frequency": "log10 occurrences"}  # others: the measure's name
_WEIGHTED = {
    "one": "",
    "frequency": ", counted by corpus frequency",
    "log_frequency": ", counted by log10(1 + corpus frequency)",
    "inverse_frequency": ", weighted by inverse corpus frequency",
    "idf": ", weighted by inverse document frequency",
}


@dataclass(frozen=True)
class _Measure:
    kind: Kind
    order: int
    boundaries: bool
    weighting: str = "one"

    def feature(self, prefix: str, side: str) -> Feature:
        description, origin, unit = _MEASURES[self.kind]
        description = f"{description.format(n=self.order)}{_WEIGHTED[self.weighting]}"
        weighting = "" if self.weighting == "one" else self.weighting
        names = prefix, self.kind, str(self.order), "boundary" if self.boundaries else "", weighting
        marks = ", with boundary marks" if self.boundaries else ""
        text, unit = f"{side}: {description}{marks}; NaN without words", _UNITS.get(self.weighting, unit)
        return Feature("_".join(filter(None, names)), text, origin, unit)


@dataclass(frozen=True)
class Similarity(Extractor):
    """Okapi BM25 cosine and multi-level matching against the corpus, on both sides.

    okapi        the corpus is the query, the segment the document; both vectors hold BM25 weights
                 (K1 = 1.2, B = 0.75, K3 = 7) with idf = ln(1 + (N - n + 1/2) / (n + 1/2)). Each n-gram that
                 the corpus lacks is a separate dimension. `okapi_within: segment` compares in the space of
                 the segment's n-grams, in which other n-grams do not lengthen the corpus's vector: this
                 reproduces the paper's table 1, whose measure ranks segments; within the corpus, long
                 segments win.
    matching     mean over the segment's n-grams of the longest order N: 1 (or a weight) if the corpus has
                 the n-gram, else `penalty` times the same mean of its two (N - 1)-grams. For a segment
                 shorter than N, N is its length. Inverse frequency and idf also weight the mean.
    boundaries   n-grams with and without boundary marks at the ends of the segment

    Case and punctuation are those of the resources. Name other resources to change them, such as
    `source_ngram_documents: source_ngram_documents_true_case`.

    Raises InputError for an order that a resource lacks, or an unknown weighting.
    """

    plain: ClassVar[str] = "how much of the {text} is like known texts"

    source_ngram_documents: NgramDocuments
    target_ngram_documents: NgramDocuments
    okapi_orders: Sequence[Count] = (1, 2, 3, 4)
    okapi_within: Within = "corpus"
    matching_orders: Sequence[Count] = (3, 4, 5)
    boundaries: Sequence[bool] = (False, True)
    weightings: Sequence[Weighting] = ("one", "log_frequency", "idf")
    penalty: Share = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for order in (*self.okapi_orders, *self.matching_orders):
            self.source_ngram_documents.check(order)
            self.target_ngram_documents.check(order)

    @property
    def features(self) -> Sequence[Feature]:
        sides = zip(SIDES, (self.source_ngram_documents, self.target_ngram_documents), strict=True)
        return [
            measure.feature("_".join(filter(None, ("similarity", side, documents.variant))), side)
            for side, documents in sides
            for measure in self._measures()
        ]

    def _measures(self) -> Iterator[_Measure]:
        okapi: Kind = "okapi_segment" if self.okapi_within == "segment" else "okapi"
        for order, marks in product(self.okapi_orders, self.boundaries):
            if order > 1 or not marks:  # n-grams of order 1 never cross the end
                yield _Measure(okapi, order, marks)
        for settings in product(self.matching_orders, self.boundaries, self.weightings):
            yield _Measure("matching", *settings)

    def extract(self, segments: Segments) -> FloatArray:
        columns: list[FloatArray] = []
        for documents, tokens in (
            (self.source_ngram_documents, segments.source_tokens),
            (self.target_ngram_documents, segments.target_tokens),
        ):
            compared = _Compared(documents, documents.look_up(tokens))
            for measure in self._measures():
                matching = measure.kind == "matching"
                columns.append(
                    compared.matching(measure, self.penalty) if matching else compared.okapi(measure)
                )
        return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class _Compared:
    documents: NgramDocuments
    padded: Padded

    def okapi(self, measure: _Measure) -> FloatArray:
        order, boundaries = measure.order, measure.boundaries
        there = self.padded.ends(order, boundaries)
        nodes, text = self.padded.nodes[order - 1][there].astype(np.int64), self.padded.text[there]
        seen = nodes >= 0
        size = sum(self.documents.trie.sizes)
        keys, frequency = np.unique(text[seen] * size + nodes[seen], return_counts=True)
        text_of, node = keys // size, keys % size
        idf = self.documents.idf(self.documents.documents[node])
        weights = idf * self._saturated(frequency, text_of)
        unseen = self.documents.idf(np.zeros(1, np.int32)) * self._saturated(1, text[~seen])
        n = len(self.padded.lengths)
        squares = np.bincount(text_of, weights**2, n) + np.bincount(text[~seen], unseen**2, n)
        request = self.documents.request_weights(node)
        product = np.bincount(text_of, weights * request, n)
        if measure.kind == "okapi":
            return ratio(product, np.sqrt(squares) * self.documents.request_norm(order, boundaries))
        norm = np.sqrt(np.bincount(text_of, request**2, n))
        cosine = ratio(product, np.sqrt(squares) * norm)
        return np.where((norm == 0) & (squares > 0), 0.0, cosine)

    def _saturated(self, frequency: NDArray[np.int64] | int, text: NDArray[np.int64]) -> FloatArray:
        relative = self.padded.lengths[text] / self.documents.settings["mean_length"]
        return np.asarray(frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * relative)), np.float64)

    def matching(self, measure: _Measure, penalty: float) -> FloatArray:
        result = np.full(len(self.padded.lengths), np.nan)
        values: FloatArray = np.zeros(len(self.padded.ids))
        for order in range(1, measure.order + 1):
            idf, weights = self._weights(order, measure.weighting)
            lower = penalty * (values + np.concatenate(([0.0], values[:-1]))) / 2 if order > 1 else values
            values = np.where(self.padded.nodes[order - 1] >= 0, idf, lower)
            reached = self.padded.lengths == order if order < measure.order else self.padded.lengths >= order
            if measure.boundaries:
                reached = np.full(len(result), order == measure.order)
            if reached.any():
                there = self.padded.ends(order, measure.boundaries)
                total = segment_sum(np.where(there, values, 0.0), self.padded.offsets)
                scale = segment_sum(np.where(there, weights, 0.0), self.padded.offsets)
                result[reached] = ratio(total, scale)[reached]
        return result

    def _weights(self, order: int, weighting: str) -> tuple[FloatArray, FloatArray]:
        nodes = self.padded.nodes[order - 1]
        seen, ones = nodes >= 0, np.ones(len(nodes))
        frequency = np.where(seen, self.documents.occurrences[nodes], 0)
        if weighting == "frequency":
            return frequency.astype(np.float64), ones
        if weighting == "log_frequency":
            return np.log10(1.0 + frequency), ones
        weights = ones
        if weighting == "inverse_frequency":
            weights = 1.0 / np.maximum(frequency, 1)
        elif weighting == "idf":
            weights = self.documents.idf(np.where(seen, self.documents.documents[nodes], 0))
        return weights, weights


_DCU = "DCU-SYMC at WMT12, section 3.1"


def cosine(first: FloatArray, right: FloatArray) -> FloatArray:
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(right, axis=1)
    return ratio((first * right).sum(axis=1), norms)


def _jensen_shannon(first: FloatArray, right: FloatArray) -> FloatArray:
    middle = (first + right) / 2
    divergences = [(shares * np.log2(shares / middle)).sum(axis=1) for shares in (first, right)]
    return np.asarray((divergences[0] + divergences[1]) / 2)


DISTANCES: tuple[tuple[str, str, str, Callable[[FloatArray, FloatArray], FloatArray]], ...] = (
    ("cosine", "cosine", "cosine", cosine),
    ("manhattan", "Manhattan distance", "share", lambda a, b: np.abs(a - b).sum(axis=1)),
    ("euclidean", "Euclidean distance", "share", lambda a, b: np.linalg.norm(a - b, axis=1)),
    ("jensen_shannon", "Jensen-Shannon divergence", "bits", _jensen_shannon),
)


@dataclass(frozen=True)
class Topics(Extractor):
    """Topic shares of source and target in a bilingual topic model, and distances.

    `topic_model: sampled_topic_model` uses a model trained by Gibbs sampling without stop words, like
    DCU-SYMC. Shares and distances are NaN for a text without words of the model.
    """

    plain: ClassVar[str] = "what the {text} is about"

    topic_model: TopicModel

    @property
    def features(self) -> Sequence[Feature]:
        names = product(SIDES, range(1, self.topic_model.topics + 1))
        shares = [(f"{s}_{k}", f"share of topic {k} in the {s}; NaN without topical words") for s, k in names]
        undefined = "of the topic shares of source and target; NaN if one has no topical words"
        rows = [
            *((*share, "share") for share in shares),
            *((name, f"{what} {undefined}", unit) for name, what, unit, _ in DISTANCES),
        ]
        return [Feature(f"topics_{name}", what, _DCU, unit) for name, what, unit in rows]

    def extract(self, segments: Segments) -> FloatArray:
        source, of_source = self.topic_model.shares(segments.source_tokens, "source")
        target, of_target = self.topic_model.shares(segments.target_tokens, "target")
        distances = np.column_stack([function(source, target) for *_, function in DISTANCES])
        distances[~(of_source & of_target)] = np.nan
        source[~of_source], target[~of_target] = np.nan, np.nan
        return np.hstack([source, target, distances])


_MOVES = {
    "same": "kept their place",
    "alone": "moved alone",
    "group": "moved together with a neighbour",
    "by_1": "moved by one place",
    "further": "moved by two places or more",
}
_ORIGIN = "Koponen 2012, Comparing human perceptions of post-editing effort with post-editing operations, 3"


@dataclass(frozen=True)
class WordMoves(Extractor):
    """Shares of paired target words by their movement in a second translation, which replaces the post-edit.

    Words are paired by `features.edits.edit_labels`, lower-cased; positions count paired words only. Base
    forms come from simplemma for the target language. `error_classes` has the source's other edit categories.

    Raises InputError for a target language without base forms.
    """

    plain: ClassVar[str] = "words that another translation has in another order"

    @property
    def features(self) -> Sequence[Feature]:
        what = "words paired with the pseudo-reference that {}, per paired word; NaN without any"
        return [
            Feature(f"word_moves_{name}", what.format(text), _ORIGIN, "share")
            for name, text in _MOVES.items()
        ]

    def requires(self) -> tuple[str, ...]:
        return ("pseudo_reference",)

    def extract(self, segments: Segments) -> FloatArray:
        language = segments.target_tokenizer.language
        base_forms((), language)  # raises InputError early
        words = segments.target_tokens.lower(), segments.pseudo_reference_tokens.lower()
        lemmas = base_form_tokens(words[0], language), base_form_tokens(words[1], language)
        labels = edit_labels(words, lemmas)
        paired = labels.partners >= 0
        distances, sizes = labels.target_order.distances, labels.target_order.group_sizes
        kinds = (paired & (distances == 0), sizes == 1, sizes > 1, distances == 1, distances > 1)
        offsets = words[0].offsets
        totals = segment_sum(paired, offsets)
        return np.column_stack([ratio(segment_sum(kind, offsets), totals) for kind in kinds])
