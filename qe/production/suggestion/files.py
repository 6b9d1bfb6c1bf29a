"""The table of what to annotate next."""

from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from features.storage.files import atomic_file
from qe.production.suggestion.suggest import Suggestions
from qe.scoring import row_formats
from qe.scoring.pool import Pool

COLUMNS: Final = ("rank", "row", "id", "source", "target", "uncertainty")
_TYPES: Final = {"rank": pa.int64(), "row": pa.int64(), "uncertainty": pa.float64()}


def write_suggestions(path: Path, pool: Pool, suggestions: Suggestions) -> None:
    """What to annotate, the most urgent first, as TSV, CSV, JSONL or Parquet."""
    with atomic_file(path) as temporary, row_formats.table_writer(temporary, path, COLUMNS, _TYPES) as write:
        write(_rows(pool, suggestions))


def _rows(pool: Pool, suggestions: Suggestions) -> list[dict[str, Any]]:
    chosen = zip(suggestions.rows.tolist(), suggestions.uncertainty.tolist(), strict=True)
    return [
        {
            "rank": rank,
            "row": pool.rows[i],
            "id": pool.ids[i],
            "source": pool.columns["source"][i],
            "target": pool.columns["target"][i],
            "uncertainty": round(uncertainty, 6),
        }
        for rank, (i, uncertainty) in enumerate(chosen, start=1)
    ]
