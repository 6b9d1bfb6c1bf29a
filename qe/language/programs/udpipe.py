"""UDPipe 1 models of users (`udpipe:FILE`): tags, base forms, dependencies (Straka and Strakova 2017)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.storage.files import digest, sha256


@dataclass(frozen=True)
class UDPipeTagger:
    """Runs a model on given tokens, with a word per token.

    UDPipe's C++ code reads the model, so use trusted models only.
    """

    model: Path

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        package, model = self._loaded
        writer = package.OutputFormat.newOutputFormat("conllu")
        for text in texts:
            sentence = package.Sentence()
            for token in text:
                sentence.addWord(token)
            error = package.ProcessingError()
            if text and not model.tag(sentence, package.Model.DEFAULT, error):
                raise InputError(f"UDPipe cannot tag ({error.message})", location=self.model)
            if text and not model.parse(sentence, package.Model.DEFAULT):
                for word in list(sentence.words)[1:]:  # the model has no parser
                    word.head, word.deprel = -1, ""
            yield writer.writeSentence(sentence).rstrip("\n") if text else ""

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        try:
            import ufal.udpipe as package
        except ImportError:
            raise InputError(
                "the package ufal.udpipe is not installed", remedy="pip install ufal.udpipe"
            ) from None
        if not self.model.is_file():
            raise InputError("no such file", location=self.model, remedy="give a UDPipe model: udpipe:FILE")
        model = package.Model.load(str(self.model))
        if model is None:
            raise InputError("is no model that UDPipe can read", location=self.model)
        return package, model

    @property
    def fingerprint(self) -> str:
        if not self.model.is_file():
            raise InputError("no such file", location=self.model, remedy="give a UDPipe model: udpipe:FILE")
        return digest("udpipe", 1, sha256(self.model))
