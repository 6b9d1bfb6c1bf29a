"""`extends: FILE`: an experiment that says only what it has otherwise than another."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from features.basics.errors import InputError, did_you_mean, quoted, unknown_name
from features.storage.files import base_of, resolved
from features.storage.strict_yaml import read_mapping

Keys = dict[str, Any]
# Makes the relative paths of a file in a folder absolute.
Located = Callable[[Keys, Path], Keys]
KEY: Final = "extends"
_CHANGES: Final = ("remove", "add")
_CHOICES: Final = ("kind", "format")  # what says which other keys a mapping takes


def extended(content: Mapping[str, Any], location: Path, located: Located) -> tuple[Keys, list[Path]]:
    """The keys of an experiment on top of those it extends, and the extended files, nearest first."""
    chain = [(location if location.is_dir() else base_of(location), dict(content))]
    seen, files = [resolved(location)], list[Path]()
    while KEY in chain[-1][1]:
        folder, keys = chain[-1]
        name = keys[KEY]
        if not isinstance(name, str) or not name:
            problem = f"{KEY}: must be the path of an experiment file, relative to this one, but got"
            raise InputError(f"{problem} {quoted(name)}", location=location)
        path = folder / name
        if not path.is_file():
            raise InputError(f"{KEY}: no such experiment file: {path}", location=location)
        if resolved(path) in seen:
            circle = " extends ".join(file.name for file in (*seen[seen.index(resolved(path)) :], path))
            raise InputError(f"{KEY}: files extend each other in a circle: {circle}", location=location)
        seen.append(resolved(path))
        chain.append((path.parent, read_mapping(path, "experiment file")))
        files.append(path)
    folder, keys = chain.pop()
    for above, changes in reversed(chain):
        changes.pop(KEY)
        base = located(keys, folder)
        keys = _merged(base, changes)
        if "features" in changes:
            keys["features"] = _features(base.get("features", []), changes["features"], location)
        folder = above
    return keys, files


def file_names(path: Path, files: Sequence[Path]) -> str:
    """A file as messages name it, with those it extends: `small.yaml (extends large.yaml)`."""
    return f"{path} (extends {', '.join(file.name for file in files)})" if files else str(path)


def merged(base: Any, changes: Any) -> Any:
    """`changes` on top of `base`: mappings key by key, everything else as a whole.

    An empty mapping empties; a mapping of another `kind` or `format` replaces the mapping that was there.

    >>> merged({"a": {"b": 1, "c": [1, 2]}, "d": {"e": 1}}, {"a": {"c": [3]}, "d": {}})
    {'a': {'b': 1, 'c': [3]}, 'd': {}}
    >>> merged({"kind": "ridge", "params": {"alpha": 1}}, {"kind": "pls"})
    {'kind': 'pls'}
    """
    mappings = isinstance(base, dict) and isinstance(changes, dict)
    if not (mappings and changes):
        return changes
    other_kind = any(key in changes and base.get(key) != changes[key] for key in _CHOICES)
    return changes if other_kind else _merged(base, changes)


def _merged(base: Keys, changes: Keys) -> Keys:
    return base | {key: merged(base.get(key), value) for key, value in changes.items()}


def _features(base: Any, changes: Any, location: Path) -> Any:
    if not isinstance(changes, dict) or not changes:
        return changes
    for key in changes:
        if key not in _CHANGES:
            raise unknown_name("key", key, _CHANGES, f"{location}: features")
    removed, added = (as_list(changes.get(key, [])) for key in _CHANGES)
    listed = as_list(base)
    names = [_name(entry) for entry in listed]
    for entry in removed:
        if not (isinstance(entry, str) or (isinstance(entry, dict) and entry.keys() == {"set"})):
            raise InputError(
                f"features.remove: takes names of kinds, and sets as {{set: NAME}}, but got {quoted(entry)}",
                location=location,
            )
        if (name := _name(entry)) not in names:
            raise InputError(
                f"features.remove: the features that are extended have no {quoted(name)}",
                location=location,
                remedy=f"they have: {', '.join(names)}{did_you_mean(name, names)}",
            )
    return [entry for entry in listed if _name(entry) not in map(_name, removed)] + added


def _name(entry: Any) -> str:
    if isinstance(entry, dict) and "set" in entry:
        return f"{{set: {entry['set']}}}"
    return str(entry.get("kind") if isinstance(entry, dict) else entry)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
