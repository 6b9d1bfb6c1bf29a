"""What a bundle is built from: the corpus, further text of one side, alignments."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Any, Final, Protocol, Self

import numpy as np

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.bundle import RESOURCES, Builders, Bundle, builder_of, plain_parts, with_needs
from features.core.resource import Resource, kind_of
from features.core.segments import Segments
from features.resources.phrase_table import BackPhraseTable, PhraseTable
from features.resources.tuple_lm import TupleLM
from features.storage.files import digest, read_lines, sha256
from features.text.corpus import ParallelCorpus, Side
from features.text.links import Links
from features.text.tokenizer import Tokenizer, batches
from features.text.tokens import TokensBuilder

Tokenizers = tuple[Tokenizer, Tokenizer]


class Corpus(Protocol):
    @property
    def provenance(self) -> dict[str, Any]:
        """Identifies the content, in a bundle's manifest and in the name of a cached one."""

    def read(self, tokenizers: Tokenizers, progress: Progress = silent) -> ParallelCorpus:
        """The pairs, tokenized."""


@dataclass(frozen=True)
class CorpusFiles:
    """Two files, plain or gzip, one sentence per line."""

    source: Path
    target: Path

    @cached_property
    def provenance(self) -> dict[str, Any]:
        return {"source": sha256(self.source), "target": sha256(self.target)}

    def read(self, tokenizers: Tokenizers, progress: Progress = silent) -> ParallelCorpus:
        return ParallelCorpus.read(self.source, self.target, *tokenizers, progress=progress)


@dataclass(frozen=True)
class OwnText:
    pairs: Sequence[tuple[str, str]]

    @cached_property
    def provenance(self) -> dict[str, Any]:
        return {"segments": digest(*("\x1f".join(pair) for pair in self.pairs))}

    def read(self, tokenizers: Tokenizers, progress: Progress = silent) -> ParallelCorpus:
        return ParallelCorpus.from_lines(self.pairs, *tokenizers, total=len(self.pairs), progress=progress)


@dataclass(frozen=True, eq=False)
class TranslatedSegments:
    """Segments, each with its translations in all texts side by side.

    If a part of the corpus is held out, no other translation of it is then left in the rest. The pairs of
    `general` come before the segments.
    """

    texts: Sequence[Segments]
    general: Corpus | None = None
    shared_parts: str = ""

    @cached_property
    def provenance(self) -> dict[str, Any]:
        general = {} if self.general is None else self.general.provenance
        content = [text.fingerprint for text in self.texts]
        return {**general, "segments": digest("side by side", *content, self.shared_parts)}

    def read(self, tokenizers: Tokenizers, progress: Progress = silent) -> ParallelCorpus:
        source, target = TokensBuilder(), TokensBuilder()
        for text in self.texts:
            source.add(text.source_tokens)
            target.add(text.target_tokens)
        order = np.arange(len(source)).reshape(len(self.texts), -1).T.ravel()
        pairs = [(source.tokens().take(order), target.tokens().take(order))]
        if self.general is not None:
            corpus = self.general.read(tokenizers, progress)
            pairs.insert(0, (corpus.source, corpus.target))
        return ParallelCorpus.of_tokens(pairs, *tokenizers)


def corpus_of(bundle: Bundle) -> ParallelCorpus:
    """The corpus that a bundle keeps; raises InputError if it left it behind, as a model's does."""
    folder = bundle.path / "corpus"
    if not folder.is_dir():
        raise InputError(
            "this bundle has no corpus", location=bundle.path, remedy="build one with qe resources build"
        )
    return ParallelCorpus.load(folder)


_OF_ONE_SIDE = ("language_model", "ngrams", "truecaser")  # of one side's words: they need no translations
_BATCH = 5000  # segments encoded, and reported, at a time


@dataclass(frozen=True, eq=False)
class Monolingual:
    """Side -> a file of further text, plain or gzip, one segment per line, tokenized as the corpus is."""

    files: Mapping[Side, Path]
    _longer: dict[str, ParallelCorpus] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_files(cls, source: Path | None, target: Path | None) -> Self:
        given: dict[Side, Path | None] = {"source": source, "target": target}
        return cls({side: path for side, path in given.items() if path is not None})

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        return {side: sha256(path) for side, path in self.files.items()}

    def builders(self, fallback: Builders) -> Builders:
        """Builders for parts of this text, made as `fallback` or their kinds make them."""
        kinds = _OF_ONE_SIDE if self.files else ()
        return {kind: self._with_text(builder_of(kind, kind, fallback)) for kind in kinds}

    @property
    def wanted(self) -> Mapping[str, Mapping[str, str | None]]:
        return {name: {"monolingual": self.fingerprints.get(side)} for name, side in _sides().items()}

    def check_used(self, parts: Iterable[str]) -> None:
        side_of = _sides()
        sides = {side_of[name] for name in parts if name in side_of}
        for side, path in self.files.items():
            if side not in sides:
                raise InputError(
                    f"none of the parts to be built takes {side} text",
                    location=path,
                    remedy=f"build a language model, n-gram counts or the truecaser of the {side} side",
                )

    def _with_text(self, build: Callable[..., Resource]) -> Callable[..., Resource]:
        @wraps(build)
        def make(
            corpus: ParallelCorpus, *, side: Side, progress: Progress = silent, **settings: Any
        ) -> Resource:
            if side not in self.files or any(isinstance(value, Resource) for value in settings.values()):
                return build(corpus, side=side, progress=progress, **settings)
            longer = self.longer(corpus, side, progress)
            built: Any = build(longer, side=side, progress=progress, **settings)  # a dataclass
            made: Resource = replace(
                built, settings={**built.settings, "monolingual": self.fingerprints[side]}
            )
            return made

        return make

    def longer(self, corpus: ParallelCorpus, side: Side, progress: Progress = silent) -> ParallelCorpus:
        """A corpus whose sides are both the one side of `corpus` with the text after it (read once)."""
        if side not in self._longer:
            builder, tokenizer = TokensBuilder(), corpus.tokenizer(side)
            builder.add(corpus.side(side))
            for batch in batches(read_lines(self.files[side]), _BATCH):
                tokens = tokenizer.tokens(batch)
                builder.add(tokens.take(np.flatnonzero(tokens.lengths)))
                progress(f"reading further {side} text", len(builder) - len(corpus), None)
            if len(builder) == len(corpus):
                raise InputError(
                    "no words here", location=self.files[side], remedy="give one segment per line"
                )
            print_ = digest(corpus.fingerprint, self.fingerprints[side])
            text = builder.tokens()
            self._longer[side] = ParallelCorpus(text, text, tokenizer, tokenizer, 0, print_)
        return self._longer[side]


def _sides() -> dict[str, Side]:
    """The parts of one side's words -> the side."""
    parts = [item for kind in _OF_ONE_SIDE for item in plain_parts(RESOURCES.get(kind)).items()]
    return {name: settings["side"] for name, settings in parts}


_ALIGNED: Final[tuple[type[Resource], ...]] = (PhraseTable, BackPhraseTable, TupleLM)


@dataclass(frozen=True)
class Alignments:
    """A Pharaoh file (`i-j` links, a line per line of the corpus), or None: our aligner's links.

    The part `aligner` itself, which aligns the segments to be scored, is trained by us in either case.
    """

    path: Path | None

    @cached_property
    def fingerprint(self) -> str | None:
        return None if self.path is None else sha256(self.path)

    def builders(self) -> Builders:
        """Builders of the parts of aligned text, with these links in place of the aligner's."""
        if self.path is None:
            return {}
        fixed: dict[str, Any] = {"aligner": self, "symmetrization": "source-target"}
        names = {kind: {entry.name for entry in fields(kind.builder)} for kind in _ALIGNED}
        return {
            kind_of(kind): partial(kind.build, **{key: fixed[key] for key in fixed.keys() & names[kind]})
            for kind in _ALIGNED
        }

    def corpus_links(self, corpus: ParallelCorpus, symmetrization: str, progress: Progress = silent) -> Links:
        """The links of the file, as `Aligner.corpus_links`."""
        if self.path is None:
            raise ValueError("there is no file of alignments")
        progress("reading alignments", 0, 1)
        return links_of_pairs(Links.read(self.path), corpus, self.path)

    def provenance(self, symmetrization: str | None = None) -> dict[str, str | None]:
        return {"alignments": self.fingerprint}

    def check_used(self, parts: Iterable[str]) -> None:
        if self.path is not None and not set(with_needs(parts)) & set(self.wanted):
            raise InputError(
                "none of the parts to be built takes alignments",
                location=self.path,
                remedy=f"build {' or '.join(self.wanted)} (--only, or --all)",
            )

    @property
    def wanted(self) -> Mapping[str, Mapping[str, str | None]]:
        """The settings those parts must have: of other links, they are built again."""
        return {part: {"alignments": self.fingerprint} for kind in _ALIGNED for part in kind.parts}


def links_of_pairs(links: Links, corpus: ParallelCorpus, location: object) -> Links:
    """Links of the pairs that the corpus kept, from the links of all its lines."""
    total = len(corpus) + corpus.empty_pairs
    if len(links) != total:
        raise InputError(
            f"{len(links):,} lines of links, but the corpus has {total:,} lines",
            location=location,
            remedy="give one line per pair of sentences, in the same order; an empty one for no link",
        )
    kept = np.arange(total) if corpus.lines is None else np.asarray(corpus.lines)
    lengths, widths = np.zeros(total, np.int64), np.zeros(total, np.int64)
    lengths[kept], widths[kept] = corpus.source.lengths, corpus.target.lengths
    links.check(lengths, widths, location)  # of a pair with an empty side no link can be right
    return links if corpus.lines is None else links.take(kept)
