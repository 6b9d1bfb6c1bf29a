"""Words of texts as sets: the discriminative word lexicon, stop words, words kept for networks."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, offsets_of
from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from features.core.bundle import RESOURCES
from features.core.resource import Builder, Parts, Resource
from features.resources.lexicon import pair_values
from features.storage.damage import rows, typed
from features.storage.files import read_lines
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import UNK, Tokens, Vocabulary

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WordSets:
    """Distinct words of each text that a vocabulary has, ascending, with counts; `sizes`: of all words."""

    ids: Ints
    counts: Ints
    offsets: Longs
    sizes: Longs

    @classmethod
    def from_tokens(cls, tokens: Tokens, vocabulary: Vocabulary) -> "WordSets":
        lowered = tokens.lower()
        vocabulary_ids = vocabulary.lookup(lowered.types)
        ids, counts, lengths, sizes = _distinct(
            np.asarray(lowered.ids), np.asarray(lowered.offsets), vocabulary_ids
        )
        return cls(ids, counts, offsets_of(lengths), sizes)


def segments_with(tokens: Tokens) -> NDArray[np.int64]:
    """(types,) the number of texts that have each word.

    >>> segments_with(Tokens.from_lists([["a", "b", "a"], ["a"]]))
    array([2, 1])
    """
    counts: NDArray[np.int64] = _count(np.asarray(tokens.ids), np.asarray(tokens.offsets), len(tokens.types))
    return counts


@numba.njit(cache=True, nogil=True)
def _count(ids: Any, offsets: Any, types: int) -> Any:
    counts, last = np.zeros(types, np.int64), np.full(types, -1, np.int64)
    for text in range(len(offsets) - 1):
        for i in range(offsets[text], offsets[text + 1]):
            counts[ids[i]] += last[ids[i]] != text
            last[ids[i]] = text
    return counts


@numba.njit(cache=True, nogil=True)
def _distinct(ids: Any, offsets: Any, vocabulary_ids: Any) -> Any:
    distinct, counts, n = np.empty(len(ids), np.int32), np.zeros(len(ids), np.int32), 0
    lengths, sizes = np.zeros(len(offsets) - 1, np.int64), np.zeros(len(offsets) - 1, np.int64)
    for text in range(len(sizes)):
        words = np.sort(ids[offsets[text] : offsets[text + 1]])
        start = n
        for i in range(len(words)):
            new = i == 0 or words[i] != words[i - 1]
            sizes[text] += new
            if vocabulary_ids[words[i]] != UNK:
                n += new
                distinct[n - 1] = vocabulary_ids[words[i]]
                counts[n - 1] += 1
        order = np.argsort(distinct[start:n])
        distinct[start:n], counts[start:n] = distinct[start:n][order], counts[start:n][order]
        lengths[text] = n - start
    return distinct[:n].copy(), counts[:n].copy(), lengths, sizes


@numba.njit(cache=True, nogil=True)
def inverted(ids: Any, offsets: Any, vocabulary: int) -> Any:
    places = np.zeros(vocabulary + 1, np.int64)
    for word in ids:
        places[word + 1] += 1
    places = np.cumsum(places)
    end, texts = places[:-1].copy(), np.empty(len(ids), np.int32)
    for text in range(len(offsets) - 1):
        for i in range(offsets[text], offsets[text + 1]):
            texts[end[ids[i]]] = text
            end[ids[i]] += 1
    return places, texts


@dataclass(frozen=True, kw_only=True)
class KeptWordsBuilder(Builder):
    """The `max_words` words in most segments of one side; of equally frequent ones, the first."""

    side: Side
    max_words: Count = 9000

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "KeptWords":
        words = _by_frequency(plain(corpus.side(self.side)))[: self.max_words]
        progress(f"kept words, {self.side}", 1, 1)
        return KeptWords(tuple(words), settings=self.settings, corpus_fingerprint=corpus.fingerprint)


@RESOURCES.register("kept_words")
@dataclass(frozen=True, eq=False)
class KeptWords(Resource):
    """The most frequent words of a side, or those of a text, named by `read` of an experiment's `resources`.

    words  lower-cased, those with digits one word; by falling number of segments

    Source: WMT12 UEdin, section 3.5, which keeps the words of the segments to be judged.
    """

    parts: ClassVar[Parts] = {
        "source_kept_words": {"side": "source", "max_words": 8365},
        "target_kept_words": {"side": "target", "max_words": 9000},
    }
    builder: ClassVar[type[Builder]] = KeptWordsBuilder

    words: tuple[str, ...] = field(repr=False)

    @classmethod
    def read(cls, path: Path, corpus: ParallelCorpus, side: Side, checksum: str) -> Self:
        """The words of a text, plain or gzip, that the corpus has; raises InputError if there are none."""
        tokenizer = corpus.source_tokenizer if side == "source" else corpus.target_tokenizer
        known = set(plain(corpus.side(side)).types)
        given = plain(tokenizer.tokens(list(read_lines(path))))
        words = [word for word in _by_frequency(given) if word in known]
        if not words:
            raise InputError(
                f"no word of the {side} side of the corpus",
                location=path,
                remedy="give a text of its language",
            )
        settings = {"side": side, "read": checksum}
        return cls(tuple(words), settings=settings, corpus_fingerprint=corpus.fingerprint)


def _by_frequency(tokens: Tokens) -> Sequence[str]:
    order = np.argsort(-segments_with(tokens), kind="stable")
    return [tokens.types[i] for i in order]


@dataclass(frozen=True, kw_only=True)
class StopWordsBuilder(Builder):
    """The `max_words` most frequent words of letters of one side, lower-cased."""

    side: Side
    max_words: Count = 150

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "StopWords":
        text = corpus.side(self.side).lower()
        counts = np.bincount(text.ids, minlength=len(text.types))
        words = sorted(
            (word for word in text.types if word.isalpha()),
            key=dict(zip(text.types, (-counts).tolist(), strict=True)).__getitem__,
        )
        if not words:
            raise InputError(
                f"the {self.side} side of the corpus has no words of letters", location="stop_words"
            )
        progress(f"stop words, {self.side}", 1, 1)
        return StopWords(
            tuple(sorted(words[: self.max_words])),
            settings=self.settings,
            corpus_fingerprint=corpus.fingerprint,
        )


@RESOURCES.register("stop_words")
@dataclass(frozen=True, eq=False)
class StopWords(Resource):
    """The most frequent words of a side, or those of a list. The list is named by `read` of an experiment's
    `resources`.

    words  lower-cased, ascending
    """

    parts: ClassVar[Parts] = {
        "source_stop_words": {"side": "source"},
        "target_stop_words": {"side": "target"},
    }
    builder: ClassVar[type[Builder]] = StopWordsBuilder

    words: tuple[str, ...] = field(repr=False)

    @classmethod
    def read(cls, path: Path, side: Side, checksum: str) -> Self:
        """From a list, a word a line, plain or gzip; raises InputError if it has no words."""
        words = {line.strip().lower() for line in read_lines(path)} - {""}
        if not words:
            raise InputError("no words", location=path, remedy="give a list of stop words, one a line")
        settings = {"side": side, "read": checksum}
        return cls(tuple(sorted(words)), settings=settings, corpus_fingerprint=checksum)


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


@RESOURCES.register("word_lexicon")
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
