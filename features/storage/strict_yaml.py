"""YAML of settings, read safely: plain values, each key once, limited in size."""

import re
from pathlib import Path
from typing import Any, Final

import yaml

from features.basics.errors import InputError
from features.storage.pipes import rewindable

MOST_BYTES: Final = 1 << 18
DEEPEST: Final = 32  # mappings and lists within each other
MOST_ALIASES: Final = 256
MOST_VALUES: Final = 20_000  # with every alias written out
_LONGEST_NUMBER: Final = 32  # characters
_AS_WRITTEN: Final = re.compile(
    r"[-+]?(0|[1-9][0-9]*|[0-9]*\.[0-9]*)(e[-+]?[0-9]+)?|[-+]?\.(inf|nan)|0x[0-9a-f]+", re.IGNORECASE
)
_TAG: Final = "tag:yaml.org,2002:"
_MERGE: Final = _TAG + "merge"
_PLAIN: Final = tuple(_TAG + name for name in ("null", "bool", "int", "float", "str", "seq", "map"))


class _StrictLoader(yaml.SafeLoader):
    yaml_implicit_resolvers = {  # noqa: RUF012 (PyYAML's own name and type)
        first: [(tag, form) for tag, form in resolvers if tag in (*_PLAIN, _MERGE)]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {  # noqa: RUF012
        tag: make for tag, make in yaml.SafeLoader.yaml_constructors.items() if tag is None or tag in _PLAIN
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._aliases = 0
        self._sizes: dict[int, int] = {}  # id of a node -> values in it, aliases written out

    def compose_node(self, parent: Any, index: Any) -> Any:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            self._aliases += 1
            if self._aliases > MOST_ALIASES:
                raise _refused(f"more than {MOST_ALIASES} aliases", mark)
            node: Any = super().compose_node(parent, index)
            if id(node) not in self._sizes:
                raise _refused("a value that holds itself", mark)
            return node
        self._depth += 1
        if self._depth > DEEPEST:
            raise _refused(f"more than {DEEPEST} values within each other", mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        self._sizes[id(node)] = 1 + sum(self._sizes[id(inner)] for inner in _inside(node))
        if max(self._sizes[id(node)], len(self._sizes)) > MOST_VALUES:
            raise _refused(f"more than {MOST_VALUES:,} values", mark)
        return node


def _refused(what: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, what, mark)


def _inside(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _mapping(loader: _StrictLoader, node: yaml.Node) -> dict[Any, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise _refused("this is no mapping", node.start_mark)
    content: dict[Any, Any] = {}
    merged: list[Any] = []
    for name, value in node.value:
        if name.tag == _MERGE:
            given = loader.construct_object(value, deep=True)
            merged += given if isinstance(given, list) else [given]
            continue
        key = loader.construct_object(name, deep=True)
        if isinstance(key, dict | list):
            raise _refused("a key must be a plain value", name.start_mark)
        if key in content:
            raise _refused(f"the key '{key}' stands twice", name.start_mark)
        content[key] = loader.construct_object(value, deep=True)
    for other in merged:
        if not isinstance(other, dict):
            raise _refused("`<<` takes a mapping, or a list of them", node.start_mark)
        content = {**other, **content}
    return content


def _text(loader: _StrictLoader, node: yaml.Node) -> str:
    text = str(loader.construct_scalar(node))  # type: ignore[arg-type]
    if any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in text):
        raise _refused(
            "text with a character that no text has (NUL, half of a surrogate pair)", node.start_mark
        )
    return text


def _whole(loader: _StrictLoader, node: yaml.Node) -> int:
    value = _plain(loader, node, "a whole number", yaml.SafeLoader.construct_yaml_int)
    _as_written(node)
    if not -(2**63) <= value < 2**63:
        raise _refused("a whole number of more than 64 bits", node.start_mark)
    return int(value)


def _number(loader: _StrictLoader, node: yaml.Node) -> float:
    value = float(_plain(loader, node, "a number", yaml.SafeLoader.construct_yaml_float))
    _as_written(node)
    return value


def _as_written(node: yaml.Node) -> None:
    if not _AS_WRITTEN.fullmatch(node.value):
        raise _refused(f"'{node.value}' is no plain number; text stands in quotes", node.start_mark)


def _truth(loader: _StrictLoader, node: yaml.Node) -> bool:
    return bool(_plain(loader, node, "true or false", yaml.SafeLoader.construct_yaml_bool))


def _plain(loader: _StrictLoader, node: yaml.Node, what: str, make: Any) -> Any:
    if not isinstance(node, yaml.ScalarNode):
        raise _refused(f"this is not {what}", node.start_mark)
    if len(node.value) > _LONGEST_NUMBER:
        raise _refused(f"{what} of more than {_LONGEST_NUMBER} characters", node.start_mark)
    try:
        return make(loader, node)
    except (ValueError, KeyError, IndexError, OverflowError):
        raise _refused(f"'{node.value}' is not {what}", node.start_mark) from None


for _name, _make in (
    ("map", _mapping),
    ("str", _text),
    ("merge", _text),
    ("int", _whole),
    ("float", _number),
    ("bool", _truth),
):
    _StrictLoader.add_constructor(_TAG + _name, _make)


def parse(text: str, location: object) -> Any:
    """The value that a YAML text writes down.

    Raises InputError, naming the line, for what is not YAML, has a key twice, holds other than plain values,
    or is larger or deeper than settings are.

    >>> parse("{a: [1, 2012-05-01], b: yes}", "x.yaml")
    {'a': [1, '2012-05-01'], 'b': True}
    >>> parse("a: 1\\na: 2", "x.yaml")
    Traceback (most recent call last):
    features.basics.errors.InputError: x.yaml:2: not valid YAML: the key 'a' stands twice
    """
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise InputError(f"settings of more than {MOST_BYTES:,} bytes", location=location)
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = location if mark is None else f"{location}:{mark.line + 1}"
        what = error.problem or error.context or "it cannot be read"
        raise InputError(f"not valid YAML: {what}", location=place) from None
    except yaml.YAMLError as error:
        what = getattr(error, "reason", "") or str(error).partition("\n")[0]
        raise InputError(f"not valid YAML: {what}", location=location) from None


def read(path: Path, what: str) -> Any:
    """What a YAML file says; `what` it is, for the messages.

    Raises InputError as `parse` does, and if there is no such file.
    """
    try:
        with rewindable(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        return parse(content.decode("utf-8"), path)
    except FileNotFoundError:
        raise InputError(f"no such {what}", location=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", location=path) from None
    except UnicodeDecodeError as error:
        raise InputError(f"not valid YAML: no UTF-8 at byte {error.start}", location=path) from None


def read_mapping(path: Path, what: str) -> dict[str, Any]:
    """The keys and values of a file; `what` it is, for the messages.

    Raises InputError as `read` does, and where the file holds no mapping.
    """
    content = read(path, what)
    if not isinstance(content, dict):
        raise InputError(f"must be a mapping of keys, as every {what} is", location=path)
    return content


def written(content: Any) -> str:
    """Plain values as YAML, keys in their order.

    >>> print(written({"b": [1, 2], "a": {"c": None}}), end="")
    b: [1, 2]
    a: {c: null}
    """
    text: str = yaml.safe_dump(
        content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110
    )
    return text
