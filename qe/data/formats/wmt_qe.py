"""Layout of the WMT QE tasks 2013-2020: one tokenised file per column and split."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from features.basics.errors import InputError
from features.text.tokenizer import Tokenizer
from qe.data.columns import HTER, make_split
from qe.data.dataset import Dataset, Split
from qe.data.format import Example, Format
from qe.data.formats._tags import check_tags
from qe.data.reading import Column, Reading

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


_FOREIGN = "._"  # AppleDouble: what macOS leaves beside files


@dataclass(frozen=True)
class WmtQe(Format):
    """Files `SPLIT.src` and `SPLIT.mt`, plain or `.gz`.

    They lie under `path`, or in one folder per split below it.

    Beside them, as far as they are there: `.pe` (post-edits), `.ref`, `.hter`, `.tags` (OK or BAD for gap,
    word, gap, ..., gap: 2 n + 1 for n tokens), `.src_tags` or `.source_tags`, `.src-mt.alignments` (`i-j`
    from 0). Every SPLIT is one: `train`, `dev`, `test`, `test.2016`, ...; one without `.hter` and `.pe` has
    no scores.

    The label is HTER, 0 .., lower is better: that of the file, or else computed from target and post-edit.
    Text is tokenised, and split at white space. Tags of words alone (n for n tokens, as of earlier tasks) are
    left out, and a note says so.

    Source: Specia et al. 2018, "Findings of the WMT 2018 Shared Task on Quality Estimation".
    """

    example: ClassVar[Example] = Example(
        section="""dataset:
  format: wmt_qe
  path: wmt18/en-de.smt
  source_language: en
  target_language: de
""",
        files={
            "wmt18/en-de.smt/train.src": "the red house\n",
            "wmt18/en-de.smt/train.mt": "das rot Haus\n",
            "wmt18/en-de.smt/train.pe": "das rote Haus\n",
            "wmt18/en-de.smt/train.hter": "0.333333\n",
            "wmt18/en-de.smt/train.tags": "OK OK OK BAD OK OK OK\n",
            "wmt18/en-de.smt/train.src_tags": "OK BAD OK\n",
            "wmt18/en-de.smt/train.src-mt.alignments": "0-0 1-1 2-2\n",
            "wmt18/en-de.smt/test.src": "it rains\n",
            "wmt18/en-de.smt/test.mt": "es regnet\n",
        },
    )

    source_language: str
    target_language: str

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return path.is_dir() and bool(_sources(path))

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        sources = _sources(path)
        if not sources:
            raise InputError(
                "no SPLIT.src with SPLIT.mt here",
                location=path,
                remedy="give the folder of one language pair",
            )
        splits = {}
        for name, folder in sorted(sources.items()):
            split = reading.attempt(partial(self._split, reading, folder, name))
            if split is not None:
                splits[name] = split
        return Dataset(path.resolve().name, splits, HTER, reading.provenance, tuple(reading.notes))

    def _split(self, reading: Reading, folder: Path, name: str) -> Split:
        columns: dict[str, Column] = {}
        for ours, ends in _ENDS.items():
            file = _one(folder, name, ends)
            if file is not None:
                columns[ours] = reading.lines(file)
        for tags, text, gaps in (("word_tags", "target", True), ("source_tags", "source", False)):
            if tags in columns and len(columns[tags]) == len(columns[text]):
                if gaps and _of_words_alone(columns[tags], columns[text]):
                    reading.note(columns.pop(tags).path, 1, "tags of words without gaps (left out)")
                else:
                    check_tags(reading, columns[tags], columns[text], gaps)
        tokenizers = (
            Tokenizer(self.source_language, "whitespace"),
            Tokenizer(self.target_language, "whitespace"),
        )
        return make_split(reading, name, columns, HTER, tokenizers, compute_hter=True)


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


def _one(folder: Path, split: str, ends: tuple[str, ...]) -> Path | None:
    names = [f"{split}.{end}{gz}" for end in ends for gz in ("", ".gz")]
    files = [folder / name for name in names if (folder / name).is_file()]
    if len(files) > 1:
        raise InputError(f"{files[1].name} is there too", location=files[0], remedy="move one of them away")
    return files[0] if files else None


def _of_words_alone(tags: Column, text: Column) -> bool:
    pairs = zip(tags.texts, text.texts, strict=True)
    return all(len(line.split()) == len(words.split()) for line, words in pairs)
