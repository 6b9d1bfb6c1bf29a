"""Annotation of the tokens of a batch, from CoNLL-U blocks or bracketed parses (docs/annotation.md)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from features.basics.errors import InputError
from features.basics.numerals import natural
from features.text.tokens import Tokens

Layer = Literal["lemma", "upos", "xpos", "feats", "head", "deprel", "entity"]
LAYERS: Final[tuple[Layer, ...]] = ("lemma", "upos", "xpos")  # those that an annotated corpus keeps

NOTHING = "_"  # CoNLL-U: the word has no such annotation
OUTSIDE = "O"  # a word that is in no entity
_COLUMNS = 10
_COLUMN: Final = {"lemma": 2, "upos": 3, "xpos": 4, "feats": 5, "head": 6, "deprel": 7, "entity": 9}
_FORM, _HEAD, _MISC = 1, 6, 9
_ID = re.compile(r"[0-9]{1,18}([-.][0-9]{1,18})?")
_PLACES: Final = frozenset(map(str, range(1, 500)))  # ids of words that need no closer look
_RANGE: Final = re.compile(r"(\d+)-(\d+)")
_ENTITY: Final = re.compile(r"(?:^|\|)(?:NER|ner)=([^|]*)")
_LEAF: Final = re.compile(r"\(\s*([^\s()]+)\s+([^\s()]+)(?:\s+[^\s()]+)?\s*\)")
_TRACES: Final = ("-NONE-",)


def layer_tokens(blocks: Sequence[str], tokens: Tokens, layer: Layer, location: str) -> Tokens:
    """One annotation per token, as Tokens of the same offsets.

    blocks    (n,) CoNLL-U or bracketed parses, whose tags are `xpos`; a range of words that are one in the
              text (`1-2 del`) has the annotation of its head
    layer     `entity`: `B-` or `I-` and a type, `O` outside of entities; `_`: unknown; `head`: the number of
              the head in the text, from 1, 0 for a root
    location  name of the blocks in errors

    Raises InputError if a block is neither, or has another number of words than the text has tokens.
    """
    return layers(blocks, tokens, (layer,), location)[0]


def layers(
    blocks: Sequence[str],
    tokens: Tokens,
    wanted: Sequence[Layer],
    location: str,
    numbers: Iterable[int] | None = None,
) -> tuple[Tokens, ...]:
    """Several layers as by `layer_tokens`, reading blocks once; `numbers` (n,) name the texts in errors."""
    texts: list[list[list[str]]] = [[] for _ in wanted]
    for rows in _rows(blocks, tokens, location, numbers):
        for layer, column in zip(wanted, texts, strict=True):
            cells = [row[_COLUMN[layer]] for row in rows]
            column.append(_entity_tags(cells) if layer == "entity" else cells)
    distinct = [Tokens.from_lists(column) for column in texts]
    return tuple(Tokens(each.types, each.ids, np.asarray(tokens.offsets)) for each in distinct)


def heads(blocks: Sequence[str], tokens: Tokens, location: str) -> NDArray[np.int32]:
    """Place (n_tokens,) of every token's head in its text, from 0; -1: a root. Raises as `layer_tokens`."""
    result: list[int] = []
    for number, rows in enumerate(_rows(blocks, tokens, location, None), start=1):
        for row in rows:
            if row[_HEAD] == NOTHING:
                raise InputError(
                    f"the word {row[_FORM]!r} has no head",
                    location=f"{location}, segment {number}",
                    remedy="give dependencies (CoNLL-U columns 7 and 8), or an annotator of them",
                )
            result.append(int(row[_HEAD]) - 1)
    return np.array(result, np.int32)


def spans(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """(start, end, type) of the entities that `B-`, `I-` and `O` tags mark, by the rules of conlleval."""
    entities: list[tuple[int, int, str]] = []
    start, kind = -1, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        prefix, _, name = tag.partition("-")
        if start >= 0 and (prefix != "I" or name != kind):
            entities.append((start, place, kind))
            start = -1
        if prefix == "B" or (prefix == "I" and start < 0):
            start, kind = place, name
    return entities


@dataclass(frozen=True, eq=False)
class Annotated:
    blocks: Sequence[str]
    tokens: Tokens
    location: str
    _read: dict[Layer, Tokens] = field(default_factory=dict, repr=False)

    def layer(self, name: Layer) -> Tokens:
        if name not in self._read:
            wanted = LAYERS if name in LAYERS else (name,)
            read = layers(self.blocks, self.tokens, wanted, self.location)
            self._read.update(zip(wanted, read, strict=True))
        return self._read[name]

    @cached_property
    def heads(self) -> NDArray[np.int32]:
        return heads(self.blocks, self.tokens, self.location)

    @cached_property
    def trees(self) -> tuple[str, ...]:
        return tuple(map(_tree, self.blocks))

    @cached_property
    def parses(self) -> tuple[str, ...]:
        """Trees of the texts, empty if the parser found none; raises InputError if a text was not parsed."""
        lengths = self.tokens.lengths.tolist()
        for number, (block, tree, length) in enumerate(
            zip(self.blocks, self.trees, lengths, strict=True), start=1
        ):
            if length and not tree and "# tree_grammar = " not in block:
                raise InputError(
                    "no constituents",
                    location=f"{self.location}, segment {number}",
                    remedy="annotate with an annotator of constituents (qe annotate train --task "
                    "constituents), or give bracketed trees",
                )
        return self.trees

    @property
    def entity_tags(self) -> Tokens:
        _ = self.entities
        return self.layer("entity")

    @cached_property
    def entities(self) -> tuple[tuple[tuple[int, int, str], ...], ...]:
        """(start, end, type) of every text's entities, in tokens; raises InputError without entity tags."""
        tags = self.layer("entity")
        entities = []
        for i in range(len(tags)):
            words = tags.words(i)
            if NOTHING in words:
                raise InputError(
                    f"word {words.index(NOTHING) + 1} has no entity tag",
                    location=f"{self.location}, segment {i + 1}",
                    remedy="annotate with an annotator of entities, or give NER=O, NER=B-PER, ... in MISC",
                )
            entities.append(tuple(spans(words)))
        return tuple(entities)

    @cached_property
    def misspelled(self) -> NDArray[np.bool_]:
        """Whether the speller does not know each word (`Spell=no` in MISC); raises InputError without one."""
        result: list[bool] = []
        for number, (block, rows) in enumerate(
            zip(self.blocks, _rows(self.blocks, self.tokens, self.location, None), strict=True), start=1
        ):
            if "# speller = " not in block:
                raise InputError(
                    "no speller was asked",
                    location=f"{self.location}, segment {number}",
                    remedy="annotate with `+hunspell` after the annotator's name",
                )
            result += ["Spell=no" in row[_MISC].split("|") for row in rows]
        return np.array(result, bool)

    def values(self, name: str) -> NDArray[np.float64]:
        """Numbers (n,) in the comments `# name = number`; NaN if there is none."""
        pattern = re.compile(rf"^# {re.escape(name)} = (\S+)\s*$", re.MULTILINE)
        matches = (pattern.search(block) for block in self.blocks)
        return np.array([np.nan if match is None else _number(match[1]) for match in matches], np.float64)

    def value_lists(self, name: str) -> list[NDArray[np.float64]]:
        """Lists (n,) of numbers in the comments `# name = number number ...`; empty if absent."""
        pattern = re.compile(rf"^# {re.escape(name)} = (.*)$", re.MULTILINE)
        texts = [match[1] if (match := pattern.search(block)) else "" for block in self.blocks]
        return [np.array([_number(part) for part in text.split()], np.float64) for text in texts]


def words_of(block: str, location: str, number: int) -> Iterator[list[str]]:
    if block.lstrip().startswith("("):
        words = (leaf for leaf in _LEAF.finditer(block) if leaf.group(1) not in _TRACES)
        for k, leaf in enumerate(words, start=1):
            yield [str(k), leaf.group(2), NOTHING, NOTHING, leaf.group(1), *[NOTHING] * 5]
        return
    for row in _lines(block, location, number):
        if row[0] in _PLACES or natural(row[0]) is not None:
            yield row


def block_of(words: Sequence[tuple[str, str, str, str]]) -> str:
    """A CoNLL-U block of (form, lemma, upos, xpos); columns that are not known are `_`."""
    rest = "\t".join([NOTHING] * 5)
    return "\n".join("\t".join((str(i), *word, rest)) for i, word in enumerate(words, start=1))


def collapsed(rows: Sequence[list[str]]) -> list[list[str]]:
    """The words of a sentence as its text has them: a range (`1-2`) is one word, annotated as its head.

    >>> def row(number, form, head, relation):
    ...     return [number, form, *"____", head, relation, *"__"]
    >>> rows = [row("1-2", "del", "_", "_"), row("1", "de", "3", "case"), row("2", "el", "3", "det"),
    ...         row("3", "mar", "0", "root")]
    >>> [(row[0], row[1], row[6], row[7]) for row in collapsed(rows)]
    [('1', 'del', '2', 'case'), ('2', 'mar', '0', 'root')]
    """
    words = [row for row in rows if natural(row[0]) is not None]
    place, kept = [0] * (len(words) + 1), list[list[str]]()
    ranges = [(m[1], m[2], row[_FORM]) for row in rows if (m := _RANGE.fullmatch(row[0]))]
    ends = {natural(first): (natural(last) or 0, form) for first, last, form in ranges}
    k = 1
    while k <= len(words):
        last, form = ends.get(k, (k, words[k - 1][_FORM]))
        last = min(max(last, k), len(words))
        inner = range(k, last + 1)
        chief = next((w for w in inner if natural(words[w - 1][_HEAD]) not in inner), k)
        kept.append([str(len(kept) + 1), form, *words[chief - 1][2:]])
        for w in inner:
            place[w] = len(kept)
        k = last + 1
    for row in kept:
        head = natural(row[_HEAD])
        if head is not None and head < len(place):
            row[_HEAD] = str(place[head])
    return kept


def _rows(
    blocks: Sequence[str], tokens: Tokens, location: str, numbers: Iterable[int] | None
) -> Iterator[list[list[str]]]:
    lengths = np.diff(tokens.offsets).tolist()
    for k, block, length in zip(numbers or range(1, len(blocks) + 1), blocks, lengths, strict=True):
        rows = list(words_of(block, location, k))
        if len(rows) != length:
            rows = _in_text(block, location, k, len(rows), length)
        yield _through(rows, f"{location}, segment {k}")


def _in_text(block: str, location: str, number: int, words: int, length: int) -> list[list[str]]:
    sentences: list[list[list[str]]] = [[]]
    for row in () if block.lstrip().startswith("(") else _lines(block, location, number):
        after_range = len(sentences[-1]) == 1 and sentences[-1][0][0].startswith("1-")
        begins = row[0].startswith("1-") or (row[0] == "1" and not after_range)
        if begins and sentences[-1]:
            sentences.append([])
        sentences[-1].append(row)
    rows = [row for sentence in sentences for row in collapsed(sentence)]
    if len(rows) != length:
        raise InputError(
            f"the annotation has {words} words, but the text {length} tokens",
            location=f"{location}, segment {number}",
            remedy="annotate the tokens that `qe` makes, or give tokenized text (tokenizer: whitespace)",
        )
    return rows


def _through(rows: list[list[str]], location: str) -> list[list[str]]:
    before, last = 0, 0
    for k, row in enumerate(rows):
        if row[0] == "1":
            before = k
            last = next((j for j in range(k + 1, len(rows)) if rows[j][0] == "1"), len(rows)) - k
        head = row[_HEAD]
        if head == NOTHING:
            continue
        place = natural(head)
        if place is None or place > last:
            raise InputError(
                f"the head of a word must be 0 to {last}, but is {head[:40]!r}", location=location
            )
        if before and place:
            row[_HEAD] = str(place + before)
    return rows


def _lines(block: str, location: str, number: int) -> Iterator[list[str]]:
    for line in block.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        row = line.split("\t")
        if len(row) != _COLUMNS:
            raise InputError(
                f"CoNLL-U has {_COLUMNS} columns between tabs, but this line {len(row)}: {line[:60]!r}",
                location=f"{location}, segment {number}",
            )
        if row[0] not in _PLACES and not _ID.fullmatch(row[0]):
            raise InputError(
                f"{row[0][:40]!r} is no id of a word, a range or an empty node",
                location=f"{location}, segment {number}",
            )
        yield row


def _tree(block: str) -> str:
    if block.lstrip().startswith("("):
        return " ".join(block.split())
    for line in block.split("\n"):
        if line.startswith("# constituency = "):
            return line.removeprefix("# constituency = ").strip()
    return ""


def _entity_tags(cells: Sequence[str]) -> list[str]:
    tags = []
    for cell in cells:
        match = _ENTITY.search(cell)
        tag = match.group(1) if match else NOTHING
        tags.append({"S": "B", "E": "I"}.get(tag[:1], tag[:1]) + tag[1:] if tag[1:2] == "-" else tag)
    return tags


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


NOUN, VERB, ADJECTIVE, DETERMINER, PUNCTUATION = "noun", "verb", "adjective", "determiner", "punctuation"
UNKNOWN = "unknown"

_CLASSES: Final[Mapping[str, str]] = {
    "NOUN": NOUN, "PROPN": NOUN, "VERB": VERB, "AUX": VERB, "ADJ": ADJECTIVE, "DET": DETERMINER,
    "PUNCT": PUNCTUATION, "SYM": PUNCTUATION, "ADV": "adverb", "PRON": "pronoun", "ADP": "adposition",
    "CCONJ": "conjunction", "SCONJ": "conjunction", "NUM": "number", "INTJ": "interjection",
    "PART": "particle",
}  # fmt: skip


def word_class(word: str, part_of_speech: str) -> str:
    """The class of a word by its universal part of speech; `unknown` for X, and for none.

    Common and proper nouns are one class, so are full and auxiliary verbs, and both kinds of conjunction, as
    in the first letter of an EAGLES tag; signs are punctuation.

    >>> word_class("Madrid", "PROPN"), word_class("»", "X"), word_class("bzw", "X")
    ('noun', 'punctuation', 'unknown')
    """
    word_kind = _CLASSES.get(part_of_speech, UNKNOWN)
    if word_kind == UNKNOWN and word != NOTHING and not any(c.isalnum() for c in word):
        return PUNCTUATION
    return word_kind


def word_class_tokens(words: Tokens, parts_of_speech: Tokens) -> Tokens:
    if words.offsets.tolist() != parts_of_speech.offsets.tolist():
        raise ValueError("every word must have one part of speech")
    pairs = words.ids.astype(np.int64) * max(len(parts_of_speech.types), 1) + parts_of_speech.ids
    distinct, inverse = np.unique(pairs, return_inverse=True)
    index: dict[str, int] = {}
    mapping = [
        index.setdefault(word_class(words.types[w], parts_of_speech.types[p]), len(index))
        for w, p in zip(*np.divmod(distinct, max(len(parts_of_speech.types), 1)), strict=True)
    ]
    ids = np.array(mapping, np.int32)[inverse] if len(mapping) else words.ids
    return Tokens(tuple(index), ids.astype(np.int32), words.offsets)
