"""Models of users: annotation by spaCy, Stanza and UDPipe, log-probabilities by CTranslate2."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from features.basics.errors import InputError
from features.basics.plugins import missing
from features.basics.progress import Progress, silent
from features.basics.threads import cores
from features.storage.files import digest, sha256


@dataclass(frozen=True)
class SpacyTagger:
    """Runs an installed pipeline on given tokens; columns that it does not fill stay `_`."""

    model: str

    def annotate(self, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        pipeline = self._pipeline  # raises InputError early if it is not installed
        from spacy.tokens import Doc

        docs = (Doc(pipeline.vocab, words=list(text)) for text in texts)
        for doc in pipeline.pipe(docs):
            yield "\n".join(_row(word) for word in doc)

    @cached_property
    def _pipeline(self) -> Any:
        try:
            import spacy
        except ImportError:
            raise InputError("the package spacy is not installed", remedy="pip install spacy") from None
        try:
            return spacy.load(self.model)
        except OSError:
            remedy = f"python -m spacy download {self.model}, or give its folder"
            raise InputError(f"spaCy has no pipeline '{self.model}' here", remedy=remedy) from None

    @property
    def fingerprint(self) -> str:
        meta = self._pipeline.meta
        return digest("spacy", 1, self.model, meta.get("lang"), meta.get("name"), meta.get("version"))


def _row(word: Any) -> str:
    doc = word.doc
    head = relation = misc = "_"
    if doc.has_annotation("DEP"):
        root = word.head.i == word.i
        head, relation = ("0", "root") if root else (str(word.head.i + 1), word.dep_ or "_")
    if doc.has_annotation("ENT_IOB"):
        misc = f"NER={word.ent_iob_}-{word.ent_type_}" if word.ent_iob_ in ("B", "I") else "NER=O"
    cells = (
        str(word.i + 1), word.text, word.lemma_ or "_", word.pos_ or "_", word.tag_ or "_",
        str(word.morph) or "_", head, relation, "_", misc,
    )  # fmt: skip
    return "\t".join(cells)


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


_ROWS = 1024  # segments between two signs of progress
_TOKENS = 4096  # of a batch; CTranslate2 sorts the rows by length
Split = Callable[[str], list[str]]


@dataclass(frozen=True)
class ForcedDecoder:
    """A model in CTranslate2's format (Klein et al. 2020). C++ code reads the files: use trusted ones only.

    pieces    side -> SentencePiece file; without one, and `SIDE.spm` in the folder, texts are split at blanks
    prefixes  side -> tokens before each text, such as a code of its language
    """

    model: Path
    pieces: dict[str, Path] = field(default_factory=dict)
    prefixes: dict[str, Sequence[str]] = field(default_factory=dict)

    def decode(
        self, sources: Sequence[str], targets: Sequence[str], progress: Progress = silent
    ) -> Iterator[tuple[str, str]]:
        """`subwords` and `token_log_probabilities` of each target, the end's included; "" for empty texts."""
        translator, split = self._translator, {side: self._split(side) for side in ("source", "target")}
        for start in range(0, len(sources), _ROWS):
            pairs = zip(sources[start : start + _ROWS], targets[start : start + _ROWS], strict=True)
            texts = [(split["source"](source), split["target"](target)) for source, target in pairs]
            full = [(source, target) for source, target in texts if source and target]
            scores = iter(self._scores(translator, full))
            for source, target in texts:
                known = next(scores) if source and target else []
                yield " ".join(re.sub(r"\s", "▁", each) for each in target if known), " ".join(known)
            progress("decoding", min(start + _ROWS, len(sources)), len(sources))

    def _scores(self, translator: Any, texts: Sequence[tuple[list[str], list[str]]]) -> Iterator[list[str]]:
        before, after = [*self.prefixes.get("source", ())], [*self.prefixes.get("target", ())]
        sources, targets = (
            ([*before, *source] for source, _ in texts),
            ([*after, *target] for _, target in texts),
        )
        try:
            results = translator.score_batch(
                list(sources), list(targets), max_batch_size=_TOKENS, batch_type="tokens", max_input_length=0
            )
        except (RuntimeError, ValueError) as error:
            raise InputError(f"CTranslate2 cannot score these texts ({error})", location=self.model) from None
        for result, (_, target) in zip(results, texts, strict=True):
            values = result.log_probs[len(after) :]
            if len(values) != len(target) + 1:
                raise InputError(f"{len(target)} tokens got {len(values)} values", location=self.model)
            yield [f"{value:.4f}" for value in values]

    @cached_property
    def _translator(self) -> Any:
        try:
            import ctranslate2
        except ImportError:
            raise missing("ctranslate2") from None
        try:
            return ctranslate2.Translator(str(self.model), device="cpu", intra_threads=cores())
        except (RuntimeError, ValueError) as error:
            remedy = "give the folder that a ct2-...-converter has written"
            raise InputError(
                f"no model of CTranslate2 ({error})", location=self.model, remedy=remedy
            ) from None

    def _split(self, side: str) -> Split:
        beside = self.model / f"{side}.spm"
        path = self.pieces.get(side, beside if beside.is_file() else None)
        if path is None:
            return str.split
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError:
            raise missing("sentencepiece") from None
        try:
            processor = SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError) as error:
            raise InputError(f"no model of SentencePiece ({error})", location=path) from None
        return lambda text: list(processor.encode(text, out_type=str))
