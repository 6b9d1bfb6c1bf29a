"""Layout of the WMT QE tasks 2013-2020: one tokenised file per column and split."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from features.basics.errors import InputError
from qe.data.columns import HTER, check_tags, make_split
from qe.data.dataset import Dataset, Split
from qe.data.format import Format
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


_FOREIGN = "._"  # AppleDouble files of macOS


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

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        sources = _sources(path)
        if not sources:
            raise InputError(
                "no SPLIT.src with SPLIT.mt here",
                location=path,
                remedy="give the folder of one language pair",
            )
        splits = reading.splits(dict(sorted(sources.items())), partial(self._split, reading))
        return self.dataset(reading, path, splits, HTER)

    def _split(self, reading: Reading, name: str, folder: Path) -> Split:
        columns: dict[str, Column] = {}
        for ours, ends in _ENDS.items():
            file = _single_file(folder, name, ends)
            if file is not None:
                columns[ours] = reading.lines(file)
        tags = columns.get("word_tags")
        if tags is not None and _of_words_alone(tags, columns["target"]):
            reading.note(columns.pop("word_tags").path, 1, "tags of words without gaps (left out)")
        check_tags(reading, columns)
        return make_split(reading, name, columns, HTER, self.tokenizers, compute_hter=True)


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


def _single_file(folder: Path, split: str, ends: tuple[str, ...]) -> Path | None:
    names = [f"{split}.{end}{gz}" for end in ends for gz in ("", ".gz")]
    files = [folder / name for name in names if (folder / name).is_file()]
    if len(files) > 1:
        raise InputError(f"{files[1].name} is there too", location=files[0], remedy="move one of them away")
    return files[0] if files else None


def _of_words_alone(tags: Column, text: Column) -> bool:
    pairs = zip(tags.texts, text.texts, strict=False)
    return len(tags) == len(text) and all(len(line.split()) == len(words.split()) for line, words in pairs)
