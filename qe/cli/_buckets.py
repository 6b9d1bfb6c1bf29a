"""The option --bucket: KIND or KIND=FILE."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from features.basics.array_types import FloatArray
    from qe.statistics.buckets import Buckets


@dataclass(frozen=True)
class BucketOptions:
    """What --bucket, --bands and --corpus ask for.

    text         the text that `length` and `rare` look at where they name none: its name, its lines
    predictions  what `quality` takes the mean of where it names no file
    """

    kinds: Sequence[str]
    bands: int | None
    corpus: Path | None
    text: tuple[str, Sequence[str]] | None
    predictions: "Sequence[FloatArray]" = ()

    def files(self) -> list[Path]:
        """All files that are read."""
        named = [Path(path) for _, files in self._asked() for path in files.split(",") if path]
        return named if self.corpus is None else [*named, self.corpus]

    def read(self) -> "list[Buckets]":
        """Raises InputError for kinds that lack a file, and options that go with no kind asked for."""
        from features.basics.errors import InputError
        from qe.data.buckets import RARE

        kinds = [kind for kind, _ in self._asked()]
        if not kinds and self.bands is not None:
            raise InputError("--bands is for buckets", remedy="add --bucket")
        if self.corpus is not None and RARE not in kinds:
            raise InputError("--corpus tells which words are rare", remedy="add --bucket rare")
        return [self._one(kind, files) for kind, files in self._asked()]

    def _asked(self) -> list[tuple[str, str]]:
        return [(kind, files) for kind, _, files in (text.partition("=") for text in self.kinds)]

    def _one(self, kind: str, rest: str) -> "Buckets":
        from features.basics.errors import InputError
        from qe.data import buckets
        from qe.statistics.buckets import BANDS

        count = BANDS if self.bands is None else self.bands
        if kind in (buckets.LENGTH, buckets.RARE):
            what, lines = self._text(kind, rest)
            if kind == buckets.LENGTH:
                return buckets.by_length(lines, what, count)
            return buckets.by_rare_words(lines, what, self.corpus, count)
        if kind == buckets.QUALITY and not rest and self.predictions:
            return buckets.by_quality(self.predictions, "predictions", count)
        if not kind or not rest:
            given = kind or f"={rest}"
            raise InputError(f"--bucket {given} names no file", remedy=f"give --bucket {kind or 'NAME'}=FILE")
        if kind == buckets.QUALITY:
            return buckets.read_quality([Path(path) for path in rest.split(",")], count)
        return buckets.read_column(kind, Path(rest), count)

    def _text(self, kind: str, path: str) -> tuple[str, Sequence[str]]:
        from features.basics.errors import InputError
        from features.storage.files import read_lines

        if path:
            return Path(path).name, list(read_lines(Path(path)))
        if self.text is None:
            raise InputError(f"--bucket {kind} has no text to look at", remedy=f"give --bucket {kind}=FILE")
        return self.text
