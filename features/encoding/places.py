"""Places of encoders: a name is a folder among the user's encoders, a path is that folder."""

import os
from pathlib import Path
from typing import Final

from features.basics.errors import InputError, did_you_mean
from features.storage.cache_folder import default_cache

HOME: Final = "QE_ENCODERS"  # the environment's variable that names the folder of encoders


def encoders_home() -> Path:
    """The folder that QE_ENCODERS names, else `encoders` in the user's cache."""
    given = os.environ.get(HOME)
    return Path(given).expanduser() if given else default_cache() / "encoders"


def encoder_names() -> list[str]:
    home = encoders_home()
    if not home.is_dir():
        return []
    return sorted(path.name for path in home.iterdir() if path.is_dir() and not path.name.startswith("."))


def encoder_path(model: str | Path) -> Path:
    """The folder of an encoder. `model` itself if it has a `/`, else that name among the user's encoders.
    Raises InputError for a name that is not there.
    """
    if is_path(model):
        return Path(model).expanduser()
    names = encoder_names()
    if str(model) not in names:
        raise InputError(
            f"no encoder is named '{model}'",
            location=encoders_home(),
            remedy=f"known: {', '.join(names) or 'none'}{did_you_mean(str(model), names)}; "
            f"`qe encoders make` or `fetch` brings one, a path has a / (./{model})",
        )
    return encoders_home() / model


def is_path(model: str | Path) -> bool:
    """Whether a model is given as a path.

    >>> is_path("labse"), is_path("./labse"), is_path(Path("labse"))
    (False, True, True)
    """
    return isinstance(model, Path) or "/" in model
