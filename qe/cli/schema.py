"""`qe schema`: write the JSON Schema of the experiment file, for editors."""

import json
from pathlib import Path
from typing import Annotated

import typer

from qe.cli._options import output_option


def schema(
    output: Annotated[
        Path | None, output_option("--output", "-o", help="The schema's file; default: to stdout.")
    ] = None,
) -> None:
    """Write the JSON Schema of the experiment file, with the names and parameters that are installed.

    An editor with the YAML language server then completes and checks keys, without network, in a file that
    begins with

        # yaml-language-server: $schema=PATH

    where PATH, relative to that file, leads to the schema.

    Example:

        qe schema --output experiments/schema.json
    """
    from features.storage.files import atomic_file
    from features.storage.outputs import check_output
    from qe.getting_started.catalogue.schema import experiment_schema

    if output is not None:
        check_output(output)
    text = json.dumps(experiment_schema(), indent=1, ensure_ascii=False) + "\n"
    if output is None:
        typer.echo(text, nl=False)
        return
    with atomic_file(output) as temporary:
        temporary.write_text(text, "utf-8", newline="")
