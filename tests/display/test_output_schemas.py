"""What verbs write for machines keeps its schema; `tests/conftest.py` looks at all that the tests produce."""

import json
from pathlib import Path
from typing import Any

import pytest

from qe.cli.outputs import output_names, output_schema
from qe.display import output_schemas
from qe.display.output_schemas import SCHEMA, stamped
from tests.factories import ran, refuses

jsonschema = pytest.importorskip("jsonschema", reason="the package jsonschema is not installed")

BEGIN = {"time": "2026-01-01T00:00:00.000+00:00", "event": "stage", "verb": "score"}
SNAPSHOT = Path(__file__).with_name("output_schemas.jsonl")
STAGE = {**BEGIN, "stage": "scoring", "done": 3, "total": None, "seconds": 0.5}


@pytest.mark.parametrize("name", output_names())
def test_a_schema_is_one_and_its_parts_are_there(name: str) -> None:
    schema = output_schema(name)
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schema)
    text = json.dumps(schema, allow_nan=False)
    for part in schema.get("$defs", ()):
        text = text.replace(f'"#/$defs/{part}"', "")
    assert "#/$defs/" not in text
    assert schema["title"] and next(kind(schema).iter_errors({}), None) is not None
    assert name == "log" or schema["required"][0] == "schema"


def test_schemas_are_those_of_the_snapshot() -> None:
    """A change of the types of outputs is a decision: it belongs to CHANGELOG, and into the snapshot.

    `python -m tests.display.test_output_schemas` writes it anew.
    """
    schemas = {name: output_schema(name) for name in output_names()}
    for line in SNAPSHOT.read_text("utf-8").splitlines():
        (name, schema), *_ = json.loads(line).items()
        assert schemas.pop(name) == schema, name
    assert not schemas


def test_every_name_is_looked_at_by_the_tests() -> None:
    """The wrapper of `tests/conftest.py` is in place, and refuses what is of another form."""
    assert output_schemas.stamped is not stamped
    assert output_schemas.stamped("log", STAGE) == STAGE
    for change in ({"done": -1}, {"seconds": "0.5"}, {"event": "stages"}, {"total": 1.5}):
        refuses("log", output_schemas.stamped, "log", {**STAGE, **change}, error=AssertionError)
    for key in STAGE:
        with pytest.raises(AssertionError, match="log"):
            output_schemas.stamped("log", {name: value for name, value in STAGE.items() if name != key})


def test_a_report_of_a_run_keeps_its_schema(demo_run: Any) -> None:
    report = json.loads((demo_run.output / "report.json").read_text("utf-8"))
    assert report["schema"] == SCHEMA
    errors = list(jsonschema.Draft202012Validator(output_schema("report")).iter_errors(report))
    assert not errors
    del report["search"]["best"]["learner"]
    assert list(jsonschema.Draft202012Validator(output_schema("report")).iter_errors(report))


@pytest.mark.slow
def test_the_command_prints_them(tmp_path: Path) -> None:
    for name in output_names()[::10]:
        ran("schema", name, "--output", tmp_path / name)
        assert json.loads((tmp_path / name).read_text("utf-8")) == output_schema(name)
    assert "did you mean 'summary'?" in ran("schema", "sumary", code=2).err


if __name__ == "__main__":
    lines = (json.dumps({name: output_schema(name)}, ensure_ascii=False) for name in output_names())
    SNAPSHOT.write_text("".join(f"{line}\n" for line in lines), "utf-8")
