"""Languages, scripts, stems, synonyms, vocabularies and texts taken from a batch."""

import gc
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import regex
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer
from sacremoses.corpus import NonbreakingPrefixes
from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

from features.basics.errors import InputError
from features.text import tokens
from features.text.languages import WITHOUT_BLANKS, language_code, seems_without_blanks
from features.text.stems import FOLDER, WordNet, senses_of, stemmed, truncated
from features.text.tokenizer import SEGMENTERS, Tokenizer
from features.text.tokens import Tokens, Vocabulary
from qe.data.labels import from_post_edits, hter
from tests.factories import Find, refuses

ISO = Path("/usr/share/iso-codes/json/iso_639-2.json")  # Debian: iso-codes


def refusal(code: str) -> str:
    with pytest.raises(InputError) as raised:
        language_code(code)
    return str(raised.value)


def test_all_of_iso_639() -> None:
    if not ISO.is_file():
        pytest.skip("the package iso-codes is absent")
    for entry in json.loads(ISO.read_text("utf-8"))["639-2"]:
        long = {entry["alpha_3"], entry.get("bibliographic", entry["alpha_3"])}
        if "alpha_2" in entry:
            language_code(entry["alpha_2"])
            for code in long:
                assert f"did you mean '{entry['alpha_2']}'" in refusal(code)
        elif "-" not in entry["alpha_3"]:  # qaa-qtz
            for code in long - {"hbs"}:
                language_code(code)


def test_languages_of_the_tools_we_call() -> None:
    pairs = {pair for dataset in sacrebleu.DATASETS.values() for pair in dataset.langpairs}
    for code in {code for pair in pairs for code in pair.split("-")}:
        language_code(code)
    for code in {*SUPPORTED_LANGUAGES, *NonbreakingPrefixes().available_langs.values()}:
        language_code(code)


@pytest.mark.parametrize(
    "code, meant",
    [
        ("english", "en"), ("English", "en"), ("eng", "en"), ("ger", "de"), ("germna", "de"), ("En ", "en"),
        ("en.UTF-8", "en"), ("eng-US", "en"),
    ],
)  # fmt: skip
def test_the_code_that_was_meant(code: str, meant: str) -> None:
    assert f"unknown language code '{code}'" in refusal(code) and f"did you mean '{meant}' (" in refusal(code)


@pytest.mark.parametrize(
    "tag, code",
    [
        ("EN", "en"), ("en-US", "en"), ("pt_BR", "pt"), ("zh-Hans", "zh"), ("zh-Hant-TW", "zh"),
        ("sr-Latn", "sr"), ("es-419", "es"), ("ast-ES", "ast"),
    ],
)  # fmt: skip
def test_a_tag_with_script_or_region_is_of_its_language(tag: str, code: str) -> None:
    assert language_code(tag) == code == Tokenizer(tag).language
    assert Tokenizer(tag) == Tokenizer(code)


@pytest.mark.parametrize("code", ["xx", "zz", "", "e", "e n", "123", "jp", "quenya-like", "xx-US", "en-"])
def test_no_language_at_all(code: str) -> None:
    assert f"unknown language code '{code}'; use the one of ISO 639" in refusal(code)


def test_the_case_of_a_language_code_does_not_matter() -> None:
    """`EN` used to split as no language at all does: It ' s."""
    assert Tokenizer("EN").split("It's") == ["It", "'s"]


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
    assert tokens == regex.findall(r"\X", text) and "".join(tokens) == text
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


def test_inflections_share_a_stem_and_texts_keep_their_lengths() -> None:
    texts = [["Traducción", "traducida"], [], ["el", "12345.67", "12345.89", "e-mail"]]
    stems = truncated(Tokens.from_lists(texts))
    assert [stems.words(i) for i in range(3)] == [
        ["tradu", "tradu"], [], ["el", "12345.67", "12345.89", "e-mail"],
    ]  # fmt: skip
    assert len(set(stems.types)) == len(stems.types)


def test_snowball_stems_and_languages_without_a_stemmer() -> None:
    tokens = Tokens.from_lists([["Parks", "parking", "Häuser"], ["park"]])
    assert stemmed(tokens, "en").types[0] == "park" and stemmed(tokens, "de").types[2] == "haus"
    assert stemmed(tokens, "de-AT").types == stemmed(tokens, "de").types
    assert stemmed(tokens, "xx").types == truncated(tokens).types


INDEX = {
    "noun": "car n 2 2 @ ~ 2 1 02958343 02959942  \nauto n 1 1 @ 1 1 02958343  \n"
    "child n 1 0 1 1 09917593  \n",
    "verb": "go v 1 1 @ 1 1 01835496  \ncar v 1 0 1 0 02958343  \n",
    "adj": "fine a 1 1 & 1 1 01123148  \n",
    "adv": "well r 1 0 1 1 00011093  \n",
}
IRREGULAR = {"noun": "children child\n", "verb": "went go\n", "adj": "", "adv": "better well\n"}


def small_wordnet(folder: Path) -> WordNet:
    for pos, lines in INDEX.items():
        (folder / f"index.{pos}").write_text(f"  1 This software and database ...\n{lines}", "utf-8")
        (folder / f"{pos}.exc").write_text(IRREGULAR[pos], "utf-8")
    return WordNet.read(folder)


def test_words_and_their_base_forms_have_sets(tmp_path: Path) -> None:
    """Sets of a verb are none of a noun, even where their numbers are alike."""
    wordnet = small_wordnet(tmp_path)
    assert wordnet.senses("auto") == {"noun02958343"}
    assert wordnet.senses("Cars") == {"noun02958343", "noun02959942", "verb02958343"}
    assert wordnet.senses("children") == {"noun09917593"}
    assert wordnet.senses("went") == wordnet.senses("going") == {"verb01835496"}
    assert wordnet.senses("finest") == {"adj01123148"}
    assert wordnet.senses("better") == {"adv00011093"}
    assert wordnet.senses("s") == wordnet.senses("unknown") == frozenset()


def test_other_files_are_another_wordnet(tmp_path: Path) -> None:
    before = small_wordnet(tmp_path).fingerprint
    (tmp_path / "noun.exc").write_text("oxen ox\n", "utf-8")
    assert WordNet.read(tmp_path).fingerprint != before
    (tmp_path / "adj.exc").unlink()
    refuses(r"adj\.exc: no such file; .*install wordnet-base", WordNet.read, tmp_path)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"WordNet is not installed ({FOLDER})")
def test_synonyms_of_the_installed_wordnet() -> None:
    car, auto, train = senses_of(["cars", "automobile", "train"], "en-GB")
    assert car & auto and not auto & train
    bought, purchase = senses_of(["bought", "purchased"], "en")
    assert bought & purchase


def test_files_of_the_same_words_give_one_vocabulary(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path, words in zip(paths, (["the", "cat"], ["the", "cat"], ["cat", "the"]), strict=True):
        Vocabulary(words).save(path)
    one, same, other = map(Vocabulary.load, paths)
    assert same is one and other is not one
    assert (one.lookup(["the", "cat", "dog"]).tolist(), other.lookup(["the"]).tolist()) == ([3, 4, 0], [4])


def test_only_line_feeds_end_a_word_and_other_bytes_than_text_are_refused(tmp_path: Path) -> None:
    Vocabulary(["a\rb", "c\u2028d", "\ufeffe"]).save(tmp_path / "words")
    assert Vocabulary.load(tmp_path / "words").words[3:] == ("a\rb", "c\u2028d", "\ufeffe")
    (tmp_path / "words").write_bytes(b"a\n\xff\n")
    with pytest.raises(UnicodeDecodeError):
        Vocabulary.load(tmp_path / "words")


def test_what_nobody_holds_is_forgotten(tmp_path: Path) -> None:
    before = len(tokens._loaded)
    Vocabulary(["a", "vocabulary", "of", "its", "own"]).save(tmp_path / "words")
    held = Vocabulary.load(tmp_path / "words")
    assert len(tokens._loaded) == before + 1 and held.words[-1] == "own"
    del held
    gc.collect()
    assert len(tokens._loaded) == before


texts = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=12)


@pytest.mark.slow
@given(texts, st.data())
def test_the_words_stay(lists: list[list[str]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=15)) if lists else []
    taken = Tokens.from_lists(lists).take(np.array(rows, np.int64))
    taken.check_arrays()
    assert [taken.words(i) for i in range(len(taken))] == [lists[i] for i in rows]
    assert len(set(taken.types)) == len(taken.types)


@pytest.mark.parametrize(("rows", "types"), [([1], ("c", "d")), ([0, 1], ("a", "b", "c", "d")), ([], ())])
def test_types_of_few_texts(rows: list[int], types: tuple[str, ...]) -> None:
    tokens = Tokens.from_lists([["a", "b", "a"], ["c", "d"]])
    assert tokens.take(np.array(rows, np.int64)).types == types
