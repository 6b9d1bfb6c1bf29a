"""`qe evaluate --documents`: labels and predictions by document, against the paper's rAcc and means."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qe.cli import main
from qe.statistics.metrics.ranking import RankingAccuracy
from qe.systems.documents import ranking_accuracy
from tests.factories import Capsys, exit_code


def written(path: Path, values: Any) -> Path:
    path.write_text("".join(f"{value}\n" for value in values), "utf-8")
    return path


def evaluated(*arguments: str | Path, capsys: Capsys, code: int = 0) -> Any:
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", *map(str, arguments), "--json", "--quiet"])
    told = capsys.readouterr()
    assert ended.value.code == code, told.err
    return told.err if code else json.loads(told.out)


def made(folder: Path, segments: int = 120, documents: int = 12) -> tuple[pd.DataFrame, list[Path]]:
    """Documents of unlike lengths that do not lie together."""
    rng = np.random.default_rng(4)
    names = [f"d{i}" for i in rng.permutation(np.arange(segments) % documents)]
    table = pd.DataFrame({"document": names, "gold": rng.uniform(1, 5, segments).round(3)})
    table["svr"] = (table.gold + rng.normal(size=segments)).round(3)
    return table, [written(folder / f"{name}.txt", table[name]) for name in ("document", "gold", "svr")]


def test_documents_are_evaluated_by_the_means_of_their_segments(tmp_path: Path, capsys: Capsys) -> None:
    table, (documents, gold, svr) = made(tmp_path)
    means = table.groupby("document", sort=False)[["gold", "svr"]].mean()
    given = ("--predictions", svr, "--documents", documents)
    told = evaluated("--gold", gold, *given, capsys=capsys)["systems"]["svr"]
    assert told["n"] == 12
    assert told["mae"] == pytest.approx((means.gold - means.svr).abs().mean(), abs=1e-12)
    assert told["pearson"] == pytest.approx(means.corr().iloc[0, 1], abs=1e-12)
    expected = ranking_accuracy(means.gold.to_numpy(), means.svr.to_numpy())
    assert told["ranking_accuracy"] == pytest.approx(expected)
    of_documents = written(tmp_path / "bleu.txt", 10 * means.gold)
    other = evaluated("--gold", of_documents, *given, capsys=capsys)["systems"]["svr"]
    assert other["pearson"] == pytest.approx(told["pearson"])
    assert other["mae"] == pytest.approx((10 * means.gold - means.svr).abs().mean())


def test_documents_are_what_tests_and_notes_count(tmp_path: Path, capsys: Capsys) -> None:
    table, (documents, gold, svr) = made(tmp_path)
    other = written(tmp_path / "other.txt", table.gold.iloc[::-1])
    given = ["--gold", gold, "--predictions", svr, other, "--documents", documents]
    report = evaluated(*given, capsys=capsys)
    assert report["recipe"]["units"] == {"document": 12}
    assert {pair["exchange"] for pair in report["comparisons"]} == {"document"}
    exit_code("evaluate", *given)
    told = " ".join(capsys.readouterr().out.split())
    assert "randomization of 12 documents, " in told and "note: 12 documents only: " in told
    assert "segments" not in told


@pytest.mark.parametrize("size", [2, 3, 10, 31])
def test_ranking_accuracy_is_the_paper_s_without_ties(size: int) -> None:
    rng = np.random.default_rng(size)
    gold, predicted = rng.normal(size=size), rng.normal(size=size)
    assert RankingAccuracy().score(gold, predicted) == pytest.approx(ranking_accuracy(gold, predicted))


def test_ties_count_as_they_do_on_average_when_broken_at_random() -> None:
    rng = np.random.default_rng(0)
    gold, predicted = rng.integers(0, 4, 15).astype(float), rng.integers(0, 3, 15).astype(float)
    broken = [
        ranking_accuracy(gold + 1e-6 * rng.random(15), predicted + 1e-6 * rng.random(15)) for _ in range(4000)
    ]
    expected = RankingAccuracy().score(gold, predicted)
    assert abs(np.mean(broken) - expected) < 4 * np.std(broken) / np.sqrt(len(broken))
    assert np.isnan(RankingAccuracy().score(np.ones(1), np.ones(1)))
