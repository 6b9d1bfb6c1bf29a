"""Features of one's own, from Python: seen in the list, learned from, and scored with."""

import random
import re
from pathlib import Path

import pandas as pd
import pytest

import qe as package
from tests.factories import qe
from tests.test_contributing import PLUGIN


@pytest.mark.slow
def test_a_mapping_trains_with_an_extractor_of_another_distribution(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = store / "site"
    (site / "acme_qe-1.0.dist-info").mkdir(parents=True)
    (site / "acme_qe.py").write_text(PLUGIN["plugin/acme_qe.py"])
    (site / "acme_qe-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-qe\nVersion: 1.0\n"
    )
    entry = re.search(r"exclamations = \"(.*?)\"", PLUGIN["plugin/pyproject.toml"])
    assert entry is not None
    (site / "acme_qe-1.0.dist-info" / "entry_points.txt").write_text(
        f"[mtqe.extractor]\nexclamations = {entry[1]}\n"
    )
    monkeypatch.syspath_prepend(str(site))
    assert "acme-qe:exclamations" in qe("features", "list").out
    chance = random.Random(1)
    marks = [chance.randrange(4) for _ in range(60)]
    table = pd.DataFrame({
        "source": [f"a word {i}" for i in range(60)],
        "target": [f"ein Wort{'!' * n} {i}" for i, n in enumerate(marks)],
        "score": [n / 4 for n in marks],
    })  # fmt: skip
    dataset = package.Dataset.from_frame(
        {"train": table}, label="score", higher_is_better=False, source_language="en", target_language="de"
    )
    settings = {"name": "own", "features": ["surface", "acme-qe:exclamations"], "learner": {"kind": "ridge"},
                "split": {"folds": 3}, "search": {"trials": 2}}  # fmt: skip
    outcome = package.train(settings, store / "run", dataset=dataset, cache=store / "cache")
    names = outcome.report["features"]["names"]
    assert "acme-qe.exclamations.exclamations_target" in names
    assert outcome.registered is not None and outcome.registered.alias == "champion"
    scored = package.load_model(store / "run" / "model").predict(table)
    assert scored["score"].corr(table["score"]) > 0.9 and (scored["reason"] == "").all()
