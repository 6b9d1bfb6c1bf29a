"""Treebanks in CoNLL-U: sentences with tags, base forms and heads."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from features.basics.errors import InputError
from features.basics.numerals import MAX_WORDS, natural
from features.storage.files import read_lines
from features.text.annotation import collapsed
from features.text.tokens import Tokens

Row = list[str]  # ten columns
_ID = re.compile("[0-9]{1,18}(-[0-9]{1,18})?")
FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, MISC = 1, 2, 3, 4, 5, 6, 7, 9


@dataclass(frozen=True, eq=False)
class Sentence:
    """Words of a sentence (ids 1, 2, ...), all rows including ranges, file, and a line number per row."""

    words: list[Row]
    rows: list[Row]
    path: Path
    lines: list[int]

    @property
    def location(self) -> str:
        return f"{self.path}:{self.lines[0]}"

    def heads(self) -> list[int]:
        """Heads of the words, from 0; -1: root. Raises InputError, with the line, unless they form a tree."""
        lines = [line for row, line in zip(self.rows, self.lines, strict=True) if _is_word(row)]
        return heads_of(self.words, [f"{self.path}:{line}" for line in lines])

    def in_text(self) -> list[Row]:
        """Rows with contracted words (`del`, not `de` and `el`); see `features.text.annotation.collapsed`."""
        return collapsed(self.rows)


def read_conllu(files: Sequence[Path]) -> list[Sentence]:
    """Sentences of CoNLL-U files, plain or gzip; comments and empty nodes are ignored.

    Raises InputError, with file and line, for rows without ten columns or a form, ids out of order, sentences
    of more than 2,000 words, or files without a sentence.
    """
    sentences = [sentence for file in files for sentence in _sentences(file)]
    if not sentences:
        raise InputError("no sentence in CoNLL-U", location=", ".join(map(str, files)))
    return sentences


def tags_of_texts(path: Path, layer: Literal["lemma", "upos", "xpos"]) -> Tokens:
    """Tags in `layer` of each text's words (`in_text`), one text per sentence."""
    column = {"lemma": LEMMA, "upos": UPOS, "xpos": XPOS}[layer]
    texts = [[row[column] for row in sentence.in_text()] for sentence in read_conllu([path])]
    if all(tag == "_" for text in texts for tag in text):
        raise InputError(
            f"the treebank has no {layer}", location=path, remedy="name a treebank with this column"
        )
    return Tokens.from_lists(texts)


def _sentences(path: Path) -> Iterator[Sentence]:
    rows: list[Row] = []
    lines: list[int] = []
    for number, line in enumerate(read_lines(path), start=1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if rows:
                yield _sentence(rows, path, lines)
            rows, lines = [], []
            continue
        row = line.split("\t")
        if len(row) != 10:
            raise InputError(f"CoNLL-U has 10 columns, but this line {len(row)}", location=f"{path}:{number}")
        if "." not in row[0]:
            if not _ID.fullmatch(row[0]):
                raise InputError(
                    f"{row[0][:40]!r} is no id of a word or a range", location=f"{path}:{number}"
                )
            if not row[FORM]:
                raise InputError("a word without form", location=f"{path}:{number}")
            rows.append(row)
            lines.append(number)
    if rows:
        yield _sentence(rows, path, lines)


def _is_word(row: Row) -> bool:
    return natural(row[0]) is not None


def _sentence(rows: list[Row], path: Path, lines: list[int]) -> Sentence:
    words, location = list(filter(_is_word, rows)), f"{path}:{lines[0]}"
    ids = [row[0] for row in words]
    if ids != [str(i) for i in range(1, len(ids) + 1)]:
        raise InputError(f"ids must be 1, 2, ..., but are {', '.join(ids[:8])[:80]} ...", location=location)
    if len(words) > MAX_WORDS:
        raise InputError(f"{len(words):,} words, but a sentence has at most {MAX_WORDS:,}", location=location)
    return Sentence(words, rows, path, lines)


def heads_of(words: Sequence[Row], location: Sequence[str]) -> list[int]:
    """Heads of a sentence's words, from 0; -1: root. Raises InputError unless they form a tree."""
    heads = []
    for row, line in zip(words, location, strict=True):
        head = natural(row[HEAD])
        if head is None or head > len(words):
            raise InputError(
                f"the head of a word must be 0 to {len(words)}, but is {row[HEAD][:40]!r}", location=line
            )
        heads.append(head - 1)
    rooted = {-1}
    for word in range(len(heads)):
        way: set[int] = set()
        while word not in rooted:
            if word in way:
                raise InputError(f"the word {words[word][FORM]!r} depends on itself", location=location[word])
            way.add(word)
            word = heads[word]
        rooted |= way
    return heads


def versions(sentences: Sequence[Sentence]) -> list[list[Row]]:
    """Every sentence by words, followed by its contracted version if that differs; both are training data."""
    result = []
    for sentence in sentences:
        result.append(sentence.words)
        if len(sentence.rows) != len(sentence.words):
            result.append(sentence.in_text())
    return result


def universal_deprel(relation: str) -> str:
    """The relation without its subtype: `nsubj` for `nsubj:pass`."""
    return relation.split(":", 1)[0]
