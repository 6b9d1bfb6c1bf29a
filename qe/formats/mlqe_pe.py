"""One language pair of MLQE-PE: direct assessments and post-edits of neural MT."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from features.core.errors import InputError
from features.core.tokenizer import Tokenizer
from qe.dataset import Dataset, LabelScale, Split
from qe.formats._base import Format
from qe.formats._columns import make_split
from qe.formats._reading import Column, FloatArray, Reading
from qe.formats.table import read_table

SCALES: Mapping[str, LabelScale] = {
    "da": LabelScale("da", None, None, higher_is_better=True),
    "da_mean": LabelScale("da_mean", 0.0, 100.0, higher_is_better=True),
    "hter": LabelScale("hter", 0.0, 1.0, higher_is_better=False),
}
_DIRECT = {"da": ("z_mean", "z_scores"), "da_mean": ("mean", "scores")}


@dataclass(frozen=True)
class MlqePe(Format):
    """The folder of one pair (`path` itself, or `path`/`pair`); splits `train`, `dev`, `test20` (blind).

    label  `da`: mean of the scores standardised per annotator, open scale, higher is better;
           `da_mean`: mean of the scores, 0 .. 100; `hter`: edit rate cut off at 1, lower is better
    text   `raw` (default for direct assessments) or `tokenised` (default for hter): the text of the
           post-editing part, split at white space. Alignments and word tags count its tokens: with `raw`
           text they are left out, and a note says so.

    The judges are the individual scores (standardised for `da`), NaN beyond a segment's annotators.
    A split without a folder under direct-assessments is left out, but `train` must be there.

    Source: Fomicheva et al. 2020, "MLQE-PE: A Multilingual Quality Estimation and Post-Editing Dataset".
    """

    pair: str = ""
    label: Literal["da", "da_mean", "hter"] = "da"
    text: Literal["raw", "tokenised"] | None = None

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        for key, value, known in (("label", self.label, (*SCALES,)), ("text", self.text, _TEXTS)):
            if value not in known:
                raise InputError(
                    f"unknown {key} '{value}'",
                    where=f"dataset.{key}",
                    remedy=f"known: {', '.join(filter(None, known))}",
                )
        folder = path / self.pair
        if not (folder / "direct-assessments" / "train").is_dir():
            pairs = sorted(p.parent.name for p in path.glob("*/direct-assessments"))
            raise InputError(
                "no folder direct-assessments/train here",
                where=folder,
                remedy=f"set `pair` to one of {', '.join(pairs)}" if pairs else "give the folder of one pair",
            )
        source, _, target = folder.resolve().name.partition("-")
        tokenised = self.text == "tokenised" or (self.text is None and self.label == "hter")
        kind: Literal["moses", "whitespace"] = "whitespace" if tokenised else "moses"
        tokenizers = Tokenizer(source, kind), Tokenizer(target, kind)
        splits = {}
        for name in ("train", "dev", "test20"):
            if (folder / "direct-assessments" / name).is_dir():
                split = reading.attempt(partial(self._split, reading, folder, name, tokenised, tokenizers))
                if split is not None:
                    splits[name] = split
        if not tokenised:
            reading.notes.append("raw text: alignments and word tags are left out (they count other tokens)")
        name = f"mlqe-pe/{folder.resolve().name}"
        return Dataset(name, splits, SCALES[self.label], reading.provenance, tuple(reading.notes))

    def _split(
        self,
        reading: Reading,
        folder: Path,
        split: str,
        tokenised: bool,
        tokenizers: tuple[Tokenizer, Tokenizer],
    ) -> Split:
        blind = split == "test20"
        direct = _direct_assessments(reading, folder, split)
        columns = _side_information(reading, folder, split, direct)
        edited = _post_editing(reading, folder / "post-editing" / split / split, blind, tokenised)
        columns |= {"source": direct["original"], "target": direct["translation"]} | edited
        if not blind and self.label != "hter":
            columns["scores"] = direct[_DIRECT[self.label][0]]
        elif not blind:
            columns["scores"] = reading.lines(folder / "post-editing" / split / f"{split}.hter")
        read = make_split(reading, split, columns, SCALES[self.label], tokenizers)
        if blind or self.label == "hter":
            return read
        judges = _lists(reading, direct[_DIRECT[self.label][1]])
        return replace(read, judges=judges, annotators=(~np.isnan(judges)).sum(axis=1).astype(np.float64))


_TEXTS = (None, "raw", "tokenised")


def _compact(folder: Path) -> str:
    return folder.resolve().name.replace("-", "")


def _direct_assessments(reading: Reading, folder: Path, split: str) -> dict[str, Column]:
    """The columns of the direct assessments; their `index` must count from 0."""
    file = f"{split}.{_compact(folder)}." + ("inputs.tsv" if split == "test20" else "df.short.tsv")
    table = read_table(reading, folder / "direct-assessments" / split / file, "tsv", quoting=False)
    wanted = ["index", "original", "translation", "model_scores"]
    if split != "test20":
        wanted += ["scores", "mean", "z_scores", "z_mean"]
    path = table[next(iter(table))].path
    for name in wanted:
        if name not in table:
            raise InputError(f"no column '{name}'", where=f"{path}:1", remedy=f"it has {', '.join(table)}")
    for row, text in enumerate(table["index"].texts):
        if text != str(row):
            reading.defect(f"expected index {row}, found '{text}'", where=table["index"].where(row))
            break
    for name in ("original", "translation"):
        table[name] = reading.stripped(table[name])
    return table


def _side_information(
    reading: Reading, folder: Path, split: str, direct: Mapping[str, Column]
) -> dict[str, Column]:
    """Documents and what the translation system knew; one log-probability more than subwords per line."""
    base, pp = folder / "direct-assessments" / split, _compact(folder)
    documents = reading.lines(base / f"{split}.doc_ids")
    if documents.texts[0] != "doc_id":
        raise InputError(
            f"expected the header 'doc_id', found '{documents.texts[0]}'", where=documents.where(0)
        )
    subwords = reading.lines(base / "word-probas" / f"mt.{split}.{pp}")
    probabilities = reading.lines(base / "word-probas" / f"word_probas.{split}.{pp}")
    for row, (words, numbers) in enumerate(zip(subwords.texts, probabilities.texts, strict=False)):
        if len(numbers.split()) != len(words.split()) + 1:
            reading.defect(
                f"expected {len(words.split()) + 1} log-probabilities (one per subword and one for the end), "
                f"found {len(numbers.split())}",
                where=probabilities.where(row),
            )
    return {
        "doc_id": Column(documents.texts[1:], documents.path, documents.lines[1:]),
        "subwords": subwords,
        "token_log_probabilities": probabilities,
        "model_score": direct["model_scores"],
    }


def _post_editing(reading: Reading, base: Path, blind: bool, tokenised: bool) -> dict[str, Column]:
    """Columns from the post-editing part; those that count tokens only with its own, tokenised text."""
    names = {} if blind else {"post_edit": "pe"}
    if tokenised:
        names |= {"source": "src", "target": "mt", "alignment": "src-mt.alignments"}
        names |= {} if blind else {"word_tags": "tags", "source_tags": "source_tags"}
    columns = {ours: reading.lines(base.with_name(f"{base.name}.{end}")) for ours, end in names.items()}
    for tags, text, gaps in (("word_tags", "target", True), ("source_tags", "source", False)):
        if tags in columns and len(columns[tags]) == len(columns[text]):
            _check_tags(reading, columns[tags], columns[text], gaps)
    return columns


def _check_tags(reading: Reading, tags: Column, text: Column, gaps: bool) -> None:
    for row, (tag, words) in enumerate(zip(tags.texts, text.texts, strict=True)):
        n = len(words.split())
        expected = 2 * n + 1 if gaps else n
        if len(tag.split()) != expected:
            reading.defect(
                f"expected {expected} tags for {n} tokens, found {len(tag.split())}", where=tags.where(row)
            )


def _lists(reading: Reading, column: Column) -> FloatArray:
    """(n, j) numbers from cells like `[20, 35.5]`; NaN beyond the end of shorter lists."""
    parsed: list[Sequence[float]] = []
    for row, text in enumerate(column.texts):
        try:
            values = json.loads(text)
        except json.JSONDecodeError:
            values = None
        if not isinstance(values, list) or not all(isinstance(v, int | float) for v in values):
            reading.defect(f"expected a list of numbers, found '{text[:40]}'", where=column.where(row))
            values = []
        parsed.append(values)
    result = np.full((len(parsed), max(map(len, parsed), default=0)), np.nan)
    for row, values in enumerate(parsed):
        result[row, : len(values)] = values
    return result
