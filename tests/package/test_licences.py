"""Licences of packages: none is copyleft in the core lock, and the page lists all of them."""

import re
from typing import Any

import pytest

from tests.factories import script
from tests.shown import ROOT


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
        ("GNU General Public License v3 (GPLv3)", True),
        ("LGPL-3.0-only", True),
        ("AGPL-3.0-only AND MIT", True),
        ("GPL-2.0-only OR Apache-2.0", False),
        ("MPL-2.0", False),
        ("BSD-3-Clause", False),
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
