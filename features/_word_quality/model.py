"""TokenModel: P(BAD) of tokens (or gaps) from their columns and target encodings."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features._word_quality.boosting import fit_trees, load_trees, tree_probability
from features._word_quality.columns import Floats, Longs
from features._word_quality.encodings import Encoding, encoded, fit_encodings, left_out
from features._word_quality.keys import Keys


@dataclass(frozen=True, eq=False)
class TokenModel:
    """Trees over columns and encodings; `trees` is LightGBM's text, so that a copy scores alike."""

    encodings: Mapping[str, Encoding]
    trees: str

    @classmethod
    def fit(
        cls,
        columns: NDArray[np.float32],
        keys: Mapping[str, Keys],
        bad: NDArray[np.bool_],
        segment: Longs,
        *,
        rounds: int,
        seed: int,
    ) -> "TokenModel":
        """`segment` is the segment of each token, ascending."""
        features = np.hstack([columns, left_out(keys, bad, segment).astype(np.float32)])
        return cls(fit_encodings(keys, bad), fit_trees(features, bad, rounds, seed))

    def probability(self, columns: NDArray[np.float32], keys: Mapping[str, Keys]) -> Floats:
        """(n,) P(BAD)."""
        features = np.hstack([columns, encoded(self.encodings, keys).astype(np.float32)])
        return tree_probability(self._booster, features)

    @cached_property
    def _booster(self) -> Any:
        return load_trees(self.trees)

    def __getstate__(self) -> dict[str, Any]:
        return {"encodings": self.encodings, "trees": self.trees}

    def save(self, path: Path) -> None:
        """Writes into the new directory `path`."""
        path.mkdir()
        (path / "trees.txt").write_text(self.trees, "utf-8", newline="")
        for name, encoding in self.encodings.items():
            np.save(path / f"{name}.keys.npy", encoding.keys, allow_pickle=False)
            counts = np.vstack([encoding.seen, encoding.bad])
            np.save(path / f"{name}.counts.npy", counts, allow_pickle=False)
            np.save(path / f"{name}.share.npy", np.array(encoding.share), allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> "TokenModel":
        encodings = {}
        for file in sorted(path.glob("*.keys.npy")):
            name = file.name.removesuffix(".keys.npy")
            seen, bad = np.load(path / f"{name}.counts.npy", allow_pickle=False)
            share = float(np.load(path / f"{name}.share.npy", allow_pickle=False))
            encodings[name] = Encoding(np.load(file, allow_pickle=False), seen, bad, share)
        return cls(encodings, (path / "trees.txt").read_text("utf-8"))
