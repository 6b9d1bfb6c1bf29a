"""The effort report: sets, categories, correlations against scipy and the paper's tables; files, page."""

import json
import re
import shutil
from collections.abc import Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from features.edits.edit_labels import ALL, CATEGORIES, WORD_CLASSES, EditCounts, edit_counts, edit_labels
from features.edits.ter import ter
from features.text.annotation import UNKNOWN, word_class_tokens
from features.text.stems import base_form_tokens
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from qe.data.format import FORMATS
from qe_human.effort.correlations import Draws, spearman_association
from qe_human.effort.report import EffortReport, analyse
from qe_human.effort.report_files import page
from qe_human.effort.sets import AnnotatedTexts, Limits, discrepancies, four_sets
from tests.factories import Find, Monkeypatch, qe
from tests.pages import Page, needs_nothing_else


def annotated(texts: Sequence[str]) -> AnnotatedTexts:
    """Texts of `word/lemma/UPOS` tokens; lemma and tag may be left out."""
    parts = [[token.split("/") for token in text.split()] for text in texts]
    filled = [[(p[0], p[1] if len(p) > 1 else p[0], p[2] if len(p) > 2 else "X") for p in t] for t in parts]
    layers = [Tokens.from_lists([[token[k] for token in text] for text in filled]) for k in range(3)]
    return AnnotatedTexts(layers[0], layers[1].lower(), word_class_tokens(layers[0], layers[2]))


@pytest.fixture(scope="module")
def training(shared_data: Find) -> tuple[AnnotatedTexts, AnnotatedTexts, NDArray[np.float64]]:
    """The WMT12 training set: both sides with simplemma's lemmas and unknown word classes, scores."""
    train = FORMATS.get("wmt12")().read(shared_data("wmt12-qe")).splits["train"]
    sides = []
    for texts in (train.segments.target, train.post_edit):
        words = Tokenizer("es", normalise=False).tokens(texts)
        unknown = Tokens((UNKNOWN,), np.zeros_like(words.ids), words.offsets)
        sides.append(AnnotatedTexts(words, base_form_tokens(words.lower(), "es"), unknown))
    return sides[0], sides[1], train.scores


def counted(left: AnnotatedTexts, right: AnnotatedTexts) -> EditCounts:
    labels = edit_labels(*((getattr(left, x), getattr(right, x)) for x in ("words", "lemmas", "classes")))
    return edit_counts(labels, (left.classes, right.classes))


def test_rho_equals_scipys_and_p_its_permutation_test() -> None:
    generator = np.random.default_rng(1)
    x = generator.normal(size=60)
    y = np.round(0.25 * x + generator.normal(size=60), 1)
    association = spearman_association(x, y, permutations=20_000)
    expected = stats.spearmanr(x, y)
    assert association.rho == pytest.approx(expected.statistic, abs=1e-12)
    assert association.p == pytest.approx(expected.pvalue, rel=0.12) and 0.002 < association.p < 0.2
    assert association.n == 60


@pytest.mark.slow
def test_p_equals_all_orders_of_six() -> None:
    x, y = np.array([1.0, 2, 3, 4, 5, 6]), np.array([2.0, 1, 4, 3, 6, 5])
    rho = stats.spearmanr(x, y).statistic
    extreme = sum(abs(stats.spearmanr(x, p).statistic) >= rho - 1e-12 for p in permutations(y)) / 720
    assert spearman_association(x, y, permutations=40_000).p == pytest.approx(extreme, abs=0.006)


def test_partial_rho_is_the_correlation_of_residual_ranks() -> None:
    generator = np.random.default_rng(3)
    z = generator.normal(size=200)
    x, y = z + generator.normal(size=200), 2 * z + generator.normal(size=200)
    association = spearman_association(x, y, z)
    ranks = [stats.rankdata(v) for v in (x, y, z)]
    fits = [np.polyval(np.polyfit(ranks[2], r, 1), ranks[2]) for r in ranks[:2]]
    expected = np.corrcoef(ranks[0] - fits[0], ranks[1] - fits[1])[0, 1]
    assert association.rho == pytest.approx(expected, abs=1e-10)
    assert spearman_association(x, y).p < 0.001 < 0.01 < association.p  # only z holds them together


@pytest.mark.slow
def test_intervals_cover() -> None:
    """Normal data with correlation r have Spearman's (6 / pi) asin(r / 2)."""
    truth, inside = 6 / np.pi * np.arcsin(0.5 / 2), 0
    covariance = [[1, 0.5], [0.5, 1]]
    for seed in range(200):
        x, y = np.random.default_rng(seed).multivariate_normal([0, 0], covariance, 80).T
        low, high = spearman_association(x, y, samples=400, permutations=1).ci
        inside += low <= truth <= high
    assert 0.90 <= inside / 200 <= 0.99


@pytest.mark.slow
def test_the_level_is_kept() -> None:
    """Share of independent pairs with p <= .05, ties and a control included."""
    hits = np.zeros(2)
    for seed in range(400):
        x, y, z = np.random.default_rng(seed).integers(0, 4, (3, 30)).astype(float)
        controls = (None, z)
        hits += [spearman_association(x, y, c, samples=1, permutations=199).p <= 0.05 for c in controls]
    assert (hits / 400 >= 0.02).all() and (hits / 400 <= 0.085).all()


def test_undefined_columns() -> None:
    constant = spearman_association(np.ones(5), np.arange(5.0))
    assert np.isnan([constant.rho, *constant.ci, constant.p]).all() and constant.n == 5
    same = spearman_association(np.arange(6.0), np.arange(6.0) * 2, np.arange(6.0))
    assert np.isnan(same.rho)


def test_by_hand() -> None:
    counts = counted(
        annotated(["ha/haber/AUX dicho/decir/VERB el/el/DET viejo/viejo/ADJ casa/casa/NOUN", "a"]),
        annotated(["dijo/decir/VERB la/el/DET casa/casa/NOUN vieja/viejo/ADJ hoy/hoy/ADV !/!/PUNCT", ""]),
    )
    expected = {
        ("verb", "deleted"): 1, ("verb", "form_changed"): 1, ("determiner", "form_changed"): 1,
        ("noun", "match"): 1, ("adjective", "form_changed"): 1, ("other", "inserted"): 1,
        ("punctuation", "inserted"): 1, ("noun", "moved_alone"): 1, ("adjective", "moved_alone"): 1,
        ("noun", "distance_1"): 1, ("adjective", "distance_1"): 1, ("verb", "order_same"): 1,
        ("determiner", "order_same"): 1,
    }  # fmt: skip
    for i, word_class in enumerate(WORD_CLASSES):
        for j, category in enumerate(CATEGORIES):
            assert counts.counts[0, i, j] == expected.get((word_class, category), 0)
    assert counts.counts[1, WORD_CLASSES.index("other"), CATEGORIES.index("deleted")] == 1
    assert counts.post_edit.tolist() == [6, 0]
    table = counts.table()
    row = table.iloc[0]
    assert row["tokens"] == 6 and row["match"] == pytest.approx(1 / 7)
    assert row["order_same"] == row["distance_1"] == 1 / 2
    assert row["verb deleted"] == 1 / 2 and row["verb order_same"] == 1
    assert np.isnan(row["other order_same"]) and row["other inserted"] == 1
    assert np.isnan(table.iloc[1]["order_same"]) and table.iloc[1]["deleted"] == 1
    assert np.isnan(table.iloc[1]["noun match"])


def test_every_word_of_the_training_set_counts_once(training: Any) -> None:
    target, post_edit, _ = training
    edits = dict(zip(CATEGORIES, counted(target, post_edit).counts.sum(axis=1).T, strict=True))
    pairs = edits["match"] + edits["form_changed"] + edits["word_changed"] + edits["pos_changed"]
    np.testing.assert_array_equal(pairs + edits["inserted"], post_edit.words.lengths)
    np.testing.assert_array_equal(pairs + edits["deleted"], target.words.lengths)
    np.testing.assert_array_equal(pairs, edits["order_same"] + edits["moved_group"] + edits["moved_alone"])
    distances = edits["distance_1"] + edits["distance_2_or_more"]
    np.testing.assert_array_equal(pairs, edits["order_same"] + distances)


def test_sizes_on_the_training_set(training: Any) -> None:
    """The paper kept 37 and 35 of these after it had dropped some."""
    target, post_edit, effort = training
    rates = ter(target.words.lower(), post_edit.words.lower()).rates
    low, high = four_sets(effort, rates)
    assert (low.name, len(low.low), len(low.high), low.unmatched) == ("low TER", 42, 42, 0)
    assert (high.name, len(high.low), len(high.high), high.unmatched) == ("high TER", 40, 40, 0)
    assert (effort[low.low] <= 2.5).all() and (rates[low.low] <= 0.33).all()
    assert (effort[high.high] >= 4).all() and (rates[high.high] >= 0.45).all()
    assert (effort[low.high] >= 4).all() and (effort[high.low] <= 2.5).all()
    assert low.difference < 0.005
    assert len(set(low.rows.tolist())) == 84 and len(set(high.rows.tolist())) == 80


def test_the_comparison_has_the_least_sum_of_differences() -> None:
    generator = np.random.default_rng(0)
    for seed in range(20):
        rates = np.round(np.concatenate([generator.uniform(0, 0.33, 4), generator.uniform(0, 1, 6)]), 2)
        effort = np.array([2.0] * 4 + [4.5] * 6)
        low, _ = four_sets(effort, rates, Limits(high_ter=2), seed)
        outcome = np.abs(rates[low.low] - rates[low.high]).sum()
        best = min(np.abs(rates[:4] - rates[list(other)]).sum() for other in permutations(range(4, 10), 4))
        assert outcome == pytest.approx(best, abs=1e-9)
        assert low.difference == pytest.approx(np.abs(rates[low.low] - rates[low.high]).max())


def test_the_lot_decides_between_equals() -> None:
    effort, rates = np.array([2.0] + [5.0] * 9), np.full(10, 0.2)
    chosen = {int(four_sets(effort, rates, seed=seed)[0].high[0]) for seed in range(60)}
    assert chosen == set(range(1, 10))
    assert four_sets(effort, rates, seed=3)[0].high == four_sets(effort, rates, seed=3)[0].high


def test_too_few_to_compare_with_and_none_at_all() -> None:
    low, high = four_sets(np.array([1.0, 1, 5]), np.array([0.1, 0.3, 0.12]))
    assert low.low.tolist() == [0] and low.high.tolist() == [2] and low.unmatched == 1
    assert len(high.rows) == 0 and np.isnan(high.difference) and high.unmatched == 0


@pytest.fixture(scope="module")
def of_training(training: Any) -> EffortReport:
    return analyse(*training, draws=Draws(samples=20, permutations=20))


def test_signs_of_the_papers_correlations(of_training: EffortReport) -> None:
    """Koponen 2012, tables 2 and 3; lemmas are simplemma's here, and parts of speech are not needed."""
    low, high = (
        {c.category: c for c in of_training.correlations[name] if c.word_class == ALL}
        for name in ("low TER", "high TER")
    )
    for each in (low, high):
        for negative in ("tokens", "moved_group", "moved_alone", "distance_1", "distance_2_or_more"):
            assert each[negative].rho < 0, negative
        assert each["order_same"].rho > 0
        assert each["deleted"].rho > 0
    for each, sign in ((low, -1), (high, 1)):
        correlation = each["form_changed"]
        assert sign * correlation.rho > 0
        assert correlation.lots is not None and sign * correlation.lots[0] > 0


def test_shares_of_edited_words_are_close_to_the_papers_table_1(of_training: EffortReport) -> None:
    published = {"low TER, low": 23, "low TER, high": 21, "high TER, low": 45, "high TER, high": 42}
    for name, percent in published.items():
        share = of_training.describe(of_training.sets[f"{name} score"])["edited"]
        assert 100 * share == pytest.approx(percent, abs=5)


def test_order_of_moves_is_that_of_table_1(of_training: EffortReport) -> None:
    """24 and 15 %, 45 and 33 %: more in segments of low scores, more at high TER."""
    listed = [of_training.describe(rows)["reordered"] for rows in of_training.sets.values()]
    assert listed[0] > listed[1] and listed[2] > listed[3] and listed[2] > listed[0]


def small() -> EffortReport:
    target = ["la/el/DET casa/casa/NOUN <b>x</b>/x/X", "uno dos tres", "a b c d", "a b", "& c", "uno"] * 3
    edited = ["las/el/DET casas/casa/NOUN <b>x</b>/x/X", "dos uno tres", "a b c d", "x y", "& c", ""] * 3
    scores = [5.0, 2.0, 5.0, 4.5, 4.0, 2.2] * 3
    return analyse(
        annotated(target), annotated(edited), np.array(scores), source=["<script>alert(1)</script>"] * 18,
        draws=Draws(samples=30, permutations=30),
    )  # fmt: skip


@pytest.mark.slow
def test_the_page_escapes_text_and_needs_nothing_else() -> None:
    read = Page(page(small(), "<i>title</i>", ("en", "es"), {"a plot": b"png"}))
    needs_nothing_else(read)
    assert not {"b>x", "i"} & {tag for tag, _ in read.tags}
    assert any("<script>alert(1)</script>" in text for text in read.text)
    words = [a for tag, a in read.tags if tag == "span" and str(a.get("class", "")).startswith("w ")]
    titles = {str(a["title"]) for a in words if "title" in a}
    assert "noun: form changed, became “casas”" in titles and "noun: form changed, was “casa”" in titles
    assert any(re.search(r"moved by 1 alone", title) for title in titles)
    assert [a["src"] for tag, a in read.tags if tag == "img"] == ["data:image/png;base64,cG5n"]
    assert {"es", "en"} <= {a.get("lang") for _, a in read.tags}


def test_discrepancy_ranks_effort_against_edits() -> None:
    gaps = discrepancies(np.array([1.0, 5, 1, 5]), np.array([0.0, 0.0, 1, 1]))
    np.testing.assert_allclose(gaps, [-0.5, 0, 0, 0.5])
    assert np.isnan(discrepancies(np.array([1.0]), np.array([np.nan]))).all()


def conllu(texts: list[list[tuple[str, str, str]]]) -> str:
    blocks = []
    for text in texts:
        rows = [f"{i}\t{w}\t{m}\t{p}\t_\t_\t_\t_\t_\t_" for i, (w, m, p) in enumerate(text, start=1)]
        blocks.append("\n".join(["# a comment", *rows]) + "\n")
    return "\n".join(blocks)


run = partial(qe, "effort")


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    """Arguments for a small annotated data set."""
    house = [("La", "el", "DET"), ("casa", "_", "NOUN"), (".", ".", "PUNCT")]
    houses = [("Las", "el", "DET"), ("casas", "_", "NOUN"), (".", ".", "PUNCT")]
    (tmp_path / "mt.conllu").write_text(conllu([house, house, houses, houses]))
    (tmp_path / "pe.conllu").write_text(conllu([houses, house, house, houses]))
    (tmp_path / "effort").write_text("2\n5\n4\n5\n")
    names = {"--target": "mt.conllu", "--post-edit": "pe.conllu", "--effort": "effort"}
    arguments: list[object] = [part for option, name in names.items() for part in (option, tmp_path / name)]
    return [*arguments, "--target-language", "es", "--samples", 20, "--permutations", 20]


@pytest.mark.slow
def test_command_line_with_conllu(files: list[object], tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run(*files, "--json", "--output", tmp_path / "out")
    content = json.loads(out)
    assert code == 0 and (tmp_path / "out" / "effort.html").is_file()
    assert run(*files, "--output", tmp_path / "out", "--overwrite").code == 0  # its own folder again
    # Lemmas that the file leaves out are simplemma's: casas and casa are one.
    assert content["sets"]["high TER, high score"]["shares"]["noun"]["form_changed"] == 1
    assert content["recipe"]["tagger"] == "CoNLL-U"
    code, out, _ = run(*files, "--quiet")
    assert code == 0 and "Spearman with the score" in out and "high TER, high score" in out


@pytest.mark.slow
def test_plain_text_is_tagged(tmp_path: Path) -> None:
    """By Apertium, where it is installed."""
    for name, text in (("mt", "La casa vieja .\n"), ("pe", "Las casas viejas .\n"), ("effort", "2\n")):
        (tmp_path / name).write_text(text)
    arguments = ["--target", tmp_path / "mt", "--post-edit", tmp_path / "pe", "--effort", tmp_path / "effort",
                 "--target-language", "es", "--cache-dir", tmp_path / "cache", "--samples", 5]  # fmt: skip
    if shutil.which("apertium-tagger") is None:
        pytest.skip("apertium-tagger is not installed")
    code, out, _ = run(*arguments, "--json")
    assert code == 0 and json.loads(out)["recipe"]["tagger"].startswith("apertium ")
    whole = {c["category"]: c for c in json.loads(out)["correlations"]["all segments"]}
    assert whole["form_changed"]["n"] == 1


@pytest.mark.slow
def test_track(files: list[object], tmp_path: Path, monkeypatch: Monkeypatch) -> None:
    import mlflow

    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "tests")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlflow.yaml").write_text("artifact_root: artifacts\n")
    code, _, error = run(*files, "--track")
    assert code == 0
    logged = mlflow.MlflowClient(uri).get_run(error.split()[-1])
    assert logged.data.metrics["high TER_ high score.segments"] == 1
    assert logged.data.params["limits.low_ter"] == "0.33"
    names = {f.path for f in mlflow.MlflowClient(uri).list_artifacts(logged.info.run_id, "effort")}
    assert {"effort/effort.html", "effort/report.json"} <= names
