"""Projects entity tags over word links to the other side of a parallel corpus."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.resources.aligner import Aligner
from features.storage.files import atomic_file
from features.text.annotation import NOTHING, OUTSIDE, layer_tokens, spans
from features.text.corpus import ParallelCorpus, Side
from features.text.links import Links
from features.text.tokens import Tokens
from qe.language.programs.taggers import Tagger, annotated, for_corpora

Link = tuple[int, int]
HELD_OUT: Final = 25  # one sentence in so many is held out


@dataclass(frozen=True)
class Projected:
    sentences: int
    entities: int
    skipped: int


def write_projected(
    path: Path, words: Tokens, tags: Tokens, links: Links, held_out_path: Path | None = None
) -> Projected:
    """Writes the texts `words` as CoNLL 2002, with the entities of their translations.

    tags           of the translations: `B-PER`, `I-PER`, `O`
    links          from `words` (source) to the translations (target); the intersection has the fewest errors
    held_out_path  file for every 25th sentence, left out of `path`

    A sentence is skipped if an entity has no clear place in it (`projected`), or if it is empty. Raises
    InputError for links outside the texts, and if no sentence is left.

    Source: Yarowsky, Ngai and Wicentowski 2001, "Inducing multilingual text analysis tools via robust
    projection across aligned corpora", section 5; sentences skipped as in Ehrmann, Turchi and Steinberger
    2011.
    """
    links.check(words.lengths, tags.lengths, "links")
    sentences = entities = 0
    with ExitStack() as stack:
        parts = [stack.enter_context(atomic_file(file)) for file in (path, held_out_path) if file is not None]
        files = [stack.enter_context(part.open("w", encoding="utf-8")) for part in parts]
        for text, made in _sentences(words, tags, links):
            sentences, entities = sentences + 1, entities + len(spans(made))
            file = files[-1] if sentences % HELD_OUT == 0 else files[0]
            file.writelines(f"{word} {tag}\n" for word, tag in zip(text, made, strict=True))
            file.write("\n")
        if not sentences:
            raise InputError("no sentence has a place for the entities of its translation")
    return Projected(sentences, entities, len(words) - sentences)


def _sentences(words: Tokens, tags: Tokens, links: Links) -> Iterator[tuple[list[str], list[str]]]:
    for k in range(len(words)):
        text, (first, last) = words.words(k), links.offsets[k : k + 2].tolist()
        pairs = np.column_stack([links.source[first:last], links.target[first:last]]).tolist()
        made = projected(len(text), tags.words(k), pairs) if text else None
        if made is not None:
            yield text, made


def projected(length: int, tags: Sequence[str], links: Sequence[Link]) -> list[str] | None:
    """Tags of a text of `length` words from those of its translation, or None if a place is unclear.

    links  (place in the text, place in the translation)

    An entity extends from the first to the last word linked to one of its words. Its place is unclear if
    there is no such word, or if a word between is linked outside the entity.
    """
    made = [OUTSIDE] * length
    for start, end, kind in spans(tags):
        places = [i for i, j in links if start <= j < end]
        if not places:
            return None
        first, last = min(places), max(places)
        if any(first <= i <= last and not start <= j < end for i, j in links):
            return None
        made[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (last - first)]
    return made


def project_entities(
    corpus: ParallelCorpus, aligner: Aligner, annotator: Tagger, language: str, path: Path, pairs: int,
    held_out_path: Path | None = None, progress: Progress = silent,
) -> Projected:  # fmt: skip
    """Writes the side of the corpus that is not in `language`, with the entities of its translations.

    Links are the intersection of the aligner's directions, of the first `pairs`; see `write_projected`.
    Raises InputError for a language that neither side has, and for an annotator without entities.
    """
    side = _side(corpus, language)
    corpus = corpus.take(np.arange(min(pairs, len(corpus))))
    tags = _tags(corpus.side(side), annotator, progress)
    links = aligner.align(corpus.source, corpus.target, "intersection", progress=progress)
    if side == "source":
        links = Links(links.offsets, links.target, links.source)
    words = corpus.target if side == "source" else corpus.source
    return write_projected(path, words, tags, links, held_out_path)


def _side(corpus: ParallelCorpus, language: str) -> Side:
    source, target = corpus.source_tokenizer.language, corpus.target_tokenizer.language
    if language not in (source, target):
        raise InputError(
            f"the annotator is of '{language}', but the corpus of '{source}' and '{target}'",
            remedy="give an annotator of one of the two languages",
        )
    return "source" if language == source else "target"


def _tags(tokens: Tokens, annotator: Tagger, progress: Progress) -> Tokens:
    blocks = annotated(tokens, for_corpora(annotator, ("entity",)), None, progress=progress)
    tags = layer_tokens(blocks, tokens, "entity", "what the annotator says")
    if NOTHING in tags.types:
        raise InputError("the annotator says nothing of entities", remedy="train one: --task entities")
    return tags
