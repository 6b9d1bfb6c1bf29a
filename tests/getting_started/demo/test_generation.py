"""The demo data: deterministic, in the promised shape, flawed in the promised ways, learnable."""

import itertools
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from features.storage.files import sha256
from qe.getting_started.demo.generation import JUDGES, SEVERITY, DemoData, Translator, generate
from qe.getting_started.demo.language import (
    MIXED_REGISTERS,
    PLAIN_REGISTERS,
    Dice,
    Grammar,
    Lexicon,
    make_lexicon,
)


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DemoData:
    return generate(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return make_lexicon(Dice(np.random.SeedSequence(5)))


@pytest.mark.slow
def test_same_seed_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from qe.getting_started.demo.generation import generate;"
        "generate(Path(sys.argv[1]), seed=7, pairs=300, train=30, test=20, new=20)"
    )
    hashes = []
    for hash_seed in ("0", "4711"):
        directory = tmp_path / hash_seed
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run([sys.executable, "-c", script, str(directory)], check=True, env=environment)
        hashes.append([(f.name, sha256(f)) for f in sorted(directory.iterdir())])
    assert hashes[0] == hashes[1]


@pytest.mark.slow
def test_parts_depend_only_on_their_own_size(data: DemoData, tmp_path: Path) -> None:
    small = generate(tmp_path, seed=data.seed, pairs=50, train=data.train, test=10, new=5)
    assert lines(small.corpus_source) == lines(data.corpus_source)[:50]
    assert lines(small.column("train", "target")) == lines(data.column("train", "target"))
    assert lines(small.column("test", "judges")) == lines(data.column("test", "judges"))[:10]


@pytest.mark.slow
def test_file_shapes(data: DemoData) -> None:
    assert sorted(data.files) == sorted(data.directory.iterdir())
    assert len(lines(data.corpus_source)) == len(lines(data.corpus_target)) == 20_000
    for split, size in (("train", 1200), ("test", 400)):
        for name in ("source", "target", "post_edit", "scores", "judges", "weights"):
            assert len(lines(data.column(split, name))) == size, (split, name)
    header, *rows = lines(data.new_translations)
    assert header == "id\tsource\ttarget"
    fields = [row.split("\t") for row in rows]
    assert len(rows) == 2000 and {len(f) for f in fields} == {3}
    assert len({f[0] for f in fields}) == 2000


@pytest.mark.slow
def test_no_segment_is_empty_and_splits_hardly_overlap(data: DemoData) -> None:
    columns = [data.corpus_source, data.corpus_target]
    columns += [data.column(s, c) for s in ("train", "test") for c in ("source", "target", "post_edit")]
    assert all(line.strip() for path in columns for line in lines(path))
    seen = set(lines(data.corpus_source)) | set(lines(data.column("train", "source")))
    assert sum(line in seen for line in lines(data.column("test", "source"))) <= 4


def test_scores_are_weighted_means_on_the_scale(data: DemoData) -> None:
    scores = np.loadtxt(data.column("train", "scores"))
    judges, weights = (np.loadtxt(data.column("train", name)) for name in ("judges", "weights"))
    assert np.abs((judges * weights).sum(axis=1) - scores).max() <= 0.05 + 1e-9
    assert np.allclose(weights.sum(axis=1), 1)
    assert 3.2 <= scores.mean() <= 3.6 and 0.75 <= scores.std() <= 1.0
    assert scores.min() >= 1 and scores.max() == 5
    for column in judges.T:
        assert set(column) == {1, 2, 3, 4, 5}


def test_judges_agree_but_differ_in_strictness(data: DemoData) -> None:
    judges = np.loadtxt(data.column("train", "judges"))
    correlations = np.corrcoef(judges.T)[np.triu_indices(3, 1)]
    assert ((correlations > 0.45) & (correlations < 0.85)).all()
    order = np.argsort([one.strictness for one in JUDGES])
    means = judges.mean(axis=0)[order]
    assert (np.diff(means) < -0.15).all()


def test_post_edits_differ_where_there_are_errors(lexicon: Lexicon) -> None:
    dice = Dice(np.random.SeedSequence(11))
    grammar, translator = Grammar(lexicon, dice), Translator(dice)
    counts: Counter[str] = Counter()
    for _ in range(600):
        words = grammar.sentence(MIXED_REGISTERS).target
        output = translator.translate(words)
        right = tuple(word.surface for word in words)
        assert (output.tokens == right) == (not output.errors)
        counts.update(output.errors)
    assert set(counts) == set(SEVERITY)
    assert min(counts.values()) > 0.02 * sum(counts.values())


def test_some_translations_are_right_and_scored_higher(data: DemoData) -> None:
    target, edited = (np.array(lines(data.column("train", c))) for c in ("target", "post_edit"))
    scores = np.loadtxt(data.column("train", "scores"))
    same = target == edited
    assert 0.02 < same.mean() < 0.3
    assert scores[same].mean() > scores[~same].mean() + 0.8


def test_noun_phrases_agree_and_adjectives_change_sides(lexicon: Lexicon) -> None:
    grammar = Grammar(lexicon, Dice(np.random.SeedSequence(12)))
    checked = 0
    for _ in range(400):
        phrase = grammar.sentence(PLAIN_REGISTERS)
        for first, second in zip(phrase.target, phrase.target[1:], strict=False):
            if (first.kind, second.kind) == ("noun", "adjective"):
                assert first.sense is not None
                assert second.form == 2 * first.sense.gender + first.form
                assert phrase.source.index(second.source) < len(phrase.source) - 1
                checked += 1
            if (first.kind, second.kind) == ("determiner", "noun"):
                assert second.sense is not None
                assert first.form == 2 * second.sense.gender + second.form
    assert checked > 100


def test_translations_depend_on_the_topic(lexicon: Lexicon) -> None:
    nouns = lexicon.nouns.lemmas
    ambiguous = [lemma for lemma in nouns if len(lemma.senses) > 1]
    assert 0.4 < len(ambiguous) / len(nouns) < 0.6
    assert np.mean([len(set(lemma.by_topic)) > 1 for lemma in ambiguous]) > 0.8
    assert 1500 < len(lexicon) < 3000


@pytest.mark.slow
def test_quality_is_learnable_and_not_from_length_alone(data: DemoData) -> None:
    source, target = (
        Counter(w for line in lines(path) for w in line.split())
        for path in (data.corpus_source, data.corpus_target)
    )
    pairs = Counter(
        pair
        for line in lines(data.corpus_target)
        for words in [line.split()]
        for pair in itertools.pairwise(words)
    )

    def simple(split: str) -> np.ndarray:
        rows = []
        columns = (lines(data.column(split, name)) for name in ("source", "target"))
        for s, t in zip(*columns, strict=True):
            left, right = s.split(), t.split()
            bigrams = [np.log(pairs[p] + 0.1) for p in itertools.pairwise(right)]
            logs = [np.mean(np.log([c[w] + 0.5 for w in ws])) for c, ws in ((source, left), (target, right))]
            rows.append([len(left), len(right), *logs, np.mean(bigrams) if bigrams else 0.0])
        return np.array(rows)

    gold = {split: np.loadtxt(data.column(split, "scores")) for split in ("train", "test")}

    def pearson(columns: list[int]) -> float:
        model = make_pipeline(StandardScaler(), RidgeCV())
        model.fit(simple("train")[:, columns], gold["train"])
        return float(np.corrcoef(model.predict(simple("test")[:, columns]), gold["test"])[0, 1])

    everything, length_only = pearson([0, 1, 2, 3, 4]), pearson([0, 1])
    assert 0.5 < everything < 0.8
    assert 0.15 < length_only < 0.45
    assert everything > length_only + 0.15


def test_other_files_stay_and_nothing_temporary_is_left(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    written = generate(tmp_path, pairs=5, train=5, test=5, new=5).files
    assert {f.name for f in tmp_path.iterdir()} == {"mine.txt", *(f.name for f in written)}
