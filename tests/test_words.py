"""Names and prose of the project: identifiers name a value, texts use the words of the field."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = [path for folder in ("qe", "features", "plugins") for path in sorted((ROOT / folder).rglob("*.py"))]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *(ROOT / "docs").rglob("*.md"),
]
# Participles, pronouns, adverbs and prepositions: an identifier of these alone names nothing.
EMPTY = frozenset((ROOT / "tests" / "empty_words.txt").read_text("utf-8").split())
ALLOWED = {"all", "any", "first", "last", "next", "has", "in_", "or_", "and_", "none"}
# What a technical writer of the field would not write, with what to write.
ODD = {
    r"beside": "next to, compared with",
    r"anew": "again",
    r"in the place of": "instead of",
    r"whatever": "any",
    r"likewise|thus|hence|thereof|wherein|whereby": "also, so, in which",
    r"(says?|said) (that|what|which|so|how|if|where|why)": "reports, shows, states",
    r"(tells?|told) (of|that|what|which|how|if)": "reports, shows, warns",
    r"(is|are|was|were|be|been) (told|said)": "is reported",
    r"asked for": "requested",
    r"stands? (in|for|there|on|with|at|behind|before|alone)": "is in, means",
    r"lies? (in|on|there|at|below|behind|apart)": "is in, is stored in",
    r"spoil(t|ed)": "corrupted, perturbed",
    r"of its own": "its own, separate",
    r"as they (are|come|stand)": "unchanged",
    r"no more than": "at most",
    r"people judged": "human judgements",
    r"takes? part in": "is used by",
    r"speaks? for": "supports",
    r"goes? (on|by) (with|from|what|how)": "continues, uses",
    r"parts? them": "separates",
    r"in (its|their) own right": "",
    r"of these": "of them; or the noun",
    r"(not any|not either) more than|think twice": "",
    r"looks? after": "handles",
    r"by hand (in part)?": "manually",
    r"the house|a room|rooms": "the layout, a package",
    r"is of (before|after|the)": "belongs to",
}
PATTERN = re.compile("|".join(rf"\b(?:{odd})\b" for odd in ODD), re.IGNORECASE)


def words_of(name: str) -> list[str]:
    """Words of an identifier in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)]


def defined(code: str) -> Iterator[str]:
    """Names of classes, functions, parameters and fields of classes."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            fields = (item for item in node.body if isinstance(item, ast.AnnAssign))
            yield from (item.target.id for item in fields if isinstance(item.target, ast.Name))
        if isinstance(node, ast.arg):
            yield node.arg


def is_empty(name: str) -> bool:
    words = words_of(name)
    return (
        bool(words) and name.strip("_") not in ALLOWED and name[:2] != "__" and all(w in EMPTY for w in words)
    )


def prose(path: Path) -> Iterator[str]:
    """Texts that a person reads: strings with a blank in code, lines of pages outside code."""
    content = path.read_text("utf-8")
    if path.suffix == ".py":
        nodes = (node for node in ast.walk(ast.parse(content)) if isinstance(node, ast.Constant))
        yield from (node.value for node in nodes if isinstance(node.value, str) and " " in node.value)
        return
    fenced = re.sub(r"^ *```.*?^ *```", "", content, flags=re.DOTALL | re.MULTILINE)
    yield from (re.sub(r"`[^`]*`", "", line) for line in fenced.splitlines() if not line.startswith("    "))


@pytest.mark.slow
def test_identifiers_name_their_values() -> None:
    found = {path: sorted({*filter(is_empty, defined(path.read_text("utf-8")))}) for path in CODE}
    assert len(found) > 300  # the files are found
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {}


@pytest.mark.slow
def test_texts_use_the_words_of_the_field() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in (*CODE, *PAGES)
        for text in prose(path)
        for match in PATTERN.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize("name", ["told", "AskedFor", "is_there", "_left_out"])
def test_an_empty_name_is_found(name: str) -> None:
    assert is_empty(name) and not is_empty(name + "_scores")


def test_an_odd_word_is_found() -> None:
    assert PATTERN.search("a score beside the text") and not PATTERN.search("a score next to the text")


def test_names_of_files_describe_their_subject() -> None:
    stems = {path.stem for path in CODE}
    assert not stems & {"_base", "base", "utils", "helpers", "common", "misc"}


def docstring_lines(path: Path) -> int:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kinds))
    texts = (node.body[0] for node in nodes if ast.get_docstring(node) is not None)
    return sum((text.end_lineno or 0) - text.lineno + 1 for text in texts)


@pytest.mark.slow
def test_docstrings_together_are_short() -> None:
    assert sum(map(docstring_lines, CODE)) <= 12_000


def test_pages_are_few_and_short() -> None:
    pages = {path: path.read_text("utf-8") for path in PAGES if path.name != "CHANGELOG.md"}
    assert sum(len(text.split()) for text in pages.values()) <= 45_000
    assert sum(path.parent.name == "results" for path in pages) <= 15
    too_long = {path.name for path, text in pages.items() if len(text.splitlines()) > 250}
    assert not too_long and len(pages[ROOT / "README.md"].splitlines()) < 150


def test_entries_of_the_changelog_have_their_kind() -> None:
    kinds = re.findall(r"^### (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert {"Added", "Changed", "Fixed", "Removed"} == {*kinds}
