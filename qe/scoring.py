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
from qe.drift import Counts, DriftReport, Profile
from qe.model import Model
from qe.scorer import Options, Scorer
from qe.tables import Row

CHUNK = 5000


@dataclass(frozen=True)
class Summary:
    """What a scoring job did.

    repeated  rows that took the score of an equal segment
    drift     how the scored rows differ from the training data; None for a model without a profile
    """

    rows: int
    scored: int
    reasons: Mapping[str, int]
    resumed_chunks: int
    repeated: int
    drift: DriftReport | None = None


def score_file(
    model_path: Path,
    source: Sequence[Path],
    output: Path,
    *,
    options: Options | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    chunk: int = CHUNK,
    progress: Progress = silent,
) -> Summary:
    """Scores a table (one path) or two parallel text files into `output`: id, score, reason.

    `options` add columns (intervals, explanations).

    Finished chunks lie in `OUTPUT.partial/` until the job is done; a killed job goes on with `resume` and
    ends byte-identical to an uninterrupted one. Memory does not grow with the input.

    Raises InputError for a model, input or output that cannot be used, before any row is scored.
    """
    kind = tables.kind_of(output)
    scorer = Scorer.load(model_path, options or Options())
    _check_columns(scorer.model, source)
    columns = scorer.options.columns
    fingerprint = _fingerprint(scorer.model, model_path, source, chunk, kind, scorer.options)
    job = _Job.open(output, fingerprint, resume, overwrite)
    rows = tables.read_rows(source[0]) if len(source) == 1 else tables.read_parallel(source[0], source[1])
    work = _Work(scorer, columns, kind, chunk)
    total = 0
    for done in _scored_chunks(work, model_path, rows, job, workers or os.cpu_count() or 1):
        total += done
        progress("scoring (segments)", total, None)
    return job.finish(columns, kind, scorer.profile)


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


def _fingerprint(
    model: Model, path: Path, source: Sequence[Path], chunk: int, kind: str, options: Options
) -> str:
    """What the pieces of a job depend on; an input changed since is another job."""
    inputs = [(str(p.resolve()), p.stat().st_size, p.stat().st_mtime_ns) for p in source]
    description = (path / "model.json").read_bytes()
    asked = (options.columns, options.level, options.explain, options.drift)
    return digest(description, inputs, chunk, kind, model.feature_set.fingerprint, asked)


def score_rows(model: Model, rows: Sequence[Row], start: int = 0) -> list[dict[str, Any]]:
    """One output row per input row, in order; a row that cannot be scored says why.

    `start` numbers rows that bring no id of their own (from 1).
    """
    return Scorer(model).score(rows, start).rows


def score_frame(model: Model, table: pd.DataFrame) -> pd.DataFrame:
    """`score` and `reason` for a DataFrame, with its index.

    Raises InputError, by name, for a column that the model needs and the table lacks.
    """
    return frame_of(Scorer(model), table)


def frame_of(scorer: Scorer, table: pd.DataFrame) -> pd.DataFrame:
    """The scorer's output columns but the id for a DataFrame, with its index. Raises as `score_frame`."""
    for name in scorer.model.columns():
        if name not in table.columns:
            raise InputError(
                f"the model '{scorer.model.name}' needs the column '{name}'",
                remedy=f"the input has {', '.join(map(str, table.columns)) or 'none'}",
            )
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    scored = scorer.score([({str(k): v for k, v in record.items()}, "") for record in records]).rows
    columns = [name for name in scorer.options.columns if name != "id"]
    values = {
        name: np.array([np.nan if row[name] is None else row[name] for row in scored], np.float64)
        if name in tables.NUMBERS
        else [row[name] for row in scored]
        for name in columns
    }
    return pd.DataFrame(values, index=table.index)


@dataclass(frozen=True)
class _Work:
    """How a chunk becomes a piece of the output."""

    scorer: Scorer
    columns: tuple[str, ...]
    kind: tables.Kind
    chunk: int

    def piece(self, number: int, batch: Sequence[Row]) -> "_Piece":
        scored = self.scorer.score(batch, number * self.chunk)
        outcomes: dict[str, int] = {}
        for row in scored.rows:
            outcomes[row["reason"]] = outcomes.get(row["reason"], 0) + 1
        content = tables.encode(scored.rows, self.columns, self.kind)
        return _Piece(content, outcomes, scored.repeated, scored.counts)


@dataclass(frozen=True)
class _Piece:
    """The encoded output rows of a chunk, how many had which outcome ("" is scored), and how they look."""

    content: bytes
    outcomes: Mapping[str, int]
    repeated: int
    looks: Counts | None

    def counts(self) -> bytes:
        looks = None if self.looks is None else self.looks.to_json()
        content = {"outcomes": dict(self.outcomes), "repeated": self.repeated, "looks": looks}
        return json.dumps(content).encode()


class _Worker:
    """What a worker process keeps."""

    work: _Work

    @classmethod
    def start(cls, work: _Work | None, path: Path, options: Options, rest: tuple[Any, ...]) -> None:
        """`work` where it is inherited; otherwise the model is loaded."""
        cls.work = work or _Work(Scorer.load(path, options), *rest)

    @classmethod
    def piece(cls, number: int, batch: Sequence[Row]) -> _Piece:
        return cls.work.piece(number, batch)


def _scored_chunks(
    work: _Work, model_path: Path, rows: Iterable[Row], job: "_Job", workers: int
) -> Iterator[int]:
    """Scores what the job lacks, chunk by chunk; yields the size of every finished one."""
    todo = enumerate(tables.chunks(rows, work.chunk))
    if workers == 1:
        for number, batch in todo:
            if not job.has(number):
                job.store(number, work.piece(number, batch))
            yield len(batch)
        return
    with _pool(work, model_path, workers) as pool:
        waiting: _Waiting = {}
        try:
            for number, batch in _until_damaged(todo, waiting, job):
                if job.has(number):
                    yield len(batch)
                    continue
                waiting[pool.submit(_Worker.piece, number, batch)] = number, len(batch)
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


_Waiting = dict[Future[_Piece], tuple[int, int]]


def _pool(work: _Work, model_path: Path, workers: int) -> ProcessPoolExecutor:
    """Forked workers share what the parent has loaded, without a copy; elsewhere each loads it."""
    rest = (work.columns, work.kind, work.chunk)
    method = "fork" if "fork" in mp.get_all_start_methods() else "spawn"
    inherited = work if method == "fork" else None
    start = (inherited, model_path, work.scorer.options, rest)
    return ProcessPoolExecutor(workers, mp.get_context(method), _Worker.start, start)


def _until_damaged(
    todo: Iterable[tuple[int, list[Row]]], waiting: _Waiting, job: "_Job"
) -> Iterator[tuple[int, list[Row]]]:
    """The chunks; where the input turns out to be damaged, what is being scored is kept first."""
    try:
        yield from todo
    except InputError:
        while waiting:
            for _ in _collect(waiting, job):
                pass
        raise


def _collect(waiting: _Waiting, job: "_Job") -> Iterator[int]:
    """Stores the chunks that are done."""
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        number, size = waiting.pop(future)
        job.store(number, future.result())
        yield size


@dataclass
class _Job:
    """A scoring job on disk: `OUTPUT.partial/` with job.json and one piece per finished chunk."""

    output: Path
    resumed: int = 0

    @property
    def folder(self) -> Path:
        return self.output.with_name(self.output.name + ".partial")

    @property
    def _remains(self) -> Path:
        return self.output.with_name(self.output.name + ".remains")

    @classmethod
    def open(cls, output: Path, fingerprint: str, resume: bool, overwrite: bool) -> "_Job":
        """The job to go on with. Raises InputError where that would mix or lose work."""
        job = cls(output)
        description = job.folder / "job.json"
        shutil.rmtree(job._remains, ignore_errors=True)
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
        piece = self._path(number)
        return piece.is_file() and piece.with_suffix(".json").is_file()

    def store(self, number: int, piece: _Piece) -> None:
        """Keeps a finished chunk: the counts first, so that a piece is never without them."""
        try:
            for path, content in (
                (self._path(number).with_suffix(".json"), piece.counts()),
                (self._path(number), piece.content),
            ):
                with atomic_file(path) as temporary:
                    temporary.write_bytes(content)
        except InputError as error:
            raise InputError(
                f"{error.what}; the finished chunks are kept",
                where=self.folder,
                remedy="make room, then go on with --resume",
            ) from None

    def finish(self, columns: tuple[str, ...], kind: tables.Kind, profile: Profile | None) -> Summary:
        """Joins the pieces into the output, removes them, and sums up."""
        pieces = sorted(self.folder.glob("*.piece"))
        outcomes: dict[str, int] = {}
        repeated, looks = 0, None
        for piece in pieces:
            counts = json.loads(piece.with_suffix(".json").read_text("utf-8"))
            repeated += counts["repeated"]
            if counts["looks"] is not None:
                more = Counts.from_json(counts["looks"])
                looks = more if looks is None else looks + more
            for reason, count in counts["outcomes"].items():
                outcomes[reason] = outcomes.get(reason, 0) + count
        # What a kill leaves of an unfinished file lies in the job's folder, and goes with it.
        joined = self.folder / "joined"
        try:
            tables.join(pieces, joined, columns, kind, self.output.suffix.lower() == ".gz")
            joined.replace(self.output)
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror}); the finished chunks are kept",
                where=self.output,
                remedy="make room, then go on with --resume",
            ) from None
        # Renamed first: a folder that a kill left half removed must not look like a job to go on with.
        self.folder.replace(self._remains)
        shutil.rmtree(self._remains)
        scored = outcomes.pop("", 0)
        drift = None if profile is None or looks is None else profile.report(looks)
        return Summary(scored + sum(outcomes.values()), scored, outcomes, self.resumed, repeated, drift)
