"""Keeps settings and compiled code of others out of the libraries that would load them.

Numba and Matplotlib read settings in the working directory, which may be a folder from elsewhere; Numba's
index files there are pickles: reading one runs code.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_NUMBA: Final = "numba.core.config"
_CACHING: Final = "numba.core.caching"
_FOLDER: Final = "NUMBA_CACHE_DIR"


def keep_out() -> None:
    """From now on Numba and Matplotlib are loaded without the settings of the working directory."""
    if any(isinstance(finder, _IsolatedFinder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _IsolatedFinder())
    if _NUMBA in sys.modules:
        _own_cache()
        setattr(sys.modules[_NUMBA], "_config_fname", os.devnull)  # noqa: B010
        sys.modules[_NUMBA].reload_config()
    if _CACHING in sys.modules:
        _without_moved_modules(sys.modules[_CACHING])


class _IsolatedFinder:  # no MetaPathFinder: importlib.abc takes a tenth of `qe --help`
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in (_NUMBA, _CACHING, "matplotlib"):
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, _IsolatedFinder)]
        specs = (finder.find_spec(name, path, target) for finder in others if hasattr(finder, "find_spec"))
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            # On this loader alone: it stays the reader of sources and data files that others expect.
            setattr(spec.loader, "exec_module", _isolated(name, spec.loader.exec_module))  # noqa: B010
        return spec


def _isolated(name: str, execute: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    def run(module: ModuleType) -> None:
        if name == _NUMBA:
            _own_cache()
        with _elsewhere():
            execute(module)
        if name == _NUMBA:
            setattr(module, "_config_fname", os.devnull)  # noqa: B010
        if name == _CACHING:
            _without_moved_modules(module)

    return run


@contextmanager
def _elsewhere() -> Iterator[None]:
    here = None
    with suppress(OSError):  # a working directory that is gone holds no settings
        here = os.open(".", getattr(os, "O_PATH", os.O_RDONLY))
    os.chdir(sys.prefix)
    try:
        yield
    finally:
        if here is not None:
            os.fchdir(here)
            os.close(here)


def _without_moved_modules(caching: ModuleType) -> None:
    """Code of another version, whose modules have moved since, is compiled again."""
    load = caching.IndexDataCacheFile._load_index

    def load_index(file: Any) -> dict[Any, str]:
        try:
            return dict(load(file))
        except (ImportError, AttributeError):
            return {}

    caching.IndexDataCacheFile._load_index = load_index


def _own_cache() -> None:
    if not os.environ.get(_FOLDER):
        os.environ[_FOLDER] = str(compile_cache())


def compile_cache() -> Path:
    """The user's folder of compiled code, or a temporary one if others could write there, or nobody can."""
    import atexit
    import shutil
    import tempfile

    from features.storage.cache_folder import USER_CACHE, of_user_alone, tag_cache, user_folder

    cache = user_folder(*USER_CACHE)
    if cache is not None and of_user_alone(cache / "numba"):
        tag_cache(cache)
        folder = cache / "numba"
    else:
        folder = Path(tempfile.mkdtemp(prefix="qe-numba-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    installed = Path(sys.prefix) / "share" / "qe" / "numba"
    if installed.is_dir() and not any(folder.iterdir()):
        copy = Path(tempfile.mkdtemp(prefix="qe-numba-", dir=folder.parent))
        try:
            shutil.copytree(installed, copy, dirs_exist_ok=True)
            copy.rename(folder)
        except OSError:  # the other one was first, or the disk is full: what is missing is compiled
            shutil.rmtree(copy, ignore_errors=True)
    return folder


@contextmanager
def restored(*names: str) -> Iterator[None]:
    """Variables are as before when the block ends.

    >>> with restored("QE_EXAMPLE"):
    ...     os.environ["QE_EXAMPLE"] = "1"
    >>> "QE_EXAMPLE" in os.environ
    False
    """
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_HOME = Path(__file__).resolve().parents[2]  # of this project


def leave_out_working_directory() -> None:
    """Removes the working directory (from PYTHONPATH) from `sys.path`, unless it holds this project."""
    with suppress(FileNotFoundError):  # one that is gone holds no modules
        here = Path.cwd().resolve()
        if here != _HOME:
            entries = (Path(entry) for entry in sys.path)
            sys.path[:] = [str(entry) for entry in entries if entry.is_absolute() and entry.resolve() != here]
