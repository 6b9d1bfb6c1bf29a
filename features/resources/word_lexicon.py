"""WordLexicon: probability of each target word in a translation, given all source words."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, offsets_of
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from features.core.resource import Builder, Parts, Resource
from features.resources.pair_values import pair_values
from features.resources.word_sets import WordSets, inverted, segments_with
from features.storage.damage import rows, typed
from features.text.corpus import ParallelCorpus
from features.text.tokens import UNK, Tokens, Vocabulary

NUMBER = "$number"  # stands for every token with a digit (UEdin at WMT12, section 4.1)
_ROWS = 200  # words trained between two reports of progress


@dataclass(frozen=True)
class Training:
    """How each word's classifier is trained.

    positives  most segments with the word, evenly spread over the corpus
    negatives  segments without it per segment with it; the intercept is corrected (King and Zeng 2001,
               "Logistic Regression in Rare Events Data")
    rate, l1   AdaGrad's step, and the penalty on the weights of a segment's words (Duchi et al. 2011)
    smallest   weights nearer to 0 are dropped
    """

    positives: int = 2000
    negatives: int = 3
    epochs: int = 4
    rate: float = 0.3
    l1: float = 0.01
    smallest: float = 0.3
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class WordLexiconBuilder(Builder):
    """Trains word by word, on all cores; the result does not depend on their number."""

    words: Count
    minimum: Count = 20
    source_minimum: Count = 10
    training: Training = Training()

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "WordLexicon":
        minimum, source_minimum = (
            min(least, max(len(corpus) // 100, 1)) for least in (self.minimum, self.source_minimum)
        )
        left, right = plain(corpus.source), plain(corpus.target)
        source = _frequent(left, len(left.types), source_minimum)
        target = _frequent(right, self.words, minimum)
        features = WordSets.from_tokens(left, source)
        there = WordSets.from_tokens(right, target)
        postings, texts = inverted(there.ids, there.offsets, len(target)), (features.ids, features.offsets)
        blocks = [(start, min(start + _ROWS, len(target))) for start in range(0, len(target), _ROWS)]
        training = tuple(asdict(self.training).values())

        def train(block: tuple[int, int]) -> Any:
            return _train_rows(block, postings, texts, len(source), training)

        trained = []
        for block, trained_rows in zip(blocks, side_by_side(train, blocks), strict=True):
            trained.append(trained_rows)
            progress("word lexicon", block[1], len(target))
        sizes, columns, values, intercepts = (np.concatenate(column) for column in zip(*trained, strict=True))
        offsets = offsets_of(sizes)
        settings = {**self.settings, "minimum": minimum, "source_minimum": source_minimum}
        return WordLexicon(
            source,
            target,
            offsets,
            columns,
            values,
            intercepts,
            settings={**settings, "entries": len(columns), "target_words": len(target.index)},
            corpus_fingerprint=corpus.fingerprint,
        )


@dataclass(frozen=True, eq=False)
class WordLexicon(Resource):
    """Discriminative word lexicon: one logistic regression per target word. Its input is the bag of source
    words. Words are lower-cased, tokens with digits are one word. The target words that matter are the
    `words` most frequent that occur in at least `minimum` segments; source words are those in
    `source_minimum` segments or more.

    offsets, columns, values  source words of each target word, ascending, and their weights
    intercepts                (target words,)

    Source: Mauser et al. 2009; UEdin at WMT12, section 3.4.
    """

    parts: ClassVar[Parts] = {"word_lexicon": {"words": 10_000}}
    builder = WordLexiconBuilder

    source: Vocabulary
    target: Vocabulary
    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    intercepts: NDArray[np.float32]

    def check_arrays(self) -> None:
        values = (self.values, np.float32)
        rows(self.offsets, len(self.target), self.columns, len(self.source), values=values)
        typed("intercepts", self.intercepts, np.float32, len(self.target))

    def log_probability(self, source: Tokens, target: Tokens) -> FloatArray:
        """ln p(word occurs | source words) (n_target_tokens,); NaN for words without a classifier."""
        given = WordSets.from_tokens(plain(source), self.source)
        words = plain(target)
        result = np.full(len(words.ids), np.nan)
        ids, offsets = words.ids_in(self.target), np.asarray(words.offsets)
        table, sources = (self.offsets, self.columns, self.values), (given.ids, given.offsets)
        for first, starts, cells in pair_values(table, len(self.source), (ids, offsets), sources):
            _score(ids, offsets[first : first + len(starts)], cells, starts, self.intercepts, result)
        return result


def plain(tokens: Tokens) -> Tokens:
    return tokens.with_types(NUMBER if any(map(str.isdigit, t)) else t.lower() for t in tokens.types)


def _frequent(tokens: Tokens, limit: int, minimum: int) -> Vocabulary:
    segments = segments_with(tokens.lower())
    order = np.argsort(-segments, kind="stable")[:limit]
    return Vocabulary([tokens.lower().types[i] for i in order[segments[order] >= minimum]])


@numba.njit(cache=True, nogil=True)
def _train_rows(block: Any, postings: Any, texts: Any, width: int, training: Any) -> Any:
    start, stop = block
    places, segments = postings
    positives, negatives, epochs, rate, l1, smallest, seed = training
    offsets = texts[1]
    weights, squares = np.zeros(width), np.zeros(width)
    has = np.full(len(offsets) - 1, -1, np.int32)
    sizes, intercepts = np.zeros(stop - start, np.int64), np.zeros(stop - start, np.float32)
    columns, values, n = np.empty(1 << 16, np.int32), np.empty(1 << 16, np.float32), 0
    for word in range(start, stop):
        with_word = segments[places[word] : places[word + 1]]
        if len(with_word) == 0:  # the markers
            continue
        has[with_word] = word
        np.random.seed(seed + word)
        examples, n_positive = _examples(with_word, has, word, positives, negatives)
        labels = np.zeros(len(examples))
        labels[:n_positive] = 1.0
        intercept = _fit(examples, labels, texts, weights, squares, (epochs, rate, l1))
        rest = len(has) - len(with_word)
        odds = len(with_word) / max(rest, 1) / (n_positive / max(len(examples) - n_positive, 1))
        intercepts[word - start] = intercept + np.log(odds)
        if n + width > len(columns):
            columns = np.concatenate((columns, np.empty(len(columns) + width, np.int32)))
            values = np.concatenate((values, np.empty(len(values) + width, np.float32)))
        for f in range(width):
            if abs(weights[f]) >= smallest:
                columns[n], values[n] = f, weights[f]
                n += 1
                sizes[word - start] += 1
            weights[f], squares[f] = 0.0, 0.0
    return sizes, columns[:n].copy(), values[:n].copy(), intercepts


@numba.njit(cache=True, nogil=True)
def _examples(with_word: Any, has: Any, word: int, positives: int, negatives: int) -> Any:
    n = min(len(with_word), positives)
    rest = len(has) - len(with_word)
    chosen = np.empty(n + min(n * negatives, rest), np.int32)
    for i in range(n):
        chosen[i] = with_word[i * len(with_word) // n]
    i = n
    while i < len(chosen):
        text = np.random.randint(0, len(has))
        if has[text] != word:  # drawn with replacement
            chosen[i] = text
            i += 1
    return chosen, n


@numba.njit(cache=True, nogil=True)
def _fit(examples: Any, labels: Any, texts: Any, weights: Any, squares: Any, training: Any) -> float:
    ids, offsets = texts
    epochs, rate, l1 = training
    intercept, total = 0.0, 0.0
    for _ in range(epochs):
        for i in np.random.permutation(len(examples)):
            words = ids[offsets[examples[i]] : offsets[examples[i] + 1]]
            activation = intercept
            for f in words:
                activation += weights[f]
            error = 1.0 / (1.0 + np.exp(-activation)) - labels[i]
            total += error * error
            intercept -= rate * error / np.sqrt(total + 1e-8)
            for f in words:
                squares[f] += error * error
                step = rate / np.sqrt(squares[f] + 1e-8)
                moved = weights[f] - step * error
                weights[f] = np.sign(moved) * max(abs(moved) - step * l1, 0.0)
    return intercept


@numba.njit(cache=True, nogil=True)
def _score(words: Any, offsets: Any, weights: Any, starts: Any, intercepts: Any, result: Any) -> None:
    for k in range(len(starts) - 1):
        cell, size = starts[k], 0
        if offsets[k + 1] > offsets[k]:
            size = (starts[k + 1] - starts[k]) // (offsets[k + 1] - offsets[k])
        for j in range(offsets[k], offsets[k + 1]):
            activation = float(intercepts[words[j]])
            for c in range(cell, cell + size):
                activation += weights[c]
            cell += size
            if words[j] != UNK:
                result[j] = -np.log1p(np.exp(-activation)) if activation > -500 else activation
