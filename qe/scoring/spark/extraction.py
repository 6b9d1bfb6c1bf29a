"""Extraction on Spark: batches of segments on the executors.

Only extractors that learn nothing run there.
"""

import functools
import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.core.bundle import Bundle
from features.core.extractor import FittedExtractor
from features.core.feature_set import FeatureSet, checked, parts_needed
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer
from qe.scoring.spark.shipping import ship_folder, shipped
from qe.scoring.spark.streaming import streamed

CHUNK = 2000  # segments of a batch, at most
_ROW = "_qe_row"


@dataclass
class Executors:
    """Computes feature blocks on the executors.

    It is a `compute` for qe.training.extraction.Extraction.

    All extractors see a batch of segments together, so that its tokens are made once; the blocks of the
    segments last seen are kept until all have been asked for.

    Raises InputError if an executor's resources or settings are not the driver's.
    """

    session: Any
    bundle: Bundle | None
    _blocks: dict[str, dict[int, FloatArray]] = field(default_factory=dict)
    _shipped: dict[tuple[str, ...], str] = field(default_factory=dict)

    def __call__(self, feature_set: FeatureSet, i: int, segments: Segments) -> FloatArray:
        """(n, k) what extractor i computes."""
        key = segments.fingerprint
        if key not in self._blocks:
            self._blocks = {key: self._computed(feature_set, segments)}
        return self._blocks[key][i]

    def _computed(self, feature_set: FeatureSet, segments: Segments) -> dict[int, FloatArray]:
        chosen = [i for i, e in enumerate(feature_set.extractors) if not isinstance(e, FittedExtractor)]
        static = FeatureSet(
            tuple(feature_set.configs[i] for i in chosen), tuple(feature_set.extractors[i] for i in chosen)
        )
        widths = [len(extractor.names) for extractor in static.extractors]
        table = np.empty((len(segments), sum(widths)))
        if len(segments):
            self._fill(table, static, segments)
        return dict(zip(chosen, np.hsplit(table, np.cumsum(widths)[:-1]), strict=True))

    def _fill(self, table: FloatArray, feature_set: FeatureSet, segments: Segments) -> None:
        task = _Task(
            json.dumps([dict(config) for config in feature_set.configs]),
            feature_set.fingerprint,
            self._archive(feature_set),
            json.dumps([segments.source_tokenizer.settings(), segments.target_tokenizer.settings()]),
        )
        tasks = 4 * int(self.session.sparkContext.defaultParallelism)
        size = min(CHUNK, -(-len(segments) // tasks))
        self.session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(size))
        frame = self.session.createDataFrame(_arrow(segments))
        blocks = frame.mapInArrow(lambda batches: task.run(batches), "rows binary, features binary")
        for rows, features in streamed(blocks):
            index = np.frombuffer(rows, np.int64)
            table[index] = np.frombuffer(features, np.float64).reshape(len(index), -1)

    def _archive(self, feature_set: FeatureSet) -> str | None:
        parts = tuple(parts_needed(feature_set.configs))
        if not parts or self.bundle is None:
            return None
        if parts not in self._shipped:
            # Beside the bundle, so that its files can be linked.
            with tempfile.TemporaryDirectory(dir=self.bundle.path.parent) as temporary:
                self.bundle.export(parts, Path(temporary))
                self._shipped[parts] = ship_folder(self.session, Path(temporary))
        return self._shipped[parts]


@dataclass(frozen=True)
class _Task:
    configs: str
    fingerprint: str
    archive: str | None
    tokenizers: str

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        feature_set = _feature_set(self.configs, self.archive, self.fingerprint)
        for batch in batches:
            segments = self._segments(batch)
            features = np.hstack([checked(extractor, segments) for extractor in feature_set.extractors])
            rows = batch.column(_ROW).to_numpy()
            content = {"rows": [rows.tobytes()], "features": [np.ascontiguousarray(features).tobytes()]}
            yield pa.RecordBatch.from_pydict(content)

    def _segments(self, batch: pa.RecordBatch) -> Segments:
        columns = {
            name: [value.decode("utf-8", "surrogatepass") for value in batch.column(name).to_pylist()]
            for name in batch.schema.names
            if name != _ROW
        }
        source, target = (Tokenizer(**settings) for settings in json.loads(self.tokenizers))
        return Segments.from_columns(columns, source, target)


@functools.cache
def _feature_set(configs: str, archive: str | None, fingerprint: str) -> FeatureSet:
    made = FeatureSet.make(json.loads(configs), None if archive is None else Bundle(shipped(archive)))
    if made.fingerprint != fingerprint:
        raise InputError(
            "the executors' feature extractors are not those of the driver",
            remedy="install the same version of qe on all machines",
        )
    return made


def _arrow(segments: Segments) -> pa.Table:
    columns = {
        name: pa.array([value.encode("utf-8", "surrogatepass") for value in column], pa.binary())
        for name, column in segments.columns()
    }
    return pa.table({_ROW: pa.array(np.arange(len(segments))), **columns})
