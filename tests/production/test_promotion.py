"""Registry: a challenger becomes champion only if it is better, on record, and the way back is open."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from qe.config.experiment import load
from qe.getting_started.demo.run import EXPERIMENT
from qe.models.model import Model
from qe.production import promotion
from qe.statistics.metric import METRICS
from qe.tracking import registry, runs
from qe.tracking.logged_models import Described
from tests.factories import Monkeypatch, ran, refuses


def register(
    name: str, folder: Path, value: float, data: str = "d", content: str = "c", resume: str | None = None
) -> registry.Registration:
    model = Model.load(folder)
    with runs.run(f"test {name}", resume=resume) as run:
        run.metrics({"intervals/coverage 90 percent": 0.9})
        return registry.register(
            run, folder, name=name, columns=model.columns(), metric="mae", value=value,
            higher_is_better=False, data=data, content=content,
            described=Described("x", tags={"data": "abc", "model": "ridge", "experiment": "x"}),
        )  # fmt: skip


@pytest.fixture(scope="module")
def labelled(demo_run: Any) -> promotion.Labelled:
    return promotion.of_experiment(load(EXPERIMENT, data_root=demo_run.output), "test")


@pytest.fixture
def two(demo_run: Any, demo_model: Path, poor: Path, request: pytest.FixtureRequest) -> str:
    """Version 1, champion, is poor; version 2, challenger, is the demo's."""
    name = f"two-{request.node.name.replace('[', '-').replace(']', '')}"[:60]
    assert register(name, poor, 0.8).champion
    assert not register(name, demo_model, 0.6, data="other").champion
    return name


def test_the_best_that_waits_is_challenger(demo_run: Any, poor: Path) -> None:
    name = "waiting"
    first = register(name, poor, 0.8)
    assert first.champion and first.reason == "the first model of this name"
    second = register(name, poor, 0.5)
    assert second.challenger and "champion version 1 (MAE 0.5000 against 0.8000" in second.reason
    third = register(name, poor, 0.6)
    assert not third.challenger and "challenger version 2 is no worse (MAE 0.5000 against" in third.reason
    fourth = register(name, poor, 0.4)
    assert fourth.challenger and registry.aliased(name, "challenger") == "4"
    other = register(name, poor, 0.7, data="newer")
    assert other.challenger and "measured on other data" in other.reason
    registry.tag_version(name, "5", {"promotion.decision": "refused"})
    assert register(name, poor, 0.9, data="newer").challenger  # who was judged does not wait any more
    assert registry.aliased(name, "champion") == "1"


def test_a_resumed_run_has_its_version_already(demo_run: Any, poor: Path) -> None:
    name = "resumed"
    first = register(name, poor, 0.8)
    run = registry.model_versions(name)[0].run_id
    assert register(name, poor, 0.8, resume=run) == replace(first, reason="the first model of this name")
    assert [version.version for version in registry.model_versions(name)] == ["1"]
    assert register(name, poor, 0.7, resume=run, content="more trials").version == "2"


def test_segments_that_were_learned_from_do_not_judge(
    two: str, demo_run: Any, labelled: promotion.Labelled
) -> None:
    """The demo's model (version 2) knows its training rows; version 1 of this test does not say."""
    experiment = EXPERIMENT
    learned = promotion.of_experiment(load(experiment, data_root=demo_run.output), "train")
    both = promotion.Labelled(
        "both", [*labelled.rows, *learned.rows], np.concatenate([labelled.gold, learned.gold])
    )
    new = promotion.promote(two, labelled, samples=200, margin=9)
    decision = promotion.promote(two, both, samples=200, margin=9)
    assert (decision.n, decision.learned) == (new.n, len(learned.gold) + new.learned)
    assert decision.scores == new.scores and decision.silent == ("1",)
    refuses("learned from every segment", promotion.promote, two, learned)


@pytest.mark.capability
def test_a_better_challenger_is_promoted_on_record(two: str, labelled: promotion.Labelled) -> None:
    assert registry.aliased(two, "challenger") == "2"
    decision = promotion.promote(two, labelled, samples=1000)
    assert decision.promoted and decision.gain is not None and decision.p is not None
    assert decision.gain == pytest.approx(decision.scores["1"] - decision.scores["2"]) and decision.p < 0.01
    assert decision.ci is not None and decision.ci[0] < decision.gain < decision.ci[1]
    assert registry.aliased(two, "champion") == "2" and registry.aliased(two, "challenger") is None
    (_, version) = registry.model_versions(two)
    evidence = json.loads(version.tags["promotion.evidence"])
    assert version.tags["promotion.decision"] == "promoted" and evidence["p"] == decision.p
    assert evidence["data_fingerprint"] == labelled.fingerprint and evidence["n"] == 80 and evidence["at"]
    assert promotion.rollback(two) == ("2", "1") and registry.aliased(two, "champion") == "1"
    refuses("version 1 .* has no predecessor", promotion.rollback, two)


@pytest.mark.parametrize(("metric", "margin"), [("mae", 5.0), ("delta_avg", 5.0)])
def test_a_gain_below_the_margin_is_refused(
    two: str, labelled: promotion.Labelled, metric: str, margin: float
) -> None:
    decision = promotion.promote(two, labelled, metric=metric, margin=margin, samples=200)
    assert not decision.promoted and "the gain is too small" in decision.reason
    assert registry.aliased(two, "champion") == "1"
    assert registry.model_versions(two)[1].tags["promotion.decision"] == "refused"


def test_a_worse_or_an_equal_one_is_refused(two: str, demo_model: Path, labelled: promotion.Labelled) -> None:
    promotion.promote(two, labelled, samples=200)
    worse = promotion.promote(two, labelled, samples=200, challenger="1")
    assert not worse.promoted and worse.gain is not None and worse.gain < 0
    register(two, demo_model, 0.6, data="third")
    equal = promotion.promote(two, labelled, samples=200)
    assert not equal.promoted and equal.gain == 0 and equal.p == 1
    assert registry.aliased(two, "champion") == "2"


def test_so_few_segments_that_nothing_can_be_decided(two: str, labelled: promotion.Labelled) -> None:
    """Four coins give 1 / 16 at best; five are needed for .05, with a margin too."""
    four = promotion.Labelled("four", labelled.rows[:4], labelled.gold[:4])
    for margin in (0.0, 0.01):
        decision = promotion.promote(two, four, samples=200, margin=margin)
        assert not decision.promoted and decision.p is None
        assert "cannot be decided" in decision.reason and "that takes 5 segments" in decision.reason
    refuses("200 samples .* 0.001", promotion.promote, two, labelled, samples=200, level=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["mae", "rmse", "pearson"])
@pytest.mark.parametrize("labels", ["normal", "log-normal"])
def test_equal_models_are_promoted_as_often_as_the_level_says(metric: str, labels: str) -> None:
    """Heavy tails too: 300 comparisons of 12 segments; 26 or more of them have probability .005."""
    hits = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        gold = rng.normal(size=12) if labels == "normal" else rng.lognormal(size=12)
        new, old = (
            gold + rng.normal(size=12) if labels == "normal" else gold * rng.lognormal(0, 0.8, 12)
            for _ in range(2)
        )
        hits += promotion.better_by(gold, new, old, METRICS.get(metric)(), 0.0, 99, seed).p <= 0.05
    assert hits <= 25


def test_a_margin_is_the_paired_t_test() -> None:
    """MAE, by SciPy: errors of the old model less those of the new one, against the margin."""
    rng = np.random.default_rng(1)
    gold = rng.normal(size=40)
    new, old = gold + rng.normal(0, 0.5, 40), gold + rng.normal(0, 1, 40)
    gains = np.abs(old - gold) - np.abs(new - gold)
    expected = stats.ttest_1samp(gains, 0.2, alternative="greater")
    test = promotion.better_by(gold, new, old, METRICS.get("mae")(), 0.2, 99)
    assert test.p == pytest.approx(expected.pvalue) and test.difference == pytest.approx(gains.mean())
    plain = promotion.better_by(gold, new, old, METRICS.get("mae")(), 0.0, 9999)
    turned = promotion.better_by(gold, old, new, METRICS.get("mae")(), 0.0, 9999)
    assert plain.p < 0.01 and turned.p > 0.99 and plain.difference == -turned.difference


def test_without_a_champion_the_challenger_is_unopposed(two: str, labelled: promotion.Labelled) -> None:
    import mlflow

    mlflow.MlflowClient().delete_registered_model_alias(two, "champion")
    decision = promotion.promote(two, labelled, samples=200)
    assert decision.promoted and decision.reason == "there is no champion" and decision.p is None


def test_mistakes_are_named(two: str, labelled: promotion.Labelled) -> None:
    refuses("model 'nobody'; registered: .*two-", promotion.promote, "nobody", labelled)
    refuses("no version 9; .*1, 2", promotion.promote, two, labelled, challenger="9")
    refuses("version 1 .*the champion", promotion.promote, two, labelled, challenger="1")
    refuses(r"0 < level < 1", promotion.promote, two, labelled, level=5)
    holes = replace(labelled, rows=[*labelled.rows[:2], ({"source": "a", "target": ""}, "")], gold=np.ones(3))
    refuses(r"data/test: version \d .* row 3: empty target", promotion.promote, two, holes)


def test_headers_are_those_of_the_training_data(
    demo_run: Any, demo_model: Path, poor: Path, labelled: promotion.Labelled, tmp_path: Path
) -> None:
    """Version 1 was trained on `source` and `target`, version 2 on `left` and `right`."""
    model = Model.load(demo_model)
    about = {**model.about, "headers": {"source": "left", "target": "right"}}
    replace(model, about=about).save(tmp_path / "model")
    name = "named-elsewhere"
    register(name, poor, 0.8)
    register(name, tmp_path / "model", 0.6, data="other")
    rows = [({"left": c["source"], "right": c["target"]}, reason) for c, reason in labelled.rows]
    elsewhere = promotion.promote(name, replace(labelled, rows=rows), samples=200, margin=9)
    plain = promotion.promote(name, labelled, samples=200, margin=9)
    assert (elsewhere.n, elsewhere.scores) == (plain.n, plain.scores)
    refuses("unknown column 'sauce'", promotion.promote, name, labelled, columns={"sauce": "left"})


def test_the_commands(
    two: str, labelled: promotion.Labelled, tmp_path: Path, monkeypatch: Monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    lines = [
        f"{c['source']}\t{c['target']}\t{g}" for (c, _), g in zip(labelled.rows, labelled.gold, strict=True)
    ]
    table, renamed = tmp_path / "data.tsv", tmp_path / "renamed.tsv"
    table.write_text("source\ttarget\tscore\n" + "\n".join(lines) + "\n")
    renamed.write_text("src\tx\thter\n" + "\n".join(lines) + "\n")
    command = ["promote", two, "--data", table, "--samples", "500"]
    assert "not promoted" in ran(*command, "--margin", "9", "--quiet", code=1).out
    promoted = json.loads(ran(*command, "--json").out)
    assert promoted["promoted"] is True
    anew = ["promote", two, "--data", renamed, "--label", "hter", "--samples", "500", "--challenger", "1"]
    assert "needs the column 'target'" in ran(*anew, code=2).err
    again = json.loads(ran(*anew, "--columns", "target=x", "--json", code=1).out)
    assert (again["n"], again["scores"]) == (promoted["n"], promoted["scores"])
    assert "MAE 0.8000" in ran("models", two).out
    versions = [v for v in json.loads(ran("models", "--json").out)["models"] if v["name"] == two]
    assert [v["aliases"] for v in versions] == [[], ["champion"]] and versions[1]["tags"]["model"] == "ridge"
    assert "version 1 is champion again" in ran("promote", two, "--rollback", "--quiet").out
    assert "--data is needed" in ran("promote", two, code=2).err
