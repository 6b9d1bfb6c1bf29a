"""Names: which column of the input is what, where its names are not the model's."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from features.basics.assignments import assignments
from features.basics.errors import InputError, unknown_name
from qe.scoring.rows import Row, unusable_id


def name_pairs(
    given: Iterable[str], where: object, what: str = "NAME", value: str = "HEADER"
) -> dict[str, str]:
    """`NAME=HEADER,...` as NAME -> HEADER.

    >>> name_pairs(["source=en,target=de", "id="], "--columns")
    {'source': 'en', 'target': 'de', 'id': ''}

    Raises InputError for what is not of that form, and for names given twice.
    """
    pairs = (pair for text in given for pair in text.split(","))
    return assignments(pairs, f"{what}={value}", where, empty=True)


def added_headers(names: Iterable[str], there: Collection[str], suffix: str, where: object) -> dict[str, str]:
    """The headers of columns that are added to others. Raises InputError for one that is there already."""
    headers = {name: name + suffix for name in names}
    for header in headers.values():
        if header in there:
            raise InputError(
                f"has a column '{header}' already, and scoring adds one of that name",
                where=where,
                remedy="rename it, or name ours otherwise: --suffix _qe",
            )
    return headers


@dataclass(frozen=True)
class Names:
    """headers: name of a column -> the header that it has in the input; a name without one is its own."""

    headers: Mapping[str, str] = field(default_factory=dict)

    def header(self, name: str) -> str:
        return self.headers.get(name, name)

    def check(self, needed: Sequence[str], declared: Sequence[str] | None, where: object, who: str) -> None:
        """Raises InputError for names that no model column has, and for headers that the input lacks.

        declared  the input's header; None for a table where every row says its own
        who       needs the columns
        """
        for name, header in self.headers.items():
            if name not in (*needed, "id"):
                raise unknown_name("column", name, (*needed, "id"), where="--columns")
            if not header:
                raise InputError(f"'{name}' is given no header", where="--columns")
        if declared is None:
            return
        for name in (*needed, *self.headers):
            if self.header(name) not in declared:
                what = f"column '{name}'" if name not in self.headers else f"header '{self.headers[name]}'"
                raise InputError(
                    f"{who} needs the {what}"
                    if name in needed
                    else f"there is no column '{self.headers[name]}'",
                    where=where,
                    remedy=f"the input has {', '.join(declared)}; --columns {name}=HEADER names another",
                )

    def view(self, row: Row) -> Row:
        """The row by the model's names; its other columns stay."""
        if not self.headers:
            return row
        columns, reason = row
        named = {name: columns[header] for name, header in self.headers.items() if header in columns}
        others = {name: value for name, value in columns.items() if name not in self.headers}
        seen = others | named
        return seen, reason or unusable_id(seen)
