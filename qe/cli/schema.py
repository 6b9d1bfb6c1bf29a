"""`qe schema`: write the JSON Schema of experiments, or of machine output."""

import json
from pathlib import Path
from typing import Annotated

import typer

from qe.cli._options import output_option


def schema(
    what: Annotated[
        str, typer.Argument(help="experiment, or an output: report, summary, log, a verb such as evaluate.")
    ] = "experiment",
    output: Annotated[
        Path | None, output_option("--output", "-o", help="The schema's file; default: to stdout.")
    ] = None,
) -> None:
    """Write the JSON Schema of the experiment file.

    It has the names and parameters that are installed.

    Or that of an output: `report` is report.json, `summary` lies beside scores, `log` is a line of --log
    json, and a verb is what it prints with --json (models-list: `qe models list`). They keep their keys
    (docs/machine-output.md).

    An editor with the YAML language server then completes and checks keys, without network, in a file that
    begins with

        # yaml-language-server: $schema=PATH

    where PATH, relative to that file, leads to the schema.

    Examples:

        qe schema --output experiments/schema.json

        qe schema summary --output summary.schema.json
    """
    from features.storage.files import atomic_file
    from features.storage.outputs import check_output
    from qe.display.output_schemas import output_schema
    from qe.getting_started.catalogue.schema import experiment_schema

    if output is not None:
        check_output(output)
    content = experiment_schema() if what == "experiment" else output_schema(what)
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    if output is None:
        typer.echo(text, nl=False)
        return
    with atomic_file(output) as temporary:
        temporary.write_text(text, "utf-8", newline="")
