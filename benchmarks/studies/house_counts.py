"""The house in numbers, at any commit: rooms, arrows, floors, private imports, lines.

    python benchmarks/studies/house_counts.py fd7d582 HEAD

A room is a folder directly below `qe` or `features`, with all that lies in it; the modules beside these
folders are a room, too. What lay in `features/core` before it was divided is one room. An arrow is a room
that imports another, and the floor of a room is the longest way down from it. Front doors (`__init__.py` of
the two packages, which load what they show when it is asked for) count for no arrow. A private import names a
module with a leading underscore from outside the folder it lies in.
"""

import argparse
import ast
import io
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

PACKAGES = ("features", "qe")
CORE = {f"features.{name}" for name in ("basics", "storage", "text", "syntax", "edits", "core")}


def sources(commit: str) -> dict[str, str]:
    """Module -> its text; a package has the name of its folder."""
    archive = subprocess.run(["git", "archive", commit, *PACKAGES], capture_output=True, check=True).stdout
    modules = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            file = files.extractfile(member)
            path = PurePosixPath(member.name)
            if file is not None and path.suffix == ".py":
                parts = path.with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                modules[name] = file.read().decode("utf-8")
    return modules


def imports(name: str, text: str, modules: Mapping[str, str]) -> Iterator[str]:
    """The modules of the project that a module imports, also inside functions."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules else str(node.module)


def room(module: str, modules: Mapping[str, str]) -> str:
    """The folder below `qe` or `features` that a module lies in, or the package itself."""
    folder = ".".join(module.split(".")[:2])
    is_folder = any(other.startswith(f"{folder}.") for other in modules)
    if folder in CORE:
        return "features.core"
    return folder if is_folder else module.split(".")[0]


def is_private(importer: str, imported: str) -> bool:
    """Whether a module with a leading underscore is imported from outside its folder."""
    parts = imported.split(".")
    folders = [".".join(parts[:i]) for i, part in enumerate(parts) if part.startswith("_")]
    return any(not f"{importer}.".startswith(f"{folder}.") for folder in folders)


def counts(commit: str) -> dict[str, int]:
    """What the page states of a commit."""
    modules = sources(commit)
    pairs = [(name, other) for name, text in modules.items() for other in imports(name, text, modules)]
    private = {pair for pair in pairs if is_private(*pair)}
    inner = [(room(a, modules), room(b, modules)) for a, b in pairs if a not in PACKAGES]
    arrows = {pair for pair in inner if pair[0] != pair[1]}
    circles = sum((b, a) in arrows for a, b in arrows) // 2
    below: dict[str, set[str]] = {}
    for a, b in arrows:
        if (b, a) not in arrows:
            below.setdefault(a, set()).add(b)

    @cache
    def floor(name: str) -> int:
        return 1 + max(map(floor, below.get(name, ())), default=0)

    rooms = {room(module, modules) for module in modules}
    return {
        "rooms": len(rooms),
        "floors": max(map(floor, rooms)),
        "arrows": len(arrows),
        "circles of two rooms": circles,
        "folders directly in qe/": sum(name.startswith("qe.") for name in rooms),
        "private imports": len(private),
        "modules": len(modules),
        **{f"lines of {one}/": _lines(modules, one) for one in PACKAGES},
    }


def _lines(modules: Mapping[str, str], package: str) -> int:
    return sum(text.count("\n") for name, text in modules.items() if name.split(".")[0] == package)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commits", nargs="+")
    commits = parser.parse_args().commits
    columns = [counts(commit) for commit in commits]
    print(f"| | {' | '.join(commits)} |\n| --- |{' ---: |' * len(commits)}")
    for name in columns[0]:
        print(f"| {name} | {' | '.join(f'{column[name]:,}' for column in columns)} |")


if __name__ == "__main__":
    main()
