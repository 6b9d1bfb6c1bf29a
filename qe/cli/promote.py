"""`qe promote`: promote a challenger if it is better than the champion."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli.shared.options import MAX_SAMPLES, Seed
from qe.cli.shared.printing import emit
from qe.display.numbers import number

if TYPE_CHECKING:
    from qe.production.promotion import Decision


def promote(
    name: str,
    data: Path | None = None,
    split: str | None = None,
    label: str = "score",
    columns: list[str] | None = None,
    data_root: Path | None = None,
    metric: str = "mae",
    margin: float = 0.0,
    level: float = 0.05,
    samples: Annotated[int, typer.Option(min=100, max=MAX_SAMPLES)] = 10_000,
    seed: Seed = 0,
    challenger: str | None = None,
    rollback: bool = False,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Compare challenger and champion on labelled data, and promote the challenger if it is better.

    It must be better by more than the margin, significantly. The decision and its evidence are recorded on
    the model version. Segments that either model was trained on are left out. Exit code 1 if not promoted.

    Examples:

        qe promote qe-demo --data output/demo/demo.yaml --split test --metric mae

        qe promote qe-demo --data new.csv --label z_mean --columns source=src,target=mt

    arguments:
      name  Registered model.

    input:
      --data FILE  Labelled data: an experiment (YAML), or a TSV, CSV, JSONL or Parquet table.
      --split NAME  Split of the experiment's dataset. (default: test)
      --label NAME  Column of the labels, for a table.
      --columns NAME=HEADER  Headers of the data: source=HEADER,target=HEADER. Repeatable. (default: those
        of the models' training data, or usual ones)

    tests:
      --metric METRIC  Metric that is compared.
      --margin X  The gain must be larger than this, in units of the metric.
      --level P  Significance level of the one-sided test.
      --samples N  Bootstrap samples.
      --challenger VERSION  Version to promote. (default: the one with the alias challenger)

    options:
      --rollback  Return the alias champion to the previous version.
    """
    from features.basics.errors import InputError
    from qe.config.experiment import load
    from qe.production import promotion
    from qe.scoring.naming import name_pairs

    if rollback:
        demoted, champion = promotion.rollback(name)
        content = {"name": name, "demoted": demoted, "champion": champion}
        shown = f"{name}: version {champion} is champion again; version {demoted} is not"
        emit("promote-rollback", content, json, shown)
        return
    if data is None:
        raise InputError("--data is needed to compare on", remedy="an experiment file or a labelled table")
    if data.suffix.lower() in (".yaml", ".yml"):
        labelled = promotion.of_experiment(load(data, data_root=data_root), split)
    else:
        labelled = promotion.from_table(data, label)
    decision = promotion.promote(
        name, labelled, metric=metric, margin=margin, level=level, samples=samples, seed=seed,
        challenger=challenger, columns=name_pairs(columns or (), "--columns"),
    )  # fmt: skip
    emit("promote", decision, json, *decision_lines(decision))
    if not decision.promoted:
        raise typer.Exit(1)


def decision_lines(decision: "Decision") -> list[str]:
    """Whether the challenger was promoted, the reason, and the evidence."""
    from qe.statistics.metric import METRICS, title_of

    lines = [f"{decision.name}: {'promoted' if decision.promoted else 'not promoted'}: {decision.reason}"]
    for version, score in decision.scores.items():
        data = f"{decision.n:,} segments of {decision.data}"
        shown = number(score, METRICS.get(decision.metric).digits + 1)
        lines.append(f"  version {version}: {title_of(decision.metric)} {shown} on {data}")
    if decision.learned:
        lines.append(f"  left out: {decision.learned:,} segments that one of them was trained on")
    unrecorded = "does not record its training data: make sure that none of it is here"
    return lines + [f"  version {version} {unrecorded}" for version in decision.silent]
