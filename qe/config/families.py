"""The list `features` of a settings file: families and sets, each with its parameters."""

from pathlib import Path
from typing import Any

from features.basics.errors import combined_error, quoted


def feature_configs(value: Any, path: Path) -> list[dict[str, Any]]:
    """Feature configs; a bare name is short for `{kind: NAME}`. Raises InputError for other values."""
    configs, mistakes = readable_configs(value)
    if mistakes:
        raise combined_error(mistakes, path)
    return configs


def readable_configs(value: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """The readable entries of a list of features (a `kind` or a `set`), and problems of the others."""
    if isinstance(value, dict) and value and value.keys() <= {"add", "remove"}:
        return [], ["`features: {add, remove}` changes those of another experiment; name it in `extends`"]
    if not isinstance(value, list) or not value:
        return [], ["`features` must be a list of extractors; - kind: baseline17"]
    configs, mistakes = list[dict[str, Any]](), list[str]()
    for number, item in enumerate(value):
        entry = {"kind": item} if isinstance(item, str) else item
        if isinstance(entry, dict) and ("kind" in entry) ^ ("set" in entry):
            configs.append(entry)
        else:
            got = f"every entry needs a `kind` or a `set`, but got {quoted(item)}"
            mistakes.append(f"features.{number}: {got}")
    return configs, mistakes
