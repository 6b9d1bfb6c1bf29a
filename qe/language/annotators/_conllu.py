"""Treebanks in CoNLL-U: sentences with tags, base forms and heads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from features.basics.errors import InputError
from features.basics.naturals import natural
from features.storage.files import read_lines
from features.text.annotation import collapsed

Row = list[str]  # ten columns
FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, MISC = 1, 2, 3, 4, 5, 6, 7, 9


@dataclass(frozen=True, eq=False)
class Sentence:
    """The words of a sentence (ids 1, 2, ...), and its rows with ranges; where it begins."""

    words: list[Row]
    rows: list[Row]
    where: str

    def in_text(self) -> list[Row]:
        """Words as the text has them: `del`, not `de` and `el` (`features.text.annotation.collapsed`)."""
        return collapsed(self.rows)


def read_conllu(files: Sequence[Path]) -> list[Sentence]:
    """The sentences of CoNLL-U files, plain or gzip; comments and empty nodes are passed over.

    Raises InputError, with file and line, for rows without ten columns, ids out of order, or files without
    a sentence.
    """
    sentences = [sentence for file in files for sentence in _sentences(file)]
    if not sentences:
        raise InputError("no sentence in CoNLL-U", where=", ".join(map(str, files)))
    return sentences


def _sentences(path: Path) -> Iterator[Sentence]:
    rows: list[Row] = []
    first = 1
    for number, line in enumerate(read_lines(path), start=1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if rows:
                yield _sentence(rows, f"{path}:{first}")
            rows = []
            continue
        row = line.split("\t")
        if len(row) != 10:
            raise InputError(f"CoNLL-U has 10 columns, but this line {len(row)}", where=f"{path}:{number}")
        first = first if rows else number
        if "." not in row[0]:
            rows.append(row)
    if rows:
        yield _sentence(rows, f"{path}:{first}")


def _sentence(rows: list[Row], where: str) -> Sentence:
    words = [row for row in rows if row[0].isdigit()]
    ids = [row[0] for row in words]
    if ids != [str(i) for i in range(1, len(ids) + 1)]:
        raise InputError(f"ids must be 1, 2, ..., but are {', '.join(ids[:8])} ...", where=where)
    return Sentence(words, rows, where)


def heads_of(words: Sequence[Row], where: str) -> list[int]:
    """The heads of a sentence's words, from 0; -1: root.

    Raises InputError for heads that make no tree.
    """
    heads = []
    for row in words:
        head = natural(row[HEAD])
        if head is None or head > len(words):
            raise InputError(
                f"the head of a word must be 0 to {len(words)}, but is {row[HEAD][:40]!r}", where=where
            )
        heads.append(head - 1)
    for word in range(len(heads)):
        seen, place = 0, word
        while place >= 0 and seen <= len(heads):
            place, seen = heads[place], seen + 1
        if place >= 0:
            raise InputError(f"the word {words[word][FORM]!r} depends on itself", where=where)
    return heads


def versions(sentences: Sequence[Sentence]) -> list[list[Row]]:
    """Every sentence by words, and once more as the text has it where that differs: both are learned."""
    result = []
    for sentence in sentences:
        result.append(sentence.words)
        if len(sentence.rows) != len(sentence.words):
            result.append(sentence.in_text())
    return result


def universal_deprel(relation: str) -> str:
    """The relation without its subtype: `nsubj` of `nsubj:pass`."""
    return relation.split(":", 1)[0]
