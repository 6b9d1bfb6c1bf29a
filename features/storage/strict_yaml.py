"""YAML of settings, read safely: plain values, each key once, positions in messages."""

import re
from pathlib import Path
from typing import Any, Final

import yaml

from features.basics.errors import InputError
from features.storage.files import rewindable

MAX_BYTES: Final = 1 << 18
MAX_DEPTH: Final = 32  # levels of keys in a setting
_TAG: Final = "tag:yaml.org,2002:"
_MERGE: Final = _TAG + "merge"
_PLAIN: Final = tuple(_TAG + name for name in ("null", "bool", "int", "float", "str", "seq", "map"))
# Numbers as they are written; what else YAML 1.1 reads as one (010, 1_000, 1:30) is text.
_NUMBERS: Final = {
    _TAG + "int": re.compile(r"(?:[-+]?(0|[1-9][0-9]{0,17})|0x[0-9a-fA-F]{1,15})$"),
    _TAG + "float": re.compile(
        r"(?:[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
    ),
}


class _StrictLoader(yaml.SafeLoader):
    yaml_implicit_resolvers = {  # noqa: RUF012 (PyYAML's own name and type)
        first: [(tag, _NUMBERS.get(tag, form)) for tag, form in resolvers if tag in (*_PLAIN, _MERGE)]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {  # noqa: RUF012
        tag: make for tag, make in yaml.SafeLoader.yaml_constructors.items() if tag is None or tag in _PLAIN
    }


def _refused(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _mapping(loader: _StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    names = [name for name, *_ in node.value]  # those of merged mappings come later
    mapping, keys = loader.construct_mapping(node, deep=True), set()
    for name in names:
        if name.tag != _MERGE:
            key = loader.construct_object(name, deep=True)
            if key in keys:
                raise _refused(f"the key '{key}' occurs twice", name)
            keys.add(key)
    return mapping


def _text(loader: _StrictLoader, node: yaml.ScalarNode) -> str:
    text = str(loader.construct_scalar(node))
    if any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in text):
        raise _refused("text with a character that no text has (NUL, half of a surrogate pair)", node)
    return text


for _name, _make in (("map", _mapping), ("str", _text), ("merge", _text)):
    _StrictLoader.add_constructor(_TAG + _name, _make)


def parse(text: str, location: object) -> Any:
    """The plain values of a YAML text; raises InputError, with the line, for others and repeated keys."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise InputError(f"settings of more than {MAX_BYTES:,} bytes", location=location)
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = location if mark is None else f"{location}:{mark.line + 1}"
        problem = error.problem or error.context or "it cannot be read"
        raise InputError(f"not valid YAML: {problem}", location=place) from None
    except yaml.YAMLError as error:
        problem = getattr(error, "reason", "") or str(error).partition("\n")[0]
        raise InputError(f"not valid YAML: {problem}", location=location) from None
    except RecursionError:
        raise InputError("not valid YAML: too many values inside each other", location=location) from None
    except (ValueError, LookupError, OverflowError) as error:
        raise InputError(f"not valid YAML: a value is not of its tag ({error})", location=location) from None


def read(path: Path, noun: str) -> Any:
    """The content of a YAML file, called `noun` in messages; raises InputError as `parse` does."""
    try:
        with rewindable(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        return parse(content.decode("utf-8"), path)
    except FileNotFoundError:
        raise InputError(f"no such {noun}", location=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", location=path) from None
    except UnicodeDecodeError as error:
        raise InputError(f"not valid YAML: no UTF-8 at byte {error.start}", location=path) from None


def read_mapping(path: Path, noun: str) -> dict[str, Any]:
    """The keys and values of a file; raises InputError as `read` does, and if the file is no mapping."""
    content = read(path, noun)
    if not isinstance(content, dict):
        raise InputError(f"must be a mapping of keys, as every {noun} is", location=path)
    return content


def to_yaml(content: Any) -> str:
    """Plain values as YAML, keys in their order."""
    text: str = yaml.safe_dump(
        content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110
    )
    return text
