"""Writes THIRD_PARTY.md: the packages of the lock files with their licences, by their own metadata."""

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "THIRD_PARTY.md"
LOCKS = {
    "requirements.lock": "Training, scoring, serving",
    "requirements-container.lock": "Beside them in containers",
    "requirements-extras.lock": "Other extras",
    "requirements-dev.lock": "Tools of development, of which some extras are made, too",
}
# What metadata leaves out or says in whole texts, or is not here; read in the packages' own LICENSE files.
STATED = {
    "cycler": "BSD-3-Clause",
    "huey": "MIT",
    "kenlm": "LGPL-2.1-or-later",
    "kiwisolver": "BSD-3-Clause",
    "matplotlib": "PSF-2.0",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "skops": "MIT",
    # Packages of other systems: none of them is installed here.
    "httpx2-jsfetch": "BSD-3-Clause",
    "pywin32": "PSF-2.0",
    "tzdata": "Apache-2.0",
    "waitress": "ZPL-2.1",
}
# One spelling of one licence (SPDX) for what older metadata say in words.
SPELLED = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "gnu gplv3": "GPL-3.0-only",
    "isc license": "ISC",
    "mit license": "MIT",
    "mpl-2.0": "MPL-2.0",
    "psfl": "PSF-2.0",
}


def packages(lock: str) -> list[str]:
    """The names of a lock file, in its order."""
    return re.findall(r"^([\w.-]+)==", (ROOT / lock).read_text("utf-8"), re.MULTILINE)


def licence(package: str) -> str:
    """The licence of an installed package; empty if it is not installed."""
    if package in STATED:
        return STATED[package]
    try:
        told = metadata(package)
    except PackageNotFoundError:
        return ""
    classes = [c.rpartition(" :: ")[2] for c in told.get_all("Classifier") or [] if c.startswith("License")]
    field = (told.get("License") or "").strip()
    short = field if 0 < len(field) < 60 and "\n" not in field else ""
    found = told.get("License-Expression") or short or " AND ".join(classes)
    return SPELLED.get(found.lower(), found)


def page() -> str:
    """The whole page."""
    lines = [
        "# Software of others",
        "",
        "Installed beside this project, under licences of their own. `.ci/third_party.py` makes this page",
        "from the lock files and the metadata of packages; a copyleft licence in the first two fails a test.",
    ]
    for lock, title in LOCKS.items():
        lines += ["", f"## {title} (`{lock}`)", "", "| package | licence |", "| --- | --- |"]
        lines += [f"| {name} | {licence(name) or 'not installed'} |" for name in packages(lock)]
    return "\n".join(lines) + "\n"


def copyleft(stated: str) -> bool:
    """Whether every choice that a licence leaves is copyleft. MPL-2.0 binds its own files alone: it is not.

    >>> copyleft("GPL-3.0-or-later"), copyleft("GPL-2.0-only OR MIT"), copyleft("MPL-2.0 AND MIT")
    (True, False, False)
    """
    choices = re.split(r"\bOR\b", stated)
    return all(re.search(r"GPL|\bGNU\b|General Public|EUPL|SSPL|OSL-|BY-SA|CeCILL-2", one) for one in choices)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
