"""Documentation of formats: keys and an example of each, made from the classes."""

import inspect
from collections.abc import Iterable
from dataclasses import MISSING, Field, fields
from typing import Any, get_type_hints

import yaml

from features.basics.hints import described
from qe.data.format import FORMATS, Example, Format, examples


def page(names: Iterable[str] = FORMATS.names) -> str:
    """Markdown: a section for each format."""
    return "\n\n".join(_section(name, FORMATS.get(name)) for name in names) + "\n"


def _section(name: str, kind: type[Format]) -> str:
    hints = get_type_hints(kind, include_extras=True)
    rows = [_row(entry, hints[entry.name]) for entry in fields(kind) if entry.init]  # type: ignore[arg-type]
    paragraphs = [
        f"### `{name}`",
        _code(inspect.getdoc(kind) or "", "text"),
        "\n".join(["| key | value | default |", "| --- | --- | --- |", *rows]),
        *(_example(examples()[name]) if name in examples() else ()),
    ]
    return "\n\n".join(paragraphs)


def _row(entry: "Field[Any]", hint: Any) -> str:
    value = entry.default if entry.default_factory is MISSING else entry.default_factory()
    default = "required" if value is MISSING else "none" if value in ({}, ()) else f"`{_yaml(value)}`"
    what = described(hint).replace("|", "\\|")
    return f"| `{entry.name}` | {what} | {default} |"


def _yaml(value: Any) -> str:
    return yaml.safe_dump([value], default_flow_style=True).strip()[1:-1]


def _example(example: Example) -> list[str]:
    files = [f"`{name}`:\n\n{_code(text, 'text')}" for name, text in example.files.items()]
    return ["An example:", _code(example.section, "yaml"), *files]


def _code(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
