"""What parts of a bundle are made from besides the corpus: annotations of sides, files of single parts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from features.basics.assignments import assignments
from features.basics.errors import InputError, did_you_mean
from features.basics.progress import Progress, silent
from features.core.bundle import Builders, known_parts, plain_parts, unknown_part, with_needs
from features.core.resource import Resource
from features.resources.annotation import KEPT, Annotation, Holds
from features.resources.language_model import Direction, LanguageModel
from features.resources.lexicon import Lexicon
from features.resources.word_lexicon import KeptWords, StopWords
from features.storage.files import digest, is_input_file, read_lines, sha256
from features.text.annotation import LAYERS, Layer
from features.text.corpus import ParallelCorpus, Side
from features.text.ngram_tables import Case
from features.text.tokenizer import Tokenizer
from qe.language.conllu import tags_of_texts
from qe.language.taggers import KNOWN, TAGGERS, annotated, for_corpora, is_tagger, tagger

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
