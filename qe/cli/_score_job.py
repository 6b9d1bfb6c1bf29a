"""One `qe score` job: check options, open models and files, score, report."""

import json
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
from features.storage.outputs import check_no_overlap, check_output, check_outside
from qe.api.models import model_folder
from qe.cli._commands import check_existence
from qe.cli._log import JsonLog, Log, log_of
from qe.cli._score_options import ScoreOptions
from qe.cli.shared.printing import chosen_routes, on_spark, registered
from qe.data.translation_files.kinds import translation_kind
from qe.display import output_schemas
from qe.display.files import write_json
from qe.display.numbers import percent
from qe.display.terminal import show
from qe.evaluation.word_level import check_threshold_metric
from qe.models import description
from qe.models.drift import DriftReport, Profile
from qe.models.model import Model
from qe.production.triage import Thresholds, actions_table, closed_scale
from qe.scoring.document_scores import DocumentIds, score_documents, write_documents
from qe.scoring.in_place import score_in_place
from qe.scoring.input import Piped, check_unread, files_of, open_all
from qe.scoring.job_summary import (
    Condition,
    JobSummary,
    ScoredFile,
    check_place,
    default_place,
    failures,
)
from qe.scoring.jobs import score_file
from qe.scoring.routes import Destination, Routes, ScoringModel
from qe.scoring.row_formats import kind_of
from qe.scoring.scorer import CACHE, CACHE_WITH_TOKENS, Options, languages_of

if TYPE_CHECKING:
    from qe.scoring.spark.scoring import ScoredTable

# Options that the summary of a job does not list: it names inputs, output and model in fields of their own.
_UNLISTED = {
    "input_", "output", "model", "overwrite", "engine", "master", "drift", "summary", "no_summary",
    "require_signature", "log", "quiet", "json",
}  # fmt: skip


@dataclass
class ScoreJob:
    options: ScoreOptions

    def run(self) -> None:
        """Raises InputError before a row is scored; exits with 1 if no row was, or a condition holds."""
        self._check_options()
        self.begun = datetime.now(UTC)
        self.conditions = [Condition.parsed(text) for text in self.options.fail_if or ()]
        self.log: Log = log_of("score", self.options.log)
        self.inputs, self.destination = self._paths()
        self.routes = chosen_routes(self.options.model, self.options.models)
        self.models = [self._scoring_model(route.model) for route in self.routes]
        self._check_kinds()
        if self.options.triage is not None and not self._on_spark:
            check_output(self.destination, [self.options.triage])
        self.thresholds = list(map(self._thresholds, self.models))
        self.scorers = list(map(self._scorer_options, self.models, self.thresholds))
        self.headers = self.options.headers
        self.layout = self.options.layout(languages=self.options.languages, locked=self.options.locked)
        if self._on_spark:
            self._run_on_spark()
        else:
            self._run_here()

    # Options and files

    def _check_options(self) -> None:
        options = self.options
        inputs, pipes = options.input_, "-" in (*options.input_, options.output)
        if len(inputs) > 2:
            count = f"not {len(inputs)} times"
            raise InputError(f"--input is given once (a table) or twice (source, target), {count}")
        if len(inputs) > 1 and "-" in inputs:
            raise InputError("standard input is one table", remedy="give two files, or one -")
        if options.json and options.output == "-":
            remedy = "leave one of them out"
            raise InputError("--json and --output - both write to stdout", remedy=remedy)
        if pipes:
            self._check_unused("resume engine", "cannot be combined with - (stdin, stdout)", "give files")
        if options.tags is not None:
            if not options.tokens:
                raise InputError("--tags needs --tokens", remedy="add --tokens, or leave it out")
            check_threshold_metric(options.tags, "--tags")
        if options.doc_ids is not None and options.documents is None:
            raise InputError("--doc-ids needs --documents", remedy="add --documents, or leave it out")
        self.piped = Piped() if pipes else None

    def _check_unused(self, names: str, problem: str, remedy: str) -> None:
        for name in names.split():
            value = getattr(self.options, name)
            if value and value != getattr(ScoreOptions, name):  # the default
                raise InputError(f"--{name.replace('_', '-')} {problem}", remedy=remedy)

    def _paths(self) -> tuple[list[Path], Path]:
        names, output, piped = self.options.input_, self.options.output, self.piped
        if not self._on_spark:
            check_existence(map(Path, names))
        if piped is None:
            return [Path(name) for name in names], Path(output)
        inputs = [piped.read(sys.stdin.buffer) if name == "-" else Path(name) for name in names]
        return inputs, piped.output(inputs) if output == "-" else Path(output)

    def _scoring_model(self, name: str) -> ScoringModel:
        signature = self.options.require_signature
        folder, identity = model_folder(name, signature)
        return ScoringModel(name, folder, identity, registered(name, folder), signature)

    @cached_property
    def _reads_translation_files(self) -> bool:
        return any(translation_kind(path) is not None for path in self.inputs)

    @property
    def _in_place(self) -> bool:
        return self._reads_translation_files and translation_kind(self.destination) is not None

    @cached_property
    def _on_spark(self) -> bool:
        return on_spark(self.options.engine, self.options.master)

    def _check_kinds(self) -> None:
        remedy = "leave it out for XLIFF, TMX and XLSX"
        if not self._reads_translation_files:
            names = "sheet header_row languages locked"
            self._check_unused(names, "is for XLIFF, TMX or XLSX", "leave it out for tables")
            return
        if self.inputs[1:]:
            raise InputError("a second --input is for tables", remedy=remedy)
        self._check_unused("engine models", "is for tables", remedy)
        if self._in_place:
            names = "tokens keep safe_cells resume workers documents reuse_scores"
            self._check_unused(names, "is for tables", remedy)

    def _thresholds(self, model: ScoringModel) -> Thresholds | None:
        path = self.options.triage
        if path is None:
            return None
        if self.options.models is not None and path.suffix.lower() == ".json":
            remedy = "give a cost table (.yaml)"
            raise InputError("holds thresholds of one model", location=path, remedy=remedy)
        with description.one_model(model.folder, model.identity):
            found = Thresholds.from_file(path, model.folder, closed_scale(description.read(model.folder)))
        for note in found.notes:
            self.log.tell("note", f"{path}: {note}", quiet=self.options.quiet)
        return found

    def _scorer_options(self, model: ScoringModel, thresholds: Thresholds | None) -> Options:
        options = self.options
        cache = CACHE_WITH_TOKENS if options.tokens else CACHE
        return Options(
            options.interval, options.explain, options.tokens, cache=cache if options.cache else 0,
            flags=options.flags, outside=options.outside, tag_by=options.tags or "f1_mult",
            triage=thresholds, with_model=model.label if options.with_model else "",
            missing_columns=options.missing_columns,
        )  # fmt: skip

    def _check_profiles(self) -> None:
        if self.options.drift is not None or any(condition.maximum is None for condition in self.conditions):
            for model in self.models:
                Profile.load(model.folder)  # raises for a model without one

    # On Spark

    def _run_on_spark(self) -> None:
        options = self.options
        names = (
            "resume workers summary documents delimiter quoting escape encoding decimal models reuse_scores"
        )
        self._check_unused(names, "is for the local engine", "leave out either it or --engine spark")
        self._check_profiles()
        result = self._score_on_spark()
        warnings = () if result.drift is None else result.drift.warnings
        self._show(result, None)
        warn_of_input(self.log, warnings, result.not_checked)
        if options.drift is not None:
            write_drift(options.drift, result.drift)
        if self.thresholds[0] is not None and not self._no_progress:
            show(actions_table(self.thresholds[0], result.actions, result.scored))
        self._end(result.rows, result.scored, warnings)

    def _score_on_spark(self) -> "ScoredTable":
        from qe.scoring.spark.scoring import check_inputs, score_table
        from qe.scoring.spark.session import spark_session

        options, model = self.options, self.models[0]
        source = check_inputs(options.input_)
        files = [file for file in (options.triage, options.drift) if file is not None]
        check_no_overlap(self.destination, [Path(source), model.folder, *files])
        with spark_session(options.master, quiet=self._no_progress) as session:
            return score_table(
                session, model.folder, source, options.output, identity=model.identity,
                options=self.scorers[0], columns=self.headers, keep=options.keep, suffix=options.suffix,
                safe=options.safe_cells, overwrite=options.overwrite, chunk=options.chunk,
            )  # fmt: skip

    # On this machine

    def _run_here(self) -> None:
        self._check_files()
        ids = self._document_ids()
        job = self._job()
        output = self.options.output
        self.log.event("begin", model=job.model.to_json(), inputs=self.options.input_, output=output)
        result = self._score_in_place(job) if self._in_place else self._score(job)
        self._report(result, ids, job)
        seconds = (datetime.now(UTC) - self.begun).total_seconds()
        self.log.event("end", output=output, **result.counts, seconds=seconds)
        self._end(result.rows, result.scored, result.warnings)

    @cached_property
    def _sources(self) -> list[Path]:
        return [] if self._reads_translation_files else files_of(self.inputs)

    @cached_property
    def _files(self) -> list[Path]:
        options, models = self.options, [model.folder for model in self.models]
        read = [path for path in (options.triage, options.reuse_scores, options.models) if path]
        return [*self.inputs, *self._sources, self.destination, *models, *read]

    @cached_property
    def _summary(self) -> Path | None:
        options = self.options
        if options.summary is not None and options.no_summary:
            remedy = "leave one of them out"
            raise InputError("--summary and --no-summary exclude each other", remedy=remedy)
        if options.no_summary or (options.output == "-" and options.summary is None):
            return None
        return options.summary or default_place(self.destination)

    def _check_files(self) -> None:
        options = self.options
        if options.models is not None:
            check_output(self.destination, [options.models])
            self._check_unused("drift reuse_scores", "is for one model", "leave it out with --models")
        if options.drift is not None:
            check_output(options.drift, self._files)
        self._check_profiles()
        for written in filter(None, (self.destination, self._summary, options.drift)):
            for folder in (path for path in self.inputs if path.is_dir()):
                check_outside(written, folder)
            check_unread(written, self.inputs)
        if self._summary is not None:
            check_output(self._summary, [*self._files, *([options.drift] if options.drift else [])])
            if options.summary is None:
                check_place(self._summary)

    def _document_ids(self) -> DocumentIds | None:
        options, layout = self.options, self.layout
        if options.documents is None:
            return None
        ids = Path(options.doc_ids) if options.doc_ids else None
        others = [path for path in (options.drift, self._summary, ids) if path]
        check_output(options.documents, [*self._files, *others])
        kind_of(options.documents)
        if self._reads_translation_files:
            model = Model.load(self.models[0].folder, identity=self.models[0].identity)
            layout = replace(layout, languages=languages_of(model))
        return DocumentIds.from_option(open_all(self.inputs, layout), options.doc_ids)

    @cached_property
    def _routed(self) -> Routes | None:
        if self.options.models is None:
            return None
        return Routes(self.options.models, list(map(Destination, self.routes, self.models, self.scorers)))

    def _job(self) -> JobSummary:
        values = {**vars(self.options), "cache": None if self.options.cache else "no"}
        listed = {
            name.replace("_", "-"): str(value) if isinstance(value, Path) else value
            for name, value in values.items()
            if value and name not in _UNLISTED
        }
        named = str if self.piped is None else self.piped.display_path
        return JobSummary(
            self._routed or self.models[0], self._sources or self.inputs, self.destination, listed,
            self.begun, self._summary, named, len(self.inputs) == 2,
        )  # fmt: skip

    def _score_in_place(self, job: JobSummary) -> ScoredFile:
        options, model = self.options, self.models[0]
        return score_in_place(
            model.folder, self.inputs[0], self.destination, identity=model.identity,
            options=self.scorers[0], columns=self.headers, layout=self.layout, suffix=options.suffix,
            overwrite=options.overwrite, job_summary=job,
        )  # fmt: skip

    def _score(self, job: JobSummary) -> ScoredFile:
        options, model = self.options, self.models[0]
        with self.log.progress(self._no_progress) as progress:
            return score_file(
                self._routed or model.folder, self.inputs, self.destination, identity=model.identity,
                options=self.scorers[0], columns=self.headers, layout=self.layout, keep=options.keep,
                suffix=options.suffix, safe=options.safe_cells, job_summary=job,
                earlier_output=options.reuse_scores,
                resume=options.resume, overwrite=options.overwrite, workers=options.workers,
                chunk=options.chunk, progress=progress,
            )  # fmt: skip

    # The report

    @property
    def _silent(self) -> bool:
        return self.options.quiet or (self.options.output == "-" and isinstance(self.log, JsonLog))

    @property
    def _no_progress(self) -> bool:
        return self.options.quiet or self.options.json

    def _report(self, result: ScoredFile, ids: DocumentIds | None, job: JobSummary) -> None:
        options = self.options
        for note in result.notes:
            self.log.tell("note", f"{options.input_[0]}: {note}", quiet=options.quiet)
        warn_of_input(self.log, result.warnings, result.not_checked)
        if options.drift is not None:
            write_drift(options.drift, result.drift)
        if options.documents is not None and ids is not None:
            self._write_documents(options.documents, ids)
        if self.piped is not None and options.output == "-":
            self.piped.write(self.destination)
        with redirect_stdout(sys.stderr if options.output == "-" else sys.stdout):
            self._show(result, job.model.to_json() if options.json else None)
            thresholds = self.thresholds[0]
            if thresholds is not None and options.models is None and not (options.json or self._silent):
                show(actions_table(thresholds, result.actions, result.scored))

    def _write_documents(self, path: Path, ids: DocumentIds) -> None:
        column = f"score{self.options.suffix if self.options.keep else ''}"
        documents = score_documents(ids, self.destination, column)
        write_documents(path, documents)
        if "" in documents:
            rows = f"{documents[''].segments:,} rows name no document: they form one without a name"
            self.log.tell("note", f"{path}: {rows}", quiet=self.options.quiet)

    def _show(self, result: "ScoredFile | ScoredTable", model: Mapping[str, object] | None) -> None:
        if self.options.json:
            print(summary_json(result, self.options.output, model))
        elif not self._silent:
            show_scored(result, self.options.output)

    def _end(self, rows: int, scored: int, drift: Sequence[str]) -> None:
        failed = list(failures(self.conditions, rows, scored, drift))
        for sentence in failed:
            self.log.tell("failed", f"failed: {sentence}")
        if failed:
            raise typer.Exit(1)


def warn_of_input(log: Log, warnings: Sequence[str], not_checked: Mapping[str, str]) -> None:
    """On stderr: what was not looked for, and how the input differs from the training data."""
    for kind, reason in not_checked.items():
        log.tell("warning", f"{kind} are not checked: {reason}")
    for warning in warnings:
        log.tell("warning", f"the input differs from the training data: {warning}")


def summary_json(
    completed: "ScoredFile | ScoredTable", output: str, model: Mapping[str, object] | None
) -> str:
    of_model = {} if model is None else {"model": model}
    content = {**completed.to_json(), "output": output, **of_model}
    return json.dumps(output_schemas.stamped("score" if of_model else "score-spark", content))


def show_scored(completed: "ScoredFile | ScoredTable", output: str) -> None:
    if getattr(completed, "unchanged", False):
        print(
            f"{output} is finished: the same job made it, so there is nothing to do (--overwrite repeats it)"
        )
    print(f"{completed.scored:,} of {completed.rows:,} rows scored: {output}")
    origins = {"repeated": "an equal segment", "reused": "an earlier job"}
    for kind, origin in origins.items():
        if rows := getattr(completed, kind, 0):
            print(f"  {rows:,} ({percent(rows / completed.scored)}) reused the score of {origin}")
    for name, route in getattr(completed, "routes", {}).items():
        print(f"  {route.scored:,} of {route.rows:,} rows scored: {name}")
    for kind, count in sorted(getattr(completed, "flagged", {}).items()):
        print(f"  {count:,} flagged: {kind}")
    for reason, count in sorted(completed.reasons.items(), key=lambda item: -item[1])[:10]:
        print(f"  {count:,} without a score: {reason}")


def write_drift(path: Path, report: DriftReport | None) -> None:
    write_json(path, None if report is None else report.to_json())
