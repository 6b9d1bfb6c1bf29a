"""`qe resources`: build language models, lexicons, ... from parallel text."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qe.cli.shared.application import Application
from qe.cli.shared.printing import emit, on_spark, tell_made
from qe.cli.shared.progress import progress_bar

if TYPE_CHECKING:
    from features.basics.progress import Progress
    from features.core.bundle import Builders, Bundle
    from qe.resources.bundle_source import Build

app = Application()


@app.callback()
def resources() -> None:
    """Language models, n-gram counts, lexicons, alignments and more from parallel text."""


@app.command()
def build(
    source: Path,
    target: Path,
    output: Path,
    source_language: str = "en",
    target_language: str = "es",
    tokenizer: str = "moses",
    source_annotation: str | None = None,
    target_annotation: str | None = None,
    alignments: Path | None = None,
    source_monolingual: Path | None = None,
    target_monolingual: Path | None = None,
    read: list[str] | None = None,
    overrides: list[str] | None = None,
    selection: list[str] | None = None,
    all_: bool = False,
    engine: str = "local",
    master: str | None = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Build a bundle of resources; without --only or --all, those that the 17 baseline features need.

    Parts that exist and are up to date are not built again; each part is written completely or not at all. A
    part that was built with other settings, from another file or with other text (or with extra text that is
    not given now) is built again if it is requested or needed. With Spark the executors count the n-grams, to
    the same files; the other parts are built on this machine (docs/scale.md).

    Models that are read are assumed to be of lower-cased words; otherwise give --set PART.case=true. Lexicons
    are read in the format of GIZA++ (given word, word, probability); for that of Moses give
    --set PART.order=generated_first.

    With --all, parts that need tags are built if both sides have them, and a part that the corpus is too
    small for is skipped with a note on stderr; with --only it is an error.

    Example:

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es --engine spark

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es
        --source-annotation apertium --target-annotation train.es.conllu.gz --only target_pos_lm

        qe resources build --source train.tok.en --target train.tok.es --tokenizer whitespace
        --alignments train.gdfa.gz --only phrase_table --output output/en-es

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es
        --target-monolingual news.es.gz --set target_lm.prune=true --read source_lm=big.en.arpa.gz

    input:
      --source FILE  Source side, one sentence per line, plain or gzip.
      --target FILE  Target side, line by line its translation.
      --tokenizer NAME  moses, moses-2012 or whitespace.
      --source-annotation FILE|NAME  CoNLL-U file, one block per line of the source side, or an annotator
          (apertium).
      --target-annotation FILE|NAME  The same for the target side.
      --alignments FILE  Links (Pharaoh, plain or gzip), one line per line of the corpus, between tokens of
          --tokenizer: phrase tables and tuple_lm are extracted from them. (default: our own links)
      --source-monolingual FILE  Extra text of the source side, one segment per line, plain or gzip, for its
          language models, n-gram counts and truecaser.
      --target-monolingual FILE  The same for the target side.
      --read PART=FILE  Read this part: a language model from an ARPA file, plain or gzip, or a KenLM binary
          (scored at one order only: the family lm needs an ARPA file); a lexicon from a file of GIZA++ or
          Moses. Repeatable.

    running:
      --set PART.key=value  Build this part with another setting (`qe resources list`). Repeatable.
      --only PART  Build this part and what it needs (`qe resources list`). Repeatable.
      --all  Build every part that can be built; the others are skipped with a note.

    output:
      -o, --output DIR  Folder of the bundle.
    """
    from features.basics.errors import InputError, known_name
    from features.basics.progress import silent
    from features.core.bundle import MANIFEST, known_parts, unexpected_file
    from features.core.feature_set import parts_needed
    from features.storage.outputs import check_no_overlap
    from features.text.tokenizer import Tokenizer
    from qe.resources import files, settings
    from qe.resources.alignments import Alignments
    from qe.resources.annotations import annotated_sides, annotations_for
    from qe.resources.bundle_source import BundleSource, Inputs
    from qe.resources.corpora import CorpusFiles
    from qe.resources.monolingual import Monolingual
    from qe.resources.settings import bundle_table

    kind: Any = known_name("tokenizer", tokenizer, ("moses", "moses-2012", "whitespace"))
    sides = {"source": source_annotation, "target": target_annotation}
    annotations = {side: name for side, name in sides.items() if name is not None}
    parts = selection or parts_needed([{"kind": "baseline17"}])
    if all_:
        parts = [name for name in known_parts() if set(annotated_sides([name])) <= set(annotations)]
    part_files = files.parsed(read or [])
    texts = (source, target, alignments, source_monolingual, target_monolingual, *part_files.values())
    paths = [*(path for path in texts if path is not None), *map(Path, annotations.values())]
    check_no_overlap(output, paths)
    manifest = output / MANIFEST
    before = manifest.read_bytes() if manifest.is_file() else None
    if (foreign := unexpected_file(output)) is not None:
        raise InputError(f"holds {foreign} and no bundle", location=output, remedy="choose another --output")
    inputs = Inputs(
        Alignments(alignments),
        Monolingual.from_files(source_monolingual, target_monolingual),
        files.PartFiles(part_files),
        settings.parsed(overrides or []),
    )
    tokenizers = Tokenizer(source_language, kind), Tokenizer(target_language, kind)
    corpus = CorpusFiles(source, target)

    def build_with(engine: "Builders") -> "Build":
        def build(parts: Sequence[str], progress: "Progress") -> "Bundle":
            tagged = annotations_for(parts, annotations, tokenizers)
            source = BundleSource(corpus, tokenizers, tagged, inputs, engine)
            source.check_used(parts)
            return source.build(output, parts, progress)

        return build

    if on_spark(engine, master):
        from qe.scoring.spark.resources import builders
        from qe.scoring.spark.session import spark_session

        with spark_session(master, quiet=quiet or json) as session:
            bundle = _built(all_, parts, silent, inputs.requested, build_with(builders(session)))
    else:
        with progress_bar(quiet or json) as shown:
            bundle = _built(all_, parts, shown, inputs.requested, build_with({}))
    if before == manifest.read_bytes():
        tell_made("resources build", output)
    tables = [] if quiet else [bundle_table(str(output), bundle.manifest)]
    emit("resources-build", bundle.manifest, json, *tables)


@app.command("list")
def list_parts(json: bool = False) -> None:
    """List the parts that a bundle can have: what each is built from, and its settings.

    Example:

        qe resources list

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es
        --only topic_model --set topic_model.topics=50
    """
    from qe.resources.settings import catalogue, catalogue_table

    parts = catalogue()
    emit("resources-list", {"parts": parts}, json, catalogue_table(parts))


def _built(
    possible: bool, parts: Sequence[str], progress: "Progress", requested: Sequence[str], build: "Build"
) -> "Bundle":
    import sys

    from features.core.bundle import with_needs
    from qe.resources.bundle_source import build_possible

    required = requested if possible else with_needs(parts)
    bundle, skipped = build_possible(build, parts, progress, required)
    for name, reason in skipped.items():
        print(f"qe resources: skipped: {name} ({reason.problem})", file=sys.stderr)
    return bundle
