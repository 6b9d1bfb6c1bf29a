"""Text metrics against MultEval's table, sacrebleu, hand-worked examples, and laws that must hold."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from features.storage.files import read_lines
from qe.statistics.ranks import margins
from qe.systems import Bleu, CharacterEditRate, Chrf, Length, Meteor, Nist, Table, Ter, TokenEditRate
from qe.systems.text_metric import MT_METRICS, TextMetric, metric, metrics_for
from qe.systems.texts import TOKENIZATIONS, Texts

FOLDER = "golden/multeval"
# golden/README.md: MultEval 0.5.1 (BLEU); chrF2 by sacrebleu 2.6.0.
MULTEVAL = {
    "baseline.opt0": (18.538889, 50.508462),
    "baseline.opt1": (18.464451, 50.493681),
    "baseline.opt2": (18.577084, 50.530771),
    "sys1.opt0": (18.986909, 51.630239),
    "sys1.opt1": (18.474014, 51.441673),
    "sys1.opt2": (18.979487, 51.731573),
}
LENGTH = {"baseline": 107.544525, "sys1": 107.700640}

segment = st.lists(st.sampled_from(["a", "b", "c", "The", "cat.", "é", "don't", "(1,000)"]), max_size=9)
filled = segment.filter(bool).map(" ".join)
pairs = st.lists(st.tuples(segment.map(" ".join), filled, filled), min_size=1, max_size=6)


def read(folder: Path, name: str) -> list[str]:
    return list(read_lines(folder / f"{name}.gz"))


@pytest.mark.parametrize("run", MULTEVAL)
def test_bleu_and_chrf_of_every_run_equal_the_tools(shared_data: Callable[[str], Path], run: str) -> None:
    folder = shared_data(FOLDER)
    hypotheses, references = read(folder, f"hyps.lc.tok.en.{run}"), read(folder, "refs.test2010.lc.tok.en.0")
    bleu, chrf = MULTEVAL[run]
    assert Bleu().score(hypotheses, [references]) == pytest.approx(bleu, abs=5e-7)
    assert Chrf().score(hypotheses, [references]) == pytest.approx(chrf, abs=5e-7)


@pytest.mark.parametrize("system", LENGTH)
def test_length_ratio_equals_multeval(shared_data: Callable[[str], Path], system: str) -> None:
    folder = shared_data(FOLDER)
    references = [read(folder, "refs.test2010.lc.tok.en.0")]
    runs = [Length().score(read(folder, f"hyps.lc.tok.en.{system}.opt{i}"), references) for i in range(3)]
    assert np.mean(runs) == pytest.approx(LENGTH[system], abs=5e-7)


@pytest.mark.slow
@pytest.mark.parametrize("tokenize", ["none", "13a", "intl", "char"])
@given(pairs)
@settings(max_examples=40)
def test_bleu_equals_sacrebleu_with_two_references(tokenize: Any, rows: list[tuple[str, str, str]]) -> None:
    hypotheses, *references = (list(column) for column in zip(*rows, strict=True))
    expected = BLEU(tokenize=tokenize, force=True).corpus_score(hypotheses, references).score
    assert Bleu(tokenize=tokenize).score(hypotheses, references) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"word_order": 2}, {"beta": 1.0}, {"lowercase": True}])
@given(pairs)
@settings(max_examples=40)
def test_chrf_equals_sacrebleu_with_two_references(options: Any, rows: list[tuple[str, str, str]]) -> None:
    hypotheses, *references = (list(column) for column in zip(*rows, strict=True))
    expected = CHRF(**options).corpus_score(hypotheses, references).score
    assert Chrf(**options).score(hypotheses, references) == pytest.approx(expected, abs=1e-9)


def test_real_text_with_13a_equals_sacrebleu(shared_data: Callable[[str], Path]) -> None:
    folder = shared_data(FOLDER)
    hypotheses = read(folder, "hyps.lc.tok.en.sys1.opt0")[:200]
    references = [
        read(folder, "refs.test2010.lc.tok.en.0")[:200],
        read(folder, "hyps.lc.tok.en.sys1.opt1")[:200],
    ]
    expected = BLEU(force=True).corpus_score(hypotheses, references).score
    assert Bleu(tokenize="13a").score(hypotheses, references) == pytest.approx(expected, abs=1e-9)


def test_the_closest_reference_length_and_its_ties() -> None:
    statistics = Bleu().statistics(
        Texts.from_lines(["a b c"]), [Texts.from_lines(["a b c d"]), Texts.from_lines(["a b"])]
    )
    assert statistics[0, :2].tolist() == [3, 2]
    assert Length().score(["a b c d"], [["a"], ["a b c d e"]]) == pytest.approx(80)


def test_nist_of_a_hand_worked_example() -> None:
    """Doddington 2002, equation 3, on two segments.

    References "a b c" and "a b d": information of a is log2(6/2), b log2(6/2), c and d log2(6/1); of the
    bigram "a b" log2(2/2) = 0, of "b c" log2(2/1) = 1. Hypotheses "a b c" and "b a": 5 unigrams matched,
    of bigrams "a b" and "b c" of 3; lengths 5 against 6.
    """
    unigrams = (4 * math.log2(3) + math.log2(6)) / 5
    bigrams = (0 + 1) / 3
    penalty = math.exp(math.log(0.5) / math.log(1.5) ** 2 * math.log(5 / 6) ** 2)
    scored = Nist(order=2).score(["a b c", "b a"], [["a b c", "a b d"]])
    assert scored == pytest.approx((unigrams + bigrams) * penalty, abs=1e-12)


def test_nist_penalty_is_one_half_at_two_thirds_of_the_length() -> None:
    full = Nist(order=1).statistics(Texts.from_lines(["a b c"]), [Texts.from_lines(["a b c"])]).sum(axis=0)
    shorter = full.copy()
    shorter[-2] = 2
    assert Nist(order=1).aggregate(shorter) == pytest.approx(Nist(order=1).aggregate(full) / 2)


def test_edit_rates_and_ter_of_hand_worked_examples() -> None:
    hypotheses, references = ["c a b", "a x"], [["a b c", "a b"]]
    assert TokenEditRate().score(hypotheses, references) == pytest.approx(100 * 3 / 5)
    assert Ter().score(hypotheses, references) == pytest.approx(100 * 2 / 5)
    assert CharacterEditRate().score(["kitten"], [["sitting"]]) == pytest.approx(100 * 3 / 7)
    assert CharacterEditRate(white_space=False).score(["a b"], [["ab"]]) == 0


def test_ter_lower_cases_and_takes_the_easiest_reference_over_the_mean_length() -> None:
    assert Ter().score(["A B"], [["a b"]]) == 0
    assert Ter(lowercase=False).score(["A B"], [["a b"]]) == 100
    assert Ter().score(["a b"], [["x y z w"], ["a c"]]) == pytest.approx(100 / 3)


def test_tables_of_counts() -> None:
    lines = ["2 4 3", "1 1 3"]
    assert Table(score_of="precision").score(lines, []) == pytest.approx(3 / 5)
    assert Table(score_of="recall").score(lines, []) == pytest.approx(3 / 6)
    assert Table().score(lines, []) == pytest.approx(2 * 3 / (5 + 6))
    assert Table(beta=2).score(lines, []) == pytest.approx(5 * 3 / (5 + 4 * 6))
    assert Table(score_of="ratio").score(["1 2", "1 6"], []) == pytest.approx(0.25)
    assert Table(score_of="mean").score(["1", "4"], []) == pytest.approx(2.5)


TEXT_METRICS = [MT_METRICS.get(name)() for name in MT_METRICS.names if name != "table"]


# All but NIST and METEOR, which look at how frequent words are in the references of all segments.
BY_SEGMENT = [kind for kind in TEXT_METRICS if not isinstance(kind, Nist | Meteor)]


@pytest.mark.parametrize("kind", BY_SEGMENT, ids=lambda kind: type(kind).__name__)
@given(rows=pairs)
@settings(max_examples=15)
def test_statistics_of_a_segment_do_not_depend_on_the_others(
    kind: TextMetric, rows: list[tuple[str, str, str]]
) -> None:
    hypotheses, *references = (Texts.from_lines(column) for column in zip(*rows, strict=True))
    together = kind.statistics(hypotheses, references)
    for i, (hypothesis, *own) in enumerate(rows):
        alone = kind.statistics(Texts.from_lines([hypothesis]), [Texts.from_lines([text]) for text in own])
        assert alone[0] == pytest.approx(together[i])


@pytest.mark.parametrize("kind", TEXT_METRICS, ids=lambda kind: type(kind).__name__)
class TestEveryMetric:
    """The same questions to each metric of texts."""

    @pytest.mark.slow
    @given(rows=pairs)
    @settings(max_examples=15)
    def test_scores_are_batched_and_better_for_the_reference_itself(
        self, kind: TextMetric, rows: list[tuple[str, str, str]]
    ) -> None:
        rows = [*rows, ("w x y z",) * 3]  # BLEU of a text shorter than its order is 0
        hypotheses, *references = (Texts.from_lines(column) for column in zip(*rows, strict=True))
        sums = kind.statistics(hypotheses, references).sum(axis=0)
        perfect = kind.statistics(references[0], references[:1]).sum(axis=0)
        both = kind.aggregate(np.stack([sums, perfect]))
        assert both.shape == (2,)
        assert both[0] == pytest.approx(float(kind.aggregate(sums)))
        own = kind.aggregate(kind.statistics(hypotheses, references[:1]).sum(axis=0))
        if kind.higher_is_better is not None and not isinstance(kind, Nist):  # rare words alone score more
            gap = (both[1] - own) * (1 if kind.higher_is_better else -1)
            assert gap >= -1e-9

    def test_empty_translations_are_scored(self, kind: TextMetric) -> None:
        score = kind.score(["", ""], [["a b", "c"]])
        assert score == (100 if kind.higher_is_better is False else 0)

    def test_empty_references_are_never_a_guess(self, kind: TextMetric) -> None:
        score = kind.score(["a b"], [[""]])
        assert np.isnan(score) or score == 0

    def test_every_unicode_text_is_scored(self, kind: TextMetric) -> None:
        text = ["naïve 😀 \u00a0 日本語 \u0301", "\u2028 x"]
        assert np.isfinite(kind.score(text, [text]))


def test_metrics_as_written_on_the_command_line() -> None:
    assert metric("chrf:word_order=2,beta=1") == Chrf(word_order=2, beta=1.0)
    assert metric("bleu:lowercase=true", {"tokenize": "13a"}) == Bleu(tokenize="13a", lowercase=True)
    assert metric("chrf", {"tokenize": "13a"}) == Chrf()


def test_metrics_are_named_in_any_case() -> None:
    assert list(metrics_for(["BLEU", "chrF:word_order=2"], None, "en", [])) == ["bleu", "chrf:word_order=2"]
    assert margins(["ChrF=1"], ["bleu", "chrf"]) == {"chrf": 1.0}


def test_every_tokenization_has_a_tokenizer() -> None:
    text = Texts.from_lines(["Hello, 1,000 worlds!"])
    first = [text.tokens(name).words(0)[0] for name in TOKENIZATIONS[:6]]
    assert first == ["Hello,", "Hello", "Hello", "H", "Hello", "Hello"]


def test_meteor_by_hand() -> None:
    """Weights: `runs` and `dogs` are in no reference (.75), its words are all frequent here (.25)."""
    precision = (0.25 + 0.75 * 0.6 + 0.75 * 0.6) / (0.25 + 0.75 + 0.75)
    recall = (0.25 + 0.25 * 0.6 + 0.25 * 0.6) / (4 * 0.25)
    mean = precision * recall / (0.85 * precision + 0.15 * recall)
    expected = 100 * mean * (1 - 0.6 * (1 / 3) ** 0.2)
    assert Meteor().score(["the dogs runs"], [["the dog run away"]]) == pytest.approx(expected)
    assert Meteor().score(["the dogs runs"], [["something else"], ["the dog run away"]]) > 0


def test_meteor_of_a_text_is_that_of_its_sums_and_stems_follow_the_language() -> None:
    verbs = ["cantaban"], [["cantar"]]
    assert Meteor(language="es").score(*verbs) > Meteor(language="en").score(*verbs) == 0
    texts = ["a b c", "d e"], [["a b c", "e d"]]
    assert Meteor().score(["a b c"], [["a b c"]]) == pytest.approx(100)
    whole = 1 - 0.6 * (3 / 5) ** 0.2  # everything matches: one chunk of three, two of one
    assert Meteor().score(*texts) == pytest.approx(100 * whole)
    assert math.isnan(Meteor().score(["a"], [[""]])) and Meteor().score([""], [["a"]]) == 0
