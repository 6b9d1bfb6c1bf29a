"""The family `multilingual`: ranks, ridges that leave pairs out, log-probabilities, against plain numpy."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features.core.segments import Segments
from features.multilingual import Multilingual
from tests.factories import refuses
from tests.features.encoding.made import Tiny, static_folder

for package in ("safetensors", "tokenizers"):
    pytest.importorskip(package)

GENERATOR = np.random.default_rng(0)
PAIRS = ("en-de",) * 30 + ("ne-en",) * 30 + ("ro-en",) * 30


def texts(count: int) -> tuple[str, ...]:
    return tuple("".join(GENERATOR.choice(list("abcdefghij"), n)) for n in GENERATOR.integers(3, 20, count))


SPOKEN = ("",) * 60 + tuple(
    " ".join(f"{value:.3f}" for value in -GENERATOR.exponential(size=5)) for _ in range(30)
)
SEGMENTS = Segments(texts(90), texts(90), language_pair=PAIRS, token_log_probabilities=SPOKEN)
SCORES = GENERATOR.normal(size=90)


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Multilingual:
    folder = static_folder(tmp_path_factory.mktemp("encoder") / "tiny", Tiny.of_seed())
    return Multilingual(folder, layers=(), trees=20).fit(SEGMENTS, {"scores": SCORES})


def column(family: Multilingual, name: str, segments: Segments = SEGMENTS) -> Any:
    return family.extract(segments)[:, family.names.index(f"multilingual_{name}")]


def of_pair(pair: str | None, rows: slice = slice(0, 30)) -> Segments:
    taken = SEGMENTS.take(np.arange(90)[rows])
    return replace(taken, language_pair=None if pair is None else (pair,) * len(taken))


def test_ranks_are_those_of_the_pair_or_of_all_pairs(family: Multilingual) -> None:
    values = column(family, "cosine_last")
    for pair, rows in (("en-de", slice(0, 30)), ("km-en", slice(0, 90)), (None, slice(0, 90))):
        shares = np.linspace(0, 1, 201)
        expected = np.interp(values[:30], np.quantile(values[rows], shares), shares)
        assert column(family, "cosine_last_rank", of_pair(pair)) == pytest.approx(expected)


def test_a_row_is_predicted_without_labels_of_its_pair(family: Multilingual) -> None:
    ridge = Multilingual(family.model, layers=(), trees=0).fit(SEGMENTS, {"scores": SCORES})
    vectors = family._reader.pairs(SEGMENTS)
    v, u = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (vectors.first, vectors.second))
    joint = np.hstack([u, v, np.abs(u - v), u * v])
    for pair, held_out in (("en-de", slice(0, 30)), ("km-en", slice(0, 0))):
        rows = np.delete(np.arange(90), held_out)
        x, y = joint[rows] - joint[rows].mean(axis=0), SCORES[rows] - SCORES[rows].mean()
        slopes = np.linalg.solve(x.T @ x + 0.002 * len(x) * np.eye(x.shape[1]), x.T @ y)
        expected = (joint[:30] - joint[rows].mean(axis=0)) @ slopes + SCORES[rows].mean()
        assert column(ridge, "prediction", of_pair(pair)) == pytest.approx(expected, rel=1e-6)
    others = np.where(np.arange(90) < 30, GENERATOR.normal(size=90), SCORES)
    again = Multilingual(family.model, layers=(), trees=20).fit(SEGMENTS, {"scores": others})
    before, after = column(family, "prediction"), column(again, "prediction")
    assert after[:30] == pytest.approx(before[:30], rel=1e-9) and after[60:] != pytest.approx(before[60:])


def test_trees_learn_what_vectors_show(tmp_path: Path) -> None:
    """The label of 900 rows is their cosine: with trees, predictions order them almost as it does."""
    segments = Segments(texts(900), texts(900), language_pair=tuple(p for p in PAIRS for _ in range(10)))
    folder = static_folder(tmp_path / "tiny", Tiny.of_seed())
    bare = Multilingual(folder, layers=(), trees=0).fit(segments, {"scores": np.zeros(900)})
    cosine = column(bare, "cosine_last", segments)
    found = []
    for trees in (0, 200):
        fitted = Multilingual(folder, layers=(), trees=trees, penalty=1e3).fit(segments, {"scores": cosine})
        found.append(np.corrcoef(column(fitted, "prediction", segments), cosine)[0, 1])
    assert found[0] < 0.8 < 0.9 < found[1]


def test_log_probabilities_are_used_where_they_are(family: Multilingual) -> None:
    spoken = np.array([list(map(float, text.split())) for text in SPOKEN[60:]])
    assert column(family, "decoder").tolist() == [0] * 60 + [1] * 30
    assert column(family, "decoder_mean")[60:] == pytest.approx(spoken.mean(axis=1))
    assert column(family, "decoder_lowest")[60:] == pytest.approx(spoken.min(axis=1))
    assert column(family, "decoder_worst")[60:] == pytest.approx(spoken.min(axis=1))  # one of five
    assert np.isnan(column(family, "decoder_sd")[:60]).all()
    own = column(family, "decoder_mean_rank", of_pair("ro-en", slice(60, 90)))
    assert own.min() == 0 and own.max() == 1
    # A pair learned from without log-probabilities has the ranks of all.
    assert column(family, "decoder_mean_rank", of_pair("en-de", slice(60, 90))) == pytest.approx(own)
    bare = replace(SEGMENTS, token_log_probabilities=None)
    assert np.isnan(column(family, "decoder_mean_rank", bare)).all()
    wrong = replace(of_pair("ro-en"), token_log_probabilities=("-1 x",) * 30)
    refuses("^token_log_probabilities: .*'x'", family.extract, wrong)


def test_one_pair_is_not_enough(family: Multilingual) -> None:
    fresh = Multilingual(family.model, layers=())
    refuses("several language pairs", fresh.fit, of_pair("en-de"), {"scores": SCORES[:30]})
