"""Annotation: tags and base forms of the tokens of a batch, from CoNLL-U blocks."""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np

from features.core.errors import InputError
from features.core.tokens import Tokens

Layer = Literal["lemma", "upos", "xpos"]
LAYERS: tuple[Layer, ...] = get_args(Layer)

NOTHING = "_"  # CoNLL-U: the word has no such annotation
_COLUMNS = 10
_COLUMN: dict[Layer, int] = {"lemma": 2, "upos": 3, "xpos": 4}


def layer_tokens(blocks: Sequence[str], tokens: Tokens, layer: Layer, where: str) -> Tokens:
    """One annotation per token, as Tokens of the same offsets.

    blocks  (n,) one CoNLL-U block per text: a line per word, ten columns; comments, multiword ranges and
            empty nodes are passed over
    tokens  of the n texts
    where   what the blocks are called in errors

    Raises InputError where a block is no CoNLL-U, or has another number of words than the text has tokens.

    >>> tokens = Tokens.from_lists([["la", "casa"]])
    >>> block = block_of([("la", "el", "DET", "det.f.sg"), ("casa", "casa", "NOUN", "n.f.sg")])
    >>> layer_tokens([block], tokens, "upos", "annotation_target").types
    ('DET', 'NOUN')
    """
    column = _COLUMN[layer]
    texts = [[row[column] for row in words_of(block, where, k)] for k, block in enumerate(blocks)]
    for k, (text, length) in enumerate(zip(texts, tokens.lengths.tolist(), strict=True)):
        if len(text) != length:
            raise InputError(
                f"the annotation has {len(text)} words, but the text {length} tokens",
                where=f"{where}, segment {k + 1}",
                remedy="annotate the tokens that `qe` makes, or give tokenized text (tokenizer: whitespace)",
            )
    found = Tokens.from_lists(texts)
    return Tokens(found.types, found.ids, np.asarray(tokens.offsets))


def words_of(block: str, where: str, k: int) -> Iterator[list[str]]:
    """The rows of the words of a block: ten columns each."""
    for line in block.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        row = line.split("\t")
        if len(row) != _COLUMNS:
            raise InputError(
                f"CoNLL-U has {_COLUMNS} columns between tabs, but this line {len(row)}: {line[:60]!r}",
                where=f"{where}, segment {k + 1}",
            )
        if row[0].isdigit():
            yield row


def block_of(words: Sequence[tuple[str, str, str, str]]) -> str:
    """A CoNLL-U block of (form, lemma, upos, xpos); columns that are not known are `_`.

    >>> block_of([("casa", "casa", "NOUN", "n.f.sg")])
    '1\\tcasa\\tcasa\\tNOUN\\tn.f.sg\\t_\\t_\\t_\\t_\\t_'
    """
    rest = "\t".join([NOTHING] * 5)
    return "\n".join("\t".join((str(i), *word, rest)) for i, word in enumerate(words, start=1))
