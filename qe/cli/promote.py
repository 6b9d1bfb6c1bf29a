"""`qe promote`: promote a challenger if it is better than the champion."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._common import print_json
from qe.cli._options import MOST_SAMPLES, TESTS, DataRoot, Json, Quiet, input_option, seed_option, test_option
from qe.display.numbers import number

if TYPE_CHECKING:
    from qe.production.promotion import Decision


def promote(
    name: Annotated[str, typer.Argument(help="Registered model.")],
    data: Annotated[
        Path | None,
        input_option(help="Labelled data: an experiment (YAML), or a TSV, CSV, JSONL or Parquet table."),
    ] = None,
    split: Annotated[
        str | None, input_option(help="Split of the experiment's dataset; default: test.")
    ] = None,
    label: Annotated[str, input_option(help="Column of the labels, for a table.")] = "score",
    data_root: DataRoot = None,
    metric: Annotated[str, test_option(help="What is compared.")] = "mae",
    margin: Annotated[float, test_option(help="The gain must be larger than this.")] = 0.0,
    level: Annotated[float, test_option(help="Significance level of the one-sided test.")] = 0.05,
    samples: Annotated[int, test_option(min=100, max=MOST_SAMPLES, help="Bootstrap samples.")] = 10_000,
    seed: Annotated[int, seed_option("Seed of the bootstrap.", TESTS)] = 0,
    challenger: Annotated[
        str | None, test_option(help="Version to promote; default: the one with the alias challenger.")
    ] = None,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Give the alias champion back to the version before.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare challenger and champion on labelled data.

    The challenger is promoted only if better, beyond chance and margin.

    The decision and its evidence are recorded on the model version. Segments that either model has learned
    from are left out. Exit code 1 if not promoted.

    Example:

        qe promote qe-demo --data output/demo/demo.yaml --split test --metric mae
    """

    from features.basics.errors import InputError
    from qe.production import promotion

    if rollback:
        demoted, champion = promotion.rollback(name)
        if as_json:
            print_json("promote-rollback", {"name": name, "demoted": demoted, "champion": champion})
        else:
            print(f"{name}: version {champion} is champion again; version {demoted} is not")
        return
    if data is None:
        raise InputError("--data is needed to compare on", remedy="an experiment file or a labelled table")
    if data.suffix.lower() in (".yaml", ".yml"):
        labelled = promotion.from_experiment(data, split, data_root)
    else:
        labelled = promotion.from_table(data, label)
    decision = promotion.promote(
        name,
        labelled,
        metric=metric,
        margin=margin,
        level=level,
        samples=samples,
        seed=seed,
        challenger=challenger,
    )
    if as_json:
        print_json("promote", decision.to_json())
    else:
        print_decision(decision)
    if not decision.promoted:
        raise typer.Exit(1)


def print_decision(decision: "Decision") -> None:
    """Whether the challenger was promoted, why, and on what evidence."""
    from qe.statistics.metric import METRICS, title_of

    print(f"{decision.name}: {'promoted' if decision.promoted else 'not promoted'}: {decision.reason}")
    for version, score in decision.scores.items():
        data = f"{decision.n:,} segments of {decision.data}"
        shown = number(score, METRICS.get(decision.metric).digits + 1)
        print(f"  version {version}: {title_of(decision.metric)} {shown} on {data}")
    if decision.learned:
        print(f"  left out: {decision.learned:,} segments that one of them has learned from")
    for version in decision.silent:
        print(
            f"  version {version} does not say what it has learned from: see to it that it is none of these"
        )
