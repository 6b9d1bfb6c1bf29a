"""`qe features`: the catalogue of features, and feature tables."""

from pathlib import Path
from typing import Annotated

import typer

from qe.cli._common import Engine, Json, Master, Quiet, on_spark, progress_bar

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)


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
    """List the feature families: what each is and what it costs (`describe` and --json: what it needs).

    Costs are microseconds of processor time per segment, as benchmarks/bench_families.py measured them.

    Example:

        qe features list
    """
    from qe.feature_catalogue import families
    from qe.feature_costs import Costs, measure_on_demo

    if measured:
        with progress_bar(quiet) as progress:
            costs = measure_on_demo(progress)
    else:
        costs = Costs.load()
    found = families(costs)
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps([asdict(family) for family in found], indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("family", "what it is", "µs per segment")
    for family in found:
        cost = "" if family.microseconds is None else f"{family.microseconds:,.0f}"
        table.add_row(family.name, family.summary, cost)
    table.columns[-1].justify = "right"
    console = Console()
    console.print(table)
    console.print(f"Costs: {costs.measured}, {costs.machine}; {costs.data}", markup=False)


@app.command()
def describe(
    name: Annotated[str, typer.Argument(help="A feature family, as in `qe features list`.")],
    as_json: Json = False,
) -> None:
    """Describe a family: every feature with definition, source and unit.

    Example:

        qe features describe baseline17
    """
    from qe.feature_catalogue import describe as described

    family, entries = described(name)
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps({**asdict(family), "features": [asdict(e) for e in entries]}, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(family.documentation, markup=False)
    table = Table("feature", "definition", "source", "unit")
    for entry in entries:
        table.add_row(entry.name, entry.description, entry.origin, entry.unit)
    console.print(table)


@app.command()
def extract(
    experiment: Annotated[Path, typer.Argument(help="Experiment file: its dataset, resources and features.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Parquet file; one row per segment.")],
    data_root: Annotated[Path | None, typer.Option(help="Relative paths start here.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Override a key (repeatable).")] = None,
    cache_dir: Annotated[Path | None, typer.Option(help="Cache folder; default ~/.cache/qe.")] = None,
    engine: Engine = "local",
    master: Master = None,
    quiet: Quiet = False,
) -> None:
    """Extract the feature table of an experiment's dataset: split, id, gold label, features.

    Families that learn from labels are cross-fitted on the training rows; on Spark too this happens here, and
    the executors compute all other families (docs/scale.md).

    Example:

        qe features extract experiments/wmt12/baseline-own.yaml --data-root ../shared/data -o features.parquet

        qe features extract experiments/demo.yaml --engine spark --output features.parquet
    """
    from features.core.progress import silent
    from qe.experiment import load
    from qe.feature_catalogue import extract as run
    from qe.resource_cache import default_cache

    loaded = load(experiment, data_root=data_root, overrides=settings or ())
    cache = cache_dir or default_cache()
    if on_spark(engine, master):
        from qe.spark.extraction import Executors
        from qe.spark.session import spark_session

        with spark_session(master, quiet=quiet) as session:
            table = run(loaded, output, cache, silent, lambda bundle: Executors(session, bundle))
    else:
        with progress_bar(quiet) as progress:
            table = run(loaded, output, cache, progress)
    if not quiet:
        print(f"{len(table):,} segments, {len(table.columns) - 3} features: {output}")
