"""Measured costs of feature families: microseconds of processor time per segment."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

import features
from features.storage import strict_yaml
from features.storage.files import atomic_file

PUBLISHED = Path(features.__file__).resolve().parent / "costs.yaml"


@dataclass(frozen=True)
class FeatureCosts:
    """Microseconds of processor time per segment by family, and of tokenizing source and target."""

    measured: str
    machine: str
    data: str
    tokenization: float
    families: Mapping[str, float]

    def total(self, families: Sequence[str]) -> float:
        return self.tokenization + sum(self.families[name] for name in families)

    def cost_of(self, families: Sequence[str]) -> float | None:
        return sum(self.families[name] for name in families) if set(families) <= set(self.families) else None

    def save(self, path: Path = PUBLISHED) -> None:
        content = {**asdict(self), "families": {name: round(c, 1) for name, c in self.families.items()}}
        content["tokenization"] = round(self.tokenization, 1)
        with atomic_file(path) as temporary:
            temporary.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), "utf-8")

    @classmethod
    def load(cls, path: Path = PUBLISHED) -> "FeatureCosts":
        return cls(**strict_yaml.read_mapping(path, "table of costs"))
