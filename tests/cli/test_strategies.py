"""`qe learners` and `qe selectors`: all of them, with the parameters and spaces that they have."""

import json
import re
from typing import Any

import pytest

from features.basics.catalogue import Catalogue
from qe.learning.learner import LEARNERS
from qe.learning.parameters import constructor
from qe.learning.selector import SELECTORS
from tests.factories import Monkeypatch, qe
from tests.shown import ROOT

CATALOGUES: dict[str, Catalogue[Any]] = {"learners": LEARNERS, "selectors": SELECTORS}


ROWS = re.findall(
    r"^\| `(\w+)` \| (\S*) *\| (\S*) *\| (\S*) *\| (\S*) *\| (\S*) *\| (\S*) *\|$",
    (ROOT / "docs" / "results" / "learners.md").read_text("utf-8"),
    re.MULTILINE,
)


def run(*arguments: str) -> tuple[int, str]:
    done = qe(*arguments)
    return done.code, done.out + done.err


@pytest.mark.parametrize("verb", CATALOGUES)
def test_all_are_listed_with_what_they_are(verb: str, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, text = run(verb, "list")
    assert code == 0 and all(f"\n{name} " in text for name in CATALOGUES[verb].names)
    listed = json.loads(run(verb, "list", "--json")[1])[verb]
    assert [one["name"] for one in listed] == [*CATALOGUES[verb].names]
    assert all(one["about"] and one["documentation"] for one in listed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "name"), [(verb, name) for verb, c in CATALOGUES.items() for name in c.names]
)
def test_parameters_are_those_of_the_estimator(verb: str, name: str) -> None:
    told = {p["name"]: p for p in json.loads(run(verb, "describe", name, "--json")[1])["parameters"]}
    made = constructor(CATALOGUES[verb], name)().get_params(deep=False)
    plain = {key: value for key, value in made.items() if isinstance(value, str | int | float | None)}
    assert plain.items() <= {key: p["default"] for key, p in told.items()}.items()
    searched = {key.partition(".")[0] for key in CATALOGUES[verb].get(name).space}
    assert {key for key, p in told.items() if p["space"]} == searched


@pytest.mark.slow
@pytest.mark.parametrize("verb", CATALOGUES)
def test_the_measured_figures_are_those_of_the_page(verb: str) -> None:
    """A row of docs/results/learners.md: MAE with defaults, searched, seconds of a fit; on two data sets."""
    told = {one["name"]: one["measured"] for one in json.loads(run(verb, "list", "--json")[1])[verb]}
    shown = 0
    for name, *cells in ROWS:
        if name in told:
            figures = [float(cell) if cell else None for cell in cells]
            mae, searched, seconds = figures[::3], figures[1::3], figures[2::3]
            assert told[name] == {
                "mae": mae,
                "searched": searched if any(searched) else None,
                "seconds": seconds,
            }
            shown += 1
    assert shown == sum(one is not None for one in told.values()) > 10
    code, text = run(verb, "list")
    assert code == 0 and "To try first: " in text
