"""Drift: the same data raise no warning; other words, other languages and swapped sides do."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features import Segments
from qe.data.table_rows import read_rows
from qe.models.drift import LENGTHS, SIGNS, Counts, Profile, Rows, stability_index
from qe.models.language_profile import LanguageProfile
from qe.scoring import Options, Scorer
from tests.factories import qe, score_file


def words(text: str) -> list[str]:
    return text.split()


ENGLISH = words("the house of an old friend where they will sing and then go home with some bread")
SPANISH = words("la casa de un viejo amigo donde cantan y luego van a su pueblo con algo de pan")
GERMAN = words("das haus eines alten freundes in dem sie singen werden und dann mit brot gehen")


def text(words: list[str], generator: np.random.Generator) -> str:
    return " ".join(generator.choice(words, generator.integers(4, 15)))


def batch(n: int, seed: int, source: list[str] = ENGLISH, target: list[str] = SPANISH) -> Segments:
    generator = np.random.default_rng(seed)
    pairs = [(text(source, generator), text(target, generator)) for _ in range(n)]
    return Segments(tuple(s for s, _ in pairs), tuple(t for _, t in pairs))


def features(n: int, seed: int, shift: float = 0.0) -> np.ndarray[Any, np.dtype[np.float64]]:
    table = np.random.default_rng(seed).normal(size=(n, 3))
    table[:, 0] += shift
    table[:, 2] = np.where(table[:, 2] > 1, np.nan, np.round(table[:, 2]))
    return table


@pytest.fixture(scope="module")
def profile() -> Profile:
    return Profile.make(batch(400, 0), features(400, 0), ["a", "b", "c"])


def warnings(profile: Profile, segments: Segments, table: np.ndarray[Any, Any]) -> tuple[str, ...]:
    return profile.report(profile.rows(segments, table).counts()).warnings


def test_stability_index_by_hand() -> None:
    p, q = np.array([60.5, 40.5]) / 101, np.array([30.5, 70.5]) / 101
    expected = ((p - q) * np.log(p / q)).sum()
    assert stability_index(np.array([30, 70]), np.array([60, 40])) == pytest.approx(expected)
    assert stability_index(np.array([5, 0, 5]), np.array([5, 0, 5])) == 0


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=11))
def test_stability_index_is_symmetric_and_not_negative(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs).T
    assert stability_index(a, b) == pytest.approx(stability_index(b, a)) and stability_index(a, b) >= 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 100, 1000])
def test_the_same_distribution_raises_no_warning(profile: Profile, n: int) -> None:
    listed = [warnings(profile, batch(n, seed), features(n, seed)) for seed in range(1, 21)]
    assert sum(map(bool, listed)) <= 1


def test_each_departure_is_named(profile: Profile) -> None:
    same = features(200, 2)
    (swapped,) = warnings(profile, batch(200, 3, SPANISH, ENGLISH), same)[:1]
    assert swapped.startswith("source and target swapped: 9") or swapped.startswith(
        "source and target swapped: 100 %"
    )
    foreign = warnings(profile, batch(200, 3, ENGLISH, GERMAN), same)
    assert any(w.startswith("target in another language") for w in foreign)
    assert any(w.startswith("target words never seen in training") for w in foreign)
    assert not any("swapped" in w or w.startswith("source") for w in foreign)
    untranslated = warnings(profile, batch(200, 3, ENGLISH, ENGLISH), same)
    assert any(w.startswith("target in the source language") for w in untranslated)
    moved = warnings(profile, batch(200, 3), features(200, 3, shift=2.0))
    assert len(moved) == 1 and moved[0].startswith("1 of 6 features are distributed differently (PSI): a (")


def test_undefined_values_are_a_bin_of_their_own(profile: Profile) -> None:
    table = features(200, 4)
    table[:, 1] = np.nan
    counts = profile.rows(batch(200, 4), table).counts()
    report = profile.report(counts)
    first = report.shifts[0]
    assert (first.name, first.undefined, first.undefined_in_training) == ("b", 1.0, 0.0) and first.psi > 1
    assert counts.bins.sum(axis=1).tolist() == [200] * 6


@pytest.mark.parametrize("value", [-1.0, 7.0])
@pytest.mark.parametrize("rare", [3.0, -1.0, 7.0])
def test_a_feature_of_one_value_in_training_may_not_have_another(value: float, rare: float) -> None:
    """The rows have the value 3, but for one in twenty; then half of them have another."""
    trained, new = features(400, 0), features(200, 4)
    trained[:, 1], new[:, 1] = 3, np.where(np.arange(200) % 2, value, 3)
    trained[::20, 1] = rare
    made = Profile.make(batch(400, 0), trained, ["a", "b", "c"])
    (warning,) = warnings(made, batch(200, 4), new)
    assert warning.startswith("1 of 6 features are distributed differently (PSI): b (")
    new[:, 1] = trained[:200, 1]
    assert warnings(made, batch(200, 4), new) == ()


def test_few_segments_get_no_verdict(profile: Profile) -> None:
    report = profile.report(profile.rows(batch(29, 5, GERMAN, GERMAN), features(29, 5)).counts())
    assert report.warnings == () and report.n == 29


def test_counts_do_not_depend_on_batches(profile: Profile) -> None:
    segments, table = batch(120, 6), features(120, 6)
    whole = profile.rows(segments, table).counts()
    parts = [
        profile.rows(segments.take(np.arange(i, min(i + 17, 120))), table[i : i + 17])
        for i in range(0, 120, 17)
    ]
    total = parts[0].counts()
    for part in parts[1:]:
        total = total + Rows.unpacked(part.packed()).counts()
    assert total.to_json() == whole.to_json() == Counts.from_json(whole.to_json()).to_json()


def test_saved_profiles_say_the_same_without_pickle(profile: Profile, tmp_path: Path) -> None:
    profile.save(tmp_path)
    counts = profile.rows(batch(60, 7), features(60, 7)).counts()
    assert Profile.load(tmp_path).report(counts).to_json() == profile.report(counts).to_json()
    assert Profile.exists(tmp_path) and not Profile.exists(tmp_path / "x")


def test_bits_per_character_by_hand() -> None:
    profile = LanguageProfile.make(["ab"])
    # "  ab ": three trigrams of 8192 buckets, each seen once.
    seen, unseen = (-np.log2(x / (3 + 4096)) for x in (1.5, 0.5))
    outcome = profile.bits(["ab", "AB", "xyz", ""])
    assert outcome[:2] == pytest.approx([seen, seen], abs=0.001)
    assert outcome[2] == pytest.approx(unseen, abs=0.001) and np.isfinite(outcome[3])


def test_a_language_costs_least_in_its_own_profile() -> None:
    english, spanish = (
        LanguageProfile.make(batch(300, 8).source),
        LanguageProfile.make(batch(300, 8).target),
    )
    held_out = batch(100, 9)
    assert np.mean(english.bits(held_out.source) < spanish.bits(held_out.source)) > 0.98
    assert np.mean(spanish.bits(held_out.target) < english.bits(held_out.target)) > 0.98
    one_by_one = [english.bits([t])[0] for t in held_out.source]
    assert english.bits(held_out.source).tolist() == one_by_one


def write_tsv(path: Path, rows: list[dict[str, str]], order: tuple[str, str] = ("source", "target")) -> Path:
    text = "".join(f"{r[order[0]]}\t{r[order[1]]}\n" for r in rows)
    path.write_text("source\ttarget\n" + text)
    return path


@pytest.fixture(scope="session")
def new_rows(demo_model: Path) -> list[dict[str, str]]:
    return [dict(c) for c, _ in read_rows(demo_model.parent / "data" / "new.tsv")]


def test_scoring_counts_every_row(demo_model: Path, new_rows: list[dict[str, str]], tmp_path: Path) -> None:
    path = write_tsv(tmp_path / "in.tsv", new_rows[:80] + new_rows[:80])
    reports = [
        score_file(
            demo_model, [path], tmp_path / "o.tsv", options=Options(cache=c), workers=w, chunk=33
        ).drift
        for w, c in ((1, 1000), (2, 1000), (1, 0))
    ]
    assert reports[0] is not None and reports[0].n == 160 and reports[0] == reports[1] == reports[2]
    plain = Scorer.load(demo_model, Options(drift=False)).score([(dict(r), "") for r in new_rows[:3]])
    assert plain.tally.counts is None


@pytest.mark.capability
def test_the_command_warns_and_writes_a_report(
    demo_model: Path, new_rows: list[dict[str, str]], tmp_path: Path
) -> None:
    command = ["score", "--model", demo_model, "--output", tmp_path / "o.tsv", "--workers", "1", "--quiet"]
    told = []
    for name, order in (("same", ("source", "target")), ("swapped", ("target", "source"))):
        path = write_tsv(tmp_path / f"{name}.tsv", new_rows[:500], order)
        told.append(qe(*command, "--overwrite", "--input", path, "--drift", tmp_path / f"{name}.json").err)
    same, swapped = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("same", "swapped"))
    assert same["warnings"] == [] and same["n"] == 500 and not told[0]
    assert swapped["warnings"][0].startswith("source and target swapped: ")
    assert set(swapped["signs"]) == set(SIGNS) and {s["name"] for s in same["shifts"]} >= set(LENGTHS)
    lines = told[1].splitlines()
    assert len(lines) == len(swapped["warnings"])
    assert all(line.startswith("qe score: the input differs from the training data: ") for line in lines)
