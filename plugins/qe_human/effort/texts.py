"""Annotated texts: words, lemmas and word classes of translations or post-edits."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.text.annotation import LAYERS, layers, word_class_tokens, words_of
from features.text.stems import annotated_lemmas
from features.text.tokenizer import Tokenizer
from features.text.tokens import Tokens
from qe.language.programs.taggers import Tagger, annotated
from qe.resources.annotations import read_blocks

_FORM = 1  # column of CoNLL-U


@dataclass(frozen=True, eq=False)
class AnnotatedTexts:
    """n texts, one entry per word in each of the three layers.

    words    as they were written
    lemmas   see `features.text.stems.annotated_lemmas`
    classes  see `features.text.annotation`
    """

    words: Tokens
    lemmas: Tokens
    classes: Tokens

    def __len__(self) -> int:
        return len(self.words)


def tagged_texts(
    texts: Sequence[str],
    language: str,
    tagger: Tagger,
    cache: Path | None = None,
    name: str = "texts",
    progress: Progress = silent,
) -> AnnotatedTexts:
    """Raw texts, tokenized as for HTER (typographic characters stay) and annotated by a tagger.

    cache  folder where annotations are kept, by tagger and tokens
    """
    words = Tokenizer(language, normalise=False).tokens(texts)
    blocks = annotated(words, tagger, cache, f"tagging {name}", progress)
    return _with_layers(words, blocks, language, name)


def read_conllu(path: Path, language: str) -> AnnotatedTexts:
    """Texts from a CoNLL-U file, plain or gzip: a block per text, with its words unchanged. Raises
    InputError for what is no CoNLL-U.
    """
    blocks = list(read_blocks(path))
    rows = [[row[_FORM] for row in words_of(block, str(path), k)] for k, block in enumerate(blocks, start=1)]
    for k, forms in enumerate(rows, start=1):
        if not all(forms):
            raise InputError("a word without form", location=f"{path}, segment {k}")
    return _with_layers(Tokens.from_lists(rows), blocks, language, str(path))


def is_conllu(path: Path) -> bool:
    """Whether the file name ends as CoNLL-U files do."""
    return path.name.removesuffix(".gz").endswith(".conllu")


def _with_layers(words: Tokens, blocks: Sequence[str], language: str, location: str) -> AnnotatedTexts:
    lemma, upos, _ = layers(blocks, words, LAYERS, location)
    return AnnotatedTexts(words, annotated_lemmas(words, lemma, language), word_class_tokens(words, upos))
