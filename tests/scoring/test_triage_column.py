"""What to do with each segment, beside its score: by thresholds, or by a cost table."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qe.data import LabelScale
from qe.models.training_rows import HeldOutPredictions
from qe.production.triage import ACTIONS, Thresholds, read_costs, triage
from qe.scoring import Options
from tests.factories import costs_file, exit_code, refuses, score_file

SCALE = LabelScale("effort", 1, 5, higher_is_better=True)


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    return costs_file(tmp_path)


def test_a_model_keeps_its_out_of_fold_predictions(demo_model: Path) -> None:
    table = pd.read_parquet(demo_model.parent / "predictions.parquet").query("split == 'train'")
    known = HeldOutPredictions.load(demo_model)
    assert known.gold.tolist() == table["gold"].tolist()
    assert known.predicted.tolist() == table["predicted"].tolist()


def test_the_thresholds_are_those_of_triage_on_the_held_out_rows(demo_model: Path, costs: Path) -> None:
    known = HeldOutPredictions.load(demo_model)
    expected = triage(known.gold, known.predicted, read_costs(costs), SCALE, samples=100)
    chosen = Thresholds.from_file(costs, demo_model, SCALE)
    assert (chosen.publish, chosen.retranslate) == (expected.publish, expected.retranslate)


def test_every_row_gets_its_action_and_a_resume_with_other_thresholds_is_refused(
    demo_model: Path, tmp_path: Path
) -> None:
    rows = demo_model.parent / "data" / "new.tsv"
    decided = Thresholds(3.8, 3.0, SCALE)
    options = Options(triage=decided)
    summary = score_file(demo_model, [rows], tmp_path / "o.parquet", options=options, workers=2, chunk=300)
    table = pd.read_parquet(tmp_path / "o.parquet")
    expected = np.where(
        (table["score"] >= 3.8) & (table["unlike"] == ""),
        "publish",
        np.where(table["score"] < 3, "retranslate", "post-edit"),
    )
    assert table["action"].tolist() == expected.tolist() and len(set(expected)) == 3
    assert summary.actions == table["action"].value_counts().to_dict()
    assert list(table.columns) == ["id", "score", "action", "unlike", "reason"]
    (tmp_path / "x.tsv.partial").mkdir()
    (tmp_path / "x.tsv.partial" / "job.json").write_text(json.dumps({"fingerprint": "of another table"}))
    (tmp_path / "x.tsv.partial" / "000000000.piece").touch()
    refuses("other options", score_file, demo_model, [rows], tmp_path / "x.tsv", options=options, resume=True)
    assert Options(triage=decided).key != Options(triage=Thresholds(3.9, 3.0, SCALE)).key


def test_a_row_without_a_score_has_no_action(demo_model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("source\ttarget\na\t\n")
    options = Options(triage=Thresholds(None, None, SCALE))
    score_file(demo_model, [tmp_path / "in.tsv"], tmp_path / "o.jsonl", options=options, workers=1)
    row = json.loads((tmp_path / "o.jsonl").read_text())
    assert row == {"id": "1", "score": None, "action": None, "unlike": None, "reason": "empty target"}


def test_the_command_says_which_scores_get_which_action(
    demo_model: Path, tmp_path: Path, costs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, output = demo_model.parent / "data" / "new.tsv", tmp_path / "o.tsv"
    assert (
        exit_code("score", "-m", demo_model, "-i", rows, "-o", output, "--triage", costs, "--workers", "1")
        == 0
    )
    chosen = Thresholds.from_file(costs, demo_model, SCALE)
    counts = pd.read_csv(output, sep="\t")["action"].value_counts()
    printed = [line.replace(" %", "%") for line in capsys.readouterr().out.splitlines()]
    told = {line.split()[0]: line.split(maxsplit=3) for line in printed if line.startswith(ACTIONS)}
    assert {action: int(words[1].replace(",", "")) for action, words in told.items()} == {
        action: counts.get(action, 0) for action in ACTIONS
    }
    assert {action: words[3] for action, words in told.items()} == chosen.rules()


def test_rules_name_the_better_side() -> None:
    errors = LabelScale("hter", 0, 1, higher_is_better=False)
    assert Thresholds(0.1, None, errors).rules() == {
        "publish": "score at most 0.100", "post-edit": "the rest", "retranslate": "never",
    }  # fmt: skip
