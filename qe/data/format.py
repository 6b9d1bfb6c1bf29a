"""Format: how a dataset is stored; documentation of formats is made from the classes."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from features.basics.catalogue import Catalogue
from features.basics.errors import InputError, did_you_mean
from features.basics.hints import described, mistakes
from features.core.extractor import TableColumns
from features.storage.files import resolved
from features.text.tokenizer import Tokenizer
from qe.data.columns import label_scale, make_split
from qe.data.dataset import Dataset, LabelScale, Split
from qe.data.reading import Column, Reading


@dataclass(frozen=True)
class Example:
    """An example: `dataset:` of an experiment as YAML, and files by their paths relative to it."""

    section: str
    files: Mapping[str, str]


class Format:
    """A data format: a dataclass whose fields are keys of `dataset:` in an experiment.

    Raises InputError, with file and line, for everything that cannot be read faithfully.
    """

    def read(self, path: Path, table_columns: TableColumns | None = None) -> Dataset:
        """Reads everything at `path` (a directory or a file); the first defect raises InputError.

        table_columns  those that features read by name
        """
        return self.read_with(Reading(path, table_columns=table_columns or {}), path)

    def read_with(self, reading: Reading, path: Path) -> Dataset:
        """Reads through `reading`, which opens files, keeps notes, raises or collects defects."""
        self.check_options()
        files = self.split_files(path)
        return self.dataset(reading, path, reading.splits(files, partial(self.read_split, reading)))

    def read_split(self, reading: Reading, name: str, file: Any) -> Split | None:
        """The split of an entry of `split_files`; None if `reading` has collected why there is none.

        A format that reads its splits together has `read_with` instead.
        """
        raise NotImplementedError

    @property
    def scale(self) -> LabelScale:
        return label_scale(vars(self)["label"])

    @property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Settings of source and target, by the keys `source_language`, `target_language` and `tokenizer`."""
        keys = vars(self)
        kind = keys.get("tokenizer", "whitespace")
        return Tokenizer(keys["source_language"], kind), Tokenizer(keys["target_language"], kind)

    def split_files(self, path: Path) -> Mapping[str, Any]:
        """The file of each split below `path`, by the key `splits`; without it `path` itself is `train`."""
        return {name: path / file for name, file in vars(self)["splits"].items()} or {"train": path}

    def dataset(
        self, reading: Reading, path: Path, splits: Mapping[str, Split], scale: LabelScale | None = None
    ) -> Dataset:
        return Dataset(self.name(path), splits, scale or self.scale, reading.provenance, tuple(reading.notes))

    def name(self, path: Path) -> str:
        return resolved(path).name

    def split(self, reading: Reading, name: str, columns: Mapping[str, Column]) -> Split:
        return make_split(reading, name, columns, self.scale, self.tokenizers)

    def check_options(self) -> None:
        """Raises InputError for keys that are wrong together; nothing is read."""

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Whether the files at `path` are of this format; False if nothing distinguishes it."""
        return False


@cache
def examples() -> Mapping[str, Example]:
    content = yaml.safe_load(resources.files("qe.data.formats").joinpath("examples.yaml").read_text("utf-8"))
    return {name: Example(**entry) for name, entry in content.items()}


FORMATS: Catalogue[Format] = Catalogue("qe.data.formats", Format, "format")


def make_format(name: str, options: Mapping[str, Any]) -> Format:
    for error in option_errors(name, options):
        raise error
    return FORMATS.get(name)(**options)


def option_names(name: str) -> tuple[str, ...]:
    """The keys of `dataset:` that a format has."""
    return tuple(entry.name for entry in fields(FORMATS.get(name)) if entry.init)  # type: ignore[arg-type]


def option_errors(name: str, options: Mapping[str, Any]) -> Iterator[InputError]:
    """Everything that is wrong with the keys of `dataset:`: names, types, what is missing."""
    try:
        kind = FORMATS.get(name)
    except InputError as error:
        yield error
        return
    entries = {entry.name: entry for entry in fields(kind) if entry.init}  # type: ignore[arg-type]
    hints, known = get_type_hints(kind, include_extras=True), ", ".join(entries)
    errors: list[InputError] = []
    for key, value in options.items():
        if key in entries:
            wrong = mistakes(value, hints[key], f"dataset.{key}")
            errors += [InputError(what, location=place) for place, what in wrong]
            continue
        remedy = f"known: {known}{did_you_mean(str(key), entries)}"
        errors.append(
            InputError(f"the format '{name}' has no key '{key}'", location="dataset", remedy=remedy)
        )
    for entry in entries.values():
        if entry.name not in options and entry.default is MISSING and entry.default_factory is MISSING:
            problem = f"the format '{name}' needs the key '{entry.name}'"
            errors.append(InputError(problem, location="dataset", remedy=f"known: {known}"))
    yield from errors
    if not errors:
        try:
            kind(**options).check_options()
        except InputError as error:
            yield error


def page(names: Iterable[str] = FORMATS.names) -> str:
    return "\n\n".join(_section(name, FORMATS.get(name)) for name in names) + "\n"


def _section(name: str, kind: type[Format]) -> str:
    hints = get_type_hints(kind, include_extras=True)
    rows = []
    for entry in (entry for entry in fields(kind) if entry.init):  # type: ignore[arg-type]
        value = entry.default if entry.default_factory is MISSING else entry.default_factory()
        written = "" if value is MISSING else yaml.safe_dump([value], default_flow_style=True).strip()[1:-1]
        default = "required" if value is MISSING else "none" if value in ({}, ()) else f"`{written}`"
        what = described(hints[entry.name]).replace("|", "\\|")
        rows.append(f"| `{entry.name}` | {what} | {default} |")
    table = "\n".join(["| key | value | default |", "| --- | --- | --- |", *rows])
    paragraphs = [f"### `{name}`", _code(inspect.getdoc(kind) or "", "text"), table]
    if name in examples():
        example = examples()[name]
        files = [f"`{name}`:\n\n{_code(text, 'text')}" for name, text in example.files.items()]
        paragraphs += ["An example:", _code(example.section, "yaml"), *files]
    return "\n\n".join(paragraphs)


def _code(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
