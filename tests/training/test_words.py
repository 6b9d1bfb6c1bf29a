"""Words of a run: who predicted them, that no label of a fold reaches its tags, and what is written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self, cast

import numpy as np
import pytest

from features import Extractor, Feature, FeatureSet, Segments
from features.basics.array_types import FloatArray
from features.word_level.labels import Flags, tag_labels
from features.word_level.places import Kind, Places, WordLevelExtractor
from qe.config import experiment
from qe.data import Split
from qe.data.dataset import LabelScale, concatenate
from qe.data.folds import Fold, make_folds
from qe.getting_started.demo.generation import generate
from qe.models.word_tags import WordTags
from qe.scoring import Options
from qe.training.auxiliary import Auxiliary
from qe.training.check import check
from qe.training.extraction import Extraction
from qe.training.preparation import Prepared
from qe.training.train import train
from qe.training.words import Words, word_section, words_of, write_words
from tests.factories import score_file

ROWS = 60


@dataclass(frozen=True, eq=False)
class _Shares(WordLevelExtractor):
    """P(BAD) of a word is the share of BAD among words of its length in the rows it was fitted on."""

    judges: ClassVar[tuple[Kind, ...]] = ("word", "gap")

    shares: Mapping[int, float] = field(default_factory=dict)
    rows: frozenset[str] = frozenset()
    fits: list[int] = field(default_factory=list)

    @property
    def features(self) -> list[Feature]:
        return [Feature("mean", "mean P(BAD)", "test", "probability")]

    def labels_used(self) -> tuple[str, ...]:
        return ("word_tags",)

    def fit(self, segments: Segments, labels: Mapping[str, Any]) -> Self:
        self.fits.append(len(segments))
        bad = self.bad_places(segments, labels)["word"]
        sizes = _sizes(segments)
        shares = {int(size): float((bad[sizes == size].sum() + 1) / ((sizes == size).sum() + 4))
                  for size in np.unique(sizes)}  # fmt: skip
        return replace(self, shares=shares, rows=frozenset(segments.id))

    def places(self, segments: Segments) -> dict[Kind, Places]:
        assert not self.rows & set(segments.id), "a row judged by a model that saw it"
        words = np.array([self.shares.get(int(size), 0.25) for size in _sizes(segments)])
        offsets = np.asarray(segments.target_tokens.offsets)
        gaps = np.linspace(0.01, 0.2, int(offsets[-1]) + len(segments))
        return {"word": Places(words, offsets), "gap": Places(gaps, offsets + np.arange(len(offsets)))}

    def bad_places(self, segments: Segments, labels: Mapping[str, Any]) -> dict[Kind, Flags]:
        bad = tag_labels(labels["word_tags"], segments.target_tokens)
        return {"word": bad.words, "gap": bad.gaps}

    def columns_of(self, places: Mapping[Kind, Places]) -> FloatArray:
        return np.array([[row.mean()] for row in places["word"].rows()])

    def save(self, path: Path) -> None: ...

    def restore(self, path: Path) -> Self:
        return self


def _sizes(segments: Segments) -> np.ndarray:
    tokens = segments.target_tokens
    return np.array([len(word) for word in tokens.types])[tokens.ids]


def split(name: str, rows: int, seed: int) -> Split:
    """Words of 1 to 6 letters, the longer the more often BAD."""
    rng = np.random.default_rng(seed)
    targets, tags = [], []
    for _ in range(rows):
        sizes = rng.integers(1, 7, rng.integers(2, 9))
        targets.append(" ".join("x" * size for size in sizes))
        bad = rng.random(len(sizes)) < sizes / 8
        gaps = rng.random(len(sizes) + 1) < 0.1
        line = [tag for pair in zip(gaps, [*bad, False], strict=True) for tag in pair][:-1]
        tags.append(" ".join("BAD" if one else "OK" for one in line))
    ids = tuple(f"{name}-{i}" for i in range(rows))
    segments = Segments(tuple(targets), tuple(targets), id=ids)
    return Split(segments, scores=rng.random(rows), word_tags=tuple(tags))


def prepared(
    training: Split,
    folds: int,
    cache: Path | None,
    extractors: Sequence[Extractor] = (_Shares(),),
    auxiliaries: Sequence[Auxiliary] = (),
) -> Prepared:
    """What `words_of` reads of it."""
    feature_set = FeatureSet(({"kind": "shares"},) * len(extractors), tuple(extractors))
    extraction = Extraction(feature_set, cache, cross_fit=3)
    chosen: list[Fold] = make_folds(len(training), folds, seed=0)
    return cast(
        Prepared,
        SimpleNamespace(
            extraction=extraction, training=training, first_folds=chosen, auxiliaries=auxiliaries,
            dataset=SimpleNamespace(splits={"train": training, "dev": split("dev", 5, 9)}),
            experiment=SimpleNamespace(split=SimpleNamespace(train=("train",))),
        ),
    )  # fmt: skip


def made(training: Split, folds: int, cache: Path | None = None) -> Words:
    words = words_of(prepared(training, folds, cache))
    assert words is not None
    return words


@pytest.mark.slow
@pytest.mark.parametrize("folds", [2, 6])  # fits of their own, and shared ones
def test_no_label_of_a_row_reaches_its_tags(folds: int) -> None:
    """`places` asserts that no model judges a row that it saw; calibration and thresholds saw none either."""
    training = split("train", ROWS, 0)
    before = made(training, folds)
    held_out = make_folds(ROWS, folds, seed=0)[0][1]
    assert training.word_tags is not None
    tags = list(training.word_tags)
    swapped = {"OK": "BAD", "BAD": "OK"}
    for row in held_out:
        tags[row] = " ".join(swapped[tag] for tag in tags[row].split())
    after = made(replace(training, word_tags=tuple(tags)), folds)
    for kind in ("word", "gap"):
        one, other = before.out_of_fold[kind], after.out_of_fold[kind]  # type: ignore[index]
        rows = np.isin(np.repeat(np.arange(ROWS), np.diff(one.offsets)), held_out)
        np.testing.assert_array_equal(one.bad[rows], other.bad[rows])
        np.testing.assert_array_equal(one.tags["mcc"][rows], other.tags["mcc"][rows])
        assert (one.bad[~rows] != other.bad[~rows]).any()


@pytest.mark.slow
@pytest.mark.parametrize("folds", [2, 6])
def test_what_is_kept_beside_columns_is_what_fits_would_say(folds: int, tmp_path: Path) -> None:
    training = split("train", ROWS, 1)
    extractor = _Shares()
    ready = prepared(training, folds, tmp_path, (extractor,))
    ready.extraction.folds(training, ready.first_folds)  # the columns, and beside them the words
    ready.extraction.training_table(training, ready.first_folds)
    ready.extraction.scored(training, ready.dataset.splits["dev"].segments)
    there = len(extractor.fits)
    kept, anew = words_of(ready), made(training, folds)
    assert len(extractor.fits) == there  # nothing was fitted for the words alone
    assert kept is not None and kept.learned == anew.learned
    np.testing.assert_array_equal(kept.out_of_fold["gap"].bad, anew.out_of_fold["gap"].bad)
    assert list((tmp_path / "features").glob("shares-*.npz"))


@pytest.mark.slow
def test_words_are_judged_by_what_is_fitted_on_the_datasets_together() -> None:
    """Families of the model are fitted on both datasets, too (`together: true`)."""
    training, other = split("train", ROWS, 0), split("other", 40, 5)
    ready = prepared(training, 6, None)
    section = SimpleNamespace(joint=True, scaling="none")
    scale = LabelScale("da", None, None, True)
    added = Auxiliary(cast(Any, section), other, scale, scale, np.ones(40), ready.extraction, "other", {}, ())
    words = words_of(prepared(training, 6, None, auxiliaries=(added,)))
    assert words is not None
    both = concatenate([training, other])
    model = _Shares().fit(both.segments, both.labels())
    places = model.places(ready.dataset.splits["dev"].segments)["word"]
    np.testing.assert_array_equal(
        words.splits["dev"]["word"].bad, words.learned.places["word"].probability(places.bad)
    )
    raw = Places(words.raw["word"], words.out_of_fold["word"].offsets).rows()
    for rows, held_out in ready.first_folds:
        scored = training.segments.take(held_out)
        fold = concatenate([training.take(rows), other.take(added.rows_without(scored))])
        places = _Shares().fit(fold.segments, fold.labels()).places(scored)["word"]
        np.testing.assert_array_equal(np.concatenate([raw[row] for row in held_out]), places.bad)


def test_figures_are_those_of_the_tags(tmp_path: Path) -> None:
    from sklearn.metrics import matthews_corrcoef

    words = made(split("train", ROWS, 2), 2)
    section = word_section(words, 200, 0)
    assert section is not None and set(section) == {"words", "gaps"}
    shown = section["words"]
    expected = matthews_corrcoef(words.gold["word"], words.out_of_fold["word"].tags["mcc"])
    assert shown["tagged_by"]["mcc"]["mcc"] == pytest.approx(expected) and expected > 0.2
    assert shown["tags"] == len(words.gold["word"]) and shown["tagged_by"]["f1_mult"]["ece_by_chance"]
    assert 0 <= shown["ece_uncalibrated"] <= 1 and json.dumps(section, allow_nan=False)


@pytest.mark.slow
def test_files_have_the_layout_of_the_task(tmp_path: Path) -> None:
    words = made(split("train", ROWS, 3), 2)
    write_words(tmp_path, words)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "dev.probs", "dev.tags", "train.probs", "train.tags",
    ]  # fmt: skip
    dev, places = split("dev", 5, 9), words.splits["dev"]
    lines = [line.split() for line in (tmp_path / "dev.tags").read_text().splitlines()]
    assert [len(line) for line in lines] == [2 * n + 1 for n in dev.segments.target_tokens.lengths]
    flat = [tag == "BAD" for line in lines for tag in line[1::2]]
    assert flat == places["word"].tags["f1_mult"].tolist()
    numbers = [
        float(v) for line in (tmp_path / "dev.probs").read_text().splitlines() for v in line.split()[::2]
    ]
    np.testing.assert_allclose(numbers, places["gap"].bad, atol=1e-6)


def test_a_model_that_judges_no_words_has_none() -> None:
    training = split("train", 8, 4)
    assert words_of(prepared(training, 2, None, ())) is None and word_section(None, 100, 0) is None
    alike = replace(training, word_tags=tuple(tags.replace("BAD", "OK") for tags in training.word_tags or ()))
    assert words_of(prepared(alike, 2, None)) is None


@pytest.mark.slow
def test_training_and_scoring_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From an experiment to `qe score --tokens`: the tags of the test split, and the model's folder."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)
    data = generate(tmp_path / "data", pairs=600, train=60, test=10, new=5)
    lines = {
        "name": "words",
        "dataset": {
            "format": "parallel_text",
            "path": str(tmp_path / "data"),
            "label": {"name": "effort", "low": 1, "high": 5, "higher_is_better": True},
            "source_language": "en",
            "target_language": "es",
            "splits": {
                name: {c: f"{name}.{c}" for c in ("source", "target", "post_edit", "scores")}
                for name in ("train", "test")
            },
        },
        "resources": {"source": str(data.corpus_source), "target": str(data.corpus_target)},
        "features": [{"kind": "word_quality", "rounds": 5}, {"kind": "source_word_quality", "rounds": 5}],
        "split": {"folds": 2},
        "learner": {"kind": "ridge"},
        "search": {"trials": 1},
        "evaluation": {"samples": 100},
        "tracking": {"register": False},
    }
    (tmp_path / "words.yaml").write_text(json.dumps(lines))
    outcome = train(
        check(experiment.load(tmp_path / "words.yaml")), tmp_path / "out", cache=tmp_path / "cache"
    )
    assert set(outcome.report["words"]) == {"words", "gaps", "source"}
    tags = WordTags.load(tmp_path / "out" / "model")
    assert tags is not None and set(tags.places) == {"word", "gap", "source"} and tags.insertions >= 1
    assert (tmp_path / "out" / "plots" / "reliability.png").stat().st_size > 10_000
    columns = zip(
        *(data.column("test", c).read_text().splitlines() for c in ("source", "target")), strict=True
    )
    (tmp_path / "t.tsv").write_text("source\ttarget\n" + "".join("\t".join(row) + "\n" for row in columns))
    score_file(
        tmp_path / "out" / "model", [tmp_path / "t.tsv"], tmp_path / "t.jsonl",
        options=Options(tokens=True), workers=1,
    )  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    written = (tmp_path / "out" / "words" / "test.tags").read_text().splitlines()
    assert [row["tags"] for row in rows] == [line.split()[1::2] for line in written]
    assert [row["gap_tags"] for row in rows] == [line.split()[::2] for line in written]
    source = (tmp_path / "out" / "words" / "test.src_tags").read_text().splitlines()
    assert [row["source_tags"] for row in rows] == [line.split() for line in source]
