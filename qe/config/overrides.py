"""`--set key.key=value`: one value of nested settings, as the command line gives it."""

import re
from typing import Any

from features.basics.assignments import assigned
from features.basics.errors import InputError
from features.storage import strict_yaml


def override(content: dict[str, Any], text: str) -> None:
    """Sets one `key.key=value` in nested settings, the value read as YAML; numbers index lists.

    >>> content = {"features": [{"kind": "surface"}]}
    >>> for text in ("label.low=1", "features.0.kind=lm"): override(content, text)
    >>> content
    {'features': [{'kind': 'lm'}], 'label': {'low': 1}}

    Raises InputError for another form, entries that a list lacks, and what is no section.
    """
    key, given = assigned(text, "key=value", "--set", empty=True)
    value = strict_yaml.parse(given, f"--set {key}")
    here: Any = content
    *parents, last = key.split(".")
    for depth, part in enumerate(parents):
        if isinstance(here, list):
            here = here[_index(part, here, ".".join(parents[:depth]), text)]
        else:
            here = here.setdefault(part, {})
        if not isinstance(here, dict | list):
            raise InputError(f"--set {text}: '{part}' is not a section, but {here!r}")
    if isinstance(here, list):
        here[_index(last, here, ".".join(parents), text)] = value
    else:
        here[last] = value


def _index(part: str, entries: list[Any], key: str, text: str) -> int:
    if not re.fullmatch("[0-9]+", part) or int(part) >= len(entries):
        raise InputError(
            f"--set {text}: '{key}' is a list, and has no entry '{part}'",
            remedy=f"it has {len(entries)}, numbered from 0",
        )
    return int(part)
