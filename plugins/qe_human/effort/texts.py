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
    """Words, lemmas and word classes of n texts, one entry per word in each."""

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
    """Raw texts, tokenized as for HTER and annotated by a tagger; `cache` is the folder of annotations."""
    words = Tokenizer(language, normalise=False).tokens(texts)
    blocks = annotated(words, tagger, cache, f"tagging {name}", progress)
    return _with_layers(words, blocks, language, name)


def read_conllu(path: Path, language: str) -> AnnotatedTexts:
    """Texts from a CoNLL-U file, plain or gzip; raises InputError for invalid content."""
    blocks = list(read_blocks(path))
    rows = [[row[_FORM] for row in words_of(block, str(path), k)] for k, block in enumerate(blocks, start=1)]
    for k, forms in enumerate(rows, start=1):
        if not all(forms):
            raise InputError("a word without form", location=f"{path}, segment {k}")
    return _with_layers(Tokens.from_lists(rows), blocks, language, str(path))


def is_conllu(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".conllu")


def _with_layers(words: Tokens, blocks: Sequence[str], language: str, location: str) -> AnnotatedTexts:
    lemma, upos, _ = layers(blocks, words, LAYERS, location)
    return AnnotatedTexts(words, annotated_lemmas(words, lemma, language), word_class_tokens(words, upos))
