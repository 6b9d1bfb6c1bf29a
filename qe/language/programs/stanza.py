"""Stanza pipelines of users (`stanza:LANGUAGE`): tags, base forms, dependencies, entities, constituents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from features.basics.errors import InputError
from features.storage.files import digest

_TEXTS = 200  # texts per call of the pipeline
_PROCESSORS = ("tokenize", "pos", "lemma", "depparse", "ner", "constituency")


@dataclass(frozen=True)
class StanzaTagger:
    """Runs installed models of a language on given tokens; nothing is downloaded."""

    model: str

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        for low in range(0, len(texts), _TEXTS):
            some = [list(text) for text in texts[low : low + _TEXTS]]
            filled = [text for text in some if text]
            blocks = map(_block, self._pipeline(filled).sentences) if filled else iter(())
            yield from (next(blocks) if text else "" for text in some)

    @cached_property
    def _pipeline(self) -> Any:
        try:
            import stanza
        except ImportError:
            raise InputError("the package stanza is not installed", remedy="pip install stanza") from None
        from stanza.resources.common import load_resources_json

        try:
            resources = load_resources_json()
            known = resources[resources[self.model].get("alias", self.model)]  # zh: zh-hans
            return stanza.Pipeline(
                self.model,
                processors=",".join(name for name in _PROCESSORS if name in known),
                tokenize_pretokenized=True,
                download_method=None,
                verbose=False,
            )
        except Exception as error:  # many error types: missing or incomplete models, missing list of models
            raise InputError(
                f"Stanza has no models of '{self.model}' here ({error})",
                remedy=f"python -c \"import stanza; stanza.download('{self.model}')\"",
            ) from None

    @property
    def fingerprint(self) -> str:
        import importlib.metadata

        loaded = sorted(self._pipeline.processors)
        return digest("stanza", 1, importlib.metadata.version("stanza"), self.model, loaded)


def _block(sentence: Any) -> str:
    lines = []
    if getattr(sentence, "constituency", None) is not None:
        lines.append(f"# constituency = {sentence.constituency}")
    for token in sentence.tokens:
        word = token.words[0]
        cells = (
            str(word.id), token.text, word.lemma, word.upos, word.xpos, word.feats,
            None if word.head is None else str(word.head), word.deprel, None,
            f"ner={token.ner}" if token.ner else None,
        )  # fmt: skip
        lines.append("\t".join(cell or "_" for cell in cells))
    return "\n".join(lines)
