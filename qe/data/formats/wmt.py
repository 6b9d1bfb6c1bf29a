"""Data of the WMT shared tasks, but MLQE-PE."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from features.basics.errors import InputError
from features.text.tokenizer import Tokenizer
from qe.data.columns import HTER, check_tags
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.delimited import Layout
from qe.data.format import FORMATS, Format
from qe.data.formats.tables import ParallelText
from qe.data.headers import no_column
from qe.data.reading import Column, Reading, read_table

_ANNOTATIONS = "training_set_annotations"
_TRAIN = {
    "source": "training_set/source.eng",
    "target": "training_set/target_system.spa",
    "post_edit": f"{_ANNOTATIONS}/target_postedited.spa",
    "reference": f"{_ANNOTATIONS}/target_reference.spa",
    "judges": f"{_ANNOTATIONS}/target_system.effort3scores",
    "weights": f"{_ANNOTATIONS}/target_system.effort3weights",
}
_TEST = {"source": "test_set/source.eng", "target": "test_set/target_system.spa"}


@FORMATS.register("wmt12")
@dataclass(frozen=True)
class Wmt12(Format):
    """Splits `train` (1832 segments) and `test` (422, blind).

    Every file is required, but a folder without `test_set` has only the split `train`.

    Source: Callison-Burch et al. 2012, "Findings of the 2012 Workshop on Statistical Machine Translation", 6.

    Parameters
    ----------
    label : {'effort', 'hter'}, default='effort'
        `effort`: weighted mean of three judges, 1 (translate again) .. 5 (no edit), higher is better;
        `hter`: computed from the post-edits, 0 .., lower is better (the judges keep their effort scores).
    """

    label: Literal["effort", "hter"] = "effort"

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return (path / "training_set").is_dir()

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        if not (path / "training_set").is_dir():
            raise InputError(
                "no folder training_set here", location=path, remedy="give the folder of the distribution"
            )
        hter = self.label == "hter"
        train = _TRAIN if hter else {**_TRAIN, "scores": f"{_ANNOTATIONS}/target_system.effort"}
        splits = {"train": train, "test": _TEST} if (path / "test_set").is_dir() else {"train": train}
        effort = {"name": "effort", "low": 1, "high": 5, "higher_is_better": True}
        return ParallelText(splits, "hter" if hter else effort, "en", "es").read_with(reading, path)


# Our column -> the ends of file names that it may have.
_ENDS: Mapping[str, tuple[str, ...]] = {
    "source": ("src",),
    "target": ("mt",),
    "post_edit": ("pe",),
    "reference": ("ref",),
    "scores": ("hter",),
    "word_tags": ("tags",),
    "source_tags": ("src_tags", "source_tags"),
    "alignment": ("src-mt.alignments",),
}


_FOREIGN = "._"  # AppleDouble files of macOS


@FORMATS.register("wmt_qe")
@dataclass(frozen=True)
class WmtQe(Format):
    """Files `SPLIT.src` and `SPLIT.mt`, plain or `.gz`, under `path` or in one folder per split below it.

    Optional files: `.pe` (post-edits), `.ref`, `.hter`, `.tags` (OK or BAD for gap,
    word, gap, ..., gap: 2 n + 1 for n tokens), `.src_tags` or `.source_tags`, `.src-mt.alignments` (`i-j`
    from 0). Every SPLIT is one: `train`, `dev`, `test`, `test.2016`, ...; one without `.hter` and `.pe` has
    no scores.

    The label is HTER, 0 .., lower is better: that of the file, or else computed from target and post-edit.
    Text is tokenised, and split at white space. Tags of words without gaps (n for n tokens, as in earlier
    tasks) are left out with a note.

    Source: Specia et al. 2018, "Findings of the WMT 2018 Shared Task on Quality Estimation".
    """

    source_language: str
    target_language: str

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return path.is_dir() and bool(_sources(path))

    scale = HTER

    def split_files(self, path: Path) -> dict[str, Path]:
        sources = _sources(path)
        if not sources:
            raise InputError(
                "no SPLIT.src with SPLIT.mt here",
                location=path,
                remedy="give the folder of one language pair",
            )
        return dict(sorted(sources.items()))

    def read_split(self, reading: Reading, name: str, folder: Path) -> Split:
        columns: dict[str, Column] = {}
        for ours, ends in _ENDS.items():
            places = [folder / f"{name}.{end}{gz}" for end in ends for gz in ("", ".gz")]
            files = [place for place in places if place.is_file()]
            if len(files) > 1:
                problem = f"{files[1].name} is there too"
                raise InputError(problem, location=files[0], remedy="move one of them away")
            if files:
                columns[ours] = reading.lines(files[0])
        tags, text = columns.get("word_tags"), columns["target"]
        if tags is not None and len(tags) == len(text):
            pairs = zip(tags.texts, text.texts, strict=True)
            if all(len(line.split()) == len(words.split()) for line, words in pairs):
                del columns["word_tags"]
                reading.note(tags.path, 1, "tags of words without gaps (left out)")
        check_tags(reading, columns)
        return self.split(reading, name, columns)


def _sources(path: Path) -> dict[str, Path]:
    folders: dict[str, Path] = {}
    for pattern in ("*.src", "*.src.gz", "*/*.src", "*/*.src.gz"):
        for file in sorted(path.glob(pattern)):
            if file.name.startswith(_FOREIGN) or file.parent.name.startswith(_FOREIGN):
                continue
            name = file.name.removesuffix(".gz").removesuffix(".src")
            if not any((file.parent / f"{name}.mt{end}").is_file() for end in ("", ".gz")):
                continue
            known = folders.setdefault(name, file.parent)
            if known != file.parent and _blind(known.name) != _blind(file.parent.name):
                folders[name] = file.parent if _blind(known.name) else known
            elif known != file.parent:
                raise InputError(
                    f"the split '{name}' is in {folders[name]} too",
                    location=file.parent,
                    remedy="give the folder of one language pair",
                )
    return {
        name: folder for name, folder in folders.items() if not _blind(name) or _base(name) not in folders
    }


def _blind(name: str) -> bool:
    return _base(name) != name


def _base(name: str) -> str:
    return re.sub(r"[-_.]?blind$", "", name, flags=re.IGNORECASE)


_SPLITS = {"train": ("train",), "dev": ("dev",), "test": ("test", "test_blind")}  # the first that is there
_LABELLED, _BLIND = ("id", "source", "target", "votes", "scores"), ("id", "source", "target")


@FORMATS.register("catastrophic_errors")
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

    scale = LabelScale("catastrophic_error", 0.0, 1.0, higher_is_better=False, classes=("NOT", "ERR"))

    def name(self, path: Path) -> str:
        return f"mlqe-pe/catastrophic-errors/{self.pair}"

    @property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        source, _, target = self.pair.partition("-")
        return Tokenizer(source, self.tokenizer), Tokenizer(target, self.tokenizer)

    def split_files(self, path: Path) -> dict[str, Path]:
        files: dict[str, Path] = {}
        for name, endings in _SPLITS.items():
            named = [path / f"{self.pair.replace('-', '')}_majority_{ending}.tsv" for ending in endings]
            file = next((file for file in named if file.is_file()), None)
            if file is not None:
                files[name] = file
            elif name == "train":
                raise InputError("no such file", location=named[0], remedy="check `pair`")
        return files

    def read_split(self, reading: Reading, name: str, file: Path) -> Split:
        lines = reading.lines(file)
        cells = [text.split("\t") for text in lines.texts]
        ways = (_BLIND, _LABELLED) if name == "test" else (_LABELLED,)
        names = next((way for way in ways if len(way) == len(cells[0])), ways[0])
        for row, fields in enumerate(cells):
            if len(fields) != len(names):
                raise InputError(
                    f"expected {', '.join(names)}, found {len(fields)} fields",
                    location=lines.location(row),
                    remedy="separate fields by one tab",
                )
        columns = {
            column: reading.stripped(replace(lines, texts=[fields[place] for fields in cells]))
            for place, column in enumerate(names)
            if column != "votes"
        }
        return self.split(reading, name, columns)


_MQM_WEIGHTS: Mapping[str, float] = {
    "major": 5.0,
    "minor": 1.0,
    "neutral": 0.0,
    "no-error": 0.0,
    "major/non-translation": 25.0,
    "minor/fluency/punctuation": 0.1,
}
_COLUMNS = ("system", "doc", "seg_id", "rater", "source", "target", "category", "severity")
# The segment's number in other years; docSegId counts within the document.
_NUMBERS = ("seg_id", "globalSegId", "global_seg_id", "docSegId", "doc_seg_id")
_MARK = re.compile(r"</?v>")


@dataclass
class _Segment:
    document: str
    source: str
    target: str
    line: int
    penalties: dict[str, float] = field(default_factory=dict)
    marked: set[int] = field(default_factory=set)


@FORMATS.register("mqm")
@dataclass(frozen=True)
class Mqm(Format):
    """A TSV of MQM annotations (google/wmt-mqm-human-evaluation), or one per split.

    Columns: system, doc, seg_id (or globalSegId, docSegId), rater, source, target, category, severity; `<v>`
    and `</v>` stand around what is wrong. The label is the mean over the raters of minus the weights of their
    errors, -25 .. 0, higher is better; what is worse than -25 is -25. Words that some rater marked as an
    error of some weight are BAD.

    Source: Freitag et al. 2021, "Experts, Errors, and Context", table 12 (weights).

    Parameters
    ----------
    splits : mapping of str to str, default={}
        Split -> file under `path`; without it, `path` itself is the file.
    weights : mapping of str to float, default={}
        Severity, or severity/category with the beginning of a category -> weight; they replace or extend the
        usual ones: major 5, minor 1, neutral and no-error 0, major/non-translation 25,
        minor/fluency/punctuation 0.1.
    tokenizer : {'moses', 'whitespace'}, default='moses'
        `moses`, or `whitespace` for text that is tokenised already.
    """

    source_language: str
    target_language: str
    splits: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    tokenizer: Literal["moses", "whitespace"] = "moses"

    scale = LabelScale("mqm", -25.0, 0.0, higher_is_better=True)

    def read_split(self, reading: Reading, name: str, file: Path) -> Split:
        found = self._segments(reading, file)
        rows, lines = list(found.values()), [segment.line for segment in found.values()]
        means = [float(np.mean([*segment.penalties.values()])) for segment in rows]
        texts = {
            "id": ["/".join(key) for key in found],
            "doc_id": [segment.document for segment in rows],
            "source": [segment.source for segment in rows],
            "target": [segment.target for segment in rows],
            "scores": [repr(max(self.scale.low or 0.0, -mean)) for mean in means],
        }
        tags = [_tags(segment, self.tokenizers[1]) for segment in rows]
        if None not in tags and any(segment.marked for segment in rows):
            texts["word_tags"] = [tag or "" for tag in tags]
        columns = {column: Column(cells, file, lines) for column, cells in texts.items()}
        return self.split(reading, name, columns)

    def _segments(self, reading: Reading, file: Path) -> dict[tuple[str, str, str], _Segment]:
        languages = self.source_language, self.target_language
        layout = Layout("tsv", "tab", quoting=False, languages=languages)
        table = read_table(reading, file, layout)
        numbers = [table[name] for name in _NUMBERS if name in table]
        telling = [column for column in numbers if len({*column.texts}) > 1]
        if numbers:
            table["seg_id"] = (telling or numbers)[0]
        missing = [name for name in _COLUMNS if name not in table]
        if missing:
            raise no_column(missing[0], table, f"{file}:1", " of MQM annotations")
        found: dict[tuple[str, str, str], _Segment] = {}
        lines = table["system"].lines
        for line, *cells in zip(lines, *(table[name].texts for name in _COLUMNS), strict=True):
            row = dict(zip(_COLUMNS, cells, strict=True))
            weight = self._weight(row["severity"], row["category"], f"{file}:{line}")
            source, target = (_MARK.sub("", row[side]) for side in ("source", "target"))
            key = (row["system"], row["doc"], row["seg_id"])
            segment = found.setdefault(key, _Segment(row["doc"], source, target, line))
            if (source, target) != (segment.source, segment.target):
                raise InputError(
                    f"another text than in line {segment.line}, of the same system, document and segment",
                    location=f"{file}:{line}",
                )
            segment.penalties[row["rater"]] = segment.penalties.get(row["rater"], 0.0) + weight
            if weight:
                segment.marked |= _marked(row["target"])
        return found

    def _weight(self, severity: str, category: str, location: str) -> float:
        known = {name.casefold(): weight for name, weight in {**_MQM_WEIGHTS, **self.weights}.items()}
        severity, category = severity.strip().casefold(), category.strip().casefold()
        full = f"{severity}/{category}"
        fitting = [name for name in known if name == severity or ("/" in name and full.startswith(name))]
        if not fitting:
            raise InputError(
                f"no weight for the severity '{severity}'",
                location=location,
                remedy=f"name it under `weights`; known: {', '.join(known)}",
            )
        return known[max(fitting, key=len)]


def _marked(text: str) -> set[int]:
    places: set[int] = set()
    count, inside = 0, False
    for part in re.split(r"(</?v>)", text):
        if _MARK.fullmatch(part):
            inside = part == "<v>"
            continue
        size = len("".join(part.split()))
        places |= set(range(count, count + size)) if inside else set()
        count += size
    return places


def _tags(segment: _Segment, tokenizer: Tokenizer) -> str | None:
    tags, count = ["OK"], 0
    tokens = tokenizer.split(segment.target)
    if "".join(tokens) != "".join(segment.target.split()):
        return None
    for token in tokens:
        bad = not segment.marked.isdisjoint(range(count, count + len(token)))
        tags += ["BAD" if bad else "OK", "OK"]
        count += len(token)
    return " ".join(tags)
