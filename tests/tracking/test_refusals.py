"""What a tracking store refuses, and where the refusal points."""

from collections.abc import Callable
from pathlib import Path

import pytest

from qe.tracking import connection, logged_models, registry, settings
from tests.factories import refuses

HALF = "\ud83d"  # of a surrogate pair
# What is called in a project with a store, and where the refusal points.
CALLS = [
    (lambda: registry.model_versions(HALF), "surrogate"),
    (lambda: registry.entries(HALF), "surrogate"),
    (lambda: registry.aliased(HALF, registry.CHAMPION), "surrogate"),
    (lambda: registry.aliased("m", HALF), "surrogate"),
    (lambda: logged_models.model_directory(f"models:/{HALF}@champion"), "surrogate"),
    (lambda: logged_models.registered_now(f"models:/{HALF}@champion"), "surrogate"),
    (lambda: settings.registered_model("qe-{dataset}", HALF, "x"), "surrogate"),
    (lambda: settings.registered_model("qe-{pair}", "a", "b"), "placeholder 'pair'"),
]


@pytest.mark.parametrize(("call", "place"), CALLS)
def test_calls(call: Callable[[], object], place: str, store: Path) -> None:
    with connection.connected():
        refuses(place, call)


def test_settings(store: Path) -> None:
    store.write_text("tracking: here\n")
    refuses("mlflow.yaml: .*'tracking'; .*'tracking_uri'", settings.load_settings)
