"""`qe VERB ...`: runs the verb's file in qe/cli; bad input becomes one message and exit code 2."""

import difflib
import importlib
import importlib.metadata
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any, NoReturn

import typer

import qe.cli
from features.core.errors import InputError

# What `qe --help` shows; a verb's module is imported only when that verb is used.
VERBS = {
    "demo": "the whole main job on artificial data; needs no files and no network",
    "data": "check a dataset, fetch a public one, translate a second time",
    "resources": "build n-gram counts, language models, lexicons, ... from a parallel corpus",
    "features": "list and describe features, extract a feature table",
    "train": "run experiments: search, selection, fit, evaluation, tracking",
    "evaluate": "predictions against gold labels, with intervals and significance",
    "compare": "MT systems over optimizer replications",
    "score": "score new translations with a trained model",
    "select": "choose among the translations of several systems",
    "labels": "HTER and class error rates from post-edits",
    "align": "word alignments for parallel text",
    "ablate": "what each feature family is worth; learning curves",
    "models": "list registered models with metrics and data",
    "promote": "challenger against champion: promote only if better",
    "serve": "answer scoring requests over HTTP",
    "triage": "publish, post-edit or retranslate, from a cost table",
    "ui": "open the MLflow UI on the project's store",
}


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script; exits 0, 1 (it ran and the answer is no) or 2 (bad input)."""
    arguments = sys.argv[1:] if arguments is None else arguments
    verb = arguments[0] if arguments else "--help"
    name = f"qe {verb}" if verb in _verbs() else "qe"
    try:
        with _flushed_stdout():
            _run(verb, arguments[1:])
    except InputError as error:
        _refuse(f"{name}: {error}", 2)
    except KeyboardInterrupt:
        _refuse(f"{name}: interrupted", 130)
    except BrokenPipeError:  # of `qe ... | head`: its reader has what it wants
        sys.exit(141)
    except OSError as error:
        reason = error.strerror or str(error)
        what = f"cannot read or write ({reason})" if error.filename is None else f"{error.filename}: {reason}"
        _refuse(f"{name}: {what}", 2)


def _run(verb: str, arguments: list[str]) -> None:
    if verb in ("-h", "--help"):
        print(_help())
    elif verb == "--version":
        print(f"qe {importlib.metadata.version('qe')}")
    else:
        _command(verb)(args=arguments, prog_name=f"qe {verb}")


def _refuse(message: str, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(code)


@contextmanager
def _flushed_stdout() -> Iterator[None]:
    """Writes out what is left to write while errors can still be told; Python itself would do it too late.

    Raises InputError where stdout cannot be written (a full disk), BrokenPipeError where nobody reads it.
    """
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        except OSError as error:
            sys.stdout = StringIO()  # what is left would be tried once more
            if isinstance(error, BrokenPipeError):
                raise
            raise InputError(f"cannot be written ({error.strerror})", where="stdout") from None


def _verbs() -> list[str]:
    there = {module.name for module in pkgutil.iter_modules(qe.cli.__path__)}
    return [verb for verb in VERBS if verb in there]


def _command(verb: str) -> Any:
    """The Typer application of a verb: its module's `app`, or the function named like the module."""
    if verb not in _verbs():
        near = difflib.get_close_matches(verb, _verbs(), n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise InputError(f"unknown verb '{verb}'", remedy=f"known: {', '.join(_verbs())}{hint}")
    module: Any = importlib.import_module(f"qe.cli.{verb}")
    if hasattr(module, "app"):
        return module.app
    application = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    application.command(name=verb)(getattr(module, verb))
    return application


def _help() -> str:
    width = max(map(len, _verbs()))
    rows = "\n".join(f"  {verb:<{width}}  {VERBS[verb]}" for verb in _verbs())
    return (
        "usage: qe VERB [OPTIONS]\n\nQuality estimation for machine translation.\n\n"
        f"{rows}\n\n`qe VERB --help` explains a verb with an example; `qe --version` names the version."
    )


if __name__ == "__main__":
    main()
