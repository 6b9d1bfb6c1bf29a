"""A treebank of entities of one side of a parallel corpus, from an annotator of the other side's language.

Tags go over word links into the translations.
"""

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
HELD_OUT: Final = 25  # of so many sentences one is held out


@dataclass(frozen=True)
class Projected:
    """Counts of sentences written, their entities, and sentences passed over. Sentences and entities that
    are held out count among those written.
    """

    sentences: int
    entities: int
    skipped: int


def write_projected(
    path: Path, words: Tokens, tags: Tokens, links: Links, held_out_path: Path | None = None
) -> Projected:
    """Write the texts `words` as CoNLL 2002, with the entities of their translations.

    tags      of the translations: `B-PER`, `I-PER`, `O`
    links     from `words` (source) to the translations (target); those of the intersection err least
    held_out  file of every 25th sentence, which `path` then lacks: an annotator learned from `path` can be
              measured on it

    A sentence is passed over if an entity of its translation has no clear place in it (`projected`), or if it
    is empty. Raises InputError for links outside of the texts, and if no sentence is left.

    Source: Yarowsky, Ngai and Wicentowski 2001, "Inducing multilingual text analysis tools via robust
    projection across aligned corpora", section 5; sentences passed over as in Ehrmann, Turchi and Steinberger
    2011, "Building a multilingual named entity-annotated corpus using annotation projection".
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
    """Tags of a text of `length` words from those of its translation, or None.

    links  (place in the text, place in the translation)

    An entity is from the first to the last word that is linked to one of its words. None if there is no such
    word, or if a word between is linked to a word outside of the entity: the place is not clear.

    >>> projected(4, ["O", "B-ORG", "I-ORG"], [(0, 0), (1, 2), (2, 1)])
    ['O', 'B-ORG', 'I-ORG', 'O']
    >>> projected(3, ["B-ORG", "I-ORG", "O"], [(0, 0), (1, 2), (2, 1)]) is None
    True
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
    """Write one side of the corpus with the entities of their translations. It is the side that is not in
    `language`.

    annotator      of entities of `language`
    pairs          how many pairs of the corpus, from its beginning
    held_out_path  a file for every 25th sentence (`write_projected`)

    Links are those of the intersection of the aligner's two directions, which err least. Raises InputError
    for a language that neither side has, and for an annotator that says nothing of entities.
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
