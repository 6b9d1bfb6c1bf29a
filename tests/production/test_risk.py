"""Thresholds with a guarantee: against MAPIE and the binomial test, by simulation; figure, command."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from qe.data.dataset import LabelScale
from qe.evaluation.coverage import BadLabels
from qe.models.training_rows import HeldOutPredictions
from qe.production.risk import min_labels, triage
from qe.production.triage import Thresholds
from qe.production.triage_plots import risk_figure
from tests.factories import qe as qe_command
from tests.factories import ran, refuses


def drawn(n: int, seed: int, decimals: int = 9) -> tuple[np.ndarray, np.ndarray]:
    """HTER, 24 % of it above .3, and predictions with errors."""
    generator = np.random.default_rng(seed)
    gold = generator.beta(1, 4, n)
    return gold, np.clip(gold + 0.12 * generator.normal(size=n), 0, 1).round(decimals)


def test_threshold_and_p_values_are_those_of_mapie() -> None:
    """MAPIE 1.6.0 on these labels (pip install mapie==1.6.0), with quality = 1 - predictions.

    BinaryClassificationController(lambda x: np.c_[1 - x[:, 0], x[:, 0]], risk="precision", target_level=.95,
        confidence_level=.9, list_predict_params=np.sort(quality)[::-1][k - 1], fwer_method="fixed_sequence")
    `.calibrate(quality[:, None], gold <= .3)`, where k are the ranks 48, 54, ..., 300: p-values .08526,
    .06267, .04607, .03387, .02489 and, where the promise fails, .44862 (MAPIE rounds 1 - precision up to one
    more bad segment there; the binomial test has .24565).
    """
    generator = np.random.default_rng(7)
    gold = generator.beta(1, 4, 300)
    control = triage(gold, np.clip(gold + 0.12 * generator.normal(size=300), 0, 1), bad="hter>0.3")
    found = control.thresholds[""]
    assert found.publish == pytest.approx(0.04773121372332367)
    assert (found.published, found.published_bad) == (72, 0)
    assert found.p == pytest.approx(0.02489428, abs=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_the_last_threshold_before_the_first_that_fails_the_exact_binomial_test(seed: int) -> None:
    gold, predicted = drawn(500, seed, decimals=2)
    found = triage(gold, predicted, bad="hter>=0.3", risk=0.08).thresholds[""]
    expected, strictest = None, min_labels(0.08, 0.1)
    for share in range(10, 101, 2):
        limit = np.sort(predicted)[5 * share - 1]
        bad = gold[predicted <= limit] >= 0.3
        if len(bad) < strictest:
            continue
        if stats.binomtest(int(bad.sum()), len(bad), 0.08, alternative="less").pvalue > 0.1:
            break
        expected = float(limit), len(bad), int(bad.sum())
    assert (found.publish, found.published, found.published_bad) == expected


def broken(seed: int, decimals: int = 9, documents: int = 0) -> bool:
    """Whether the threshold of 200 labels lets through more than 10 % in the whole population."""
    gold, predicted = drawn(200 if not documents else 200 // documents, seed, decimals)
    units = None
    if documents:
        gold, predicted = np.repeat(gold, documents), np.repeat(predicted, documents)
        units = np.arange(200) // documents
    threshold = triage(gold, predicted, bad="hter>0.3", risk=0.1, documents=units, samples=1).thresholds[""]
    if threshold.publish is None:
        return False
    everyone, scores = drawn(100_000, 999, decimals)
    return bool(np.mean(everyone[scores <= threshold.publish] > 0.3) > 0.1)


@pytest.mark.parametrize(("decimals", "documents"), [(9, 0), (1, 0), (9, 5)])
def test_the_promise_is_kept_as_often_as_it_says(decimals: int, documents: int) -> None:
    """At least 90 % of 150 draws, less two standard errors; documents are as alike as can be."""
    assert sum(broken(seed, decimals, documents) for seed in range(150)) <= 150 * 0.1 + 2 * 3.7


def test_alike_labels_of_a_document_break_the_promise_unless_documents_count() -> None:
    gold, predicted = drawn(40, 3)
    alike = np.repeat(gold, 5), np.repeat(predicted, 5)
    refuses("200 of 225", triage, *alike, bad="hter>0.3", documents=np.arange(200) // 5)
    assert triage(*alike, bad="hter>0.3").thresholds[""].labels == 200


def test_useless_predictions_have_no_threshold_and_it_is_said() -> None:
    generator = np.random.default_rng(0)
    control = triage(generator.beta(1, 4, 300), generator.random(300), bad="hter>0.3")
    assert control.thresholds[""].publish is None and not control.complete
    assert "no threshold: " in control.verdict and "at this share no number of labels" in control.verdict
    assert "with confidence" not in control.verdict


def test_the_labels_that_would_suffice_suffice() -> None:
    gold, predicted = drawn(300, 1)
    found = triage(gold, predicted, bad="hter>0.15", risk=0.05).thresholds[""]
    assert found.publish is None and found.needed is not None
    rate, share = found.published_bad / found.published, found.published / found.labels
    for labels, enough in ((found.needed, True), (found.needed * 0.9, False)):
        published = labels * share
        # The binomial distribution of fractions: its tail is that of a beta distribution.
        confidence = stats.beta.cdf(0.05, rate * published + 1, published * (1 - rate))
        assert (confidence >= 0.9) == enough


def test_labels_that_a_promise_takes() -> None:
    """0.95 ** 45 < 0.1 < 0.95 ** 44."""
    assert 0.95**45 < 0.1 < 0.95**44 and min_labels(0.05, 0.1) == 45


def test_each_group_has_the_threshold_that_it_has_alone() -> None:
    gold, predicted = drawn(400, 2)
    by = ["law" if i % 4 else "it" for i in range(400)]
    both = triage(gold, predicted, bad="hter>0.3", risk=0.1, domains=by)
    law = np.array(by) == "law"
    alone = triage(gold[law], predicted[law], bad="hter>0.3", risk=0.1)
    assert both.thresholds["law"] == alone.thresholds[""] and list(both.thresholds) == ["it", "law"]
    assert "in each group by itself" in both.verdict and set(both.to_json()["groups"]) == {"it", "law"}


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("hter>0.3", [0.3, 0.4], [False, True]),
        (">= 0.3", [0.3, 0.2], [True, False]),
        ("da < 60", [59.0, 60.0], [True, False]),
        ("effort<=-1e1", [-10.0, 0.0], [True, False]),
    ],
)
def test_bad_labels(text: str, labels: list[float], expected: list[bool]) -> None:
    assert BadLabels.parse(text).mask(np.array(labels)).tolist() == expected


def test_the_better_side_of_a_label_is_not_bad() -> None:
    BadLabels.parse("Effort<3").check(LabelScale("effort", 1, 5, True))


def test_the_curve_goes_from_nothing_to_all_errors() -> None:
    gold, predicted = drawn(300, 5, decimals=1)
    control = triage(gold, predicted, bad="hter>0.3", risk=0.2)
    curve = control.curves[""]
    assert curve.published[[0, -1]].tolist() == curve.errors[[0, -1]].tolist() == [0, 1]
    assert (curve.ci[:, 0] <= curve.errors).all() and (curve.errors <= curve.ci[:, 1]).all()
    limit = np.unique(predicted)[2]
    row = np.flatnonzero(np.isclose(curve.published, np.mean(predicted <= limit)))[0]
    assert curve.errors[row] == pytest.approx(np.sum(gold[predicted <= limit] > 0.3) / np.sum(gold > 0.3))
    found = control.thresholds[""]
    dots = [
        tuple(line.get_xydata()[0]) for line in risk_figure(control).axes[0].lines if line.get_marker() == "o"
    ]
    assert dots[0][0] == pytest.approx(100 * found.published / 300)
    assert dots[0][1] == pytest.approx(100 * found.published_bad / np.sum(gold > 0.3))


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    gold, predicted = drawn(300, 0)
    (tmp_path / "gold.tsv").write_text("id\thter\n" + "".join(f"{i}\t{x}\n" for i, x in enumerate(gold, 1)))
    (tmp_path / "scores.txt").write_text("".join(f"{x}\n" for x in predicted))
    (tmp_path / "by.txt").write_text("law\nit\n" * 150)
    return ["triage", "-g", f"{tmp_path}/gold.tsv", "-p", f"{tmp_path}/scores.txt", "--bad", "hter>0.3"]


def test_the_command(files: list[str], tmp_path: Path) -> None:
    printed = " ".join(ran(*files, "--plot", tmp_path / "risk.svg").out.split())
    assert "at most 5.0 % of the published segments are bad (hter>0.3)" in printed
    assert (tmp_path / "risk.svg").is_file()
    text = ran(*files, "--json").out
    (tmp_path / "thresholds.json").write_text(text)
    read = Thresholds.read(tmp_path / "thresholds.json", LabelScale("hter", 0, 1, False))
    assert read.publish == json.loads(text)["publish"] and read.action(0.0) == "publish"
    done = qe_command(*files, "--domains", tmp_path / "by.txt", "--json")
    assert done.code in (0, 1) and set(json.loads(done.out)["groups"]) == {"law", "it"}
    ran(*files, "--risk", "0.005", "--confidence", "0.6", code=1)


@pytest.mark.slow
def test_a_model_gives_its_out_of_fold_predictions(demo_model: Path) -> None:
    rows = HeldOutPredictions.load(demo_model)
    given = ("triage", "-m", demo_model, "--risk", "0.3", "--json", "--bad")
    content = json.loads(qe_command(*given, "effort<2").out)
    expected = triage(rows.gold, rows.predicted, bad="effort<2", risk=0.3)
    assert content["publish"] == expected.thresholds[""].publish and content["labels"] == len(rows.gold)
    assert "given as 'effort<NUMBER'" in ran(*given, "hter>0.3", code=2).err
