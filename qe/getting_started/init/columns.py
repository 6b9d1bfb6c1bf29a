"""Which column of a table is what, without guessing.

It goes by the headers in use, or as the user says.
"""

from collections.abc import Iterable, Mapping, Sequence

from features.basics.errors import InputError, unknown_name
from qe.data.headers import HEADERS, header_of
from qe.scoring.naming import name_pairs

_OPTION = "--columns"


def parse_columns(options: Iterable[str]) -> dict[str, str]:
    """`ROLE=HEADER,...` as ROLE -> HEADER; an empty header leaves the role out.

    >>> parse_columns(["source=en,target=de", "id="])
    {'source': 'en', 'target': 'de', 'id': ''}

    Raises InputError for what is not of that form, and for roles that are unknown or given twice.
    """
    roles = name_pairs(options, _OPTION, "ROLE")
    for role in roles:
        if role not in HEADERS:
            raise unknown_name("role", role, HEADERS, location=_OPTION)
    return roles


def recognised(headers: Sequence[str], assigned: Mapping[str, str], location: object) -> dict[str, str]:
    """Role -> header, of the roles that the table has.

    >>> recognised(["SRC", "mt", "z_mean", "model"], {}, "a.tsv")
    {'source': 'SRC', 'target': 'mt', 'scores': 'z_mean'}

    Raises InputError if source, target or label is not there, if several headers could be the same role, and
    for a given header that the table lacks.
    """
    roles = {role: _header(role, headers, assigned, location) for role in HEADERS}
    chosen = {role: header for role, header in roles.items() if header}
    has = f"the table has {', '.join(headers)}; the first line must be the header"
    for role in ("source", "target"):
        if role not in chosen:
            raise InputError(
                f"no column is known as the {role}",
                location=location,
                remedy=f"name it: {_OPTION} {role}=HEADER; {has}",
            )
    if not {"scores", "post_edit"} & chosen.keys():
        raise InputError(
            "no column is known as the score, and none as the post-edit",
            location=location,
            remedy=f"name it: {_OPTION} scores=HEADER; {has}; without labels: `qe unsupervised`",
        )
    twice = {header for header in chosen.values() if list(chosen.values()).count(header) > 1}
    if twice:
        raise InputError(f"the column '{min(twice)}' stands for two roles", location=_OPTION)
    return chosen


def _header(role: str, headers: Sequence[str], assigned: Mapping[str, str], location: object) -> str:
    if role in assigned:
        if assigned[role] and assigned[role] not in headers:
            raise unknown_name("column", assigned[role], headers, location=location)
        return assigned[role]
    return header_of(role, headers, location, assigned=assigned.values(), option=_OPTION)
