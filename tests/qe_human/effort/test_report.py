"""The effort report: the paper's correlations on its data, what is undefined, files, page, command line."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from features.edits.edit_labels import ALL
from qe_human.effort.correlations import Correlation, Draws
from qe_human.effort.report import EffortReport, analyse
from qe_human.effort.report_files import page
from qe_human.effort.sets import discrepancies
from tests.factories import Done, Monkeypatch, qe, refuses
from tests.pages import Page, needs_nothing_else
from tests.qe_human.effort.conftest import Annotated, Training

QUICK = Draws(samples=50, permutations=50)


@pytest.fixture(scope="module")
def of_training(training: Training) -> EffortReport:
    return analyse(*training.sides, training.effort, draws=Draws(samples=20, permutations=20))


def overall(report: EffortReport, population: str) -> dict[str, Correlation]:
    return {c.category: c for c in report.correlations[population] if c.word_class == ALL}


def test_signs_of_the_papers_correlations(of_training: EffortReport) -> None:
    """Koponen 2012, tables 2 and 3; lemmas are simplemma's here, and parts of speech are not needed."""
    low, high = (overall(of_training, name) for name in ("low TER", "high TER"))
    for each in (low, high):
        for negative in ("tokens", "moved_group", "moved_alone", "distance_1", "distance_2_or_more"):
            assert each[negative].association.rho < 0, negative
        assert each["order_same"].association.rho > 0
        assert each["deleted"].association.rho > 0
    for each, sign in ((low, -1), (high, 1)):
        correlation = each["form_changed"]
        assert sign * correlation.association.rho > 0
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


def small(annotated: Annotated, effort: list[float] | None = None, seed: int = 0) -> EffortReport:
    target = ["la/el/DET casa/casa/NOUN <b>x</b>/x/X", "uno dos tres", "a b c d", "a b", "& c", "uno"] * 3
    edited = ["las/el/DET casas/casa/NOUN <b>x</b>/x/X", "dos uno tres", "a b c d", "x y", "& c", ""] * 3
    scores = effort or [5.0, 2.0, 5.0, 4.5, 4.0, 2.2] * 3
    return analyse(
        annotated(target), annotated(edited), np.array(scores), source=["<script>alert(1)</script>"] * 18,
        draws=Draws(samples=30, permutations=30, seed=seed),
    )  # fmt: skip


@pytest.mark.slow
def test_the_page_escapes_text_and_needs_nothing_else(annotated: Annotated) -> None:
    read = Page(page(small(annotated), "<i>title</i>", ("en", "es"), {"a plot": b"png"}))
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


@pytest.mark.parametrize(
    ("scores", "message"),
    [([1.0, 2.0], "2 translations|2 effort scores"), ([1.0, np.nan, 3.0], "segment 2 has no effort score")],
)
def test_scores_that_do_not_fit(annotated: Annotated, scores: list[float], message: str) -> None:
    refuses(message, analyse, annotated(["a"] * 3), annotated(["a"] * 3), np.array(scores), draws=QUICK)


def conllu(texts: list[list[tuple[str, str, str]]]) -> str:
    blocks = []
    for text in texts:
        rows = [f"{i}\t{w}\t{m}\t{p}\t_\t_\t_\t_\t_\t_" for i, (w, m, p) in enumerate(text, start=1)]
        blocks.append("\n".join(["# a comment", *rows]) + "\n")
    return "\n".join(blocks)


def run(*arguments: object) -> Done:
    return qe("effort", *arguments)


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


def test_command_line_refuses(files: list[object], tmp_path: Path) -> None:
    (tmp_path / "mt.txt").write_text("La casa\n")
    done = run(*files, "--target", tmp_path / "mt.txt")
    assert done.code == 2 and "one side is CoNLL-U, the other plain text" in done.err
    (tmp_path / "effort").write_text("2\n5\n")
    assert "4 translations, 4 post-edits and 2 effort scores" in run(*files).err
    (tmp_path / "effort").write_text("2\n5\n4\n5\n")
    (tmp_path / "source").write_text("one\n")
    assert "1 sources, but 4 translations" in run(*files, "--source", tmp_path / "source").err
    assert "low <= high must hold" in run(*files, "--low-effort", 5).err
    assert "unknown correction 'x'" in run(*files, "--correct", "x").err
    (tmp_path / "mt.conllu").write_text("1\tLa\tel\n")
    assert "CoNLL-U has 10 columns" in run(*files).err
    for identity, form, said in (("1", "", "a word without form"), ("١", "La", "is no id of a word")):
        (tmp_path / "mt.conllu").write_text(f"{identity}\t{form}" + "\t_" * 8 + "\n")
        assert said in run(*files).err
    assert not (tmp_path / "out").exists()


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


def test_output_folders_of_others_are_refused(files: list[object], tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    assert "holds 'letter.txt' and no output of `qe effort`" in run(*files, "--output", tmp_path / "full").err
    assert "holds the input" in run(*files, "--output", tmp_path).err


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
