"""`qe VERB ...`: run the verb's file in qe/cli; bad input becomes one message and exit code 2."""

import shlex
import sys
import warnings
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from features.basics.errors import InputError, visible
from qe.cli._help import line_width, listed
from qe.cli._log import event, is_json
from qe.cli._process import Stopped, process_environment, standard_streams, stopped_by_signals, store_named
from qe.cli._verbs import application, commands, groups, is_verb, module_of, purpose

_format_warning = warnings.formatwarning  # Python's own


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script.

    Exits with 0, 1 (it ran and the answer is no), 2 (bad input), 128 + number (a signal ended it), or 141
    (nobody reads its output any more).
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if sys.flags.optimize == 2:
        _refuse(False, "qe: PYTHONOPTIMIZE=2 (-OO) is not supported, because it removes the help texts", 2)
    verb = arguments[0] if arguments else "--help"
    name = f"qe {verb}" if is_verb(verb) else "qe"
    refuse = partial(_refuse, is_json(arguments))
    warnings.formatwarning = partial(_notice, name)
    try:
        with stopped_by_signals(), standard_streams(), process_environment():
            for argument in arguments:
                if any("\ud800" <= character <= "\udfff" for character in argument):
                    problem = f"the argument {argument!a} is no text in the encoding of this locale"
                    remedy = "use names in UTF-8, and a locale such as LC_ALL=C.UTF-8"
                    raise InputError(problem, remedy=remedy)
            with store_named(name, arguments):
                _run(verb, arguments[1:])
    except InputError as error:
        refuse(f"{name}: {error}", 2)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("features", "qe"):
            raise
        from features.basics.plugins import missing

        refuse(f"{name}: {missing(error.name)}", 2)
    except Stopped as stopped:
        refuse(f"{name}: {stopped}{_continuation(verb, arguments)}", stopped.code)
    except MemoryError:
        refuse(f"{name}: not enough memory; use a smaller input, or fewer --threads", 2)
    except RuntimeError as error:
        if not str(error).startswith("Symlink loop from "):  # of Path.resolve
            raise
        refuse(f"{name}: {str(error).removeprefix('Symlink loop from ')} is a loop of symbolic links", 2)
    except BrokenPipeError:  # of `qe ... | head`: its reader has what it wants
        sys.exit(141)
    except OSError as error:
        reason = error.strerror or str(error)
        what = f"cannot read or write ({reason})" if error.filename is None else f"{error.filename}: {reason}"
        refuse(f"{name}: {what}", 2)


def _continuation(verb: str, arguments: list[str]) -> str:
    if "-" in arguments or not is_verb(verb) or module_of(verb) not in sys.modules:
        return ""
    options = {name for one in commands(verb).values() for option in one.options for name in option.names}
    if "--resume" not in options:
        return ""
    words = [word for word in arguments if word not in ("--resume", "--overwrite")]
    return f"; to continue: {shlex.join(['qe', *words, '--resume'])}"


def _notice(name: str, message: Warning | str, category: type[Warning], *rest: Any) -> str:
    return f"{name}: {message}\n" if category is FutureWarning else _format_warning(message, category, *rest)


def _run(verb: str, arguments: list[str]) -> None:
    if verb in ("-h", "--help"):
        print(_help())
    elif verb == "--version":
        from features.basics.plugins import version

        print(f"qe {version()}")
    else:
        sys.exit(application(verb).run(verb, purpose(verb), arguments))


def _refuse(as_json: bool, message: str, code: int) -> NoReturn:
    with suppress(OSError):  # stderr may be gone, too
        event("error", message=message, exit=code) if as_json else print(visible(message), file=sys.stderr)
    sys.exit(code)


def _help() -> str:
    listed_groups = {title: [(verb, purpose(verb)) for verb in verbs] for title, verbs in groups().items()}
    return "\n".join([
        "usage: qe VERB [OPTIONS]",
        "",
        "Quality estimation for machine translation.",
        *listed(listed_groups, line_width()),
        "",
        "`qe demo` shows the main job on data that it makes.",
        "`qe VERB --help` explains a verb, with examples; `qe --version` is the version.",
    ])  # fmt: skip
