"""Batch scoring: rows in, one row out for each, in chunks; resumable; all cores."""

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.basics.threads import own_memory, processes
from features.basics.workers import WorkerDied, WorkerPool
from features.storage.cache_folder import keep as remember
from features.storage.cache_folder import recall
from features.storage.checksums import checksum, identity_of
from features.storage.damage import damage_reported, read_json
from features.storage.files import atomic_file, digest
from features.storage.outputs import check_output, check_outside, locked_file
from qe.data.frames import cells_of
from qe.data.table_rows import Kind, Layout, Row, Types, chunks
from qe.data.writing import encode, kind_of, table_writer
from qe.scoring.input import check_unread, files_of, open_all
from qe.scoring.job_summary import METADATA, JobSummary, PreviousJob, ScoredFile, table_metadata
from qe.scoring.routes import Destination, Route, Router, Routes, ScoringModel
from qe.scoring.row_formats import NUMBERS, KeptColumns, Names, Needs, types_of
from qe.scoring.scorer import EarlierScores, Options, Output, Scorer, Tally
from qe.scoring.settings import JobSettings

_RESTART = "start again with --overwrite"
_EARLIER = "earlier.db"  # scores of an earlier job, in the folder of the job


def score_file(
    model_path: Path | Routes,
    source: Sequence[Path],
    output: Path,
    settings: JobSettings,
    *,
    identity: str | None = None,
    options: Options | None = None,
    columns: Mapping[str, str] | None = None,
    layout: Layout | None = None,
    progress: Progress = silent,
    job_summary: JobSummary | None = None,
) -> ScoredFile:
    """Score an input into a table.

    The input is a table, a folder or a pattern of tables, a file of a translation tool (one path), or two
    parallel texts. An existing output is replaced only with `overwrite`; if the same job made it, nothing is
    done. A killed job continues with `resume` and ends byte-identical to an uninterrupted one.

    Raises InputError for a model, input or output that cannot be used, before any row is scored, for an
    output that another job made, and while another process writes it.

    Parameters
    ----------
    identity : str or None, default=None
        Fingerprint that the model must have; worker processes load no other than the job.
    options : Options or None, default=None
        Additional columns (intervals, explanations, ...); routes have their own.
    columns : mapping of str to str or None, default=None
        Name of a column that the model reads -> header of the input; other names have the headers of the
        training data, or usual headers.
    layout : Layout or None, default=None
        File format options, if detection fails.
    job_summary : JobSummary or None, default=None
        Names the model; written when the output is complete.
    """
    kind, previous_output, chunk = kind_of(output), settings.reuse_scores, settings.chunk
    models: Destination | Routes
    if isinstance(model_path, Routes):
        models = model_path
    else:
        named = ScoringModel("", model_path, identity or "")
        models = Destination(Route({}, ""), named, options or Options())
    files = files_of(source)
    check_output(output, [*source, *files, *models.folders, *([previous_output] if previous_output else [])])
    for folder in (*models.folders, *(path for path in source if path.is_dir())):
        check_outside(output, folder)
    check_unread(output, source)
    scorer = models.load()
    if isinstance(models, Destination):
        models = replace(models, model=replace(models.model, identity=scorer.identity))
    table_layout = replace(layout or Layout(), languages=scorer.languages)
    table = open_all(source, table_layout, files)
    given_names = Names(columns or {}, None if layout is None else layout.decimal)
    names = given_names.for_table(scorer.needs, table.headers, table.columns, table.path)
    imputed = names.absent(scorer.needs.table_columns, table.headers)
    kept, added = None, scorer.output_columns
    if settings.keep:
        kept = KeptColumns.make(table.types, added, kind, names.header("id"), table.path, settings.suffix)
    work = Work(scorer, kind, chunk, names, kept, settings.safe_cells)
    previous = None
    if previous_output is not None:
        if isinstance(scorer, Router):
            raise InputError("--reuse-scores is for one model", remedy="leave it out, or give --model")
        previous = PreviousJob(previous_output, scorer, given_names, table_layout)
    difference = previous.differs(scorer.recipe) if previous else ""
    choices = {"keep": settings.keep, "suffix": settings.suffix, "safe-cells": settings.safe_cells}
    key = (*scorer.options.key, sorted(names.headers.items()), names.decimal)
    key = (*key, (*choices.values(), layout or Layout()))
    with locked_file(output):
        finished = FinishedOutput(output, digest(scorer.recipe, list(map(checksum, files)), key))
        job = _Job(output)
        unchanged = None if job.is_unfinished else finished.result(settings.overwrite, job_summary)
        if unchanged is not None:
            job.remove()  # what a killed process left of it
            return unchanged
        rows = table.rows(strict=settings.keep)
        first = next(rows, None)  # an input that cannot be read at all raises here
        rows = rows if first is None else chain([first], rows)
        total = None
        if progress is not silent:
            with suppress(InputError):  # reported when its rows are read
                total = table.count()
        stamps = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        job.open(digest(scorer.recipe, stamps, chunk, kind, key), settings)
        done = min(job.resumed * chunk, job.resumed * chunk if total is None else total)
        progress("scoring (segments)", done, total)
        sizes, workers = list[int](), settings.workers or processes(own_memory())
        with job.left_only_with_work():
            if previous and not difference:
                progress("reading earlier scores (files)", 0, 1)
                previous.scorer.earlier_scores = previous.store(job.folder / _EARLIER)
                progress("reading earlier scores (files)", 1, 1)
            for size, is_new in _scored_chunks(work, models, rows, job, workers):
                sizes.append(size)
                if is_new:
                    done += size
                    progress("scoring (segments)", done, total)
        note = (f"no score of {previous_output} is kept: {difference}",) if difference else ()
        notes = (*table.notes, *names.notes(given_names), *imputed, *note)
        tally = job.tally(len(sizes), sum(sizes))
        result = ScoredFile.from_tally(tally, scorer, resumed_chunks=job.resumed, notes=notes)
        metadata = None
        if kind == "parquet":
            model = models if isinstance(models, Routes) else models.model
            model = model if job_summary is None else job_summary.model
            choices = {"columns": names.headers, **choices, **scorer.options.metadata}
            metadata = {METADATA: table_metadata(model.in_table(), files, len(source) == 2, choices, result)}
        progress("joining (segments)", 0, result.rows)
        job.join(work, len(sizes), metadata)
        progress("joining (segments)", result.rows, result.rows)
        finished.with_result(result, job_summary)  # before the job is removed: a resumed job writes it
        job.remove()
        return result


@dataclass(frozen=True)
class FinishedOutput:
    """An output with the fingerprint of all that it depends on, known to this user on this machine."""

    path: Path
    fingerprint: str

    def result(self, overwrite: bool, job_summary: JobSummary | None = None) -> ScoredFile | None:
        """The result of the same job, if it made the output; None without an output, or to `overwrite`."""
        if overwrite or not self.path.is_file():  # /dev/null is no file
            return None
        record = json.loads(recall(self._key) or "{}")
        is_known = record.get("state") == [*identity_of(self.path.stat())]
        if is_known and record["fingerprint"] == self.fingerprint:
            result = ScoredFile.from_json(record["summary"], resumed_chunks=0, unchanged=True)
            if job_summary is not None:
                job_summary.write(result)
            return result
        problem = "holds scores of another model, input or options" if is_known else "is there already"
        remedy = "name another file, or replace it by --overwrite"
        raise InputError(problem, location=self.path, remedy=remedy)

    def with_result(self, result: ScoredFile, job_summary: JobSummary | None = None) -> ScoredFile:
        """The result, which is remembered, and written as a summary."""
        if job_summary is not None:
            job_summary.write(result)
        state = [*identity_of(self.path.stat())]
        content = {"fingerprint": self.fingerprint, "state": state, "summary": result.to_json()}
        remember(self._key, json.dumps(content))
        return result

    @property
    def _key(self) -> str:
        return digest("scored", str(self.path.resolve()))


def frame_of(scorer: Scorer, table: pd.DataFrame) -> pd.DataFrame:
    """The output columns for a DataFrame, with its index."""
    cells = cells_of(table, "the table")
    names = names_of(scorer.needs, list(cells))
    records = (dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True))
    scored = scorer.score([names.view((record, "")) for record in records]).rows
    values = {
        name: np.array([np.nan if row[name] is None else row[name] for row in scored], np.float64)
        if name in NUMBERS
        else np.fromiter((row[name] for row in scored), object, len(scored))
        for name in scorer.output_columns
        if name != "id"
    }
    return pd.DataFrame(values, index=table.index)


def names_of(needs: Needs, headers: Sequence[str]) -> Names:
    names = Names().completed(needs, headers, "the table")
    for name in needs.columns:
        if names.header(name) not in headers:
            problem = f"{needs.reader} needs the column '{name}'"
            raise InputError(problem, remedy=f"the input has {', '.join(headers) or 'none'}")
    return names


@dataclass(frozen=True)
class Work:
    scorer: Scorer | Router
    kind: Kind
    chunk: int
    names: Names
    kept_columns: KeptColumns | None
    safe: bool = False

    @cached_property
    def types(self) -> Types:
        if self.kept_columns is not None:
            return self.kept_columns.column_types
        return types_of({name: name for name in self.scorer.output_columns})

    def scored(
        self, batch: Sequence[Row], views: Sequence[Row], start: int = 0
    ) -> tuple[list[Output], Tally]:
        scored = self.scorer.score(views, start)
        rows = scored.rows
        if self.kept_columns is not None:
            pairs = zip(batch, rows, strict=True)
            rows = [self.kept_columns.merged(row, output) for (row, _), output in pairs]
        return rows, scored.tally

    def piece(self, number: int, batch: Sequence[Row]) -> "_Piece":
        rows, tally = self.scored(batch, [self.names.view(row) for row in batch], number * self.chunk)
        return encode(rows, self.types, self.kind, self.safe), tally


_Piece = tuple[bytes, Tally]  # the content and the counts of a chunk


class _Worker:
    work: Work

    @classmethod
    def start(cls, models: Destination | Routes, database: Path | None, settings: tuple[Any, ...]) -> None:
        logging.getLogger("qe.models").setLevel(logging.ERROR)  # the job has warned
        scorer = models.load()
        if database is not None and isinstance(scorer, Scorer):
            scorer.earlier_scores = EarlierScores(database)
        cls.work = Work(scorer, *settings)

    @classmethod
    def piece(cls, number: int, batch: Sequence[Row]) -> _Piece:
        return cls.work.piece(number, batch)


def _scored_chunks(
    work: Work, models: Destination | Routes, rows: Iterable[Row], job: "_Job", workers: int
) -> Iterator[tuple[int, bool]]:
    errors: list[InputError] = []
    batches = _until_error(enumerate(chunks(rows, work.chunk)), errors)
    first = list(islice(batches, 2))
    todo = chain(first, batches)
    if workers > 1 and len(first) > 1:
        yield from _in_processes(work, models, todo, job, workers)
    else:
        for number, batch in todo:
            is_new = not job.has(number)
            if is_new:
                job.store(number, work.piece(number, batch))
            yield len(batch), is_new
    if errors:  # the chunks before it are finished
        raise errors[0]


_Chunks = Iterator[tuple[int, list[Row]]]
_Waiting = dict[Future[_Piece], tuple[int, int]]


def _until_error(batches: _Chunks, errors: list[InputError]) -> _Chunks:
    try:
        yield from batches
    except InputError as error:
        errors.append(error)


def _in_processes(
    work: Work, models: Destination | Routes, todo: _Chunks, job: "_Job", workers: int
) -> Iterator[tuple[int, bool]]:
    scorer, waiting = work.scorer, _Waiting()
    has_earlier = isinstance(scorer, Scorer) and scorer.earlier_scores is not None
    settings = (work.kind, work.chunk, work.names, work.kept_columns, work.safe)
    start = (models, job.folder / _EARLIER if has_earlier else None, settings)
    try:
        with WorkerPool(workers, _Worker.start, start) as pool:
            for number, batch in todo:
                if job.has(number):
                    yield len(batch), False
                    continue
                waiting[pool.submit(_Worker.piece, number, batch)] = number, len(batch)
                if len(waiting) >= 2 * workers:
                    yield from _collect(waiting, job)
            while waiting:
                yield from _collect(waiting, job)
    except WorkerDied:
        problem = "a worker process died (out of memory?); the finished chunks are kept"
        remedy = "go on with --resume, with fewer --workers"
        raise InputError(problem, location=job.folder, remedy=remedy) from None


def _collect(waiting: _Waiting, job: "_Job") -> Iterator[tuple[int, bool]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        number, size = waiting.pop(future)
        job.store(number, future.result())
        yield size, True


# All files that a job leaves in its folder; the hidden ones are those that a kill left half written.
_JOB_FILE = re.compile(
    r"\d{9}\.(piece|json)|job\.json|joined|earlier\.db|\.(\d{9}\.(piece|json)|job\.json)\..*"
)


@dataclass
class _Job:
    output: Path
    resumed: int = 0

    @property
    def folder(self) -> Path:
        return self.output.with_name(self.output.name + ".partial")

    @property
    def _description(self) -> Path:
        return self.folder / "job.json"

    @property
    def is_unfinished(self) -> bool:
        return self._description.is_file() and any(self.folder.glob("*.piece"))

    def open(self, fingerprint: str, settings: JobSettings) -> None:
        problem = ""
        if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):
            problem = "is in the way: unfinished jobs are kept there"
        elif self.folder.is_dir():
            names = sorted(path.name for path in self.folder.iterdir() if not _JOB_FILE.fullmatch(path.name))
            problem = f"holds {names[0]!r}, which no scoring job left there" if names else ""
        if problem:
            raise InputError(problem, location=self.folder, remedy="choose another --output")
        if self.is_unfinished and not settings.overwrite:
            if not settings.resume:
                raise InputError(
                    "holds an unfinished job", location=self.folder, remedy="use --resume, or --overwrite"
                )
            if read_json("the job", self._description, _RESTART).get("fingerprint") != fingerprint:
                raise InputError(
                    "was begun with another model, input or chunk size, or with other options",
                    location=self.folder,
                    remedy=_RESTART,
                )
            self.resumed = len(list(self.folder.glob("*.piece")))
            return
        self.remove()
        with self.left_only_with_work():
            try:
                self.folder.mkdir(parents=True)
            except OSError as error:
                raise InputError(f"cannot be written ({error.strerror})", location=self.folder) from None
            with atomic_file(self._description) as temporary:
                temporary.write_text(json.dumps({"fingerprint": fingerprint}) + "\n", "utf-8")

    @contextmanager
    def left_only_with_work(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            if not any(self.folder.glob("*.piece")):
                self.remove()
            raise

    def remove(self) -> None:
        self._description.unlink(missing_ok=True)
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                if _JOB_FILE.fullmatch(path.name):
                    path.unlink()
            with suppress(OSError):  # another program added a file, which stays
                self.folder.rmdir()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:09d}.piece"

    def has(self, number: int) -> bool:
        piece = self._path(number)
        return piece.is_file() and piece.with_suffix(".json").is_file()

    def store(self, number: int, piece: _Piece) -> None:
        path = self._path(number)
        content, tally = piece
        counts = json.dumps(tally.to_json()).encode()
        try:
            for file, written in ((path.with_suffix(".json"), counts), (path, content)):
                with atomic_file(file) as temporary:
                    temporary.write_bytes(written)
        except InputError as error:
            stays = self.is_unfinished
            problem = f"{error.problem}; the finished chunks are kept" if stays else error.problem
            remedy = "make room, then go on with --resume" if stays else "make room"
            raise InputError(problem, location=self.folder if stays else self.output, remedy=remedy) from None

    def tally(self, chunks: int, rows: int) -> Tally:
        total = Tally()
        pieces = [self._path(number) for number in range(chunks)]
        for piece in pieces:
            file = piece.with_suffix(".json")
            counts = read_json("a chunk's counts", file, _RESTART)
            with damage_reported("a chunk's counts", file, _RESTART):
                total = total + Tally.from_json(counts)
        found = {path.name for path in self.folder.glob("*.piece")}
        if total.rows != rows or found != {piece.name for piece in pieces}:
            raise InputError(
                f"{rows:,} rows were read in {len(pieces):,} chunks, but {len(found):,} finished chunks with "
                f"{total.rows:,} rows are there",
                location=self.folder,
                remedy=f"something else changed this folder; {_RESTART}",
            )
        return total

    def join(self, work: Work, chunks: int, metadata: Mapping[bytes, bytes] | None) -> None:
        joined = self.folder / "joined"  # removed with the job's folder if a kill leaves it unfinished
        table = table_writer(joined, self.output, work.types, metadata=metadata)
        try:
            with table as write:
                for number in range(chunks):
                    write(self._path(number).read_bytes())
            joined.replace(self.output)
        except OSError as error:
            joined.unlink(missing_ok=True)  # it would fill the disk
            problem = f"cannot be written ({error.strerror}); the finished chunks are kept"
            remedy = "make room, then go on with --resume"
            raise InputError(problem, location=self.output, remedy=remedy) from None
