"""What production refuses, by the place that its message names: requests, triage, promotion, serving."""

import csv
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.data.dataset import LabelScale
from qe.evaluation.coverage import BadLabels
from qe.production import promotion, risk, triage
from qe.production.server.app import Hosts
from qe.production.server.protocol import Refused
from tests.factories import costs_file, ran, refuses
from tests.production.server.asgi import application
from tests.production.server.test_parsing import NEEDED, parsed
from tests.production.test_risk import drawn
from tests.production.test_triage import COSTS, EFFORT

ROW = {"source": "a", "target": "b"}
NESTED = b'{"instances": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"
# Bodies that are no table: their kind and status, and what is refused.
BODIES: list[tuple[str, int, str, Any]] = [
    ("json", 400, "not valid JSON", b""),
    ("json", 400, "not UTF-8 .byte 0", b"\xff"),
    ("json", 400, "not UTF-8", b'{"instances": [{"source": "\xed\xa0\x80"}]}'),
    ("json", 400, "one JSON object", b"[]"),
    ("json", 400, "one of dataframe_records, .* 'rows'", {"rows": []}),
    ("json", 400, "it has 'instances', 'inputs'", {"instances": [], "inputs": {}}),
    ("json", 400, "a key twice", b'{"instances": [], "instances": []}'),
    ("json", 400, "a key twice", b'{"instances": [{"source": "a", "source": "b"}]}'),
    ("json", 400, "NaN is no number", b'{"instances": [{"source": NaN}]}'),
    ("json", 400, "not valid JSON .*4300 digits", b'{"instances": [' + b"9" * 5000 + b"]}"),
    ("json", 422, "more than 370 JSON values", NESTED),
    ("json", 422, "row 1 of instances is no", b'{"instances": ' + b"[" * 300 + b"]" * 300 + b"}"),
    ("json", 422, "row 1: 'target' holds half", b'{"instances": [{"source": "a", "target": "\\ud800"}]}'),
    ("json", 422, "instances must be a list", {"instances": {"source": "a"}}),
    ("json", 422, "column 'target'; .* source", {"instances": [{"source": "a"}]}),
    ("json", 422, "31 rows, .* 30", {"instances": [ROW] * 31}),
    ("json", 422, "9 columns, .* 8", {"instances": [{f"k{n}": 1} for n in range(9)]}),
    ("json", 422, "with columns and data", {"dataframe_split": {"columns": ["source"]}}),
    ("json", 422, "columns must be", {"dataframe_split": {"columns": [1], "data": []}}),
    ("json", 422, "named twice", {"dataframe_split": {"columns": ["a", "a"], "data": []}}),
    ("json", 422, "row 1 of data is no", {"dataframe_split": {"columns": list(NEEDED), "data": [3]}}),
    ("json", 422, "inputs must be", {"inputs": [1]}),
    ("json", 422, "differ in length", {"inputs": {"source": ["a"], "target": []}}),
    ("json", 422, "source must be a list", {"inputs": {"source": "a"}}),
    ("json", 422, "params must be", {"instances": [], "params": [1]}),
    ("csv", 422, "31 rows, .* 30", b"source,target\na,b\n" + b"a,b\n" * 30),
    ("csv", 422, "9 columns", b"a,b,c,d,e,f,g,h,i\n"),
    ("csv", 422, "named twice", b"source,source\n"),
    ("csv", 400, "not valid CSV .line 2", b'source,target\n"a"x,b\n'),
    ("csv", 400, "larger than field limit", b"source,target\n" + b"x" * 200_000 + b",b\n"),
    ("csv", 422, "column 'target'", b"source\na\n"),
]


@pytest.mark.parametrize(("kind", "status", "place", "body"), BODIES, ids=[row[2] for row in BODIES])
def test_a_body_that_is_no_table(
    kind: str, status: int, place: str, body: Any, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(partial(csv.field_size_limit, csv.field_size_limit(131_072)))  # of the whole process
    with pytest.raises(Refused, match=place) as refused:
        parsed(body, kind)
    assert refused.value.status == status


def costs(text: str) -> Callable[[Path], Any]:
    """A cost table of this text."""

    def call(folder: Path) -> Any:
        (folder / "costs.yaml").write_text(text)
        return triage.read_costs(folder / "costs.yaml")

    return call


def swapped(folder: Path) -> Any:
    (folder / "t.json").write_text('{"publish": 60, "retranslate": 99}')
    return triage.Thresholds.from_file(folder / "t.json", folder, LabelScale("da", 0, 100, True))


def labels(column: str) -> Callable[[Path], Any]:
    """A labelled table whose second label is no number, and the labels of a column."""

    def call(folder: Path) -> Any:
        (folder / "t.tsv").write_text("source\ttarget\tscore\na\tb\t1\na\tb\tx\n")
        return promotion.from_table(folder / "t.tsv", column)

    return call


def guaranteed(**options: Any) -> Callable[[Path], Any]:
    """Thresholds with a guarantee, of 60 labels."""
    gold, predicted = drawn(60, 0)
    options = {"bad": "hter>0.3", "predictions": predicted, **options}
    return lambda _: risk.triage(gold, **options)


def bad(text: str) -> Callable[[Path], Any]:
    """Bad labels in this form, of effort."""
    return lambda _: BadLabels.parse(text).check(EFFORT)


ENDLESS = LabelScale("DA", None, None, True)
BOTH = ["law"] * 20 + ["it"] * 40
CASES: list[tuple[str, Callable[[Path], Any]]] = [
    ("(?s)costs.yaml: .*unknown key 'publish_bd'", costs("good: 4\npublish_bd: 5\n")),
    ("costs.yaml: 4 mistakes:\n  publish_bad: Field", costs("good: 4\n")),
    ("costs.yaml: .*keys: good, publish_good", costs("- 1\n")),
    ("costs.yaml:1: not valid YAML", costs("good: [")),
    ("too few, or differ", lambda _: triage.triage(np.ones(4), np.ones(4), COSTS, EFFORT)),
    ("finite", lambda _: triage.triage(np.ones(20), np.full(20, np.nan), COSTS, EFFORT)),
    ("ends of the label 'DA'", lambda _: triage.cost_table(np.zeros(3), COSTS, ENDLESS)),
    ("t.json: publishes from 60", swapped),
    (r"t\.tsv, row 2: the label 'x'", labels("score")),
    (r"t\.tsv, row 1: no column 'effort'.*source, target, score", labels("effort")),
    ("0.9: law: 20 of 45, it: 40 of 45", guaranteed(domains=BOTH)),
    ("risk.* must hold", guaranteed(risk=0.0)),
    ("confidence.* must hold", guaranteed(confidence=1.0)),
    ("finite", guaranteed(predictions=[np.nan] * 60)),
    *(
        ("given as 'hter>0.3'", bad(text))
        for text in ("hter", "hter>", "hter>x", "0.3<hter", "hter>1e999", "hter==3", "hter>.3>.2")
    ),
    *((f"'{text}' calls the better", bad(text)) for text in ("HTER<0.3", "da>60")),
    *(("given as 'effort<NUMBER'", bad(text)) for text in ("effort>3", "hter>0.3")),
    ("no name of a host", lambda _: Hosts.from_names(["http://a"])),
]


@pytest.mark.parametrize(("place", "call"), CASES)
def test_what_production_refuses(place: str, call: Callable[[Path], Any], tmp_path: Path) -> None:
    refuses(place, call, tmp_path)


RISK = "triage -g gold.tsv -p scores.txt --bad hter>0.3 "
SCALE = "triage -g open.txt -p open.txt --costs costs.yaml "
COMMANDS = {
    RISK + "--risk 0.001": "risk of 0.001 .*there: 300 of 2302",
    RISK + "--scale-low 0": "--scale-high and --lower-is-better do not go with --bad",
    RISK + "--bad hter<0.3": "calls the better labels bad",
    RISK + "--bad ter>0.3": "no column 'ter'",
    SCALE: "labels are between -2 and 1.5, .*--model",
    SCALE + "--scale-low -2 --scale-high 1.5": "good: 4 is outside of the label 'open', -2 to 1.5",
    "serve": "no model is given",
    "serve --models routes.yaml --triage t.json": "--triage is for one model",
    "serve --models none.yaml": "none.yaml",
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the commands read, in the folder where they run."""
    monkeypatch.chdir(tmp_path)
    gold, predicted = drawn(300, 0)
    Path("gold.tsv").write_text("id\thter\n" + "".join(f"{i}\t{x}\n" for i, x in enumerate(gold, 1)))
    Path("scores.txt").write_text("".join(f"{x}\n" for x in predicted))
    Path("open.txt").write_text("".join(f"{-2 + 3.5 * i / 29}\n" for i in range(30)))
    costs_file(tmp_path, publish_bad=9, retranslate=4)
    Path("routes.yaml").write_text("- {pair: en-es, model: m}\n")
    Path("t.json").write_text("{}")


@pytest.mark.parametrize("command", COMMANDS)
def test_what_commands_refuse(files: None, command: str) -> None:
    told = ran(*command.split(), code=2).err
    assert re.search(COMMANDS[command], told), told


THRESHOLDS = {
    "[": "cannot be read",
    "[1]": "holds no thresholds",
    '{"publish": 3}': "retranslate",
    '{"publish": NaN, "retranslate": null}': "publish",
    '{"publish": 2.0, "retranslate": 3.0}': "publishes from 2",
    "": "cannot be read",
}


@pytest.mark.parametrize("content", THRESHOLDS)
def test_what_is_not_served(content: str, demo_model: Path, tmp_path: Path) -> None:
    if content:
        (tmp_path / "triage.json").write_text(content)
    place = f"triage.json.*{THRESHOLDS[content]}"
    refuses(place, application, demo_model, triage=tmp_path / "triage.json")


def test_a_level_in_percent_is_not_served(demo_model: Path) -> None:
    refuses("--interval .*got 80", application, demo_model, level=80)
