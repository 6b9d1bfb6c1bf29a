"""Annotation: tags and base forms of the tokens of a batch, from CoNLL-U blocks."""

from collections.abc import Iterable, Iterator, Sequence
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
    return layers(blocks, tokens, (layer,), where)[0]


def layers(
    blocks: Sequence[str],
    tokens: Tokens,
    wanted: Sequence[Layer],
    where: str,
    numbers: Iterable[int] | None = None,
) -> tuple[Tokens, ...]:
    """Several layers at once, as `layer_tokens` gives each; blocks are read once.

    numbers  (n,) what the texts are called in errors; from 1 if None
    """
    columns = [_COLUMN[layer] for layer in wanted]
    texts: list[list[list[str]]] = [[] for _ in wanted]
    lengths = np.diff(tokens.offsets).tolist()
    for k, block, length in zip(numbers or range(1, len(blocks) + 1), blocks, lengths, strict=True):
        rows = list(words_of(block, where, k))
        if len(rows) != length:
            raise InputError(
                f"the annotation has {len(rows)} words, but the text {length} tokens",
                where=f"{where}, segment {k}",
                remedy="annotate the tokens that `qe` makes, or give tokenized text (tokenizer: whitespace)",
            )
        for column, found in zip(columns, texts, strict=True):
            found.append([row[column] for row in rows])
    return tuple(_as_tokens(found, tokens) for found in texts)


def _as_tokens(texts: Sequence[Sequence[str]], tokens: Tokens) -> Tokens:
    found = Tokens.from_lists(texts)
    return Tokens(found.types, found.ids, np.asarray(tokens.offsets))


def words_of(block: str, where: str, number: int) -> Iterator[list[str]]:
    """The rows of the words of the block of segment `number`: ten columns each."""
    for line in block.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        row = line.split("\t")
        if len(row) != _COLUMNS:
            raise InputError(
                f"CoNLL-U has {_COLUMNS} columns between tabs, but this line {len(row)}: {line[:60]!r}",
                where=f"{where}, segment {number}",
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
