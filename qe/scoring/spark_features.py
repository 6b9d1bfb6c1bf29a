"""Features and n-gram counts on Spark, equal to the local ones: executors compute, the driver collects."""

import functools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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
from qe.scoring.spark import ship_folder, shipped

Ints = NDArray[np.int32]
_BATCH = 2000  # segments of a batch, at most
SLICE = 2_000_000  # tokens that a task counts at a time
_MAX_COUNT = 2**31 - 1  # the counts of a part are 32 bits wide


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
        configs = json.dumps([dict(config) for config in static.configs])
        parts, archive = tuple(parts_needed(static.configs)), None
        if parts and self.bundle is not None:
            if parts not in self._archives:
                # In the bundle's folder, so that its files can be linked.
                with tempfile.TemporaryDirectory(dir=self.bundle.path.parent) as temporary:
                    self.bundle.export(parts, Path(temporary))
                    self._archives[parts] = ship_folder(self.session, Path(temporary))
            archive = self._archives[parts]
        resources = configs, archive, static.fingerprint
        sides = segments.source_tokenizer, segments.target_tokenizer
        tasks = 4 * int(self.session.sparkContext.defaultParallelism)
        size = max(1, min(_BATCH, -(-len(segments) // tasks)))
        self.session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(size))
        content = b""
        if len(segments):
            # Bytes, because texts may hold half surrogate pairs. Spark keeps the order of the rows.
            columns = {
                name: pa.array([value.encode("utf-8", "surrogatepass") for value in column], pa.binary())
                for name, column in segments.columns()
            }
            frame = self.session.createDataFrame(pa.table(columns))
            blocks = frame.mapInArrow(lambda batches: _extracted(batches, resources, sides), "block binary")
            content = b"".join(blocks.toArrow().column("block").to_pylist())
        ends = np.cumsum([len(extractor.feature_names) for extractor in static.extractors])
        table = np.frombuffer(content, np.float64).reshape(len(segments), ends[-1]).copy()
        return dict(zip(numbers, np.hsplit(table, ends[:-1]), strict=True))


def _extracted(
    batches: Iterable[pa.RecordBatch],
    resources: tuple[str, str | None, str],
    tokenizers: tuple[Tokenizer, Tokenizer],
) -> Iterator[pa.RecordBatch]:
    feature_set = _feature_set(*resources)
    for batch in batches:
        columns = {
            name: [value.decode("utf-8", "surrogatepass") for value in values]
            for name, values in batch.to_pydict().items()
        }
        segments = Segments.from_columns(columns, *tokenizers)
        features = np.hstack([checked(extractor, segments) for extractor in feature_set.extractors])
        yield pa.RecordBatch.from_pydict({"block": [np.ascontiguousarray(features).tobytes()]})


@functools.cache
def _feature_set(configs: str, archive: str | None, fingerprint: str) -> FeatureSet:
    feature_set = FeatureSet.make(json.loads(configs), None if archive is None else Bundle(shipped(archive)))
    if feature_set.fingerprint != fingerprint:
        problem = "the executors' feature extractors are not those of the driver"
        raise InputError(problem, remedy="install the same version of qe on all machines")
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
    table = (
        _sorted_counts(session, ids, np.asarray(tokens.offsets), size, order) if order > 1 else pa.table({})
    )
    # Order 1 lists the whole vocabulary; its counts came with the encoding.
    parents = np.arange(size, dtype=np.int32)[:, None]
    levels = [(parents[:, 0], np.array([0, size], np.int32))]
    occurrences = [np.bincount(ids, minlength=size)]
    for n in range(2, order + 1):
        part = table.filter(pc.equal(table["n"], n))
        keys = b"".join(part["ngram"].to_pylist())
        ngrams = np.frombuffer(keys, ">i4").astype(np.int32).reshape(-1, n)
        starts = np.searchsorted(_keys(ngrams[:, :-1]), _keys(parents)) if len(ngrams) else 0 * parents[:, 0]
        levels.append((np.ascontiguousarray(ngrams[:, -1]), np.append(starts, len(ngrams)).astype(np.int32)))
        occurrences.append(part["times"].to_numpy())
        parents = ngrams
    counts = np.concatenate(occurrences)
    if counts.max(initial=0) > _MAX_COUNT:
        raise InputError(f"an n-gram occurs {counts.max()} times; at most {_MAX_COUNT} can be kept")
    trie = Trie.from_levels(levels)
    return NgramCounts(
        vocabulary,
        trie.compact(),
        counted(counts.astype(np.int32)),
        settings={"order": order, "case": case, "ngrams": list(trie.sizes)},
        corpus_fingerprint=fingerprint or tokens.fingerprint,
    )


def _keys(ngrams: Ints) -> NDArray[np.bytes_]:
    """Big-endian ids: their order as bytes is their order as numbers."""
    return np.frombuffer(np.ascontiguousarray(ngrams, ">i4").tobytes(), f"S{4 * ngrams.shape[1]}")


def _sorted_counts(
    session: Any, ids: Ints, offsets: NDArray[np.int64], vocabulary: int, order: int
) -> pa.Table:
    slices = max(1, -(-int(offsets[-1]) // SLICE))
    starts = np.unique(np.searchsorted(offsets, np.linspace(0, offsets[-1], slices + 1)[:-1])).tolist()
    with tempfile.TemporaryDirectory() as temporary:
        np.save(Path(temporary) / "ids.npy", ids)
        np.save(Path(temporary) / "offsets.npy", offsets)
        archive = ship_folder(session, Path(temporary))
    parts = list(pairwise((*starts, len(offsets) - 1)))
    counts = session.range(0, len(parts), 1, len(parts)).mapInArrow(
        lambda batches: _slice_counts(batches, archive, parts, vocabulary, order),
        "n int, ngram binary, times bigint",
    )
    total = counts.groupBy("n", "ngram").sum("times").orderBy("n", "ngram")
    return total.toDF("n", "ngram", "times").toArrow()


def _slice_counts(
    batches: Iterable[pa.RecordBatch], archive: str, parts: list[tuple[int, int]], vocabulary: int, order: int
) -> Iterator[pa.RecordBatch]:
    ids, offsets = (np.load(shipped(archive) / f"{name}.npy", mmap_mode="r") for name in ("ids", "offsets"))
    for number in (number for batch in batches for number in batch.column(0).to_pylist()):
        first, last = parts[number]
        texts = np.array(offsets[first : last + 1])
        tables = ngram_tables(np.array(ids[texts[0] : texts[-1]]), texts - texts[0], vocabulary, order)
        ngrams = np.arange(vocabulary, dtype=np.int32)[:, None]
        next(tables)
        for n, table in enumerate(tables, start=2):
            ngrams = np.column_stack([np.repeat(ngrams, np.diff(table.first), axis=0), table.words])
            size, content = len(ngrams), pa.py_buffer(np.ascontiguousarray(ngrams, ">i4").tobytes())
            keys = pa.FixedSizeBinaryArray.from_buffers(pa.binary(4 * n), size, [None, content])
            columns = {"n": np.full(size, n, np.int32), "ngram": keys.cast(pa.binary())}
            yield pa.RecordBatch.from_pydict({**columns, "times": pa.array(table.counts, pa.int64())})
