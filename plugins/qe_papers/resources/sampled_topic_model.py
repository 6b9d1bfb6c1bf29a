"""SampledTopicModel: bilingual topics by Gibbs sampling, stop words removed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, Positive, Seed
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources.word_lexicon import StopWords
from features.text.corpus import ParallelCorpus
from features.text.tokens import Vocabulary
from qe_papers.resources.topic_model import Bags, LdaSettings, TopicModel, content_words, modelled

_TOLD = 10  # iterations between progress reports


def sample(
    bags: Bags, vocabulary: int, settings: LdaSettings, iterations: int, report: Callable[[int], None]
) -> FloatArray:
    """Word counts (vocabulary, topics) of the last Gibbs iteration, plus the prior.

    Topic k is drawn with a probability proportional to (n_dk + alpha) (n_kw + eta) / (n_k + V eta).
    """
    words = np.repeat(bags.ids, bags.counts)
    tokens = np.concatenate(([0], np.cumsum(bags.counts, dtype=np.int64)))
    offsets = tokens[bags.offsets]
    random = np.random.default_rng(settings.seed)
    topics = random.integers(settings.topics, size=len(words)).astype(np.int16)
    of_words = np.zeros((vocabulary, settings.topics), np.int32)
    np.add.at(of_words, (words, topics), 1)
    totals = of_words.sum(axis=0, dtype=np.int64)
    for completed in range(0, iterations, _TOLD):
        rounds = min(_TOLD, iterations - completed)
        seed = int(random.integers(2**31))
        priors = settings.alpha, settings.eta
        _iterate(words, offsets, topics, of_words, totals, priors, rounds, seed)
        report(completed + rounds)
    return of_words.astype(np.float64) + settings.eta


@numba.njit(cache=True, nogil=True)
def _iterate(
    words: Any, offsets: Any, topics: Any, of_words: Any, totals: Any, priors: Any, rounds: int, seed: int
) -> None:
    alpha, eta = priors
    np.random.seed(seed)
    vocabulary, size = of_words.shape
    of_document, weights = np.zeros(size, np.int64), np.zeros(size)
    for _ in range(rounds):
        for d in range(len(offsets) - 1):
            of_document[:] = 0
            for i in range(offsets[d], offsets[d + 1]):
                of_document[topics[i]] += 1
            for i in range(offsets[d], offsets[d + 1]):
                word, old = words[i], topics[i]
                of_document[old] -= 1
                of_words[word, old] -= 1
                totals[old] -= 1
                total = 0.0
                for k in range(size):
                    total += (
                        (of_document[k] + alpha) * (of_words[word, k] + eta) / (totals[k] + vocabulary * eta)
                    )
                    weights[k] = total
                drawn, new = np.random.random() * total, 0
                while weights[new] < drawn:
                    new += 1
                topics[i] = new
                of_document[new] += 1
                of_words[word, new] += 1
                totals[new] += 1


@dataclass(frozen=True, kw_only=True)
class SampledTopicModelBuilder(Builder):
    """Trains on alphabetic words, without stop words and words in fewer than `rare` segments."""

    source_stop_words: StopWords
    target_stop_words: StopWords
    topics: Count
    rare: int = 20
    alpha: Positive = 0.1
    eta: Positive = 0.01
    iterations: Count = 1000
    seed: Seed = 0

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "SampledTopicModel":
        """Raises InputError if no word is left."""
        rare = min(self.rare, max(len(corpus) // 100, 1))
        stops = [frozenset(stop.words) for stop in (self.source_stop_words, self.target_stop_words)]
        source, target = (
            Vocabulary([word for word in content_words(tokens, 1.0, rare).index if word not in stop])
            for tokens, stop in zip((corpus.source, corpus.target), stops, strict=True)
        )
        if not len(source.index) and not len(target.index):
            raise InputError(
                f"no word but stop words occurs in {rare} segments or more",
                remedy="build the topic model from a larger corpus",
            )
        lda = LdaSettings(self.topics, self.alpha, self.eta, seed=self.seed)

        def fitted(bags: Bags, words: int) -> FloatArray:
            def report(completed: int) -> None:
                progress("topic model", completed, self.iterations)

            return sample(bags, words, lda, self.iterations, report)

        return modelled(SampledTopicModel, corpus, source, target, {**self.settings, "rare": rare}, fitted)


class SampledTopicModel(TopicModel):
    """A topic model like DCU's: collapsed Gibbs sampling, 1,000 iterations, no stop words.

    The weights are the counts of the last iteration plus the prior. Topics of new texts are inferred by
    variational Bayes, as in a TopicModel.

    Source: DCU-SYMC at WMT12, section 3.1; Griffiths and Steyvers 2004.
    """

    parts: ClassVar[Parts] = {"sampled_topic_model": {"topics": 10}}
    builder: ClassVar[type[Builder]] = SampledTopicModelBuilder
