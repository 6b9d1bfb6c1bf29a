"""Columns of segments that programs make: second translations and annotations."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.segments import Segments
from qe.language.engine import engine
from qe.language.programs.taggers import SIDES, export_annotator, is_program, tagger, with_annotations
from qe.language.programs.translations import DIRECTIONS, with_translations

_HERE = "./"  # in a model's description: its own folder


def check_made_columns(columns: Mapping[str, str], languages: tuple[str, str]) -> None:
    """Raises InputError for a column that no program makes, or a program that is not known here.

    languages  of source and target
    """
    for column, program in columns.items():
        if column in SIDES:
            tagger(program, *languages)
        elif column in DIRECTIONS:
            engine(program, *languages)
        else:
            known = ", ".join((*DIRECTIONS, *SIDES))
            raise InputError(f"no program makes the column '{column}'", remedy=f"known: {known}")


def with_made_columns(
    segments: Segments, columns: Mapping[str, str], cache: Path | None = None, progress: Progress = silent
) -> Segments:
    """The segments with the columns that programs make.

    `columns` maps name -> program: annotators, and engines for second translations. Raises InputError as
    `with_annotations` and `with_translations` do.
    """
    annotations = {name: by for name, by in columns.items() if name.startswith("annotation_")}
    translations = {name: by for name, by in columns.items() if name not in annotations}
    return with_annotations(
        with_translations(segments, translations, cache, progress), annotations, cache, progress
    )


def remake_columns(segments: Segments, columns: Mapping[str, str]) -> Segments:
    """Segments whose texts were changed, with the columns that programs made computed again.

    Raises InputError as `with_made_columns` does.
    """
    old = {name: by for name, by in columns.items() if getattr(segments, name) is not None}
    bare = replace(segments, **dict.fromkeys(old))  # type: ignore[arg-type]
    return with_made_columns(bare, old) if old and len(segments) else segments


def keep_annotators(columns: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Put the annotators of `columns` into `folder`.

    Returns `columns` (name -> program) as a model's description has them.
    """
    kept = {}
    for column, name in columns.items():
        if column.startswith("annotation_"):
            name = export_annotator(name, folder / "annotators" / column).replace(f"{folder}/", _HERE, 1)
        kept[column] = name
    return kept


def kept_annotators(columns: Mapping[str, str], folder: Path) -> dict[str, str]:
    """What `keep_annotators` gave, for the model in `folder`.

    Raises InputError for an annotator that is neither an installed program nor within the folder: a model's
    description must not name other files.
    """
    kept = {}
    for column, name in columns.items():
        kind, colon, model = name.rpartition(":")
        if model.startswith(_HERE) and ".." not in Path(model).parts:
            name = f"{kind}{colon}{folder / model}"
        elif column in SIDES and not is_program(name):
            raise InputError(
                f"the annotator '{name}' of '{column}' is not in the model's folder", location=folder
            )
        kept[column] = name
    return kept
