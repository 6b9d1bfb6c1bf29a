"""ARPA files: n-gram models as text, the format that SRILM, IRSTLM and KenLM share."""

import gzip
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from typing import IO

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.storage.files import DAMAGED_GZIP, open_binary
from features.text.ngram_tables import Ints, Trie, child
from features.text.tokens import BOS, EOS, MARKERS, UNK, Vocabulary

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
    compress = _gzipped if gzipped else bytes
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


def _gzipped(text: bytes) -> bytes:
    return gzip.compress(text, compresslevel=1, mtime=0)


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
