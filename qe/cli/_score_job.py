"""One `qe score` job: check options, open models and files, score, report."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage.outputs import check_no_overlap, check_output, check_outside
from qe.api.models import model_folder
from qe.cli._log import JsonLog, Log, TextLog
from qe.cli.shared.commands import check_existence
from qe.cli.shared.options import ScoreOptions
from qe.cli.shared.printing import chosen_routes, registered
from qe.data.translation_files.segments import translation_kind
from qe.data.writing import kind_of
from qe.display import output_schemas
from qe.display.files import write_json
from qe.display.numbers import percent
from qe.display.summary import show
from qe.evaluation.word_level import check_threshold_metric
from qe.models import description
from qe.models.drift import DriftReport, Profile
from qe.models.model import Model
from qe.production.triage import Thresholds, actions_table, closed_scale
from qe.scoring.in_place import score_in_place
from qe.scoring.input import (
    DocumentIds,
    Piped,
    check_unread,
    files_of,
    open_all,
    score_documents,
    write_documents,
)
from qe.scoring.job_summary import Condition, JobSummary, ScoredFile, check_place, default_place, failures
from qe.scoring.jobs import score_file
from qe.scoring.routes import Destination, Routes, ScoringModel
from qe.scoring.scorer import CACHE, CACHE_WITH_TOKENS, Options, languages_of
from qe.scoring.settings import AddedColumns

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
        options = self.options
        self._check_options()
        self.begun = datetime.now(UTC)
        self.conditions = [Condition.parsed(text) for text in options.fail_if or ()]
        if options.log not in (None, "text", "json"):
            raise InputError(f"is text or json, not {options.log!r}", location="--log")
        self.log: Log = JsonLog("score") if options.log == "json" else TextLog("score")
        self.silent = options.quiet or (options.output == "-" and isinstance(self.log, JsonLog))
        self.no_progress = options.quiet or options.json
        self.on_spark = options.is_spark
        self._open_paths()
        self.routes = chosen_routes(options.model, options.models)
        self.models = []
        for route in self.routes:
            folder, identity = model_folder(route.model, options.require_signature)
            version = registered(route.model, folder)
            model = ScoringModel(route.model, folder, identity, version, options.require_signature)
            self.models.append(model)
        self._check_kinds()
        if options.triage is not None and not self.on_spark:
            check_output(self.destination, [options.triage])
        self.thresholds = list(map(self._thresholds, self.models))
        self.scorers = list(map(self._scorer_options, self.models, self.thresholds))
        self.headers = options.headers
        self.layout = options.layout(languages=options.languages, locked=options.locked)
        if self.on_spark:
            self._run_on_spark()
            return
        self._check_files()
        ids = self._document_ids()
        job = self._job()
        self.log.event("begin", model=job.model.to_json(), inputs=options.input_, output=options.output)
        result = self._score(job)
        self._report(result, ids, job)
        seconds = (datetime.now(UTC) - self.begun).total_seconds()
        self.log.event("end", output=options.output, **result.counts, seconds=seconds)
        self._end(result.rows, result.scored, result.warnings)

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

    def _open_paths(self) -> None:
        names, output, piped = self.options.input_, self.options.output, self.piped
        if not self.on_spark:
            check_existence(map(Path, names))
        if piped is None:
            self.inputs, self.destination = [Path(name) for name in names], Path(output)
        else:
            self.inputs = [piped.read(sys.stdin.buffer) if name == "-" else Path(name) for name in names]
            self.destination = piped.output(self.inputs) if output == "-" else Path(output)
        self.reads_translation_files = any(translation_kind(path) is not None for path in self.inputs)
        self.in_place = self.reads_translation_files and translation_kind(self.destination) is not None
        self.sources = [] if self.reads_translation_files or self.on_spark else files_of(self.inputs)

    def _check_kinds(self) -> None:
        remedy = "leave it out for XLIFF, TMX and XLSX"
        if not self.reads_translation_files:
            names = "sheet header_row languages locked"
            self._check_unused(names, "is for XLIFF, TMX or XLSX", "leave it out for tables")
            return
        if self.inputs[1:]:
            raise InputError("a second --input is for tables", remedy=remedy)
        self._check_unused("engine models", "is for tables", remedy)
        if self.in_place:
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
            **{one.name: getattr(options, one.name) for one in fields(AddedColumns)}, triage=thresholds,
            cache=cache if options.cache else 0, with_model=model.label if options.with_model else "",
        )  # fmt: skip

    def _check_profiles(self) -> None:
        if self.options.drift is not None or any(condition.maximum is None for condition in self.conditions):
            for model in self.models:
                Profile.load(model.folder)  # raises for a model without one

    # On Spark

    def _run_on_spark(self) -> None:
        from qe.scoring.spark import check_inputs, score_table

        options = self.options
        names = (
            "resume workers summary documents delimiter quoting escape encoding decimal models reuse_scores"
        )
        self._check_unused(names, "is for the local engine", "leave out either it or --engine spark")
        self._check_profiles()
        model = self.models[0]
        source = check_inputs(options.input_)
        files = [file for file in (options.triage, options.drift) if file is not None]
        check_no_overlap(self.destination, [Path(source), model.folder, *files])
        with options.session(self.no_progress) as session:
            result = score_table(
                session, model.folder, source, options.output, options, identity=model.identity,
                options=self.scorers[0], columns=self.headers,
            )  # fmt: skip
        warnings = () if result.drift is None else result.drift.warnings
        self._show(result, None)
        warn_of_input(self.log, warnings, result.not_checked)
        if options.drift is not None:
            write_drift(options.drift, result.drift)
        if self.thresholds[0] is not None and not self.no_progress:
            show(actions_table(self.thresholds[0], result.actions, result.scored))
        self._end(result.rows, result.scored, warnings)

    # On this machine

    def _check_files(self) -> None:
        options = self.options
        if options.summary is not None and options.no_summary:
            remedy = "leave one of them out"
            raise InputError("--summary and --no-summary exclude each other", remedy=remedy)
        wanted = not options.no_summary and (options.output != "-" or options.summary is not None)
        self.summary = (options.summary or default_place(self.destination)) if wanted else None
        read = [path for path in (options.triage, options.reuse_scores, options.models) if path]
        folders = [model.folder for model in self.models]
        self.files = [*self.inputs, *self.sources, self.destination, *folders, *read]
        if options.models is not None:
            check_output(self.destination, [options.models])
            self._check_unused("drift reuse_scores", "is for one model", "leave it out with --models")
        if options.drift is not None:
            check_output(options.drift, self.files)
        self._check_profiles()
        for written in filter(None, (self.destination, self.summary, options.drift)):
            for folder in (path for path in self.inputs if path.is_dir()):
                check_outside(written, folder)
            check_unread(written, self.inputs)
        if self.summary is not None:
            check_output(self.summary, [*self.files, *([options.drift] if options.drift else [])])
            if options.summary is None:
                check_place(self.summary)

    def _document_ids(self) -> DocumentIds | None:
        options, layout = self.options, self.layout
        if options.documents is None:
            return None
        ids = Path(options.doc_ids) if options.doc_ids else None
        others = [path for path in (options.drift, self.summary, ids) if path]
        check_output(options.documents, [*self.files, *others])
        kind_of(options.documents)
        if self.reads_translation_files:
            model = Model.load(self.models[0].folder, identity=self.models[0].identity)
            layout = replace(layout, languages=languages_of(model))
        return DocumentIds.from_option(open_all(self.inputs, layout), options.doc_ids)

    def _job(self) -> JobSummary:
        values = {**vars(self.options), "cache": None if self.options.cache else "no"}
        listed = {
            name.replace("_", "-"): str(value) if isinstance(value, Path) else value
            for name, value in values.items()
            if value and name not in _UNLISTED
        }
        named = str if self.piped is None else self.piped.display_path
        self.scored_by: Routes | ScoringModel = self.models[0]
        if self.options.models is not None:
            destinations = map(Destination, self.routes, self.models, self.scorers)
            self.scored_by = Routes(self.options.models, list(destinations))
        return JobSummary(
            self.scored_by, self.sources or self.inputs, self.destination, listed, self.begun, self.summary,
            named, len(self.inputs) == 2,
        )  # fmt: skip

    def _score(self, job: JobSummary) -> ScoredFile:
        options, model = self.options, self.models[0]
        common: dict[str, Any] = {
            "identity": model.identity, "options": self.scorers[0], "columns": self.headers,
            "layout": self.layout, "job_summary": job,
        }  # fmt: skip
        if self.in_place:
            return score_in_place(model.folder, self.inputs[0], self.destination, options, **common)
        with self.log.progress(self.no_progress) as progress:
            return score_file(
                self.scored_by if isinstance(self.scored_by, Routes) else model.folder,
                self.inputs, self.destination, options, progress=progress, **common,
            )  # fmt: skip

    # The report

    def _report(self, result: ScoredFile, ids: DocumentIds | None, job: JobSummary) -> None:
        options = self.options
        for note in result.notes:
            self.log.tell("note", f"{options.input_[0]}: {note}", quiet=options.quiet)
        warn_of_input(self.log, result.warnings, result.not_checked)
        if options.drift is not None:
            write_drift(options.drift, result.drift)
        if options.documents is not None and ids is not None:
            column = f"score{options.suffix if options.keep else ''}"
            documents = score_documents(ids, self.destination, column)
            write_documents(options.documents, documents)
            if "" in documents:
                rows = f"{documents[''].segments:,} rows name no document: they form one without a name"
                self.log.tell("note", f"{options.documents}: {rows}", quiet=options.quiet)
        if self.piped is not None and options.output == "-":
            self.piped.write(self.destination)
        with redirect_stdout(sys.stderr if options.output == "-" else sys.stdout):
            self._show(result, job.model.to_json() if options.json else None)
            thresholds = self.thresholds[0]
            if thresholds is not None and options.models is None and not (options.json or self.silent):
                show(actions_table(thresholds, result.actions, result.scored))

    def _show(self, result: ScoredFile, model: Mapping[str, object] | None) -> None:
        if self.options.json:
            of_model = {} if model is None else {"model": model}
            content = {**result.to_json(), "output": self.options.output, **of_model}
            print(json.dumps(output_schemas.stamped("score" if of_model else "score-spark", content)))
        elif not self.silent:
            show_scored(result, self.options.output)

    def _end(self, rows: int, scored: int, drift: Sequence[str]) -> None:
        failed = list(failures(self.conditions, rows, scored, drift))
        for sentence in failed:
            self.log.tell("failed", f"failed: {sentence}")
        if failed:
            sys.exit(1)


def warn_of_input(log: Log, warnings: Sequence[str], not_checked: Mapping[str, str]) -> None:
    """On stderr: what was not looked for, and how the input differs from the training data."""
    for kind, reason in not_checked.items():
        log.tell("warning", f"{kind} are not checked: {reason}")
    for warning in warnings:
        log.tell("warning", f"the input differs from the training data: {warning}")


def show_scored(completed: ScoredFile, output: str) -> None:
    if completed.unchanged:
        print(
            f"{output} is finished: the same job made it, so there is nothing to do (--overwrite repeats it)"
        )
    print(f"{completed.scored:,} of {completed.rows:,} rows scored: {output}")
    origins = {"repeated": "an equal segment", "reused": "an earlier job"}
    for kind, origin in origins.items():
        if rows := getattr(completed, kind):
            print(f"  {rows:,} ({percent(rows / completed.scored)}) reused the score of {origin}")
    for name, route in completed.routes.items():
        print(f"  {route.scored:,} of {route.rows:,} rows scored: {name}")
    for kind, count in sorted(completed.flagged.items()):
        print(f"  {count:,} flagged: {kind}")
    for reason, count in sorted(completed.reasons.items(), key=lambda item: -item[1])[:10]:
        print(f"  {count:,} without a score: {reason}")


def write_drift(path: Path, report: DriftReport | None) -> None:
    write_json(path, None if report is None else report.to_json())
