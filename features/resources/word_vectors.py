"""WordVectors: vectors and classes of frequent words, from the words beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from features.core.corpus import ParallelCorpus
from features.core.progress import Progress, silent
from features.core.resource import Resource, load_arrays, save_arrays
from features.core.tokens import Tokens
from features.core.vocabulary import MARKERS, Vocabulary
from features.resources.ngrams import NgramCounts

Singles = NDArray[np.float32]
Ids = NDArray[np.int32]

_SMOOTHING = 0.75  # of context frequencies (Levy et al. 2015, section 3.1)


@dataclass(frozen=True, eq=False)
class WordVectors(Resource):
    """Truncated SVD of the positive pointwise mutual information of words and their two neighbours.

    Row i belongs to word i of `vocabulary`, by falling frequency; words beyond, and those never seen beside
    a frequent one, are 0.

    vectors  (words, dimensions) of length 1, or 0
    classes  (words,) from 1: k-means of the vectors; 0 where the vector is 0

    Source: Levy, Goldberg and Dagan 2015, sections 2.2 and 3; left and right neighbours kept apart as in
    Schütze 1995.
    """

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "source_vectors": {"ngrams": "source_ngrams"},
        "target_vectors": {"ngrams": "target_ngrams"},
    }

    vocabulary: Vocabulary
    vectors: Singles
    classes: Ids
    settings: Mapping[str, Any]
    corpus_fingerprint: str

    @classmethod
    def build(  # type: ignore[override]
        cls,
        corpus: ParallelCorpus,
        ngrams: NgramCounts,
        *,
        words: int = 40_000,
        contexts: int = 1_500,
        dimensions: int = 48,
        classes: int = 50,
        seed: int = 0,
        progress: Progress = silent,
    ) -> Self:
        """From bigram counts: the most frequent `words`, beside the most frequent `contexts`."""
        progress("word vectors", 0, 1)
        settings = {
            "words": words,
            "contexts": contexts,
            "dimensions": dimensions,
            "classes": classes,
            "seed": seed,
            "ngrams": ngrams.fingerprint,
        }
        vocabulary = Vocabulary(ngrams.vocabulary.words[len(MARKERS) :][:words])
        vectors = _vectors(_beside(ngrams, len(vocabulary), contexts), dimensions, seed)
        found = _classes(vectors, classes, seed)
        return cls(vocabulary, vectors, found, settings, corpus.fingerprint)

    def ids(self, tokens: Tokens) -> Ids:
        """(n_tokens,) row of every token, letters alike; 0 for words without one."""
        return tokens.lower().ids_in(self.vocabulary)

    def save(self, path: Path) -> None:
        self.vocabulary.save(path / "vocabulary.txt")
        meta = {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint}
        save_arrays(path, meta, vectors=self.vectors, classes=self.classes)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = load_arrays(path)
        return cls(Vocabulary.load(path / "vocabulary.txt"), arrays["vectors"], arrays["classes"], **meta)


def _beside(ngrams: NgramCounts, words: int, contexts: int) -> Any:
    """(words, 2 contexts) how often each word has each context word to its right, to its left."""
    nodes = ngrams.trie.nodes(2)
    second = np.asarray(ngrams.trie.words[nodes])
    unigrams = ngrams.trie.sizes[0]
    begins = np.asarray(ngrams.trie.first[: unigrams + 1], np.int64)
    first = np.repeat(np.arange(unigrams), begins[1:] - begins[:-1])
    counts = np.asarray(ngrams.occurrences[nodes], np.float64)
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
    """k-means on the more frequent half of the words, so that names do not take the classes."""
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
