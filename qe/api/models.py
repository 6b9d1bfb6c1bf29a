"""Trained models from Python: tables of new translations in, scores out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from features.basics.errors import NO_MODEL, InputError
from features.basics.hints import checked
from qe.data.columns import frame_texts
from qe.data.frames import AnyFrame, as_pandas, convert_like
from qe.display.summary import Printable
from qe.display.table import Table
from qe.models.description import NAME, SIGNATURE, one_model
from qe.models.model import Model
from qe.scoring.jobs import frame_of, names_of
from qe.scoring.routes import is_uri
from qe.scoring.row_formats import types_of
from qe.scoring.scorer import Options, Scorer, needs_of

_Whole = Annotated[int, Ge(0)]


@dataclass(frozen=True, eq=False)
class LoadedModel(Printable):
    """A trained model and its folder."""

    folder: Path
    model: Model

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a table needs: `source`, `target`, and what else the features read."""
        return self.model.columns()

    @property
    def about(self) -> Mapping[str, Any]:
        """How the model was trained: seeds, versions, fingerprints, figures."""
        return self.model.about

    @checked
    def predict(
        self, table: AnyFrame, *, interval: float | None = None, explain: _Whole = 0, words: bool = False
    ) -> AnyFrame:
        """Scores translations.

        Parameters
        ----------
        table : DataFrame of n rows, or any table that Arrow can read (polars, PyArrow, ...)
            The columns of `columns`, by their names or by headers in use (`src`, `mt`, ...).
        interval : float, default=None
            Share of true labels that the bounds `low` and `high` shall hold, such as 0.9. None: no bounds.
        explain : int, default=0
            Number of causes that moved the score most, told in `because` in translators' words.
        words : bool, default=False
            Whether words and gaps are scored, too.

        Returns
        -------
        table of n rows, of the kind of `table`; a DataFrame has its index
            `score` is on the scale of the labels, NaN for a row that cannot be scored; `reason` explains why,
            and is empty otherwise. With `interval`: `low`, `high`. With `explain`: `because`. With `words`:
            `tokens`, `bad` (P(BAD) of every target word) and `gaps` (of every gap between words); and, if the
            model has learned them, `tags`, `gap_tags`, `spans` (of BAD words), `source_tokens`, `source_bad`,
            `source_tags`, by thresholds of F1-mult.

        Raises
        ------
        qe.InputError
            For a column that is missing, and for what the model does not offer.
        """
        options = Options(interval=interval, explain=explain, tokens=words, drift=False)
        scored = frame_of(Scorer.load(self.folder, options, self.model), as_pandas(table))
        return convert_like(table, scored, types_of({name: name for name in map(str, scored)}))

    @checked
    def features(self, table: AnyFrame) -> AnyFrame:
        """Computes the features of translations.

        Parameters
        ----------
        table : DataFrame of n rows, or any table that Arrow can read (polars, PyArrow, ...)
            The columns of `columns`, by their names or by headers in use (`src`, `mt`, ...).

        Returns
        -------
        table of shape (n, k), of the kind of `table`; a DataFrame has its index
            NaN is "undefined for this segment".

        Raises
        ------
        qe.InputError
            For a column that is missing, and a cell that has no text.
        """
        frame = as_pandas(table)
        names = names_of(needs_of(self.model), list(map(str, frame.columns)))
        named = self.model.feature_set.table_columns
        there = [name for name in named if names.header(name) in frame.columns]
        headers = {name: names.header(name) for name in (*self.columns, *there)}
        columns = frame_texts(frame, headers, named)
        return convert_like(table, self.model.features(self.model.segments(columns)).set_axis(frame.index))

    def summary(self) -> Table:
        """The model, and its folder."""
        table = self.model.summary()
        return replace(table, rows=[*table.rows, ("folder", str(self.folder))])


@checked
def load_model(model: str | Path, *, require_signature: Path | None = None) -> LoadedModel:
    """Returns the model of a folder or of an MLflow URI. Loading runs no code from the files.

    Parameters
    ----------
    model : str or Path
        The folder of a model or of its run, or a URI such as `models:/NAME@champion`.
    require_signature : Path, default=None
        Public key (Ed25519, PEM) of the signature that the model must have (`qe models sign`).

    Returns
    -------
    LoadedModel
        `predict` scores a table, `features` computes its features.

    Raises
    ------
    qe.InputError
        For what is no model, is damaged, or is not signed as required.
    """
    folder, identity = model_folder(str(model), require_signature)
    return LoadedModel(folder, Model.load(folder, identity))


def model_folder(model: str, require_signature: Path | None = None) -> tuple[Path, str]:
    """The model directory of a path (its own, or that of its run) or an MLflow URI, and its identity."""
    if is_uri(model):
        from qe.tracking.logged_models import model_directory

        folder = model_directory(model)
    else:
        folder = _local_folder(model)
    with one_model(folder) as identity:
        if require_signature is not None:
            from qe.models.signatures import verify

            verify(folder, require_signature)
    return folder, identity


def _local_folder(model: str) -> Path:
    for folder in (Path(model), Path(model, "model")):
        if (folder / NAME).is_file():
            return folder
    raise InputError(f"is not a model directory (no {NAME})", location=Path(model), remedy=NO_MODEL)


def is_current(model: str, registered: str, fingerprint: str) -> bool:
    """Whether a loaded model, by its `NAME/VERSION` or fingerprint, is still what `model` names."""
    if is_uri(model):
        from qe.tracking.logged_models import registered_now

        now = registered_now(model)
        return now is None or "/".join(now) == registered
    with one_model(_local_folder(model)) as identity:
        return identity == fingerprint


def sign_model(model: str, key: Path) -> tuple[Path, str]:
    """Signs a model in its folder, or where MLflow keeps it: (folder, fingerprint of the key)."""
    from qe.models.signatures import sign

    folder, _ = model_folder(model)
    fingerprint = sign(folder, key)
    if is_uri(model):
        from qe.tracking.logged_models import publish

        publish(folder, [NAME, SIGNATURE])
    return folder, fingerprint
