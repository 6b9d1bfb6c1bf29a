"""`qe models`: list registered models with metrics and data; delete, sign."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qe.cli.shared.application import Application
from qe.cli.shared.printing import emit

if TYPE_CHECKING:
    from qe.tracking.registry import Version

app = Application(default="list")


@app.callback()
def models() -> None:
    """List registered models, delete versions; sign models, and verify signatures.

    Example:

        qe models qe-demo
    """


@app.command(name="list")
def list_(name: str | None = None, json: bool = False) -> None:
    """List registered models: versions with aliases, metrics, data and fingerprints.

    Example:

        qe models qe-demo

    arguments:
      name  A registered model. (default: all)
    """
    from dataclasses import asdict

    from qe.tracking import registry
    from qe.tracking.registry import versions_table

    names = registry.model_names() if name is None else [name]
    versions = [version for one in names for version in registry.model_versions(one)]
    content = {"models": [{**asdict(version), "uri": version.uri} for version in versions]}
    empty = "no models are registered yet; `qe train` registers what it trains"
    emit("models-list", content, json, versions_table(versions) if versions else empty)


@app.command()
def delete(name: str, versions: list[str], dry_run: bool = False, json: bool = False) -> None:
    """Delete versions of a registered model; versions with an alias are refused.

    The files are removed when MLflow collects them (`mlflow gc`). Output folders of runs stay.

    Example:

        qe models delete qe-demo 2 3

    arguments:
      name NAME  A registered model.
      versions VERSION ...  Numbers of versions.

    options:
      --dry-run  Only show what would be deleted.
    """
    from qe.tracking.registry import select_versions

    _delete(select_versions(name, versions), dry_run, json)


@app.command(name="keep-last")
def keep_last(
    name: str, number: Annotated[int, typer.Argument(min=0)], dry_run: bool = False, json: bool = False
) -> None:
    """Delete all versions except the last N.

    Versions with an alias, and the one that a rollback returns to, also stay.

    Example:

        qe models keep-last qe-demo 5

    arguments:
      name NAME  A registered model.
      number N  How many of the newest versions stay.

    options:
      --dry-run  Only show what would be deleted.
    """
    from qe.tracking.registry import to_delete

    _delete(to_delete(name, number), dry_run, json)


def _delete(versions: "Sequence[Version]", dry_run: bool, json: bool) -> None:
    from qe.tracking.registry import delete as delete_versions

    if not dry_run:
        delete_versions(versions)
    action = "would be deleted" if dry_run else "deleted"
    shown = [f"{version.uri}: {action}" for version in versions] or ["no version to delete"]
    emit("models-delete", {"deleted": not dry_run, "versions": [v.uri for v in versions]}, json, *shown)


@app.command()
def sign(model: str, key: Path, json: bool = False) -> None:
    """Sign a model: all of its files and their checksums.

    With --require-signature, `qe score` and `qe serve` load signed models only. OpenSSL makes the keys:

        openssl genpkey -algorithm ed25519 -out key.pem

        openssl pkey -in key.pem -pubout -out key.pub

    Example:

        qe models sign output/demo/model --key key.pem

    arguments:
      model  Folder of a model or its run, or models:/NAME@champion.

    options:
      --key FILE  Private key (Ed25519, PEM).
    """
    from qe.api.models import sign_model

    folder, fingerprint = sign_model(model, key)
    content = {"model": folder, "key": fingerprint}
    emit("models-sign", content, json, f"{folder}: signed with the key {fingerprint}")


@app.command()
def verify(model: str, key: Path, json: bool = False) -> None:
    """Verify that a model is unchanged since it was signed with a key; if not, exit code 2 and the reason.

    Example:

        qe models verify output/demo/model --key key.pub

    arguments:
      model  Folder of a model or its run, or models:/NAME@champion.

    options:
      --key FILE  Public key (Ed25519, PEM).
    """
    from qe.api.models import model_folder
    from qe.models.signatures import verify as verified

    folder, _ = model_folder(model)
    fingerprint = verified(folder, key)
    content = {"model": folder, "key": fingerprint}
    emit("models-sign", content, json, f"{folder}: is what was signed with the key {fingerprint}")
