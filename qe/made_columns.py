"""Columns of segments that programs make: second translations and annotations."""

from collections.abc import Mapping
from pathlib import Path

from features.core.progress import Progress, silent
from features.core.segments import Segments
from qe.annotation import with_annotations
from qe.translation import with_translations


def with_made_columns(
    segments: Segments, columns: Mapping[str, str], cache: Path | None = None, progress: Progress = silent
) -> Segments:
    """The segments with `columns` (name -> program): annotations, and second translations by engines.

    Raises InputError as `with_annotations` and `with_translations` do.
    """
    annotations = {name: by for name, by in columns.items() if name.startswith("annotation_")}
    translations = {name: by for name, by in columns.items() if name not in annotations}
    return with_annotations(
        with_translations(segments, translations, cache, progress), annotations, cache, progress
    )
