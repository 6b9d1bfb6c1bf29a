"""`qe score`: score new translations with a trained model."""

import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qe.cli._common import on_spark, registered
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
from qe.cli._progress import progress_bar
from qe.display.numbers import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qe.data.table_files import Layout
    from qe.models.drift import DriftReport
    from qe.production.thresholds import Thresholds
    from qe.scoring.conditions import Condition
    from qe.scoring.document_scores import DocumentIds
    from qe.scoring.jobs import ScoredFile
    from qe.scoring.spark.scoring import ScoredTable


_column_option = partial(typer.Option, rich_help_panel="columns added")


def score(
    model: Annotated[
        str,
        input_option("--model", "-m", metavar="MODEL", help="Model folder, or models:/NAME@champion."),
    ],
    input_: Annotated[
        list[str],
        input_option(
            "--input",
            "-i",
            metavar="FILE",
            help="TSV, CSV, JSONL, Parquet, XLIFF, TMX or XLSX; or twice: source and target text.",
        ),
    ],
    output: Annotated[
        str,
        output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="TSV, CSV or JSONL (.gz too), Parquet, or the input's kind.",
        ),
    ],
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
        _column_option(metavar="SHARE", help="low, high: bounds of this share of true labels (0.9)."),
    ] = None,
    explain: Annotated[
        int,
        _column_option(min=0, help="because: so many causes that moved the score most (Shapley values)."),
    ] = 0,
    triage: Annotated[
        Path | None,
        _column_option(
            metavar="FILE",
            help="action (publish, post-edit, retranslate) by costs (.yaml), or by thresholds of "
            "`qe triage --json`.",
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
            help="outside, unlike: the share of held-out rows more like training data; signs of rubbish.",
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
            help="Document ids for --documents: a column, or a file of them.",
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
    chunk: Annotated[int, run_option(min=1, help="Rows between two points to resume from.")] = 5000,
    engine: Engine = "local",
    master: Master = None,
    keep: Annotated[
        bool, output_option("--keep", help="Keep all columns of the input, before those added.")
    ] = False,
    suffix: Annotated[str, output_option(help="Ending of added names, such as _qe.")] = "",
    safe_cells: Annotated[
        bool,
        output_option("--safe-cells", help="No cell of TSV or CSV is a formula: an apostrophe before it."),
    ] = False,
    drift: Annotated[
        Path | None,
        output_option(metavar="FILE", help="How the input differs from the training data (JSON)."),
    ] = None,
    summary: Annotated[
        Path | None,
        output_option(
            metavar="FILE", help="Model, packages, checksums, options, counts, drift, times (JSON)."
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        run_option(
            "--fail-if", metavar="CONDITION", help="Exit code 1 if 'unscored>1%', 'unscored>9' or drift."
        ),
    ] = None,
    require_signature: Signed = None,
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
    from features.basics.errors import InputError, visible
    from qe.data.translation_files.kinds import translation_kind
    from qe.scoring.conditions import Condition
    from qe.scoring.jobs import score_file
    from qe.scoring.naming import name_pairs
    from qe.scoring.scorer import CACHE, CACHE_WITH_TOKENS, Options

    if len(input_) > 2:
        raise InputError(
            f"--input is given once (a table) or twice (source, target), not {len(input_)} times"
        )
    from qe.api.models import model_folder

    if tags is not None and not tokens:
        raise InputError("--tags goes with --tokens", remedy="add --tokens, or leave it out")
    if doc_ids is not None and documents is None:
        raise InputError("--doc-ids goes with --documents", remedy="add --documents, or leave it out")
    if tags is not None:
        from qe.evaluation.word_level import check_threshold_metric

        check_threshold_metric(tags, "--tags")
    conditions = [Condition.parsed(text) for text in fail_if or ()]
    begun = datetime.now(UTC)
    given = _given({
        "columns": columns, "delimiter": delimiter, "quoting": quoting, "encoding": encoding,
        "decimal": decimal, "sheet": sheet, "header-row": header_row, "languages": languages,
        "interval": interval, "explain": explain, "triage": triage, "tokens": tokens, "tags": tags,
        "flags": flags, "outside": outside, "keep": keep, "suffix": suffix, "safe-cells": safe_cells,
        "resume": resume, "cache": None if cache else "no", "workers": workers, "chunk": chunk,
        "fail-if": fail_if, "documents": documents, "doc-ids": doc_ids,
    })  # fmt: skip
    folder, identity = model_folder(model, require_signature)
    in_place = translation_kind(Path(output)) is not None
    of_files = any(translation_kind(Path(name)) for name in input_)
    if of_files:
        _only_of_tables({"a second --input": input_[1:], "--engine": engine != "local"})
        if in_place:
            _only_of_tables({"--tokens": tokens, "--keep": keep, "--safe-cells": safe_cells})
            _only_of_tables({"--resume": resume, "--workers": workers, "--documents": documents})
    else:
        _only_of_files({"--sheet": sheet, "--header-row": header_row != 1, "--languages": languages})
    if on_spark(engine, master):
        _only_local(
            {"--resume": resume, "--workers": workers, "--summary": summary, "--documents": documents}
        )
        _only_local(
            {"--delimiter": delimiter, "--quoting": quoting, "--encoding": encoding, "--decimal": decimal}
        )
        thresholds = None if triage is None else _thresholds(triage, folder, identity)
        options = Options(
            interval, explain, tokens, cache=(CACHE_WITH_TOKENS if tokens else CACHE) if cache else 0,
            triage=thresholds, flags=flags, outside=outside, tag_by=tags or "f1_mult",
        )  # fmt: skip
        if drift is not None or any(condition.most is None for condition in conditions):
            _check_profile(folder)
        table = _score_on_spark(
            folder, identity, input_, output, master, quiet, as_json,
            [file for file in (triage, drift) if file is not None],
            options=options, columns=name_pairs(columns or (), "--columns"), keep=keep, suffix=suffix,
            safe=safe_cells, overwrite=overwrite, chunk=chunk,
        )  # fmt: skip
        _tell(table.drift, table.not_checked)
        if drift is not None:
            write_drift(drift, table.drift)
        if thresholds is not None and not (quiet or as_json):
            _show_actions(thresholds, table.actions, table.scored)
        _end(conditions, table.rows, table.scored, () if table.drift is None else table.drift.warnings)
        return
    from features.storage.outputs import check_output

    if triage is not None:
        check_output(Path(output), [triage])
    files = [*map(Path, input_), Path(output), folder, *([triage] if triage else [])]
    if drift is not None or any(condition.most is None for condition in conditions):
        if drift is not None:
            check_output(drift, files)
        _check_profile(folder)
    beside = [*files, *([drift] if drift else [])]
    if summary is not None:
        check_output(summary, beside)
    thresholds = None if triage is None else _thresholds(triage, folder, identity)
    remembered = CACHE_WITH_TOKENS if tokens else CACHE
    options = Options(
        interval,
        explain,
        tokens,
        cache=remembered if cache else 0,
        triage=thresholds,
        flags=flags,
        outside=outside,
        tag_by=tags or "f1_mult",
    )
    headers = name_pairs(columns or (), "--columns")
    layout = table_layout(
        delimiter, quoting, encoding, decimal, sheet=sheet, header_row=header_row, languages=languages
    )
    of_documents = None
    if documents is not None:
        check_output(
            documents, [*beside, *([summary] if summary else []), *([Path(doc_ids)] if doc_ids else [])]
        )
        of_documents = _document_ids(documents, input_, layout, folder, identity, doc_ids)
    from qe.scoring.job_summary import JobSummary

    job = JobSummary(
        model,
        folder,
        identity,
        [Path(name) for name in input_],
        Path(output),
        given,
        begun,
        registered(model, folder),
        require_signature,
    )
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
        )
    else:
        with progress_bar(quiet or as_json) as progress:
            done = score_file(
                folder,
                [Path(name) for name in input_],
                Path(output),
                identity=identity,
                options=options,
                columns=headers,
                layout=layout,
                keep=keep,
                suffix=suffix,
                safe=safe_cells,
                resume=resume,
                overwrite=overwrite,
                workers=workers,
                chunk=chunk,
                progress=progress,
            )
    for told in done.notes if not quiet else ():
        print(visible(f"qe score: {input_[0]}: {told}"), file=sys.stderr)
    _tell(done.drift, done.not_checked)
    if drift is not None:
        write_drift(drift, done.drift)
    if documents is not None and of_documents is not None:
        _write_documents(documents, of_documents, Path(output), f"score{suffix if keep else ''}", quiet)
    if summary is not None:
        job.write(summary, done)
    _print(done, str(Path(output)), quiet, as_json, done.repeated, job.model_told() if as_json else None)
    if thresholds is not None and not (quiet or as_json):
        _show_actions(thresholds, done.actions, done.scored)
    _end(conditions, done.rows, done.scored, () if done.drift is None else done.drift.warnings)


def _tell(drift: "DriftReport | None", not_checked: "Mapping[str, str]") -> None:
    """On stderr: what was not looked for, and how the input departs from the training data."""
    from features.basics.errors import visible

    for kind, reason in not_checked.items():
        print(visible(f"qe score: {kind} are not looked for: {reason}"), file=sys.stderr)
    for warning in () if drift is None else drift.warnings:
        print(visible(f"qe score: the input departs from the training data: {warning}"), file=sys.stderr)


def _show_actions(thresholds: "Thresholds", actions: "Mapping[str, int]", scored: int) -> None:
    from qe.display.terminal import show
    from qe.production.triage_tables import actions_table

    show(actions_table(thresholds, actions, scored))


def _end(conditions: "Sequence[Condition]", rows: int, scored: int, drift: "Sequence[str]" = ()) -> None:
    """Ends with exit code 1, and why, if no row was scored or a condition holds."""
    from features.basics.errors import visible
    from qe.scoring.conditions import failures

    told = list(failures(conditions, rows, scored, drift))
    for sentence in told:
        print(visible(f"qe score: failed: {sentence}"), file=sys.stderr)
    if told:
        raise typer.Exit(1)


def _document_ids(
    documents: Path, inputs: list[str], layout: "Layout", model: Path, identity: str, named: str | None
) -> "DocumentIds":
    """Raises InputError before any row is scored if nothing says which document a row is of."""
    from dataclasses import replace

    from qe.data.translation_files.kinds import translation_kind
    from qe.models.model import Model
    from qe.scoring.document_scores import DocumentIds
    from qe.scoring.input import open_input
    from qe.scoring.jobs import languages_of
    from qe.scoring.row_formats import kind_of

    kind_of(documents)
    if translation_kind(Path(inputs[0])) is not None:
        layout = replace(layout, languages=languages_of(Model.load(model, identity=identity)))
    return DocumentIds.found(open_input([Path(name) for name in inputs], layout), named)


def _write_documents(path: Path, ids: "DocumentIds", scored: Path, header: str, quiet: bool) -> None:
    from features.basics.errors import visible
    from qe.scoring.document_scores import score_documents, write_documents

    found = score_documents(ids, scored, header)
    write_documents(path, found)
    if "" in found and not quiet:
        told = f"{found[''].segments:,} rows name no document: they are together in one without a name"
        print(visible(f"qe score: {path}: {told}"), file=sys.stderr)


def _given(options: dict[str, object]) -> dict[str, object]:
    """The options that are given, as JSON holds them."""
    return {
        name: str(value) if isinstance(value, Path) else value for name, value in options.items() if value
    }


def _thresholds(path: Path, model: Path, identity: str) -> "Thresholds":
    from qe.models import description
    from qe.production.thresholds import Thresholds

    with description.one_model(model, identity):
        return Thresholds.given(path, model, description.read(model).scale)


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
        print(json.dumps({**summary.to_json(), "output": output, **of_model}))
    elif not quiet:
        if getattr(summary, "unchanged", False):
            print(f"{output} is finished: the same job made it, so nothing is to do (--overwrite: anew)")
        print(f"{summary.scored:,} of {summary.rows:,} rows scored: {output}")
        if repeated:
            print(f"  {repeated:,} ({percent(repeated / summary.scored)}) took the score of an equal segment")
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
