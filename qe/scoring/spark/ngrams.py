"""N-gram counting on Spark.

Executors count slices of the corpus; the counts are added up into one sorted table.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.resource import OnlyForParts, Resource
from features.resources.annotation import Annotation
from features.resources.ngrams import NgramCounts, NgramCountsBuilder
from features.storage.compact import counted
from features.text.annotation import Layer
from features.text.corpus import ParallelCorpus, Side
from features.text.ngram_tables import Case, Trie, cased, encode, ngram_tables
from features.text.tokens import Tokens
from qe.scoring.spark.shipping import ship_folder, shipped
from qe.scoring.spark.streaming import streamed

Ints = NDArray[np.int32]
SLICE = 2_000_000  # tokens that a task counts at a time
_BATCH = 100_000  # n-grams
_LARGEST = 2**31 - 1  # the counts of a part are 32 bits wide
Level = tuple[Ints, Ints, Ints]  # last words, first child of each context, counts


def builders(session: Any) -> Mapping[str, Callable[..., Resource]]:
    """What `features.core.bundle.build` runs on Spark, by kind."""

    def build(
        corpus: ParallelCorpus,
        *,
        side: Side,
        order: int,
        case: Case = "lower",
        layer: Annotated[Layer, OnlyForParts("annotation")] = "xpos",
        annotation: Annotation | None = None,
        progress: Progress = silent,
    ) -> NgramCounts:
        local = NgramCountsBuilder(side=side, order=order, case=case, layer=layer, annotation=annotation)
        text = local.text(corpus)
        counted = count(session, text, order=order, case=case, fingerprint=corpus.fingerprint)
        return counted.with_settings(side=side, **local.units(text))

    return {"ngrams": build}


def count(
    session: Any, tokens: Tokens, *, order: int, case: Case = "lower", fingerprint: str | None = None
) -> NgramCounts:
    """The same counts, in the same files, as `NgramCounts.from_tokens`.

    The text is shipped once to every executor as word ids (4 bytes per token), memory-mapped there. The
    driver holds the ids and the finished table (12 bytes per n-gram); the local build holds 16 bytes more per
    token, and stops at 2^31 tokens.

    Raises InputError if an n-gram occurs 2^31 times or more, or there are 2^31 of them.
    """
    text = cased(tokens, case)
    vocabulary, ids = encode(text)
    offsets = np.asarray(text.offsets)
    # Order 1 lists the whole vocabulary; its counts came with the encoding.
    size = len(vocabulary)
    everything = np.arange(size, dtype=np.int32), np.array([0, size], np.int32)
    levels: list[Level] = [(*everything, _narrow(np.bincount(ids, minlength=size)))]
    if order > 1:
        levels += _levels(_sorted_counts(session, ids, offsets, size, order), size, order)
    trie = Trie.from_levels([(words, first) for words, first, _ in levels])
    settings = {"order": order, "case": case, "ngrams": list(trie.sizes)}
    occurrences = np.concatenate([counts for _, _, counts in levels])
    return NgramCounts(
        vocabulary,
        trie.compact(),
        counted(occurrences),
        settings=settings,
        corpus_fingerprint=fingerprint or tokens.fingerprint,
    )


def _sorted_counts(
    session: Any, ids: Ints, offsets: NDArray[np.int64], vocabulary: int, order: int
) -> Iterator[tuple[Ints, NDArray[np.int64]]]:
    with tempfile.TemporaryDirectory() as temporary:
        np.save(Path(temporary) / "ids.npy", ids)
        np.save(Path(temporary) / "offsets.npy", offsets)
        task = _Task(ship_folder(session, Path(temporary)), vocabulary, order, _slices(offsets))
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_BATCH))
    slices = session.range(0, len(task.begins) - 1, 1, len(task.begins) - 1)
    counted = slices.mapInArrow(lambda batches: task.run(batches), "n int, ngram binary, times bigint")
    # Big-endian ids: their order as bytes is their order as numbers.
    total = counted.groupBy("n", "ngram").sum("times").orderBy("n", "ngram")
    packed = total.toDF("n", "ngram", "times").mapInArrow(_packed, "n int, ngrams binary, times binary")
    for n, ngrams, times in streamed(packed):
        rows = np.frombuffer(ngrams, ">i4").astype(np.int32).reshape(-1, n)
        yield rows, np.frombuffer(times, np.int64)


def _slices(offsets: NDArray[np.int64]) -> tuple[int, ...]:
    n = max(1, -(-int(offsets[-1]) // SLICE))
    begins = np.searchsorted(offsets, np.linspace(0, offsets[-1], n + 1)[:-1])
    return (*np.unique(begins).tolist(), len(offsets) - 1)


@dataclass(frozen=True)
class _Task:
    archive: str
    vocabulary: int
    order: int
    begins: tuple[int, ...]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        folder = shipped(self.archive)
        ids = np.load(folder / "ids.npy", mmap_mode="r")
        offsets = np.load(folder / "offsets.npy", mmap_mode="r")
        for batch in batches:
            for number in batch.column(0).to_pylist():
                low, high = offsets[self.begins[number]], offsets[self.begins[number + 1]]
                texts = np.array(offsets[self.begins[number] : self.begins[number + 1] + 1]) - low
                yield from self._counted(np.array(ids[low:high]), texts)

    def _counted(self, ids: Ints, offsets: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        ngrams = np.arange(self.vocabulary, dtype=np.int32)[:, None]
        for n, table in enumerate(ngram_tables(ids, offsets, self.vocabulary, self.order), start=1):
            if n == 1:
                continue
            ngrams = np.column_stack([np.repeat(ngrams, np.diff(table.first), axis=0), table.words])
            for start in range(0, len(ngrams), _BATCH):
                keys, times = ngrams[start : start + _BATCH], table.counts[start : start + _BATCH]
                yield _batch(n, keys, times)


def _batch(n: int, ngrams: Ints, times: Ints) -> pa.RecordBatch:
    keys = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(4 * n), len(ngrams), [None, pa.py_buffer(np.ascontiguousarray(ngrams, ">i4").tobytes())]
    )
    columns = [
        pa.array(np.full(len(ngrams), n, np.int32)),
        keys.cast(pa.binary()),
        pa.array(times, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, ["n", "ngram", "times"])


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        orders = batch.column("n").to_numpy()
        for n in np.unique(orders).tolist():
            rows = batch.filter(pa.array(orders == n))
            times = rows.column("times").to_numpy().tobytes()
            content = {"n": [n], "ngrams": [b"".join(rows.column("ngram").to_pylist())], "times": [times]}
            schema = pa.schema([("n", pa.int32()), ("ngrams", pa.binary()), ("times", pa.binary())])
            yield pa.RecordBatch.from_pydict(content, schema)


def _levels(blocks: Iterable[tuple[Ints, NDArray[np.int64]]], vocabulary: int, order: int) -> list[Level]:
    known = [(np.arange(vocabulary, dtype=np.int32), np.array([0, vocabulary], np.int32))]
    waiting = _by_order(blocks)
    levels: list[Level] = []
    for n in range(2, order + 1):
        below = Trie.from_levels(known)
        children = np.zeros(len(known[-1][0]), np.int64)
        words, times = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for ngrams, counts in waiting(n):
            np.add.at(children, _contexts(below, ngrams), 1)
            words.append(np.ascontiguousarray(ngrams[:, -1]))
            times.append(_narrow(counts))
        first = np.concatenate(([0], np.cumsum(children))).astype(np.int32)
        levels.append((np.concatenate(words), first, np.concatenate(times)))
        known.append(levels[-1][:2])
    return levels


def _contexts(below: Trie, ngrams: Ints) -> NDArray[np.int64]:
    n = ngrams.shape[1]
    if n == 2:
        return ngrams[:, 0].astype(np.int64)
    offsets = np.arange(len(ngrams) + 1, dtype=np.int64) * (n - 1)
    nodes = below.ending(np.ascontiguousarray(ngrams[:, :-1]).ravel(), offsets, n - 1)[n - 2 :: n - 1]
    return nodes.astype(np.int64) - int(below.begins[n - 2])


def _by_order(
    blocks: Iterable[tuple[Ints, NDArray[np.int64]]],
) -> Callable[[int], Iterator[tuple[Ints, NDArray[np.int64]]]]:
    rest = iter(blocks)
    ahead = [next(rest, None)]

    def of(n: int) -> Iterator[tuple[Ints, NDArray[np.int64]]]:
        while (block := ahead[0]) is not None and block[0].shape[1] == n:
            yield block
            ahead[0] = next(rest, None)

    return of


def _narrow(counts: NDArray[np.int64]) -> Ints:
    if len(counts) and counts.max() > _LARGEST:
        raise InputError(f"an n-gram occurs {counts.max()} times; at most {_LARGEST} can be kept")
    return counts.astype(np.int32)
