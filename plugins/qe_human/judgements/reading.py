"""Read human judgements in any known format, by language pair."""

import difflib
from collections.abc import Sequence
from pathlib import Path

from features.basics.errors import InputError
from features.basics.progress import Progress, silent
from qe_human.judgements.collection import Collection, JudgedPair
from qe_human.judgements.format import JUDGEMENT_FORMATS, JudgementFormat, first_line_of


def read_judgements(paths: Sequence[Path], progress: Progress = silent) -> dict[str, JudgedPair]:
    """Language pair (`Czech-English`) -> its judgements from all files together. Judges and segments of the
    same name are the same, in every file. Raises InputError for a file of no known format,
    and for rows that cannot be read.
    """
    collection = Collection()
    for done, path in enumerate(paths):
        progress("reading", done, len(paths))
        format_of(path).read(path, collection)
    return collection.judged_pairs()


def format_of(path: Path) -> JudgementFormat:
    """The format that recognises the file's first line. Raises InputError if none does, with an example of
    each.
    """
    first_line = first_line_of(path)
    if not first_line:
        raise InputError("is empty, or begins with an empty line", location=path)
    known = [JUDGEMENT_FORMATS.get(name)() for name in JUDGEMENT_FORMATS.names]
    for entry in known:
        if entry.recognises(first_line):
            return entry
    examples = "; ".join(entry.example for entry in known)
    raise InputError(
        "begins like no known file of judgements", location=f"{path}:1", remedy=f"first lines: {examples}"
    )


def chosen_pairs(judged: dict[str, JudgedPair], names: Sequence[str]) -> dict[str, JudgedPair]:
    """The requested pairs in that order; all if none are requested. Raises InputError for a pair
    that is not there, with those that are and the nearest, and for one without comparisons.
    """
    if not judged:
        raise InputError("the files hold no judgements")
    for name in names:
        if name not in judged:
            near = difflib.get_close_matches(name, judged, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise InputError(f"no judgements of '{name}'", remedy=f"there are {', '.join(judged)}{hint}")
    chosen = {name: judged[name] for name in names or judged}
    for name, pair in chosen.items():
        if pair.counts.total == 0:
            raise InputError(
                f"no two systems of {name} are compared", remedy="choose other pairs with --pair"
            )
    return chosen
