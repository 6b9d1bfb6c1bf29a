"""The one exception for a user's mistake, and what it says of a name that nobody knows."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

# Control characters but tab and line feed, and those that turn the direction of text: what they do to a
# terminal is not what they look like.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


NO_MODEL = "`qe demo` and `qe train` make one (in OUTPUT/model), and `qe models` lists those registered"


class InputError(ValueError):
    """Bad input: the broken rule, the value seen, where, and the way out, in one message.

    The command line prints the message alone and exits with code 2. No message has the password of an
    address that it quotes.

    >>> raise InputError("expected 4 columns, found 3", location="scores.tsv:17", remedy="use tabs")
    Traceback (most recent call last):
    features.basics.errors.InputError: scores.tsv:17: expected 4 columns, found 3; use tabs
    """

    def __init__(self, problem: str, *, location: object = None, remedy: str = "") -> None:
        self.problem, self.location, self.remedy = problem, location, remedy
        message = problem if location is None else f"{location}: {problem}"
        super().__init__(visible(without_passwords(f"{message}; {remedy}" if remedy else message)))


_OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]*)")


def options_in(text: str) -> set[str]:
    """Options of the command line that a message names, those of other commands in backquotes aside."""
    return {match[1] for part in text.split("`")[::2] for match in _OPTION.finditer(part)}


def keep_known_options(error: InputError, options: Collection[str]) -> None:
    """Drops the ways out that name an option which the caller does not have."""
    ways = [way for way in error.remedy.split("; ") if options_in(way) <= set(options)]
    InputError.__init__(error, error.problem, location=error.location, remedy="; ".join(ways))


def name_parameters(error: InputError) -> None:
    """Writes options as the parameters of a Python function: `data_root`, not `--data-root`."""
    parts = str(error).split("`")
    parts[::2] = [_OPTION.sub(lambda match: match[1].replace("-", "_"), part) for part in parts[::2]]
    error.args = ("`".join(parts),)


def visible(text: str, *, json: bool = False) -> str:
    r"""Text of unknown origin as it may be shown: characters that nobody sees are spelled out.

    json  whether the text is JSON, which has one form of escapes

    >>> print(visible("\x1b[31mred"), visible('"\x9b"', json=True))
    \x1b[31mred "\u009b"
    """
    form = "\\u{:04x}".format if json else lambda code: chr(code).encode("unicode_escape").decode()
    return _UNSEEN.sub(lambda match: form(ord(match.group())), text)


def combined_error(mistakes: Sequence[str], location: object = None) -> InputError:
    """The error for all mistakes in one place: one in a line, several in a list.

    >>> raise combined_error(["seed: ...", "learner.kind: ..."], "x.yaml")
    Traceback (most recent call last):
    features.basics.errors.InputError: x.yaml: 2 mistakes:
      seed: ...
      learner.kind: ...
    """
    if len(mistakes) == 1:
        return InputError(mistakes[0], location=location)
    listed = "".join("\n  " + mistake.replace("\n", " ") for mistake in mistakes)
    return InputError(f"{len(mistakes)} mistakes:{listed}", location=location)


def quoted(value: object, max_length: int = 80) -> str:
    """A value as messages quote it: on one line, its middle left out if it is long.

    >>> quoted("x" * 100, max_length=20)
    "'xxxxxxx ... xxxxxx'"
    """
    text = repr(value)
    half = (max_length - 5) // 2
    return text if len(text) <= max_length else f"{text[: half + 1]} ... {text[-half:]}"


def unknown_name(
    noun: str, name: object, known_names: Iterable[object], location: object = None
) -> InputError:
    """The error for an unknown name: it lists the known names and suggests the nearest.

    >>> raise unknown_name("metric", "mea", ["mae", "rmse"])
    Traceback (most recent call last):
    features.basics.errors.InputError: unknown metric 'mea'; known: mae, rmse; did you mean 'mae'?
    """
    names = [str(other) for other in known_names]
    remedy = f"known: {', '.join(names) or 'none'}{did_you_mean(str(name), names)}"
    return InputError(f"unknown {noun} '{name}'", location=location, remedy=remedy)


def known_name(noun: str, name: str, known_names: Collection[str], location: object = None) -> str:
    """The name; raises InputError as by `unknown_name` if it is not known."""
    if name not in known_names:
        raise unknown_name(noun, name, known_names, location)
    return name


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """The end of a remedy, `; did you mean 'NEAREST'?`; empty if no known name is near.

    >>> did_you_mean("lexikon", ["lexicon", "aligner"]), did_you_mean("x", ["lexicon"])
    ("; did you mean 'lexicon'?", '')
    """
    import difflib  # only for messages

    near = difflib.get_close_matches(name, list(known_names), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


# A password of a database may hold any character but a line end (SQLAlchemy reads up to the last `@`), so it
# ends at the last `@` before the next address. Any other password ends before a slash: a port with a path and
# an `@` behind it is no password.
_DATABASE: Final = r"\b(?:postgresql|postgres|mysql|mariadb|mssql|oracle|redis)(?:\+\w+)?"
_NO_ADDRESS: Final = r"(?:(?!://)[^\n])*"
_PORT: Final = r"\d+(?![^\s/?#'\",;:)\]])"
_SECRET: Final = r"\w*(?:password|passwd|pwd|secret|token)"
# libpq's form: the value in quotes, up to the next `name=`, or up to a blank.
_VALUE: Final = r"(?:'(?:[^'\\\n]|\\.)*'(?!\w)|[^\n=]*?(?=\s+\w+\s*=)|\S+?(?=['\",;:)\]]*(?:\s|$)))"
_FORMS: Final = (
    (re.compile(rf"({_DATABASE}://[^:/@\s]*):{_NO_ADDRESS}@"), r"\1:***@"),
    (re.compile(rf"(://[^:/@\s]*):(?!\s|{_PORT})(?:(?!://)[^/\n])*@"), r"\1:***@"),
    (re.compile(rf"([?&;]{_SECRET}=)[^&;\s]*?(?=['\",;:)\]]*(?:[&;\s]|$))", re.IGNORECASE), r"\1***"),
    (re.compile(rf"(\b\w*(?:password|passwd|pwd)\s*=\s*){_VALUE}", re.IGNORECASE | re.MULTILINE), r"\1***"),
)


def without_passwords(text: str) -> str:
    """The text with `***` for every password of an address (URL) or of libpq's `host=... password=...`."""
    for form, replacement in _FORMS:
        text = form.sub(replacement, text)
    return text
