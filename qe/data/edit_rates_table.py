"""Edits of a corpus of post-edits as a table."""

from collections.abc import Mapping
from typing import Any

from qe.display.numbers import count, percent
from qe.display.table import Column, Table


def edit_rates_table(corpus: Mapping[str, Any]) -> Table:
    """Words and blocks of each class of edits, with their rates, and the sums of classes."""
    columns = [Column("class"), Column("words"), Column("rate"), Column("blocks"), Column("block rate")]
    rows = [
        [
            name, count(corpus["counts"][name]), percent(corpus["rates"][name], 2),
            count(corpus["blocks"][name]), percent(corpus["block_rates"][name], 2),
        ]
        for name in corpus["counts"]
    ]  # fmt: skip
    sums = [[name, "", percent(value, 2), "", ""] for name, value in corpus["sums"].items()]
    title = f"{count(corpus['segments'])} segments, HTER {percent(corpus['hter'], 2)}"
    return Table(title, columns, [*rows, (), *sums])
