"""The rows of a file as segments, for those who look at a model rather than score with it."""

from collections.abc import Mapping
from pathlib import Path

from features.basics.errors import InputError
from features.core.segments import Segments
from qe.data.table_rows import open_input, unusable
from qe.models.model import Model
from qe.scoring.naming import Names
from qe.scoring.scorer import remembered


def segments_of(model: Model, path: Path, columns: Mapping[str, str]) -> Segments:
    """The rows that the model can score, numbered from 1 in their order.

    columns  name -> the header that it has in the file

    Raises InputError for a file without columns that the model needs, or without such rows.
    """
    needed = model.columns()
    given = open_input([path])
    names = Names(columns).completed(needed, given.headers, remembered(model), path)
    names.check(needed, given.columns, path, f"the model '{model.name}'")
    rows = [row for row, reason in map(names.view, given.rows()) if not reason and not unusable(row, needed)]
    if not rows:
        raise InputError("no row has a source and a translation that can be scored", location=path)
    return model.segments({name: [str(row[name]) for row in rows] for name in needed})
