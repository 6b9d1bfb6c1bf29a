"""jieba: words of Chinese."""

from functools import cached_property
from tempfile import mkdtemp
from typing import Any

from features.text.tokenizer import Segmenter


class Jieba(Segmenter):
    """jieba's default mode: its own dictionary, and its HMM for unknown words."""

    package = "jieba"
    languages = ("zh",)

    @cached_property
    def _tokenizer(self) -> Any:
        import logging

        import jieba

        jieba.setLogLevel(logging.WARNING)
        tokenizer = jieba.Tokenizer()
        tokenizer.tmp_dir = mkdtemp()  # it reads a cache that lies there: nobody else may write it
        return tokenizer

    def words(self, text: str) -> list[str]:
        return [word for word in self._tokenizer.lcut(text) if word.strip()]
