"""Catastrophic errors of MLQE-PE: sentence pairs marked NOT or ERR (WMT 2021, QE task 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from features.basics.errors import InputError
from features.text.tokenizer import Tokenizer
from qe.data.columns import make_split
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.format import Format
from qe.data.reading import Column, Reading

SCALE = LabelScale("catastrophic_error", 0.0, 1.0, higher_is_better=False, classes=("NOT", "ERR"))
_SPLITS = {"train": ("train",), "dev": ("dev",), "test": ("test", "test_blind")}  # the first that is there
_LABELLED, _BLIND = ("id", "source", "target", "votes", "scores"), ("id", "source", "target")


@dataclass(frozen=True)
class CatastrophicErrors(Format):
    """The folder `catastrophic_errors` of MLQE-PE: `ende_majority_train.tsv`, `_dev.tsv`, `_test_blind.tsv`.

    Lines without a header: id, source, target, the annotators' votes (0: no error, 1: an error, 2 and 3: not
    understandable) and what most of them said, NOT or ERR, which is the label of two classes; blind ones end
    with the target.

    Source: Specia et al. 2021, "Findings of the WMT 2021 Shared Task on Quality Estimation", section 2.3.

    Parameters
    ----------
    pair : str
        Such as en-de; the folder may hold files of other pairs.
    tokenizer : {'moses', 'whitespace'}, default='moses'
        `moses`, or `whitespace` for text that is tokenised already.
    """

    pair: str
    tokenizer: Literal["moses", "whitespace"] = "moses"

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return any(path.glob("????_majority_train.tsv"))

    def check_options(self) -> None:
        source, dash, target = self.pair.partition("-")
        if not (source and dash and target):
            raise InputError(f"'{self.pair}' is no pair", location="dataset.pair", remedy="such as en-de")

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        self.check_options()
        files: dict[str, Path] = {}
        for name, endings in _SPLITS.items():
            named = [path / f"{self.pair.replace('-', '')}_majority_{ending}.tsv" for ending in endings]
            file = next((file for file in named if file.is_file()), None)
            if file is not None:
                files[name] = file
            elif name == "train":
                raise InputError("no such file", location=named[0], remedy="check `pair`")
        splits = reading.splits(files, partial(self._split, reading))
        return self.dataset(reading, f"mlqe-pe/catastrophic-errors/{self.pair}", splits, SCALE)

    def _split(self, reading: Reading, name: str, file: Path) -> Split:
        rows = _rows(reading.lines(file), (_BLIND, _LABELLED) if name == "test" else (_LABELLED,))
        columns = {column: reading.stripped(texts) for column, texts in rows.items() if column != "votes"}
        source, _, target = self.pair.partition("-")
        tokenizers = Tokenizer(source, self.tokenizer), Tokenizer(target, self.tokenizer)
        return make_split(reading, name, columns, SCALE, tokenizers)


def _rows(lines: Column, ways: Sequence[Sequence[str]]) -> dict[str, Column]:
    cells = [text.split("\t") for text in lines.texts]
    names = next((way for way in ways if len(way) == len(cells[0])), ways[0])
    for row, fields in enumerate(cells):
        if len(fields) != len(names):
            raise InputError(
                f"expected {', '.join(names)}, found {len(fields)} fields",
                location=lines.location(row),
                remedy="separate fields by one tab",
            )
    return {
        name: Column([fields[i] for fields in cells], lines.path, lines.lines) for i, name in enumerate(names)
    }
