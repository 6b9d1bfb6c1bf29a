"""The guard: rubbish goes to the worst label with a mark, translations stay, rows are judged alone."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from features import Segments, Tokenizer
from qe.data import LabelScale
from qe.data.perturbation import names, perturbed
from qe.getting_started.demo.generation import generate
from qe.models.guard.columns import COLUMNS, columns
from qe.models.guard.guard import MARKED, Guard
from qe.models.guard.knowledge import Knowledge
from tests.factories import refuses

pytestmark = pytest.mark.slow

WORST, BEST = 1.0, 5.0
Texts = tuple[Segments, Segments]  # to learn from, and held out
Fitted = tuple[Guard, np.ndarray]
# Of the same spirit as what the guard learns from, but none of it.
UNKNOWN = {
    "banana": lambda text: "banana banana banana",
    "dots": lambda text: text + " ." * 20,
    "thumbs": lambda text: "👍👍👍",
    "reversed letters": lambda text: text[::-1],
    "twice each word": lambda text: " ".join(word for word in text.split() for _ in range(4)),
    "tabs": lambda text: text + "\t#" * 30,
    "brackets": lambda text: "[" * 15 + text + "]" * 15,
    "empty parts": lambda text: "- - - - - -",
}


def read(folder: Path, split: str, rows: int) -> Segments:
    sides = (
        (folder / f"{split}.{side}").read_text("utf-8").splitlines()[:rows] for side in ("source", "target")
    )
    return Segments(*map(tuple, sides), Tokenizer("en"), Tokenizer("es"))


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Texts:
    """Rows to learn from, and rows that are held out."""
    folder = tmp_path_factory.mktemp("texts")
    generate(folder, pairs=1, train=800, test=200, new=1)
    return read(folder, "train", 800), read(folder, "test", 200)


@pytest.fixture(scope="module")
def fitted(texts: Texts) -> Fitted:
    guard, unseen = Guard.fit(texts[0])
    return replace(guard, worst=WORST, slope=0.3), unseen


def test_good_text_is_unmarked(fitted: Fitted, texts: Texts) -> None:
    guard, unseen = fitted
    assert len(unseen) == 800 and np.isfinite(unseen).all()
    seen = guard.see(texts[1])
    assert seen.marked.mean() <= 0.03
    assert guard.outside(unseen).mean() == pytest.approx(0.5, abs=0.02)
    assert not any(seen.reasons()[i] for i in np.flatnonzero(~seen.marked))


@pytest.mark.parametrize("name", names("destroying"))
def test_what_is_destroyed_scores_below_its_original(name: str, fitted: Fitted, texts: Texts) -> None:
    guard = fitted[0]
    same = np.full(200, 4.0)  # a model that sees nothing
    own = guard.lowered(same, guard.see(texts[1]).decided)
    changed, rows = perturbed(texts[1], name, seed=5)
    seen = guard.see(changed)
    spoilt = guard.lowered(same[: len(rows)], seen.decided)
    assert (spoilt < own[rows]).mean() >= 0.95
    assert (spoilt >= WORST).all()
    assert all(bool(reason) == marked for reason, marked in zip(seen.reasons(), seen.marked, strict=True))


@pytest.mark.parametrize("name", sorted(UNKNOWN))
def test_rubbish_that_it_never_saw_is_marked(name: str, fitted: Fitted, texts: Texts) -> None:
    held_out = texts[1]
    spoilt = Segments(
        held_out.source, tuple(map(UNKNOWN[name], held_out.target)), Tokenizer("en"), Tokenizer("es")
    )
    seen = fitted[0].see(spoilt)
    assert seen.marked.mean() >= 0.95
    assert fitted[0].lowered(np.full(200, BEST), seen.decided).mean() <= 2.0


def test_neutral_changes(fitted: Fitted, texts: Texts) -> None:
    own = fitted[0].see(texts[1]).decided
    for name in names("harmless"):
        changed, rows = perturbed(texts[1], name)
        if len(rows):
            np.testing.assert_allclose(fitted[0].see(changed).decided, own[rows], atol=1e-9)


def test_what_was_tokenized_before_changes_nothing(texts: Texts) -> None:
    fresh = replace(texts[0])
    before = replace(texts[0])
    _ = before.source_tokens, before.target_tokens
    rows = list(range(100, 260))
    one, two = (Guard.fit(each.take(rows)) for each in (fresh, before))
    assert (one[1] == two[1]).all()
    assert (one[0].see(texts[1]).decided == two[0].see(texts[1]).decided).all()


def test_a_row_is_the_same_alone(fitted: Fitted, texts: Texts) -> None:
    together = fitted[0].see(texts[1])
    for row in range(0, 200, 37):
        alone = fitted[0].see(texts[1].take([row]))
        assert alone.decided[0] == together.decided[row]
        assert (alone.unusual[0] == together.unusual[row]).all()


def test_saved_and_loaded_it_says_the_same(fitted: Fitted, texts: Texts, tmp_path: Path) -> None:
    fitted[0].save(tmp_path)
    loaded = Guard.load(tmp_path)
    assert (loaded.see(texts[1]).decided == fitted[0].see(texts[1]).decided).all()
    assert Guard.find(tmp_path / "elsewhere") is None
    content = json.loads((tmp_path / "guard.json").read_text("utf-8"))
    (tmp_path / "guard.json").write_text(json.dumps({**content, "worst": "x"}))
    refuses("guard", Guard.load, tmp_path)


@pytest.mark.parametrize(
    "name", ["held_out_log_odds", "detector.reference", "knowledge.texts/keys", "knowledge.texts/counts"]
)
def test_damaged_arrays_are_refused(name: str, fitted: Fitted, tmp_path: Path) -> None:
    fitted[0].save(tmp_path)
    np.save(tmp_path / f"guard.{name}.npy", np.array([3, 2, 1]))
    refuses("guard", Guard.load, tmp_path)


def test_signs_of_odd_texts_are_numbers(texts: Texts) -> None:
    knowledge = Knowledge.learn(texts[0])
    odd = ("", " ", ".", "\u200b", "a" * 5000, "שלום", "好", "\x00", "🏳️‍🌈" * 3, "1 2 3")
    signs = columns(Segments(tuple("x y z" for _ in odd), odd, Tokenizer("en"), Tokenizer("es")), knowledge)
    assert signs.shape == (len(odd), len(COLUMNS)) and np.isfinite(signs).all()
    assert columns(Segments((), (), Tokenizer("en"), Tokenizer("es")), knowledge).shape == (0, len(COLUMNS))


def _with_subwords(segments: Segments) -> Segments:
    """The same rows, and the subwords of a decoder that wrote these translations."""
    written = (" ".join(word[:3] + "@@ " + word[3:] for word in t.split()) for t in segments.target)
    return replace(segments, subwords=tuple(text.replace("&", "&amp;") for text in written))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def test_subwords_of_another_text_are_noticed(texts: Texts) -> None:
    learned, held_out = map(_with_subwords, texts)
    guard = Guard.fit(learned.take(range(100)))[0]
    assert not guard.see(held_out).mismatched.any()
    noticed = set()
    for name in names():
        changed, _ = perturbed(held_out, name)
        seen = guard.see(changed)
        own = [_letters(text.replace("@@ ", "")) for text in changed.subwords or ()]
        differs = np.array([a != _letters(b) for a, b in zip(own, changed.target, strict=True)], np.bool_)
        assert (seen.mismatched == differs).all() and seen.marked[differs].all(), name
        assert all("subwords make another text" in seen.reasons()[i] for i in np.flatnonzero(differs))
        noticed |= {name} if differs.any() else set()
    unnoticed = {"marks_appended", "upper_case", *names("harmless")}
    assert set(names("destroying")) - unnoticed <= noticed and not noticed & unnoticed


def test_a_decoder_whose_subwords_never_fit_the_text_marks_no_row(texts: Texts) -> None:
    learned, held_out = (
        replace(each, subwords=tuple("und " + t for t in each.target))
        for each in (texts[0].take(range(100)), texts[1])
    )
    assert Guard.fit(learned)[0].see(held_out).mismatched.mean() <= 0.05


def test_few_rows_lose_little(texts: Texts) -> None:
    guard, unseen = Guard.fit(texts[0].take(range(30)))
    scores = np.linspace(2, 4, 30)
    guard = guard.for_scores(scores, LabelScale("x", 1, 5, True), scores)
    scores = np.full(30, 3.0)
    assert np.sort(np.abs(guard.lowered(scores, unseen) - scores))[-3] < 0.1  # two may be outliers
    worse = replace(guard, worst=0.6, sign=-1.0)  # of labels such as HTER
    assert (worse.lowered(np.full(30, 0.3), np.full(30, 99.0)) == 0.6).all()
    assert guard.see(texts[1].take([0])).outside[0] < MARKED


def test_out_of_fold_scores_are_lowered_fold_by_fold(fitted: Fitted) -> None:
    guard, unseen = fitted
    scale, scores = LabelScale("x", None, None, True), np.random.default_rng(0).normal(size=800)
    labels = 2 * scores
    chosen = guard.for_scores(scores, scale, labels)
    assert chosen.slope == pytest.approx(0.3 * scores.std() * 800 / 900) and chosen.worst == scores.min()
    even, odd = np.arange(0, 800, 2), np.arange(1, 800, 2)
    folds = [(odd, even), (even, odd)]
    lowered = guard.held_out_lowered(scores, unseen, folds, scale, labels)
    moved = np.where(np.arange(800) % 2, scores + 9, scores)  # what the other fold's model may do
    assert np.array_equal(guard.held_out_lowered(moved, unseen, folds, scale, labels)[even], lowered[even])
    assert np.corrcoef(lowered, chosen.lowered(scores, unseen))[0, 1] > 0.99


def test_scores_that_hardly_differ_lose_a_part_of_the_deviation(fitted: Fitted) -> None:
    guard, unseen = fitted
    scale, rng = LabelScale("x", None, None, True), np.random.default_rng(0)
    scores, labels = rng.normal(0, 0.01, 800), rng.normal(size=800)
    chosen = guard.for_scores(scores, scale, labels)
    assert chosen.slope == pytest.approx(0.1 * labels.std() * 800 / 900)
    folds = [(np.arange(400, 800), np.arange(400)), (np.arange(400), np.arange(400, 800))]
    lowered = guard.held_out_lowered(scores, unseen, folds, scale, labels)
    wild = np.where(np.arange(800) < 400, 99.0, labels)  # labels of the rows that the first fold holds out
    other = guard.held_out_lowered(scores, unseen, folds, scale, wild)
    assert np.array_equal(other[:400], lowered[:400]) and not np.array_equal(other[400:], lowered[400:])
