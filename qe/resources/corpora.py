"""What a bundle is built from: texts, further text, alignments, annotations, files of single parts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Any, Final, Literal, Protocol, Self

import numpy as np

from features.basics.assignments import assignments
from features.basics.errors import InputError, did_you_mean
from features.basics.progress import Progress, silent
from features.core.bundle import (
    RESOURCES,
    Builders,
    Bundle,
    builder_of,
    known_parts,
    plain_parts,
    unknown_part,
    with_needs,
)
from features.core.resource import Resource, kind_of
from features.core.segments import Segments
from features.resources.annotation import KEPT, Annotation, Holds
from features.resources.language_model import Direction, LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.phrase_table import BackPhraseTable, PhraseTable
from features.resources.tuple_lm import TupleLM
from features.resources.word_lexicon import KeptWords, StopWords
from features.storage.files import digest, is_input_file, read_lines, sha256
from features.text.annotation import LAYERS, Layer
from features.text.corpus import ParallelCorpus, Side
from features.text.links import Links
from features.text.ngram_tables import Case
from features.text.tokenizer import Tokenizer, batches
from features.text.tokens import Tokens, TokensBuilder
from qe.language.conllu import tags_of_texts
from qe.language.taggers import KNOWN, TAGGERS, annotated, for_corpora, is_tagger, tagger

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
        pairs = [self._side_by_side()]
        if self.general is not None:
            corpus = self.general.read(tokenizers, progress)
            pairs.insert(0, (corpus.source, corpus.target))
        return ParallelCorpus.of_tokens(pairs, *tokenizers)

    def _side_by_side(self) -> tuple[Tokens, Tokens]:
        source, target = TokensBuilder(), TokensBuilder()
        for text in self.texts:
            source.add(text.source_tokens)
            target.add(text.target_tokens)
        order = np.arange(len(source)).reshape(len(self.texts), -1).T.ravel()
        return source.tokens().take(order), target.tokens().take(order)


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
        return (
            {kind: self._with_text(builder_of(kind, kind, fallback)) for kind in _OF_ONE_SIDE}
            if self.files
            else {}
        )

    @property
    def wanted(self) -> Mapping[str, Mapping[str, str | None]]:
        return {
            name: {"monolingual": self.fingerprints.get(settings["side"])}
            for kind in _OF_ONE_SIDE
            for name, settings in _parts(kind).items()
        }

    def check_used(self, parts: Iterable[str]) -> None:
        taking = {name: settings["side"] for kind in _OF_ONE_SIDE for name, settings in _parts(kind).items()}
        sides = {taking[name] for name in parts if name in taking}
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


def _parts(kind: str) -> Mapping[str, Mapping[str, Any]]:
    return plain_parts(RESOURCES.get(kind))


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


# What an annotation holds -> its parts, by side.
_PARTS: Final[Mapping[Holds, Mapping[str, str]]] = {
    holds: {
        str(settings["side"]): name
        for name, settings in Annotation.parts.items()
        if settings.get("holds", "tags") == holds
    }
    for holds in KEPT
}

_TEXTS = 20_000  # given to a program at a time: what it says of them is held in memory


@dataclass(frozen=True)
class CorpusAnnotation:
    """The annotation of one side: program, fingerprint, and a CoNLL-U block per pair of the corpus."""

    annotator: str
    fingerprint: str
    blocks: Callable[[ParallelCorpus, Side], Iterator[str]]

    @property
    def settings(self) -> Mapping[str, str]:
        return {"by": self.annotator, "content": self.fingerprint}


def by_program(
    name: str, language: str, other_language: str, cache: Path | None = None, layers: Sequence[Layer] = LAYERS
) -> CorpusAnnotation:
    """Annotation by an annotator of `qe.language.taggers`; `layers` is what is kept of it."""
    annotator = for_corpora(tagger(name, language, other_language, texts_per_process=2000), layers)

    def blocks(corpus: ParallelCorpus, side: Side) -> Iterator[str]:
        tokens = corpus.side(side)
        for low in range(0, len(tokens), _TEXTS):
            rows = np.arange(low, min(low + _TEXTS, len(tokens)))
            yield from annotated(tokens.take(rows), annotator, cache)

    return CorpusAnnotation(name, annotator.fingerprint, blocks)


def from_file(path: Path) -> CorpusAnnotation:
    """Annotation from a CoNLL-U file with a block per line of the corpus (comments alone: no words)."""
    if not is_input_file(path):
        raise InputError(
            f"'{path}' is neither an annotator nor a file",
            location="annotation of the corpus",
            remedy=f"give a CoNLL-U file with a block per line of the corpus, or an annotator: {KNOWN}"
            f"{did_you_mean(str(path), TAGGERS)}",
        )
    return CorpusAnnotation(
        "file", sha256(path), lambda corpus, side: _of_pairs(read_blocks(path), corpus, path)
    )


def from_column(blocks: Sequence[str]) -> CorpusAnnotation:
    print_ = digest("\x1f".join(blocks).encode())
    return CorpusAnnotation("segments", print_, lambda corpus, side: _of_pairs(blocks, corpus, "annotations"))


def read_blocks(path: Path) -> Iterator[str]:
    lines: list[str] = []
    for line in read_lines(path):
        if line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _of_pairs(blocks: Iterator[str] | Sequence[str], corpus: ParallelCorpus, location: Any) -> Iterator[str]:
    total = len(corpus) + corpus.empty_pairs
    kept = range(total) if corpus.lines is None else corpus.lines.tolist()
    wanted = iter(kept)
    following, count = next(wanted, None), 0
    for count, block in enumerate(blocks, start=1):
        if following == count - 1:
            yield block
            following = next(wanted, None)
    if count != total:
        raise InputError(
            f"{count} CoNLL-U blocks, but the corpus has {total} lines",
            location=location,
            remedy="give one block per line, in the same order; comments alone for an empty line",
        )


@dataclass(frozen=True)
class Annotations:
    """The annotation of the sides that have one, as `features.core.bundle.build` takes it.

    sources  what it holds -> side -> what it comes from
    """

    sources: Mapping[Holds, Mapping[str, CorpusAnnotation]] = field(default_factory=dict)

    @classmethod
    def alike(cls, sides: Mapping[str, CorpusAnnotation]) -> "Annotations":
        return cls(dict.fromkeys(KEPT, sides))

    def builders(self) -> Builders:
        return {"annotation": self._built}

    @property
    def wanted(self) -> Mapping[str, Mapping[str, str]]:
        """Settings of the annotated parts; a part of another annotation is built again."""
        return {
            _PARTS[holds][side]: annotation.settings
            for holds, sides in self.sources.items()
            for side, annotation in sides.items()
            if side in _PARTS[holds]
        }

    def _built(
        self, corpus: ParallelCorpus, *, side: Side, holds: Holds = "tags", progress: Progress = silent
    ) -> Annotation:
        sides = self.sources.get(holds, {})
        if side not in sides:
            return Annotation.build(corpus, side=side, holds=holds, progress=progress)
        blocks = sides[side].blocks(corpus, side)
        return Annotation.from_blocks(corpus, side, blocks, sides[side].settings, progress, holds=holds)


def annotated_sides(parts: Sequence[str], holds: Holds | None = None) -> list[str]:
    """The sides of the corpus that need an annotation for these parts, or for sources of them."""
    needed = with_needs(parts)
    wanted = [named for what, named in _PARTS.items() if holds in (None, what)]
    return [side for side in ("source", "target") if any(named.get(side) in needed for named in wanted)]


def annotations_for(
    parts: Sequence[str],
    annotators: Mapping[str, str | Path],
    tokenizers: tuple[Tokenizer, Tokenizer],
    cache: Path | None = None,
) -> Annotations:
    """Annotations of the sides that the parts need; no other program has to be installed."""
    languages = {"source": tokenizers[0].language, "target": tokenizers[1].language}
    sources: dict[Holds, dict[str, CorpusAnnotation]] = {holds: {} for holds in KEPT}
    for holds, layers in KEPT.items():
        for side in annotated_sides(parts, holds):
            if side not in annotators:
                continue
            name, other_side = str(annotators[side]), "target" if side == "source" else "source"
            if is_tagger(name):
                pair = languages[side], languages[other_side]
                sources[holds][side] = by_program(name, *pair, cache, layers)
            else:
                sources[holds][side] = from_file(Path(name))
    return Annotations(sources)


@dataclass(frozen=True)
class PartFiles:
    """Part -> the file it is read from; raises InputError for an unknown part."""

    files: Mapping[str, Path]

    def __post_init__(self) -> None:
        parts = known_parts()
        for name, path in self.files.items():
            if name not in parts:
                raise unknown_part(name)
            if name not in _READERS:
                raise InputError(
                    f"the part '{name}' is read from no file",
                    location=path,
                    remedy="ARPA and KenLM files are read as language models "
                    f"({', '.join(plain_parts(LanguageModel))}), treebanks in CoNLL-U as models of tags "
                    f"({', '.join(_TAG_MODELS)}), those of GIZA++ and Moses as lexicons "
                    f"({', '.join(plain_parts(Lexicon))}), lists as stop words "
                    f"({', '.join(StopWords.parts)}), texts as words to keep ({', '.join(KeptWords.parts)})",
                )

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        return {name: sha256(path) for name, path in self.files.items()}

    def builders(self) -> Builders:
        return {
            name: partial(_READERS[name], path, self.fingerprints[name]) for name, path in self.files.items()
        }

    @property
    def readers(self) -> Builders:
        return {name: partial(_READERS[name], path, "") for name, path in self.files.items()}

    @property
    def wanted(self) -> Mapping[str, Mapping[str, str | None]]:
        return {name: {"read": self.fingerprints.get(name)} for name in _READERS}


def parsed(texts: Iterable[str]) -> dict[str, Path]:
    """Part -> file, from `PART=FILE`."""
    return {part: Path(path) for part, path in assignments(texts, "PART=FILE", "--read").items()}


def _language_model(
    path: Path,
    checksum: str,
    corpus: ParallelCorpus,
    *,
    side: str,
    direction: Direction = "forward",
    case: Case = "lower",
    progress: Progress = silent,
    **of_built: Any,
) -> LanguageModel:
    progress(f"reading {path.name}", 0, 1)
    model = LanguageModel.read(path, direction=direction, case=case)
    model = model.with_settings(side=side, read=checksum)
    progress(f"reading {path.name}", 1, 1)
    return model


def _lexicon(
    path: Path,
    checksum: str,
    corpus: ParallelCorpus,
    *,
    direction: Literal["source_to_target", "target_to_source"],
    order: Literal["given_first", "generated_first"] = "given_first",
    null: str = "NULL",
    progress: Progress = silent,
) -> Lexicon:
    progress(f"reading {path.name}", 0, 1)
    sides = (corpus.source, corpus.target)
    given, words = sides if direction == "source_to_target" else sides[::-1]
    lexicon = Lexicon.read_lex(path, order, null).with_quartiles(given, words)
    progress(f"reading {path.name}", 1, 1)
    settings = {"direction": direction, **lexicon.settings, "null": null, "read": checksum}
    return replace(lexicon, settings=settings)


def _stop_words(
    path: Path, checksum: str, corpus: ParallelCorpus, *, side: Side, progress: Progress = silent
) -> StopWords:
    return StopWords.read(path, side, checksum)


def _tag_model(
    path: Path,
    checksum: str,
    corpus: ParallelCorpus,
    *,
    side: str,
    layer: Literal["lemma", "upos", "xpos"] = "xpos",
    order: int,
    direction: Direction = "forward",
    case: Case = "true",
    minimum: int = 1,
    prune: bool = False,
    progress: Progress = silent,
    **of_built: Any,
) -> LanguageModel:
    model = LanguageModel.from_tokens(
        tags_of_texts(path, layer),
        order=order,
        direction=direction,
        case=case,
        minimum=minimum,
        prune=prune,
        progress=progress,
        corpus_fingerprint=checksum,
    )
    return model.with_settings(side=side, layer=layer, read=checksum)


def _kept_words(
    path: Path,
    checksum: str,
    corpus: ParallelCorpus,
    *,
    side: Side,
    progress: Progress = silent,
    **of_built: Any,
) -> KeptWords:
    return KeptWords.read(path, corpus, side, checksum)


_TAG_MODELS: Sequence[str] = [
    name for name, settings in LanguageModel.parts.items() if "annotation" in settings
]
_READERS: Mapping[str, Callable[..., Resource]] = {
    **dict.fromkeys(plain_parts(LanguageModel), _language_model),
    **dict.fromkeys(_TAG_MODELS, _tag_model),
    **dict.fromkeys(plain_parts(Lexicon), _lexicon),
    **dict.fromkeys(StopWords.parts, _stop_words),
    **dict.fromkeys(KeptWords.parts, _kept_words),
}
