"""Log-probabilities of translations by a translation model of the user: forced decoding by CTranslate2."""

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
