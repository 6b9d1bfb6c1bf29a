"""Names: which column of the input is what, if its headers are not the model's names."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from features.basics.assignments import assignments
from features.basics.errors import InputError, did_you_mean, unknown_name
from features.core.extractor import TableColumns
from qe.data.headers import header_of, known_headers, named_header
from qe.data.reading import with_points
from qe.data.table_rows import NUMBER, Row, unusable_id


def name_pairs(
    texts: Iterable[str], location: object, key: str = "NAME", value: str = "HEADER"
) -> dict[str, str]:
    """`NAME=HEADER,...` as NAME -> HEADER; without a header, an empty one."""
    pairs = (pair for text in texts for pair in text.split(","))
    return assignments(pairs, f"{key}={value}", location, empty=True)


def added_headers(
    names: Iterable[str], existing: Collection[str], suffix: str, location: object
) -> dict[str, str]:
    headers = {name: name + suffix for name in names}
    for header in headers.values():
        if header in existing:
            raise InputError(
                f"has a column '{header}' already, and scoring adds one of that name",
                location=location,
                remedy="rename it, or name ours otherwise: --suffix _qe",
            )
    return headers


@dataclass(frozen=True)
class Names:
    """Headers of columns in an input, by the model's names; a name without a header is its own.

    `decimal` is the sign of numbers in the input; None: a comma if it cannot separate thousands. `numbers`
    are the model's names of columns that hold numbers.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    decimal: str | None = None
    numbers: Collection[str] = (NUMBER,)

    def header(self, name: str) -> str:
        return self.headers.get(name, name)

    def completed(
        self,
        needed: Sequence[str],
        headers: Sequence[str],
        trained: Mapping[str, str],
        location: object,
        table_columns: TableColumns | None = None,
    ) -> "Names":
        """Add headers for names that the user has not given: those of the training data, or usual ones."""
        found = dict(self.headers)
        named = table_columns or {}
        for name in (*needed, *named, "id"):
            if name in found or name in headers:
                continue
            header = trained.get(name, named_header(name, headers) if name in named else "")
            if header not in headers:
                several = name == "id" and len(known_headers(name, headers, found.values())) > 1
                header = "" if several else header_of(name, headers, location, assigned=found.values())
            if header:
                found[name] = header
        numbers = (NUMBER, *(name for name, column in named.items() if column.number))
        return replace(self, headers=found, numbers=numbers)

    def notes(self, options: "Names") -> tuple[str, ...]:
        """A phrase about headers that are not among the user's options, or none."""
        found = [f"{name} = {header}" for name, header in self.headers.items() if name not in options.headers]
        return (", ".join(found),) if found else ()

    def absent(self, table_columns: TableColumns, headers: Sequence[str]) -> tuple[str, ...]:
        """A note on the columns that features read by name and the input lacks, or none."""
        lacking = [name for name in table_columns if self.header(name) not in headers]
        return (f"no column {', '.join(lacking)}: its values are imputed",) if lacking else ()

    def check(
        self,
        needed: Sequence[str],
        declared: Sequence[str] | None,
        location: object,
        reader: str,
        table_columns: TableColumns | None = None,
    ) -> None:
        """Raises InputError for names that no model column has, and for headers that the input lacks."""
        known = tuple(dict.fromkeys((*needed, *(table_columns or ()), "id")))
        for name, header in self.headers.items():
            if name not in known:
                raise unknown_name("column", name, known, location="--columns")
            if not header:
                raise InputError(f"'{name}' is given no header", location="--columns")
        for name in () if declared is None else (*needed, *self.headers):
            header = self.header(name)
            if declared is None or header in declared:
                continue
            noun = "header" if name in self.headers else "column"
            absent = [self.header(one) for one in needed if self.header(one) not in (header, *declared)]
            needs = f"{reader} needs the {noun} '{header}'" + "".join(f", and '{one}'" for one in absent)
            has = f"the input has {', '.join(declared)}{did_you_mean(header, declared)}"
            if name in (table_columns or ()):
                has += "; --missing-columns impute scores without it"
            raise InputError(
                needs if name in needed else f"there is no column '{header}'",
                location=location,
                remedy=f"{has}; --columns {name}=HEADER names another",
            )

    def view(self, row: Row) -> Row:
        """The row by the model's names; its other columns stay."""
        if not self.headers and row[0].keys().isdisjoint(self.numbers):
            return row
        columns, reason = row
        named = {name: columns[header] for name, header in self.headers.items() if header in columns}
        view = {name: value for name, value in columns.items() if name not in self.headers} | named
        for name in self.numbers:
            number = view.get(name)
            if isinstance(number, str) and "," in number:
                view[name] = with_points([number], self.decimal)[0]
        return view, reason or unusable_id(view)
