"""Docstrings, help texts and messages name the thing that they speak of."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = [
    path for folder in ("qe", "features", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))
]
NOUNLESS = re.compile(r"(Of|Those|That|As|Whose|Where) ")
SHORT_BEGINNINGS = ("benchmarks", "features", "qe")
LONGEST_BEGINNING = 90  # characters of a first paragraph
LOOSE_WORDS = ("Made", "Lesson", "Makers")  # nobody of the field says them


def texts(code: str) -> Iterator[tuple[int, str]]:
    """Line and text of all string literals: docstrings, help texts, messages."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def nounless(code: str) -> list[str]:
    """Texts that begin with a genitive, a pronoun or a conjunction in the place of a noun."""
    return [f"{line}: {text[:60]}" for line, text in texts(code) if NOUNLESS.match(text)]


def docstrings(code: str) -> Iterator[tuple[int, str]]:
    """Line and text of the docstrings of a module, its classes and its functions."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield getattr(node, "lineno", 1), text


def long_beginnings(code: str) -> list[str]:
    """Docstrings whose first paragraph is more than a short sentence."""
    firsts = ((line, " ".join(text.split("\n\n")[0].split())) for line, text in docstrings(code))
    return [f"{line}: {first[:60]}" for line, first in firsts if not _is_short(first)]


def _is_short(first: str) -> bool:
    return 0 < len(first) <= LONGEST_BEGINNING and not first.startswith(">>>")


def names(code: str) -> set[str]:
    """Names of classes."""
    return {node.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ClassDef)}


@pytest.mark.slow
def test_no_text_begins_without_its_noun() -> None:
    found = {str(path.relative_to(ROOT)): nounless(path.read_text("utf-8")) for path in FILES}
    assert len(found) > 500  # the files are found
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("word", ["Of", "Those", "That", "As", "Whose", "Where"])
def test_such_a_text_is_seen(word: str) -> None:
    assert nounless(f'def f() -> None:\n    """{word} something."""')
    assert not nounless('def f() -> None:\n    """Offsets of something."""')


@pytest.mark.slow
@pytest.mark.parametrize("folder", SHORT_BEGINNINGS)
def test_every_docstring_begins_with_a_short_sentence(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert len(paths) > 50  # the files are found
    found = {str(path.relative_to(ROOT)): long_beginnings(path.read_text("utf-8")) for path in paths}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("beginning", ["a" * 91, "a" * 45 + "\n    " + "a" * 45, ">>> f()"])
def test_a_long_beginning_is_seen(beginning: str) -> None:
    code = 'def f() -> None:\n    """{}\n\n    A second paragraph of any length.\n    """'
    assert long_beginnings(code.format(beginning)) == [f"1: {' '.join(beginning.split())[:60]}"]
    assert not long_beginnings(code.format("a" * 90))


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
