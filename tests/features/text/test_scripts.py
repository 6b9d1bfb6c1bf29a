"""Texts without blanks: tokens are characters as people count them, the same for features, labels and TER."""

import importlib.util

import pytest
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

from features.text.languages import WITHOUT_BLANKS, graphemes, seems_without_blanks
from features.text.tokenizer import SEGMENTERS, Tokenizer
from qe.data.labels import from_post_edits, hter
from tests.factories import Find, refuses

TEXTS = {
    "zh": "他昨天去了北京的图书馆。",
    "ja": "昨日、図書館に行きました。",
    "th": "ผมชื่อจอห์น",
    "lo": "ສະບາຍດີ",
    "km": "សួស្តី",
    "my": "မြန်မာ",
}


@pytest.mark.parametrize("language", TEXTS)
def test_tokens_are_characters_with_their_marks(language: str) -> None:
    text = TEXTS[language]
    tokens = Tokenizer(language).split(text)
    assert tokens == graphemes(text) and "".join(tokens) == text
    assert Tokenizer(language).tokens([text] * 20).words(7) == tokens


@pytest.mark.parametrize(
    "text",
    [
        "他昨天去了北京的图书馆。",
        "这个软件可以评估机器翻译的质量,好吗?",
        "天气很好,我们去公园散步吧!",
        "请在 Friday 之前发给我。",
        "「好」、他说。",
    ],
)
def test_chinese_tokens_are_those_of_sacrebleu(text: str) -> None:
    tercom = TercomTokenizer(normalized=True, no_punct=False, asian_support=True, case_sensitive=True)
    assert Tokenizer("zh").split(text) == tercom(text).split()


def test_one_character_of_eleven(shared_data: Find) -> None:
    folder = shared_data("cases/chinese")
    mt, pe = ((folder / name).read_text("utf-8").splitlines() for name in ("mt.zh", "pe.zh"))
    tokenizer = Tokenizer("zh")
    rates = hter(tokenizer.tokens(mt), tokenizer.tokens(pe))
    assert rates[0] == pytest.approx(1 / 11)
    assert from_post_edits(mt, pe, "zh").corpus()["hter"] == pytest.approx(
        0.0545, abs=5e-5
    )  # sacreBLEU: 5.45
    assert from_post_edits(pe, pe, "zh").corpus()["edits"] == 0


def test_other_languages_are_split_by_moses_as_ever() -> None:
    assert Tokenizer("en").split("The cat’s mat.") == ["The", "cat", "'s", "mat", "."]
    assert "ko" not in WITHOUT_BLANKS
    assert Tokenizer("zh", "whitespace").split("他 去 了。") == ["他", "去", "了。"]


def test_texts_that_seem_to_have_no_blanks() -> None:
    assert seems_without_blanks([TEXTS["ja"]]) and seems_without_blanks([TEXTS["th"]])
    assert not seems_without_blanks(["他 昨天 去 了 北京 的 图书馆 。"])
    assert not seems_without_blanks(["Он пришёл домой.", ""])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, language, text, words",
    [
        ("jieba", "zh", "我来到北京清华大学", ["我", "来到", "北京", "清华大学"]),  # jieba's README
        ("sudachi", "ja", "国家公務員", ["国家", "公務", "員"]),  # SudachiPy's README, mode A
        ("pythainlp", "th", "ผมรักคุณ", ["ผม", "รัก", "คุณ"]),
    ],
)
def test_words_by_a_segmenter(name: str, language: str, text: str, words: list[str]) -> None:
    if importlib.util.find_spec(SEGMENTERS.get(name).package) is None:
        pytest.skip(f"{name} is not installed (extra `segmenters`)")
    tokenizer = Tokenizer(language, segmenter=name)
    assert tokenizer.split(text) == words
    assert Tokenizer(**tokenizer.settings()) == tokenizer


def test_a_segmenter_of_another_language_is_refused() -> None:
    refuses("splits zh, not th", Tokenizer, "th", segmenter="jieba")
    refuses("unknown segmenter", Tokenizer, "zh", segmenter="jeiba")
