"""The commands that a page shows for running on what `qe demo` leaves in output/demo."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Not run: what stays, what needs a browser or a shell, and what makes the demo itself.
_LEFT_OUT = re.compile(r"^qe (demo|serve|ui)\b|--help\b|<\(")
_YOURS = re.compile(r"(?<![\w-])[A-Z]{2,}[0-9]?\b|\.\./shared|^qe [\w ]*$(?<!models)(?<!list)(?<!formats)")
_MARK = "<!-- runs on the demo -->\n"


def commands(page: Path) -> list[str]:
    """In order: inline code of the table of verbs, or a page's blocks after a mark.

    A name in capitals stands for a file of the reader's.
    """
    text = page.read_text("utf-8")
    if page.name == "verbs.md":
        shown = re.findall(r"`(qe \w[^`]*)`", text)
    else:
        blocks = re.findall(rf"{_MARK}\n?```\w*\n(.*?)```", text, re.DOTALL)
        lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
        shown = [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?qe ", line)]
    return [one for one in shown if not _LEFT_OUT.search(one) and not _YOURS.search(one)]
