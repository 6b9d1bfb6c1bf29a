"""docs/tour.ipynb from docs/python.md: its text and its blocks of Python as the cells of a notebook.

python docs/site/notebook.py
"""

import json
import re
from pathlib import Path
from typing import Any

from features.storage.files import atomic_file

DOCS = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"```python\n(.*?)```\n?", re.DOTALL)


def notebook(page: str) -> dict[str, Any]:
    """The notebook (format 4.5) of a page, without outputs."""
    parts = _BLOCK.split(page)  # text and code by turns
    cells = [_cell(i, part.strip()) for i, part in enumerate(parts) if part.strip()]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cell(place: int, text: str) -> dict[str, Any]:
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if place % 2 else {}
    kind = "code" if place % 2 else "markdown"
    lines = text.splitlines(keepends=True)
    return {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, **code, "source": lines}


def notebook_text(page: str) -> str:
    """The text of the notebook's file."""
    return json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    with atomic_file(DOCS / "tour.ipynb") as temporary:
        temporary.write_text(notebook_text((DOCS / "python.md").read_text("utf-8")), "utf-8")
