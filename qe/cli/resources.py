"""`qe resources`: build language models, lexicons, ... from parallel text."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from qe.cli._application import Application
from qe.cli._common import on_spark, print_json, tell_made
from qe.cli._options import Engine, Json, Master, Quiet, input_option, output_option, run_option
from qe.cli._progress import progress_bar

if TYPE_CHECKING:
    from features.basics.progress import Progress
    from features.core.bundle import Builders, Bundle
    from qe.resources.partial import Build

app = Application()


@app.callback()
def resources() -> None:
    """Language models, n-gram counts, lexicons, alignments and more from parallel text."""


@app.command()
def build(
    source: Annotated[Path, input_option(help="Source side, one sentence per line, plain or gzip.")],
    target: Annotated[Path, input_option(help="Target side, line by line the same sentences.")],
    output: Annotated[Path, output_option("--output", "-o", help="Folder of the bundle.")],
    source_language: Annotated[str, input_option(help="Language code, for tokenization.")] = "en",
    target_language: Annotated[str, input_option(help="Language code, for tokenization.")] = "es",
    tokenizer: Annotated[str, input_option(help="moses, moses-2012 or whitespace.")] = "moses",
    source_annotation: Annotated[
        str | None,
        input_option(help="CoNLL-U file, one block per line of the source side, or an annotator (apertium)."),
    ] = None,
    target_annotation: Annotated[str | None, input_option(help="The same of the target side.")] = None,
    alignments: Annotated[
        Path | None,
        input_option(
            help="Pharaoh file (i-j links), plain or gzip, one line per line of the corpus, of tokens that "
            "--tokenizer makes: what phrase tables and tuple_lm are extracted from, instead of our own links."
        ),
    ] = None,
    source_monolingual: Annotated[
        Path | None,
        input_option(
            help="Further text of the source side, one segment per line, plain or gzip, for its language "
            "models, n-gram counts and truecaser."
        ),
    ] = None,
    target_monolingual: Annotated[Path | None, input_option(help="The same of the target side.")] = None,
    read: Annotated[
        list[str] | None,
        input_option(
            metavar="PART=FILE",
            help="Read this part (repeatable): a language model from an ARPA file, plain or gzip, or a KenLM "
            "binary (scored at one order only: the family lm needs an ARPA file); a lexicon from a file of "
            "GIZA++ or Moses.",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        run_option(
            "--set",
            metavar="PART.key=value",
            help="Build this part (repeatable) with another setting; `qe resources list` shows them all.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        run_option(help="Build this part (repeatable) and its needs; `qe resources list` shows the names."),
    ] = None,
    everything: Annotated[
        bool, run_option("--all", help="Every part that can be built; others are named, and left out.")
    ] = False,
    engine: Engine = "local",
    master: Master = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Build a bundle of resources; without --only or --all, what the 17 baseline features need.

    Parts that are there and up to date are not built again; each part lands whole or not at all. A part that
    was built with other settings, from another file or with other text (or with some, and none is given now)
    is built again where it is asked for or needed. On Spark the n-grams are counted by the executors, to the
    same files; the other parts are built here (docs/scale.md).

    Models that are read are taken to be of lower-cased words; of others, --set PART.case=true. Lexicons are
    read as GIZA++ writes them (given word, word, probability); as Moses does, with
    --set PART.order=generated_first.

    With --all, parts of tags are built where both sides have them, and a part that the corpus is too small
    for is left out and named on stderr; with --only it is an error.

    Example:

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es --engine spark

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es
        --source-annotation apertium --target-annotation train.es.conllu.gz --only target_pos_lm

        qe resources build --source train.tok.en --target train.tok.es --tokenizer whitespace
        --alignments train.gdfa.gz --only phrase_table --output output/en-es

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es
        --target-monolingual news.es.gz --set target_lm.prune=true --read source_lm=big.en.arpa.gz
    """
    from features.basics.errors import InputError
    from features.basics.progress import silent
    from features.core.bundle import MANIFEST, known_parts, unexpected_file
    from features.core.feature_set import parts_needed
    from features.storage.outputs import check_apart
    from features.text.tokenizer import Tokenizer
    from qe.display.terminal import show
    from qe.resources import files, settings
    from qe.resources.alignments import Alignments
    from qe.resources.annotations import annotated_sides, annotations_for
    from qe.resources.bundle_source import BundleSource
    from qe.resources.corpora import CorpusFiles
    from qe.resources.inputs import Inputs
    from qe.resources.monolingual import Monolingual
    from qe.resources.parts_tables import bundle_table

    kind = _tokenizer(tokenizer)
    given = {"source": source_annotation, "target": target_annotation}
    annotations = {side: what for side, what in given.items() if what is not None}
    parts = only or parts_needed([{"kind": "baseline17"}])
    if everything:
        parts = [name for name in known_parts() if set(annotated_sides([name])) <= set(annotations)]
    check_apart(
        output,
        [
            path
            for path in (
                source,
                target,
                alignments,
                source_monolingual,
                target_monolingual,
                *(Path(what) for what in annotations.values()),
                *files.parsed(read or []).values(),
            )
            if path is not None
        ],
    )
    manifest = output / MANIFEST
    before = manifest.read_bytes() if manifest.is_file() else None
    if (foreign := unexpected_file(output)) is not None:
        raise InputError(f"holds {foreign} and no bundle", location=output, remedy="choose another --output")
    inputs = Inputs(
        Alignments(alignments),
        Monolingual.of(source_monolingual, target_monolingual),
        files.PartFiles(files.parsed(read or [])),
        settings.parsed(setting or []),
    )
    tokenizers = Tokenizer(source_language, kind), Tokenizer(target_language, kind)
    corpus = CorpusFiles(source, target)

    def build_with(engine: "Builders") -> "Build":
        def build(chosen: Sequence[str], progress: "Progress") -> "Bundle":
            tagged = annotations_for(chosen, annotations, tokenizers)
            source = BundleSource(corpus, tokenizers, tagged, inputs, engine)
            source.check_used(chosen)
            return source.build(output, chosen, progress)

        return build

    if on_spark(engine, master):
        from qe.scoring.spark.ngrams import builders
        from qe.scoring.spark.session import spark_session

        with spark_session(master, quiet=quiet or as_json) as session:
            bundle = _built(everything, parts, silent, inputs.asked, build_with(builders(session)))
    else:
        with progress_bar(quiet or as_json) as shown:
            bundle = _built(everything, parts, shown, inputs.asked, build_with({}))
    if before == manifest.read_bytes():
        tell_made("resources build", output)
    if as_json:
        print_json("resources-build", bundle.manifest)
    elif not quiet:
        show(bundle_table(str(output), bundle.manifest))


@app.command("list")
def list_parts(as_json: Json = False) -> None:
    """The parts that a bundle can have, what each is built from, and what can be set of it.

    Example:

        qe resources list

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es
        --only topic_model --set topic_model.topics=50
    """
    from qe.display.terminal import show
    from qe.resources.parts_tables import catalogue_table
    from qe.resources.settings import catalogue

    parts = catalogue()
    if as_json:
        print_json("resources-list", {"parts": parts})
        return
    show(catalogue_table(parts))


def _tokenizer(name: str) -> Any:
    from features.basics.errors import unknown_name

    kinds = ("moses", "moses-2012", "whitespace")
    if name not in kinds:
        raise unknown_name("tokenizer", name, kinds)
    return name


def _built(
    everything: bool, parts: Sequence[str], progress: "Progress", asked: Sequence[str], build: "Build"
) -> "Bundle":
    import sys

    from qe.resources.partial import build_named, build_possible

    if not everything:
        return build_named(build, parts, progress)
    bundle, left_out = build_possible(build, parts, progress, asked)
    for name, reason in left_out.items():
        print(f"qe resources: left out: {name} ({reason.problem})", file=sys.stderr)
    return bundle
