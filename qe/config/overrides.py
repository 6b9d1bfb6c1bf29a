"""`--set key.key=value`: one value of nested settings, and the name of a run that it gives."""

import re
from collections.abc import Iterable
from typing import Any, Final

from features.basics.assignments import assigned
from features.basics.errors import InputError
from features.storage import strict_yaml

_LONGEST: Final = 30  # characters; a list of runs shows no more
STRATEGIES: Final = ("learner", "selection")  # a name alone is that of the kind
# Settings that leave the model what it is, or are names.
_OTHER: Final = (
    "search", "split", "evaluation", "tracking", "name", "description", "published", "intervals", "absent",
)  # fmt: skip


def override(content: dict[str, Any], text: str) -> None:
    """Sets one `key.key=value` in nested settings, the value read as YAML; numbers index lists.

    >>> content = {"features": [{"kind": "surface"}]}
    >>> for text in ("label.low=1", "features.0.kind=lm", "learner=ridge"): override(content, text)
    >>> content
    {'features': [{'kind': 'lm'}], 'label': {'low': 1}, 'learner': {'kind': 'ridge'}}
    """
    key, given = assigned(text, "key=value", "--set", empty=True)
    value = strict_yaml.parse(given, f"--set {key}")
    here: Any = content
    *parents, last = key.split(".")
    if len(parents) >= strict_yaml.MAX_DEPTH:
        raise InputError(f"--set takes at most {strict_yaml.MAX_DEPTH} names, but got {len(parents) + 1}")
    for depth, part in enumerate(parents):
        if isinstance(here, list):
            here = here[_index(part, here, ".".join(parents[:depth]), text)]
        else:
            here = here.setdefault(part, {})
        if not isinstance(here, dict | list):
            raise InputError(f"--set {text}: '{part}' is not a section, but {here!r}")
    if isinstance(here, list):
        here[_index(last, here, ".".join(parents), text)] = value
    elif key in STRATEGIES and isinstance(value, str):
        here[last] = {"kind": value}
    else:
        here[last] = value


def _index(part: str, entries: list[Any], key: str, text: str) -> int:
    if not re.fullmatch("[0-9]+", part) or int(part) >= len(entries):
        raise InputError(
            f"--set {text}: '{key}' is a list, and has no entry '{part}'",
            remedy=f"it has {len(entries)}, numbered from 0",
        )
    return int(part)


def run_name(name: str, changed: Iterable[str]) -> str:
    """The experiment's name, or what `--set` changed of its model (`key=value` texts).

    >>> run_name("demo", []), run_name("demo", ["search.trials=9"])
    ('demo', 'demo')
    >>> run_name("demo", ["learner.kind=ridge", "features={add: [word_quality]}"])
    'ridge, +word_quality'
    >>> run_name("demo", ["learner.params.alpha=10", "dataset.path=../data/train.tsv"])
    'alpha=10, path=train.tsv'
    """
    pairs = (assigned(text, "key=value", "--set", empty=True) for text in changed)
    labels = [_label(key, text) for key, text in pairs if key.split(".")[0] not in _OTHER]
    shown = ", ".join(labels) or name
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _label(key: str, text: str) -> str:
    section, last = key.split(".")[0], key.split(".")[-1]
    value = strict_yaml.parse(text, f"--set {key}")
    if section == "features" and isinstance(value, dict):
        signs = [("+", value.get("add")), ("-", value.get("remove"))]
        return ", ".join(f"{sign}{_short(entry)}" for sign, entries in signs for entry in entries or ())
    return _short(value) if last in ("kind", "features", *STRATEGIES) else f"{last}={_short(value)}"


def _short(value: Any) -> str:
    if isinstance(value, dict):
        named = value.get("kind") or value.get("set")
        return str(named) if named else ", ".join(f"{k}={_short(v)}" for k, v in value.items())
    if isinstance(value, list):
        return "+".join(_short(entry) for entry in value)
    return str(value).lower() if isinstance(value, bool) else str(value).rpartition("/")[2]
