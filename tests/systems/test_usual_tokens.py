"""Texts as they come have sacreBLEU's tokens, and its scores."""

from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU, TER

from qe.systems.text_metric import metrics_for
from qe.systems.texts import doubt
from tests.factories import Capsys, Monkeypatch, exit_code

RAW = ["The house is red.", 'He said "no", and left.', "It costs 3.50 dollars.", "Is it Ana's book?"]
OTHER = ["The house was red.", 'He said "no" and left.', "It cost 3.50 dollars.", "Is this Ana's book?"]
CHINESE = ["他昨天去了北京的图书馆。", "我不知道。"]


@pytest.mark.parametrize("language", [None, "en", "de"])
def test_bleu_of_raw_text_is_sacrebleus(language: str | None) -> None:
    bleu = metrics_for(["bleu"], None, language, RAW)["bleu"]
    assert bleu.score(OTHER, [RAW]) == pytest.approx(BLEU().corpus_score(OTHER, [RAW]).score, abs=1e-9)
    assert "|tok:13a|" in bleu.signature(1)


def test_chinese_has_sacrebleus_tokens_and_its_ter() -> None:
    changed = [CHINESE[0].replace("的", ""), CHINESE[1]]
    made = metrics_for(["bleu", "ter", "length"], None, "zh", CHINESE)
    expected = BLEU(tokenize="zh").corpus_score(changed, [CHINESE]).score
    assert made["bleu"].score(changed, [CHINESE]) == pytest.approx(expected, abs=1e-9)
    rate = TER(normalized=True, asian_support=True).corpus_score(changed, [CHINESE]).score
    assert made["ter"].score(changed, [CHINESE]) == pytest.approx(rate, abs=1e-9) and 0 < rate < 10
    assert made["length"].score(changed, [CHINESE]) > 90 and "asian:yes" in made["ter"].signature(1)


def test_what_is_given_holds() -> None:
    made = metrics_for(["bleu", "ter", "bleu:tokenize=char"], "intl", "zh", CHINESE)
    assert [getattr(metric, "tokenize", "") for metric in made.values()] == ["intl", "intl", "char"]
    chosen = metrics_for(["ter:tokenize=char"], None, "zh", CHINESE)
    assert "|tok:char|" in chosen["ter:tokenize=char"].signature(1)
    assert metrics_for(["chrf"], None, "th", CHINESE)  # chrF needs no tokens


def test_text_against_the_choice_is_said(tmp_path: Path, monkeypatch: Monkeypatch, capsys: Capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ref").write_text("\n".join(RAW) + "\n", "utf-8")
    Path("a").write_text("\n".join(OTHER) + "\n", "utf-8")
    Path("tok").write_text("the house is red .\nis it ?\n", "utf-8")
    files = ["compare", "--references", "ref", "--system", "a=a", "--samples", "50", "--quiet"]
    for more, told in (([], False), (["--tokenize", "none"], True)):
        exit_code(*files, *more)
        assert ("do not look tokenized" in capsys.readouterr().err) == told
    assert "look tokenized" in doubt("13a", Path("tok").read_text().splitlines())
    assert doubt("13a", ["no stop", "none here"]) == doubt("none", ["no stop"]) == ""
