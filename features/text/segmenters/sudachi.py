"""SudachiPy: words of Japanese."""

from functools import cached_property
from typing import Any

from features.text.tokenizer import Segmenter


class Sudachi(Segmenter):
    """SudachiPy's short units (mode A) with the dictionary that is installed (sudachidict-core)."""

    package = "sudachipy"
    languages = ("ja",)

    @cached_property
    def _tokenizer(self) -> Any:
        from sudachipy import Dictionary, SplitMode

        return Dictionary().tokenizer(mode=SplitMode.A)

    def words(self, text: str) -> list[str]:
        return [
            morpheme.surface() for morpheme in self._tokenizer.tokenize(text) if morpheme.surface().strip()
        ]
