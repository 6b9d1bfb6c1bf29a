"""Features and n-gram counts on Spark, equal to the local ones: executors compute, the driver collects."""

import functools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.bundle import Bundle
from features.core.extractor import FittedExtractor
from features.core.feature_set import FeatureSet, checked, parts_needed
from features.core.resource import OnlyForParts, Resource
from features.core.segments import Segments
from features.resources.annotation import Annotation
from features.resources.ngrams import NgramCounts, NgramCountsBuilder
from features.storage.compact import counted
from features.text.annotation import Layer
from features.text.corpus import ParallelCorpus, Side
from features.text.ngram_tables import Case, Trie, cased, encode, ngram_tables
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from qe.scoring.spark.session import ship_folder, shipped

Ints = NDArray[np.int32]
CHUNK = 2000  # segments of a batch, at most
SLICE = 2_000_000  # tokens that a task counts at a time
_BATCH = 100_000  # n-grams
_MAX_COUNT = 2**31 - 1  # the counts of a part are 32 bits wide
_ROW = "_qe_row"


@dataclass
class Executors:
    """Computes feature blocks on the executors; a `compute` for qe.training.extraction.Extraction."""

    session: Any
    bundle: Bundle | None
    _blocks: dict[str, dict[int, FloatArray]] = field(default_factory=dict)
    _archives: dict[tuple[str, ...], str] = field(default_factory=dict)

    def __call__(self, feature_set: FeatureSet, i: int, segments: Segments) -> FloatArray:
        key = segments.fingerprint
        if key not in self._blocks:
            self._blocks = {key: self._computed(feature_set, segments)}
        return self._blocks[key][i]

    def _computed(self, feature_set: FeatureSet, segments: Segments) -> dict[int, FloatArray]:
        numbers = [i for i, e in enumerate(feature_set.extractors) if not isinstance(e, FittedExtractor)]
        static = FeatureSet(
            tuple(feature_set.configs[i] for i in numbers), tuple(feature_set.extractors[i] for i in numbers)
        )
        widths = [len(extractor.feature_names) for extractor in static.extractors]
        table = np.empty((len(segments), sum(widths)))
        configs = json.dumps([dict(config) for config in static.configs])
        resources = configs, self._archive(static), static.fingerprint
        sides = segments.source_tokenizer, segments.target_tokenizer
        tasks = 4 * int(self.session.sparkContext.defaultParallelism)
        size = max(1, min(CHUNK, -(-len(segments) // tasks)))
        self.session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(size))
        if len(segments):
            frame = self.session.createDataFrame(_arrow(segments))
            schema = "rows binary, features binary"
            blocks = frame.mapInArrow(lambda batches: _extracted(batches, resources, sides), schema)
            for block in blocks.toArrow().to_pylist():
                rows = np.frombuffer(block["rows"], np.int64)
                table[rows] = np.frombuffer(block["features"], np.float64).reshape(len(rows), -1)
        return dict(zip(numbers, np.hsplit(table, np.cumsum(widths)[:-1]), strict=True))

    def _archive(self, feature_set: FeatureSet) -> str | None:
        parts = tuple(parts_needed(feature_set.configs))
        if not parts or self.bundle is None:
            return None
        if parts not in self._archives:
            # In the bundle's folder, so that its files can be linked.
            with tempfile.TemporaryDirectory(dir=self.bundle.path.parent) as temporary:
                self.bundle.export(parts, Path(temporary))
                self._archives[parts] = ship_folder(self.session, Path(temporary))
        return self._archives[parts]


def _arrow(segments: Segments) -> pa.Table:
    columns = {
        name: pa.array([value.encode("utf-8", "surrogatepass") for value in column], pa.binary())
        for name, column in segments.columns()
    }
    return pa.table({_ROW: pa.array(np.arange(len(segments))), **columns})


def _extracted(
    batches: Iterable[pa.RecordBatch],
    resources: tuple[str, str | None, str],
    tokenizers: tuple[Tokenizer, Tokenizer],
) -> Iterator[pa.RecordBatch]:
    feature_set = _feature_set(*resources)
    for batch in batches:
        columns = {
            name: [value.decode("utf-8", "surrogatepass") for value in batch.column(name).to_pylist()]
            for name in batch.schema.names
            if name != _ROW
        }
        segments = Segments.from_columns(columns, *tokenizers)
        features = np.hstack([checked(extractor, segments) for extractor in feature_set.extractors])
        rows = batch.column(_ROW).to_numpy()
        content = {"rows": [rows.tobytes()], "features": [np.ascontiguousarray(features).tobytes()]}
        yield pa.RecordBatch.from_pydict(content)


@functools.cache
def _feature_set(configs: str, archive: str | None, fingerprint: str) -> FeatureSet:
    feature_set = FeatureSet.make(json.loads(configs), None if archive is None else Bundle(shipped(archive)))
    if feature_set.fingerprint != fingerprint:
        raise InputError(
            "the executors' feature extractors are not those of the driver",
            remedy="install the same version of qe on all machines",
        )
    return feature_set


def builders(session: Any) -> Mapping[str, Callable[..., Resource]]:
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
        counts = count(session, text, order=order, case=case, fingerprint=corpus.fingerprint)
        return counts.with_settings(side=side, **local.units(text))

    return {"ngrams": build}


def count(
    session: Any, tokens: Tokens, *, order: int, case: Case = "lower", fingerprint: str | None = None
) -> NgramCounts:
    """The same counts, in the same files, as `NgramCounts.from_tokens`; fewer than 2^31 of them."""
    vocabulary, ids = encode(cased(tokens, case))
    size = len(vocabulary)
    # Order 1 lists the whole vocabulary; its counts came with the encoding.
    parents = np.arange(size, dtype=np.int32)[:, None]
    levels = [(parents[:, 0], np.array([0, size], np.int32))]
    occurrences = [_narrow(np.bincount(ids, minlength=size))]
    table = _sorted_counts(session, ids, np.asarray(tokens.offsets), size, order) if order > 1 else {}
    for n in range(2, order + 1):
        ngrams, counts = table.get(n, (np.empty((0, n), np.int32), np.empty(0, np.int64)))
        starts = np.searchsorted(_keys(ngrams[:, :-1]), _keys(parents)) if len(ngrams) else 0 * parents[:, 0]
        levels.append((np.ascontiguousarray(ngrams[:, -1]), np.append(starts, len(ngrams)).astype(np.int32)))
        occurrences.append(_narrow(counts))
        parents = ngrams
    trie = Trie.from_levels(levels)
    return NgramCounts(
        vocabulary,
        trie.compact(),
        counted(np.concatenate(occurrences)),
        settings={"order": order, "case": case, "ngrams": list(trie.sizes)},
        corpus_fingerprint=fingerprint or tokens.fingerprint,
    )


def _keys(ngrams: Ints) -> NDArray[np.bytes_]:
    width = 4 * ngrams.shape[1]
    return np.frombuffer(np.ascontiguousarray(ngrams, ">i4").tobytes(), f"S{width}")


def _narrow(counts: NDArray[np.int64]) -> Ints:
    if len(counts) and counts.max() > _MAX_COUNT:
        raise InputError(f"an n-gram occurs {counts.max()} times; at most {_MAX_COUNT} can be kept")
    return counts.astype(np.int32)


def _sorted_counts(
    session: Any, ids: Ints, offsets: NDArray[np.int64], vocabulary: int, order: int
) -> dict[int, tuple[Ints, NDArray[np.int64]]]:
    slices = max(1, -(-int(offsets[-1]) // SLICE))
    starts = np.unique(np.searchsorted(offsets, np.linspace(0, offsets[-1], slices + 1)[:-1])).tolist()
    with tempfile.TemporaryDirectory() as temporary:
        np.save(Path(temporary) / "ids.npy", ids)
        np.save(Path(temporary) / "offsets.npy", offsets)
        archive = ship_folder(session, Path(temporary))
    ends = (*starts, len(offsets) - 1)
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_BATCH))
    counts = session.range(0, len(starts), 1, len(starts)).mapInArrow(
        lambda batches: _slice_counts(batches, archive, ends, vocabulary, order),
        "n int, ngram binary, times bigint",
    )
    # Big-endian ids: their order as bytes is their order as numbers.
    total = (
        counts.groupBy("n", "ngram").sum("times").orderBy("n", "ngram").toDF("n", "ngram", "times").toArrow()
    )
    orders = total.column("n").to_numpy()
    tables = {}
    for n in np.unique(orders).tolist():
        low, high = np.searchsorted(orders, [n, n + 1]).tolist()
        part = total.slice(low, high - low)
        ngrams = np.frombuffer(b"".join(part.column("ngram").to_pylist()), ">i4").astype(np.int32)
        tables[n] = ngrams.reshape(-1, n), part.column("times").to_numpy()
    return tables


def _slice_counts(
    batches: Iterable[pa.RecordBatch], archive: str, ends: tuple[int, ...], vocabulary: int, order: int
) -> Iterator[pa.RecordBatch]:
    folder = shipped(archive)
    ids = np.load(folder / "ids.npy", mmap_mode="r")
    offsets = np.load(folder / "offsets.npy", mmap_mode="r")
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        texts = np.array(offsets[ends[number] : ends[number + 1] + 1])
        tables = ngram_tables(np.array(ids[texts[0] : texts[-1]]), texts - texts[0], vocabulary, order)
        ngrams = np.arange(vocabulary, dtype=np.int32)[:, None]
        for n, table in enumerate(tables, start=1):
            if n == 1:
                continue
            ngrams = np.column_stack([np.repeat(ngrams, np.diff(table.first), axis=0), table.words])
            keys = np.ascontiguousarray(ngrams, ">i4").tobytes()
            for start in range(0, len(ngrams), _BATCH):
                times = table.counts[start : start + _BATCH]
                width = 4 * n
                part = pa.py_buffer(keys[start * width : (start + len(times)) * width])
                fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(times), [None, part])
                orders = pa.array(np.full(len(times), n, np.int32))
                columns = [orders, fixed.cast(pa.binary()), pa.array(times, pa.int64())]
                yield pa.RecordBatch.from_arrays(columns, ["n", "ngram", "times"])
