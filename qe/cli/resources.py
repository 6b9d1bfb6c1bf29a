"""`qe resources`: builds what features need from a parallel corpus."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._common import Engine, Json, Master, Quiet, on_spark, progress_bar

if TYPE_CHECKING:
    from features.core.bundle import Bundle
    from features.core.progress import Progress
    from qe.partial_bundle import Build

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)


@app.callback()
def resources() -> None:
    """Language models, n-gram counts, lexicons, alignments and more from parallel text."""


@app.command()
def build(
    source: Annotated[Path, typer.Option(help="Source side, one sentence per line, plain or gzip.")],
    target: Annotated[Path, typer.Option(help="Target side, line by line the same sentences.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the bundle.")],
    source_language: Annotated[str, typer.Option(help="Language code, for tokenization.")] = "en",
    target_language: Annotated[str, typer.Option(help="Language code, for tokenization.")] = "es",
    tokenizer: Annotated[str, typer.Option(help="moses, moses-2012 or whitespace.")] = "moses",
    source_annotation: Annotated[
        str | None,
        typer.Option(help="CoNLL-U file, one block per line of the source side, or an annotator (apertium)."),
    ] = None,
    target_annotation: Annotated[str | None, typer.Option(help="The same of the target side.")] = None,
    alignments: Annotated[
        Path | None,
        typer.Option(
            help="Pharaoh file (i-j links), plain or gzip, one line per line of the corpus, of tokens that "
            "--tokenizer makes: what phrase_table and tuple_lm are extracted from, instead of our own links."
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Build this part (repeatable) and its needs.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every part that can be built; others are named, and left out.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Changes nothing: a build always goes on with the parts that are missing."
        ),
    ] = False,
    engine: Engine = "local",
    master: Master = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Build a bundle of resources; without --only or --all, what the 17 baseline features need.

    Parts that are there and up to date are not built again; each part lands whole or not at all. On Spark the
    n-grams are counted by the executors, to the same files; the other parts are built here (docs/scale.md).

    With --all, parts of tags are built where both sides have them, and a part that the corpus is too small
    for is left out and named on stderr; with --only it is an error.

    Example:

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es --engine spark

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es
        --source-annotation apertium --target-annotation train.es.conllu.gz --only target_pos_lm

        qe resources build --source train.tok.en --target train.tok.es --tokenizer whitespace
        --alignments train.gdfa.gz --only phrase_table --output output/en-es
    """
    from features.core.bundle import known_parts, stranger
    from features.core.errors import InputError
    from features.core.feature_set import parts_needed
    from features.core.progress import silent
    from qe.resource_cache import build_bundle, sides_to_annotate

    kinds = ("moses", "moses-2012", "whitespace")
    if tokenizer not in kinds:
        raise InputError(f"unknown tokenizer '{tokenizer}'", remedy=f"known: {', '.join(kinds)}")
    given = {"source": source_annotation, "target": target_annotation}
    annotations = {side: what for side, what in given.items() if what is not None}
    parts = only or parts_needed([{"kind": "baseline17"}])
    if everything:
        parts = [name for name in known_parts() if set(sides_to_annotate([name])) <= set(annotations)]
    if (found := stranger(output)) is not None:
        raise InputError(f"holds {found} and no bundle", where=output, remedy="choose another --output")
    del resume  # as other verbs have it, and scripts give it; finished parts are always kept
    languages = source_language, target_language
    if on_spark(engine, master):
        from qe.spark.ngrams import makers
        from qe.spark.session import spark_session

        with spark_session(master, quiet=quiet or as_json) as session:
            bundle = _built(everything, parts, silent, lambda chosen, progress: build_bundle(
                source, target, languages, tokenizer, output, chosen, progress, makers(session), annotations,
                alignments,
            ))  # fmt: skip
    else:
        with progress_bar(quiet or as_json) as shown:
            bundle = _built(everything, parts, shown, lambda chosen, progress: build_bundle(
                source, target, languages, tokenizer, output, chosen, progress, None, annotations, alignments
            ))  # fmt: skip
    if as_json:
        import json

        print(json.dumps(bundle.manifest, indent=1))
    elif not quiet:
        _print_bundle(bundle.manifest, output)


def _built(everything: bool, parts: Sequence[str], progress: "Progress", build: "Build") -> "Bundle":
    """The bundle; with --all, what cannot be built is said on stderr, also when --quiet, and left out."""
    import sys

    from qe.partial_bundle import build_named, build_possible

    if not everything:
        return build_named(build, parts, progress)
    bundle, left_out = build_possible(build, parts, progress)
    for name, reason in left_out.items():
        print(f"qe resources: left out: {name} ({reason.what})", file=sys.stderr)
    return bundle


def _print_bundle(manifest: dict[str, object], output: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    content: dict[str, dict[str, object]] = manifest["parts"]  # type: ignore[assignment]
    table = Table(
        title=f"{output}: {manifest['pairs']:,} pairs, {manifest['source_tokens']:,} + "
        f"{manifest['target_tokens']:,} tokens, {manifest['empty_pairs']:,} empty pairs skipped",
        title_justify="left",
    )
    for column in ("part", "kind", "seconds", "CPU seconds", "MB"):
        table.add_column(column, justify="left" if column in ("part", "kind") else "right")
    for name, part in content.items():
        megabytes = int(str(part["bytes"])) / 1e6
        table.add_row(
            name, str(part["kind"]), str(part["seconds"]), str(part["cpu_seconds"]), f"{megabytes:.1f}"
        )
    Console().print(table)
