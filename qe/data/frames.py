"""Tables of pandas, polars, Arrow and others: answers have the kind of the input."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from features.basics.errors import InputError, quoted

if TYPE_CHECKING:
    import pandas as pd


class AnyTable(Protocol):
    """A table that gives its rows by Arrow's C stream: pandas, polars, PyArrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


AnyFrame = TypeVar("AnyFrame", bound=AnyTable)


def as_pandas(table: AnyTable) -> "pd.DataFrame":
    """The table as a DataFrame; one of pandas as it is. Raises InputError for what is no table."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(table, pd.DataFrame):
        return table
    try:
        return cast("pd.DataFrame", pa.RecordBatchReader.from_stream(table).read_pandas())
    except (TypeError, pa.ArrowInvalid):  # no stream, or that of a single column
        raise InputError(f"expected a table of pandas, polars or Arrow, but got {quoted(table)}") from None


def cells_of(table: "pd.DataFrame", location: object) -> dict[str, list[Any]]:
    """The cells of each column by its header; absent ones (None, NaN, pd.NA, NaT) are None."""
    from qe.data.table_rows import check_header  # slow to import

    check_header(list(map(str, table.columns)), location)
    cells = table.astype(object).where(table.notna(), None)
    return {str(header): cells[header].tolist() for header in cells}


def convert_like(template: AnyFrame, frame: "pd.DataFrame", types: Any = None) -> AnyFrame:
    """A DataFrame as the kind of the template: pandas, polars, else PyArrow; NaN is null outside pandas.

    `types` (name -> Arrow type) are needed for a frame without rows.
    """
    import pandas as pd
    import pyarrow as pa

    if isinstance(template, pd.DataFrame):
        return cast(AnyFrame, frame)
    plain: dict[str, Any] = {}  # Arrow takes lists, and no other sequences
    for name in [name for name in frame.columns if frame[name].dtype == object]:
        cells = (list(c) if isinstance(c, Sequence) and not isinstance(c, str) else c for c in frame[name])
        plain[str(name)] = list(cells)
    schema = None if types is None else pa.schema(types)
    table: Any = pa.Table.from_pandas(frame.assign(**plain), schema, preserve_index=False)
    table = table.replace_schema_metadata(None)
    if type(template).__module__.partition(".")[0] == "polars":
        table = sys.modules["polars"].DataFrame(table)
    return cast(AnyFrame, table)
