"""The experiment file: strict schema, strict load, one key per stage in flow order."""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    PrivateAttr,
    Tag,
    WithJsonSchema,
    model_validator,
)

from features.basics.errors import InputError, combined_error, quoted, without_passwords
from features.basics.hints import Folds, Seed
from features.basics.plugins import is_foreign
from features.basics.short_repr import in_short
from features.storage.files import base_of, resolved
from features.storage.strict_yaml import read_mapping
from qe.config.extending import as_list, extended, file_names
from qe.config.overrides import override, run_name
from qe.config.schema import Section, drafted, readable_configs
from qe.display.summary import Printable, entries
from qe.display.table import Table

# Keys of extractor and format settings that hold paths; relative ones are resolved when loading.
IN_MEMORY = "in_memory"  # the format of a dataset that is given as an object
_PATH_KEYS = frozenset({"path", "file", "files"})
_NAME_OR_PATH = "model"  # of encoders: a path if it has a `/`
# What stands for keys that an experiment needs, where what it says of them is wrong.
NOTHING: Mapping[str, Any] = {
    "name": "experiment",
    "dataset": {"format": IN_MEMORY, "path": "."},
    "features": [],
    "learner": [],
}
_PLACEHOLDER = re.compile(r"\{(\w*)\}")


def _auto_or_positive(value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value != "auto" and not (number and 0 < value < float("inf")):
        raise ValueError("give auto, or a number greater than 0")
    return value


# Written without its password, wherever settings are written.
Address = Annotated[str, PlainSerializer(without_passwords)]
MetricName = Annotated[str, AfterValidator(str.lower)]
AuxiliaryWeight = Annotated[Literal["auto"] | float, BeforeValidator(_auto_or_positive)]


class TextSection(Section):
    """How text becomes tokens; None leaves what the format says.

    `segmenters: {zh: jieba}`: words of a language without blanks; by default its tokens are characters.
    """

    tokenizer: Literal["moses", "moses-2012", "whitespace"] | None = None
    normalise: bool | None = None
    segmenters: dict[str, str] = Field(default_factory=dict)


class TreebankSection(Section):
    """Annotators that are learned from a treebank when first needed, and kept in the cache.

    `treebank`: an annotated file, plain or gzip; `tasks`: pos, dependencies, constituents, entities.
    `projected`: in its place, for entities, the other side: its annotator's entities go over the word links
    of the corpus that `resources` names (`qe annotate project`), the first `pairs` of it.
    `settings`: task -> setting -> whole number; `qe annotate train --help` lists them.
    `programs`: what adds to them: hunspell, link-grammar.
    """

    treebank: Path | None = None
    projected: Literal["source", "target"] | None = None
    pairs: int = Field(100_000, ge=1)
    tasks: Annotated[list[str], BeforeValidator(as_list)] = Field(min_length=1)
    settings: dict[str, dict[str, Annotated[int, Field(ge=0)]]] = Field(default_factory=dict)
    programs: Annotated[list[str], BeforeValidator(as_list)] = Field(default_factory=list)


Treebanks = Annotated[list[TreebankSection], BeforeValidator(as_list), Field(min_length=1)]
Annotator = Annotated[
    Annotated[str, Tag("[name]")] | Annotated[Treebanks, Tag("[treebanks]")],
    Discriminator(lambda value: "[treebanks]" if isinstance(value, list | dict) else "[name]"),
]


class ResourcesSection(Section):
    """A built bundle, or a parallel corpus from which the needed parts are built on first use.

    `{pair}`, `{source}` and `{target}` in the paths are replaced by `dataset.pair` and its two languages.
    `optional`: if the corpus is not there, or none is named, the task's own sources and translations take its
    place.
    `source_annotation`, `target_annotation`: CoNLL-U files, one block per line of the corpus; where parts
    need one and none is named, the program that the experiment's `annotations` name makes it.
    `alignments`: a Pharaoh file, one line per line of the corpus, for the parts extracted from aligned text.
    `source_monolingual`, `target_monolingual`: further text of a side, for its language models, n-gram counts
    and truecaser.
    `read`: part -> file, for language models (ARPA, KenLM) and lexicons (GIZA++, Moses) of other tools, and
    for lists of stop words.
    `settings`: part -> setting -> value; `qe resources list` shows them.
    `texts`: labels of the training segments that are translations (`post_edit`, `reference`): parallel text
    behind the corpus, or in its place. In training, a segment is looked up in resources without the texts of
    its part of the segments, of which there are `parts`.
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
    texts: Annotated[list[Literal["post_edit", "reference"]], BeforeValidator(as_list)] = Field(
        default_factory=list
    )
    parts: int = Field(5, ge=2)

    @model_validator(mode="after")
    def _of_one_origin(self) -> Self:
        for key in ("source_monolingual", "target_monolingual", "read", "settings"):
            if self.bundle is not None and getattr(self, key):
                raise ValueError(f"`{key}` is for parts to be built, but `bundle` names those that are built")
        for key in ("bundle", "optional", "source_annotation", "target_annotation", "alignments"):
            if self.texts and getattr(self, key):
                raise ValueError(f"`texts` of the training segments cannot be used together with `{key}`")
        return self

    @property
    def incomplete(self) -> bool:
        absent = [self.source, self.target].count(None)
        replaced = self.optional or bool(self.texts)
        return self.bundle is None and (absent == 1 or (absent == 2 and not replaced))

    def annotations(self) -> dict[str, Path]:
        files = {"source": self.source_annotation, "target": self.target_annotation}
        return {side: path for side, path in files.items() if path is not None}


class DatasetSection(BaseModel):
    """`format` and `path` of a dataset.

    Training draws at most `rows` rows at random. Other keys are the format's own.

    Those after the first are auxiliary training datasets, with keys of their own:

    train      their splits that are learned from
    weight     how much a row counts; a row of the first has 1
    scaling    how labels are put on the first one's scale: `standard` (mean and deviation), `ranks` (the
               label of the same rank), or `none`: labels of the same name and direction, unchanged
    align      whether columns of features are put on the first one's mean and deviation too
    together   whether families that learn from labels are fitted on the rows of both; else, on its rows alone
               for its rows. It needs the first one's languages, and takes its resources
    resources  for this pair; none: those of the experiment, in the same languages
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    format: str
    path: Path
    rows: int | None = Field(None, ge=1)
    train: Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(as_list)] = ("train",)
    weight: float = Field(1.0, gt=0, allow_inf_nan=False)
    scaling: Literal["standard", "ranks", "none"] = "standard"
    align: bool = False
    joint: bool = Field(False, alias="together")
    resources: ResourcesSection | None = None

    @model_validator(mode="after")
    def _of_one_bundle(self) -> Self:
        if self.joint and self.resources is not None:
            raise ValueError(
                "`together` takes the experiment's resources; leave out `together` or `resources`"
            )
        if self.resources is not None and self.resources.texts:
            raise ValueError(
                "`texts` are those of the first dataset's segments, in the experiment's `resources`"
            )
        return self

    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})

    def settings(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_unset=True, by_alias=True)


# Keys of auxiliary datasets, and the key for the first dataset.
_AUXILIARY_KEYS: Mapping[str, str] = {
    **dict.fromkeys(("weight", "scaling", "align", "together"), ""),
    "train": "; say it in `split.train`",
    "resources": "; say it in the experiment's `resources`",
}


def _check_first(sections: tuple[DatasetSection, ...]) -> tuple[DatasetSection, ...]:
    for key in _AUXILIARY_KEYS.keys() & sections[0].settings().keys():
        raise ValueError(f"`{key}` is for auxiliary datasets, after the first one{_AUXILIARY_KEYS[key]}")
    return sections


class SplitSection(Section):
    """Which splits are trained on, and the folds of cross-validation."""

    train: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ("train",)
    test: str | None = None
    folds: Folds = 5
    seed: Seed = 0
    fold_by: Literal["random", "block", "document", "contiguous", "language_pair"] = Field(
        "random", alias="by"
    )
    block: int = Field(31, ge=1)
    outer: int | None = Field(None, ge=2)
    repeats: int = Field(1, ge=1)

    @model_validator(mode="after")
    def _can_repeat(self) -> Self:
        if self.repeats > 1 and self.fold_by == "contiguous":
            raise ValueError("contiguous folds are always the same; leave out `repeats`, or use `by: block`")
        return self


class NegativesSection(Section):
    """Perturbed training rows with the worst label, which the learner sees in addition to the real ones.

    share  how many, as a share of the training rows of a fold
    kinds  perturbations, as `qe robustness` names them; none: all that destroy a translation
    """

    share: float = Field(0.05, gt=0, le=1)
    kinds: tuple[str, ...] = ()


class StrategySection(Section):
    """A learner or selector: fixed parameters, and where to search for the others."""

    kind: str
    params: dict[str, Any] = Field(default_factory=dict)
    space: dict[str, Any] | None = None


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MANY = 10_000  # trials, where another budget ends the search


def _seconds(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([smhd])", value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("give a number with a unit, such as 90s, 20m or 1.5h")
    return float(found[1]) * _UNITS[found[2]]


_WRITTEN = {"type": ["number", "string"], "pattern": r"^[0-9]+(\.[0-9]+)? ?[smhd]$"}
Duration = Annotated[
    float, BeforeValidator(_seconds), Field(gt=0, allow_inf_nan=False), WithJsonSchema(_WRITTEN)
]


def _known_sampler(name: str) -> str:
    if name not in ("tpe", "random", "grid") and not (is_foreign(name) or "." in name):
        raise ValueError("give 'tpe', 'random', 'grid', or DISTRIBUTION:NAME or package.module.Class")
    return name


class SearchSection(Section):
    """The study: sampler, budgets, objectives.

    sampler       `tpe`, `random`, `grid`, or a class: `package.module.Class` or DISTRIBUTION:NAME
    pruner        a class that ends bad trials after some of the folds
    trials        how many, at most; 30, unless `time` or `without_gain` ends the search
    time          how long the search may take, such as `20m`; the trial that passes it is the last one
    without_gain  trials since the best one, after which the search ends
    failures      the share of the trials that may fail by their numbers before the search stops
    """

    sampler: Annotated[str, AfterValidator(_known_sampler)] = "tpe"
    sampler_params: dict[str, Any] = Field(default_factory=dict)
    pruner: str | None = None
    pruner_params: dict[str, Any] = Field(default_factory=dict)
    trials: int | None = Field(None, ge=1)
    time: Duration | None = None
    without_gain: int | None = Field(None, ge=1)
    objective: Annotated[tuple[MetricName, ...], BeforeValidator(as_list)] = ("mae",)
    seed: Seed = 0
    storage: Address | None = Field(None, repr=False)
    warm_start: tuple[Path, ...] = ()
    failures: float = Field(0.5, ge=0, lt=1)

    @property
    def most_trials(self) -> int:
        return self.trials or (30 if self.time is None and self.without_gain is None else _MANY)


class EvaluationSection(Section):
    """Baselines of the report, and how often it resamples.

    By default, `samples` is as many as the tests need.

    `robustness: false` leaves out the scores of perturbed translations (`qe robustness`).
    `bad`, as `hter>0.3`: labels of the plot of errors let through; by default the worst quarter.
    """

    metric: MetricName = "mae"
    bad: str | None = None
    robustness: bool = True
    samples: int | None = Field(None, ge=100, le=1_000_000)
    seed: Seed = 0
    correct: Literal["none", "bonferroni", "holm", "bh"] = "holm"


class WeightsSection(Section):
    """Weights of rows in the data: the header of a table, or `row_weights` where that is mapped."""

    column: str = Field(min_length=1)


Level = Annotated[float, Field(gt=0, lt=1)]


class IntervalsSection(Section):
    """How prediction intervals are calibrated.

    cross  on the out-of-fold predictions of all training rows: no label is lost, coverage is measured
    split  on rows that the model never saw: coverage is guaranteed for exchangeable rows. The rows are those
           of the labelled split `calibration`, or else about `share` of the training rows, which are then
           not learned from (whole blocks or documents, if `split.by` is set so)

    by           groups that are calibrated apart, so that each is covered: `prediction`, `label` (`bands` of
                 about one size, or bands that end at `edges`), `column` (one group per value of `column`)
    weighted_to  a split, labelled or not, whose segments the intervals are for: calibration rows like those
                 count more
    row_weights  whether calibration rows have the weights that `weights` gives them in learning
    levels       whose coverage is measured
    """

    method: Literal["cross", "split"] = "cross"
    calibration: str | None = None
    share: float = Field(0.2, gt=0, le=0.5)
    group_by: str | None = Field(None, alias="by")
    bands: int = Field(5, ge=2, le=100)
    edges: tuple[float, ...] = ()
    column: str | None = None
    weighted_to: str | None = None
    row_weights: bool = False
    levels: Annotated[tuple[Level, ...], Field(min_length=1)] = (0.5, 0.8, 0.9, 0.95)

    @model_validator(mode="after")
    def _only_where_used(self) -> Self:
        given = self.model_fields_set & {"calibration", "share"}
        if self.method == "cross" and given:
            raise ValueError(f"`{sorted(given)[0]}` goes with `method: split`")
        if self.group_by is None and (groups := self.model_fields_set & {"bands", "edges", "column"}):
            raise ValueError(f"`{sorted(groups)[0]}` goes with `by`")
        if "bands" in self.model_fields_set and self.edges:
            raise ValueError("`bands` and `edges` exclude each other")
        if len(set(self.levels)) < len(self.levels):
            raise ValueError("`levels` must differ")
        return self


def _tag_name(name: str) -> str:
    if not re.fullmatch(r"[\w./ -]{1,250}", name) or name.startswith("mlflow."):
        raise ValueError("give letters, digits, and ._/- (MLflow's own names begin with `mlflow.`)")
    return name


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


TagName = Annotated[str, AfterValidator(_tag_name)]
TagText = Annotated[str, BeforeValidator(_as_text), Field(max_length=5000)]


class TrackingSection(Section):
    """Settings of what goes to MLflow.

    mlflow.yaml names the store; `tracking: off` logs nothing at all.

    register    whether the model becomes a version of a registered model
    model_name  of the registered model; mlflow.yaml has the rule for others
    tags        name -> text, on the run and on the model's version
    texts       what tables of segments show of them: `all`, `ids`, or `none` of either (then there are no
                tables). Default: `all` if the store is on this machine, else `ids`
    """

    enabled: bool = True
    register_model: bool = Field(True, alias="register")
    model_name: str | None = None
    tags: dict[TagName, TagText] = Field(default_factory=dict)
    texts: Literal["all", "ids", "none"] | None = None

    @property
    def registers(self) -> bool:
        return self.enabled and self.register_model


def _enabled(value: Any) -> Any:
    switch = {"off": False, "on": True}.get(value) if isinstance(value, str) else value
    return {"enabled": switch} if isinstance(switch, bool) else value


class PublishedSection(Section):
    """The paper's figures, for the leaderboard, and how many features it has."""

    delta_avg: float | None = None
    spearman: float | None = None
    mae: float | None = None
    rmse: float | None = None
    features: int | None = None


_WITH_PATHS: Sequence[tuple[str, type[BaseModel]]] = (
    ("dataset", DatasetSection),
    ("resources", ResourcesSection),
)


class Experiment(Section, Printable):
    """One experiment. Unknown keys are errors; paths are absolute after loading.

    `trees`: parses for learners that take them, each `{kind: constituents, side: source}` (features/trees);
    with them, the list of features may be empty.

    `guard: false` leaves scores unchanged, those of destroyed translations too (`qe robustness` shows them).

    `negatives: {share: 0.05}` shows the learner perturbed training rows with the worst label, never held-out
    rows; families that learn from labels do not see them. `clip: 0.03` cuts features at what 3 % of
    the training rows have below and above.

    `weights: annotators` weighs rows by the number of annotators raised to `weight_power`: 1 is right where
    annotators differ by independent noise alone; more where the rows that many judged are also closer to the
    rows to be scored.
    `weights: {column: NAME}` takes the numbers of a column of the data in their place.

    `auxiliary_labels: {hter: 0.5}` mixes HTER of the post-edits into the label that is learned, half as much
    as that label; `{da: 0.5}` direct assessments; `auto` chooses how much inside the rows learned from. All
    figures are of the label alone.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = ""
    absent: tuple[str, ...] = ()
    published: PublishedSection | None = None
    seed: Seed = 0
    datasets: Annotated[
        tuple[DatasetSection, ...],
        Field(min_length=1),
        BeforeValidator(as_list),
        AfterValidator(_check_first),
    ] = Field(alias="dataset")
    text: TextSection = Field(default_factory=lambda: TextSection.model_validate({}))
    translations: dict[Literal["pseudo_reference", "back_translation"], str] = Field(default_factory=dict)
    annotations: dict[Literal["source", "target", "pseudo_reference"], Annotator] = Field(
        default_factory=dict
    )
    resources: ResourcesSection | None = None
    features: tuple[dict[str, Any], ...]
    trees: tuple[dict[str, Any], ...] = ()
    split: SplitSection = Field(default_factory=lambda: SplitSection.model_validate({}))
    guard: bool = True
    weights: Literal["none", "annotators"] | WeightsSection = "none"
    negatives: NegativesSection | None = None
    clip: float = Field(0.0, ge=0, lt=0.5)
    weight_power: float = Field(1.0, gt=0)
    auxiliary_labels: dict[Literal["hter", "da"], AuxiliaryWeight] = Field(default_factory=dict, max_length=1)
    selection: Annotated[tuple[StrategySection, ...], BeforeValidator(as_list)] = (
        StrategySection(kind="none"),
    )
    learner: Annotated[tuple[StrategySection, ...], BeforeValidator(as_list)]
    search: SearchSection = Field(default_factory=lambda: SearchSection.model_validate({}))
    evaluation: EvaluationSection = Field(default_factory=lambda: EvaluationSection.model_validate({}))
    intervals: IntervalsSection = Field(default_factory=lambda: IntervalsSection.model_validate({}))
    tracking: Annotated[TrackingSection, BeforeValidator(_enabled)] = Field(
        default_factory=lambda: TrackingSection.model_validate({})
    )
    _annotators: dict[str, str] = PrivateAttr(default_factory=dict)
    _changed: tuple[str, ...] = PrivateAttr(())
    _extended: tuple[Path, ...] = PrivateAttr(())

    @property
    def dataset(self) -> DatasetSection:
        """The first dataset: its rows are predicted, evaluated and reported."""
        return self.datasets[0]

    @property
    def auxiliary_datasets(self) -> tuple[DatasetSection, ...]:
        """The other datasets, which help to learn."""
        return self.datasets[1:]

    @property
    def annotators(self) -> dict[str, str]:
        """Side -> its annotator; those learned from treebanks once `with_annotators` names them."""
        named = {str(side): by for side, by in self.annotations.items() if isinstance(by, str)}
        return named | self._annotators

    def with_annotators(self, names: Mapping[str, str]) -> Self:
        """The same with the annotators (side -> name) that were learned from its treebanks."""
        copy = self.model_copy()
        copy._annotators = dict(names)
        return copy

    def made_columns(self) -> dict[str, str]:
        """Columns of segments that programs make: name -> program."""
        annotations = {f"annotation_{side}": by for side, by in self.annotators.items()}
        return {str(column): by for column, by in self.translations.items()} | annotations

    def inputs(self) -> list[Path]:
        """The files, and the folders read whole, that the experiment names. A dataset's folder is not one."""
        sections: dict[str, Any] = {
            "resources": True,
            "annotations": True,
            "datasets": {"__all__": {"resources"}},
        }
        named = [section.path for section in self.datasets if section.path.is_file()]
        named += _paths_within([self.model_dump(include=sections), self.features])
        return [*self._extended, *named, *(path / "study.journal" for path in self.search.warm_start)]

    @property
    def treebanks(self) -> list[TreebankSection]:
        """What annotators are learned from."""
        listed = (by for by in self.annotations.values() if not isinstance(by, str))
        return [each for several in listed for each in several]

    def file_names(self, path: Path) -> str:
        """Its file `path` as messages name it, with the files it extends."""
        return file_names(path, self._extended)

    @property
    def run_name(self) -> str:
        """What was set otherwise than in the file, else the name; at most 30 characters."""
        return run_name(self.name, self._changed)

    @property
    def current_description(self) -> str:
        """The description, if no override has changed the model that it describes."""
        return "" if run_name("", self._changed) else self.description

    def settings(self) -> dict[str, Any]:
        """The experiment as JSON values, with all defaults; a single dataset is no list."""
        values = self.model_dump(mode="json", exclude={"datasets"}, by_alias=True)
        sections = [section.settings() for section in self.datasets]
        return values | {"dataset": sections if self.auxiliary_datasets else sections[0]}

    def file_content(self) -> dict[str, Any]:
        """The keys of a file that says the same without `extends`, placeholders and relative paths."""
        values, given = self.settings(), self.model_dump(mode="json", exclude_unset=True, by_alias=True)
        return {key: values["dataset"] if key == "dataset" else value for key, value in given.items()}

    def summary(self) -> Table:
        """The sections that it states."""
        stated = (name for name in type(self).model_fields if name in self.model_fields_set - {"name"})
        rows = [(name, in_short(getattr(self, name))) for name in stated]
        return entries("experiment", self.name, rows)


def load(path: Path, *, data_root: Path | None = None, overrides: Sequence[str] = ()) -> Experiment:
    """Reads an experiment file, and those that it extends.

    Relative paths are relative to `data_root` where given, else to the folder of the file that writes them.
    An override is `key.key=value`, the value read as YAML. Raises InputError for unknown or ill-typed keys.
    """
    experiment, mistakes = draft(path, data_root=data_root, overrides=overrides)
    if mistakes:
        raise combined_error(mistakes, experiment.file_names(path))
    return experiment


def of_settings(settings: Mapping[str, Any], overrides: Sequence[str] = ()) -> Experiment:
    """The experiment of a report's `settings` (all keys, with defaults)."""
    usual = Experiment.model_validate(NOTHING).settings()
    stated = dict(settings)
    for name, section in settings.items():
        defaults = usual.get(name)
        if isinstance(section, Mapping) and isinstance(defaults, Mapping):
            changed = (key for key in section if key not in defaults or defaults[key] != section[key])
            stated[name] = {key: section[key] for key in changed}
    return from_mapping(stated, Path(), overrides=overrides)


def draft(
    path: Path, *, data_root: Path | None = None, overrides: Sequence[str] = ()
) -> tuple[Experiment, list[str]]:
    """The experiment as `load` reads it, without the wrong keys, and a list of mistakes in them."""
    content, files = on_extended(read_mapping(path, "experiment file"), path, data_root)
    return _drafted(content, data_root or base_of(path), overrides, files)


def on_extended(
    content: Mapping[str, Any], location: Path, data_root: Path | None
) -> tuple[dict[str, Any], list[Path]]:
    """`content` on top of the experiments it extends, and the paths of those files.

    `location` is the file of the content, or the folder where the path in `extends` starts.
    """
    return extended(content, location, _located if data_root is None else lambda keys, _: keys)


def from_mapping(
    content: Mapping[str, Any],
    root: Path,
    *,
    location: Path | None = None,
    overrides: Sequence[str] = (),
    files: Sequence[Path] = (),
) -> Experiment:
    """The experiment of a mapping with the keys of a file; relative paths are relative to `root`."""
    experiment, mistakes = _drafted(content, root, overrides, files)
    if mistakes:
        raise combined_error(mistakes, file_names(location or Path("experiment"), files))
    return experiment


def _drafted(
    content: Mapping[str, Any], root: Path, overrides: Sequence[str], files: Sequence[Path]
) -> tuple[Experiment, list[str]]:
    keys: dict[str, Any] = deepcopy(dict(content))
    mistakes = list[str]()
    for text in overrides:
        try:
            override(keys, text)
        except InputError as error:
            mistakes.append(str(error))
    try:
        datasets = as_list(keys.get("dataset"))
        if isinstance(keys.get("resources"), dict):
            keys["resources"] = _filled(keys["resources"], datasets[0] if datasets else None)
        for dataset in datasets:
            if isinstance(dataset, dict) and isinstance(dataset.get("resources"), dict):
                dataset["resources"] = _filled(dataset["resources"], dataset)
    except InputError as error:
        mistakes.append(str(error))
    # An experiment of trees alone needs no other features.
    listed = keys.get("features")
    if "features" in keys and not (listed == [] and keys.get("trees")):
        keys["features"], wrong = readable_configs(listed)
        mistakes += wrong
    experiment, more = drafted(Experiment, _located(keys, root), NOTHING)
    experiment._changed, experiment._extended = tuple(overrides), tuple(files)
    return experiment, [*mistakes, *more]


def _paths_within(value: Any, key: str = "") -> Iterator[Path]:
    """Paths, and texts under keys of extractors that hold paths."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, str) and _holds_paths(key, value):
        yield Path(value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _paths_within(inner, key if key in _PATH_KEYS else name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _paths_within(inner, key if key in _PATH_KEYS else "")


def _located(keys: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    located, start = dict(keys), resolved(folder)
    located |= {
        name: _section_located(keys[name], section, start) for name, section in _WITH_PATHS if name in keys
    }
    if isinstance(keys.get("annotations"), dict):
        located["annotations"] = {side: _annotator(name, start) for side, name in keys["annotations"].items()}
    if "features" in keys:
        located["features"] = _features_located(keys["features"], start)
    return located


def _section_located(value: Any, section: type[BaseModel], folder: Path) -> Any:
    if isinstance(value, list):
        return [_section_located(inner, section, folder) for inner in value]
    if not isinstance(value, dict):
        return value
    hints = {name: entry.annotation for name, entry in section.model_fields.items()}
    paths = [name for name, hint in hints.items() if Path in (hint, *get_args(hint))]
    located = {key: _placed(inner, folder) if key in paths else inner for key, inner in value.items()}
    if section is DatasetSection and "resources" in located:
        located["resources"] = _section_located(located["resources"], ResourcesSection, folder)
    return located


def _features_located(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_features_located(inner, folder) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _placed(inner, folder)
        if "kind" in value and _holds_paths(key, inner)
        else _features_located(inner, folder)
        for key, inner in value.items()
    }


def _holds_paths(key: str, value: Any) -> bool:
    return key in _PATH_KEYS or (key == _NAME_OR_PATH and isinstance(value, str) and "/" in value)


def _filled(resources: dict[str, Any], dataset: Any) -> Any:
    pair = dataset.get("pair") if isinstance(dataset, dict) else None
    source, _, target = pair.partition("-") if isinstance(pair, str) else ("", "", "")
    known = {"pair": pair, "source": source, "target": target}

    def filled(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {inner: filled(f"{key}.{inner}", below) for inner, below in value.items()}
        for name in _PLACEHOLDER.findall(value) if isinstance(value, str) else ():
            if name not in known:
                raise InputError(
                    f"{key}: unknown placeholder '{{{name}}}'", remedy="known: {pair}, {source}, {target}"
                )
            if not (source and target):
                raise InputError(
                    f"{key}: '{{{name}}}' needs dataset.pair, like en-de, but it is {quoted(pair)}"
                )
            value = value.replace(f"{{{name}}}", known[name])
        return value

    return filled("resources", resources)


def _placed(value: Any, folder: Path) -> Any:
    if isinstance(value, dict):
        return {key: _placed(inner, folder) for key, inner in value.items()}
    if isinstance(value, list):
        return [_placed(inner, folder) for inner in value]
    return str(folder / value) if isinstance(value, str) else value


def _annotator(name: Any, folder: Path) -> Any:
    if isinstance(name, list | dict):
        return _section_located(name, TreebankSection, folder)
    if not isinstance(name, str):
        return name
    first, plus, added = name.partition("+")
    kind, colon, model = first.partition(":")
    if kind == "udpipe" and model:
        return f"{kind}{colon}{folder / model}{plus}{added}"
    return f"{folder / first}{plus}{added}" if first and not colon and (folder / first).is_dir() else name
