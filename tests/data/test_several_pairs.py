"""The format `language_pairs`: several pairs as one dataset, and folds that hold out whole pairs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features.text.languages import speaks
from qe.data.dataset import Dataset
from qe.data.folds import groups_of, make_folds
from qe.data.format import make_format
from tests.factories import refuses

LABEL = {"name": "da", "higher_is_better": True}


def table(folder: Path, pair: str, scores: dict[str, list[float]]) -> dict[str, Any]:
    (folder / pair).mkdir()
    for split, values in scores.items():
        rows = [f"source {i}\ttarget {i}\t{value}" for i, value in enumerate(values)]
        (folder / pair / f"{split}.tsv").write_text("\n".join(["source\ttarget\tda", *rows, ""]), "utf-8")
    source, target = pair.split("-")
    return {
        "format": "table", "path": pair, "splits": {split: f"{split}.tsv" for split in scores},
        "columns": {"scores": "da"}, "label": LABEL, "source_language": source, "target_language": target,
    }  # fmt: skip


def two_pairs(folder: Path, **options: Any) -> Dataset:
    pairs = {
        "en-de": table(folder, "en-de", {"train": [1, 2, 3], "dev": [4]}),
        "ne-en": table(folder, "ne-en", {"train": [10, 30, 20, 40]}),
    }
    return make_format("language_pairs", {"pairs": pairs, **options}).read(folder)


def test_labels_are_standardised_by_pair_with_the_values_of_its_training_rows(tmp_path: Path) -> None:
    data = two_pairs(tmp_path)
    assert list(data.splits) == ["train", "dev-en-de"]
    train, dev = data.split("train"), data.split("dev-en-de")
    german, nepali = np.array([1.0, 2, 3]), np.array([10.0, 30, 20, 40])
    expected = np.concatenate([(y - y.mean()) / y.std() for y in (german, nepali)])
    assert train.scores == pytest.approx(expected)
    assert dev.scores == pytest.approx([(4 - german.mean()) / german.std()])
    assert train.segments.language_pair == ("en-de",) * 3 + ("ne-en",) * 4
    assert train.segments.id[:4] == ("en-de/train-1", "en-de/train-2", "en-de/train-3", "ne-en/train-1")
    assert train.segments.token_log_probabilities == ("",) * 7
    assert train.segments.source_tokenizer.language == "mul"


def test_labels_may_stay_as_they_are(tmp_path: Path) -> None:
    scores = two_pairs(tmp_path, scaling="none").split("train").scores
    assert scores is not None and scores.tolist() == [1, 2, 3, 10, 30, 20, 40]


def test_a_fold_holds_out_whole_pairs(tmp_path: Path) -> None:
    segments = two_pairs(tmp_path).split("train").segments
    groups = groups_of(segments, "language_pair")
    held_out = [test.tolist() for _, test in make_folds(7, 2, scheme="language_pair", documents=groups)]
    assert sorted(held_out) == [[0, 1, 2], [3, 4, 5, 6]]
    refuses("no language pairs", make_folds, 7, 2, scheme="language_pair")


def test_what_is_wrong_with_a_pair_names_it(tmp_path: Path) -> None:
    entry = table(tmp_path, "en-de", {"train": [1, 2]})
    refuses("no language pair is given", make_format, "language_pairs", {"pairs": {}})
    refuses("dataset.pairs.en-de: the key 'path'", make_format, "language_pairs",
        {"pairs": {"en-de": {"format": "table"}}})  # fmt: skip
    refuses("en-de.*no key 'nonesuch'", make_format, "language_pairs",
        {"pairs": {"en-de": {**entry, "nonesuch": 1}}})  # fmt: skip
    hter = {
        **table(tmp_path, "en-es", {"train": [0, 1]}),
        "label": {"name": "ter", "higher_is_better": False},
    }
    mixed = make_format("language_pairs", {"pairs": {"en-de": entry, "en-es": hter}})
    refuses("different names, limits or directions: en-de da, en-es ter", mixed.read, tmp_path)


def test_several_languages_have_every_language() -> None:
    assert speaks("km", "mul") and not speaks("mul", "km")
