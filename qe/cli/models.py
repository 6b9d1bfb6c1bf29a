"""`qe models`: lists registered models with metrics, data and fingerprints."""

from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli._common import Json

if TYPE_CHECKING:
    from qe.tracking import Version

_WIDTH = 160  # where the output is no terminal


def models(
    name: Annotated[str | None, typer.Argument(help="One registered model; default: all of them.")] = None,
    as_json: Json = False,
) -> None:
    """List registered models: versions with aliases, metrics, data and fingerprints.

    Example:

        qe models qe-demo
    """
    from dataclasses import asdict

    from qe import tracking

    names = tracking.model_names() if name is None else [name]
    versions = [version for one in names for version in tracking.model_versions(one)]
    if as_json:
        import json

        print(json.dumps([{**asdict(v), "uri": v.uri} for v in versions], indent=1))
    elif versions:
        _print(versions)
    else:
        print("no models are registered yet; `qe train` registers what it trains")


def _print(versions: "list[Version]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    headings = (
        "model",
        "version",
        "alias",
        "metric",
        "90 % coverage",
        "experiment",
        "data",
        "features",
        "created",
    )
    for heading in (*headings, "promotion"):
        table.add_column(heading)
    for entry in versions:
        tags = entry.tags
        coverage = entry.metrics.get("intervals.coverage_90")
        table.add_row(
            entry.name,
            entry.version,
            ", ".join(entry.aliases),
            f"{tags.get('metric', '')} {float(tags['value']):.4f}" if "value" in tags else "",
            "" if coverage is None else f"{coverage:.3f}",
            tags.get("experiment", ""),
            tags.get("dataset", ""),
            tags.get("features", ""),
            entry.created,
            tags.get("promotion.decision", ""),
        )
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    console.print(table)
