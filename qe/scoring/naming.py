"""Names: which column of the input is what, where its names are not the model's."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from features.basics.assignments import assignments
from features.basics.errors import InputError, unknown_name
from qe.data.headers import header_of, known_headers
from qe.data.reading import with_points
from qe.data.table_rows import Row, unusable_id

_NUMBER = "model_score"  # the only column of segments that is a number


def name_pairs(
    given: Iterable[str], location: object, what: str = "NAME", value: str = "HEADER"
) -> dict[str, str]:
    """`NAME=HEADER,...` as NAME -> HEADER.

    >>> name_pairs(["source=en,target=de", "id="], "--columns")
    {'source': 'en', 'target': 'de', 'id': ''}

    Raises InputError for what is not of that form, and for names given twice.
    """
    pairs = (pair for text in given for pair in text.split(","))
    return assignments(pairs, f"{what}={value}", location, empty=True)


def added_headers(
    names: Iterable[str], there: Collection[str], suffix: str, location: object
) -> dict[str, str]:
    """The headers of columns that are added to others.

    Raises InputError for a header that is there already.
    """
    headers = {name: name + suffix for name in names}
    for header in headers.values():
        if header in there:
            raise InputError(
                f"has a column '{header}' already, and scoring adds one of that name",
                location=location,
                remedy="rename it, or name ours otherwise: --suffix _qe",
            )
    return headers


@dataclass(frozen=True)
class Names:
    """How columns are named in an input, and its decimal sign.

    headers: name of a column -> the header that it has in the input; a name without one is its own.

    decimal  the decimal sign of numbers in the input; None: a comma, where it can be nothing else
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    decimal: str | None = None

    def header(self, name: str) -> str:
        return self.headers.get(name, name)

    def completed(
        self, needed: Sequence[str], headers: Sequence[str], remembered: Mapping[str, str], location: object
    ) -> "Names":
        """Add headers for names that nobody has given.

        They are what a model remembers, or what is in use.

        remembered  name -> the header that the training data had

        Raises InputError where several headers in use could be the source or the target.
        """
        found = dict(self.headers)
        for name in (*needed, "id"):
            if name in found or name in headers:
                continue
            header = remembered.get(name, "")
            if header not in headers:
                several = name == "id" and len(known_headers(name, headers, found.values())) > 1
                header = "" if several else header_of(name, headers, location, assigned=found.values())
            if header:
                found[name] = header
        return replace(self, headers=found)

    def told(self, given: "Names") -> tuple[str, ...]:
        """What was completed of names that were given, a phrase or none."""
        found = [f"{name} = {header}" for name, header in self.headers.items() if name not in given.headers]
        return (", ".join(found),) if found else ()

    def check(
        self, needed: Sequence[str], declared: Sequence[str] | None, location: object, who: str
    ) -> None:
        """Check that named columns exist.

        Raises InputError for names that no model column has, and for headers that the input lacks.

        declared  the input's header; None for a table where every row says its own
        who       needs the columns
        """
        for name, header in self.headers.items():
            if name not in (*needed, "id"):
                raise unknown_name("column", name, (*needed, "id"), location="--columns")
            if not header:
                raise InputError(f"'{name}' is given no header", location="--columns")
        if declared is None:
            return
        for name in (*needed, *self.headers):
            if self.header(name) not in declared:
                what = f"column '{name}'" if name not in self.headers else f"header '{self.headers[name]}'"
                raise InputError(
                    f"{who} needs the {what}"
                    if name in needed
                    else f"there is no column '{self.headers[name]}'",
                    location=location,
                    remedy=f"the input has {', '.join(declared)}; --columns {name}=HEADER names another",
                )

    def view(self, row: Row) -> Row:
        """The row by the model's names; its other columns stay."""
        if not self.headers and _NUMBER not in row[0]:
            return row
        columns, reason = row
        named = {name: columns[header] for name, header in self.headers.items() if header in columns}
        others = {name: value for name, value in columns.items() if name not in self.headers}
        seen = self._pointed(others | named)
        return seen, reason or unusable_id(seen)

    def _pointed(self, columns: dict[str, Any]) -> dict[str, Any]:
        text = columns.get(_NUMBER)
        if isinstance(text, str) and "," in text:
            columns[_NUMBER] = with_points([text], self.decimal)[0]
        return columns
