"""Oracles: their figures on the WMT12 training set, the mapping in closed form, what is undefined."""

import json
from pathlib import Path

import numpy as np
import pytest
from sacrebleu import sentence_bleu

from features import Segments, Tokenizer
from qe.data import LabelScale, Split
from qe.data.format import FORMATS
from qe.evaluation.oracles import ORACLES, Oracle, PostEdited, mapped, oracle, split_oracles
from qe.evaluation.tables import best_system, oracle_table
from tests.factories import Done, Find, qe

EFFORT = LabelScale("effort", 1, 5, higher_is_better=True)
ERRORS = LabelScale("hter", 0, None, higher_is_better=False)
SPANISH = Tokenizer("es", normalise=False)
# DeltaAvg, Spearman, MAE, RMSE.
FIGURES = {
    "effort": (0.846, 1, 0, 0),
    "hter": (0.615, 0.638, 0.597, 0.793),
    "bleu": (0.579, 0.588, 0.674, 0.904),
}


@pytest.fixture(scope="module")
def training(shared_data: Find) -> Split:
    return FORMATS.get("wmt12")().read(shared_data("wmt12-qe")).splits["train"]


@pytest.mark.parametrize("name", ORACLES)
def test_figures_on_the_training_set(training: Split, name: str) -> None:
    assert training.post_edit is not None and training.scores is not None
    texts = PostEdited(training.segments.target, training.post_edit, SPANISH)
    outcome = oracle(name, training.scores, EFFORT, texts, samples=0)
    figures = [outcome.metrics[metric] for metric in ("delta_avg", "spearman", "mae", "rmse")]
    assert figures == pytest.approx(FIGURES[name], abs=0.001)
    assert outcome.mapped_to == (None if name == "effort" else (1.5, 5.0))
    assert outcome.ci == {}


def test_order_of_the_published_figures(training: Split) -> None:
    """Tables 12 and 13 of the findings, on the test set: effort over HTER over (H)BLEU, by every figure."""
    figures = split_oracles(training, EFFORT, samples=20, seed=0)
    assert figures is not None and not figures.undefined
    effort, hter, bleu = (figures.oracles[name].metrics for name in ORACLES)
    for metric in ("delta_avg", "spearman"):
        assert effort[metric] > hter[metric] > bleu[metric]
    for metric in ("mae", "rmse"):
        assert effort[metric] < hter[metric] < bleu[metric]
    for name, expected in FIGURES.items():  # normalised characters would give another RMSE of hter
        metrics = figures.oracles[name].metrics
        assert list(metrics.values()) == pytest.approx(expected, abs=0.001)
    low, high = figures.oracles["hter"].ci["delta_avg"]
    assert low < hter["delta_avg"] < high


def test_mapping_in_closed_form() -> None:
    """0 .. 100: the quantiles are 5 and 95, so that x becomes 1.5 + 3.5 (x - 5) / 90 between them."""
    values = np.random.default_rng(0).permutation(101).astype(float)
    expected = 1.5 + 3.5 * (np.clip(values, 5, 95) - 5) / 90
    np.testing.assert_allclose(mapped(values, (1.5, 5.0)), expected)
    np.testing.assert_allclose(mapped(-values, (1.5, 5.0)), 6.5 - expected)
    assert mapped(np.ones(4), (1.5, 5.0)).tolist() == [3.25] * 4


def texts(*pairs: tuple[str, str]) -> PostEdited:
    return PostEdited([target for target, _ in pairs], [edited for _, edited in pairs], SPANISH)


PAIRS = (
    ("a b c d", "a b c d"),
    ("a b c x", "a b c d"),
    ("a b x y", "a b c d"),
    ("A", "a b c d"),
    ("w x", "a b"),
)


def test_hter_ranks_by_edits_per_word() -> None:
    figures = oracle("hter", np.array([5.0, 4, 3, 2, 1]), EFFORT, texts(*PAIRS), samples=0)
    np.testing.assert_allclose(figures.quality, [0, -0.25, -0.5, -0.75, -1])
    assert figures.metrics["spearman"] == pytest.approx(1)


def test_bleu_is_sacrebleus_sentence_bleu() -> None:
    figures = oracle("bleu", np.array([5.0, 4, 3, 2, 1]), EFFORT, texts(*PAIRS), samples=0)
    expected = [sentence_bleu(t, [e], tokenize="none", lowercase=True).score for t, e in PAIRS]
    np.testing.assert_allclose(figures.quality, expected)
    assert figures.quality[0] == pytest.approx(100) and figures.quality[3] > 0  # case does not count


def test_labels_of_another_scale_give_the_ends() -> None:
    """HTER labels: the best segment gets the lowest label, and the oracle hter maps onto their quantiles."""
    gold = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    figures = oracle("hter", gold, ERRORS, texts(*PAIRS), samples=0)
    low, high = np.quantile(gold, [0.05, 0.95])
    assert figures.mapped_to == pytest.approx((high, low))
    np.testing.assert_allclose(figures.scores, [low, 0.25, 0.5, 0.75, high])
    assert figures.metrics["spearman"] == pytest.approx(1) and figures.metrics["delta_avg"] > 0
    wide = oracle(
        "hter", 20 * np.arange(1.0, 6)[::-1], LabelScale("da", 0, 100, True), texts(*PAIRS), samples=0
    )
    assert wide.mapped_to == pytest.approx((24, 96))
    asked = oracle("hter", gold, ERRORS, texts(*PAIRS), mapped_to=(1.0, 0.0), samples=0)
    assert asked.scores.tolist() == pytest.approx([0, *mapped(-gold, (1.0, 0.0))[1:4], 1])


def test_reached_is_a_share_of_delta_avg() -> None:
    outcome = Oracle("hter", np.zeros(2), np.zeros(2), {"delta_avg": 0.5}, {}, (1.5, 5.0))
    assert outcome.reached(0.4) == pytest.approx(0.8)
    assert outcome.to_json({"svr": 0.4})["reached"] == {"svr": pytest.approx(0.8)}
    flat = Oracle("hter", np.zeros(2), np.zeros(2), {"delta_avg": 0.0}, {}, (1.5, 5.0))
    assert flat.to_json({"svr": 0.4})["reached"] == {"svr": None}


def split(post_edit: tuple[str, ...] | None, scores: list[float] | None) -> Split:
    targets = tuple(target for target, _ in PAIRS)
    segments = Segments(targets, targets, Tokenizer("en"), SPANISH)
    return Split(segments, None if scores is None else np.array(scores), post_edit)


def test_a_split_without_post_edits_has_no_oracles_and_an_undefined_one_says_why() -> None:
    edits = tuple(edited for _, edited in PAIRS)
    assert split_oracles(split(None, [1, 2, 3, 4, 5]), EFFORT, samples=20, seed=0) is None
    assert split_oracles(split(edits, None), EFFORT, samples=20, seed=0) is None
    figures = split_oracles(split(("", *edits[1:]), [5, 4, 3, 2, 1]), EFFORT, samples=20, seed=0)
    assert figures is not None
    content = figures.to_json({"svr": 0.1})
    assert content["hter"]["delta_avg"] is None
    assert "segment 1 has an empty post-edit" in content["hter"]["undefined"]
    assert content["effort"]["mae"] == 0 and "reached" in content["effort"]
    assert [row[0] for row in oracle_table(content, "svr").body] == ["effort", "hter", "bleu"]
    assert best_system({"a": 0.1, "b": None, "c": 0.2}) == "c" and best_system({}) is None


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    columns = {
        "gold": ["5", "4", "3", "2", "1"],
        "svr": ["4.5", "4", "3", "2.5", "1"],
        "target": [target for target, _ in PAIRS],
        "post_edit": [edited for _, edited in PAIRS],
    }
    paths = {}
    for name, lines in columns.items():
        paths[name] = tmp_path / name
        paths[name].write_text("".join(f"{line}\n" for line in lines))
    return paths


def run(*arguments: object) -> Done:
    return qe("evaluate", "--samples", "20", *arguments)


@pytest.mark.slow
def test_command_line(files: dict[str, Path]) -> None:
    known = ["--target", files["target"], "--post-edit", files["post_edit"], "--target-language", "es"]
    names = ["--oracle", "hter", "--oracle", "bleu", "--oracle", "effort"]
    gold = ["--gold", files["gold"]]
    code, out, _ = run(*gold, "--predictions", files["svr"], *names, *known, "--json")
    content = json.loads(out)
    assert code in (0, None) and list(content["oracles"]) == ["hter", "bleu", "effort"]
    assert content["oracles"]["hter"]["spearman"] == pytest.approx(1)
    assert content["oracles"]["hter"]["reached"] == {"svr": pytest.approx(1)}
    assert "oracles" not in json.loads(run(*gold, "--predictions", files["svr"], "--json")[1])
    alone = json.loads(run(*gold, "--oracle", "effort", "--json")[1])
    assert alone["systems"] == {} and alone["oracles"]["effort"]["rmse"] == 0
    assert (
        "reached: svr, in % of their DeltaAvg"
        in run(*gold, "--predictions", files["svr"], "--oracle", "effort")[1]
    )


def test_the_report_of_an_experiment_has_its_oracles(demo_run: object) -> None:
    report = demo_run.report  # type: ignore[attr-defined]
    oracles = report["cross_validation"]["oracles"]
    assert set(oracles) == set(ORACLES)
    own = report["cross_validation"]["systems"]["demo"]["delta_avg"]
    assert oracles["hter"]["reached"]["demo"] == pytest.approx(own / oracles["hter"]["delta_avg"])
    assert oracles["effort"]["mae"] == 0
    assert oracles["hter"]["ci"]["delta_avg"][0] < oracles["hter"]["delta_avg"]
    saved = json.loads((demo_run.output / "report.json").read_text())  # type: ignore[attr-defined]
    assert saved["cross_validation"]["oracles"] == oracles
