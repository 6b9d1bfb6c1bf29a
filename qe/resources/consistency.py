"""Consistency of translated documents, from files and a bundle: features, and the paper's figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.numerals import finite_or_none
from features.basics.progress import Progress, silent
from features.comparisons.consistency import COLUMNS, Consistency
from features.core.bundle import Bundle
from features.resources.aligner import Aligner
from features.resources.phrase_table import PhraseTable
from features.storage.files import atomic_file, read_lines
from features.text.links import Links
from qe.data.reading import Reading, equal_lengths
from qe.display.numbers import count, exact, number
from qe.display.table import Column, Table


@dataclass(frozen=True, eq=False)
class DocumentConsistency:
    """values (n, 5) as COLUMNS; figures as `Consistency.summary`."""

    values: FloatArray
    figures: Mapping[str, float]

    @property
    def segments(self) -> int:
        return len(self.values)

    def summary(self) -> dict[str, float | None]:
        return {name: finite_or_none(value) for name, value in self.figures.items()}

    def table(self) -> Table:
        """A row of figures, without the paper's comparisons with references (its Table 2)."""
        whole = ("repeated_phrases", "documents")
        cells = [count(int(v)) if name in whole else number(v, 2) for name, v in self.figures.items()]
        return Table("Repeated phrases", [Column(name.replace("_", " ")) for name in self.figures], [cells])

    def write(self, path: Path) -> None:
        """TSV with a header, NaN for what is undefined: as the family `precomputed` reads it."""
        rows = ("\t".join(exact(v) or "NaN" for v in row) for row in self.values.tolist())
        with atomic_file(path) as temporary:
            temporary.write_text("".join(f"{row}\n" for row in ("\t".join(COLUMNS), *rows)), "utf-8")


def consistency_of(
    source: Path,
    target: Path,
    documents: Path,
    resources: Path,
    alignment: Path | None = None,
    progress: Progress = silent,
) -> DocumentConsistency:
    reading, bundle = Reading(Path()), Bundle(resources)
    columns = {name: reading.lines(path) for name, path in (("source", source), ("target", target))}
    equal_lengths(columns)
    names = list(read_lines(documents))
    if len(names) != len(columns["source"].texts):
        raise InputError(
            f"{len(names)} documents, but {len(columns['source'].texts)} segments in {source}",
            location=documents,
        )
    left, right = (
        tokenizer.tokens(columns[side].texts)
        for side, tokenizer in zip(("source", "target"), bundle.tokenizers, strict=True)
    )
    table = cast(PhraseTable, bundle.part("phrase_table"))
    if alignment is not None:
        links = Links.read(alignment)
    else:
        links = cast(Aligner, bundle.part("aligner")).align(left, right, progress=progress)
    found = Consistency.from_segments(left, right, names, links, table)
    return DocumentConsistency(np.asarray(found.features(), np.float64), found.summary())
