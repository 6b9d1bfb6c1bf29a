"""jieba (Chinese), PyThaiNLP (Thai), SudachiPy (Japanese): words of texts without blanks."""

from functools import cached_property
from tempfile import mkdtemp
from typing import Any

from features.text.tokenizer import SEGMENTERS, Segmenter


@SEGMENTERS.register("jieba")
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


@SEGMENTERS.register("pythainlp")
class Pythainlp(Segmenter):
    """PyThaiNLP's dictionary matching (`newmm`), which needs no download."""

    package = "pythainlp"
    languages = ("th",)

    def words(self, text: str) -> list[str]:
        from pythainlp.tokenize import word_tokenize

        return [word for word in word_tokenize(text, engine="newmm") if word.strip()]


@SEGMENTERS.register("sudachi")
class Sudachi(Segmenter):
    """SudachiPy's short units (mode A) with the dictionary that is installed (sudachidict-core)."""

    package = "sudachipy"
    languages = ("ja",)

    @cached_property
    def _tokenizer(self) -> Any:
        from sudachipy import Dictionary, SplitMode

        return Dictionary().tokenizer(mode=SplitMode.A)

    def words(self, text: str) -> list[str]:
        surfaces = (morpheme.surface() for morpheme in self._tokenizer.tokenize(text))
        return [surface for surface in surfaces if surface.strip()]
