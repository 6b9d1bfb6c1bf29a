"""The settings of mlflow.yaml: where runs go, and what a model is registered as."""

import os
import subprocess
from pathlib import Path
from string import Formatter

from features.basics.errors import InputError
from features.storage import strict_yaml
from features.storage.cache_folder import USER_DATA, user_folder
from features.storage.files import resolved
from qe.config.schema import Section, validated
from qe.tracking.address import absolute, check_text, database_file


class TrackingSettings(Section):
    """The keys of mlflow.yaml."""

    tracking_uri: str = "sqlite:///mlflow.db"
    artifact_root: str = "mlartifacts"
    experiment: str = "qe"
    registered_model: str = "qe-{dataset}"


def load_settings() -> tuple[TrackingSettings, Path]:
    """The settings, and the folder where their relative paths start: of mlflow.yaml, or the user's data."""
    here = resolved(Path.cwd())
    files = (folder / "mlflow.yaml" for folder in (here, *here.parents))
    path = next((file for file in files if file.is_file()), None)
    if path is None:
        return TrackingSettings(), user_folder(*USER_DATA) or Path.cwd()
    content = strict_yaml.read(path, "file of settings")
    settings = validated(TrackingSettings, {} if content is None else content, path)
    _check_template(settings.registered_model, path)
    return settings, path.parent


def tracking_uri() -> str:
    """The tracking store: MLFLOW_TRACKING_URI, else that of mlflow.yaml, with an absolute SQLite path."""
    if given := os.environ.get("MLFLOW_TRACKING_URI"):
        return given
    settings, folder = load_settings()
    return absolute(settings.tracking_uri, folder)


def artifact_root() -> str:
    """URI of the artifacts of a database: a path starts at mlflow.yaml, or next to another SQLite file."""
    settings, folder = load_settings()
    given = os.environ.get("MLFLOW_TRACKING_URI")
    if given:
        file = database_file(given)
        folder = Path.cwd() if file is None else file.parent
    root = settings.artifact_root
    return root if "://" in root else (folder / root).absolute().as_uri()


def registered_model(template: str, dataset: str, experiment: str) -> str:
    """The registered model's name from the template of mlflow.yaml; `/` and `:` become `-`."""
    _check_template(template)
    name = check_text(template.format(dataset=dataset, experiment=experiment))
    return name.replace("/", "-").replace(":", "-")  # MLflow's names cannot hold them


def _check_template(template: str, location: Path | None = None) -> None:
    try:
        # `str.format` would follow attributes, and pad to any width, as the template asks.
        wrong = [
            field
            for _, field, width, converted in Formatter().parse(template)
            if field not in (None, "dataset", "experiment") or width or converted
        ]
    except ValueError as error:
        wrong = [str(error)]
    if wrong or not template.strip():
        raise InputError(
            f"registered_model: unknown placeholder '{wrong[0]}' in '{template}'"
            if wrong
            else "registered_model: the name is empty",
            location=location,
            remedy="known: {dataset}, {experiment}",
        )


def working_directory_commit() -> str:
    """The commit that is checked out in the working directory; empty outside a checkout."""
    try:
        command = ["git", "rev-parse", "--verify", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
