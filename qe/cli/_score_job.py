"""One `qe score` job: check options, open models and files, score, report."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from features.basics.errors import InputError
from features.storage.outputs import check_apart, check_output, check_outside
from qe.api.models import model_folder
from qe.cli import _score_rules as rules
from qe.cli._common import chosen_routes, on_spark, registered
from qe.cli._log import JsonLog, Log, log_of
from qe.cli._options import table_layout
from qe.cli._score_output import show_actions, show_scored, summary_json, tell_input, write_drift
from qe.data.table_rows import Layout
from qe.models import description
from qe.models.model import Model
from qe.production.thresholds import Thresholds
from qe.scoring.conditions import Condition, failures
from qe.scoring.document_scores import DocumentIds, score_documents, write_documents
from qe.scoring.in_place import score_in_place
from qe.scoring.job_summary import JobSummary, beside, check_place
from qe.scoring.jobs import score_file
from qe.scoring.many import check_unread, files_of, open_all
from qe.scoring.naming import name_pairs
from qe.scoring.piped import Piped
from qe.scoring.router import Destination, Routes
from qe.scoring.row_formats import kind_of
from qe.scoring.scored_file import ScoredFile
from qe.scoring.scorer import CACHE, CACHE_WITH_TOKENS, Options, languages_of
from qe.scoring.scoring_model import ScoringModel

if TYPE_CHECKING:
    from qe.scoring.spark.scoring import ScoredTable


@dataclass
class ScoreJob:
    """The options of `qe score`, under the same names, and what follows from them."""

    input_: list[str]
    output: str
    model: str | None
    models: Path | None
    columns: list[str] | None
    delimiter: str | None
    quoting: bool | None
    encoding: str | None
    decimal: str | None
    sheet: str
    header_row: int
    languages: list[str] | None
    interval: float | None
    explain: int
    triage: Path | None
    tokens: bool
    tags: str | None
    flags: bool
    outside: bool
    documents: Path | None
    doc_ids: str | None
    with_model: bool
    known: Path | None
    resume: bool
    overwrite: bool
    cache: bool
    workers: int | None
    chunk: int
    engine: str
    master: str | None
    keep: bool
    suffix: str
    safe_cells: bool
    drift: Path | None
    summary: Path | None
    no_summary: bool
    fail_if: list[str] | None
    require_signature: Path | None
    log_form: str | None
    quiet: bool
    as_json: bool

    def run(self) -> None:
        """Raises InputError before a row is scored; ends with 1 if no row was, or a condition holds."""
        self._check_options()
        self._begin()
        self._check_kinds()
        self._open()
        if self._on_spark:
            self._run_on_spark()
        else:
            self._run_here()

    def _check_options(self) -> None:
        rules.check_inputs(self.input_, self.output, self.as_json)
        if self._has_pipes:
            rules.not_with_pipes({"--resume": self.resume, "--engine": self.engine != "local"})
        rules.check_words(self.tags, self.tokens)
        rules.check_documents(self.doc_ids, self.documents)

    def _begin(self) -> None:
        self.begun = datetime.now(UTC)
        self.conditions = [Condition.parsed(text) for text in self.fail_if or ()]
        self.log: Log = log_of("score", self.log_form)
        self.piped = Piped() if self._has_pipes else None
        self.inputs, self.destination = self._as_files(self.piped)
        self.routes = chosen_routes(self.model, self.models)
        self.by = [self._scoring_model(route.model) for route in self.routes]

    @property
    def _has_pipes(self) -> bool:
        return "-" in (*self.input_, self.output)

    def _as_files(self, piped: Piped | None) -> tuple[list[Path], Path]:
        if piped is None:
            return [Path(name) for name in self.input_], Path(self.output)
        inputs = [piped.read(sys.stdin.buffer) if name == "-" else Path(name) for name in self.input_]
        return inputs, piped.output(inputs) if self.output == "-" else Path(self.output)

    def _scoring_model(self, name: str) -> ScoringModel:
        folder, identity = model_folder(name, self.require_signature)
        return ScoringModel(name, folder, identity, registered(name, folder), self.require_signature)

    @property
    def _in_place(self) -> bool:
        return rules.is_translation_file(str(self.destination))

    @cached_property
    def _of_files(self) -> bool:
        return any(rules.is_translation_file(str(name)) for name in self.inputs)

    @cached_property
    def _on_spark(self) -> bool:
        return on_spark(self.engine, self.master)

    def _check_kinds(self) -> None:
        if not self._of_files:
            rules.only_of_files({
                "--sheet": self.sheet, "--header-row": self.header_row != 1, "--languages": self.languages,
            })  # fmt: skip
            return
        rules.only_of_tables({
            "a second --input": self.inputs[1:], "--engine": self.engine != "local", "--models": self.models,
        })  # fmt: skip
        if self._in_place:
            rules.only_of_tables({
                "--tokens": self.tokens, "--keep": self.keep, "--safe-cells": self.safe_cells,
                "--resume": self.resume, "--workers": self.workers, "--documents": self.documents,
                "--known": self.known,
            })  # fmt: skip

    def _open(self) -> None:
        if self.triage is not None and not self._on_spark:
            check_output(self.destination, [self.triage])
        self.thresholds = self._thresholds_of_each()
        self.options = self._options_of_each()
        self.headers = name_pairs(self.columns or (), "--columns")
        self.layout = self._table_layout()

    def _options_of_each(self) -> list[Options]:
        cache = CACHE_WITH_TOKENS if self.tokens else CACHE
        asked = Options(
            self.interval, self.explain, self.tokens, cache=cache if self.cache else 0,
            flags=self.flags, outside=self.outside, tag_by=self.tags or "f1_mult",
        )  # fmt: skip
        return [
            replace(asked, triage=decision, with_model=one.label if self.with_model else "")
            for decision, one in zip(self.thresholds, self.by, strict=True)
        ]

    def _thresholds_of_each(self) -> list[Thresholds | None]:
        path = self.triage
        if path is None:
            return [None] * len(self.by)
        if self.models is not None and path.suffix.lower() == ".json":
            raise InputError(
                "holds thresholds of one model", location=path, remedy="give a cost table (.yaml)"
            )
        return [_thresholds_of(path, one) for one in self.by]

    @property
    def _wants_drift(self) -> bool:
        return self.drift is not None or any(condition.most is None for condition in self.conditions)

    def _table_layout(self) -> Layout:
        return table_layout(
            self.delimiter, self.quoting, self.encoding, self.decimal,
            sheet=self.sheet, header_row=self.header_row, languages=self.languages,
        )  # fmt: skip

    # On Spark

    def _run_on_spark(self) -> None:
        thresholds = self.thresholds[0]
        rules.only_local({
            "--resume": self.resume, "--workers": self.workers, "--summary": self.summary,
            "--documents": self.documents, "--delimiter": self.delimiter, "--quoting": self.quoting,
            "--encoding": self.encoding, "--decimal": self.decimal, "--models": self.models,
            "--known": self.known,
        })  # fmt: skip
        if self._wants_drift:
            rules.check_profile(self.by[0].folder)
        done = self._score_on_spark()
        warnings = () if done.drift is None else done.drift.warnings
        self._show(done, None)
        tell_input(self.log, warnings, done.not_checked)
        if self.drift is not None:
            write_drift(self.drift, done.drift)
        if thresholds is not None and not self._mute:
            show_actions(thresholds, done.actions, done.scored)
        self._end(done.rows, done.scored, warnings)

    def _score_on_spark(self) -> "ScoredTable":
        from qe.scoring.spark.scoring import check_inputs, score_table
        from qe.scoring.spark.session import spark_session

        model, others = self.by[0], [file for file in (self.triage, self.drift) if file is not None]
        source = check_inputs(self.input_)
        check_apart(self.destination, [Path(source), model.folder, *others])
        with spark_session(self.master, quiet=self._mute) as session:
            return score_table(
                session, model.folder, source, self.output, identity=model.identity,
                options=self.options[0], columns=self.headers, keep=self.keep, suffix=self.suffix,
                safe=self.safe_cells, overwrite=self.overwrite, chunk=self.chunk,
            )  # fmt: skip

    # On this machine

    def _run_here(self) -> None:
        self._check_files()
        of_documents = self._document_ids()
        job = self._job()
        self.log.event("begin", model=job.model.to_json(), inputs=self.input_, output=self.output)
        done = self._score_in_place(job) if self._of_files and self._in_place else self._score(job)
        self._tell(done, of_documents, job)
        seconds = (datetime.now(UTC) - self.begun).total_seconds()
        self.log.event("end", output=self.output, **done.counts, seconds=seconds)
        self._end(done.rows, done.scored, done.warnings)

    @cached_property
    def _sources(self) -> list[Path]:
        return [] if self._of_files else files_of(self.inputs)

    @cached_property
    def _read(self) -> list[Path]:
        models = [one.folder for one in self.by]
        given = [path for path in (self.triage, self.known, self.models) if path]
        return [*self.inputs, *self._sources, self.destination, *models, *given]

    @cached_property
    def _place(self) -> Path | None:
        rules.check_summary(self.summary, self.no_summary)
        if self.no_summary or (self.output == "-" and self.summary is None):
            return None
        return self.summary or beside(self.destination)

    def _check_files(self) -> None:
        read = self._read
        if self.models is not None:
            check_output(self.destination, [self.models])
            rules.only_of_one({"--drift": self.drift, "--known": self.known})
        if self.drift is not None:
            check_output(self.drift, read)
        for one in self.by if self._wants_drift else ():
            rules.check_profile(one.folder)
        for written in filter(None, (self.destination, self._place, self.drift)):
            for folder in (path for path in self.inputs if path.is_dir()):
                check_outside(written, folder)
            check_unread(written, self.inputs)
        if self._place is not None:
            check_output(self._place, [*read, *([self.drift] if self.drift else [])])
            if self.summary is None:
                check_place(self._place)

    def _document_ids(self) -> DocumentIds | None:
        layout = self.layout
        if self.documents is None:
            return None
        ids = Path(self.doc_ids) if self.doc_ids else None
        others = [path for path in (self.drift, self._place, ids) if path]
        check_output(self.documents, [*self._read, *others])
        kind_of(self.documents)
        if self._of_files:
            model = Model.load(self.by[0].folder, identity=self.by[0].identity)
            layout = replace(layout, languages=languages_of(model))
        return DocumentIds.found(open_all(self.inputs, layout), self.doc_ids)

    @cached_property
    def _routed(self) -> Routes | None:
        if self.models is None:
            return None
        return Routes(self.models, list(map(Destination, self.routes, self.by, self.options)))

    def _job(self) -> JobSummary:
        named = str if self.piped is None else self.piped.named
        return JobSummary(
            self._routed or self.by[0], self._sources or self.inputs, self.destination, self._given,
            self.begun, self._place, named, len(self.inputs) == 2,
        )  # fmt: skip

    @property
    def _given(self) -> dict[str, object]:
        given = {
            "columns": self.columns, "delimiter": self.delimiter, "quoting": self.quoting,
            "encoding": self.encoding, "decimal": self.decimal, "sheet": self.sheet,
            "header-row": self.header_row, "languages": self.languages, "models": self.models,
            "interval": self.interval, "explain": self.explain, "triage": self.triage,
            "tokens": self.tokens, "tags": self.tags, "flags": self.flags, "outside": self.outside,
            "with-model": self.with_model, "keep": self.keep, "suffix": self.suffix,
            "safe-cells": self.safe_cells, "known": self.known, "resume": self.resume,
            "cache": None if self.cache else "no", "workers": self.workers, "chunk": self.chunk,
            "fail-if": self.fail_if, "documents": self.documents, "doc-ids": self.doc_ids,
        }  # fmt: skip
        return {
            name: str(value) if isinstance(value, Path) else value for name, value in given.items() if value
        }

    def _score_in_place(self, job: JobSummary) -> ScoredFile:
        model = self.by[0]
        return score_in_place(
            model.folder, self.inputs[0], self.destination, identity=model.identity,
            options=self.options[0], columns=self.headers, layout=self.layout, suffix=self.suffix,
            overwrite=self.overwrite, job_summary=job,
        )  # fmt: skip

    def _score(self, job: JobSummary) -> ScoredFile:
        model = self.by[0]
        with self.log.progress(self._mute) as progress:
            return score_file(
                self._routed or model.folder, self.inputs, self.destination, identity=model.identity,
                options=self.options[0], columns=self.headers, layout=self.layout, keep=self.keep,
                suffix=self.suffix, safe=self.safe_cells, job_summary=job, known=self.known,
                resume=self.resume, overwrite=self.overwrite, workers=self.workers, chunk=self.chunk,
                progress=progress,
            )  # fmt: skip

    # What is told

    @property
    def _unsaid(self) -> bool:
        return self.quiet or (self.output == "-" and isinstance(self.log, JsonLog))

    @property
    def _mute(self) -> bool:
        return self.quiet or self.as_json

    def _tell(self, done: ScoredFile, of_documents: DocumentIds | None, job: JobSummary) -> None:
        for told in done.notes:
            self.log.tell("note", f"{self.input_[0]}: {told}", quiet=self.quiet)
        tell_input(self.log, done.warnings, done.not_checked)
        if self.drift is not None:
            write_drift(self.drift, done.drift)
        if self.documents is not None and of_documents is not None:
            self._write_documents(self.documents, of_documents)
        if self.piped is not None and self.output == "-":
            self.piped.write(self.destination)
        with redirect_stdout(sys.stderr if self.output == "-" else sys.stdout):
            self._show(done, job.model.to_json() if self.as_json else None)
            thresholds = self.thresholds[0]
            if thresholds is not None and self.models is None and not (self.as_json or self._unsaid):
                show_actions(thresholds, done.actions, done.scored)

    def _write_documents(self, path: Path, ids: DocumentIds) -> None:
        found = score_documents(ids, self.destination, f"score{self.suffix if self.keep else ''}")
        write_documents(path, found)
        if "" in found:
            told = f"{found[''].segments:,} rows name no document: they are together in one without a name"
            self.log.tell("note", f"{path}: {told}", quiet=self.quiet)

    def _show(self, done: "ScoredFile | ScoredTable", model: Mapping[str, object] | None) -> None:
        if self.as_json:
            print(summary_json(done, self.output, model))
        elif not self._unsaid:
            show_scored(done, self.output)

    def _end(self, rows: int, scored: int, drift: Sequence[str]) -> None:
        told = list(failures(self.conditions, rows, scored, drift))
        for sentence in told:
            self.log.tell("failed", f"failed: {sentence}")
        if told:
            raise typer.Exit(1)


def _thresholds_of(path: Path, model: ScoringModel) -> Thresholds:
    with description.one_model(model.folder, model.identity):
        return Thresholds.given(path, model.folder, description.read(model.folder).scale)
