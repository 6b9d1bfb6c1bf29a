"""The number of the schemas of what verbs write for machines (docs/machine-output.md); formats of plots."""

from collections.abc import Mapping
from typing import Any, Final

SCHEMA: Final = 1  # another number where a key goes, or means something else; more keys may come


def stamped(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """An output of that name, with the number of its schema; a line of a log has none."""
    return dict(content) if name == "log" else {"schema": SCHEMA, **content}


PLOTS: Final = "QE_PLOTS"  # the variable that names formats of plots next to PNG
PLOT_FORMATS: Final = ("png", "svg", "pdf")
