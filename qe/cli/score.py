"""`qe score`: score new translations with a trained model."""

import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qe.cli._common import chosen_routes, on_spark, registered
from qe.cli._options import (
    Columns,
    Decimal,
    Delimiter,
    Encoding,
    Engine,
    HeaderRow,
    Json,
    Languages,
    Master,
    Quiet,
    Quoting,
    SheetName,
    Signed,
    input_option,
    output_option,
    run_option,
    table_layout,
)
from qe.display.numbers import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qe.cli._log import Log
    from qe.data.table_files import Layout
    from qe.models.drift import DriftReport
    from qe.production.thresholds import Thresholds
    from qe.scoring.conditions import Condition
    from qe.scoring.document_scores import DocumentIds
    from qe.scoring.piped import Piped
    from qe.scoring.scored_file import ScoredFile
    from qe.scoring.scoring_model import ScoringModel
    from qe.scoring.spark.scoring import ScoredTable


_column_option = partial(typer.Option, rich_help_panel="columns added")


def score(
    input_: Annotated[
        list[str],
        input_option(
            "--input",
            "-i",
            metavar="FILE",
            help="Table, XLIFF, TMX, XLSX; folder or pattern of tables; - (stdin); or twice: source and "
            "target.",
        ),
    ],
    output: Annotated[
        str,
        output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="TSV, CSV or JSONL (.gz and .zst too), Parquet, or the input's kind; - for stdout.",
        ),
    ],
    model: Annotated[
        str | None,
        input_option("--model", "-m", metavar="MODEL", help="Model folder, or models:/NAME@champion."),
    ] = None,
    models: Annotated[
        Path | None,
        input_option(metavar="ROUTES", help="YAML: columns of a row choose its model."),
    ] = None,
    columns: Columns = None,
    delimiter: Delimiter = None,
    quoting: Quoting = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: SheetName = "",
    header_row: HeaderRow = 1,
    languages: Languages = None,
    interval: Annotated[
        float | None,
        _column_option(metavar="SHARE", help="low, high: hold this share of true labels (0.9)."),
    ] = None,
    explain: Annotated[
        int,
        _column_option(min=0, help="because: so many causes that moved the score most (Shapley values)."),
    ] = 0,
    triage: Annotated[
        Path | None,
        _column_option(
            metavar="FILE",
            help="action: the cheapest by a cost table (.yaml), or what `qe triage --json` found (.json).",
        ),
    ] = None,
    tokens: Annotated[
        bool, _column_option("--tokens", help="tokens, bad, gaps, ...: which words are wrong.")
    ] = False,
    tags: Annotated[
        str | None,
        _column_option(
            metavar="f1_mult|mcc",
            help="With --tokens: the metric whose best thresholds make tags. (default: f1_mult)",
        ),
    ] = None,
    flags: Annotated[
        bool,
        _column_option(
            "--flags",
            help="flags: numbers, names or negations that one side lacks, untranslated and invented words, "
            "odd lengths.",
        ),
    ] = False,
    outside: Annotated[
        bool,
        _column_option(
            "--outside",
            help="outside, unlike: how unlike the training data, why.",
        ),
    ] = False,
    documents: Annotated[
        Path | None,
        output_option(metavar="FILE", help="Mean scores of documents (TSV, ...)."),
    ] = None,
    doc_ids: Annotated[
        str | None,
        input_option(
            "--doc-ids",
            metavar="NAME|FILE",
            help="Ids for --documents: a column, or a file.",
        ),
    ] = None,
    with_model: Annotated[
        bool,
        _column_option("--with-model", help="model: its name, version and fingerprint."),
    ] = False,
    known: Annotated[
        Path | None,
        input_option(
            metavar="PREVIOUS",
            help="Rows that this model has scored keep their score.",
        ),
    ] = None,
    resume: Annotated[bool, run_option("--resume", help="Go on with a job that was stopped.")] = False,
    overwrite: Annotated[
        bool, run_option("--overwrite", help="Replace an output or an unfinished job.")
    ] = False,
    cache: Annotated[
        bool, run_option("--cache/--no-cache", help="Score repeated segments once: the same scores.")
    ] = True,
    workers: Annotated[
        int | None, run_option(min=1, max=1024, help="Processes. (default: one for each core)")
    ] = None,
    chunk: Annotated[int, run_option(min=1, help="Rows between points to resume.")] = 5000,
    engine: Engine = "local",
    master: Master = None,
    keep: Annotated[
        bool, output_option("--keep", help="Keep all columns of the input, before those added.")
    ] = False,
    suffix: Annotated[str, output_option(help="Ending of added names, such as _qe.")] = "",
    safe_cells: Annotated[
        bool,
        output_option("--safe-cells", help="Apostrophes make formulas text in TSV and CSV."),
    ] = False,
    drift: Annotated[
        Path | None,
        output_option(metavar="FILE", help="How the input differs from the training data (JSON)."),
    ] = None,
    summary: Annotated[
        Path | None,
        output_option(
            metavar="FILE",
            help="Model, counts, times, ... (default: OUTPUT.json)",
        ),
    ] = None,
    no_summary: Annotated[bool, output_option("--no-summary", help="Write no summary.")] = False,
    fail_if: Annotated[
        list[str] | None,
        run_option(
            "--fail-if", metavar="CONDITION", help="Exit code 1 if 'unscored>1%', 'unscored>9' or drift."
        ),
    ] = None,
    require_signature: Signed = None,
    log_form: Annotated[
        str | None,
        run_option(
            "--log",
            metavar="text|json",
            help="json: stderr is lines of JSON, one a stage.",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Score new translations: one row out (id, score, reason) for every row in, in order.

    The input has columns `source` and `target`, and may have `id`. A row that cannot be scored has a reason
    instead of a score. An input that departs from the training data is warned of on stderr.

    With --tokens, `tokens` are the words of the translation, `bad` the probability that each is wrong, `gaps`
    that words are missing before each and after the last; with models that learned them `tags`, `gap_tags`,
    `spans` of BAD words, and the same of the source (docs/word-level.md).

    XLIFF and TMX are scored into the same file with a note at every segment, XLSX into one with more columns;
    or into a table (docs/scoring.md).

    Exit code 0: done; 1: done, but no row was scored, or a condition of --fail-if holds; 2: bad input.

    On Spark the input is any address that Spark reads and the output a folder of parts, with the same rows to
    the last bit (docs/scale.md).

    Examples:

        qe score --model output/demo/model --input output/demo/data/new.tsv --output scores.tsv

        qe score --model output/demo/model -i mt.csv --columns source=src,target=mt --keep -o scored.csv

        qe score --model output/demo/model --input new.tsv --output scores.tsv --triage costs.yaml --flags

        qe score --model output/mlqe/model --input new.tsv --output scores.jsonl --tokens --tags mcc

        qe score --model output/demo/model --input project.xlf --output project.scored.xlf
    """
    from dataclasses import replace

    from features.basics.errors import InputError
    from features.storage.outputs import check_output, check_outside
    from qe.cli._log import log_of
    from qe.data.translation_files.kinds import translation_kind
    from qe.scoring.conditions import Condition
    from qe.scoring.jobs import score_file
    from qe.scoring.many import check_unread, files_of
    from qe.scoring.naming import name_pairs
    from qe.scoring.scorer import CACHE, CACHE_WITH_TOKENS, Options

    if len(input_) > 2:
        raise InputError(
            f"--input is given once (a table) or twice (source, target), not {len(input_)} times"
        )
    piped = None
    as_given, output_given = input_, output
    if "-" in (*input_, output):
        piped = _piped(input_, {"--resume": resume, "--engine": engine != "local"})
        input_, output = _as_files(piped, input_, output)
        if output_given == "-" and as_json:
            raise InputError("--json and --output - both write to stdout", remedy="leave one of them out")
    _check_word_options(tags, tokens)
    if doc_ids is not None and documents is None:
        raise InputError("--doc-ids goes with --documents", remedy="add --documents, or leave it out")
    conditions = [Condition.parsed(text) for text in fail_if or ()]
    log = log_of("score", log_form)
    begun = datetime.now(UTC)
    given = _given({
        "columns": columns, "delimiter": delimiter, "quoting": quoting, "encoding": encoding,
        "decimal": decimal, "sheet": sheet, "header-row": header_row, "languages": languages,
        "models": models, "interval": interval, "explain": explain,
        "triage": triage, "tokens": tokens, "tags": tags,
        "flags": flags, "outside": outside, "with-model": with_model, "keep": keep, "suffix": suffix,
        "safe-cells": safe_cells, "known": known,
        "resume": resume, "cache": None if cache else "no", "workers": workers, "chunk": chunk,
        "fail-if": fail_if, "documents": documents, "doc-ids": doc_ids,
    })  # fmt: skip
    routes = chosen_routes(model, models)
    by = [_scoring_model(route.model, require_signature) for route in routes]
    folder, identity = by[0].folder, by[0].identity
    in_place = translation_kind(Path(output)) is not None
    of_files = any(translation_kind(Path(name)) for name in input_)
    if of_files:
        _only_of_tables({"a second --input": input_[1:], "--engine": engine != "local", "--models": models})
        if in_place:
            _only_of_tables({"--tokens": tokens, "--keep": keep, "--safe-cells": safe_cells})
            _only_of_tables({"--resume": resume, "--workers": workers, "--documents": documents})
            _only_of_tables({"--known": known})
    else:
        _only_of_files({"--sheet": sheet, "--header-row": header_row != 1, "--languages": languages})
    asked = Options(
        interval, explain, tokens, cache=(CACHE_WITH_TOKENS if tokens else CACHE) if cache else 0,
        flags=flags, outside=outside, tag_by=tags or "f1_mult",
    )  # fmt: skip
    spark = on_spark(engine, master)
    if triage is not None and not spark:
        check_output(Path(output), [triage])
    decisions = [None if triage is None else _thresholds(triage, one, models is not None) for one in by]
    of_each = [
        replace(asked, triage=decision, with_model=one.label if with_model else "")
        for decision, one in zip(decisions, by, strict=True)
    ]
    thresholds, options = decisions[0], of_each[0]
    wants_drift = drift is not None or any(condition.most is None for condition in conditions)
    if spark:
        _only_local(
            {"--resume": resume, "--workers": workers, "--summary": summary, "--documents": documents}
        )
        _only_local(
            {"--delimiter": delimiter, "--quoting": quoting, "--encoding": encoding, "--decimal": decimal}
        )
        _only_local({"--models": models, "--known": known})
        if wants_drift:
            _check_profile(folder)
        table = _score_on_spark(
            folder, identity, input_, output, master, quiet, as_json,
            [file for file in (triage, drift) if file is not None],
            options=options, columns=name_pairs(columns or (), "--columns"), keep=keep, suffix=suffix,
            safe=safe_cells, overwrite=overwrite, chunk=chunk,
        )  # fmt: skip
        warnings = () if table.drift is None else table.drift.warnings
        _tell(log, warnings, table.not_checked)
        if drift is not None:
            write_drift(drift, table.drift)
        if thresholds is not None and not (quiet or as_json):
            _show_actions(thresholds, table.actions, table.scored)
        _end(log, conditions, table.rows, table.scored, warnings)
        return
    given_files = [path for path in (triage, known, models) if path]
    source = [Path(name) for name in input_]
    given_inputs = [] if of_files else files_of(source)
    files = [*source, *given_inputs, Path(output), *(one.folder for one in by), *given_files]
    if models is not None:
        check_output(Path(output), [models])
        _only_of_one({"--drift": drift, "--known": known})
    if drift is not None:
        check_output(drift, files)
    for one in by if wants_drift else ():
        _check_profile(one.folder)
    from contextlib import redirect_stdout

    from qe.scoring.job_summary import JobSummary, Told, beside, check_place
    from qe.scoring.router import Destination, Routes

    place = _place(summary, no_summary or (output_given == "-" and summary is None), beside(Path(output)))
    for given_folder in (path for path in source if path.is_dir()):
        for written in filter(None, (Path(output), place, drift)):
            check_outside(written, given_folder)
    for written in filter(None, (Path(output), place, drift)):
        check_unread(written, source)
    if place is not None:
        check_output(place, [*files, *([drift] if drift else [])])
    if place is not None and summary is None:
        check_place(place)
    headers = name_pairs(columns or (), "--columns")
    layout = table_layout(
        delimiter, quoting, encoding, decimal, sheet=sheet, header_row=header_row, languages=languages
    )
    of_documents = None
    if documents is not None:
        others = [path for path in (drift, place, Path(doc_ids) if doc_ids else None) if path]
        check_output(documents, [*files, *others])
        of_documents = _document_ids(documents, source, layout, folder, identity, doc_ids)
    makers: Told = by[0]
    score_by: Path | Routes = folder
    if models is not None:
        score_by = makers = Routes(models, list(map(Destination, routes, by, of_each)))
    named = str if piped is None else piped.named
    told_files = given_inputs or source
    job = JobSummary(makers, told_files, Path(output), given, begun, place, named, len(source) == 2)
    log.event("begin", model=makers.to_json(), inputs=as_given, output=output_given)
    if of_files and in_place:
        from qe.scoring.in_place import score_in_place

        done = score_in_place(
            folder,
            Path(input_[0]),
            Path(output),
            identity=identity,
            options=options,
            columns=headers,
            layout=layout,
            suffix=suffix,
            overwrite=overwrite,
            job_summary=job,
        )
    else:
        with log.progress(quiet or as_json) as progress:
            done = score_file(
                score_by,
                source,
                Path(output),
                identity=identity,
                options=options,
                columns=headers,
                layout=layout,
                keep=keep,
                suffix=suffix,
                safe=safe_cells,
                job_summary=job,
                known=known,
                resume=resume,
                overwrite=overwrite,
                workers=workers,
                chunk=chunk,
                progress=progress,
            )
    for told in done.notes:
        log.tell("note", f"{as_given[0]}: {told}", quiet=quiet)
    _tell(log, done.warnings, done.not_checked)
    if drift is not None:
        write_drift(drift, done.drift)
    if documents is not None and of_documents is not None:
        _write_documents(log, documents, of_documents, Path(output), f"score{suffix if keep else ''}", quiet)
    if piped is not None and output_given == "-":
        piped.write(Path(output))
    with redirect_stdout(sys.stderr if output_given == "-" else sys.stdout):
        _print(done, output_given, quiet, as_json, done.repeated, makers.to_json() if as_json else None)
        if thresholds is not None and models is None and not (quiet or as_json):
            _show_actions(thresholds, done.actions, done.scored)
    log.event("end", output=output_given, **done.counts, seconds=(datetime.now(UTC) - begun).total_seconds())
    _end(log, conditions, done.rows, done.scored, done.warnings)


def _tell(log: "Log", warnings: "Sequence[str]", not_checked: "Mapping[str, str]") -> None:
    """On stderr: what was not looked for, and how the input departs from the training data."""
    for kind, reason in not_checked.items():
        log.tell("warning", f"{kind} are not looked for: {reason}")
    for warning in warnings:
        log.tell("warning", f"the input departs from the training data: {warning}")


def _show_actions(thresholds: "Thresholds", actions: "Mapping[str, int]", scored: int) -> None:
    from qe.display.terminal import show
    from qe.production.triage_tables import actions_table

    show(actions_table(thresholds, actions, scored))


def _end(
    log: "Log", conditions: "Sequence[Condition]", rows: int, scored: int, drift: "Sequence[str]" = ()
) -> None:
    """Ends with exit code 1, and why, if no row was scored or a condition holds."""
    from qe.scoring.conditions import failures

    told = list(failures(conditions, rows, scored, drift))
    for sentence in told:
        log.tell("failed", f"failed: {sentence}")
    if told:
        raise typer.Exit(1)


def _document_ids(
    documents: Path, source: list[Path], layout: "Layout", model: Path, identity: str, named: str | None
) -> "DocumentIds":
    """Raises InputError before any row is scored if nothing says which document a row is of."""
    from dataclasses import replace

    from qe.data.translation_files.kinds import translation_kind
    from qe.models.model import Model
    from qe.scoring.document_scores import DocumentIds
    from qe.scoring.many import open_all
    from qe.scoring.row_formats import kind_of
    from qe.scoring.scorer import languages_of

    kind_of(documents)
    if translation_kind(source[0]) is not None:
        layout = replace(layout, languages=languages_of(Model.load(model, identity=identity)))
    return DocumentIds.found(open_all(source, layout), named)


def _write_documents(
    log: "Log", path: Path, ids: "DocumentIds", scored: Path, header: str, quiet: bool
) -> None:
    from qe.scoring.document_scores import score_documents, write_documents

    found = score_documents(ids, scored, header)
    write_documents(path, found)
    if "" in found:
        told = f"{found[''].segments:,} rows name no document: they are together in one without a name"
        log.tell("note", f"{path}: {told}", quiet=quiet)


def _piped(inputs: list[str], refused: dict[str, object]) -> "Piped":
    """A folder for standard input and output.

    Raises InputError for options that do not go with them.
    """
    from features.basics.errors import InputError
    from qe.scoring.piped import Piped

    for name, value in refused.items():
        if value:
            raise InputError(f"{name} does not go with - (stdin, stdout)", remedy="give files")
    if len(inputs) > 1 and "-" in inputs:
        raise InputError("standard input is one table", remedy="give two files, or one -")
    return Piped()


def _as_files(piped: "Piped", inputs: list[str], output: str) -> tuple[list[str], str]:
    """The inputs and the output, as files."""
    given = [str(piped.read(sys.stdin.buffer)) if name == "-" else name for name in inputs]
    return given, str(piped.output([Path(name) for name in given])) if output == "-" else output


def _place(summary: Path | None, no_summary: bool, usual: Path) -> Path | None:
    """The place of the summary. Raises InputError if it is asked for and refused."""
    from features.basics.errors import InputError

    if summary is not None and no_summary:
        raise InputError("--summary and --no-summary exclude each other", remedy="leave one of them out")
    return None if no_summary else summary or usual


def _given(options: dict[str, object]) -> dict[str, object]:
    """The options that are given, as JSON holds them."""
    return {
        name: str(value) if isinstance(value, Path) else value for name, value in options.items() if value
    }


def _check_word_options(tags: str | None, tokens: bool) -> None:
    """Raises InputError for --tags without --tokens, and for an unknown metric."""
    if tags is None:
        return
    from features.basics.errors import InputError
    from qe.evaluation.word_level import check_threshold_metric

    if not tokens:
        raise InputError("--tags goes with --tokens", remedy="add --tokens, or leave it out")
    check_threshold_metric(tags, "--tags")


def _thresholds(path: Path, by: "ScoringModel", of_several: bool) -> "Thresholds":
    """The thresholds of a model. Raises InputError for a file of thresholds, which are of one model."""
    from features.basics.errors import InputError
    from qe.models import description
    from qe.production.thresholds import Thresholds

    if of_several and path.suffix.lower() == ".json":
        raise InputError("holds thresholds of one model", where=path, remedy="give a cost table (.yaml)")
    with description.one_model(by.folder, by.identity):
        return Thresholds.given(path, by.folder, description.read(by.folder).scale)


def _scoring_model(model: str, require_signature: Path | None) -> "ScoringModel":
    from qe.api.models import model_folder
    from qe.scoring.scoring_model import ScoringModel

    folder, identity = model_folder(model, require_signature)
    return ScoringModel(model, folder, identity, registered(model, folder), require_signature)


def _only_of_one(options: dict[str, object]) -> None:
    """Raises InputError for a given option that is of one model."""
    from features.basics.errors import InputError

    for name, value in options.items():
        if value:
            raise InputError(f"{name} is of one model", remedy="leave it out with --models")


def _check_profile(model: Path) -> None:
    """Raises InputError, before any work, for a model without a profile of its training data."""
    from qe.models.drift import Profile

    Profile.load(model)


def _only_of_tables(options: dict[str, object]) -> None:
    """Raises InputError for a given option that the files of translators do not take."""
    from features.basics.errors import InputError

    for name, value in options.items():
        if value:
            raise InputError(f"{name} is for tables", remedy="leave it out for XLIFF, TMX and XLSX")


def _only_of_files(options: dict[str, object]) -> None:
    """Raises InputError for a given option that tables do not take."""
    from features.basics.errors import InputError

    for name, value in options.items():
        if value:
            raise InputError(f"{name} is for XLIFF, TMX or XLSX", remedy="leave it out for tables")


def _only_local(options: dict[str, object]) -> None:
    """Raises InputError for a given option that is the local engine's alone."""
    from features.basics.errors import InputError

    for name, value in options.items():
        if value:
            raise InputError(f"{name} is the local engine's", remedy="leave out either it or --engine spark")


def _score_on_spark(
    model: Path,
    identity: str,
    inputs: list[str],
    output: str,
    master: str | None,
    quiet: bool,
    as_json: bool,
    others: "Sequence[Path]",
    **rest: Any,
) -> "ScoredTable":
    """others: files that the output must not be; rest: what `score_table` takes."""
    from features.storage.outputs import check_apart
    from qe.scoring.spark.scoring import check_inputs, score_table
    from qe.scoring.spark.session import spark_session

    source = check_inputs(inputs)
    check_apart(Path(output), [Path(source), model, *others])
    with spark_session(master, quiet=quiet or as_json) as session:
        done = score_table(session, model, source, output, identity=identity, **rest)
    _print(done, output, quiet, as_json)
    return done


def _print(
    summary: "ScoredFile | ScoredTable",
    output: str,
    quiet: bool,
    as_json: bool,
    repeated: int = 0,
    model: "Mapping[str, object] | None" = None,
) -> None:
    if as_json:
        import json

        of_model = {} if model is None else {"model": model}
        from qe.display import output_schemas

        content = {**summary.to_json(), "output": output, **of_model}
        print(json.dumps(output_schemas.stamped("score" if of_model else "score-spark", content)))
    elif not quiet:
        if getattr(summary, "unchanged", False):
            print(f"{output} is finished: the same job made it, so nothing is to do (--overwrite: anew)")
        print(f"{summary.scored:,} of {summary.rows:,} rows scored: {output}")
        if repeated:
            print(f"  {repeated:,} ({percent(repeated / summary.scored)}) took the score of an equal segment")
        if known := getattr(summary, "known", 0):
            print(f"  {known:,} ({percent(known / summary.scored)}) kept the score of an earlier job")
        for name, route in getattr(summary, "routes", {}).items():
            print(f"  {route.scored:,} of {route.rows:,} rows scored: {name}")
        for kind, count in sorted(getattr(summary, "flagged", {}).items()):
            print(f"  {count:,} flagged: {kind}")
        for reason, count in sorted(summary.reasons.items(), key=lambda item: -item[1])[:10]:
            print(f"  {count:,} without a score: {reason}")


def write_drift(path: Path, report: "DriftReport | None") -> None:
    """The drift report as JSON; `null` where no row could be scored."""
    import json

    from features.storage.files import atomic_file

    content = None if report is None else report.to_json()
    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
