"""TokenModel: P(BAD) of tokens or gaps from columns, target encodings and word vectors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features.basics.threads import side_by_side
from features.storage.boosted_trees import check_trees
from features.word_level.columns import Floats, Longs, same_width
from features.word_level.keys import (
    Encoding,
    Keys,
    encoded,
    load_encodings,
    out_of_fold,
    save_encodings,
)
from features.word_level.labels import Bad
from features.word_level.network import Lookups, Network, NetworkInputs, width_of
from features.word_level.trees import TreeWalks, fit_trees, load_trees, tree_probability


@dataclass(frozen=True, eq=False)
class Inputs:
    """Columns (n, k), keys for target encodings (n,) by name, and word vectors of n tokens or gaps."""

    columns: NDArray[np.float32]
    keys: Mapping[str, Keys]
    vectors: Lookups = ()

    @property
    def width(self) -> int:
        return int(self.columns.shape[1]) + 2 * len(self.keys) + width_of(self.vectors)


@dataclass(frozen=True, eq=False)
class TokenModel:
    """Mean of boosted trees (LightGBM's text) and small networks, or trees alone if there are none."""

    encodings: Mapping[str, Encoding]
    trees: str
    networks: tuple[Network, ...]

    @classmethod
    def fit(
        cls,
        inputs: Inputs,
        bad: Bad,
        segment: Longs,
        *,
        rounds: int,
        seed: int,
        leaves: int = 31,
        rate: float = 0.06,
        networks: int = 2,
    ) -> "TokenModel":
        """Fits the model to (n_tokens,) `bad`, flags or probabilities; `segment` of each token ascends."""
        encodings = out_of_fold(inputs.keys, bad, segment).astype(np.float32)
        features = np.hstack([inputs.columns, encodings])
        fits: list[Callable[[], Any]] = [
            partial(fit_trees, features, bad, rounds, seed, leaves=leaves, rate=rate)
        ]
        if networks:
            standardised = NetworkInputs.from_columns(features, inputs.vectors)
            fits += [partial(Network.fit, standardised, bad, seed + i) for i in range(networks)]
        with threadpool_limits(1, "blas"):  # for all of them: each would lift the limit of the others
            trees, *rest = side_by_side(lambda fit: fit(), fits)
        by_name = {name: Encoding.fit(keys, bad) for name, keys in inputs.keys.items()}
        return cls(by_name, trees, tuple(rest))

    def probability(self, inputs: Inputs) -> Floats:
        encodings = encoded(self.encodings, inputs.keys).astype(np.float32)
        features = np.hstack([inputs.columns, encodings])
        same_width(features.shape[1], self._walks.width)
        for network in self.networks:
            same_width(features.shape[1], len(network.mean))
            same_width(features.shape[1] + width_of(inputs.vectors), len(network.weights))
        by_trees = tree_probability(self._walks, features)
        if not self.networks:
            return by_trees
        by_networks = [network.probability(features, inputs.vectors) for network in self.networks]
        return np.asarray((by_trees + sum(by_networks) / len(by_networks)) / 2, np.float64)

    @cached_property
    def _walks(self) -> TreeWalks:
        return load_trees(self.trees)

    def __getstate__(self) -> dict[str, Any]:
        return {"encodings": self.encodings, "trees": self.trees, "networks": self.networks}

    def save(self, path: Path) -> None:
        path.mkdir()
        (path / "trees.txt").write_text(self.trees, "utf-8", newline="")
        for i, network in enumerate(self.networks):
            (path / f"network{i}").mkdir()
            for name, array in vars(network).items():
                np.save(path / f"network{i}" / f"{name}.npy", array, allow_pickle=False)
        save_encodings(self.encodings, path)

    @classmethod
    def load(cls, path: Path) -> "TokenModel":
        networks = tuple(
            Network(**{f.stem: np.load(f, allow_pickle=False) for f in folder.glob("*.npy")})
            for folder in sorted(path.glob("network*"))
        )
        model = cls(load_encodings(path), (path / "trees.txt").read_text("utf-8"), networks)
        for network in networks:
            network.check_arrays()
        check_trees(model.trees)
        return model
