"""JSON Schemas of what verbs write for machines: a contract (docs/machine-output.md)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from features.basics.errors import unknown_name
from features.storage.strict_yaml import read_mapping

SCHEMA: Final = 1  # another number where a key goes, or means something else; more keys may come
_FOLDER: Final = Path(__file__).parent / "schemas"
_PARTS: Final = "parts"
NAMES: Final = tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml") if path.stem != _PARTS))


def stamped(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """An output of that name, with the number of its schema; a line of a log has none.

    Every output passes here, so that tests look at each that they produce.
    """
    return dict(content) if name == "log" else {"schema": SCHEMA, **content}


def output_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of an output, with all that it refers to.

    >>> output_schema("score")["title"]
    'What `qe score --json` prints'

    Raises InputError for a name that there is none of.
    """
    if name not in NAMES:
        raise unknown_name("output", name, ("experiment", *NAMES))
    parts = read_mapping(_FOLDER / f"{_PARTS}.yaml", "schema")
    own = read_mapping(_FOLDER / f"{name}.yaml", "schema")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **own, "$defs": parts}
