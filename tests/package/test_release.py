"""Releases and licences: one version and day, notes, a bill of the lock, an audit, no copyleft."""

import re
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.factories import refuses, script
from tests.shown import ROOT

CHANGES = "# Changes\n\n## 1.2.0\n\n### Changed\n\n- Much.\n\n# Kept\n\n## 1.1.0 (2026-01-01)\n\n- Less.\n"


def loaded(root: Path) -> Any:
    """`.ci/release.py`, at work on the project in `root`."""
    module = script(ROOT / ".ci" / "release.py")
    module.ROOT = root
    return module


@pytest.fixture
def project(tmp_path: Path) -> Any:
    """A project of its own, in git."""
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.1.0\ntitle: x\n")
    release = loaded(tmp_path)
    release.git("init", "--quiet")
    for name in ("user.name", "user.email"):
        release.git("config", name, "tests")
    release.git("add", ".")
    release.git("commit", "--quiet", "--message", "Begun")
    return release


def test_a_release_dates_commits_and_tags(project: Any) -> None:
    assert project.main(["date", "2026-11-26"]) == "version 1.2.0 of 2026-11-26"
    assert project.notes()[0] == "2026-11-26"
    cited = yaml.safe_load((project.ROOT / "CITATION.cff").read_text())
    assert (cited["version"], str(cited["date-released"]), cited["title"]) == ("1.2.0", "2026-11-26", "x")
    assert project.git("status", "--porcelain") == ""
    assert project.main(["tag"]).startswith("tagged v1.2.0")
    message = project.git("tag", "--list", "--format=%(contents)", "v1.2.0")
    assert message == "mtqe 1.2.0 (2026-11-26)\n\n### Changed\n\n- Much.\n\n# Kept"
    refuses(r"v1\.2\.0 is released already", project.main, ["date"], error=SystemExit)


def test_what_is_not_ready_is_not_released(project: Any) -> None:
    refuses("has no day in CHANGELOG", project.main, ["tag"], error=SystemExit)
    (project.ROOT / "new").touch()
    refuses("commit first what has changed:\n.. new", project.main, ["date"], error=SystemExit)
    (project.ROOT / "new").unlink()
    (project.ROOT / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.0\n\n## 1.1.0\n\n- Less.\n")
    refuses(r"no notes under '## 1\.2\.0'", project.main, ["tag"], error=SystemExit)


@pytest.mark.slow
def test_the_bill_of_materials_has_every_package_once(tmp_path: Path) -> None:
    release = loaded(ROOT)
    names = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE)
    assert [name for name, _, checksums in release.locked() if checksums] == names
    release.main(["sbom", str(tmp_path / "release" / "sbom.json")])
    bill = yaml.safe_load((tmp_path / "release" / "sbom.json").read_text("utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert [part["name"] for part in bill["components"]] == names
    parts = {part["name"]: part for part in bill["components"]}
    numpy = parts["numpy"]
    assert numpy["purl"] == f"pkg:pypi/numpy@{numpy['version']}"
    assert numpy["licenses"][0]["license"]["name"].startswith("BSD-3-Clause")
    assert len(numpy["externalReferences"][0]["hashes"]) > 10


def test_the_audit_sees_a_changed_file(tmp_path: Path) -> None:
    release = loaded(ROOT)
    name, number = "iniconfig", distribution("iniconfig").version
    assert release.problems(name, number) == []
    assert "but requirements.lock has 0.0.1" in release.problems(name, "0.0.1")[0]
    assert "not installed" in release.problems("no-such-package", "1")[0]
    site = tmp_path / "site"
    for file in distribution(name).files or ():
        place = site / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(Path(str(file.locate())).read_bytes())
    (found,) = Distribution.discover(name=name, path=[str(site)])
    assert release.changed(found) == []
    (site / "iniconfig" / "py.typed").write_text("changed")
    (site / "iniconfig" / "__init__.py").unlink()
    assert sorted(release.changed(found)) == ["iniconfig/__init__.py", "iniconfig/py.typed"]


@pytest.fixture(scope="module")
def licences() -> Any:
    return script(ROOT / ".ci" / "third_party.py")


def rows(licences: Any) -> dict[str, str]:
    """Package -> licence, as the page says."""
    return dict(re.findall(r"^\| ([\w.-]+) \| (.+) \|$", licences.PAGE.read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-container.lock"])
def test_no_package_that_is_handed_on_is_copyleft(lock: str, licences: Any) -> None:
    page = rows(licences)  # what is not installed here is as the page says, which was made where it is
    found = {name: licences.licence(name) or page.get(name) for name in licences.packages(lock)}
    assert len(found) > 10
    unstated = [name for name, stated in found.items() if stated in (None, "", "not installed")]
    assert unstated == [], "say what their LICENSE files say"
    assert {name: stated for name, stated in found.items() if licences.copyleft(stated)} == {}


@pytest.mark.parametrize(
    ("stated", "copyleft"),
    [
        ("GPL-3.0-or-later", True),
        ("LGPL-3.0-only", True),
        ("GPL-2.0-only OR Apache-2.0", False),
        ("MPL-2.0", False),
    ],
)
def test_copyleft_is_known(licences: Any, stated: str, copyleft: bool) -> None:
    assert licences.copyleft(stated) is copyleft


def test_the_page_lists_what_the_locks_do(licences: Any) -> None:
    listed = rows(licences)
    locked = {name for lock in licences.LOCKS for name in licences.packages(lock)}
    assert listed.keys() - {"package", "---"} == locked, "run `python .ci/third_party.py`"
    installed = {name: stated for name in locked if (stated := licences.licence(name))}
    assert installed.items() <= listed.items(), "run `python .ci/third_party.py`"
