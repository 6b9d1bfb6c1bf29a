"""TopicModel: bilingual topics; each corpus segment with its translation is a document."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, Longs
from features.basics.errors import InputError
from features.basics.hints import Count, Positive, Seed
from features.basics.progress import Progress, silent
from features.basics.threads import apply_to_each, even_ranges, side_by_side
from features.core.resource import Builder, Parts, Resource
from features.resources.word_lexicon import segments_with
from features.storage.damage import Damaged, typed
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import UNK, Tokens, Vocabulary

Ints = NDArray[np.int32]

_ROUNDS = 50  # maximum updates of a document's topics
_ROWS = 4096  # words per block of expectations in a thread
_CLOSE = 1e-3  # convergence threshold: mean change of a document's topic weights


@dataclass(frozen=True, eq=False)
class Bags:
    """Documents as bags of words; those of document d are ids[offsets[d]:offsets[d + 1]], with counts."""

    ids: Ints
    counts: Ints
    offsets: Longs

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def arrays(self) -> tuple[Ints, Ints, Longs]:
        return self.ids, self.counts, self.offsets


@dataclass(frozen=True)
class LdaSettings:
    """Hyperparameters: topics, Dirichlet priors of documents and topics, learning rate (t + delay)^-decay."""

    topics: int
    alpha: float
    eta: float
    passes: int = 1
    batch: int = 4096
    delay: float = 10.0
    decay: float = 0.7
    seed: int = 0


def train(bags: Bags, vocabulary: int, settings: LdaSettings, report: Callable[[int], None]) -> FloatArray:
    """Variational weights (vocabulary, topics) of words in topics; `report` gets the number of documents."""
    random = np.random.default_rng(settings.seed)
    weights = random.gamma(100.0, 0.01, (vocabulary, settings.topics))
    step, completed = 0, 0
    for _ in range(settings.passes):
        order = random.permutation(len(bags))
        for start in range(0, len(order), settings.batch):
            topics = order[start : start + settings.batch]
            expected = expected_words(weights)
            gathered = np.zeros_like(weights)
            theta, norm = settled(bags, topics, expected, settings.alpha)
            _gather(bags.arrays, topics, theta, norm, gathered)
            rate = (step + settings.delay) ** -settings.decay
            weights = (1 - rate) * weights + rate * (
                settings.eta + len(bags) / len(topics) * gathered * expected
            )
            step, completed = step + 1, completed + len(topics)
            report(completed)
    return weights


def expected_words(weights: FloatArray) -> FloatArray:
    """exp E[log p(word | topic)] (vocabulary, topics)."""
    from scipy.special import psi

    totals = psi(weights.sum(axis=0))
    rows = [slice(low, low + _ROWS) for low in range(0, len(weights), _ROWS)]
    parts = side_by_side(lambda batch: np.exp(psi(weights[batch]) - totals), rows)
    return np.concatenate([np.empty((0, weights.shape[1])), *parts])


def settled(bags: Bags, topics: Longs, expected: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """exp E[log share] (n, topics) of the chosen documents; normaliser of each distinct word."""
    sizes = np.diff(bags.offsets)[topics]
    begins = np.concatenate(([0], np.cumsum(sizes)))
    theta, norm = np.empty((len(topics), expected.shape[1])), np.empty(begins[-1])

    def work(documents: tuple[int, int]) -> None:
        _settle(*documents, bags.arrays, topics, begins, expected, alpha, theta, norm)

    apply_to_each(work, even_ranges(sizes + 1))
    return theta, norm


def infer(bags: Bags, expected: FloatArray, alpha: float) -> FloatArray:
    """Mean topic shares (n, topics) of each document; an empty one has the prior's equal shares."""
    result = np.empty((len(bags), expected.shape[1]))
    _infer_batch(bags.arrays, expected, alpha, result)
    shares: FloatArray = result / result.sum(axis=1, keepdims=True)
    return shares


@numba.njit(cache=True, nogil=True)
def _digamma(x: float) -> float:
    result = 0.0
    while x < 6.0:
        result -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return float(result + np.log(x) - 0.5 / x - series)


@numba.njit(cache=True, nogil=True)
def _document(ids: Any, counts: Any, expected: Any, alpha: float, gamma: Any, theta: Any, norm: Any) -> None:
    topics = len(gamma)
    gamma[:] = alpha + counts.sum() / topics
    update = np.empty(topics)
    for _ in range(_ROUNDS):
        total = _digamma(gamma.sum())
        for k in range(topics):
            theta[k] = np.exp(_digamma(gamma[k]) - total)
        update[:] = 0.0
        for i in range(len(ids)):
            norm[i] = 1e-100
            for k in range(topics):
                norm[i] += theta[k] * expected[ids[i], k]
            share = counts[i] / norm[i]
            for k in range(topics):
                update[k] += share * expected[ids[i], k]
        change = 0.0
        for k in range(topics):
            new = alpha + theta[k] * update[k]
            change += abs(new - gamma[k])
            gamma[k] = new
        if change < _CLOSE * topics:
            break


@numba.njit(cache=True, nogil=True)
def _settle(
    low: int, high: int, bags: Any, topics: Any, begins: Any, expected: Any, alpha: float, theta: Any,
    norm: Any,
) -> None:  # fmt: skip
    ids, counts, offsets = bags
    gamma = np.empty(expected.shape[1])
    for n in range(low, high):
        batch, own = slice(offsets[topics[n]], offsets[topics[n] + 1]), norm[begins[n] : begins[n + 1]]
        _document(ids[batch], counts[batch], expected, alpha, gamma, theta[n], own)


@numba.njit(cache=True, nogil=True)
def _gather(bags: Any, topics: Any, theta: Any, norm: Any, gathered: Any) -> None:
    ids, counts, offsets = bags
    at = 0
    for n in range(len(topics)):
        for i in range(offsets[topics[n]], offsets[topics[n] + 1]):
            for k in range(theta.shape[1]):
                gathered[ids[i], k] += counts[i] * theta[n, k] / norm[at]
            at += 1


@numba.njit(cache=True, nogil=True)
def _infer_batch(bags: Any, expected: Any, alpha: float, result: Any) -> None:
    ids, counts, offsets = bags
    theta = np.empty(expected.shape[1])
    for d in range(len(result)):
        words, times = ids[offsets[d] : offsets[d + 1]], counts[offsets[d] : offsets[d + 1]]
        _document(words, times, expected, alpha, result[d], theta, np.empty(len(words)))


_SMALLEST = 50_000  # minimum tokens per thread


@dataclass(frozen=True, kw_only=True)
class TopicModelBuilder(Builder):
    """Online variational Bayes with `passes` over the pairs in random order (`seed`)."""

    topics: Count
    common: float = 0.05
    rare: int = 20
    alpha: Positive = 0.1
    eta: Positive = 0.01
    passes: Count = 1
    seed: Seed = 0

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "TopicModel":
        """Raises InputError if no word is left."""
        rare = min(self.rare, max(len(corpus) // 100, 1))  # lower for small corpora
        source, target = (content_words(side, self.common, rare) for side in (corpus.source, corpus.target))
        if not len(source.index) and not len(target.index):
            raise InputError(
                f"no word occurs in {rare} segments or more and in at most {self.common:.0%} of them",
                remedy="build the topic model from a larger corpus",
            )
        total = self.passes * len(corpus)
        lda = LdaSettings(self.topics, self.alpha, self.eta, self.passes, seed=self.seed)

        def fitted(bags: Bags, words: int) -> FloatArray:
            return train(bags, words, lda, lambda completed: progress("topic model", completed, total))

        return modelled(TopicModel, corpus, source, target, {**self.settings, "rare": rare}, fitted)


@dataclass(frozen=True, eq=False)
class TopicModel(Resource):
    """Latent Dirichlet allocation over source and target words together (Blei, Ng and Jordan 2003).

    Words are lower-cased and alphabetic; those in more than a share `common` of all segments (stop words, in
    any language) and in fewer than `rare` segments are left out. Equal source and target words are distinct.

    weights  (source words + target words, topics) variational Dirichlet weights, source words first

    Source: DCU-SYMC at WMT12, section 3.1 (there by Gibbs sampling: `sampled_topic_model`); training: Hoffman
    et al. 2010.
    """

    parts: ClassVar[Parts] = {"topic_model": {"topics": 10}}
    builder: ClassVar[type[Builder]] = TopicModelBuilder

    source: Vocabulary
    target: Vocabulary
    weights: NDArray[np.float32]

    def check_arrays(self) -> None:
        typed("weights", self.weights, np.float32, len(self.source) + len(self.target), None)
        if not self.topics:
            raise Damaged("there is no topic")

    @property
    def topics(self) -> int:
        return int(self.weights.shape[1])

    @cached_property
    def _expected(self) -> FloatArray:
        return expected_words(np.asarray(self.weights, np.float64))

    def shares(self, tokens: Tokens, side: Side) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Topic shares (n, topics) of texts; whether each has a word of the model (without: the prior's)."""
        vocabulary = self.source if side == "source" else self.target
        begin = 0 if side == "source" else len(self.source)
        bags = bags_of(tokens, vocabulary)
        expected = self._expected[begin : begin + len(vocabulary)]
        return infer(bags, expected, float(self.settings["alpha"])), np.diff(bags.offsets) > 0


Model = TypeVar("Model", bound=TopicModel)


def modelled(
    kind: type[Model], corpus: ParallelCorpus, source: Vocabulary, target: Vocabulary,
    settings: Mapping[str, Any], fitted: Callable[[Bags, int], FloatArray],
) -> Model:  # fmt: skip
    bags = joined(bags_of(corpus.source, source), bags_of(corpus.target, target), len(source))
    weights = fitted(bags, len(source) + len(target)).astype(np.float32)
    settings = {**settings, "words": [len(source.index), len(target.index)]}
    return kind(source, target, weights, settings=settings, corpus_fingerprint=corpus.fingerprint)


def content_words(tokens: Tokens, common: float, rare: int) -> Vocabulary:
    """Alphabetic words in neither too many nor too few segments, most frequent first."""
    lowered = tokens.lower()
    segments = segments_with(lowered)
    chosen = np.array([word.isalpha() for word in lowered.types], bool)
    chosen &= (segments >= rare) & (segments <= common * len(tokens))
    order = np.argsort(-segments, kind="stable")
    return Vocabulary([lowered.types[i] for i in order[chosen[order]]])


def bags_of(tokens: Tokens, vocabulary: Vocabulary) -> Bags:
    ids = tokens.lower().ids_in(vocabulary)
    offsets = np.asarray(tokens.offsets)
    ranges = even_ranges(np.diff(offsets), _SMALLEST) or [(0, 0)]
    bags = list(side_by_side(lambda texts: _count(np.asarray(ids), offsets[texts[0] : texts[1] + 1]), ranges))
    words, counts, sizes = (
        np.concatenate([np.empty(0, np.int32), *column]) for column in zip(*bags, strict=True)
    )
    return Bags(words, counts, np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))))


def joined(first: Bags, right: Bags, shift: int) -> Bags:
    """Documents that combine both sides; ids of the right side are shifted by `shift`."""
    lengths = np.stack([np.diff(first.offsets), np.diff(right.offsets)])
    offsets = np.concatenate(([0], np.cumsum(lengths.sum(axis=0)))).astype(np.int64)
    ids, counts = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    for bags, moved, begin in ((first, 0, offsets[:-1]), (right, shift, offsets[:-1] + lengths[0])):
        sizes = np.diff(bags.offsets)
        at = np.arange(len(bags.ids)) + np.repeat(begin - bags.offsets[:-1], sizes)
        ids[at], counts[at] = bags.ids + moved, bags.counts
    return Bags(ids, counts, offsets)


@numba.njit(cache=True, nogil=True)
def _count(ids: Any, offsets: Any) -> Any:
    size = offsets[-1] - offsets[0]
    words, counts = np.empty(size, np.int32), np.zeros(size, np.int32)
    sizes, n = np.zeros(len(offsets) - 1, np.int32), 0
    for text in range(len(offsets) - 1):
        ordered = np.sort(ids[offsets[text] : offsets[text + 1]])
        for i in range(len(ordered)):
            if ordered[i] == UNK:
                continue
            if i == 0 or ordered[i] != ordered[i - 1]:
                words[n] = ordered[i]
                n += 1
                sizes[text] += 1
            counts[n - 1] += 1
    return words[:n].copy(), counts[:n].copy(), sizes
