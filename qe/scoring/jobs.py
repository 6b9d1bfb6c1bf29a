"""Batch scoring: rows in, one row out for each, in chunks; resumable; all cores."""

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from features.basics.errors import InputError
from features.basics.limits import own_memory
from features.basics.progress import Progress, silent
from features.basics.threads import processes
from features.basics.workers import WorkerDied, WorkerPool
from features.storage.checksums import checksum
from features.storage.damage import damage_reported, read_json
from features.storage.files import atomic_file, digest
from features.storage.outputs import check_output, check_outside, locked_file
from qe.data.table_rows import Input, Layout, Row, chunks
from qe.models.drift import Counts, DriftReport, Profile
from qe.models.model import Model
from qe.scoring import row_formats
from qe.scoring.earlier import Earlier, Previous
from qe.scoring.finished import Finished
from qe.scoring.flags import kinds_of
from qe.scoring.job_summary import METADATA, JobSummary, table_metadata
from qe.scoring.kept import Kept
from qe.scoring.many import check_unread, files_of, open_all
from qe.scoring.naming import Names
from qe.scoring.router import Router, Routes
from qe.scoring.scored_file import RouteDone, ScoredFile
from qe.scoring.scorer import Options, Routed, Scorer, remembered
from qe.scoring.scoring_model import ScoringModel

CHUNK = 5000


def score_file(
    model_path: Path | Routes,
    source: Sequence[Path],
    output: Path,
    *,
    identity: str | None = None,
    options: Options | None = None,
    columns: Mapping[str, str] | None = None,
    layout: Layout | None = None,
    keep: bool = False,
    suffix: str = "",
    safe: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    chunk: int = CHUNK,
    progress: Progress = silent,
    job_summary: JobSummary | None = None,
    known: Path | None = None,
) -> ScoredFile:
    """Score an input into a table.

    The input is a table, a folder or a pattern of tables, or a file of a translation tool (one path), or
    two parallel texts.

    An output that is there is replaced only to `overwrite` it; if the same job made it, nothing is done.
    Finished chunks lie in `OUTPUT.partial/` until the job is done; a killed job goes on with `resume` and
    ends byte-identical to an uninterrupted one. Memory does not grow with the input.

    Raises InputError for a model, input or output that cannot be used, before any row is scored, for an
    output that another job made, and while one writes it.

    Parameters
    ----------
    identity : str or None, default=None
        Of the model that must lie there, if it is known; worker processes load no other than the job.
    options : Options or None, default=None
        Add columns (intervals, explanations, ...); those of routes are their own.
    columns : mapping of str to str or None, default=None
        Name of a column that the model reads -> the input's own name of it; names that are not given are
        those of the training data, or the headers in use.
    layout : Layout or None, default=None
        How the input lies on disk, as far as that is not to be seen.
    keep : bool, default=False
        Whether all columns of the input stay, before those that are added.
    suffix : str, default=''
        Of the headers of what is added to columns that stay.
    safe : bool, default=False
        Whether text that a spreadsheet would take for a formula is marked as text (TSV and CSV).
    known : Path or None, default=None
        What an earlier job scored: rows of the same texts keep its scores, if the same model and options
        made them; the output is the same to the byte.
    job_summary : JobSummary or None, default=None
        Names the model, and is written where it says when the output is there.
    """
    kind = row_formats.kind_of(output)
    models = model_path if isinstance(model_path, Routes) else _OneModel(model_path, identity, options)
    files = files_of(source)
    check_output(output, [*source, *files, *models.folders, *([known] if known else [])])
    for folder in (*models.folders, *(path for path in source if path.is_dir())):
        check_outside(output, folder)
    check_unread(output, source)
    scorer = models.load()
    given_as = replace(layout or Layout(), languages=scorer.languages)
    given = open_all(source, given_as, files)
    asked_for = Names(columns or {}, None if layout is None else layout.decimal)
    names = asked_for.completed(scorer.columns(), given.headers, scorer.headers, given.path)
    names.check(scorer.columns(), given.columns, given.path, scorer.who)
    kept = Kept.make(given, scorer.output_columns, kind, names.header("id"), suffix) if keep else None
    work = _Work(scorer, kind, chunk, names, kept, safe)
    before = None if known is None else _previous(known, scorer, asked_for, given_as)
    unlike = before.differs(scorer.recipe) if before else ""
    workers = workers or processes(own_memory())  # each will hold what this process has loaded
    with locked_file(output):
        asked = _asked(scorer.options, names, (keep, suffix, safe, layout or Layout()))
        fingerprint = _fingerprint(scorer.recipe, files, chunk, kind, asked)
        made = finished_output(scorer.recipe, files, output, asked)
        job = _Job(output)
        earlier = None if job.begun else made.earlier(overwrite)
        if earlier is not None:
            job.remove()  # what a kill left of it
            return _told(ScoredFile.from_json(earlier, resumed_chunks=0, unchanged=True), job_summary)
        rows = _begun(given.rows(strict=keep))
        total = None if progress is silent else _total(given)
        job = _Job.open(output, fingerprint, resume, overwrite)
        told_known = (f"no score of {known} is kept: {unlike}",) if unlike else ()
        reported = _Reported(progress, total, job.resumed * chunk)
        sizes: list[int] = []
        with job.left_only_with_work():
            if before and not unlike:
                progress("reading earlier scores (files)", 0, 1)
                work.remember(before.store(job.earlier))
                progress("reading earlier scores (files)", 1, 1)
            for done, is_new in _scored_chunks(work, models, rows, job, workers):
                sizes.append(done)
                reported(done, is_new)
        summary = job.counted(scorer, len(sizes), sum(sizes))
        notes = (*given.notes, *names.told(asked_for), *told_known)
        summary = replace(summary, notes=notes, recipe=scorer.recipe)
        by = models.of(scorer.identity).told if job_summary is None else job_summary.model
        told: dict[str, Any] = {"columns": names.headers, "keep": keep, "suffix": suffix, "safe-cells": safe}
        told |= scorer.options.told
        is_parquet = kind == "parquet"
        told_of = (by.in_table(), files, len(source) == 2, told, summary)
        metadata = {METADATA: table_metadata(*told_of)} if is_parquet else None
        progress("joining (segments)", 0, summary.rows)
        job.join(work, len(sizes), metadata)
        progress("joining (segments)", summary.rows, summary.rows)
        _told(summary, job_summary)  # before the job is removed: who goes on after a kill writes it
        made.remember(summary.to_json())
        job.remove()
        return summary


@dataclass(frozen=True)
class _OneModel:
    folder: Path
    identity: str | None
    options: Options | None

    @property
    def folders(self) -> list[Path]:
        return [self.folder]

    @property
    def told(self) -> ScoringModel:
        return ScoringModel("", self.folder, self.identity or "")

    def load(self) -> Scorer:
        return Scorer.load(self.folder, self.options or Options(), identity=self.identity)

    def of(self, identity: str) -> "_OneModel":
        return replace(self, identity=identity)


_Models = _OneModel | Routes
_Scorers = Scorer | Router


def _previous(known: Path, scorer: _Scorers, asked: Names, layout: Layout) -> Previous:
    if isinstance(scorer, Router):
        raise InputError("--known is for one model", remedy="leave it out, or give --model")
    return Previous(known, scorer, asked, layout)


def finished_output(recipe: str, source: Sequence[Path], output: Path, asked: tuple[Any, ...]) -> Finished:
    """The output, with a fingerprint of all that it depends on: contents, not names and times."""
    return Finished(output, digest(recipe, [checksum(path) for path in source], asked))


def _told(done: ScoredFile, summary: JobSummary | None) -> ScoredFile:
    if summary is not None:
        summary.write(done)
    return done


def _total(given: Input) -> int | None:
    try:
        return given.count()
    except InputError:
        return None


class _Reported:
    def __init__(self, progress: Progress, total: int | None, there: int) -> None:
        self.progress, self.total = progress, total
        self.done = there if total is None else min(there, total)
        self(0, is_new=True)

    def __call__(self, size: int, is_new: bool) -> None:
        if is_new:
            self.done += size
            self.progress("scoring (segments)", self.done, self.total)


def _begun(rows: Iterator[Row]) -> Iterator[Row]:
    first = next(rows, None)
    return rows if first is None else chain([first], rows)


def _asked(options: Options, names: Names, layout: tuple[bool, str, bool, Layout]) -> tuple[Any, ...]:
    return (*options.key, sorted(names.headers.items()), names.decimal, layout)


def _fingerprint(recipe: str, source: Sequence[Path], chunk: int, kind: str, asked: tuple[Any, ...]) -> str:
    inputs = [(str(p.resolve()), p.stat().st_size, p.stat().st_mtime_ns) for p in source]
    return digest(recipe, inputs, chunk, kind, asked)


def score_frame(model: Model, table: pd.DataFrame) -> pd.DataFrame:
    """`score` and `reason` for a DataFrame, with its index.

    Raises InputError, by name, for a column that the model needs and the table lacks.
    """
    return frame_of(Scorer(model), table)


def frame_of(scorer: Scorer, table: pd.DataFrame) -> pd.DataFrame:
    """The scorer's output columns, without the id, for a DataFrame.

    The result has its index. Raises as `score_frame`.
    """
    names = names_of(scorer.model, list(map(str, table.columns)), scorer.columns())
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    rows = [names.view(({str(k): v for k, v in record.items()}, "")) for record in records]
    scored = scorer.score(rows).rows
    columns = [name for name in scorer.output_columns if name != "id"]
    values = {
        name: np.array([np.nan if row[name] is None else row[name] for row in scored], np.float64)
        if name in row_formats.NUMBERS
        else [row[name] for row in scored]
        for name in columns
    }
    return pd.DataFrame(values, index=table.index)


def names_of(model: Model, headers: Sequence[str], needed: Sequence[str] | None = None) -> Names:
    """Which header of a table is which column of the model, or of all that are needed.

    Raises InputError for a column that no header stands for, or several.
    """
    needed = model.columns() if needed is None else needed
    names = Names().completed(needed, headers, remembered(model), "the table")
    for name in needed:
        if names.header(name) not in headers:
            raise InputError(
                f"the model '{model.name}' needs the column '{name}'",
                remedy=f"the input has {', '.join(headers) or 'none'}",
            )
    return names


@dataclass(frozen=True)
class _Work:
    scorer: _Scorers
    kind: row_formats.Kind
    chunk: int
    names: Names
    kept: Kept | None
    safe: bool = False

    def remember(self, earlier: Earlier) -> None:
        assert isinstance(self.scorer, Scorer)
        self.scorer.earlier = earlier

    @property
    def columns(self) -> tuple[str, ...]:
        return self.scorer.output_columns if self.kept is None else self.kept.columns

    @property
    def types(self) -> row_formats.Types:
        return {} if self.kept is None else self.kept.column_types

    def piece(self, number: int, batch: Sequence[Row]) -> "_Piece":
        views = [self.names.view(row) for row in batch]
        scored = self.scorer.score(views, number * self.chunk)
        outcomes = Counter(row["reason"] for row in scored.rows)
        actions = Counter(row["action"] for row in scored.rows if row.get("action"))
        flagged = Counter(kind for row in scored.rows for kind in kinds_of(row.get("flags")))
        rows = scored.rows
        if self.kept is not None:
            rows = [self.kept.merged(row, made) for (row, _), made in zip(batch, rows, strict=True)]
        content = row_formats.encode(rows, self.columns, self.kind, self.types, self.safe)
        kept, routed = scored.known, scored.routed
        return _Piece(content, outcomes, scored.repeated, scored.counts, actions, flagged, kept, routed)


@dataclass(frozen=True)
class _Piece:
    content: bytes
    outcomes: Mapping[str, int]
    repeated: int
    looks: Counts | None
    actions: Mapping[str, int]
    flagged: Mapping[str, int]
    known: int = 0
    routed: Mapping[str, Routed] = field(default_factory=dict)

    def counts(self) -> bytes:
        looks = None if self.looks is None else self.looks.to_json()
        content = {"outcomes": dict(self.outcomes), "repeated": self.repeated, "looks": looks}
        routed = {name: one.to_json() for name, one in self.routed.items()}
        content |= {"known": self.known, "routed": routed}
        content |= {"actions": dict(self.actions), "flagged": dict(self.flagged)}
        return json.dumps(content).encode()


class _Worker:
    work: _Work

    @classmethod
    def start(cls, models: _Models, earlier: Path | None, rest: tuple[Any, ...]) -> None:
        logging.getLogger("qe.models").setLevel(logging.ERROR)  # the job has warned
        cls.work = _Work(models.load(), *rest)
        if earlier is not None:
            cls.work.remember(Earlier(earlier))

    @classmethod
    def piece(cls, number: int, batch: Sequence[Row]) -> _Piece:
        return cls.work.piece(number, batch)


def _scored_chunks(
    work: _Work, models: _Models, rows: Iterable[Row], job: "_Job", workers: int
) -> Iterator[tuple[int, bool]]:
    todo, several = _several(enumerate(chunks(rows, work.chunk)))
    if workers == 1 or not several:
        for number, batch in todo:
            is_new = not job.has(number)
            if is_new:
                job.store(number, work.piece(number, batch))
            yield len(batch), is_new
        return
    rest = (work.kind, work.chunk, work.names, work.kept, work.safe)
    waiting: _Waiting = {}
    try:
        scorer = work.scorer
        has_earlier = isinstance(scorer, Scorer) and scorer.earlier is not None
        start = (models.of(scorer.identity), job.earlier if has_earlier else None, rest)
        with WorkerPool(workers, _Worker.start, start) as pool:
            for number, batch in _until_damaged(todo, waiting, job):
                if job.has(number):
                    yield len(batch), False
                    continue
                waiting[pool.submit(_Worker.piece, number, batch)] = number, len(batch)
                if len(waiting) >= 2 * workers:
                    yield from _collect(waiting, job)
            while waiting:
                yield from _collect(waiting, job)
    except WorkerDied:
        raise InputError(
            "a worker process died (out of memory?); the finished chunks are kept",
            location=job.folder,
            remedy="go on with --resume, with fewer --workers",
        ) from None


_Chunks = Iterator[tuple[int, list[Row]]]
_Waiting = dict[Future[_Piece], tuple[int, int]]


def _several(chunks: _Chunks) -> tuple[_Chunks, bool]:
    begun: list[tuple[int, list[Row]]] = []
    try:
        begun += islice(chunks, 1)
        begun += islice(chunks, 1)
    except InputError as error:
        return chain(begun, _raising(error)), False
    return chain(begun, chunks), len(begun) == 2


def _raising(error: InputError) -> _Chunks:
    yield from ()
    raise error


def _until_damaged(todo: _Chunks, waiting: _Waiting, job: "_Job") -> _Chunks:
    try:
        yield from todo
    except InputError:
        while waiting:
            for _ in _collect(waiting, job):
                pass
        raise


def _collect(waiting: _Waiting, job: "_Job") -> Iterator[tuple[int, bool]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        number, size = waiting.pop(future)
        job.store(number, future.result())
        yield size, True


# Everything that a job leaves in its folder; the hidden ones are files that a kill left half written.
_OWN = re.compile(r"\d{9}\.(piece|json)|job\.json|joined|earlier\.db|\.(\d{9}\.(piece|json)|job\.json)\..*")


@dataclass
class _Job:
    output: Path
    resumed: int = 0

    @property
    def folder(self) -> Path:
        return self.output.with_name(self.output.name + ".partial")

    @property
    def earlier(self) -> Path:
        return self.folder / "earlier.db"

    @property
    def _description(self) -> Path:
        return self.folder / "job.json"

    @property
    def begun(self) -> bool:
        return self._description.is_file() and any(self.folder.glob("*.piece"))

    @classmethod
    def open(cls, output: Path, fingerprint: str, resume: bool, overwrite: bool) -> "_Job":
        job = cls(output)
        job._check_own()
        if job.begun and not overwrite:
            if not resume:
                raise InputError(
                    "holds an unfinished job", location=job.folder, remedy="use --resume, or --overwrite"
                )
            job._check_same(fingerprint)
            job.resumed = len(list(job.folder.glob("*.piece")))
            return job
        job.remove()
        with job.left_only_with_work():
            try:
                job.folder.mkdir(parents=True)
            except OSError as error:
                raise InputError(f"cannot be written ({error.strerror})", location=job.folder) from None
            with atomic_file(job._description) as temporary:
                temporary.write_text(json.dumps({"fingerprint": fingerprint}) + "\n", "utf-8")
        return job

    def _check_own(self) -> None:
        if not self.folder.is_dir() or self.folder.is_symlink():
            if self.folder.exists() or self.folder.is_symlink():
                raise InputError(
                    "is in the way: unfinished jobs are kept there",
                    location=self.folder,
                    remedy="choose another --output",
                )
            return
        strangers = (path.name for path in sorted(self.folder.iterdir()) if not _OWN.fullmatch(path.name))
        name = next(strangers, None)
        if name is not None:
            raise InputError(
                f"holds {name!r}, which no scoring job left there",
                location=self.folder,
                remedy="choose another --output",
            )

    def _check_same(self, fingerprint: str) -> None:
        if _read_json(self._description).get("fingerprint") != fingerprint:
            raise InputError(
                "was begun with another model, input or chunk size, or with other options",
                location=self.folder,
                remedy="start anew with --overwrite",
            )

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
                if _OWN.fullmatch(path.name):
                    path.unlink()
            with suppress(OSError):  # something came in meanwhile, and stays
                self.folder.rmdir()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:09d}.piece"

    def has(self, number: int) -> bool:
        piece = self._path(number)
        return piece.is_file() and piece.with_suffix(".json").is_file()

    def store(self, number: int, piece: _Piece) -> None:
        try:
            for path, content in (
                (self._path(number).with_suffix(".json"), piece.counts()),
                (self._path(number), piece.content),
            ):
                with atomic_file(path) as temporary:
                    temporary.write_bytes(content)
        except InputError as error:
            there = self.begun
            raise InputError(
                f"{error.problem}; the finished chunks are kept" if there else error.problem,
                location=self.folder if there else self.output,
                remedy="make room, then go on with --resume" if there else "make room",
            ) from None

    def counted(self, scorer: _Scorers, chunks: int, rows: int) -> ScoredFile:
        outcomes: Counter[str] = Counter()
        actions: Counter[str] = Counter()
        flagged: Counter[str] = Counter()
        routed: dict[str, Routed] = {}
        repeated, known, looks = 0, 0, None
        pieces = [self._path(number) for number in range(chunks)]
        for piece in pieces:
            file, remedy = piece.with_suffix(".json"), "start anew with --overwrite"
            counts = read_json("a chunk's counts", file, remedy)
            with damage_reported("a chunk's counts", file, remedy):
                repeated += counts["repeated"]
                known += counts["known"]
                for name, one in counts["routed"].items():
                    routed[name] = Routed.from_json(one) + routed.get(name, Routed(0, 0, None))
                if counts["looks"] is not None:
                    more = Counts.from_json(counts["looks"])
                    looks = more if looks is None else looks + more
                outcomes.update(counts["outcomes"])
                actions.update(counts["actions"])
                flagged.update(counts["flagged"])
        self._check_whole(pieces, sum(outcomes.values()), rows)
        scored = outcomes.pop("", 0)
        done = ScoredFile(
            rows,
            scored,
            outcomes,
            self.resumed,
            repeated,
            _drift(scorer.profile, looks),
            actions,
            flagged,
            scorer.lacking,
            known=known,
        )
        if not (profiles := scorer.profiles()):
            return done
        rest = {name: routed.get(name, Routed(0, 0, None)) for name in profiles}
        routes = {
            name: RouteDone(one.rows, one.scored, _drift(profiles[name], one.counts))
            for name, one in rest.items()
        }
        return replace(done, routes=routes)

    def join(self, work: _Work, chunks: int, metadata: Mapping[bytes, bytes] | None) -> None:
        pieces = [self._path(number) for number in range(chunks)]
        # What a kill leaves of an unfinished file lies in the job's folder, and goes with it.
        joined = self.folder / "joined"
        try:
            packed = row_formats.packed_as(self.output)
            row_formats.join(pieces, joined, work.columns, work.kind, packed, work.types, metadata)
            joined.replace(self.output)
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror}); the finished chunks are kept",
                location=self.output,
                remedy="make room, then go on with --resume",
            ) from None

    def _check_whole(self, pieces: Sequence[Path], scored: int, rows: int) -> None:
        there = {path.name for path in self.folder.glob("*.piece")}
        if scored != rows or there != {piece.name for piece in pieces}:
            raise InputError(
                f"{rows:,} rows were read in {len(pieces):,} chunks, but {len(there):,} finished chunks with "
                f"{scored:,} rows are there",
                location=self.folder,
                remedy="something else changed this folder; start anew with --overwrite",
            )


def _drift(profile: Profile | None, looks: Counts | None) -> DriftReport | None:
    return None if profile is None or looks is None else profile.report(looks)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"is damaged ({error})", location=path, remedy="start the job anew with --overwrite"
        ) from None
    if not isinstance(content, dict):
        raise InputError(
            "is damaged (no JSON object)", location=path, remedy="start the job anew with --overwrite"
        )
    return content
