"""Report files: texts written whole, readable JSON, tables and pages that need no other file."""

import base64
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from features.storage.files import atomic_file
from qe.display.table import Table


def write(path: Path, text: str) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(text, "utf-8", newline="")


def json_text(value: object) -> str:
    """JSON for people and programs alike; undefined numbers must be None already."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """A result as JSON values: dataclasses by `to_json` or by field, None for undefined and infinite numbers.

    >>> plain({"a": (float("nan"), 1.5), "b": Path("x")})
    {'a': [None, 1.5], 'b': 'x'}
    """
    if is_dataclass(value) and not isinstance(value, type):
        to_json: Any = getattr(value, "to_json", None)
        return plain(to_json() if to_json else {one.name: getattr(value, one.name) for one in fields(value)})
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # of NumPy
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): plain(each) for name, each in values.items()}


def write_json(path: Path, value: object) -> None:
    write(path, json_text(value))


def markdown(title: str, notes: Sequence[str], tables: Sequence[Table]) -> str:
    told = "".join(f"\n{note}\n" for note in notes)
    return f"## {title}\n{told}\n" + "\n".join(table.markdown() for table in tables)


def latex(tables: Sequence[Table]) -> str:
    return "\n".join(table.latex() for table in tables if table.body)


def folder_name(name: str) -> str:
    return re.sub(r"[^\w.]+", "-", name).strip("-.") or "pair"


def render(package: str, template: str, filters: Mapping[str, Callable[..., Any]], **values: Any) -> str:
    """A page from a template of that package, which extends `frame.html`; all values are escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader("qe.display", ".")]),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= filters
    return environment.get_template(template).render(**values)


def figures(plots: Mapping[str, bytes]) -> list[dict[str, str]]:
    """Text and data of pictures that a page holds itself: what each shows -> PNG."""
    return [{"text": text, "data": base64.b64encode(png).decode()} for text, png in plots.items()]
