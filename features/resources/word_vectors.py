"""WordVectors: vectors and classes of frequent words, from their neighbours."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from features.basics.hints import Count, Seed
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.resources.ngrams import NgramCounts
from features.storage.compact import unpacked
from features.storage.damage import typed
from features.text.corpus import ParallelCorpus
from features.text.tokens import MARKERS, Tokens, Vocabulary

Singles = NDArray[np.float32]
Ids = NDArray[np.int32]

_SMOOTHING = 0.75  # of context frequencies (Levy et al. 2015, section 3.1)


@dataclass(frozen=True, kw_only=True)
class WordVectorsBuilder(Builder):
    """From bigram counts: of the `words` most frequent words next to the `contexts` most frequent ones."""

    ngrams: NgramCounts
    words: Count = 40_000
    contexts: Count = 1_500
    dimensions: Count = 48
    classes: Count = 50
    seed: Seed = 0

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "WordVectors":
        progress("word vectors", 0, 1)
        vocabulary = Vocabulary(self.ngrams.vocabulary.words[len(MARKERS) :][: self.words])
        beside = _neighbour_counts(self.ngrams, len(vocabulary), self.contexts)
        vectors = _vectors(beside, self.dimensions, self.seed)
        return WordVectors(
            vocabulary,
            vectors,
            _classes(vectors, self.classes, self.seed),
            settings=self.settings,
            corpus_fingerprint=corpus.fingerprint,
        )


@dataclass(frozen=True, eq=False)
class WordVectors(Resource):
    """Truncated SVD of the positive pointwise mutual information of words and contexts. The contexts of a
    word are its two neighbours. Row i belongs to word i of `vocabulary`, by falling frequency; words beyond,
    and those never seen next to a frequent one, are 0.

    vectors  (words, dimensions) of length 1, or 0
    classes  (words,) from 1: k-means of the vectors; 0 where the vector is 0

    Source: Levy, Goldberg and Dagan 2015, sections 2.2 and 3; left and right neighbours kept apart as in
    Schütze 1995.
    """

    parts: ClassVar[Parts] = {
        "source_vectors": {"ngrams": "source_ngrams"},
        "target_vectors": {"ngrams": "target_ngrams"},
    }
    builder = WordVectorsBuilder

    vocabulary: Vocabulary
    vectors: Singles
    classes: Ids

    def ids(self, tokens: Tokens) -> Ids:
        """Row (n_tokens,) of every token, letters alike; 0 for words without one."""
        return tokens.lower().ids_in(self.vocabulary)

    def check_arrays(self) -> None:
        typed("vectors", self.vectors, np.float32, len(self.vocabulary), None)
        typed("classes", self.classes, np.int32, len(self.vocabulary))


def _neighbour_counts(ngrams: NgramCounts, words: int, contexts: int) -> Any:
    nodes = ngrams.trie.nodes(2)
    second = unpacked(ngrams.trie.words, nodes.start, nodes.stop)
    unigrams = ngrams.trie.sizes[0]
    begins = unpacked(ngrams.trie.first, 0, unigrams + 1).astype(np.int64)
    first = np.repeat(np.arange(unigrams), begins[1:] - begins[:-1])
    counts = unpacked(ngrams.occurrences, nodes.start, nodes.stop).astype(np.float64)
    right, left = (first < words) & (second < contexts), (second < words) & (first < contexts)
    shape = words, contexts
    return sparse.hstack(
        [
            sparse.coo_matrix((counts[right], (first[right], second[right])), shape=shape),
            sparse.coo_matrix((counts[left], (second[left], first[left])), shape=shape),
        ]
    ).tocoo()


def _vectors(counts: Any, dimensions: int, seed: int) -> Singles:
    from sklearn.utils.extmath import randomized_svd

    rows = np.asarray(counts.sum(axis=1)).ravel()
    columns = np.asarray(counts.sum(axis=0)).ravel() ** _SMOOTHING
    share = columns / max(columns.sum(), 1.0)
    information = np.log(counts.data / (rows[counts.row] * share[counts.col]))
    positive = sparse.csr_matrix((np.maximum(information, 0), (counts.row, counts.col)), shape=counts.shape)
    left, strength, _ = randomized_svd(
        positive, min(dimensions, min(counts.shape)), random_state=seed, n_iter=3
    )
    vectors = left * np.sqrt(strength)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(length > 1e-9, vectors / np.maximum(length, 1e-9), 0.0).astype(np.float32)


def _classes(vectors: Singles, classes: int, seed: int) -> Ids:
    from sklearn.cluster import MiniBatchKMeans

    filled = np.flatnonzero(vectors.any(axis=1))
    result = np.zeros(len(vectors), np.int32)
    if len(filled) < 2:
        return result
    frequent = filled[: max(len(filled) // 2, 2)]
    number = min(classes, len(frequent))
    model = MiniBatchKMeans(number, random_state=seed, n_init=1, batch_size=4096).fit(vectors[frequent])
    result[filled] = model.predict(vectors[filled]) + 1
    return result
