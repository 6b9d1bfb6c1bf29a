"""The experiment file: strict schema, strict load, one key per stage in flow order."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from features.core.errors import InputError
from qe.schema import Section, validated

# Keys of extractor and format settings that hold paths; relative ones are resolved when loading.
_PATH_KEYS = frozenset({"path", "file", "files", "directory"})
# Those of the sections `dataset` and `resources`.
_PATHS = frozenset(
    {
        "path",
        "bundle",
        "source",
        "target",
        "source_annotation",
        "target_annotation",
        "alignments",
        "source_monolingual",
        "target_monolingual",
        "read",
    }
)
_PLACEHOLDER = re.compile(r"\{(\w*)\}")


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class DatasetSection(BaseModel):
    """`format` and `path`; the other keys are the format's own."""

    model_config = ConfigDict(extra="allow", frozen=True)
    format: str
    path: Path

    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class TextSection(Section):
    """How text becomes tokens; None leaves what the format says."""

    tokenizer: Literal["moses", "moses-2012", "whitespace"] | None = None
    normalise: bool | None = None


class ResourcesSection(Section):
    """A built bundle, or a parallel corpus from which the needed parts are built on first use.

    `{pair}`, `{source}` and `{target}` in the paths stand for `dataset.pair` and its two languages.
    `optional`: where the corpus is not there, the task's own sources and translations take its place.
    `source_annotation`, `target_annotation`: CoNLL-U files, one block per line of the corpus; where parts
    need one and none is named, the program that the experiment's `annotations` name makes it.
    `alignments`: a Pharaoh file, one line per line of the corpus, for the parts extracted from aligned text.
    `source_monolingual`, `target_monolingual`: further text of a side, for its language models, n-gram counts
    and truecaser.
    `read`: part -> file, for language models (ARPA, KenLM) and lexicons (GIZA++, Moses) of other tools.
    `settings`: part -> setting -> value; `qe resources list` shows them.
    """

    bundle: Path | None = None
    source: Path | None = None
    target: Path | None = None
    source_annotation: Path | None = None
    target_annotation: Path | None = None
    alignments: Path | None = None
    source_monolingual: Path | None = None
    target_monolingual: Path | None = None
    read: dict[str, Path] = Field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    optional: bool = False

    @model_validator(mode="after")
    def _built_already(self) -> Self:
        given = [key for key in ("source_monolingual", "target_monolingual", "read", "settings")
                 if getattr(self, key)]  # fmt: skip
        if self.bundle is not None and given:
            raise ValueError(
                f"`{given[0]}` is for parts to be built, but `bundle` names those that are built"
            )
        return self

    def annotations(self) -> dict[str, Path]:
        """Side -> CoNLL-U file, of the sides that have one."""
        files = {"source": self.source_annotation, "target": self.target_annotation}
        return {side: path for side, path in files.items() if path is not None}


class SplitSection(Section):
    """Which splits are trained on, and the folds of cross-validation."""

    train: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ("train",)
    test: str | None = None
    folds: int = Field(5, ge=2)
    seed: int = 0
    by: Literal["random", "block", "document"] = "random"
    block: int = Field(31, ge=1)
    outer: int | None = Field(None, ge=2)
    repeats: int = Field(1, ge=1)


class StrategySection(Section):
    """A learner or selector: fixed parameters, and where to search for the others."""

    kind: str
    params: dict[str, Any] = Field(default_factory=dict)
    space: dict[str, Any] | None = None


class SearchSection(Section):
    """The study: sampler, number of trials, objectives."""

    sampler: Literal["tpe", "random", "grid"] = "tpe"
    trials: int = Field(30, ge=1)
    objective: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ("mae",)
    pruner: Literal["none", "wilcoxon", "median"] = "none"
    seed: int = 0
    storage: str | None = None
    warm_start: tuple[Path, ...] = ()
    restarts: int = Field(1, ge=1)


class EvaluationSection(Section):
    """What the report compares with, and how often it resamples."""

    metric: str = "mae"
    samples: int = Field(1000, ge=100)
    seed: int = 0
    correct: Literal["none", "bonferroni", "holm", "bh"] = "holm"


class IntervalsSection(Section):
    """How prediction intervals are calibrated.

    cross  on the out-of-fold predictions of all training rows: no label is lost, coverage is measured
    split  on rows that the model never saw: coverage is guaranteed for exchangeable rows. The rows are those
           of the labelled split `calibration`, or else about `share` of the training rows, which are then
           not learned from (whole blocks or documents, where `split.by` says so)
    """

    method: Literal["cross", "split"] = "cross"
    calibration: str | None = None
    share: float = Field(0.2, gt=0, le=0.5)

    @model_validator(mode="after")
    def _only_where_used(self) -> Self:
        given = self.model_fields_set & {"calibration", "share"}
        if self.method == "cross" and given:
            raise ValueError(f"`{sorted(given)[0]}` goes with `method: split`")
        return self


class TrackingSection(Section):
    """Registration of the model; where runs go is said in mlflow.yaml."""

    register_model: bool = Field(True, alias="register")
    model_name: str | None = None


class PublishedSection(Section):
    """Figures of the paper that an experiment re-makes, for the leaderboard."""

    delta_avg: float | None = None
    spearman: float | None = None
    mae: float | None = None
    rmse: float | None = None


class Experiment(Section):
    """One experiment. Unknown keys are errors; paths are absolute after loading.

    `weights: annotators` weighs rows by the number of annotators raised to `weight_power`: 1 is right where
    annotators differ by independent noise alone; more where the rows that many judged are also closer to the
    rows to be scored (on MLQE-PE en-de, held-out training rows judged by six want about 2.5).
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = ""
    absent: tuple[str, ...] = ()
    published: PublishedSection | None = None
    seed: int = 0
    dataset: DatasetSection
    text: TextSection = Field(default_factory=lambda: TextSection.model_validate({}))
    translations: dict[Literal["pseudo_reference", "back_translation"], str] = Field(default_factory=dict)
    annotations: dict[Literal["source", "target"], str] = Field(default_factory=dict)
    resources: ResourcesSection | None = None
    features: tuple[dict[str, Any], ...] = Field(min_length=1)
    split: SplitSection = Field(default_factory=lambda: SplitSection.model_validate({}))
    weights: Literal["none", "annotators"] = "none"
    weight_power: float = Field(1.0, gt=0)
    selection: Annotated[tuple[StrategySection, ...], BeforeValidator(_as_list)] = (
        StrategySection(kind="none"),
    )
    learner: Annotated[tuple[StrategySection, ...], BeforeValidator(_as_list)]
    search: SearchSection = Field(default_factory=lambda: SearchSection.model_validate({}))
    evaluation: EvaluationSection = Field(default_factory=lambda: EvaluationSection.model_validate({}))
    intervals: IntervalsSection = Field(default_factory=lambda: IntervalsSection.model_validate({}))
    tracking: TrackingSection = Field(default_factory=lambda: TrackingSection.model_validate({}))

    def made_columns(self) -> dict[str, str]:
        """Columns of segments that programs make: name -> program."""
        annotations = {f"annotation_{side}": by for side, by in self.annotations.items()}
        return {str(column): by for column, by in self.translations.items()} | annotations

    def settings(self) -> dict[str, Any]:
        """The experiment as JSON values."""
        return self.model_dump(mode="json")


def load(path: Path, *, data_root: Path | None = None, overrides: Sequence[str] = ()) -> Experiment:
    """Reads an experiment file.

    Relative paths are relative to `data_root` where given, else to the file's folder. An override is
    `key.key=value`, the value read as YAML.

    Raises InputError with the path of the key, and the known names, for anything unknown or ill-typed.
    """
    content = _read_yaml(path)
    for override in overrides:
        _apply(content, override)
    root = (data_root or path.parent).resolve()
    _fill_in(content, path)
    for section in ("dataset", "resources"):
        if isinstance(content.get(section), dict):
            content[section] = {
                k: _resolved(v, root) if k in _PATHS else v for k, v in content[section].items()
            }
    content["features"] = [_with_paths(f, root) for f in _feature_list(content.get("features"), path)]
    return validated(Experiment, content, path)


def _fill_in(content: dict[str, Any], path: Path) -> None:
    """Languages for the placeholders in the strings under `resources`."""
    resources, dataset = content.get("resources"), content.get("dataset")
    if not isinstance(resources, dict):
        return
    pair = dataset.get("pair") if isinstance(dataset, dict) else None
    source, _, target = str(pair or "").partition("-")
    known = {"pair": pair, "source": source, "target": target}

    def filled(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {inner: filled(f"{key}.{inner}", below) for inner, below in value.items()}
        for name in _PLACEHOLDER.findall(value) if isinstance(value, str) else ():
            if name not in known:
                raise InputError(
                    f"{key}: unknown placeholder '{{{name}}}'",
                    where=path,
                    remedy="known: {pair}, {source}, {target}",
                )
            if not (source and target):
                raise InputError(
                    f"{key}: '{{{name}}}' needs dataset.pair, like en-de, but it is {pair!r}", where=path
                )
            value = value.replace(f"{{{name}}}", known[name])
        return value

    content["resources"] = filled("resources", resources)


def _feature_list(value: Any, path: Path) -> list[dict[str, Any]]:
    """Feature configs: a bare name is short for `{kind: NAME}`."""
    if not isinstance(value, list) or not value:
        raise InputError("`features` must be a list of extractors", where=path, remedy="- kind: baseline17")
    configs = [{"kind": item} if isinstance(item, str) else item for item in value]
    for item in configs:
        if not isinstance(item, dict) or not ("kind" in item) ^ ("set" in item):
            raise InputError(f"features: every entry needs a `kind` or a `set`, but got {item!r}", where=path)
    return configs


def _resolved(value: Any, root: Path) -> Any:
    if isinstance(value, dict):
        return {key: _resolved(inner, root) for key, inner in value.items()}
    return str(root / value) if isinstance(value, str) else value


def _with_paths(config: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Settings with the relative paths under path keys made absolute."""

    def absolute(value: Any) -> Any:
        if isinstance(value, str):
            return str(root / value)
        if isinstance(value, dict):
            return {key: absolute(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [absolute(inner) for inner in value]
        return value

    return {key: absolute(value) if key in _PATH_KEYS else value for key, value in config.items()}


def _apply(content: dict[str, Any], override: str) -> None:
    """Sets one `key.key=value`; numbers index lists."""
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise InputError(f"--set needs key=value, but got '{override}'")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"--set {override}: {error}") from None
    here: Any = content
    *parents, last = key.split(".")
    for depth, part in enumerate(parents):
        if isinstance(here, list):
            here = here[_index(part, here, ".".join(parents[:depth]), override)]
        else:
            here = here.setdefault(part, {})
        if not isinstance(here, dict | list):
            raise InputError(f"--set {override}: '{part}' is not a section, but {here!r}")
    if isinstance(here, list):
        here[_index(last, here, ".".join(parents), override)] = value
    else:
        here[last] = value


def _index(part: str, entries: list[Any], key: str, override: str) -> int:
    """The number `part` of one of the entries of the list at `key`."""
    if not re.fullmatch("[0-9]+", part) or int(part) >= len(entries):
        raise InputError(
            f"--set {override}: '{key}' is a list, and has no entry '{part}'",
            remedy=f"it has {len(entries)}, numbered from 0",
        )
    return int(part)


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML in which a key may stand only once."""


def _unique_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key '{key}' stands twice", node.start_mark
            )
    return dict(loader.construct_mapping(node, deep=True))


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text("utf-8"), Loader=_StrictLoader)
    except FileNotFoundError:
        raise InputError("no such experiment file", where=path) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"not valid YAML: {error}", where=path) from None
    if not isinstance(content, dict):
        raise InputError("an experiment file is a mapping of keys", where=path)
    return content
