"""Language codes against lists from outside: Debian's ISO 639-2, the tools called with the codes."""

import json
from pathlib import Path

import pytest
import sacrebleu
from sacremoses.corpus import NonbreakingPrefixes
from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

from features.basics.errors import InputError
from features.text.languages import language_code
from features.text.tokenizer import Tokenizer
from tests.factories import refuses

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


def test_no_tokenizer_of_an_unknown_language() -> None:
    """`EN` used to split as no language at all does: It ' s."""
    assert Tokenizer("EN").split("It's") == ["It", "'s"]
    for kind in ("moses", "moses-2012", "whitespace"):
        refuses("did you mean 'en'", Tokenizer, "eng", kind)
