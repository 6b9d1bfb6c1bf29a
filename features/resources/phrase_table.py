"""PhraseTable: phrase pairs of the aligned corpus with phrase probabilities and lexical weights."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numba
import numpy as np
from numpy.typing import NDArray

from features.core.corpus import ParallelCorpus
from features.core.errors import InputError
from features.core.progress import Progress, silent
from features.core.resource import Resource, load_arrays, save_arrays
from features.core.tokens import Tokens
from features.core.vocabulary import Vocabulary
from features.resources._links import Links
from features.resources._phrases import MOST_SLOTS, AlignedText, Counted, count_partition, keys_of
from features.resources.aligner import Aligner, Symmetrization

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Keys = NDArray[np.uint64]
Singles = NDArray[np.float32]

_THREADS = 2
# Distinct entries expected per token of the corpus, and the share of a hash table planned to be filled.
_ENTRIES, _FILLED = 7, 0.55


@dataclass(frozen=True, eq=False)
class PhraseTable(Resource):
    """Phrase pairs of up to `longest` words a side, consistent with the word alignment (Koehn et al. 2003).

    Source phrases are rows 0 .. n - 1, target phrases 0 .. m - 1, both by their 64-bit keys; the entries of
    row r are offsets[r] .. offsets[r + 1], by target phrase.

    target          (entries,) target phrase
    counts          (entries,) how often extracted
    forward         (entries,) p(target phrase | source phrase), relative frequency before pruning
    backward        (entries,) p(source phrase | target phrase)
    forward_weight  (entries,) natural logarithm of the lexical weight of the target given the source
    backward_weight (entries,) of the source given the target; of several alignments the best
    target_words    the words of target phrase t are target_words[target_starts[t] : target_starts[t + 1]],
                    ids of `target_vocabulary`

    Words are lower-cased.
    """

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {"phrase_table": {}}

    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    source_keys: Keys
    target_keys: Keys
    offsets: Longs
    target: Ints
    counts: Ints
    forward: Singles
    backward: Singles
    forward_weight: Singles
    backward_weight: Singles
    target_starts: Longs
    target_words: Ints
    settings: Mapping[str, Any]
    corpus_fingerprint: str

    @classmethod
    def build(  # type: ignore[override]
        cls,
        corpus: ParallelCorpus,
        aligner: Aligner,
        *,
        progress: Progress = silent,
        longest: int = 5,
        minimum: int = 2,
        symmetrization: Symmetrization = "grow-diag-final-and",
    ) -> Self:
        """Aligns the corpus, extracts, counts and scores; pairs seen fewer than `minimum` times are left out.

        Memory is bounded: the keys are counted in partitions, each in a hash table of fixed size.
        """
        links = aligner.align(corpus.source, corpus.target, symmetrization, progress=progress)
        provenance = {"symmetrization": symmetrization, "aligner": aligner.fingerprint}
        return cls.from_links(corpus, links, longest, minimum, provenance, progress=progress)

    @classmethod
    def from_links(
        cls,
        corpus: ParallelCorpus,
        links: Links,
        longest: int = 5,
        minimum: int = 2,
        provenance: Mapping[str, Any] | None = None,
        *,
        progress: Progress = silent,
    ) -> Self:
        """From links made elsewhere (`Links.read`); `provenance` joins the settings.

        Raises InputError where the links are of another number of pairs, or point outside a sentence.
        """
        if len(links) != len(corpus):
            raise InputError(f"expected links of {len(corpus)} sentence pairs, but found {len(links)}")
        links.check(corpus.source.lengths, corpus.target.lengths, "links")
        settings = {"longest": longest, "minimum": minimum, **(provenance or {})}
        source_vocabulary, source = _encoded(corpus.source)
        target_vocabulary, target = _encoded(corpus.target)
        text = _weighted(source, target, links)
        keys = keys_of(source.ids, source.offsets, longest), keys_of(target.ids, target.offsets, longest)
        counted = _count(text, keys, longest, minimum, progress)
        table = _assemble(counted)
        starts, words = _words_of(table["target_keys"], keys[1], target)
        return cls(
            source_vocabulary=source_vocabulary,
            target_vocabulary=target_vocabulary,
            target_starts=starts,
            target_words=words,
            settings=settings,
            corpus_fingerprint=corpus.fingerprint,
            **table,
        )

    @property
    def longest(self) -> int:
        """Words of the longest phrases."""
        return int(self.settings["longest"])

    def save(self, path: Path) -> None:
        self.source_vocabulary.save(path / "source.txt")
        self.target_vocabulary.save(path / "target.txt")
        meta = {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint}
        arrays = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        save_arrays(path, meta, **arrays)

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = load_arrays(path)
        content: dict[str, Any] = {**arrays, **meta}
        for side in ("source", "target"):
            content[f"{side}_vocabulary"] = Vocabulary.load(path / f"{side}.txt")
        return cls(**content)

    def phrases(self, tokens: Tokens, side: Literal["source", "target"]) -> Ints:
        """(n_tokens, longest) the phrase that starts at each token with 1, 2, ... words.

        -1 where the n-gram is no phrase of the table or passes the end of its text.
        """
        vocabulary = self.source_vocabulary if side == "source" else self.target_vocabulary
        known = self.source_keys if side == "source" else self.target_keys
        lowered = tokens.lower()
        keys = keys_of(lowered.ids_in(vocabulary), lowered.offsets, self.longest)
        return _find(known, keys)

    def phrase(self, target: int) -> str:
        """The words of a target phrase."""
        first, last = self.target_starts[target], self.target_starts[target + 1]
        return " ".join(self.target_vocabulary.word(word) for word in self.target_words[first:last])


def _find(known: Keys, keys: Keys) -> Ints:
    """The places of keys among the known ones, -1 for those that are not there."""
    found = np.full(keys.size, -1, np.int32)
    if len(known):
        _search(known, keys.ravel(), found)
    return found.reshape(keys.shape)


@numba.njit(cache=True, nogil=True)
def _search(known: Any, keys: Any, found: Any) -> None:
    """Interpolates twice, as keys are spread evenly, and gallops from there; key 0 is nowhere."""
    half, last = np.uint64(32), len(known) - 1
    step = np.float64(len(known)) / 2.0**64
    for k in range(len(keys)):
        key = keys[k]
        if key == 0:
            continue
        place: Any = np.int64((key >> half) * np.uint64(len(known)) >> half)
        if known[place] < key:
            place = min(place + np.int64(np.float64(key - known[place]) * step), last)
        else:
            place = max(place - np.int64(np.float64(known[place] - key) * step), 0)
        place = _gallop(known, key, place)
        if place <= last and known[place] == key:
            found[k] = place


@numba.njit(cache=True, nogil=True)
def _gallop(known: Any, key: Any, place: int) -> Any:
    """The first place that holds `key` or more, looked for around a guess."""
    low, high, step = place, place, 1
    while low > 0 and known[low - 1] >= key:
        high = low
        low = max(low - step, 0)
        step *= 2
    while high < len(known) and known[high] < key:
        low = high + 1
        high = min(high + step, len(known))
        step *= 2
    while low < high:
        middle = (low + high) >> 1
        if known[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


def _encoded(tokens: Tokens) -> tuple[Vocabulary, Tokens]:
    lowered = tokens.lower()
    vocabulary, mapping = Vocabulary.by_frequency(lowered.types, lowered.ids)
    return vocabulary, Tokens(vocabulary.words, mapping[lowered.ids], lowered.offsets)


def _weighted(source: Tokens, target: Tokens, links: Links) -> AlignedText:
    """Adds lexical weights: w(t | s) is the share of s's links that go to t, of unaligned words for NULL.

    A target word's factor in any phrase pair is the mean over its links (Koehn et al. 2003, section 3.4): as
    a consistent pair holds all links of its words, the factor is the same in all of them.
    """
    sentence = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    s, t = source.offsets[sentence] + links.source, target.offsets[sentence] + links.target
    one = _token_weights(source, target, s, t)
    other = _token_weights(target, source, t, s)
    return AlignedText(
        source.ids, source.offsets, target.ids, target.offsets,
        links.offsets, links.source, links.target, other, one,
    )  # fmt: skip


def _token_weights(given: Tokens, words: Tokens, links_given: Longs, links_words: Longs) -> Singles:
    """(n_tokens of `words`,) log mean w(word | given) over the links, w(word | NULL) without any."""
    own = np.bincount(links_words, minlength=len(words.ids))
    free = own == 0
    size = len(words.types)
    pairs = given.ids[links_given].astype(np.int64) * size + words.ids[links_words]
    distinct, index, count = np.unique(pairs, return_inverse=True, return_counts=True)
    totals = np.bincount(given.ids[links_given], minlength=len(given.types))
    weight = (count / totals[distinct // size])[index]
    mean = np.bincount(links_words, weights=weight, minlength=len(own)) / np.maximum(own, 1)
    null = np.bincount(words.ids[free], minlength=size) / max(int(free.sum()), 1)
    return np.log(np.where(free, null[words.ids], mean)).astype(np.float32)


def _count(
    text: AlignedText, keys: tuple[Keys, Keys], longest: int, minimum: int, progress: Progress
) -> list[Counted]:
    """All partitions; twice as many where one does not fit."""
    expected = _ENTRIES * (len(text.source) + len(text.target)) / _FILLED
    slots = min(MOST_SLOTS, 1 << max(10, int(expected)).bit_length())
    bits = max(1, int(np.ceil(np.log2(expected / slots))))
    while True:
        counted = _count_partitions(text, keys, longest, minimum, bits, slots, progress)
        if counted is not None:
            return counted
        bits += 1


def _count_partitions(
    text: AlignedText,
    keys: tuple[Keys, Keys],
    longest: int,
    minimum: int,
    bits: int,
    slots: int,
    progress: Progress,
) -> list[Counted] | None:
    """All 2^bits partitions; None as soon as one does not fit."""
    parts = range(1 << bits)
    counted: list[Counted] = []

    def count(part: int) -> Counted | None:
        return count_partition(text, keys, longest, part, bits, slots, minimum)

    with ThreadPoolExecutor(_THREADS) as pool:
        for entries in pool.map(count, parts):
            if entries is None:
                pool.shutdown(cancel_futures=True)
                return None
            counted.append(entries)
            progress("phrase table: counting", len(counted), len(parts))
    return counted


def _assemble(counted: list[Counted]) -> dict[str, Any]:
    """Sorted keys, entries by row, probabilities."""
    source, target, counts, forward_weight, backward_weight = (
        np.concatenate([getattr(c, name) for c in counted])
        for name in ("source", "target", "counts", "forward", "backward")
    )
    source_total, target_total = target == 0, source == 0
    pairs = np.flatnonzero(~source_total & ~target_total)
    source_keys, target_keys = np.unique(source[pairs]), np.unique(target[pairs])
    source_sums = _totals(source_keys, source[source_total], counts[source_total])
    target_sums = _totals(target_keys, target[target_total], counts[target_total])
    rows = np.searchsorted(source_keys, source[pairs]).astype(np.int32)
    columns = np.searchsorted(target_keys, target[pairs]).astype(np.int32)
    order = np.lexsort((columns, rows))
    rows, columns, pairs = rows[order], columns[order], pairs[order]
    sizes = np.bincount(rows, minlength=len(source_keys))
    return {
        "source_keys": source_keys,
        "target_keys": target_keys,
        "offsets": np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        "target": columns,
        "counts": counts[pairs],
        "forward": (counts[pairs] / source_sums[rows]).astype(np.float32),
        "backward": (counts[pairs] / target_sums[columns]).astype(np.float32),
        "forward_weight": forward_weight[pairs],
        "backward_weight": backward_weight[pairs],
    }


def _totals(wanted: Keys, keys: Keys, counts: Ints) -> Ints:
    """The counts of the wanted keys, all of which are among `keys`."""
    order = np.argsort(keys)
    return np.asarray(counts[order][np.searchsorted(keys[order], wanted)], np.int32)


def _words_of(wanted: Keys, keys: Keys, tokens: Tokens) -> tuple[Longs, Ints]:
    """The words of the wanted keys, from where they occur first: (m + 1,) starts and word ids."""
    lengths, places = np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
    _first_places(wanted, keys, lengths, places)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    index = np.arange(starts[-1]) + np.repeat(places - starts[:-1], lengths)
    return starts, tokens.ids[index]


@numba.njit(cache=True, nogil=True)
def _first_places(wanted: Any, keys: Any, lengths: Any, places: Any) -> None:
    for token in range(keys.shape[0]):
        for n in range(keys.shape[1]):
            if keys[token, n] != 0 and len(wanted):
                place = np.searchsorted(wanted, keys[token, n])
                if place < len(wanted) and wanted[place] == keys[token, n] and lengths[place] == 0:
                    lengths[place], places[place] = n + 1, token
