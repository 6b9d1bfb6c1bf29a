"""JSON Schemas of what verbs write for machines: a contract (docs/machine-output.md); formats of plots."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from features.basics.errors import unknown_name

SCHEMA: Final = 1  # another number where a key goes, or means something else; more keys may come
_FOLDER: Final = Path(__file__).parent / "schemas"
_PARTS, _VERBS = "parts", "verbs"


def stamped(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """An output of that name, with the number of its schema; a line of a log has none."""
    return dict(content) if name == "log" else {"schema": SCHEMA, **content}


def output_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of an output, with all that it refers to."""
    if name not in output_names():
        raise unknown_name("output", name, ("experiment", *output_names()))
    own = _printed(**_verbs()[name]) if name in _verbs() else _read(name)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **own, "$defs": _read(_PARTS)}


@cache
def output_names() -> tuple[str, ...]:
    files = {path.stem for path in _FOLDER.glob("*.yaml")} - {_PARTS, _VERBS}
    return tuple(sorted(files | set(_verbs())))


@cache
def _verbs() -> Mapping[str, Any]:
    return _read(_VERBS)


@cache
def _read(name: str) -> dict[str, Any]:
    from features.storage.strict_yaml import read_mapping  # late: a log needs no YAML

    return read_mapping(_FOLDER / f"{name}.yaml", "schema")


def _printed(
    verb: str, keys: Mapping[str, Any], absent: Sequence[str] = (), extension: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    properties = {"schema": {"const": SCHEMA}, **keys}
    required = [name for name in properties if name not in absent]
    own = {"type": "object", "required": required, "properties": properties}
    return {
        "title": f"What `qe {verb}` prints with --json",
        **({"allOf": [extension]} if extension else {}),
        **own,
    }


PLOTS: Final = "QE_PLOTS"  # the variable that names formats of plots next to PNG
PLOT_FORMATS: Final = ("png", "svg", "pdf")
