"""One plain or gzip file per column and split: line i of all files is the same segment."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from features.basics.errors import InputError
from qe.data.columns import COLUMNS, Label, label_scale, make_split
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.format import Format
from qe.data.reading import Column, Reading, known_keys
from qe.data.sgm import is_sgm, segments


@dataclass(frozen=True)
class ParallelText(Format):
    """Text files under `path`, one per column: plain text or SGM (`.sgm`).

    The source's SGM file tells the documents.

    Parameters
    ----------
    splits : mapping of str to mapping of str to str
        Split -> column -> file; columns are those of Segments (`source`, `target`, `id`, `doc_id`,
        `pseudo_reference`, `alignment`, ...) and of Split (`scores`, `post_edit`, `reference`,
        `annotators`, `word_tags`, `source_tags`, `direct_assessment`, `row_weights`; `judges`, on the
        label's scale, and `weights` hold several numbers a line). A split without `scores` is blind.
    label : Label
        {name, low, high, higher_is_better}, or `hter`: computed from target and post_edit where there are
        no `scores`.
    tokenizer : {'moses', 'whitespace'}, default='moses'
        `moses`, or `whitespace` for text that is tokenised already.
    """

    splits: Mapping[str, Mapping[str, str]]
    label: Label
    source_language: str
    target_language: str
    tokenizer: Literal["moses", "whitespace"] = "moses"

    def check_options(self) -> None:
        label_scale(self.label)
        if not self.splits:
            raise InputError("no split is declared", location="dataset.splits")
        for name, files in self.splits.items():
            known_keys(files, COLUMNS, f"dataset.splits.{name}")

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        self.check_options()
        scale = label_scale(self.label)
        splits = reading.splits(self.splits, partial(self._split, reading, path, scale))
        return self.dataset(reading, path, splits, scale)

    def _split(
        self, reading: Reading, path: Path, scale: LabelScale, name: str, texts: Mapping[str, str]
    ) -> Split | None:
        files = {column: path / file for column, file in texts.items()}
        read = {column: reading.attempt(partial(reading.lines, file)) for column, file in files.items()}
        columns = {column: lines for column, lines in read.items() if lines is not None}
        if len(columns) < len(files):
            return None
        if "doc_id" not in columns and "source" in files and is_sgm(files["source"]):
            found = segments(files["source"])
            documents = [one.document for one in found]
            if all(documents):
                columns["doc_id"] = Column(documents, files["source"], [one.line for one in found])
        hter = self.label == "hter"
        return make_split(
            reading,
            name,
            columns,
            scale,
            self.tokenizers,
            judge_range=(None, None) if hter else (scale.low, scale.high),
            compute_hter=hter,
        )
