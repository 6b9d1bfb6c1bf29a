"""Docstrings, help texts and messages name the thing that they speak of."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = [
    path for folder in ("qe", "features", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))
]
LOOSE_WORDS = ("Made", "Lesson", "Makers")  # nobody of the field says them


def names(code: str) -> set[str]:
    """Names of classes."""
    return {node.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ClassDef)}


@pytest.mark.slow
def test_classes_have_the_names_of_the_field() -> None:
    found = {
        str(path.relative_to(ROOT)): sorted(names(path.read_text("utf-8")) & {*LOOSE_WORDS}) for path in FILES
    }
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_names_of_files_say_what_is_inside() -> None:
    """Two files of one name in two rooms are told apart by neither; a base says nothing."""
    stems = {path.stem for path in FILES}
    assert not stems & {"_base", "base", "tables", "plots", "utils", "helpers", "common", "misc"}
