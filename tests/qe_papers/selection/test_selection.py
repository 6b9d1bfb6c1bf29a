"""System selection: planted differences are found, nothing leaks, nothing is found where nothing is; MERT."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qe.data.folds import make_folds
from qe.models.model import Model
from qe.systems import Bleu, Texts
from qe.systems.documents import blocks
from qe_papers import Translations
from qe_papers.choosers.linear import LogLinear, contributions, line_search, mert
from qe_papers.selection.chooser import CHOOSERS, Chooser, Outputs
from qe_papers.selection.selection import (
    ORACLE,
    Preferences,
    Selection,
    applied,
    choose_by_model,
    cross_validated,
    divergence,
    make_extraction,
    oracle,
    select,
)
from tests.factories import qe, refuses

WORDS = [f"{a}{b}" for a in "bcdfglmnprst" for b in ("ano", "era", "ito", "osa", "ul")]
SURFACE = [{"kind": "surface", "only": ["tokens_*", "punctuation_target", "punctuation_share_target"]}]


def translations(
    n: int = 200, systems: int = 2, seed: int = 0, quality: tuple[float, ...] = ()
) -> Translations:
    """Each system spoils segments of its own choice; where words were lost, there are points instead."""
    rng = np.random.default_rng(seed)
    reference = [" ".join(rng.choice(WORDS, rng.integers(6, 16))) for _ in range(n)]
    by_name = {}
    for i in range(systems):
        bad = rng.random(n) < (quality[i] if quality else 0.5)
        spoiled = [
            " ".join("." if rng.random() < 0.5 else w for w in text.split()) if b else _noisy(text, rng)
            for text, b in zip(reference, bad, strict=True)
        ]
        by_name["abcd"[i]] = tuple(spoiled)
    return Translations(tuple(reference), by_name, blocks(n, 5), (tuple(reference),))


def _noisy(text: str, rng: np.random.Generator) -> str:
    return " ".join(str(rng.choice(WORDS)) if rng.random() < 0.1 else w for w in text.split())


def choosers(*names: str) -> dict[str, Chooser]:
    return {name: CHOOSERS.get(name)() for name in names or CHOOSERS.names}


def selected(data: Translations, **more: Any) -> Selection:
    extraction, tokenizers = make_extraction(SURFACE, None, ("en", "es"), None)
    settings: dict[str, Any] = {"samples": 500, "folds": 5, **more}
    return select(data, extraction, choosers(), tokenizers, {"bleu": Bleu()}, **settings)


@pytest.fixture(scope="module")
def planted() -> Selection:
    return selected(translations())


@pytest.mark.slow
def test_a_visible_difference_is_found_by_every_method(planted: Selection) -> None:
    for each in planted.comparisons:
        assert each.p_corrected < 0.05 and each.ci[0] > 0, each
        assert planted.scores[each.system]["bleu"] > planted.scores[planted.best]["bleu"]
    assert len(planted.comparisons) == len(planted.bootstrap) == len(CHOOSERS.names)


@pytest.mark.slow
def test_no_choice_beats_the_oracle_and_random_lies_between_the_systems(planted: Selection) -> None:
    scores = {name: row["bleu"] for name, row in planted.scores.items()}
    assert max(scores, key=lambda name: scores[name]) == ORACLE
    low, high = sorted((scores["a"], scores["b"]))
    assert low - 0.5 < scores["random"] < high + 0.5


@pytest.mark.slow
def test_the_report_adds_up(planted: Selection) -> None:
    data = planted.translations
    for name, choice in planted.choices.items():
        expected = Bleu().score(data.lines(choice), data.references)
        assert planted.scores[name]["bleu"] == pytest.approx(expected, abs=1e-12)
        assert planted.shares[name].sum() == pytest.approx(1.0)
    assert planted.scores["a"]["bleu"] == pytest.approx(Bleu().score(data.systems["a"], data.references))
    assert planted.divergence(ORACLE) == 0.0
    report = planted.to_json()
    assert json.loads(json.dumps(report))["best"] in ("a", "b")
    assert set(report["document_scores"]) == {"a", "b"}


@pytest.mark.slow
def test_documents_are_chosen_whole() -> None:
    chosen = selected(translations(), granularity="document")
    index = np.array(chosen.translations.documents)
    for choice in chosen.choices.values():
        assert all(len(set(choice[index == name])) == 1 for name in set(index))


@pytest.mark.slow
def test_held_out_references_do_not_reach_their_own_choice() -> None:
    """Other references for one fold's documents change other folds' preferences, never its own."""
    data = translations(60)
    extraction, tokenizers = make_extraction(SURFACE, None, ("en", "es"), None)
    statistics = data.statistics(Bleu())

    def run(rows: np.ndarray) -> dict[str, Preferences]:
        return cross_validated(data, extraction, choosers(), rows, tokenizers, folds=5)

    _, held_out = make_folds(100, 5, seed=0, scheme="document", documents=data.documents)[0]
    changed = statistics.copy()
    changed[:, held_out] = changed[::-1, held_out]
    before, after = run(statistics), run(changed)
    others = np.setdiff1d(np.arange(60), held_out)
    for name in CHOOSERS.names:
        np.testing.assert_array_equal(before[name].segments[:, held_out], after[name].segments[:, held_out])
        assert (before[name].segments[:, others] != after[name].segments[:, others]).any()


@pytest.mark.slow
def test_examples_are_of_the_references_of_other_documents() -> None:
    """Features by the best and worst translations: references of a fold reach other folds' features alone."""
    data = translations(60)
    _, held_out = make_folds(60, 5, seed=0, scheme="document", documents=data.documents)[0]
    references = list(data.references[0])
    for row in held_out:
        references[row] = references[(row + 7) % 60]
    changed = replace(data, references=(tuple(references),))
    statistics = data.statistics(Bleu())  # the same: features alone may differ
    features = [*SURFACE, {"kind": "example_precision"}]
    extraction, tokenizers = make_extraction(features, None, ("en", "es"), None)
    before, after = (
        cross_validated(each, extraction, choosers("ranking"), statistics, tokenizers, folds=5)["ranking"]
        for each in (data, changed)
    )
    others = np.setdiff1d(np.arange(60), held_out)
    np.testing.assert_array_equal(before.segments[:, held_out], after.segments[:, held_out])
    assert (before.segments[:, others] != after.segments[:, others]).any()


@pytest.mark.slow
def test_random_labels_give_nothing() -> None:
    """Both systems alike, features unrelated: no method may look better than the better system."""
    choice = selected(translations(100, quality=(0.0, 0.0), seed=4))
    assert all(c.p_corrected > 0.05 or c.result.difference < 0 for c in choice.comparisons)


@pytest.mark.slow
def test_systems_that_agree_everywhere_leave_nothing_to_rank() -> None:
    data = translations(40)
    same = dict.fromkeys("ab", data.systems["a"])
    refuses("nothing to learn", selected, replace(data, systems=same))


def test_the_oracle_takes_the_better_translation_and_the_first_of_equals() -> None:
    statistics = Translations(
        ("s",) * 3,
        {"a": ("x y z w", "x y z w", "q"), "b": ("x y q q", "x y z w", "x y z w")},
        ("1", "1", "2"),
        (("x y z w",) * 3,),
    ).statistics(Bleu())
    assert oracle(statistics, Bleu(), "segment", ("1", "1", "2")).tolist() == [0, 0, 1]
    assert oracle(statistics, Bleu(), "document", ("1", "1", "2")).tolist() == [0, 0, 1]


def test_contributions_are_first_order_changes_of_bleu() -> None:
    data = translations(300)
    statistics = data.statistics(Bleu())
    parts = contributions(statistics) / 300
    sums = statistics.sum(axis=1)
    base = int(np.argmax(Bleu().aggregate(sums)))
    for row in range(5):
        changed = sums[base] - statistics[base, row] + statistics[1 - base, row]
        change = float(Bleu().aggregate(changed) - Bleu().aggregate(sums[base]))
        assert parts[1 - base, row] - parts[base, row] == pytest.approx(change, abs=0.02)


@pytest.mark.parametrize(("first", "printed"), [(0.323, 0.11), (0.470, 3.31), (0.639, 17.88)])
def test_divergence_of_the_paper(first: float, printed: float) -> None:
    """Table 3, Hi-Tech: regression, ranking and classification (x 100) from the shares as printed."""
    oracle = np.array([0.345, 0.655])
    assert round(100 * divergence(np.array([first, 1 - first]), oracle), 2) == printed


def test_divergence_from_an_oracle_that_lacks_a_system_is_infinite() -> None:
    assert divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == float("inf")
    assert divergence(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == pytest.approx(np.log(2))


@pytest.mark.slow
def test_new_translations_are_chosen_by_what_all_references_taught() -> None:
    data, new = translations(120), translations(30, seed=9)
    extraction, tokenizers = make_extraction(SURFACE, None, ("en", "es"), None)
    unlabelled = Translations(new.source, new.systems, new.documents)
    outcome = applied(data, unlabelled, extraction, choosers("gain", "regression"), tokenizers, Bleu())
    best = oracle(new.statistics(Bleu()), Bleu(), "segment", new.documents)
    for preferences in outcome.values():
        assert (preferences.choice("segment", new.documents) == best).mean() > 0.6
        assert preferences.documents.shape == (2, 6)
    other = replace(unlabelled, systems={"b": new.systems["a"], "a": new.systems["b"]})
    rest = extraction, choosers("gain"), tokenizers, Bleu()
    refuses("learned to choose among a, b", applied, data, other, *rest)


def write(folder: Path, **files: tuple[str, ...]) -> dict[str, str]:
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return {name: str(folder / name) for name in files}


@pytest.mark.slow
def test_the_command_chooses_and_says_if_it_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))
    data, new = translations(120), translations(20, seed=5)
    files = write(
        tmp_path, s=data.source, r=data.references[0], a=data.systems["a"], b=data.systems["b"],
        ns=new.source, na=new.systems["a"], nb=new.systems["b"],
    )  # fmt: skip
    (tmp_path / "f.yaml").write_text(json.dumps({"features": SURFACE}), "utf-8")
    out = tmp_path / "out"
    arguments = [
        "--source", files["s"], "--references", files["r"], "--system", f"a={files['a']}",
        "--system", f"b={files['b']}", "--features", str(tmp_path / "f.yaml"), "--method", "gain",
        "--folds", "4", "--samples", "200", "--output", str(out), "--metrics", "bleu",
        "--new-source", files["ns"], "--new-system", f"a={files['na']}", "--new-system", f"b={files['nb']}",
    ]  # fmt: skip
    done = qe("select", *arguments, "--quiet")  # results are printed nonetheless
    assert done.code == 0 and "against always taking" in done.out and "nan" not in done.out
    report = json.loads((out / "report.json").read_text("utf-8"))
    chosen = (out / "gain.txt").read_text("utf-8").splitlines()
    score = Bleu(tokenize="13a").score(chosen, data.references)
    assert report["scores"]["gain"]["bleu"] == pytest.approx(score, abs=1e-12)
    rows = [line.split("\t") for line in (out / "gain.tsv").read_text("utf-8").splitlines()]
    assert rows[0] == ["segment", "document", "chosen", "a", "b"] and len(rows) == 121
    assert all(
        data.systems[row[2]][int(row[0]) - 1] == line for row, line in zip(rows[1:], chosen, strict=True)
    )
    assert len((out / "new" / "gain.txt").read_text("utf-8").splitlines()) == 20
    assert not (out / "new" / "report.json").exists()


def test_a_model_can_choose(demo_model: Path, tmp_path: Path) -> None:
    model = Model.load(demo_model)
    table = pd.read_csv(demo_model.parent / "data" / "new.tsv", sep="\t", quoting=csv.QUOTE_NONE, nrows=40)
    source, target = tuple(table["source"]), tuple(table["target"])
    other = target[::-1]
    files = write(tmp_path, s=source, a=target, b=(*other[:-1], ""))
    arguments = ["--model", demo_model, "--source", files["s"], "--system", f"a={files['a']}"]
    done = qe("select", *arguments, "--system", f"b={files['b']}", "--output", tmp_path / "out", "--quiet")
    assert done.code == 0 and "40 segments: a " in done.out
    data = Translations(source, {"a": target, "b": (*other[:-1], "")}, blocks(40))
    preferences = choose_by_model(model, data)
    expected = model.scale.sign * model.predict(model.segments({"source": source, "target": target}))
    np.testing.assert_array_equal(preferences.segments[0], expected)
    assert preferences.segments[1, -1] == -np.inf and preferences.documents[1, -1] == -np.inf
    lines = (tmp_path / "out" / "model.txt").read_text("utf-8").splitlines()
    for i, line in enumerate(lines):
        assert line == (target[i] if preferences.segments[0, i] >= preferences.segments[1, i] else other[i])


def test_a_model_does_not_judge_the_engine_that_it_compares_with(demo_model: Path) -> None:
    """A model whose pseudo-reference is one of the systems would find that system perfect."""

    class Judge(Model):
        def segments(self, columns: Any) -> Any:
            outcome = super().segments(columns)
            return replace(outcome, pseudo_reference=tuple(f" {text}" for text in engine))

    loaded = Model.load(demo_model)
    model = Judge(**{**vars(loaded), "made_columns": {"pseudo_reference": "apertium"}})
    engine = ("uno dos", "tres", "cuatro")
    data = Translations(("one", "two", "three"), {"a": ("x", "y", "z"), "b": engine}, ("1",) * 3)
    refuses(r"100 % of the translations of 'b' are the pseudo-references", choose_by_model, model, data)
    other = Translations(data.source, {"a": ("x", "y", "z"), "b": ("uno dos", "q", "r")}, ("1",) * 3)
    assert choose_by_model(model, other).segments.shape == (2, 3)


def total(sums: np.ndarray) -> np.ndarray:
    """A measure that is no mean: a ratio of sums."""
    return np.asarray(sums[..., 0] / (1.0 + np.abs(sums[..., 1])))


def scored(base: np.ndarray, slope: np.ndarray, statistics: np.ndarray, t: float) -> float:
    choice = np.argmax(base + t * slope, axis=0)
    return float(total(statistics[choice, np.arange(base.shape[1])].sum(axis=0)))


@pytest.mark.parametrize("systems", [2, 3, 5])
def test_no_point_of_a_line_is_better_than_the_one_found(systems: int) -> None:
    rng = np.random.default_rng(systems)
    base, slope = rng.normal(size=(2, systems, 40))
    slope[1] = slope[0]  # systems that never overtake each other
    statistics = rng.normal(size=(systems, 40, 2))
    best, t = line_search(base, slope, statistics, total)
    assert best == pytest.approx(scored(base, slope, statistics, t))
    dense = max(scored(base, slope, statistics, step) for step in np.linspace(-60, 60, 4001))
    assert best >= dense - 1e-12


def test_weights_find_the_feature_that_tells_the_better_translation() -> None:
    rng = np.random.default_rng(7)
    gains, noise = rng.normal(size=(3, 60)), rng.normal(size=(3, 60, 4))
    values = np.concatenate([noise, gains[..., None]], axis=2)
    statistics = np.stack([gains, np.zeros_like(gains)], axis=2)
    weights = mert(values, statistics, total, start=np.eye(5)[0], restarts=2, seed=0)
    chosen = np.argmax(values @ weights, axis=0)
    best = gains.max(axis=0).sum()
    assert gains[chosen, np.arange(60)].sum() > 0.97 * best > 0
    again = mert(values, statistics, total, start=np.eye(5)[0], restarts=2, seed=0)
    assert (weights == again).all()


def test_the_prior_is_bleu_against_the_other_systems() -> None:
    lines = ["the cat sat on the mat", "a dog ran to it"]
    odd = ["x y z the cat w", "u v w x y"]
    near = ["the cat sat on a mat", "a dog ran to it"]
    data = Translations(("s", "t"), {"a": tuple(lines), "b": tuple(near), "c": tuple(odd)}, ("1", "2"))
    agreement = data.agreement(Bleu())
    expected = Bleu().score(near, [lines, odd])
    assert agreement[1] == pytest.approx(expected) and np.argmin(agreement) == 2


def test_without_telling_features_the_prior_chooses() -> None:
    rng = np.random.default_rng(3)
    words = ("the", "cat", "sat", "on", "a", "mat", "and", "dog")
    reference = [" ".join(rng.choice(words, 10)) for _ in range(40)]
    outputs = [
        [" ".join(w if rng.random() < share else "x" for w in line.split()) for line in reference]
        for share in (0.6, 0.9)
    ]
    references = [Texts.from_lines(reference)]
    statistics = np.stack([Bleu().statistics(Texts.from_lines(lines), references) for lines in outputs])
    tables = tuple(pd.DataFrame({"constant": np.ones(40)}) for _ in outputs)
    told = Outputs(tables, statistics, np.array([20.0, 60.0]))
    assert (LogLinear(restarts=0).fit(told).preferences(told).argmax(axis=0) == 1).all()
