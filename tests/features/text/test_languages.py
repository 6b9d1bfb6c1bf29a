"""Language codes against lists from outside: Debian's ISO 639-2, the tools called with the codes."""

import json
from pathlib import Path

import pytest
import sacrebleu
from sacremoses.corpus import NonbreakingPrefixes
from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

from features.basics.errors import InputError
from features.text.languages import check_language
from features.text.tokenizer import Tokenizer
from tests.factories import refuses

ISO = Path("/usr/share/iso-codes/json/iso_639-2.json")  # Debian: iso-codes


def refusal(code: str) -> str:
    with pytest.raises(InputError) as raised:
        check_language(code)
    return str(raised.value)


def test_all_of_iso_639() -> None:
    if not ISO.is_file():
        pytest.skip("the package iso-codes is absent")
    for entry in json.loads(ISO.read_text("utf-8"))["639-2"]:
        long = {entry["alpha_3"], entry.get("bibliographic", entry["alpha_3"])}
        if "alpha_2" in entry:
            check_language(entry["alpha_2"])
            for code in long:
                assert f"did you mean '{entry['alpha_2']}'" in refusal(code)
        elif "-" not in entry["alpha_3"]:  # qaa-qtz
            for code in long - {"hbs"}:
                check_language(code)


def test_languages_of_the_tools_we_call() -> None:
    pairs = {pair for dataset in sacrebleu.DATASETS.values() for pair in dataset.langpairs}
    for code in {code for pair in pairs for code in pair.split("-")}:
        check_language(code)
    for code in {*SUPPORTED_LANGUAGES, *NonbreakingPrefixes().available_langs.values()}:
        check_language(code)


@pytest.mark.parametrize(
    "code, meant",
    [
        ("EN", "en"), ("english", "en"), ("English", "en"), ("eng", "en"), ("en-US", "en"), ("pt_BR", "pt"),
        ("ger", "de"), ("germna", "de"), ("zh-Hans", "zh"), ("En ", "en"), ("en.UTF-8", "en"),
    ],
)  # fmt: skip
def test_the_code_that_was_meant(code: str, meant: str) -> None:
    assert f"unknown language code '{code}'" in refusal(code) and f"did you mean '{meant}' (" in refusal(code)


@pytest.mark.parametrize("code", ["xx", "zz", "", "e", "e n", "123", "jp", "quenya-like"])
def test_no_language_at_all(code: str) -> None:
    assert f"unknown language code '{code}'; use the one of ISO 639" in refusal(code)


def test_norwegian_in_yaml() -> None:
    assert "put it in quotes" in refusal(False)  # type: ignore[arg-type]
    check_language("no")


def test_no_tokenizer_of_an_unknown_language() -> None:
    """`EN` used to split as no language at all does: It ' s."""
    assert Tokenizer("en").split("It's") == ["It", "'s"]
    for kind in ("moses", "moses-2012", "whitespace"):
        refuses("did you mean 'en'", Tokenizer, "EN", kind)
