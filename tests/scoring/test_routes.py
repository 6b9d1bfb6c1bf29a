"""Routes: columns of a row choose its model; each row gets what that model alone gives it."""

import json
from pathlib import Path
from typing import Any

import pytest

from qe.scoring.routes import read_routes
from tests.factories import Capsys, exit_code


def ended(*arguments: str | Path) -> int:
    return exit_code("score", *arguments)


@pytest.fixture
def routed(demo_model: Path, tmp_path: Path) -> tuple[Path, list[str]]:
    """Routes to one model by pair and domain, and rows of four kinds (the last two have no route)."""
    (tmp_path / "routes.yaml").write_text(
        f"- {{pair: en-es, domain: legal, model: {demo_model}}}\n- {{pair: en-es, model: {demo_model}}}\n"
    )
    header, *lines = (demo_model.parent / "data" / "new.tsv").read_text("utf-8").splitlines()[:41]
    kinds = ["en-es\tlegal", "en-es\tnews", "en-de\tlegal", "\t"]
    rows = [f"{line}\t{kinds[i % 4]}" for i, line in enumerate(lines)]
    return tmp_path / "routes.yaml", [f"{header}\tpair\tdomain", *rows]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_rows_go_to_the_model_of_their_route(
    demo_model: Path, routed: tuple[Path, list[str]], tmp_path: Path, capsys: Capsys, workers: str
) -> None:
    routes, lines = routed
    (tmp_path / "in.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    given = ["-i", tmp_path / "in.tsv", "--workers", workers, "--chunk", "9", "--interval", "0.9"]
    assert ended("--model", demo_model, *given, "-o", tmp_path / "one.tsv") == 0
    capsys.readouterr()
    assert ended("--models", routes, *given, "-o", tmp_path / "all.tsv", "--with-model") == 0
    printed = capsys.readouterr().out
    assert "20 of 40 rows scored" in printed
    assert "  20 without a score: no route for its pair and domain" in printed
    assert "  10 of 10 rows scored: pair=en-es, domain=legal" in printed
    one, several = (
        [line.split("\t") for line in (tmp_path / name).read_text("utf-8").splitlines()]
        for name in ("one.tsv", "all.tsv")
    )
    assert several[0] == [*one[0][:-1], "model", "reason"]
    for number, (alone, row) in enumerate(zip(one[1:], several[1:], strict=True)):
        if number % 4 < 2:
            assert row[:4] == alone[:4] and row[5] == "" and row[4]
        else:
            assert row == [alone[0], "", "", "", "", "no route for its pair and domain"]
    told: dict[str, Any] = json.loads((tmp_path / "all.tsv.json").read_text("utf-8"))
    counts = {name: (one["rows"], one["scored"], one["drift"]["n"]) for name, one in told["routes"].items()}
    assert counts == {
        "pair=en-es, domain=legal": (10, 10, 10), "pair=en-es": (10, 10, 10),
    }  # fmt: skip
    identity = json.loads((tmp_path / "one.tsv.json").read_text("utf-8"))["model"]["fingerprint"]
    assert {one["fingerprint"] for one in told["model"]["routes"].values()} == {identity}
    before = (tmp_path / "all.tsv").read_bytes()
    assert ended("--models", routes, *given, "-o", tmp_path / "all.tsv", "--with-model") == 0
    assert "there is nothing to do" in capsys.readouterr().out
    assert (tmp_path / "all.tsv").read_bytes() == before


@pytest.mark.parametrize("workers", ["1", "2"])
def test_each_route_has_the_scores_of_its_own_model(
    demo_model: Path, other_model: Path, routed: tuple[Path, list[str]], tmp_path: Path, workers: str
) -> None:
    (tmp_path / "in.tsv").write_text("\n".join(routed[1]) + "\n", "utf-8")
    (tmp_path / "two.yaml").write_text(
        f"- {{pair: en-es, domain: legal, model: {demo_model}}}\n- {{pair: en-es, model: {other_model}}}\n"
    )
    given = ["-i", tmp_path / "in.tsv", "--workers", workers, "--chunk", "9"]
    for name, model in (("a", demo_model), ("b", other_model)):
        assert ended("--model", model, *given, "-o", tmp_path / f"{name}.tsv") == 0
    assert ended("--models", tmp_path / "two.yaml", *given, "-o", tmp_path / "all.tsv", "--with-model") == 0
    first, second, both = (
        [line.split("\t") for line in (tmp_path / f"{name}.tsv").read_text("utf-8").splitlines()[1:]]
        for name in ("a", "b", "all")
    )
    assert all(a[1] != b[1] for a, b in zip(first, second, strict=True))
    for number, row in enumerate(both):
        alone = (first, second)[number % 4][number] if number % 4 < 2 else ["", ""]
        assert row[1] == alone[1]
    told = json.loads((tmp_path / "all.tsv.json").read_text("utf-8"))["model"]["routes"]
    prints = [one["fingerprint"] for one in told.values()]
    named = {row[2].split()[-1] for row in both if row[2]}
    assert len(set(prints)) == len(named) == 2
    assert {print_[: len(name)] for print_ in prints for name in named} >= named


def test_models_lie_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "routes.yaml"
    path.write_text("- {pair: en-de, model: ende/model}\n- {model: 'models:/all@champion'}\n")
    assert [route.model for route in read_routes(path)] == [
        str(tmp_path / "ende" / "model"), "models:/all@champion",
    ]  # fmt: skip
