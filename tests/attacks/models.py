"""What the attacks on models start from: a small trained model; how files are written that look like one."""

import contextlib
import io
import itertools
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from features import FittedExtractor, ParallelCorpus, Segments, Tokenizer
from features.core.bundle import Bundle, build, part_files
from features.core.feature_set import FeatureSet, parts_needed
from features.storage.checksums import checksums, sealed
from qe.data import LabelScale, Split, make_folds
from qe.getting_started.demo.generation import DemoData, generate
from qe.models import Model
from qe.models.companions import make_companions
from qe.models.pipeline import Candidate, fit

TOKENIZERS = Tokenizer("en"), Tokenizer("es")
FEATURES: list[dict[str, Any]] = [{"kind": "baseline17"}, {"kind": "bag_of_words"}]
SCALE = LabelScale("effort", 1.0, 5.0, higher_is_better=True)
SVR = Candidate("svr_rbf")


@dataclass(frozen=True)
class Workshop:
    """Artificial data, resources and features, out of which models of any learner are made."""

    folder: Path

    @cached_property
    def data(self) -> DemoData:
        return generate(self.folder / "data", pairs=200, train=60, test=1, new=5)

    @cached_property
    def training(self) -> Split:
        lines = {name: self.data.column("train", name).read_text("utf-8").splitlines()
                 for name in ("source", "target")}  # fmt: skip
        scores = np.loadtxt(self.data.column("train", "scores"))
        return Split(Segments.from_columns(lines, *TOKENIZERS), scores)

    @cached_property
    def bundle(self) -> Bundle:
        def read() -> ParallelCorpus:
            return ParallelCorpus.read(self.data.corpus_source, self.data.corpus_target, *TOKENIZERS)

        return build(read, self.folder / "bundle", parts_needed(FEATURES))

    @cached_property
    def features(self) -> FeatureSet:
        fresh = FeatureSet.make(FEATURES, self.bundle)
        labels = self.training.labels()
        fitted = [
            e.fit(self.training.segments, labels) if isinstance(e, FittedExtractor) else e
            for e in fresh.extractors
        ]
        return FeatureSet(fresh.configs, tuple(fitted))

    @cached_property
    def table(self) -> pd.DataFrame:
        return self.features.extract(self.training.segments)

    def model(self, name: str, candidate: Candidate = SVR) -> Path:
        """The folder of a trained model."""
        assert self.training.scores is not None
        pipeline = fit(candidate.pipeline(seed=0), self.table, self.training.scores)
        model = Model("small", candidate, pipeline, self.features, SCALE, TOKENIZERS, self.bundle)
        folds = [held_out for _, held_out in make_folds(len(self.table), 3)]
        predicted = np.asarray(pipeline.predict(self.table), np.float64)
        companions = make_companions(self.training, self.table, predicted, folds, SCALE)
        model.save(self.folder / name, companions.all())
        return self.folder / name


def sealed_again(folder: Path) -> None:
    """Brings the checksums of a model up to date, as an attacker would."""
    with contextlib.suppress(ValueError, RecursionError):  # a manifest that cannot be read
        edit(folder / "resources" / "manifest.json", dict)
    files = {name: value for name, value in checksums(folder).items() if name != "model.json"}
    edit(folder / "model.json", lambda content: {**content, "files": files})


def bundle_sealed_again(folder: Path) -> None:
    """Brings the checksums of a bundle up to date, as an attacker would."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    for name, part in manifest["parts"].items():
        part["files"] = part_files(folder / name)
    manifest["corpus_files"] = checksums(folder / "corpus")
    (folder / "manifest.json").write_text(json.dumps(sealed(manifest)), "utf-8")


def edit(path: Path, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
    """Changes a JSON object, and its own checksum where it has one."""
    content = json.loads(path.read_text("utf-8"))
    changed = dict(change(content))
    path.write_text(json.dumps(sealed(changed) if "checksum" in content else changed), "utf-8")


def unsealed(folder: Path) -> None:
    """Takes the checksums out of model.json."""
    path = folder / "model.json"
    content = json.loads(path.read_text("utf-8"))
    kept = {key: value for key, value in content.items() if key not in ("checksum", "files")}
    path.write_text(json.dumps(kept), "utf-8")


def copy_of(model: Path, folder: Path) -> Path:
    """A copy to be spoilt."""
    shutil.copytree(model, folder)
    return folder


# --- the format of skops, by hand -------------------------------------------------------------------

Node = dict[str, Any]
_NUMBERS = itertools.count(1)


def node(loader: str, name: str, **more: Any) -> Node:
    """A node of skops' tree that names something; every node has a number of its own."""
    module, _, kind = name.rpartition(".")
    return {"__class__": kind, "__module__": module, "__loader__": loader, "__id__": next(_NUMBERS), **more}


def plain(value: Any) -> Node:
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def sequence(items: Sequence[Node], kind: str = "list") -> Node:
    return node({"list": "ListNode", "tuple": "TupleNode"}[kind], f"builtins.{kind}", content=list(items))


def mapping(content: Mapping[str, Node]) -> Node:
    keys = sequence([node("TypeNode", "builtins.str") for _ in content])
    return node("DictNode", "builtins.dict", content=dict(content), key_types=keys)


def instance(name: str, attributes: Mapping[str, Node]) -> Node:
    """An object made without calling its class, with these attributes."""
    return node("ObjectNode", name, content=mapping(attributes))


def pipeline_of(step: Node) -> Node:
    """A scikit-learn pipeline of one step."""
    steps = sequence([sequence([plain("learn"), step], "tuple")])
    return instance("sklearn.pipeline.Pipeline", {"steps": steps, "memory": plain(None)})


def holding(step: Node, members: Mapping[str, bytes] | None = None, **more: Any) -> bytes:
    """A skops file with a pipeline of one step."""
    return skops_file(pipeline_of(step), members, **more)


def skops_file(
    root: Node, members: Mapping[str, bytes] | None = None, packed: bool = False, protocol: int = 2
) -> bytes:
    """A skops file with that root, and arrays beside the tree."""
    schema = {**root, "protocol": protocol, "_skops_version": "0.16.0"}
    return archived({"schema.json": json.dumps(schema).encode(), **(members or {})}, packed)


def archived(members: Mapping[str, bytes], packed: bool = False) -> bytes:
    """The bytes of a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def schema_of(path: Path) -> tuple[Node, dict[str, bytes]]:
    """The tree and the arrays of a skops file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("schema.json")), members
