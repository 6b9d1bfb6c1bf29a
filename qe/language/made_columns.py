"""Segment columns created by programs: second translations and annotations."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.segments import Segments
from qe.language.engine import DIRECTIONS, engine, translated
from qe.language.taggers import SIDES, annotated, export_annotator, is_program, tagger

_HERE = "./"  # the model's folder, in its description


def check_made_columns(columns: Mapping[str, str], languages: tuple[str, str]) -> None:
    for column, program in columns.items():
        if column in SIDES:
            tagger(program, *languages)
        elif column in DIRECTIONS:
            engine(program, *languages)
        else:
            raise _unknown(column)


def with_made_columns(
    segments: Segments, columns: Mapping[str, str], cache: Path | None = None, progress: Progress = silent
) -> Segments:
    """Adds columns created by programs (name -> program) to the segments; output is cached by text."""
    pair = segments.source_tokenizer.language, segments.target_tokenizer.language
    languages = dict(zip(("source", "target"), pair, strict=True))
    for column, name in sorted(columns.items(), key=lambda item: item[0] in SIDES):  # translations first
        if column not in SIDES and column not in DIRECTIONS:
            raise _unknown(column)
        if getattr(segments, column) is not None:
            section = "annotations" if column in SIDES else "translations"
            remedy = f"leave it out of `{section}`, or out of the data: {name} would make it again"
            raise InputError(f"the segments have a column '{column}' already", remedy=remedy)
        stage = f"{column} by {name}"
        if column in SIDES:
            side = SIDES[column]
            annotator = tagger(name, *(pair if side == "source" else reversed(pair)))
            texts = annotated(getattr(segments, f"{side}_tokens"), annotator, cache, stage, progress)
        else:
            side, into = DIRECTIONS[column]
            translator = engine(name, languages[side], languages[into])
            texts = translated(getattr(segments, side), translator, cache, stage, progress)
        segments = replace(segments, **{column: texts})  # type: ignore[arg-type]
    return segments


def _unknown(column: str) -> InputError:
    known = ", ".join((*DIRECTIONS, *SIDES))
    return InputError(f"no program makes the column '{column}'", remedy=f"known: {known}")


def remake_columns(segments: Segments, columns: Mapping[str, str]) -> Segments:
    old = {name: by for name, by in columns.items() if getattr(segments, name) is not None}
    bare = replace(segments, **dict.fromkeys(old))  # type: ignore[arg-type]
    return with_made_columns(bare, old) if old and len(segments) else segments


def keep_annotators(columns: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Copies the annotators of `columns` to `folder`; returns the columns for the model's description."""
    kept = {}
    for column, name in columns.items():
        if column.startswith("annotation_"):
            name = export_annotator(name, folder / "annotators" / column).replace(f"{folder}/", _HERE, 1)
        kept[column] = name
    return kept


def kept_annotators(columns: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The reverse of `keep_annotators`, for the model in `folder`.

    Raises InputError for an annotator that is neither an installed program nor inside the folder, because a
    model's description must not name other files.
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
