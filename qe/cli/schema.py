"""`qe schema`: write the JSON Schema of experiments, or of machine output."""

import json
from pathlib import Path


def schema(name: str = "experiment", output: Path | None = None) -> None:
    """Write the JSON Schema of the experiment file, with the names and parameters that are installed.

    Or the schema of an output: `report` is report.json, `summary` is written next to scores, `log` is a line
    of --log json, and a verb is what it prints with --json (models-list: `qe models list`). Keys of outputs
    are stable (docs/machine-output.md).

    An editor with the YAML language server completes and checks keys, without network, in a file that begins
    with

        # yaml-language-server: $schema=PATH

    where PATH is the path of the schema, relative to that file.

    Examples:

        qe schema --output experiments/schema.json

        qe schema summary --output summary.schema.json

    arguments:
      name  experiment, or an output: report, summary, log, a verb such as evaluate.

    output:
      -o, --output FILE  File of the schema. (default: stdout)
    """
    from features.storage.files import atomic_file
    from qe.display.output_schemas import output_schema
    from qe.getting_started.catalogue.schema import experiment_schema

    content = experiment_schema() if name == "experiment" else output_schema(name)
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    if output is None:
        print(text, end="")
        return
    with atomic_file(output) as temporary:
        temporary.write_text(text, "utf-8", newline="")
