"""Batch scoring: rows in, one row out for each, in chunks; resumable; all cores."""

import json
import multiprocessing as mp
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from features.core.errors import InputError
from features.core.files import atomic_file, digest
from features.core.progress import Progress, silent
from qe import tables
from qe.model import Model
from qe.tables import Row

CHUNK = 5000
OUTPUT_COLUMNS = ("id", "score", "reason")


@dataclass(frozen=True)
class Summary:
    """What a scoring job did."""

    rows: int
    scored: int
    reasons: Mapping[str, int]
    resumed_chunks: int


def score_file(
    model_path: Path,
    source: Sequence[Path],
    output: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    chunk: int = CHUNK,
    progress: Progress = silent,
) -> Summary:
    """Scores a table (one path) or two parallel text files into `output`: id, score, reason.

    Finished chunks lie in `OUTPUT.partial/` until the job is done; a killed job goes on with `resume` and
    ends byte-identical to an uninterrupted one. Memory does not grow with the input.

    Raises InputError for a model, input or output that cannot be used, before any row is scored.
    """
    kind = tables.kind_of(output)
    model = Model.load(model_path)
    _check_columns(model, source)
    job = _Job.open(output, _fingerprint(model, model_path, source, chunk, kind), resume, overwrite)
    rows = tables.read_rows(source[0]) if len(source) == 1 else tables.read_parallel(source[0], source[1])
    total = 0
    for done in _scored_chunks(model, model_path, rows, job, chunk, kind, workers or os.cpu_count() or 1):
        total += done
        progress("scoring (segments)", total, None)
    return job.finish(kind)


def _check_columns(model: Model, source: Sequence[Path]) -> None:
    """A column that the model needs and the table's header lacks is an error before any work."""
    declared = ["source", "target"] if len(source) == 2 else tables.columns_of(source[0])
    if declared is None:
        return
    for name in model.columns():
        if name not in declared:
            raise InputError(
                f"the model '{model.name}' needs the column '{name}'",
                where=source[0],
                remedy=f"the input has {', '.join(declared)}",
            )


def _fingerprint(model: Model, path: Path, source: Sequence[Path], chunk: int, kind: str) -> str:
    """What the pieces of a job depend on; an input changed since is another job."""
    inputs = [(str(p.resolve()), p.stat().st_size, p.stat().st_mtime_ns) for p in source]
    description = (path / "model.json").read_bytes()
    return digest(description, inputs, chunk, kind, model.feature_set.fingerprint)


def score_rows(model: Model, rows: Sequence[Row], start: int = 0) -> list[dict[str, Any]]:
    """One output row per input row, in order; a row that cannot be scored says why.

    `start` numbers rows that bring no id of their own (from 1).
    """
    needed = model.columns()
    reasons = [reason or _unusable(columns, needed) for columns, reason in rows]
    usable = [i for i, reason in enumerate(reasons) if not reason]
    scores = np.full(len(rows), np.nan)
    if usable:
        # Own ids: those of the input may repeat, and no feature reads them unless the model asks.
        given = {name: [str(rows[i][0][name]) for i in usable] for name in needed}
        scores[usable] = model.predict(model.segments(given))
    return [
        {
            "id": str(columns["id"]) if columns.get("id") is not None else str(start + i + 1),
            "score": None if np.isnan(scores[i]) else float(scores[i]),
            "reason": reasons[i],
        }
        for i, (columns, _) in enumerate(rows)
    ]


def score_frame(model: Model, table: pd.DataFrame) -> pd.DataFrame:
    """`score` and `reason` for a DataFrame, with its index.

    Raises InputError, by name, for a column that the model needs and the table lacks.
    """
    for name in model.columns():
        if name not in table.columns:
            raise InputError(
                f"the model '{model.name}' needs the column '{name}'",
                remedy=f"the input has {', '.join(map(str, table.columns))}",
            )
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    scored = score_rows(model, [({str(k): v for k, v in record.items()}, "") for record in records])
    return pd.DataFrame(
        {
            "score": np.array([np.nan if r["score"] is None else r["score"] for r in scored], np.float64),
            "reason": [r["reason"] for r in scored],
        },
        index=table.index,
    )


def _unusable(columns: Mapping[str, Any], needed: Sequence[str]) -> str:
    """Why a row cannot be scored, or an empty string."""
    for name in needed:
        value = columns.get(name)
        if value is None:
            return f"no {name}"
        if not isinstance(value, str):
            return f"{name} is not text"
        if name in ("source", "target") and not value.strip():
            return f"empty {name}"
    return ""


def _scored_chunks(
    model: Model,
    model_path: Path,
    rows: Iterable[Row],
    job: "_Job",
    chunk: int,
    kind: tables.Kind,
    workers: int,
) -> Iterator[int]:
    """Scores what the job lacks, chunk by chunk; yields the size of every finished one."""
    todo = enumerate(tables.chunks(rows, chunk))
    if workers == 1:
        for number, batch in todo:
            if not job.has(number):
                job.store(number, *_piece(model, batch, number * chunk, kind))
            yield len(batch)
        return
    # Forked workers share the loaded, memory-mapped model; elsewhere each loads it.
    context = mp.get_context("fork" if "fork" in mp.get_all_start_methods() else "spawn")
    with ProcessPoolExecutor(workers, context, _Worker.start, (model_path,)) as pool:
        waiting: dict[Future[tuple[bytes, dict[str, int]]], tuple[int, int]] = {}
        try:
            for number, batch in todo:
                if job.has(number):
                    yield len(batch)
                    continue
                future = pool.submit(_Worker.work, batch, number * chunk, kind)
                waiting[future] = number, len(batch)
                if len(waiting) >= 2 * workers:
                    yield from _collect(waiting, job)
            while waiting:
                yield from _collect(waiting, job)
        except BrokenProcessPool:
            raise InputError(
                "a worker process died (out of memory?); the finished chunks are kept",
                where=job.folder,
                remedy="go on with --resume, with fewer --workers",
            ) from None


def _collect(
    waiting: dict[Future[tuple[bytes, dict[str, int]]], tuple[int, int]], job: "_Job"
) -> Iterator[int]:
    """Stores the chunks that are done."""
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        number, size = waiting.pop(future)
        job.store(number, *future.result())
        yield size


def _piece(model: Model, batch: Sequence[Row], start: int, kind: tables.Kind) -> tuple[bytes, dict[str, int]]:
    """The encoded output rows of a chunk, and how many rows had which outcome ("" is scored)."""
    scored = score_rows(model, batch, start)
    outcomes: dict[str, int] = {}
    for row in scored:
        outcomes[row["reason"]] = outcomes.get(row["reason"], 0) + 1
    return tables.encode(scored, OUTPUT_COLUMNS, kind), outcomes


class _Worker:
    """What a worker process keeps: the model, loaded once."""

    model: Model

    @classmethod
    def start(cls, path: Path) -> None:
        cls.model = Model.load(path)

    @classmethod
    def work(cls, batch: Sequence[Row], start: int, kind: tables.Kind) -> tuple[bytes, dict[str, int]]:
        return _piece(cls.model, batch, start, kind)


@dataclass
class _Job:
    """A scoring job on disk: `OUTPUT.partial/` with job.json and one piece per finished chunk."""

    output: Path
    resumed: int = 0

    @property
    def folder(self) -> Path:
        return self.output.with_name(self.output.name + ".partial")

    @classmethod
    def open(cls, output: Path, fingerprint: str, resume: bool, overwrite: bool) -> "_Job":
        """The job to go on with. Raises InputError where that would mix or lose work."""
        job = cls(output)
        description = job.folder / "job.json"
        if output.is_dir():
            raise InputError("is a directory", where=output, remedy="give a file for --output")
        if description.is_file() and not overwrite:
            if not resume:
                raise InputError(
                    "holds an unfinished job", where=job.folder, remedy="use --resume, or --overwrite"
                )
            if json.loads(description.read_text("utf-8"))["fingerprint"] != fingerprint:
                raise InputError(
                    "was begun with another model, input or chunk size",
                    where=job.folder,
                    remedy="start anew with --overwrite",
                )
            job.resumed = len(list(job.folder.glob("*.piece")))
            return job
        shutil.rmtree(job.folder, ignore_errors=True)
        try:
            job.folder.mkdir(parents=True)
            with atomic_file(description) as temporary:
                temporary.write_text(json.dumps({"fingerprint": fingerprint}) + "\n", "utf-8")
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", where=job.folder) from None
        return job

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:09d}.piece"

    def has(self, number: int) -> bool:
        return self._path(number).is_file()

    def store(self, number: int, piece: bytes, outcomes: Mapping[str, int]) -> None:
        """Keeps a finished chunk: the counts first, so that a piece is never without them."""
        try:
            for path, content in (
                (self._path(number).with_suffix(".json"), json.dumps(dict(outcomes)).encode()),
                (self._path(number), piece),
            ):
                with atomic_file(path) as temporary:
                    temporary.write_bytes(content)
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror}); the finished chunks are kept",
                where=self.folder,
                remedy="make room, then go on with --resume",
            ) from None

    def finish(self, kind: tables.Kind) -> Summary:
        """Joins the pieces into the output, removes them, and sums up."""
        pieces = sorted(self.folder.glob("*.piece"))
        outcomes: dict[str, int] = {}
        for piece in pieces:
            for reason, count in json.loads(piece.with_suffix(".json").read_text("utf-8")).items():
                outcomes[reason] = outcomes.get(reason, 0) + count
        try:
            with atomic_file(self.output) as temporary:
                tables.join(pieces, temporary, OUTPUT_COLUMNS, kind, self.output.suffix.lower() == ".gz")
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror}); the finished chunks are kept",
                where=self.output,
                remedy="make room, then go on with --resume",
            ) from None
        shutil.rmtree(self.folder)
        scored = outcomes.pop("", 0)
        return Summary(scored + sum(outcomes.values()), scored, outcomes, self.resumed)
