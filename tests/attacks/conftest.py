"""What the attacks share: one small model per session, which every case copies and spoils."""

from pathlib import Path

import pytest

from tests.attacks.models import Workshop


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="session")
def model(workshop: Workshop) -> Path:
    """The folder of a small trained model."""
    return workshop.model("svr")
