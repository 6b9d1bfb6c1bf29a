"""The family `general`: the score of a saved model, as if it were a column; the model keeps a copy of it."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from features.core.feature_set import make_extractor
from qe.models.model import Model
from tests.factories import refuses, score_file, segments
from tests.features.encoding.made import Tiny, static_folder
from tests.features.test_multilingual import texts
from tests.models.general import rows, small_model, trained
from tests.training.several import section

SCALE = {"name": "score", "low": 0, "high": 100, "higher_is_better": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("general")


@pytest.fixture(scope="module")
def own(folder: Path) -> Path:
    """The run of a model of 300 rows that has the general one's prediction as a feature."""
    features = ["surface", {"kind": "general", "model": str(small_model(folder))}]
    return trained(folder, "own", rows(300, 2), features)


def out_of_fold(run: Path) -> np.ndarray:
    return pd.read_csv(run / "predictions.out-of-fold.tsv", sep="\t", header=None)[2].to_numpy()


def test_it_gives_what_a_column_of_its_scores_gives(folder: Path, own: Path) -> None:
    table, output = rows(300, 2), folder / "scored.tsv"
    score_file(small_model(folder) / "model", [folder / "own.tsv"], output, workers=1)
    table["general"] = pd.read_csv(output, sep="\t")["score"]
    features = ["surface", {"kind": "columns", "names": ["general"]}]
    np.testing.assert_allclose(
        out_of_fold(own), out_of_fold(trained(folder, "two", table, features)), atol=1e-9
    )
    figures = Model.load(own / "model").features(segments(table["source"], table["target"]))
    np.testing.assert_allclose(figures["general_prediction"], table["general"], atol=1e-9)


def test_a_model_contains_what_it_needs_and_notices_changes(folder: Path, own: Path, tmp_path: Path) -> None:
    table = rows(20, 3)
    batch = segments(table["source"], table["target"])
    before = Model.load(own / "model").predict(batch)
    moved = shutil.copytree(own / "model", tmp_path / "model")
    kept = folder / "general"
    kept.rename(tmp_path / "gone")
    try:
        np.testing.assert_array_equal(Model.load(moved).predict(batch), before)
    finally:
        (tmp_path / "gone").rename(kept)
    (inner,) = (moved / "fitted").rglob("model/pipeline.skops")
    content = inner.read_bytes()
    inner.unlink()
    inner.write_bytes(content[:-1] + b"x")
    refuses("pipeline.skops", Model.load, moved)


def test_models_of_other_data_are_taken_alone(folder: Path, tmp_path: Path) -> None:
    base = small_model(folder)
    family = make_extractor({"kind": "general", "model": str(base)}, None)
    learned = rows(60, 1)
    own_texts = segments(learned["source"], learned["target"])
    refuses("learned from 60 of the 60", family.fit, own_texts, {})
    pairs = segments(learned["source"], learned["target"], language_pair=["en-es"] * 60)
    refuses("learned from 60 of the 60", family.fit, pairs, {})
    refuses("is not a model directory", trained, tmp_path, "x", rows(40, 4),
            [{"kind": "general", "model": str(tmp_path / "none")}])  # fmt: skip


@pytest.mark.slow
def test_a_model_that_leaves_the_pair_out_may_have_learned_from_it(tmp_path: Path) -> None:
    scores, given = np.random.default_rng(0).uniform(0, 100, 30).round(2), {}
    for target in ("es", "de", "fr"):
        table = pd.DataFrame({"source": texts(30), "target": texts(30), "score": scores})
        table.to_csv(tmp_path / f"{target}.tsv", sep="\t", index=False)
        given[f"en-{target}"] = section(f"{target}.tsv", target=target, label=SCALE)
    encoder = static_folder(tmp_path / "tiny", Tiny.of_seed())
    dataset = {"format": "language_pairs", "path": str(tmp_path), "pairs": given}
    features = [{"kind": "multilingual", "model": str(encoder), "layers": [], "trees": 5}]
    split = {"by": "language_pair", "folds": 3}
    base = trained(tmp_path, "base", rows(1, 0), features, dataset=dataset, split=split)
    family = make_extractor({"kind": "general", "model": str(base)}, None)
    batch = segments(table["source"], table["target"], language_pair=["en-fr"] * 30)
    assert np.isfinite(family.fit(batch, {}).extract(batch)).all()
    without = segments(table["source"], table["target"])
    refuses("learned from 30 of the 30", family.fit, without, {})


def test_empty_texts_have_no_score(folder: Path) -> None:
    family = make_extractor({"kind": "general", "model": str(small_model(folder) / "model")}, None)
    batch = segments(["a b", " ", "a"], ["c", "c", ""])
    values = family.fit(batch, {}).extract(batch)[:, 0]
    assert np.isnan(values).tolist() == [False, True, True]
