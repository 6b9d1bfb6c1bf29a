"""N-gram models as arrays: interpolated modified Kneser-Ney estimation, and ARPA files.

Chen and Goodman (1998), An Empirical Study of Smoothing Techniques for Language Modeling, section 3;
Heafield, Pouzyrevsky, Clark and Koehn (2013), Scalable Modified Kneser-Ney Language Model Estimation,
whose treatment of `<s>`, `<unk>`, unigrams and pruning this follows. ARPA files are n-gram models as text,
the format that SRILM, IRSTLM and KenLM share.
"""

import gzip
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import IO, Any

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.threads import apply_to_each, even_ranges, side_by_side
from features.storage.files import DAMAGED_GZIP, open_binary
from features.text.ngram_tables import Ints, OrderTable, Trie, child, occurrences
from features.text.tokens import BOS, EOS, MARKERS, UNK, Vocabulary

Floats = NDArray[np.float64]

# What kenlm's `lmplz --discount_fallback` uses where the counts of counts define no discounts.
FIXED_DISCOUNTS = (0.5, 1.0, 1.5)
_SMALLEST = 200_000  # n-grams that are worth a thread of their own


@dataclass(frozen=True)
class Discounts:
    rule: str
    values: tuple[float, float, float]


def discounts(counts_of_counts: tuple[int, int, int, int]) -> Discounts:
    """The discounts of one order from n1 .. n4, the numbers of n-grams counted 1 .. 4 times.

    Modified Kneser-Ney (Chen and Goodman eq. 26): Y = n1 / (n1 + 2 n2), D1 = 1 - 2 Y n2 / n1, D2 = 2 - 3 Y n3
    / n2, D3+ = 3 - 4 Y n4 / n3. If one is undefined, or 0 < D <= its count does not hold: the one discount Y
    of Kneser and Ney; if that is undefined too: fixed ones.
    """
    n1, n2, n3, n4 = counts_of_counts
    if n1 == 0 or n2 == 0:
        return Discounts("fixed", FIXED_DISCOUNTS)
    y = n1 / (n1 + 2 * n2)
    if n3 > 0:
        values = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        if all(0 < d <= count for count, d in enumerate(values, start=1)):
            return Discounts("modified-kneser-ney", values)
    return Discounts("kneser-ney", (y, y, y))


@dataclass(frozen=True, eq=False)
class Estimate:
    """A backoff model: log10 probability of each n-gram, and log10 backoff weights below order N."""

    trie: Trie
    log10: NDArray[np.float32]
    backoff: NDArray[np.float32]
    discounts: tuple[Discounts, ...]


def estimate(tables: list[OrderTable], prune: bool = False) -> Estimate:
    """Interpolated modified Kneser-Ney from a text's n-gram tables of orders 1 .. N, with `<s>` and `</s>`.

    Counts below order N are numbers of distinct preceding words, or occurrences of n-grams that begin with
    `<s>`. Unigrams are interpolated with the uniform distribution over the vocabulary without `<s>`. `prune`
    drops n-grams of order 3 and more that occur once; their mass goes to their backoff.
    """
    retained = [
        table.counts > 1 if prune and order >= 3 else np.ones(len(table.words), np.bool_)
        for order, table in enumerate(tables, start=1)
    ]
    lower = np.full(1, 1 / (len(tables[0].words) - 1))  # uniform, without <s>
    probabilities: list[NDArray[np.float32]] = []
    backoffs: list[NDArray[np.float32]] = []
    rules: list[Discounts] = []
    for order, table in enumerate(tables, start=1):
        adjusted = _adjusted(tables, order)
        if order == 1:
            adjusted[BOS] = 0  # <s> is never predicted
        times = occurrences(np.minimum(adjusted, 5), 6).tolist()
        rule = discounts((times[1], times[2], times[3], times[4]))
        suffix = table.suffix if order > 1 else np.zeros(len(adjusted), np.int32)
        p, gamma = _interpolated(
            table.first, adjusted, retained[order - 1], suffix, np.array(rule.values), lower
        )
        if order > 1:
            backoffs.append(_log10(gamma, retained[order - 2]))
        probabilities.append(_log10(p, retained[order - 1]))
        rules.append(rule)
        lower = p
    probabilities[0][BOS] = -99.0  # the convention of ARPA files for "never predicted"
    trie = Trie.from_levels(_pruned(tables, retained))
    backoff = np.concatenate(backoffs) if backoffs else np.empty(0, np.float32)
    return Estimate(trie, np.concatenate(probabilities), backoff, tuple(rules))


def _adjusted(tables: list[OrderTable], order: int) -> Ints:
    table = tables[order - 1]
    if order == len(tables):
        return table.counts.copy()
    result: Ints = occurrences(tables[order].suffix, len(table.words))
    begin, end = BOS, BOS + 1  # n-grams that begin with <s> are neighbours, as their contexts are
    for lower in tables[1:order]:
        begin, end = int(lower.first[begin]), int(lower.first[end])
    result[begin:end] = table.counts[begin:end]
    return result


def _interpolated(
    first: Ints, counts: Ints, retained: NDArray[np.bool_], suffix: Ints, discount: Floats, lower: Floats
) -> tuple[Floats, Floats]:
    p, gamma = np.empty(len(counts), np.float64), np.ones(len(first) - 1, np.float64)

    def work(contexts: tuple[int, int]) -> None:
        _interpolate(contexts, (first, counts, retained, suffix), discount, lower, p, gamma)

    apply_to_each(work, even_ranges(np.diff(first), _SMALLEST))
    return p, gamma


@numba.njit(cache=True, nogil=True)
def _interpolate(
    contexts: Any, ngrams: Any, discount: Floats, lower: Floats, p: Floats, gamma: Floats
) -> None:
    first, counts, retained, suffix = ngrams
    for context in range(contexts[0], contexts[1]):
        total, left = 0.0, 0.0
        for g in range(first[context], first[context + 1]):
            total += counts[g]
            if not retained[g]:
                left += counts[g]
            elif counts[g] > 0:
                left += discount[min(counts[g], 3) - 1]
        if total > 0:
            gamma[context] = left / total
        for g in range(first[context], first[context + 1]):
            own = counts[g] - discount[min(counts[g], 3) - 1] if counts[g] > 0 else 0.0
            p[g] = own / max(total, 1.0) + gamma[context] * lower[suffix[g]]


def _log10(values: Floats, retained: NDArray[np.bool_]) -> NDArray[np.float32]:
    parts = side_by_side(
        lambda part: np.log10(values[slice(*part)][retained[slice(*part)]]).astype(np.float32),
        [(low, low + _SMALLEST) for low in range(0, len(values), _SMALLEST)],
    )
    return np.concatenate([np.empty(0, np.float32), *parts])


def _pruned(tables: list[OrderTable], retained: list[NDArray[np.bool_]]) -> list[tuple[Ints, Ints]]:
    levels = [(tables[0].words, tables[0].first)]
    for k in range(1, len(tables)):
        table, stays, contexts = tables[k], retained[k], retained[k - 1]
        if stays.all() and contexts.all():
            levels.append((table.words, table.first))
            continue
        before = np.concatenate(([0], np.cumsum(stays))).astype(np.int32)
        begin = before[table.first[:-1][contexts]]  # what a dropped context had is dropped as well
        levels.append((table.words[stays], np.append(begin, before[-1:])))
    return levels


_NODES_PER_CHUNK = 200_000
_LINES_PER_CHUNK = 500_000
UNK_MISSING_LOG10 = -100.0  # what KenLM gives unknown words of a model without <unk>


@dataclass(frozen=True, eq=False)
class Arpa:
    vocabulary: Vocabulary
    trie: Trie
    log10: NDArray[np.float32]
    backoff: NDArray[np.float32]


def write_arpa(path: Path, model: Arpa, *, gzipped: bool) -> None:
    """Writes the model to `path` with six decimals; raises InputError if a word holds white space."""
    bad = next((word for word in model.vocabulary.words if re.search(r"[\0\t\n\r ]", word)), None)
    if bad is not None:
        raise InputError(
            f"the word {bad!r} holds white space, which ARPA files cannot express", location=path
        )
    compress = partial(gzip.compress, compresslevel=1, mtime=0) if gzipped else bytes
    with path.open("wb") as stream:
        sizes = "".join(f"ngram {k}={size}\n" for k, size in enumerate(model.trie.sizes, start=1))
        stream.write(compress(f"\\data\\\n{sizes}".encode()))
        for order, ngrams in enumerate(_ngrams(model), start=1):
            stream.write(compress(f"\n\\{order}-grams:\n".encode()))
            section = model.trie.nodes(order)
            columns = [_numbers(model.log10[section]), ngrams]
            if order < model.trie.order:
                columns.append(_numbers(model.backoff[section]))
            for low in range(0, len(ngrams), _NODES_PER_CHUNK):
                rows = zip(*(column[low : low + _NODES_PER_CHUNK] for column in columns), strict=True)
                stream.write(compress("".join("\t".join(row) + "\n" for row in rows).encode()))
        stream.write(compress(b"\n\\end\\\n"))


def _ngrams(model: Arpa) -> Iterator[list[str]]:
    words, first = model.vocabulary.words, np.asarray(model.trie.first)
    ngrams = list(words)
    yield ngrams
    for order in range(2, model.trie.order + 1):
        contexts = model.trie.nodes(order - 1)
        children = np.diff(first[contexts.start : contexts.stop + 1]).tolist()
        longer = chain.from_iterable(map(repeat, ngrams, children))
        ids = model.trie.words[model.trie.nodes(order)].tolist()
        ngrams = [f"{context} {words[k]}" for context, k in zip(longer, ids, strict=True)]
        yield ngrams


def _numbers(values: NDArray[np.float32]) -> list[str]:
    distinct, places = np.unique(values, return_inverse=True)  # far fewer than n-grams
    scaled = np.rint(np.abs(distinct.astype(np.float64)) * 1e6).astype(np.int64)
    texts = [str(n // 10**6) + (f".{n % 10**6:06d}" if n % 10**6 else "") for n in scaled.tolist()]
    signed = [
        f"-{text}" if value < 0 and text != "0" else text
        for value, text in zip(distinct.tolist(), texts, strict=True)
    ]
    return [signed[place] for place in places.tolist()]


def read_arpa(path: Path) -> Arpa:
    """The model in an ARPA file, plain or gzip, of any tool; without `<unk>`, unknown words have -100.

    Raises InputError for what is no ARPA file, wrong section lengths, unknown or repeated n-grams, and
    n-grams whose context is missing (some tools prune so).
    """
    with open_binary(path) as stream:
        try:
            sizes = _read_header(path, stream)
            sections = _Sections(path, stream, sizes)
            return sections.read()
        except (*DAMAGED_GZIP, UnicodeDecodeError) as error:
            raise InputError(f"damaged ARPA file ({error})", location=path) from None


def _read_header(path: Path, stream: IO[bytes]) -> list[int]:
    sizes: list[int] = []
    for line in stream:
        if line.strip() == b"\\data\\":
            break
    for line in stream:
        header = re.fullmatch(rb"ngram\s+(\d{1,3})\s*=\s*(\d{1,18})", line.strip())
        if header is None and line.startswith(b"ngram"):
            raise InputError(f"expected such as 'ngram 1=1000', but found {line[:40]!r}", location=path)
        if header is None:
            break
        if int(header[1]) != len(sizes) + 1:
            raise InputError(
                f"orders must follow each other, but found order {int(header[1])}", location=path
            )
        sizes.append(int(header[2]))
    if not sizes:
        raise InputError(
            "is no ARPA file: there is no \\data\\ section with numbers of n-grams", location=path
        )
    return sizes


class _Sections:
    def __init__(self, path: Path, stream: IO[bytes], sizes: list[int]) -> None:
        self.path, self.stream, self.sizes = path, stream, sizes
        self.levels: list[tuple[Ints, Ints]] = []
        self.index: dict[str, int] = {}

    def read(self) -> Arpa:
        words, first_log10, first_backoff = self._unigrams()
        log10, backoff = [first_log10], [first_backoff]
        for order in range(2, len(self.sizes) + 1):
            ngrams = self._ngrams(order)
            log10.append(ngrams[0])
            backoff.append(ngrams[1])
        kept = np.concatenate(backoff[:-1]) if len(backoff) > 1 else np.empty(0, np.float32)
        return Arpa(words, Trie.from_levels(self.levels), np.concatenate(log10), kept)

    def _unigrams(self) -> tuple[Vocabulary, NDArray[np.float32], NDArray[np.float32]]:
        frame = self._section(1)
        read = frame["w0"].astype(str).tolist()
        vocabulary = Vocabulary([word for word in read if word not in MARKERS])
        self.index = {word: i for i, word in enumerate(vocabulary.words)}
        if len(self.index) != len(vocabulary) or len(set(read)) != len(read):
            raise InputError("some word stands twice among the unigrams", location=self.path)
        for marker in (MARKERS[BOS], MARKERS[EOS]):
            if marker not in read:
                raise InputError(f"the model has no unigram {marker}", location=self.path)
        size = len(vocabulary)
        log10, backoff = np.zeros(size, np.float32), np.zeros(size, np.float32)
        log10[UNK] = UNK_MISSING_LOG10
        ids = [self.index[word] for word in read]
        log10[ids], backoff[ids] = frame["log10"], frame["backoff"]
        self.levels.append((np.arange(size, dtype=np.int32), np.array([0, size], np.int32)))
        return vocabulary, log10, backoff

    def _ngrams(self, order: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        frame = self._section(order)
        columns = [self._ids(frame[f"w{k}"]) for k in range(order)]
        context = columns[0]
        for (words, first), ids in zip(self.levels[1:], columns[1:-1], strict=True):
            context = _find(context, ids, words, first)
        self._check(frame, order, context < 0, "its context is no n-gram of the model", "prune otherwise")
        sort = np.lexsort((columns[-1], context))
        context, last = context[sort], columns[-1][sort]
        twice = np.append((np.diff(context) == 0) & (np.diff(last) == 0), False)
        self._check(frame.iloc[sort], order, twice, "it stands twice", "")
        children = np.bincount(context, minlength=len(self.levels[-1][0]))
        self.levels.append((last, np.concatenate(([0], np.cumsum(children))).astype(np.int32)))
        return frame["log10"].to_numpy()[sort], frame["backoff"].to_numpy()[sort]

    def _ids(self, column: "pd.Series[str]") -> Ints:
        categories = column.astype("category").cat
        known = np.array([self.index.get(word, -1) for word in categories.categories], np.int32)
        ids = known[categories.codes.to_numpy()]
        if len(ids) and ids.min() < 0:
            word = categories.categories[int(np.argmin(known))]
            raise InputError(f"the word '{word}' of an n-gram is no unigram", location=self.path)
        return ids

    def _check(
        self, frame: pd.DataFrame, order: int, bad: NDArray[np.bool_], problem: str, remedy: str
    ) -> None:
        if bad.any():
            row = frame.iloc[int(np.argmax(bad))]
            ngram = " ".join(str(row[f"w{k}"]) for k in range(order))
            raise InputError(
                f"the n-gram '{ngram}' cannot be used: {problem}", location=self.path, remedy=remedy
            )

    def _section(self, order: int) -> pd.DataFrame:
        title = f"\\{order}-grams:".encode()
        for line in self.stream:
            if line.strip() == title:
                break
            if line.strip():
                raise InputError(f"expected {title.decode()}, but found {line!r}", location=self.path)
        left, frames = self.sizes[order - 1], []
        while left:
            lines = list(islice(self.stream, min(left, _LINES_PER_CHUNK)))
            if not lines:
                break
            frames.append(self._parse(order, lines))
            left -= len(lines)
        frame = pd.concat(frames, ignore_index=True) if frames else self._parse(order, [])
        if len(frame) != self.sizes[order - 1]:
            raise InputError(
                f"{self.sizes[order - 1]} {order}-grams were announced, but there are {len(frame)}",
                location=self.path,
            )
        return frame

    def _parse(self, order: int, lines: list[bytes]) -> pd.DataFrame:
        words = [f"w{k}" for k in range(order)]
        try:
            return pd.read_csv(
                io.BytesIO(b"".join(lines).replace(b"\t", b" ")),
                sep=" ",
                header=None,
                names=["log10", *words, "backoff"],
                dtype={"log10": np.float32, "backoff": np.float32, **dict.fromkeys(words, str)},
                keep_default_na=False,
                na_values={"backoff": [""]},
                quoting=3,
                index_col=False,
                encoding="utf-8",
                on_bad_lines="error",
            ).fillna({"backoff": np.float32(0)})
        except (ValueError, pd.errors.ParserError) as error:
            raise InputError(f"bad line among the {order}-grams ({error})", location=self.path) from None


@numba.njit(cache=True, nogil=True)
def _find(contexts: Ints, ids: Ints, words: Ints, first: Ints) -> Ints:
    result = np.full(len(ids), -1, np.int32)
    for i in range(len(ids)):
        if contexts[i] >= 0:
            result[i] = child(words, first[contexts[i]], first[contexts[i] + 1], ids[i])
    return result
