"""A release, step by step (`make release` does all of them, between the tests and the wheel).

python .ci/release.py date [DAY]    writes the day into CHANGELOG.md and CITATION.cff, and commits them
python .ci/release.py sbom FILE     the packages of requirements.lock as CycloneDX 1.5 (JSON)
python .ci/release.py audit         what can be audited without a network service
python .ci/release.py tag           an annotated tag of this commit, whose message is the version's notes
"""

import base64
import csv
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from datetime import UTC, date, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.markers import Marker

ROOT = Path(__file__).resolve().parent.parent
LOCK = "requirements.lock"
_ENTRY = re.compile(
    r"^([\w.-]+)(?:\[\w+\])?==(\S+)(?: ; (.+))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
    re.MULTILINE,
)


def main(arguments: list[str]) -> str:
    """Does one step; a sentence of what was done. Raises SystemExit if the step is not possible."""
    match arguments:
        case ["date", *day]:
            return stamp(date.fromisoformat(day[0]) if day else datetime.now(UTC).date())
        case ["sbom", file]:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(json.dumps(sbom(), indent=1) + "\n", "utf-8")
            return f"{len(locked())} packages: {file}"
        case ["audit"]:
            return audit()
        case ["tag"]:
            return tag()
        case _:
            sys.exit(__doc__)


def version() -> str:
    """The version of pyproject.toml."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"])


def notes() -> tuple[str, str]:
    """The day and the notes of this version in CHANGELOG.md; no day where it is not released yet."""
    found = re.search(
        rf"^## {re.escape(version())}(?: \((\d{{4}}-\d\d-\d\d)\))?\n(.*?)(?=^## |\Z)",
        (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE | re.DOTALL,
    )  # fmt: skip
    if found is None or not found[2].strip():
        sys.exit(f"CHANGELOG.md has no notes under '## {version()}'; write them first")
    return found[1] or "", found[2].strip() + "\n"


def stamp(day: date) -> str:
    """Dates the version. The working tree must be clean, so that the commit is of these two files."""
    if changed := git("status", "--porcelain"):
        sys.exit(f"commit first what has changed:\n{changed}")
    if git("tag", "--list", f"v{version()}"):
        sys.exit(f"v{version()} is released already; raise the version in pyproject.toml and CITATION.cff")
    notes()
    for name, pattern, dated in (
        ("CHANGELOG.md", rf"^## {re.escape(version())}( \(.*\))?$", f"## {version()} ({day})"),
        (
            "CITATION.cff",
            r"^version: .*\n(date-released: .*\n)?",
            f"version: {version()}\ndate-released: {day}\n",
        ),
    ):
        text = (ROOT / name).read_text("utf-8")
        (ROOT / name).write_text(re.sub(pattern, dated, text, count=1, flags=re.MULTILINE), "utf-8")
    if git("status", "--porcelain"):
        git("commit", "--quiet", "--message", f"Version {version()}", "CHANGELOG.md", "CITATION.cff")
    return f"version {version()} of {day}"


def tag() -> str:
    """Tags the commit whose CHANGELOG.md has the day."""
    day, text = notes()
    if not day:
        sys.exit(f"version {version()} has no day in CHANGELOG.md; `python .ci/release.py date` writes it")
    if changed := git("status", "--porcelain"):
        sys.exit(f"commit first what has changed:\n{changed}")
    message = f"mtqe {version()} ({day})\n\n{text}"
    git("tag", "--annotate", "--cleanup=verbatim", f"v{version()}", "--message", message)
    return f"tagged v{version()}; `git push --follow-tags` publishes it"


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return done.stdout.strip()


def locked(*, here: bool = False) -> list[tuple[str, str, list[str]]]:
    """Name, version and checksums of the packages of the lock; `here`: of those that this system asks for."""
    return [
        (name, number, re.findall(r"sha256:(\w+)", block))
        for name, number, marker, block in _ENTRY.findall((ROOT / LOCK).read_text("utf-8"))
        if not (here and marker) or Marker(marker).evaluate()
    ]


def sbom() -> dict[str, Any]:
    """A bill of materials: each locked package with its licence and the checksums of its files."""
    sys.path.insert(0, str(ROOT / ".ci"))
    from third_party import licence

    components = [
        {
            "type": "library", "bom-ref": purl(name, number), "name": name, "version": number,
            "purl": purl(name, number),
            "licenses": [{"license": {"name": licence(name) or "not installed"}}],
            "externalReferences": [{
                "type": "distribution", "url": purl(name, number),
                "hashes": [{"alg": "SHA-256", "content": checksum} for checksum in checksums],
            }],
        }
        for name, number, checksums in locked()
    ]  # fmt: skip
    own = {"type": "application", "bom-ref": purl("mtqe", version()), "name": "mtqe", "version": version()}
    own |= {"purl": purl("mtqe", version())}
    depends = {"ref": own["bom-ref"], "dependsOn": [component["bom-ref"] for component in components]}
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": own},
        "components": components, "dependencies": [depends],
    }  # fmt: skip


def purl(name: str, number: str) -> str:
    return f"pkg:pypi/{name.lower().replace('_', '-')}@{number}"


def audit() -> str:
    """What is installed is what the lock says, unchanged since it was installed; with what it needs.

    Known weaknesses are asked of a service: not here.
    """
    told = [problem for name, number, _ in locked(here=True) for problem in problems(name, number)]
    needs = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    told += needs.stdout.splitlines() if needs.returncode else []
    if told:
        sys.exit("\n".join(told))
    packages = len(locked(here=True))
    return (
        f"{packages} packages are those of {LOCK}, and no file of theirs was changed; known weaknesses "
        f"were not looked up: `pip-audit --requirement {LOCK}` asks a service"
    )


def problems(name: str, number: str) -> list[str]:
    """What is wrong with an installed package."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return [f"{name} is not installed; `make setup` installs it"]
    if found.version != number:
        return [f"{name} {found.version} is installed, but {LOCK} has {number}; `make setup` installs it"]
    return [f"{name}: {file} was changed since it was installed" for file in changed(found)]


def changed(package: Distribution) -> list[str]:
    """Files that are gone, or have another checksum than the package's RECORD says."""
    told = []
    for file, checksum, _ in csv.reader((package.read_text("RECORD") or "").splitlines()):
        kind, _, expected = checksum.partition("=")
        if not expected:
            continue
        path = Path(str(package.locate_file(file)))
        found = hashlib.new(kind, path.read_bytes()).digest() if path.is_file() else b""
        if base64.urlsafe_b64encode(found).rstrip(b"=").decode() != expected:
            told.append(file)
    return told


if __name__ == "__main__":
    print(main(sys.argv[1:]))
