"""Predictor: predicts each word of a translation from its source and its neighbours."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.hints import Count, Seed
from features.basics.progress import Progress, silent
from features.basics.threads import even_ranges, side_by_side
from features.core.resource import Builder, Parts, Resource
from features.resources._context_network import ContextNetwork
from features.resources.aligner import Aligner
from features.storage.damage import finite, typed
from features.text.corpus import ParallelCorpus
from features.text.links import Links
from features.text.tokens import BOS, EOS, MARKERS, Tokens, Vocabulary

Ints = NDArray[np.int32]

_BESIDE: Final = 3  # words of the target on either side
_AROUND: Final = 2  # words of the source on either side of the aligned one
_LEAST: Final = 2000  # tokens that are worth a thread
_LARGEST: Final = 1e6  # weight: sums of products of three stay far below the largest single


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of n target tokens; (n,) natural logarithms, units (n, h).

    rank    log of 1 + words that are more probable
    margin  log-probability of the most probable word less that of the word
    """

    log_probability: FloatArray
    rank: FloatArray
    margin: FloatArray
    entropy: FloatArray
    units: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class PredictorBuilder(Builder):
    """From a parallel corpus and its alignment; `words` and `minimum` limit each side's vocabulary."""

    aligner: Aligner
    words: Count = 20_000
    minimum: Count = 2
    dimensions: Count = 64
    units: Count = 128
    epochs: Count = 2
    seed: Seed = 0

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "Predictor":
        target, source = (self._vocabulary(side.lower()) for side in (corpus.target, corpus.source))
        links = self.aligner.align(corpus.source, corpus.target, "source-target", progress=progress)
        contexts = _contexts(corpus.source, corpus.target, links, source, target)
        slots = contexts.shape[1]
        sizes = len(target), len(source)
        network = ContextNetwork.beginning(sizes, slots, self.dimensions, self.units, self.seed).trained(
            contexts,
            corpus.target.lower().ids_in(target),
            2 * _BESIDE,
            epochs=self.epochs,
            seed=self.seed + 1,
            report=lambda completed, total: progress("learning to predict words", completed, total),
        )
        return Predictor(
            target, source, network, settings=self.settings, corpus_fingerprint=corpus.fingerprint
        )

    def _vocabulary(self, tokens: Tokens) -> Vocabulary:
        vocabulary, _ = Vocabulary.by_frequency(tokens.types, tokens.ids, self.minimum)
        return Vocabulary(vocabulary.words[len(MARKERS) :][: self.words])


@dataclass(frozen=True, eq=False)
class Predictor(Resource):
    """A network that predicts a target word from its neighbours and its source words. It reads three words on
    either side of it, and from the source the word it is aligned with and two on either side. Words are
    lower-cased. A word that is aligned with none takes the place of its nearest neighbour's. Source: Kim et
    al. 2017, section 3.1; the network is that of Devlin et al. 2014.
    """

    version: ClassVar[int] = 2
    parts: ClassVar[Parts] = {"predictor": {}}
    builder: ClassVar[type[Builder]] = PredictorBuilder

    target_words: Vocabulary
    source_words: Vocabulary
    network: ContextNetwork
    _single: bool = field(default=False, repr=False, kw_only=True)

    def for_scoring(self) -> "Predictor":
        return replace(self, _single=True)

    def check_arrays(self) -> None:
        network = self.network
        width, units = network.target.shape[-1], len(network.hidden_bias)
        typed("target", network.target, np.float32, len(self.target_words), width)
        typed("source", network.source, np.float32, len(self.source_words), width)
        typed("hidden", network.hidden, np.float32, (2 * (_BESIDE + _AROUND) + 1) * width, units)
        typed("output", network.output, np.float32, len(self.target_words), units)
        typed("output_bias", network.output_bias, np.float32, len(self.target_words))
        typed("hidden_bias", network.hidden_bias, np.float32, units)
        for name, array in vars(network).items():
            finite(name, array, -_LARGEST, _LARGEST)

    def predict(self, source: Tokens, target: Tokens, links: Links) -> Predictions:
        contexts = _contexts(source, target, links, self.source_words, self.target_words)
        words = target.lower().ids_in(self.target_words)

        def work(rows: tuple[int, int]) -> Any:
            units = self.network.units(contexts[slice(*rows)], 2 * _BESIDE)
            return units, self.network.predictions(units, words[slice(*rows)], single=self._single)

        ranges = even_ranges(np.ones(len(words)), _LEAST) if len(words) else [(0, 0)]
        units, values = (np.concatenate(part) for part in zip(*side_by_side(work, ranges), strict=True))
        log, rank, margin, entropy = values.T.astype(np.float64)
        return Predictions(log, rank, margin, entropy, units)

    def evidence(self, target: Tokens, predicted: Predictions) -> NDArray[np.float32]:
        """Share (n_target_tokens, h) of each hidden unit in the word's logit: unit times weight.

        Source: Kim et al. 2017, section 3.1 (there: the feature vectors of quality estimation).
        """
        weights = self.network.output[target.lower().ids_in(self.target_words)]
        return np.asarray(predicted.units * weights, np.float32)


def _contexts(
    source: Tokens, target: Tokens, links: Links, source_words: Vocabulary, target_words: Vocabulary
) -> Ints:
    targets = target.lower().ids_in(target_words), target.offsets
    sources = source.lower().ids_in(source_words), source.offsets
    result = np.empty((len(targets[0]), 2 * (_BESIDE + _AROUND) + 1), np.int32)
    _fill(targets, sources, (links.offsets, links.source, links.target), result)
    return result


@numba.njit(cache=True, nogil=True)
def _fill(targets: Any, sources: Any, links: Any, result: Any) -> None:
    (own_ids, offsets), (other_ids, other_offsets) = targets, sources
    link_offsets, link_sources, link_targets = links
    for k in range(len(offsets) - 1):
        start, size = offsets[k], offsets[k + 1] - offsets[k]
        first, length = other_offsets[k], other_offsets[k + 1] - other_offsets[k]
        place = np.full(size, -1, np.int64)
        for e in range(link_offsets[k], link_offsets[k + 1]):
            place[link_targets[e]] = link_sources[e]
        for j in range(size):
            slot = 0
            for by in range(-_BESIDE, _BESIDE + 1):
                if by != 0:
                    result[start + j, slot] = _word(own_ids, start, size, j + by)
                    slot += 1
            centre = _nearest(place, j)
            for by in range(-_AROUND, _AROUND + 1):
                result[start + j, slot] = _word(other_ids, first, length, centre + by)
                slot += 1


@numba.njit(cache=True, nogil=True)
def _word(ids: Any, start: int, size: int, place: int) -> int:
    if place < 0:
        return BOS
    return int(ids[start + place]) if place < size else EOS


@numba.njit(cache=True, nogil=True)
def _nearest(place: Any, j: int) -> int:
    for by in range(len(place)):
        if j + by < len(place) and place[j + by] >= 0:
            return int(place[j + by])
        if j - by >= 0 and place[j - by] >= 0:
            return int(place[j - by])
    return 0
