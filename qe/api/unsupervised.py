"""A model of translations that nobody has judged, from Python."""

from pathlib import Path
from typing import Literal

import pandas as pd

from features.basics.arguments import checked
from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from features.core.segments import Segments
from features.text.tokenizer import Tokenizer
from qe.data.frames import AnyTable, as_pandas
from qe.data.table_rows import unusable
from qe.resources.cache import default_cache
from qe.training.check import check
from qe.training.without_labels import DECODER, Unlabelled, unlabelled_experiment
from qe.training.without_labels import train_without_labels as made


@checked
def train_without_labels(
    translations: AnyTable,
    output: str | Path,
    *,
    source_language: str,
    target_language: str,
    parallel: tuple[str | Path, str | Path] | None = None,
    encoder: str | Path | None = None,
    tokenized: bool = False,
    cache: str | Path | None = None,
    progress: Progress = silent,
) -> Unlabelled:
    """Trains a model on translations that have no labels.

    Its scores are in standard deviations from the mean of the given translations; higher is better.

    Parameters
    ----------
    translations : table of n >= 20 rows, of pandas, polars or Arrow
        Columns `source` and `target`; with `subwords` and `token_log_probabilities` also what the decoder
        said of its output.
    output : str or Path
        Parent folder: the model is written to `output`/model.
    source_language, target_language : str
        Codes such as "en".
    parallel : pair of str or Path, default=None
        Files of source and target text, a sentence a line.
    encoder : str or Path, default=None
        Name of an encoder of yours, or the path of its folder (docs/encoders.md).
    tokenized : bool, default=False
        Whether texts are split at white space alone.
    cache : str or Path, default=None
        Folder of built resources and feature tables. None: the user's cache folder.
    progress : callable, default=silent
        Called with (stage, done, total).

    Returns
    -------
    Unlabelled
        The model, its folder, and the features that it was made of.

    Raises
    ------
    qe.InputError
        For rows that cannot be scored, for fewer than 20, and if there is no parallel text, no encoder and
        nothing that a decoder said.
    """
    columns = _columns(as_pandas(translations))
    kind: Literal["moses", "whitespace"] = "whitespace" if tokenized else "moses"
    tokenizers = Tokenizer(source_language, kind), Tokenizer(target_language, kind)
    name = f"unsupervised-{source_language}-{target_language}"
    files = None if parallel is None else (Path(parallel[0]), Path(parallel[1]))
    experiment = unlabelled_experiment(name, columns, files, encoder)
    check(experiment, in_memory=True)
    return made(
        experiment,
        Segments.from_columns(columns, *tokenizers),
        Path(output),
        cache=default_cache() if cache is None else Path(cache),
        progress=progress,
    )


def _columns(table: pd.DataFrame) -> dict[str, list[str]]:
    for name in ("source", "target"):
        if name not in table.columns:
            told = ", ".join(map(str, table.columns))
            raise InputError(f"the table has no column '{name}'", remedy=f"it has {told or 'none'}")
    names = ("source", "target", *(DECODER if set(DECODER) <= set(table.columns) else ()))
    columns = {name: table[name].tolist() for name in names}
    for number, values in enumerate(zip(*columns.values(), strict=True), start=1):
        reason = unusable(dict(zip(names, values, strict=True)), names)
        if reason:
            raise InputError(f"row {number}: {reason}", remedy="leave it out, or give its text")
    return columns
