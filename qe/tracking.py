"""Tracking: the only importer of MLflow; reads mlflow.yaml."""

import logging
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import yaml
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository
from mlflow.types import ColSpec, DataType, Schema

from features.core.errors import InputError
from qe.large_files import large_files, link, without
from qe.schema import Section, validated

CHAMPION, CHALLENGER = "champion", "challenger"
PREVIOUS = "promotion.previous"  # tag: the version that was champion before
# The UI opens on the runs of model training, not on its pages for language model applications.
_KIND = {"mlflow.experimentKind": "custom_model_development"}
_PARAM_LIMIT = 6000  # MLflow's longest parameter value


class Settings(Section):
    """The keys of mlflow.yaml."""

    tracking_uri: str = "sqlite:///mlflow.db"
    artifact_root: str = "mlartifacts"
    experiment: str = "qe"
    registered_model: str = "qe-{dataset}"
    system_metrics: bool = False


def find_settings(start: Path | None = None) -> Path | None:
    """The nearest mlflow.yaml: in the working directory or above it, else beside the installed project."""
    here = (start or Path.cwd()).resolve()
    project = Path(__file__).resolve().parent.parent
    for folder in (here, *here.parents, project):
        if (folder / "mlflow.yaml").is_file():
            return folder / "mlflow.yaml"
    return None


def load_settings(path: Path | None = None) -> tuple[Settings, Path]:
    """The settings and the folder that their relative paths start from.

    Raises InputError for an unreadable file or an unknown key.
    """
    path = path or find_settings()
    if path is None:
        return Settings(), Path.cwd()
    try:
        content = yaml.safe_load(path.read_text("utf-8")) or {}
    except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=path) from None
    return validated(Settings, content, path), path.parent


def tracking_uri(path: Path | None = None) -> str:
    """The tracking store: MLFLOW_TRACKING_URI, else mlflow.yaml's with its SQLite path made absolute."""
    settings, folder = load_settings(path)
    given = os.environ.get("MLFLOW_TRACKING_URI")
    if given:
        return given
    prefix, relative = "sqlite:///", settings.tracking_uri.removeprefix("sqlite:///")
    if settings.tracking_uri.startswith(prefix) and not relative.startswith("/"):
        return f"{prefix}{folder / relative}"
    return settings.tracking_uri


def artifact_root(path: Path | None = None) -> str:
    """Where artifacts go: an absolute path, or a URI as given."""
    settings, folder = load_settings(path)
    return settings.artifact_root if "://" in settings.artifact_root else str(folder / settings.artifact_root)


def connect(path: Path | None = None) -> Settings:
    """Points MLflow at the project's store and experiment; creates the experiment on first use."""
    _quiet()
    settings, _ = load_settings(path)
    uri = tracking_uri(path)
    mlflow.set_tracking_uri(uri)
    # The registry is the tracking store, unless the user's MLFLOW_REGISTRY_URI says otherwise. To set it here
    # would write that variable for everything that follows in this process.
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", settings.experiment)
    if mlflow.get_experiment_by_name(name) is None:
        local = uri.startswith("sqlite:")
        location = f"{artifact_root(path)}/{name}" if local else None
        try:
            mlflow.create_experiment(name, artifact_location=location, tags=_KIND)
        except MlflowException as error:  # another process made it first
            if mlflow.get_experiment_by_name(name) is None:
                raise InputError(f"MLflow experiment '{name}' cannot be made: {error}", where=uri) from None
    mlflow.set_experiment(name)
    return settings


def _quiet() -> None:
    """MLflow's migrations, downloads and hints are not the user's business; its errors are."""
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    # On stdout, where a server tracks: it would stand in the middle of what --json prints.
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.ERROR)


@dataclass(frozen=True)
class Registration:
    """What became of a trained model in the registry, and why."""

    name: str
    version: str
    uri: str
    champion: bool
    reason: str


@dataclass(frozen=True)
class Run:
    """One open MLflow run."""

    id: str
    experiment_id: str
    client: mlflow.MlflowClient

    @property
    def uri(self) -> str:
        return f"runs:/{self.id}"

    def params(self, values: Mapping[str, Any]) -> None:
        """Logs parameters, nested mappings by dotted names.

        A value that changed since the run began (MLflow keeps the first) is logged as the tag
        `resumed.NAME`; one too long for MLflow stands in report.json alone.
        """
        flat = {name: str(value) for name, value in flatten(values).items()}
        known = self.client.get_run(self.id).data.params
        new = [Param(k, v) for k, v in flat.items() if k not in known and len(v) <= _PARAM_LIMIT]
        for start in range(0, len(new), 100):
            self.client.log_batch(self.id, params=new[start : start + 100])
        changed = {k: v for k, v in flat.items() if k in known and known[k] != v}
        self.tags({f"resumed.{name}": value for name, value in changed.items()})

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Logs finite metrics; an undefined one is left out."""
        self.client.log_batch(self.id, metrics=_metrics(values, step))

    def tags(self, values: Mapping[str, str]) -> None:
        self.client.log_batch(self.id, tags=[RunTag(k, v) for k, v in values.items()])

    def artifact(self, path: Path, folder: str | None = None) -> None:
        """Logs a file, or a directory's content."""
        log = mlflow.log_artifacts if path.is_dir() else mlflow.log_artifact
        log(str(path), artifact_path=folder, run_id=self.id)

    def dataset(self, table: pd.DataFrame, name: str, targets: str | None, context: str) -> None:
        """Logs the data a run used."""
        source = mlflow.data.from_pandas(table, targets=targets, name=name)
        mlflow.log_input(source, context=context)

    def child(
        self, name: str, params: Mapping[str, Any], metrics: Mapping[str, float], started: datetime | None,
        finished: datetime | None, tags: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """A finished child run (one trial of a search)."""
        start = int(started.timestamp() * 1000) if started else None
        run = self.client.create_run(
            self.experiment_id,
            start_time=start,
            tags={"mlflow.parentRunId": self.id, **(tags or {})},
            run_name=name,
        )
        self.client.log_batch(
            run.info.run_id,
            metrics=_metrics(metrics, 0),
            params=[Param(k, str(v)) for k, v in flatten(params).items()],
        )
        end = int(finished.timestamp() * 1000) if finished else None
        self.client.set_terminated(run.info.run_id, "FINISHED", end)

    def register(
        self,
        directory: Path,
        *,
        name: str,
        columns: Sequence[str],
        example: pd.DataFrame,
        metric: str,
        value: float,
        higher_is_better: bool,
        data: str,
        tags: Mapping[str, str],
    ) -> Registration:
        """Logs the model directory as a pyfunc model and registers it.

        It becomes `champion` where there is none, or where it beats the champion's `metric` on the same
        data (`data`: the fingerprint), otherwise `challenger`; the reason is part of the answer.
        """
        info = self.log_model(directory, columns=columns, example=example)
        version = self._new_version(name, info.model_id)
        for key, text in {**tags, "metric": metric, "value": repr(value), "data": data}.items():
            self.client.set_model_version_tag(name, version, key, text)
        better, reason = self._better(name, metric, value, higher_is_better, data)
        if better:
            make_champion(name, version)
        else:
            self.client.set_registered_model_alias(name, CHALLENGER, version)
        return Registration(name, version, f"models:/{name}/{version}", better, reason)

    def log_model(self, directory: Path, *, columns: Sequence[str], example: pd.DataFrame) -> Any:
        """The model directory as a pickle-free pyfunc model of this run.

        In a local artifact store its large files are hard links to those of `directory`, which are links to
        the cache of resources: a model takes the space of what is its own, and outlives all other links.
        """
        inputs = Schema([ColSpec(DataType.string, column) for column in columns])
        outputs = Schema([ColSpec(DataType.double, "score"), ColSpec(DataType.string, "reason")])
        return mlflow.models.Model.log(
            artifact_path=None,
            name="model",
            flavor=_PyfuncOfFolder(),
            flavor_name="pyfunc.ModelFromCode",
            run_id=self.id,
            folder=directory,
            signature=ModelSignature(inputs=inputs, outputs=outputs),
            input_example=example[list(columns)],
            # MLflow would load the model from its temporary folder, and say nothing whatever comes of it.
            validate_serving_input=False,
        )

    def _new_version(self, name: str, model_id: str) -> str:
        """Registers a logged model; `mlflow.register_model` would print, also where nothing shall be."""
        try:
            self.client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        return str(
            self.client.create_model_version(name, f"models:/{model_id}", self.id, model_id=model_id).version
        )

    def _better(
        self, name: str, metric: str, value: float, higher_is_better: bool, data: str
    ) -> tuple[bool, str]:
        try:
            champion = self.client.get_model_version_by_alias(name, CHAMPION)
        except MlflowException:
            return True, "the first model of this name"
        other = champion.tags
        if other.get("metric") != metric or other.get("data") != data:
            return (
                False,
                f"champion version {champion.version} was measured on other data or by another metric",
            )
        gain = (value - float(other["value"])) * (1 if higher_is_better else -1)
        than = f"champion version {champion.version} ({metric} {float(other['value']):.4f})"
        if gain > 0:
            return True, f"better than {than} by {gain:.4f}"
        return False, f"not better than {than}: {metric} {value:.4f}, {-gain:.4f} behind"


class _PyfuncOfFolder:
    """The flavour (as `mlflow.models.Model.log` calls it) of a model folder, run by qe/pyfunc_model.py.

    MLflow copies every file twice, into a temporary folder and from there into the store. Large files skip
    both where the store is a local folder.
    """

    def save_model(
        self, path: str, mlflow_model: Any, folder: Path, validate_serving_input: bool, **options: Any
    ) -> None:
        del validate_serving_input  # Model.log reads it, and passes it on
        store = _local_store(mlflow_model.model_id)
        large = [] if store is None else large_files(folder)
        with without(folder, large) as rest:
            mlflow.pyfunc.save_model(
                path,
                python_model=str(Path(__file__).with_name("pyfunc_model.py")),
                artifacts={"model": str(rest)},
                pip_requirements=["qe"],
                mlflow_model=mlflow_model,
                **options,
            )
        if store is None:
            return
        # The large files lie in the store before MLflow brings the others: what looks whole is whole.
        entry = mlflow_model.flavors["python_function"]["artifacts"]["model"]
        link(folder, large, store / entry["path"])
        entry["uri"] = str(folder)
        mlflow_model.model_size_bytes += sum((folder / file).stat().st_size for file in large)
        mlflow_model.save(str(Path(path) / "MLmodel"))


def _local_store(model_id: str) -> Path | None:
    """The folder of a logged model's artifacts; None where they go over the network."""
    location = mlflow.get_logged_model(model_id).artifact_location
    repository = get_artifact_repository(location)
    return Path(repository.artifact_dir) if isinstance(repository, LocalArtifactRepository) else None


@contextmanager
def run(
    name: str,
    *,
    description: str = "",
    resume: str | None = None,
    parent: str | None = None,
    settings_file: Path | None = None,
) -> Iterator[Run]:
    """An MLflow run, ended when the block ends; `resume` goes on with the run of that id."""
    settings = connect(settings_file)
    if resume is not None and not _exists(resume):
        resume = None
    with mlflow.start_run(
        run_id=resume,
        run_name=None if resume else name,
        parent_run_id=parent,
        nested=parent is not None,
        description=description or None,
        log_system_metrics=settings.system_metrics,
    ) as active:
        yield Run(active.info.run_id, active.info.experiment_id, mlflow.MlflowClient())


def model_directory(uri: str) -> Path:
    """The model directory behind an MLflow URI (`models:/NAME@champion`, `models:/NAME/3`, `runs:/...`).

    Raises InputError where there is no such model.
    """
    connect()
    try:
        local = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri))
    except (MlflowException, OSError) as error:
        raise InputError(
            f"no model at {uri} ({error})", remedy="`qe models` lists the registered ones"
        ) from None
    artifacts = yaml.safe_load((local / "MLmodel").read_text("utf-8"))["flavors"]["python_function"][
        "artifacts"
    ]
    return local / str(artifacts["model"]["path"])


@dataclass(frozen=True)
class Version:
    """One version of a registered model; `metrics` are its run's, `created` is ISO 8601, local time."""

    name: str
    version: str
    aliases: tuple[str, ...]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    run_id: str
    created: str

    @property
    def uri(self) -> str:
        return f"models:/{self.name}/{self.version}"


def model_names() -> list[str]:
    """The registered models, by name."""
    connect()
    client, names, token = mlflow.MlflowClient(), [], None
    while True:
        page = client.search_registered_models(max_results=500, page_token=token)
        names += [entry.name for entry in page]
        token = page.token
        if not token:
            return sorted(names)


def model_versions(name: str) -> list[Version]:
    """The versions of a registered model, oldest first.

    Raises InputError for a name that is not registered.
    """
    names = model_names()
    if name not in names:
        raise InputError(f"no registered model '{name}'", remedy=f"registered: {', '.join(names) or 'none'}")
    client = mlflow.MlflowClient()
    found = client.search_model_versions(f"name = '{name}'", max_results=10_000)
    numbers = sorted((entry.version for entry in found), key=int)
    # Searching leaves the aliases out.
    return [_version(client.get_model_version(name, number)) for number in numbers]


def _version(entry: Any) -> Version:
    try:
        metrics = dict(mlflow.get_run(entry.run_id).data.metrics) if entry.run_id else {}
    except MlflowException:  # the run was deleted, the model kept
        metrics = {}
    created = datetime.fromtimestamp(entry.creation_timestamp / 1000).isoformat(timespec="seconds")
    return Version(
        entry.name,
        str(entry.version),
        tuple(entry.aliases),
        dict(entry.tags),
        metrics,
        entry.run_id or "",
        created,
    )


def make_champion(name: str, version: str) -> None:
    """Gives a version the alias `champion`, and notes which one had it before."""
    client = mlflow.MlflowClient()
    before = aliased(name, CHAMPION)
    if before is not None and before != version:
        client.set_model_version_tag(name, version, PREVIOUS, before)
    client.set_registered_model_alias(name, CHAMPION, version)
    if aliased(name, CHALLENGER) == version:
        client.delete_registered_model_alias(name, CHALLENGER)


def set_alias(name: str, alias: str, version: str) -> None:
    """Moves an alias to a version."""
    mlflow.MlflowClient().set_registered_model_alias(name, alias, version)


def tag_version(name: str, version: str, tags: Mapping[str, str]) -> None:
    """Records tags on a version; those of the same names are replaced."""
    for key, text in tags.items():
        mlflow.MlflowClient().set_model_version_tag(name, version, key, text)


def aliased(name: str, alias: str) -> str | None:
    """The version with an alias; None where none has it."""
    try:
        return str(mlflow.MlflowClient().get_model_version_by_alias(name, alias).version)
    except MlflowException:
        return None


def scoring_app(predict: Callable[[Any], pd.DataFrame], columns: Sequence[str], seconds: int) -> Any:
    """MLflow's own scoring server (a FastAPI application) around a function of the parsed request.

    columns  the text columns of a request
    seconds  a request that takes longer is answered with status 504

    The server gets the function itself, not a stored MLflow model: nothing that a registry holds is run.
    """
    from mlflow.models import Model as Metadata
    from mlflow.pyfunc import scoring_server

    inputs = Schema([ColSpec(DataType.string, column, required=False) for column in columns])
    served = _Served(Metadata(signature=ModelSignature(inputs=inputs)), predict)
    with _environment("MLFLOW_SCORING_SERVER_REQUEST_TIMEOUT", str(seconds)):  # read when the server is made
        return scoring_server.init(served)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """An environment variable for the block alone: not for other servers that this process starts."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name) if before is None else os.environ.update({name: before})


def spark_scorer(session: Any, folder: Path, config: Mapping[str, Any], output: Mapping[str, str]) -> Any:
    """MLflow's Spark UDF (a column of structs in, one out) for a model that Spark has shipped.

    folder  an empty folder, for the MLflow model: kept until the UDF has been used
    config  what qe/pyfunc_model.py reads
    output  columns of the result -> Spark types

    What runs is the present version's pyfunc_model.py, not a copy that a registry holds.
    """
    _quiet()
    path = folder / "model"
    mlflow.pyfunc.save_model(
        path,
        python_model=str(Path(__file__).with_name("pyfunc_model.py")),
        model_config=dict(config),
        pip_requirements=["qe"],
    )
    result = "struct<" + ", ".join(f"{name}: {kind}" for name, kind in output.items()) + ">"
    return mlflow.pyfunc.spark_udf(session, str(path), result_type=result, env_manager="local")


@dataclass(frozen=True)
class _Served:
    """What MLflow's scoring server asks of a model."""

    metadata: Any
    function: Callable[[Any], pd.DataFrame]

    def predict(self, data: Any, params: Any = None) -> pd.DataFrame:
        return self.function(data)


def registered_model(template: str, dataset: str, experiment: str) -> str:
    """The registered model's name from the template of mlflow.yaml; `/` and `:` of a dataset become `-`."""
    try:
        name = template.format(dataset=dataset, experiment=experiment)
        return name.replace("/", "-").replace(":", "-")  # MLflow's names cannot hold them
    except (KeyError, IndexError) as error:
        raise InputError(
            f"registered_model: unknown placeholder {error} in '{template}'",
            remedy="known: {dataset}, {experiment}",
        ) from None


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings and lists of mappings as one level with dotted names.

    >>> flatten({"a": {"b": 1}, "c": [{"d": 2}]})
    {'a.b': 1, 'c.0.d': 2}
    """
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
            flat |= flatten({str(i): item for i, item in enumerate(value)}, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def git_commit() -> str:
    """The commit of the working directory's checkout, with `+` where files differ; empty outside one."""
    try:
        commit = _git("rev-parse", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments: str) -> str:
    result = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def _exists(run_id: str) -> bool:
    try:
        mlflow.get_run(run_id)
    except MlflowException:
        return False
    return True


def _metrics(values: Mapping[str, float], step: int) -> list[Metric]:
    now = int(datetime.now().timestamp() * 1000)
    return [Metric(k, float(v), now, step) for k, v in values.items() if v == v and abs(v) != float("inf")]
