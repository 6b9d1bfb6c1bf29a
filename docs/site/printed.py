"""Runs the commands of a page again and updates the output that it shows.

    python docs/site/printed.py docs/rank.md docs/effort.md     # writes what has changed
    python docs/site/printed.py --check docs/*.md               # reports it, exit code 1

A block of output follows the mark `<!-- printed -->`. Its commands are its own lines that begin with `$ `, or
else the indented block before it. A line `...` replaces omitted lines; lines next to it are found by their
beginning. Commands find the data as `../shared/data`, and human rankings and MultEval's example in their
working directory.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from features.basics.errors import InputError
from features.storage.files import atomic_file

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("QE_SHARED_DATA", ROOT.parent / "shared" / "data"))
LINKED = ("human-rankings/raw", "golden/multeval")  # their files are linked into the working directory
MARK = "<!-- printed -->\n"
_BLOCK = re.compile(rf"{MARK}\n?```\w*\n(.*?)```\n", re.DOTALL)
_INDENTED = re.compile(r"(?:^    .*\n)+", re.MULTILINE)
_OMISSION = "..."


@dataclass(frozen=True)
class Block:
    """A block of output on a page: commands, lines shown, and their position."""

    commands: str
    output: str
    span: tuple[int, int]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is stale")
    arguments = parser.parse_args()
    stale = [
        difference for page in arguments.pages if (difference := changes(page, write=not arguments.check))
    ]
    print("".join(stale), end="")
    sys.exit(bool(stale) and arguments.check)


def changes(page: Path, *, write: bool = False) -> str:
    """The differences between a page and the page with what its commands print now; empty if none."""
    old = page.read_text("utf-8")
    new = renewed(old)
    if write and new != old:
        with atomic_file(page) as temporary:
            temporary.write_text(new, "utf-8")
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), str(page), "printed now")
    return "".join(lines)


def renewed(text: str) -> str:
    """The page with what its commands print now."""
    for block in reversed(blocks(text)):
        first, last = block.span
        text = text[:first] + excerpt(printed(block.commands), block.output) + text[last:]
    return text


def blocks(text: str) -> list[Block]:
    """All blocks of output. Raises InputError for one without commands."""
    found = []
    for match in _BLOCK.finditer(text):
        prompts = "".join(takewhile(_is_command, match[1].splitlines(True)))
        before = _INDENTED.findall(text[: match.start()])
        if not prompts and not before:
            raise InputError(f"no command prints this: {match[1][:60]!r}", remedy=f"remove the mark {MARK}")
        commands = re.sub(r"^\$ ", "", prompts, flags=re.MULTILINE) if prompts else before[-1]
        found.append(Block(commands, match[1][len(prompts) :], (match.start(1) + len(prompts), match.end(1))))
    return found


def _is_command(line: str) -> bool:
    return line.startswith(("$ ", "    --"))


def printed(commands: str) -> str:
    """What they print, in a folder of their own. Raises InputError if one of them fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "checkout"
        folder.mkdir()
        (folder.parent / "shared").mkdir()
        (folder.parent / "shared" / "data").symlink_to(DATA)
        for file in (file for source in LINKED for file in (DATA / source).glob("*.gz")):
            (folder / file.name).symlink_to(file)
        (folder / "benchmarks").symlink_to(ROOT / "benchmarks")
        places = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "120"}
        done = subprocess.run(
            ["bash", "-euc", commands],
            cwd=folder,
            env={**os.environ, **places},
            capture_output=True,
            text=True,
        )
    if done.returncode not in (0, 1):
        raise InputError(f"the commands fail: {done.stderr.strip()}", location=commands.strip())
    return done.stdout


def excerpt(output: str, template: str) -> str:
    """The part of an output that a page shows, with omitted lines at each `...`.

    >>> excerpt("a  1\\nb  2\\nc  3\\n", "...\\nb  7\\n...\\n")
    '...\\nb  2\\n...\\n'
    """
    output = output.rstrip() + "\n"
    if _OMISSION not in template.splitlines():
        return output
    lines, parts, selected = output.splitlines(), _parts(template), list[str]()
    for number, part in enumerate(parts):
        first = _position(lines, part[0]) if number and part else 0
        last = (
            first + _position(lines[first:], part[-1]) + 1 if number < len(parts) - 1 and part else len(lines)
        )
        selected += [_OMISSION] * bool(number) + (lines[first:last] if part else [])
    return "\n".join(selected) + "\n"


def _parts(template: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in template.splitlines():
        if line == _OMISSION:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _position(lines: Sequence[str], line: str) -> int:
    """The first line that begins like the one shown, up to two blanks: figures may have changed."""
    heads = [_head(each) for each in lines]
    if _head(line) not in heads:
        raise InputError(f"no line begins with {_head(line)!r} any more", remedy="rewrite the block")
    return heads.index(_head(line))


def _head(line: str) -> str:
    return re.split(r"\s{2,}", line.strip())[0]


if __name__ == "__main__":
    main()
