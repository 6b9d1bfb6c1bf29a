"""HTML pages that need no other file."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def render(package: str, template: str, filters: Mapping[str, Callable[..., Any]], **values: Any) -> str:
    """A page from a template of that package, which extends `frame.html`; all values are escaped."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader("qe.display", ".")]),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= filters
    return environment.get_template(template).render(**values)


def figures(plots: Mapping[str, bytes]) -> list[dict[str, str]]:
    """Text and data of pictures that a page holds itself: what each shows -> PNG."""
    return [{"text": text, "data": base64.b64encode(png).decode()} for text, png in plots.items()]
