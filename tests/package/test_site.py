"""The documentation site: pages made from the code, links that lead somewhere, nothing from the network."""

import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from qe.cli._verbs import verbs
from qe.getting_started.catalogue.features import summaries
from tests.factories import script
from tests.package.test_public_names import NAMES
from tests.shown import ROOT


@pytest.fixture(scope="module")
def pages(demo_run: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of the site, with the plots of the small demo."""
    generate = script(ROOT / "docs" / "site" / "generate.py")
    folder = tmp_path_factory.mktemp("site") / "docs"
    generate.write(folder, demo_run.output)
    return folder


@cache
def headings(page: Path) -> list[str]:
    return re.findall(r"^#{2,3} (.*)$", page.read_text(), re.MULTILINE)


def test_references_have_every_verb_name_and_family(pages: Path) -> None:
    shown = headings(pages / "command-line.md")
    assert {f"qe {verb}" for verb in verbs()} <= set(shown) and "qe resources build" in shown
    for package, name in NAMES:
        page = "python-reference" if package == "qe" else f"reference-{package.removeprefix('qe.')}"
        assert f"{package}.{name}" in headings(pages / f"{page}.md")
    assert set(summaries()) <= set(headings(pages / "features.md"))
    text = (pages / "command-line.md").read_text()
    assert "`--interval SHARE`" in text and "| `--columns NAME=HEADER`" in text and "**start**" in text
    assert "    qe score --model output/demo/model --input new.tsv" in text and "`--help`" not in text


def test_the_menu_has_every_page_and_links_lead_to_pages(pages: Path) -> None:
    there = {page.relative_to(pages).as_posix() for page in pages.rglob("*.md")}
    menu = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert menu == there
    for page in pages.rglob("*.md"):
        plain = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", plain):
            assert (page.parent / target).is_file(), f"{page.name}: {target}"


@pytest.mark.slow
def test_it_is_built_and_takes_nothing_from_the_network(pages: Path, tmp_path: Path) -> None:
    if find_spec("mkdocs") is None:
        pytest.skip("no mkdocs in this environment (make docs installs it)")
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    settings |= {"docs_dir": str(pages), "site_dir": str(tmp_path / "site")}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(settings))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        assert not re.findall(
            r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(?:https?:)?//", page.read_text()
        )
    shutil.rmtree(tmp_path / "site")
