"""`qe features`: list and describe features, extract a feature table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._application import Application
from qe.cli._common import on_spark, print_json
from qe.cli._options import CacheDir, DataRoot, Engine, Json, Master, Overrides, Quiet, output_option
from qe.cli._progress import progress_bar

if TYPE_CHECKING:
    from qe.getting_started.catalogue.features import Family, Set

app = Application()


@app.callback()
def features() -> None:
    """List and describe features; extract a feature table."""


@app.command(name="list")
def list_(
    measured: Annotated[
        bool, typer.Option("--measure", help="Measure the costs now, on generated data with small resources.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the feature families and the sets of them: what each is and what it costs.

    Costs are microseconds of processor time per segment (benchmarks/studies/costs_families.py).
    `describe` and --json say what each needs.

    Example:

        qe features list
    """
    from qe.display.terminal import say, show
    from qe.getting_started.catalogue.costs import FeatureCosts
    from qe.getting_started.catalogue.features import families, sets
    from qe.getting_started.catalogue.listing import listing

    if measured:
        from qe.getting_started.catalogue.measurement import measure_on_demo

        with progress_bar(quiet) as progress:
            costs = measure_on_demo(progress)
    else:
        costs = FeatureCosts.load()
    if as_json:
        from dataclasses import asdict

        listed = {
            "families": [asdict(family) for family in families(costs)],
            "sets": [asdict(entry) for entry in sets(costs)],
        }
        print_json("features-list", listed)
        return
    show(*listing(costs))
    say(f"Costs: {costs.measured}, {costs.machine}; {costs.data}")


@app.command()
def describe(
    name: Annotated[str, typer.Argument(help="A feature family or a set, as in `qe features list`.")],
    as_json: Json = False,
) -> None:
    """Describe a family or a set: every feature with definition, source and unit.

    Of a set also what its source has and it lacks. `baseline17` is a family and a set with the same features.

    Examples:

        qe features describe baseline17

        qe features describe uu-explicit99
    """
    from qe.display.terminal import show
    from qe.getting_started.catalogue.features import describe as described
    from qe.getting_started.catalogue.listing import features_table

    subject, entries = described(name)
    if as_json:
        from dataclasses import asdict

        print_json("features-describe", {**asdict(subject), "features": [asdict(e) for e in entries]})
        return
    print(_text(subject))
    if entries:
        show(features_table(entries))


def _text(subject: "Family | Set") -> str:
    from qe.display.numbers import count
    from qe.getting_started.catalogue.features import Set

    if isinstance(subject, Set):
        lines = [f"{subject.description}.", "", f"Source: {subject.origin}"]
        lines += [f"Families: {', '.join(subject.families)}"]
        lines += ["Absent:", *(f"- {entry}" for entry in subject.absent)] if subject.absent else []
    else:
        lines = [subject.documentation, ""]
        for what, names in (("resources", subject.resources), ("columns", subject.columns)):
            lines += [f"Needs the {what} {', '.join(names)}"] if names else []
        if subject.variants:
            lines += [f"Other columns by settings: {', '.join(subject.variants)}"]
        if subject.parameters:
            lines += [f"Its features depend on parameters without a default: {', '.join(subject.parameters)}"]
    cost = subject.microseconds
    return "\n".join(lines if cost is None else [*lines, f"Costs {count(cost)} µs per segment"])


@app.command()
def extract(
    experiment: Annotated[Path, typer.Argument(help="Experiment file: its dataset, resources and features.")],
    output: Annotated[
        Path, output_option("--output", "-o", help="Parquet file (.parquet); one row per segment.")
    ],
    data_root: DataRoot = None,
    settings: Overrides = None,
    cache_dir: CacheDir = None,
    engine: Engine = "local",
    master: Master = None,
    quiet: Quiet = False,
) -> None:
    """Extract the feature table of an experiment's dataset: split, id, gold label, features.

    Families that learn from labels are cross-fitted on the training rows; on Spark too this happens here, and
    the executors compute all other families (docs/scale.md).

    Example:

        qe features extract experiments/wmt12/baseline-own.yaml --data-root ../shared/data -o features.parquet

        qe features extract output/demo/demo.yaml --engine spark --output features.parquet
    """
    from features.basics.progress import silent
    from qe.config.experiment import load
    from qe.getting_started.catalogue.feature_tables import extract as run
    from qe.resources.cache import default_cache

    loaded = load(experiment, data_root=data_root, overrides=settings or ())
    cache = cache_dir or default_cache()
    if on_spark(engine, master):
        from qe.scoring.spark.extraction import Executors
        from qe.scoring.spark.session import spark_session

        with spark_session(master, quiet=quiet) as session:
            table = run(loaded, output, cache, silent, lambda bundle: Executors(session, bundle))
    else:
        with progress_bar(quiet) as progress:
            table = run(loaded, output, cache, progress)
    if not quiet:
        print(f"{len(table):,} segments, {len(table.columns) - 3} features: {output}")


@app.command()
def consistency(
    source: Annotated[Path, typer.Option(help="Source segments, one per line, in the order of documents.")],
    target: Annotated[Path, typer.Option(help="Their translations.")],
    doc_ids: Annotated[Path, typer.Option(help="The document of each line.")],
    resources: Annotated[
        Path,
        typer.Option(help="Bundle with `aligner` and `phrase_table` (qe resources build)."),
    ],
    output: Annotated[
        Path, output_option("--output", "-o", help="Table (TSV), a row for each segment, names in front.")
    ],
    alignment: Annotated[
        Path | None, typer.Option(help="The decoder's own links (Pharaoh). (default: the aligner's)")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Find phrases that a document repeats, and whether they are translated alike.

    The measure follows Carpuat and Simard 2012.

    The table is for the family `precomputed` (`columns: header`): what it says of a segment depends on the
    rest of its document, so that no model that scores rows can have it.

    Example:

        qe features consistency --source train.en --target train.es --doc-ids documents.txt
        --resources output/en-es --output consistency.tsv
    """

    from features.storage.outputs import check_output
    from qe.resources.consistency import consistency_of

    check_output(output, [source, target, doc_ids, resources, *([alignment] if alignment else [])])
    with progress_bar(quiet or as_json) as progress:
        found = consistency_of(source, target, doc_ids, resources, alignment, progress)
        found.write(output)
    if as_json:
        print_json("features-consistency", found.summary())
    else:
        from qe.display.terminal import show

        show(found.table())
        print(f"{found.segments:,} segments: {output}")
