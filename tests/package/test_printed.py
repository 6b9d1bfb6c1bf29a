"""What pages show of the output of commands is what the commands print now."""

from pathlib import Path
from typing import Any

import pytest

from tests.factories import Find, script
from tests.shown import ROOT

MARK = "<!-- printed -->\n"
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if MARK in page.read_text("utf-8")]


@pytest.fixture(scope="module")
def printed() -> Any:
    return script(ROOT / "docs" / "site" / "printed.py")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_show_what_is_printed_now(page: Path, printed: Any, shared_data: Find) -> None:
    for folder in ("wmt12-qe", "human-rankings", "golden/multeval"):
        shared_data(folder)
    assert not printed.changes(page), "if that is meant: python docs/site/printed.py docs/*.md"


def test_a_page_gets_what_its_command_prints(printed: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    block = "```\n$ printf '%s\\n' 'a  1' 'b  2' 'c  3'\n...\nb  9\n...\n```\n"
    page.write_text(f"# Page\n\n{MARK}\n{block}\nafter\n", "utf-8")
    assert "-b  9\n+b  2\n" in printed.changes(page, write=True)
    assert page.read_text("utf-8") == f"# Page\n\n{MARK}\n{block.replace('b  9', 'b  2')}\nafter\n"
    assert printed.changes(page) == ""
