"""TER against tercom's published output, sacrebleu, Levenshtein distance, and laws that must hold."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.lib_ter import translation_edit_rate

from features.edits import ter as kernel
from features.edits.ter import common_ids, ter, ter_edits
from features.storage.files import read_lines
from features.text.tokens import Tokens
from tests.factories import Find, tokens

MULTEVAL = "golden/multeval"
# golden/README.md: tercom 0.8.0 through MultEval 0.5.1.
TERCOM = {
    "baseline.opt0": 65.519164,
    "baseline.opt1": 65.890337,
    "baseline.opt2": 65.560582,
    "sys1.opt0": 64.177844,
    "sys1.opt1": 65.339153,
    "sys1.opt2": 64.932934,
}
words = st.lists(st.sampled_from("abcdef"), max_size=14)


def whitespace(path: Path) -> Tokens:
    return tokens(*read_lines(path))


def edits(hypothesis: list[str], reference: list[str], **limits: int) -> int:
    return int(ter(Tokens.from_lists([hypothesis]), Tokens.from_lists([reference]), **limits).edits[0])


@pytest.mark.parametrize("run", TERCOM)
def test_every_run_of_the_multeval_example_equals_tercom(shared_data: Find, run: str) -> None:
    folder = shared_data(MULTEVAL)
    reference = whitespace(folder / "refs.test2010.lc.tok.en.0.gz")
    outcome = ter(whitespace(folder / f"hyps.lc.tok.en.{run}.gz"), reference)
    percent = 100 * outcome.edits.sum() / outcome.reference_lengths.sum()
    assert percent == pytest.approx(TERCOM[run], abs=5e-7)


def test_segments_equal_sacrebleu_where_its_search_does(shared_data: Find) -> None:
    folder = shared_data(MULTEVAL)
    hypothesis = whitespace(folder / "hyps.lc.tok.en.sys1.opt0.gz").take(np.arange(60))
    reference = whitespace(folder / "refs.test2010.lc.tok.en.0.gz").take(np.arange(60))
    expected = [translation_edit_rate(hypothesis.words(i), reference.words(i))[0] for i in range(60)]
    assert ter(hypothesis, reference).edits.tolist() == expected


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("", "", 0),
        ("", "a b", 2),
        ("a b", "", 2),
        ("a b c", "a b c", 0),
        ("c a b", "a b c", 1),  # one shift
        ("a", "b", 1),
        ("b a", "a c", 2),
    ],
)
def test_small_cases(hypothesis: str, reference: str, expected: int) -> None:
    assert edits(hypothesis.split(), reference.split()) == expected


def test_operations_add_up_and_name_their_side() -> None:
    edit_rate = ter(tokens("a b x", "a", ""), tokens("a b", "a b", ""))
    assert edit_rate.insertions.tolist() == [1, 0, 0]
    assert edit_rate.deletions.tolist() == [0, 1, 0]
    assert edit_rate.rates[:2].tolist() == [0.5, 0.5]
    assert np.isnan(edit_rate.rates[2])


def test_no_shifts_is_word_edit_distance_and_limits_bind() -> None:
    moved, reference = list("bcdea"), list("abcde")
    assert edits(moved, reference) == 1
    assert edits(moved, reference, shift_size=0) == 2
    assert edits(moved, reference, shift_distance=0) == 2


@pytest.mark.slow
@given(words, words)
@settings(max_examples=150)
def test_bounds(hypothesis: list[str], reference: list[str]) -> None:
    distance = edits(hypothesis, reference)
    extra = sum(max(0, hypothesis.count(w) - reference.count(w)) for w in "abcdef")
    missing = sum(max(0, reference.count(w) - hypothesis.count(w)) for w in "abcdef")
    assert max(extra, missing) <= distance <= Levenshtein.distance(hypothesis, reference)
    assert (distance == 0) == (hypothesis == reference)


@given(words, words, st.permutations(range(6)))
@settings(max_examples=50)
def test_only_equality_matters(hypothesis: list[str], reference: list[str], renamed: list[int]) -> None:
    names = dict(zip("abcdef", renamed, strict=True))
    other = edits([str(names[w]) for w in hypothesis], [str(names[w]) for w in reference])
    assert edits(hypothesis, reference) == other


@given(st.lists(words, min_size=1, max_size=6), st.lists(words, min_size=6, max_size=6))
@settings(max_examples=30)
def test_a_batch_equals_its_rows(hypotheses: list[list[str]], references: list[list[str]]) -> None:
    references = references[: len(hypotheses)]
    batch = ter(Tokens.from_lists(hypotheses), Tokens.from_lists(references)).edits.tolist()
    assert batch == [edits(h, r) for h, r in zip(hypotheses, references, strict=True)]


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 128, 150])
def test_the_bound_is_the_exact_edit_distance(rows: int) -> None:
    random = np.random.default_rng(rows)
    for columns in (1, 40, 130):
        reference = random.integers(0, 30, rows).astype(np.int32)
        hypothesis = random.integers(0, 30, columns).astype(np.int32)
        masks = kernel._equality_masks(hypothesis, reference)
        order = np.arange(columns)
        prefix = kernel._distance_columns(order, masks, rows)
        shuffled = random.permutation(columns)
        shuffled[: columns // 3] = order[: columns // 3] = random.permutation(columns)[: columns // 3]
        prefix = kernel._distance_columns(order, masks, rows)
        outcome = kernel._bit_parallel(shuffled, masks, rows, prefix, columns // 3, 10**6)
        assert outcome == Levenshtein.distance(hypothesis[shuffled].tolist(), reference.tolist())
        assert prefix[1][-1] == Levenshtein.distance(hypothesis[order].tolist(), reference.tolist())


def test_long_texts_beyond_one_machine_word_and_the_beam() -> None:
    random = np.random.default_rng(3)
    reference = [str(w) for w in random.integers(0, 5000, 200)]
    moved = reference[:90] + reference[95:120] + reference[90:95] + reference[120:]
    assert edits(moved, reference) == 1
    assert edits(moved + ["x"] * 60, reference) == 61
    assert edits(reference[100:150], reference, beam_width=200) == 150
    assert edits(reference[100:150], reference) > 150  # 100 deletions first are outside the beam


def test_common_ids_of_empty_columns() -> None:
    empty, full = Tokens.from_lists([[]]), Tokens.from_lists([["a"]])
    left, right = common_ids(empty, full)
    assert ter_edits(left, empty.offsets, right, full.offsets).deletions.tolist() == [1]
