"""The name of a run: what differs from the experiment's file, in few characters."""

from collections.abc import Iterable
from typing import Any, Final

from features.basics.assignments import assigned
from features.storage import strict_yaml

_LONGEST: Final = 30  # characters; a list of runs shows no more
# Settings that leave the model what it is, or are names.
_OTHER: Final = (
    "search",
    "split",
    "evaluation",
    "tracking",
    "name",
    "description",
    "published",
    "intervals",
    "absent",
)


def run_name(name: str, changed: Iterable[str]) -> str:
    """The experiment's name, or what `--set` changed of its model.

    changed  `key=value` texts

    >>> run_name("demo", []), run_name("demo", ["search.trials=9"])
    ('demo', 'demo')
    >>> run_name("demo", ["learner.kind=ridge", "features={add: [word_quality]}"])
    'ridge, +word_quality'
    >>> run_name("demo", ["learner.params.alpha=10", "dataset.path=../data/train.tsv"])
    'alpha=10, path=train.tsv'
    >>> len(run_name("demo", ["features=[surface, baseline17, lm, word_quality]"]))
    30
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
    return _short(value) if last in ("kind", "features") else f"{last}={_short(value)}"


def _short(value: Any) -> str:
    if isinstance(value, dict):
        named = value.get("kind") or value.get("set")
        return str(named) if named else ", ".join(f"{k}={_short(v)}" for k, v in value.items())
    if isinstance(value, list):
        return "+".join(_short(entry) for entry in value)
    return str(value).lower() if isinstance(value, bool) else str(value).rpartition("/")[2]
