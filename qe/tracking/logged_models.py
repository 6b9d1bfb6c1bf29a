"""Logged models: a model's folder goes into the store, and is brought back from there."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import mlflow
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository
from mlflow.store.artifact.utils.models import get_model_name_and_version
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema, TensorSpec

from features.basics.errors import InputError
from features.basics.plugins import DISTRIBUTION, version
from features.core.extractor import TableColumns
from features.storage import strict_yaml
from features.storage.damage import Damaged, damage_reported
from features.storage.files import link_or_copy
from qe.tracking.address import check_text
from qe.tracking.connection import connected
from qe.tracking.runs import Run, flatten

# The code that MLflow runs for a logged model; it imports rooms above this one, so it is named by its path.
_PYFUNC_MODEL = Path(__file__).resolve().parents[1] / "production" / "pyfunc_model.py"


def save_pyfunc(path: str | Path, requirements: Sequence[str] = (), **options: Any) -> None:
    """Writes an MLflow model that qe/production/pyfunc_model.py runs, with pip `requirements`."""
    needed = [*requirements] or [f"{DISTRIBUTION}=={version()}"]
    mlflow.pyfunc.save_model(path, python_model=str(_PYFUNC_MODEL), pip_requirements=needed, **options)


_WORDS: Final = "one two three ."
_ANNOTATED: Final = "".join(
    f"{i}\t{word}\t{word}\tX\t_\t_\t{min(i - 1, 1)}\t{'dep' if i > 1 else 'root'}\t_\t_\n"
    for i, word in enumerate(_WORDS.split(), start=1)
)
# Every column that a model may take, consistent with each other.
INVENTED: Final = {
    "source": _WORDS,
    "target": _WORDS,
    "id": "1",
    "doc_id": "1",
    "system": "system",
    "pseudo_reference": _WORDS,
    "back_translation": _WORDS,
    "alignment": "0-0 1-1 2-2 3-3",
    "annotation_source": _ANNOTATED,
    "annotation_target": _ANNOTATED,
    "annotation_pseudo_reference": _ANNOTATED,
    "subwords": _WORDS,
    "token_log_probabilities": "-0.2 -0.3 -0.2 -0.1 -0.1",
    "token_entropies": "0.9 1.2 0.8 0.4 0.2",
    "token_highest_log_probabilities": "-0.2 -0.2 -0.2 -0.1 -0.1",
    "model_score": "-0.9",
    "nbest": f'["{_WORDS}"]',
    "language_pair": "en-de",
}


def example(columns: Sequence[str], table_columns: TableColumns | None = None) -> pd.DataFrame:
    """One row of a table with these columns, and those that features read by name."""
    named = {name: 1.0 if each.number else "a" for name, each in (table_columns or {}).items()}
    return pd.DataFrame([{**{column: INVENTED[column] for column in columns}, **named}])


# Bytes. Large files of a model's folder are resources and fitted word models, nothing that is edited by hand.
LARGE = 1 << 20


def large_files(folder: Path) -> list[Path]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size >= LARGE)
    return sorted(path.relative_to(folder) for path in paths)


# What may be asked for beside the score, with what is meant if nothing is said: the options of `qe score`.
PARAMS = [
    ParamSpec("interval", DataType.double, 0.0),
    ParamSpec("explain", DataType.long, 0),
    ParamSpec("words", DataType.boolean, False),
    ParamSpec("outside", DataType.boolean, False),
]


@dataclass(frozen=True)
class Described:
    """Texts about a model for people, parameters of its fit, tags, packages for scoring, and its columns that
    features read by name.
    """

    name: str
    description: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    requirements: Sequence[str] = ()
    table_columns: TableColumns = field(default_factory=dict)


@connected()
def log_model(run: Run, directory: Path, *, columns: Sequence[str], described: Described) -> str:
    """The model directory as a pickle-free pyfunc model of a run; its id."""
    texts = [column for column in columns if column not in described.table_columns]
    inputs: list[ColSpec | TensorSpec] = [ColSpec(DataType.string, column) for column in texts]
    for name, each in described.table_columns.items():
        inputs.append(ColSpec(DataType.double if each.number else DataType.string, name, not each.optional))
    outputs = Schema([ColSpec(DataType.double, "score"), ColSpec(DataType.string, "reason")])
    # Made here, because `Model.log` would put it into the experiment of a run that the user has active.
    entry = mlflow.initialize_logged_model(
        re.sub(r"[/:.%\"']", "-", described.name),
        source_run_id=run.id,
        params={name: str(value) for name, value in flatten(described.params).items()}
        | dict(run.client.get_run(run.id).data.params),
        tags={"mlflow.note.content": described.description},
        experiment_id=run.experiment_id,
    )
    logged = mlflow.models.Model.log(
        artifact_path=None,
        model_id=entry.model_id,
        run_id=run.id,
        folder=directory,
        flavor=_PyfuncOfFolder(),
        flavor_name="pyfunc.ModelFromCode",
        signature=ModelSignature(inputs=Schema(inputs), outputs=outputs, params=ParamSchema(PARAMS)),
        input_example=example(texts, described.table_columns),
        requirements=described.requirements,
        # MLflow would load the model from its temporary folder, and say nothing whatever comes of it.
        validate_serving_input=False,
    )
    return str(logged.model_id)


def model_directory(uri: str) -> Path:
    """The model directory behind an MLflow URI (`models:/NAME@champion`, `models:/NAME/3`, `runs:/...`)."""
    with connected(reading=check_text(uri).startswith(("models:", "runs:"))):
        try:
            local = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri))
        except (MlflowException, OSError) as error:
            raise InputError(
                f"no model at {uri} ({error})", remedy="`qe models` lists the registered ones"
            ) from None
    with damage_reported("the MLflow model", local / "MLmodel", "name a model that `qe train` has logged"):
        flavors = strict_yaml.read(local / "MLmodel", "description of a model")["flavors"]
        folder = local / str(flavors["python_function"]["artifacts"]["model"]["path"])
        if not folder.resolve().is_relative_to(local.resolve()):
            raise Damaged(f"its path leads to {folder}, outside the model")
    return folder


def registered_as(folder: Path) -> tuple[str, str] | None:
    """Name and version by which a `model_directory` was fetched from the registry, or None."""
    root = next((above for above in folder.parents if (above / "MLmodel").is_file()), folder)
    file = root / "registered_model_meta"
    if not file.is_file():
        return None
    with damage_reported("what MLflow says of a version", file, "name the model by its version"):
        said = strict_yaml.read(file, "description of a version")
        return str(said["model_name"]), str(said["model_version"])


@connected(reading=True)
def registered_now(uri: str) -> tuple[str, str] | None:
    """Name and version that `models:/NAME@ALIAS` leads to now; None for a URI of no version."""
    if not check_text(uri).startswith("models:/"):
        return None
    try:
        named = get_model_name_and_version(mlflow.MlflowClient(), uri)  # type: ignore[no-untyped-call]
    except MlflowException as error:
        raise InputError(
            f"no model at {uri} ({error})", remedy="`qe models` lists the registered ones"
        ) from None
    return (str(named[0]), str(named[1])) if len(named) == 2 else None


@connected()
def publish(folder: Path, names: Sequence[str]) -> None:
    """Sends files written into a `model_directory` to its store, unless that is a local folder."""
    root = next(above for above in folder.parents if (above / "MLmodel").is_file())
    model_id = str(strict_yaml.read(root / "MLmodel", "description of a model")["model_id"])
    if _local_store(model_id) is None:
        for name in names:
            place = folder.relative_to(root).as_posix()
            mlflow.MlflowClient().log_model_artifact(model_id, str(folder / name), place)


class _PyfuncOfFolder:
    def save_model(
        self, path: str, mlflow_model: Any, folder: Path, validate_serving_input: bool, **options: Any
    ) -> None:
        del validate_serving_input  # Model.log reads it, and passes it on
        store = _local_store(mlflow_model.model_id)
        large = [] if store is None else large_files(folder)

        def ignore(parent: str, names: list[str]) -> list[str]:
            return [name for name in names if Path(parent, name).relative_to(folder) in large]

        with TemporaryDirectory() as scratch:
            rest = folder
            if large:
                rest = Path(shutil.copytree(folder, Path(scratch) / folder.name, ignore=ignore))
            artifacts = {"model": rest.absolute().as_uri()}
            save_pyfunc(path, artifacts=artifacts, mlflow_model=mlflow_model, **options)
        if store is None:
            return
        # The large files lie in the store before MLflow brings the others: what looks whole is whole.
        entry = mlflow_model.flavors["python_function"]["artifacts"]["model"]
        for file in large:
            place = store / entry["path"] / file
            place.parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(folder / file, place)
        entry["uri"] = folder.absolute().as_uri()
        mlflow_model.model_size_bytes += sum((folder / file).stat().st_size for file in large)
        mlflow_model.save(str(Path(path) / "MLmodel"))


def _local_store(model_id: str) -> Path | None:
    location = mlflow.get_logged_model(model_id).artifact_location
    repository = get_artifact_repository(location)
    return Path(repository.artifact_dir) if isinstance(repository, LocalArtifactRepository) else None
