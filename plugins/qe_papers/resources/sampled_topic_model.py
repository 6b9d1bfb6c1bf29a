"""SampledTopicModel: bilingual topics by Gibbs sampling, stop words removed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.errors import InputError
from features.basics.hints import Count, Positive, Seed
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts
from features.resources.stop_words import StopWords
from features.text.corpus import ParallelCorpus
from features.text.vocabulary import Vocabulary
from qe_papers.resources._gibbs import sample
from qe_papers.resources._lda import LdaSettings
from qe_papers.resources.topic_model import TopicModel, bags_of, content_words, joined


@dataclass(frozen=True, kw_only=True)
class SampledTopicModelBuilder(Builder):
    """Learns from words of letters, no stop words, in `rare` segments or more. `iterations` pass over all of
    them.
    """

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
        source = _without_stop_words(content_words(corpus.source, 1.0, rare), self.source_stop_words)
        target = _without_stop_words(content_words(corpus.target, 1.0, rare), self.target_stop_words)
        if not len(source.index) and not len(target.index):
            raise InputError(
                f"no word but stop words occurs in {rare} segments or more",
                remedy="build the topic model from a larger corpus",
            )
        bags = joined(bags_of(corpus.source, source), bags_of(corpus.target, target), len(source))
        settings = LdaSettings(self.topics, self.alpha, self.eta, seed=self.seed)
        weights = sample(
            bags,
            len(source) + len(target),
            settings,
            self.iterations,
            lambda completed: progress("topic model", completed, self.iterations),
        )
        words = [len(source.index), len(target.index)]
        return SampledTopicModel(
            source,
            target,
            weights.astype(np.float32),
            settings={**self.settings, "rare": rare, "words": words},
            corpus_fingerprint=corpus.fingerprint,
        )


class SampledTopicModel(TopicModel):
    """A topic model as DCU's: collapsed Gibbs sampling, 1,000 iterations, no stop words. The weights are the
    counts of the last iteration and the prior. Topics of new texts are inferred as in a TopicModel, by
    variational Bayes.

    Source: DCU-SYMC at WMT12, section 3.1; Griffiths and Steyvers 2004.
    """

    parts: ClassVar[Parts] = {"sampled_topic_model": {"topics": 10}}
    builder: ClassVar[type[Builder]] = SampledTopicModelBuilder


def _without_stop_words(words: Vocabulary, stop: StopWords) -> Vocabulary:
    left = frozenset(stop.words)
    return Vocabulary([word for word in words.index if word not in left])
