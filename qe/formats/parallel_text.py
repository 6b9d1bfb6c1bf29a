"""One plain or gzip file per column and split; line i of all files of a split is the same segment."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from features.core.errors import InputError
from features.core.tokenizer import Tokenizer
from qe.dataset import Dataset, LabelScale, Split
from qe.formats._base import Format
from qe.formats._columns import COLUMNS, Label, label_scale, make_split
from qe.formats._reading import Reading, known_keys


@dataclass(frozen=True)
class ParallelText(Format):
    """Text files under `path`, one per column.

    splits     split -> column -> file; columns are those of Segments (`source`, `target`, `id`, `doc_id`,
               `pseudo_reference`, `alignment`, ...) and of Split (`scores`, `post_edit`, `reference`,
               `annotators`, `word_tags`, `source_tags`; `judges`, on the label's scale, and `weights`
               hold several numbers a line).
               A split without `scores` is blind.
    label      {name, low, high, higher_is_better}, or `hter`: computed from target and post_edit where
               there are no `scores`
    tokenizer  `moses`, or `whitespace` for text that is tokenised already
    """

    splits: Mapping[str, Mapping[str, str]]
    label: Label
    source_language: str
    target_language: str
    tokenizer: Literal["moses", "whitespace"] = "moses"

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        scale = label_scale(self.label)
        if not self.splits:
            raise InputError("no split is declared", where="dataset.splits")
        splits = {}
        for name, files in self.splits.items():
            known_keys(files, COLUMNS, f"dataset.splits.{name}")
            split = self._split(reading, name, {column: path / file for column, file in files.items()}, scale)
            if split is not None:
                splits[name] = split
        return Dataset(path.resolve().name, splits, scale, reading.provenance, tuple(reading.notes))

    def _split(
        self, reading: Reading, name: str, files: Mapping[str, Path], scale: LabelScale
    ) -> Split | None:
        tokenizers = (
            Tokenizer(self.source_language, self.tokenizer),
            Tokenizer(self.target_language, self.tokenizer),
        )
        read = {column: reading.attempt(partial(reading.lines, file)) for column, file in files.items()}
        columns = {column: lines for column, lines in read.items() if lines is not None}
        if len(columns) < len(files):
            return None
        hter = self.label == "hter"
        return reading.attempt(
            lambda: make_split(
                reading,
                name,
                columns,
                scale,
                tokenizers,
                judge_range=(None, None) if hter else (scale.low, scale.high),
                compute_hter=hter,
            )
        )
