"""Which options of `qe score` go together: each rule is checked before a row is read."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from features.basics.errors import InputError
from qe.data.translation_files.kinds import translation_kind
from qe.evaluation.word_level import check_threshold_metric
from qe.models.drift import Profile


def check_inputs(inputs: Sequence[str], output: str, as_json: bool) -> None:
    """Raises InputError for more inputs than two sides, and for two things on standard output."""
    if len(inputs) > 2:
        raise InputError(
            f"--input is given once (a table) or twice (source, target), not {len(inputs)} times"
        )
    if len(inputs) > 1 and "-" in inputs:
        raise InputError("standard input is one table", remedy="give two files, or one -")
    if as_json and output == "-":
        raise InputError("--json and --output - both write to stdout", remedy="leave one of them out")


def check_words(tags: str | None, tokens: bool) -> None:
    """Raises InputError for --tags without --tokens, and for an unknown metric."""
    if tags is None:
        return
    if not tokens:
        raise InputError("--tags goes with --tokens", remedy="add --tokens, or leave it out")
    check_threshold_metric(tags, "--tags")


def check_documents(doc_ids: str | None, documents: Path | None) -> None:
    """Raises InputError for ids of documents that are not asked for."""
    if doc_ids is not None and documents is None:
        raise InputError("--doc-ids goes with --documents", remedy="add --documents, or leave it out")


def check_summary(summary: Path | None, no_summary: bool) -> None:
    """Raises InputError if the summary is asked for and refused."""
    if summary is not None and no_summary:
        raise InputError("--summary and --no-summary exclude each other", remedy="leave one of them out")


def check_profile(model: Path) -> None:
    """Raises InputError for a model without a profile of its training data."""
    Profile.load(model)


def is_translation_file(path: str) -> bool:
    """Whether a file is one of translators (XLIFF, TMX, XLSX), not a table of text."""
    return translation_kind(Path(path)) is not None


def not_with_pipes(options: Mapping[str, object]) -> None:
    """Raises InputError for an option that standard input and output do not take."""
    _none_of(options, "does not go with - (stdin, stdout)", "give files")


def only_of_tables(options: Mapping[str, object]) -> None:
    """Raises InputError for an option that the files of translators do not take."""
    _none_of(options, "is for tables", "leave it out for XLIFF, TMX and XLSX")


def only_of_files(options: Mapping[str, object]) -> None:
    """Raises InputError for an option that tables do not take."""
    _none_of(options, "is for XLIFF, TMX or XLSX", "leave it out for tables")


def only_of_one(options: Mapping[str, object]) -> None:
    """Raises InputError for an option that is of one model."""
    _none_of(options, "is of one model", "leave it out with --models")


def only_local(options: Mapping[str, object]) -> None:
    """Raises InputError for an option that is the local engine's alone."""
    _none_of(options, "is the local engine's", "leave out either it or --engine spark")


def _none_of(options: Mapping[str, object], wrong: str, remedy: str) -> None:
    for name, value in options.items():
        if value:
            raise InputError(f"{name} {wrong}", remedy=remedy)
