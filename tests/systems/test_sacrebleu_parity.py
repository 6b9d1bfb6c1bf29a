"""Smoothing, tercom's normalisation, tokenizers and signatures against sacrebleu itself."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

from features.basics.errors import InputError
from qe.systems import Bleu, System, Texts, compare
from qe.systems.text_metric import metric
from qe.systems.texts import sacrebleu_tokenizer
from tests.factories import refuses

WORDS = ["a", "b", "The", "cat.", "é", "don't", "(1,000)", "x&amp;y", "東京都", "カタカナ。", "3-4", "Is's"]
segment = st.lists(st.sampled_from(WORDS), max_size=7)
filled = segment.filter(bool).map(" ".join)
pairs = st.lists(st.tuples(segment.map(" ".join), filled, filled), min_size=1, max_size=5)
SMOOTHING: list[tuple[str, float | None]] = [
    ("exp", None), ("none", None), ("floor", None), ("floor", 0.01), ("add-k", None), ("add-k", 0.5),
]  # fmt: skip


NORMALISED = (
    "The cat. don't (1,000) x&amp;y 東京都",
    "the cat. (1,000) カタカナ。 don't",
    "Is's 3-4 é. The cat",
)


def columns(rows: list[tuple[str, str, str]]) -> tuple[list[str], list[list[str]]]:
    hypotheses, *references = (list(column) for column in zip(*rows, strict=True))
    return hypotheses, references


@pytest.mark.slow
@pytest.mark.parametrize(("smooth", "value"), SMOOTHING)
@given(pairs)
@settings(max_examples=40, deadline=None)
def test_smoothing_is_sacrebleus(smooth: Any, value: float | None, rows: list[tuple[str, str, str]]) -> None:
    hypotheses, references = columns(rows)
    bleu = Bleu(smooth=smooth, smooth_value=value)
    theirs: dict[str, Any] = {
        "tokenize": "none",
        "force": True,
        "smooth_method": smooth,
        "smooth_value": value,
    }
    whole = BLEU(**theirs).corpus_score(hypotheses, references).score
    assert bleu.score(hypotheses, references) == pytest.approx(whole, abs=1e-9)
    statistics = bleu.statistics(
        Texts.from_lines(hypotheses), [Texts.from_lines(column) for column in references]
    )
    one = BLEU(**theirs, effective_order=True)
    expected = [
        one.sentence_score(line, list(refs)).score
        for line, *refs in zip(hypotheses, *references, strict=True)
    ]
    assert bleu.segment_scores(statistics) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "types"), [(0, 5), (1, 5), (0, 8), (0, 12)])
def test_ter_stops_shifting_where_sacrebleu_does(seed: int, types: int) -> None:
    """40 words of a few types in another order: sacreBLEU gives up after 1,000 candidates."""
    rng = np.random.default_rng([seed, types])
    words = np.array([f"w{number}" for number in rng.integers(0, types, 40)])
    hypothesis, reference = " ".join(words[rng.permutation(40)]), " ".join(words)
    expected = TER().corpus_score([hypothesis], [[reference]]).score
    assert metric("ter", {}).score([hypothesis], [[reference]]) == pytest.approx(expected, abs=1e-9)
    unlimited = metric("ter:shift_candidates=0", {})
    assert unlimited.score([hypothesis], [[reference]]) < expected
    assert "shift_candidates:0" in unlimited.signature(1)
    assert "shift_candidates" not in metric("ter", {}).signature(1)


@pytest.mark.slow
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("no_punct", [False, True])
@pytest.mark.parametrize("lowercase", [False, True])
@given(rows=pairs, asian=st.booleans())
@settings(max_examples=25, deadline=None)
def test_normalised_ter_is_sacrebleus(
    normalized: bool, no_punct: bool, lowercase: bool, asian: bool, rows: list[tuple[str, str, str]]
) -> None:
    """Random texts by its tokenizer alone: its search for shifts is not always that of tercom."""
    hypotheses, references = columns(rows)
    asian = asian and (normalized or no_punct)
    theirs = TER(normalized=normalized, no_punct=no_punct, asian_support=asian, case_sensitive=not lowercase)
    text = f"ter:normalized={normalized},no_punct={no_punct},asian_support={asian},lowercase={lowercase}"
    ours = metric(text)
    expected = theirs.corpus_score([NORMALISED[0]], [[line] for line in NORMALISED[1:]]).score
    assert ours.score([NORMALISED[0]], [[line] for line in NORMALISED[1:]]) == pytest.approx(
        expected, abs=1e-9
    )
    split = TercomTokenizer(normalized, no_punct, asian, not lowercase)
    lines = [[split(line) for line in column] for column in (hypotheses, *references)]
    scores = metric("ter:lowercase=false").score(lines[0], lines[1:])
    assert ours.score(hypotheses, references) == pytest.approx(scores, abs=1e-9, nan_ok=True)
    assert without_version(ours.signature(2)) == without_version(str(theirs.get_signature()))


def without_version(signature: str) -> str:
    text, _, version = signature.rpartition("|version:")
    assert version
    return text


@pytest.mark.parametrize(
    ("text", "theirs"),
    [
        ("bleu:tokenize=13a", BLEU()),
        ("bleu:tokenize=intl,lowercase=true", BLEU(tokenize="intl", lowercase=True)),
        ("chrf", CHRF()),
        ("chrf:word_order=2,lowercase=true,white_space=true", CHRF(6, 2, lowercase=True, whitespace=True)),
        ("ter", TER()),
    ],
)
def test_signatures_are_sacrebleus_but_for_the_version(text: str, theirs: Any) -> None:
    theirs.corpus_score(["a b"], [["a b"], ["b"]])
    ours = metric(text).signature(2)
    assert without_version(ours) == without_version(str(theirs.get_signature()))
    assert "|version:mtqe-" in ours


TEXTS = {
    "zh": ["我喜欢在 London 吃 1,000 个苹果。", "Hello 世界"],
    "ja-mecab": ["東京都に住んでいます。", "これはテストです"],
    "ko-mecab": ["나는 학교에 갑니다.", "안녕하세요"],
    "flores200": ["Das Haus ist ROT.", "これはテスト"],
}


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_bleu_with_its_tokenizers_is_sacrebleus(name: Any, lowercase: bool) -> None:
    try:
        sacrebleu_tokenizer(name)
    except InputError as missing:
        pytest.skip(str(missing))
    hypotheses = TEXTS[name]
    references = [[hypotheses[0][:-2] + "x", hypotheses[1]]]
    theirs = BLEU(tokenize=name, lowercase=lowercase, force=True)
    expected = theirs.corpus_score(hypotheses, references).score
    bleu = Bleu(tokenize=name, lowercase=lowercase)
    assert bleu.score(hypotheses, references) == pytest.approx(expected, abs=1e-9) and 0 < expected < 100
    assert without_version(bleu.signature(1)) == without_version(str(theirs.get_signature()))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ja-mecab", r"'ja-mecab' needs MeCab and ipadic, .*'sacrebleu\[ja\]'"),
        ("flores200", "'flores200' needs sentencepiece, not installed"),
    ],
)
def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    sacrebleu_tokenizer.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: None)
    refuses(message, Texts.from_lines(["x"]).tokens, name)


def test_a_missing_model_is_not_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sacrebleu_tokenizer.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: module)
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(tmp_path))
    refuses("'flores101' needs its model at .*`sacrebleu", Texts.from_lines(["x"]).tokens, "flores101")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "theirs"), [("bleu", BLEU()), ("chrf", CHRF()), ("ter", TER()), ("meteor", None), ("nist", None)]
)
def test_a_reference_may_lack_segments_that_another_has(name: str, theirs: Any) -> None:
    systems = {
        "a": ["the cat sat on the mat today", "he went home early", "this one is fine", "last line here now"],
        "b": ["the cat sat on a mat today", "he went home", "this one is fine", "last line here"],
    }
    first = ["the cat sat on the mat today", "", "this one is fine", "last line here now"]
    second = ["a cat was on the mat today", "he went home early", "", "last line now"]
    columns = [System(system, (Texts.from_lines(lines),)) for system, lines in systems.items()]
    references = [Texts.from_lines(first), Texts.from_lines(second)]
    compared = compare(columns, references, {name: metric(name, {})})
    scores = {system: compared.scores[system][name].instability.mean for system in systems}
    assert scores["a"] != scores["b"] and np.isfinite([*scores.values()]).all()
    if theirs is not None:
        for system, lines in systems.items():
            assert scores[system] == pytest.approx(
                theirs.corpus_score(lines, [first, second]).score, abs=1e-9
            )
