"""`qe VERB ...`: runs the verb's file in qe/cli; bad input becomes one message and exit code 2."""

import difflib
import importlib
import importlib.metadata
import pkgutil
import sys
from typing import Any

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
    if verb in ("-h", "--help"):
        print(_help())
    elif verb == "--version":
        print(f"qe {importlib.metadata.version('qe')}")
    else:
        _run(verb, arguments[1:])


def _run(verb: str, arguments: list[str]) -> None:
    try:
        _command(verb)(args=arguments, prog_name=f"qe {verb}")
    except InputError as error:
        print(f"qe {verb}: {error}" if verb in _verbs() else f"qe: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(f"qe {verb}: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


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
