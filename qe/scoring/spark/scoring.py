"""Scoring on Spark: any input that Spark reads -> a folder with the local engine's rows."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from features.basics.errors import InputError
from qe.models.description import one_model
from qe.scoring import tables
from qe.scoring.scorer import Options, Scorer
from qe.scoring.spark.output import written_folder
from qe.scoring.spark.rows import ID, REASON, read_table
from qe.scoring.spark.shipping import ship_folder
from qe.tracking.pyfunc import spark_scorer

CHUNK = 5000


@dataclass(frozen=True)
class ScoredTable:
    """What a scoring job did: rows in, rows with a score, and why the others have none."""

    rows: int
    scored: int
    reasons: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Plain values only."""
        return {"rows": self.rows, "scored": self.scored, "reasons": dict(self.reasons)}


def score_table(
    session: Any,
    model_path: Path,
    source: str,
    output: str,
    *,
    identity: str | None = None,
    options: Options | None = None,
    overwrite: bool = False,
    chunk: int = CHUNK,
) -> ScoredTable:
    """Scores a table into the folder `output`, whose parts hold the rows and columns of the local engine.

    The kind of the parts is told by the folder's name; parts of TSV and CSV have a header each. Scores,
    bounds and explanations are the local engine's to the last bit, and the text is byte for byte the same.
    Parts in the order of their names have the rows of one input file in its order. The folder is there only
    when it is complete.

    Raises InputError as `read_table` does, and for a model or output that cannot be used.
    """
    options = options or Options()
    kind = tables.kind_of(Path(output))
    scorer = Scorer.load(model_path, options, identity=identity)
    needed = scorer.columns()
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(chunk))
    with written_folder(session, output, overwrite) as folder, tempfile.TemporaryDirectory() as temporary:
        rows, outcomes = read_table(session, source, needed)
        with one_model(model_path, scorer.model.identity):
            archive = ship_folder(session, model_path)
        udf = _udf(session, Path(temporary), archive, options)
        scored = _scored(rows, udf, needed, options)
        _write(scored, folder, kind, options.columns, output.lower().endswith(".gz"))
    counts = dict(outcomes.value)
    usable = counts.pop("", 0)
    return ScoredTable(usable + sum(counts.values()), usable, counts)


def _udf(session: Any, folder: Path, archive: str, options: Options) -> Any:
    config = {**asdict(options), "drift": False, "archive": archive}
    types = {c: "double" if c in tables.NUMBERS else "string" for c in options.columns if c != ID}
    return spark_scorer(session, folder, config, types)


def _scored(rows: Any, udf: Any, needed: Sequence[str], options: Options) -> Any:
    """The output columns; null if there is nothing to say (MLflow makes "nan" of that), as locally."""
    from pyspark.sql.functions import col, isnan, struct, when

    with_result = rows.select(ID, REASON, udf(struct(*needed)).alias("found"))
    columns = []
    for name in options.columns:
        column = col(f"found.{name}")
        if name in (ID, REASON):
            column = col(name)
        elif name in tables.NUMBERS:
            column = when((col(REASON) == "") & ~isnan(column), column)
        else:
            column = when(col(REASON) == "", column)
        columns.append(column.alias(name))
    return with_result.select(*columns)


def _write(scored: Any, folder: str, kind: tables.Kind, columns: Sequence[str], gzipped: bool) -> None:
    if kind == "parquet":
        scored.write.parquet(folder)
        return

    def encoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        before = tables.header(columns, kind)
        for batch in batches:
            text = (before + tables.encode(batch.to_pylist(), columns, kind)).removesuffix(b"\n")
            before = b""
            yield pa.RecordBatch.from_pydict({"value": [text.decode()]})

    lines = scored.mapInArrow(encoded, "value string")
    lines.write.text(folder, compression="gzip" if gzipped else "none", lineSep="\n")


def check_inputs(inputs: Sequence[str]) -> str:
    """The one input. Raises InputError for two parallel files, which Spark would not read line by line."""
    if len(inputs) != 1:
        raise InputError(
            "--engine spark takes one table, not parallel text files",
            remedy="join them, for example with paste into a TSV whose first line is source<TAB>target",
        )
    return inputs[0]
