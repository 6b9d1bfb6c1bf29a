"""One language pair of MLQE-PE: direct assessments and post-edits of neural MT."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.storage.files import read_lines, resolved
from features.text.tokenizer import Tokenizer
from qe.data.columns import check_tags, make_split
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.delimited import Layout
from qe.data.folds import text_key
from qe.data.format import Format
from qe.data.headers import no_column
from qe.data.reading import Column, Reading, read_table

SCALES: Mapping[str, LabelScale] = {
    "da": LabelScale("da", None, None, higher_is_better=True),
    "da_mean": LabelScale("da_mean", 0.0, 100.0, higher_is_better=True),
    "hter": LabelScale("hter", 0.0, 1.0, higher_is_better=False),
}
_DA, _PE = "mlqe-pe/en-de/direct-assessments/train", "mlqe-pe/en-de/post-editing/train"  # of the example
_DIRECT = {"da": ("z_mean", "z_scores"), "da_mean": ("mean", "scores")}


@dataclass(frozen=True)
class MlqePe(Format):
    """MLQE-PE: splits `train`, `dev`, `test20` and `test21` of one language pair.

    `path` is the folder of all pairs or that of one pair.

    Files are found by their names anywhere below `path`, so that unpacked public archives can be read:
    `SPLIT.XXYY.df.short.tsv` (or, without labels, `SPLIT.XXYY.inputs.tsv`) with `SPLIT.doc_ids` and
    `word-probas` in its folder (yours may hold `entropies.SPLIT.XXYY` and `highest.SPLIT.XXYY`, too);
    `SPLIT.src`, `.mt`, `.pe`, `.hter`, ... below `post-editing`, in a folder of the pair (`en-de`,
    `en-de-dev`); `test21.src`, ... in `XX-YY-test21`, with `goldlabels/test21.da` or `.hter`. `train` must
    be there; of test splits, what is absent is left out, labels too.

    Tables of WMT 2023 (en-gu, en-hi, en-ta, en-te) have neither a decoder's scores nor post-edits. Rows that
    repeat the texts of another row share a document there: `split: {by: document}` keeps them in one fold.

    The judges are the individual scores (standardised for `da`), NaN beyond a segment's annotators. With
    `hter`, `direct_assessment` is the mean of the standardised ones.

    Source: Fomicheva et al. 2020, "MLQE-PE: A Multilingual Quality Estimation and Post-Editing Dataset".

    Parameters
    ----------
    label : {'da', 'da_mean', 'hter'}, default='da'
        `da`: mean of the scores standardised per annotator, open scale, higher is better; `da_mean`: mean
        of the scores, 0 .. 100; `hter`: edit rate cut off at 1, lower is better.
    text : {'raw', 'tokenised'} or None, default=None
        `raw` (default for direct assessments) or `tokenised` (default for hter): the text of the
        post-editing part, split at white space. Alignments and word tags count its tokens: with `raw`
        text they are left out with a note.
    """

    pair: str = ""
    label: Literal["da", "da_mean", "hter"] = "da"
    text: Literal["raw", "tokenised"] | None = None

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return (path / "direct-assessments").is_dir() or any(path.glob("*/direct-assessments"))

    @property
    def scale(self) -> LabelScale:
        return SCALES[self.label]

    @property
    def tokenised(self) -> bool:
        return self.text == "tokenised" or (self.text is None and self.label == "hter")

    def name(self, path: Path) -> str:
        return f"mlqe-pe/{self.pair or resolved(path).name}"

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        files = _Files.find(path, self.pair)
        names = {name: files for name in SPLITS if files.direct(name) or files.folder(name)}
        splits = reading.splits(names, partial(self.read_split, reading))
        if not self.tokenised:
            reading.notes.append("raw text: alignments and word tags are left out (they count other tokens)")
        return self.dataset(reading, path, splits)

    def read_split(self, reading: Reading, split: str, files: "_Files") -> Split:
        columns, direct = dict[str, Column](), dict[str, Column]()
        table, folder = files.direct(split), files.folder(split)
        if table is not None:
            direct = _direct_assessments(reading, table, split in LABELLED, files.languages)
            columns |= {"source": direct["original"], "target": direct["translation"]}
            columns |= _side_information(reading, table.parent, split, files.code)
            if "model_scores" in direct:
                columns["model_score"] = direct["model_scores"]
            elif "doc_id" not in columns:
                columns |= _repeated_pairs(reading, split, direct)
            needed = self.label == "hter"  # pairs such as si-en have direct assessments alone
            columns |= _post_editing(reading, files, split, self.tokenised, needed)
            if self.label == "hter" and "z_mean" in direct:
                columns["direct_assessment"] = direct["z_mean"]
        elif folder is not None:
            prefix = f"{split}.tok" if self.tokenised else split
            columns = {
                "source": reading.lines(folder / f"{prefix}.src"),
                "target": reading.lines(folder / f"{prefix}.mt"),
            }
            if (folder / "goldlabels").is_dir():
                reading.notes.append(f"{split}: word tags and post-edits are not read")
            columns |= _decoder_output(reading, folder, split, files.code)
        scores = self._scores(reading, files, split, direct)
        if scores is not None:
            columns["scores"] = scores
        kind: Literal["moses", "whitespace"] = "whitespace" if self.tokenised else "moses"
        source, target = (Tokenizer(language, kind) for language in files.languages)
        read = make_split(reading, split, columns, self.scale, (source, target))
        judges = direct.get(_DIRECT[self.label][1]) if self.label != "hter" else None
        if judges is None:
            return read
        each = _lists(reading, judges)
        return replace(read, judges=each, annotators=(~np.isnan(each)).sum(axis=1).astype(np.float64))

    def _scores(
        self, reading: Reading, files: "_Files", split: str, direct: Mapping[str, Column]
    ) -> Column | None:
        if direct and self.label != "hter":
            return direct.get(_DIRECT[self.label][0])
        folder, edits = files.folder(split), files.edits(split)
        if direct:
            place = None if edits is None else edits / f"{split}.hter"
        else:
            place = None if folder is None else folder / "goldlabels" / f"{split}.{self.label}"
        if place is None or not (split in LABELLED or place.is_file()):
            return None
        return reading.lines(place)


SPLITS = ("train", "dev", "test20", "test21")
LABELLED = ("train", "dev")  # every file of these must be there


@dataclass(frozen=True)
class _Files:
    root: Path
    pair: str

    @classmethod
    def find(cls, path: Path, pair: str) -> "_Files":
        inside = path / pair
        own = bool(pair) and (inside / "direct-assessments").is_dir()
        files = cls(inside if own else path, pair or resolved(path).name)
        if files.direct("train") is None:
            codes = {file.name.split(".")[1] for file in path.rglob("train.????.df.short.tsv")}
            pairs = ", ".join(sorted(f"{code[:2]}-{code[2:]}" for code in codes))
            raise InputError(
                f"no table train.{files.code}.df.short.tsv here",
                location=path,
                remedy=f"set `pair` to one of {pairs}" if pairs else "give the folder of the data",
            )
        return files

    @property
    def code(self) -> str:
        return self.pair.replace("-", "")

    @property
    def languages(self) -> tuple[str, str]:
        source, _, target = self.pair.partition("-")
        return source, target

    def direct(self, split: str) -> Path | None:
        ends = ("df.short.tsv", "inputs.tsv")
        tables = (self._file(f"{split}.{self.code}.{end}", lambda parts: True) for end in ends)
        return next(filter(None, tables), None)

    def edits(self, split: str) -> Path | None:
        files = (self._file(f"{split}.{end}", self._holds_edits) for end in ("mt", "pe"))
        return next((file.parent for file in files if file is not None), None)

    def folder(self, split: str) -> Path | None:
        if split in LABELLED:
            return None
        file = self._file(f"{split}.src", lambda parts: parts[-1] == f"{self.pair}-{split}")
        return None if file is None else file.parent

    def _holds_edits(self, folders: Sequence[str]) -> bool:
        of_pair = any(name == self.pair or name.startswith(f"{self.pair}-") for name in folders)
        return "post-editing" in folders and of_pair

    def _file(self, name: str, wanted: Callable[[Sequence[str]], bool]) -> Path | None:
        below = [file.relative_to(self.root) for file in sorted(self.root.rglob(name))]
        top = resolved(self.root)
        files = [file for file in below if wanted((top / file).parent.parts)]
        if len(files) > 1:
            raise InputError(
                f"{name} is also at {self.root / files[1]}",
                location=self.root / files[0],
                remedy="keep one of them below the folder",
            )
        return self.root / files[0] if files else None


def _direct_assessments(
    reading: Reading, path: Path, labelled: bool, languages: tuple[str, str]
) -> dict[str, Column]:
    # Quotation marks of MLQE-PE are text; later tables, without a decoder's scores, quote fields.
    quoting = False if "model_scores" in next(read_lines(path), "") else None
    table = read_table(reading, path, Layout("tsv", "tab", quoting, "utf-8", languages=languages))
    index = "index" if "index" in table else "segid"  # of ru-en, whose numbers have gaps
    wanted = [index, "original", "translation"]
    wanted += ["scores", "mean", "z_scores", "z_mean"] if labelled else []
    for name in wanted:
        if name not in table:
            raise no_column(name, table, f"{path}:1")
    for row, text in enumerate(table[index].texts):
        if index == "index" and text != str(row):
            reading.defect(f"expected index {row}, found '{text}'", location=table[index].location(row))
            break
    for name in ("original", "translation"):
        table[name] = reading.stripped(table[name])
    return table


def _side_information(reading: Reading, base: Path, split: str, code: str) -> dict[str, Column]:
    columns = _decoder_output(reading, base, split, code)
    path = base / f"{split}.doc_ids"
    if not path.is_file():
        reading.notes.append(f"{split}: no {path.name}, so no documents")
        return columns
    documents = reading.lines(path)
    if documents.texts[0] != "doc_id":
        raise InputError(
            f"expected the header 'doc_id', found '{documents.texts[0]}'", location=documents.location(0)
        )
    columns["doc_id"] = Column(documents.texts[1:], documents.path, documents.lines[1:])
    return columns


def _repeated_pairs(reading: Reading, split: str, direct: Mapping[str, Column]) -> dict[str, Column]:
    """Documents of the rows with one pair of texts, if pairs repeat: folds by document keep them together."""
    source, target = ([text_key(text) for text in direct[name].texts] for name in ("original", "translation"))
    first: dict[tuple[str, str], int] = {}
    places = [first.setdefault(pair, row) for row, pair in enumerate(zip(source, target, strict=True))]
    if repeated := len(places) - len(first):
        reading.notes.append(
            f"{split}: {repeated} rows repeat the texts of another row: they share a document, which folds "
            "by document keep together"
        )
    index = direct["index"]
    documents = [f"pair-{place}" for place in places]
    return {"doc_id": replace(index, texts=documents)} if repeated else {}


def _decoder_output(reading: Reading, base: Path, split: str, code: str) -> dict[str, Column]:
    paths = [base / "word-probas" / f"{name}.{split}.{code}" for name in ("mt", "word_probas")]
    if not all(path.is_file() for path in paths):
        reading.notes.append(f"{split}: no word-probas, so no log-probabilities of subwords")
        return {}
    subwords, probabilities = map(reading.lines, paths)
    for row, (words, numbers) in enumerate(zip(subwords.texts, probabilities.texts, strict=False)):
        if len(numbers.split()) != len(words.split()) + 1:
            reading.defect(
                f"expected {len(words.split()) + 1} log-probabilities (one per subword and one for the end), "
                f"found {len(numbers.split())}",
                location=probabilities.location(row),
            )
    names = {"token_entropies": "entropies", "token_highest_log_probabilities": "highest"}
    steps = {column: base / "word-probas" / f"{name}.{split}.{code}" for column, name in names.items()}
    further = {column: reading.lines(path) for column, path in steps.items() if path.is_file()}
    return {"subwords": subwords, "token_log_probabilities": probabilities, **further}


def _post_editing(
    reading: Reading, files: _Files, split: str, tokenised: bool, needed: bool
) -> dict[str, Column]:
    base, columns = files.edits(split), dict[str, Column]()
    if base is None:
        if tokenised or (split in LABELLED and needed):
            raise InputError(f"no {split}.mt and no {split}.pe below `post-editing`", location=files.root)
        return columns
    labels, texts = {"post_edit": "pe"}, {"source": "src", "target": "mt", "alignment": "src-mt.alignments"}
    if tokenised:
        labels |= {"word_tags": "tags", "source_tags": "source_tags"}
        columns = {ours: reading.lines(base / f"{split}.{end}") for ours, end in texts.items()}
    for ours, end in labels.items():
        path = base / f"{split}.{end}"
        if split in LABELLED or path.is_file():
            columns[ours] = reading.lines(path)
    check_tags(reading, columns)
    return columns


def _lists(reading: Reading, column: Column) -> FloatArray:
    parsed: list[Sequence[float]] = []
    for row, text in enumerate(column.texts):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, list) or not all(isinstance(v, int | float) for v in values):
            reading.defect(f"expected a list of numbers, found '{text[:40]}'", location=column.location(row))
            values = []
        parsed.append(values)
    result = np.full((len(parsed), max(map(len, parsed), default=0)), np.nan)
    for row, values in enumerate(parsed):
        result[row, : len(values)] = values
    return result
