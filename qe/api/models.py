"""Trained models from Python: tables of new translations in, scores out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from qe.display.summary import summarised
from qe.display.table import Table
from qe.models.description import one_model
from qe.models.model import Model
from qe.scoring.jobs import frame_of
from qe.scoring.scorer import Options, Scorer


@summarised
@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A trained model and the folder it lies in."""

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

    def predict(
        self, table: pd.DataFrame, *, interval: float | None = None, explain: int = 0, words: bool = False
    ) -> pd.DataFrame:
        """Returns one row for each row of `table`, with its index.

        score          on the scale of the labels; NaN for a row that cannot be scored
        low, high      with `interval` (such as 0.9): bounds that hold this share of true labels
        because        with `explain`: that many features that moved the score most
        tokens, bad, gaps  with `words`: P(BAD) of every target word, and of every gap between words
        tags, gap_tags, spans, source_tokens, source_bad, source_tags  likewise, where the model has learned
                       them: OK or BAD (thresholds of F1-mult), spans of BAD words, and the same of the source
        reason         why a row has no score; else empty

        Raises qe.InputError for a column that is missing, and for what the model does not offer.
        """
        options = Options(level=interval, explain=explain, tokens=words, drift=False)
        return frame_of(Scorer.load(self.folder, options, self.model), table)

    def features(self, table: pd.DataFrame) -> pd.DataFrame:
        """Returns the (n, k) feature table, indexed as `table`; NaN is "undefined for this segment".

        Raises qe.InputError for a column that is missing.
        """
        columns = {name: table[name].astype(str).tolist() for name in table.columns if name in self.columns}
        return self.model.features(self.model.segments(columns)).set_axis(table.index)

    def summary(self) -> Table:
        """The model, and its folder."""
        table = self.model.summary()
        return replace(table, rows=[*table.rows, ("folder", str(self.folder))])


def load_model(model: str | Path, *, require_signature: Path | None = None) -> LoadedModel:
    """Returns the model of a folder, or of an MLflow URI such as `models:/NAME@champion`.

    require_signature  a public key (Ed25519, PEM) that the model must be signed with (`qe models sign`)

    Loading runs no code from the files (docs/security.md). Raises qe.InputError for what is no model, is
    damaged, or is not signed as required.
    """
    folder, identity = model_folder(str(model), require_signature)
    return LoadedModel(folder, Model.load(folder, identity))


def model_folder(model: str, require_signature: Path | None = None) -> tuple[Path, str]:
    """The model directory that a path or an MLflow URI names, and the identity of the model that lies there:
    what is loaded after this must be that one.

    Raises InputError if it is not signed with the key (a public one, PEM) that is required, if any is.
    """
    if is_uri(model):
        from qe.tracking.logged_models import model_directory

        folder = model_directory(model)
    else:
        folder = Path(model)
    with one_model(folder) as identity:
        if require_signature is not None:
            from qe.models.signatures import verify

            verify(folder, require_signature)
    return folder, identity


def is_uri(model: str) -> bool:
    """Whether a model is named by an MLflow URI, and not by a path."""
    return "://" in model or model.startswith(("models:/", "runs:/"))


def sign_model(model: str, key: Path) -> tuple[Path, str]:
    """Signs a model in its folder, or where MLflow keeps it: (folder, fingerprint of the key).

    Raises InputError as `qe.models.signatures.sign`.
    """
    from qe.models.description import NAME, SIGNATURE
    from qe.models.signatures import sign

    folder, _ = model_folder(model)
    fingerprint = sign(folder, key)
    if is_uri(model):
        from qe.tracking.logged_models import publish

        publish(folder, [NAME, SIGNATURE])
    return folder, fingerprint
