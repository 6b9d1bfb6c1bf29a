"""NgramDocuments: number of corpus segments with each n-gram, boundaries included."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numba
import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, NotNegative, mistakes
from features.basics.progress import Progress, silent
from features.basics.threads import even_ranges, side_by_side
from features.core.resource import Builder, Parts, Resource
from features.storage.damage import Damaged, typed, within
from features.text.corpus import ParallelCorpus, Side
from features.text.ngram_tables import (
    Case,
    Ints,
    Offsets,
    Trie,
    cased,
    encode,
    ngram_tables,
    occurrences,
    with_markers,
)
from features.text.tokens import BOS, EOS, UNK, Tokens, Vocabulary


@dataclass(frozen=True, eq=False)
class SkipGrams:
    """The distinct skip-grams of one pattern.

    pattern  1 for a kept word, 0 for a skipped one: `101` is the first and the third of three
    steps    per kept word after the first, the ascending keys (prefix, word); the prefix is the first word's
             id, then the index of its key in the previous step
    """

    pattern: str
    vocabulary: int
    steps: tuple[NDArray[np.int64], ...]

    @classmethod
    def build(cls, trie: Trie, pattern: str) -> Self:
        """Skip-grams of all n-grams of the pattern's length in the trie."""
        vocabulary, columns = trie.sizes[0], list[Ints]()
        for n, mark in enumerate(pattern, start=1):
            if n > 1:
                columns = [np.repeat(column, _children(trie, n - 1)) for column in columns]
            if mark == "1":
                columns.append(trie.words[trie.nodes(n)])
        kept, steps = columns[0].astype(np.int64), []
        for words in columns[1:]:
            keys, kept = np.unique(kept * vocabulary + words, return_inverse=True)
            steps.append(keys)
        return cls(pattern, vocabulary, tuple(steps))

    def occurrences(self, ids: Ints) -> NDArray[np.bool_]:
        """Whether a skip-gram ends at each place (n_places,); ids below 0 never match."""
        size, places = len(self.pattern), len(ids)
        there = np.zeros(places, np.bool_)
        if places < size or not all(map(len, self.steps)):
            return there
        kept_places = [j for j, mark in enumerate(self.pattern) if mark == "1"]
        columns = [ids[j : places - size + 1 + j].astype(np.int64) for j in kept_places]
        known, kept = columns[0] >= 0, columns[0]
        for words, keys in zip(columns[1:], self.steps, strict=True):
            wanted = kept * self.vocabulary + words
            kept = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            known &= (words >= 0) & (keys[kept] == wanted)
        there[size - 1 :] = known
        return there


def _children(trie: Trie, order: int) -> Ints:
    nodes = trie.nodes(order)
    return np.diff(trie.first[nodes.start : nodes.stop + 1])


# Okapi's usual constants (Sparck Jones, Walker and Robertson 2000, section 4); K3 is for the query.
K1, B, K3 = 1.2, 0.75, 7.0
_SMALLEST = 1_000_000  # minimum word pairs per thread


@dataclass(frozen=True, eq=False)
class Padded:
    """Encoded texts with order - 1 boundary marks at both ends of each.

    ids      (n_places,) vocabulary ids; -1 for an unknown word
    offsets  (n + 1,) including the marks
    lengths  (n,) words of each text, without marks
    nodes    per order from 1 on, (n_places,) node of the n-gram that ends at each place, or -1
    """

    ids: Ints
    offsets: Offsets
    lengths: NDArray[np.int64]
    nodes: tuple[Ints, ...]

    @cached_property
    def text(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.lengths)), np.diff(self.offsets))

    @cached_property
    def place(self) -> NDArray[np.int64]:
        return np.arange(len(self.text)) - self.offsets[:-1][self.text]

    def ends(self, order: int, boundaries: bool) -> NDArray[np.bool_]:
        """Whether an n-gram inside the text, or with at least one word inside it, ends at each place."""
        first, length = len(self.nodes) - 1, self.lengths[self.text]
        if boundaries:
            chosen = (self.place >= first) & (self.place < first + length + order - 1) & (length > 0)
        else:
            chosen = (self.place >= first + order - 1) & (self.place < first + length)
        return np.asarray(chosen, np.bool_)


@dataclass(frozen=True, kw_only=True)
class NgramDocumentsBuilder(Builder):
    """Builds from one side of a corpus, with the settings of `NgramDocuments.from_tokens`."""

    side: Side
    order: Count
    case: Case = "lower"
    punctuation: bool = True

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "NgramDocuments":
        made = NgramDocuments.from_tokens(
            corpus.side(self.side), order=self.order, case=self.case, punctuation=self.punctuation,
            progress=progress,
        )  # fmt: skip
        return replace(made, corpus_fingerprint=corpus.fingerprint).with_settings(side=self.side)


@dataclass(frozen=True, eq=False)
class NgramDocuments(Resource):
    """Number of segments with each n-gram, and its occurrences, up to the order built.

    Segments are padded with order - 1 marks at each end, so that every word is in the same number of n-grams
    (TCD at WMT12, section 2.1); n-grams inside a segment are counted as without padding.
    """

    parts: ClassVar[Parts] = {
        "source_ngram_documents": {"side": "source", "order": 5},
        "target_ngram_documents": {"side": "target", "order": 5},
        "source_ngram_documents_true_case": {"side": "source", "order": 4, "case": "true"},
        "target_ngram_documents_true_case": {"side": "target", "order": 4, "case": "true"},
        "source_ngram_documents_no_punctuation": {"side": "source", "order": 4, "punctuation": False},
        "target_ngram_documents_no_punctuation": {"side": "target", "order": 4, "punctuation": False},
    }
    builder = NgramDocumentsBuilder

    vocabulary: Vocabulary = field(repr=False)
    trie: Trie = field(repr=False)
    occurrences: Ints = field(repr=False)
    documents: Ints = field(repr=False)
    _norms: dict[tuple[int, bool], float] = field(default_factory=dict, repr=False)
    _skip_grams: dict[str, SkipGrams] = field(default_factory=dict, repr=False)

    @classmethod
    def from_tokens(
        cls, tokens: Tokens, *, order: int, case: Case = "lower", punctuation: bool = True,
        progress: Progress = silent,
    ) -> Self:  # fmt: skip
        """Counts n-grams of any text; without `punctuation`, tokens without letters and digits are left out.

        Raises InputError for an order below 1 or an unknown case.
        """
        if order < 1:
            raise InputError(f"the order of n-grams must be at least 1, but got {order}")
        text = _normalised(tokens, case, punctuation)
        vocabulary, ids = encode(text)
        padded, offsets = with_markers(ids, np.asarray(text.offsets), times=order - 1)
        tables = []
        for completed, table in enumerate(ngram_tables(padded, offsets, len(vocabulary), order), start=1):
            tables.append(table)
            progress("counting n-grams and their segments", completed, order + 1)
        trie = Trie.from_levels([(table.words, table.first) for table in tables])
        counts = np.concatenate([table.counts for table in tables])
        repeats = side_by_side(
            lambda texts: _repeats(*texts, padded, offsets, trie.words, trie.first, order),
            even_ranges(np.diff(offsets) ** 2, _SMALLEST),
        )
        repeated = np.concatenate([np.empty(0, np.int32), *repeats])
        documents = counts - occurrences(repeated, len(trie.words))
        progress("counting n-grams and their segments", order + 1, order + 1)
        settings = {
            "order": order, "case": case, "punctuation": punctuation, "segments": len(text),
            "mean_length": float(text.lengths.mean()), "ngrams": list(trie.sizes),
        }  # fmt: skip
        return cls(
            vocabulary, trie, counts, documents, settings=settings, corpus_fingerprint=tokens.fingerprint
        )

    @property
    def order(self) -> int:
        return self.trie.order

    @property
    def variant(self) -> str:
        """Suffix of column names, unless text is lower-cased with punctuation."""
        case = "true_case" if self.settings["case"] == "true" else ""
        return "_".join(filter(None, (case, "" if self.settings["punctuation"] else "no_punctuation")))

    def look_up(self, tokens: Tokens) -> Padded:
        """The n-grams of texts, normalised like the corpus."""
        text = _normalised(tokens, self.settings["case"], self.settings["punctuation"])
        ids = text.ids_in(self.vocabulary)
        ids = np.where(ids == UNK, -1, ids).astype(np.int32)  # part of no n-gram
        padded, offsets = with_markers(ids, np.asarray(text.offsets), times=self.order - 1)
        nodes = [padded]
        for _ in range(1, self.order):
            nodes.append(self.trie.extend(nodes[-1], padded, offsets))
        return Padded(padded, offsets, text.lengths, tuple(nodes))

    def idf(self, documents: NDArray[np.int32]) -> FloatArray:
        """ln(1 + (N - n + 1/2) / (n + 1/2)): rare n-grams weigh more, and no weight is negative."""
        segments = self.settings["segments"]
        weights: FloatArray = np.log1p((np.maximum(segments - documents, 0) + 0.5) / (documents + 0.5))
        return weights

    def request_weights(self, nodes: NDArray[np.int64]) -> FloatArray:
        """BM25 weights of the corpus as a query: idf (K3 + 1) f / (K3 + f), with f occurrences."""
        counts = self.occurrences[nodes].astype(np.float64)
        return self.idf(self.documents[nodes]) * (K3 + 1) * counts / (K3 + counts)

    def request_norm(self, order: int, boundaries: bool) -> float:
        """Euclidean length of the corpus's vector of that order (cached)."""
        if (order, boundaries) not in self._norms:
            nodes = np.arange(self.trie.begins[order - 1], self.trie.begins[order])
            if not boundaries:
                marked = np.isin(self.trie.words[self.trie.nodes(1)], (BOS, EOS))
                for n in range(2, order + 1):
                    words = self.trie.words[self.trie.nodes(n)]
                    marked = np.repeat(marked, _children(self.trie, n - 1)) | (words == BOS) | (words == EOS)
                nodes = nodes[~marked]
            weights = self.request_weights(nodes)
            self._norms[order, boundaries] = float(np.sqrt(weights @ weights))
        return self._norms[order, boundaries]

    def skip_grams(self, pattern: str) -> SkipGrams:
        """The corpus's skip-grams of a pattern, at most as long as the order built (cached)."""
        if pattern not in self._skip_grams:
            self._skip_grams[pattern] = SkipGrams.build(self.trie, pattern)
        return self._skip_grams[pattern]

    def check(self, order: int) -> None:
        if not 1 <= order <= self.order:
            raise InputError(
                f"n-grams of order {order} were not counted",
                remedy=f"orders 1 to {self.order} were; build the part with --set PART.order={order} (in an "
                f"experiment, `resources: {{settings: {{PART: {{order: {order}}}}}}}`)",
            )

    def check_arrays(self) -> None:
        self.trie.check_arrays(len(self.vocabulary))
        for name, counts in (("occurrences", self.occurrences), ("documents", self.documents)):
            typed(name, counts, np.int32, self.trie.begins[-1])
            within(name, counts, 0, 2**31)
        for name, hint in (("segments", Annotated[int, Ge(0), Le(2**31 - 1)]), ("mean_length", NotNegative)):
            for _, mistake in mistakes(self.settings[name], hint):
                raise Damaged(f"its setting `{name}` {mistake}")


def _normalised(tokens: Tokens, case: Case, punctuation: bool) -> Tokens:
    text = cased(tokens, case)
    if punctuation or not len(text.types):
        return text
    word = np.array([any(map(str.isalnum, token)) for token in text.types])
    kept = word[text.ids]
    offsets = np.concatenate(([0], np.cumsum(kept)))[text.offsets].astype(np.int64)
    return Tokens(text.types, text.ids[kept], offsets)


@numba.njit(cache=True, nogil=True)
def _repeats(low: int, high: int, ids: Any, offsets: Any, words: Any, first: Any, order: int) -> Any:
    places, n = np.empty(1024, np.int32), 0
    for text in range(low, high):
        begin = offsets[text]
        for j in range(begin + 1, offsets[text + 1]):
            longest = 0
            for i in range(begin, j):
                size = 0
                while size < order and i - size >= begin and ids[i - size] == ids[j - size]:
                    size += 1
                longest = max(longest, size)
            if n + longest > len(places):
                places = np.append(places, np.empty(len(places) + longest, np.int32))
            for size in range(1, longest + 1):
                places[n] = _node(ids[j - size + 1 : j + 1], words, first)
                n += 1
    return places[:n].copy()


@numba.njit(cache=True, nogil=True)
def _node(ngram: Any, words: Any, first: Any) -> Any:
    node = np.int64(ngram[0])
    for word in ngram[1:]:
        node = first[node] + np.searchsorted(words[first[node] : first[node + 1]], word)
    return node
