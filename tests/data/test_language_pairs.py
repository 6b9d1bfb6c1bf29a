"""Tables of several language pairs: rows of other pairs are left out; several pairs as one dataset."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from features.text.languages import speaks
from qe.data.dataset import Dataset
from qe.data.folds import groups_of, make_folds
from qe.data.format import make_format
from qe.getting_started.init.table import Wishes, read_labelled
from tests.factories import Find, refuses

EN_DE = {"source_language": "en", "target_language": "de"}
SCORE = {"name": "score", "low": None, "high": None, "higher_is_better": True}
# Headers, the languages of four rows -> the rows that are en-de, from 0; None: all (no column says a pair).
CASES: dict[str, tuple[list[str], list[list[str]], list[int] | None]] = {
    "lp": (["lp"], [["en-de"], ["zh-en"], ["en-de"], ["de-en"]], [0, 2]),
    "pair": (["pair"], [["en_de"], ["en_fr"], ["EN_DE"], [""]], [0, 2]),
    "language_pair": (["language_pair"], [["en_US-de_AT"], ["en-zh-CN"], ["eng-deu"], ["x"]], [0, 2]),
    "Language Pair": (["Language Pair"], [["English-German"], ["Czech-English"], ["en > de"], ["?"]], [0, 2]),
    "langs": (["langs"], [["ende"], ["zhen"], ["en→de"], ["en2fr"]], [0, 2]),
    "two columns": (
        ["src_lang", "tgt_lang"], [["en", "de"], ["en", "fr"], ["en-GB", "de-AT"], ["de", "en"]], [0, 2],
    ),
    "two columns, other names": (
        ["Source Language", "Target Language"],
        [["English", "German"], ["French", "German"], ["eng", "ger"], ["", ""]],
        [0, 2],
    ),
    "all of the pair": (["lp"], [["en-de"]] * 4, [0, 1, 2, 3]),
    "no language pairs": (["pair"], [["1"], ["doc-3"], ["train"], ["1-2"]], None),
    "one side alone": (["src_lang"], [["en"], ["fr"], ["en"], ["en"]], None),
}  # fmt: skip


def rows(case: str) -> list[dict[str, object]]:
    headers, languages, _ = CASES[case]
    return [
        {"source": f"s{i}", "target": f"t{i}", "score": i / 2, **dict(zip(headers, row, strict=True))}
        for i, row in enumerate(languages)
    ]


def of_table(case: str, folder: Path) -> Dataset:
    pd.DataFrame(rows(case)).to_csv(folder / "data.tsv", sep="\t", index=False)
    form = make_format("table", {**EN_DE, "label": SCORE, "columns": {"scores": "score"}})
    return form.read(folder / "data.tsv")


def of_frame(case: str, folder: Path) -> Dataset:
    return Dataset.from_frame(pd.DataFrame(rows(case)), higher_is_better=True, **EN_DE)  # type: ignore[arg-type]


def of_label_studio(case: str, folder: Path) -> Dataset:
    tasks = [
        {"id": i, "data": row, "annotations": [{"result": [{"from_name": "q", "value": {"rating": i / 2}}]}]}
        for i, row in enumerate(rows(case))
    ]
    (folder / "tasks.json").write_text(json.dumps(tasks) + "\n")
    return make_format("label_studio", {**EN_DE, "label": SCORE}).read(folder / "tasks.json")


def of_mqm(case: str, folder: Path) -> Dataset:
    frame = pd.DataFrame(rows(case)).drop(columns="score")
    frame = frame.assign(
        system="A", doc="d", seg_id=range(4), rater="r", category="No-error", severity="No-error"
    )
    frame.to_csv(folder / "mqm.tsv", sep="\t", index=False)
    return make_format("mqm", EN_DE).read(folder / "mqm.tsv")


READERS = [of_table, of_frame, of_label_studio, of_mqm]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("case", CASES)
def test_rows_of_other_pairs_are_left_out(
    case: str, read: Callable[[str, Path], Dataset], tmp_path: Path
) -> None:
    expected = CASES[case][2]
    dataset = read(case, tmp_path)
    kept = range(4) if expected is None else expected
    assert dataset.splits["train"].segments.source == tuple(f"s{i}" for i in kept)
    assert len(dataset.notes) == (len(kept) < 4)
    assert all(f"{4 - len(kept)} rows" in note for note in dataset.notes)


@pytest.mark.parametrize("read", READERS)
def test_no_row_of_the_pair(
    read: Callable[[str, Path], Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CASES, "none", (["lp"], [["zh-en"]] * 4, []))
    refuses("pair en-de; .* zh-en 4", read, "none", tmp_path)


def test_init_takes_the_rows_of_the_pair(shared_data: Find) -> None:
    path = shared_data("cases/pairs-column") / "lp.csv"
    table = read_labelled(path, Wishes(languages=("en", "es"), higher_is_better=True))
    assert len(table.split) == 40 and any("zh-en 10" in note for note in table.notes)


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


def test_several_languages_have_every_language() -> None:
    assert speaks("km", "mul") and not speaks("mul", "km")
