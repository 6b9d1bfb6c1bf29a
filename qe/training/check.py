"""Checks of experiments and sweeps: every mistake is reported before data is read or built."""

import importlib.util
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

from sklearn.utils.validation import has_fit_parameter

from features.basics.assignments import assigned
from features.basics.errors import InputError, combined_error, quoted, unknown_name
from features.basics.plugins import is_foreign, load_own, missing
from features.core.bundle import Bundle, known_parts, unknown_part
from features.core.configured import Configured
from features.core.feature_set import FeatureSet, configured, expand, variant
from features.core.tree_columns import make_trees
from features.storage import strict_yaml
from features.storage.files import is_input_file
from features.text.stems import english
from features.text.tokenizer import SEGMENTERS
from qe.config import experiment as experiment_file
from qe.config.experiment import (
    IN_MEMORY,
    DatasetSection,
    Experiment,
    ResourcesSection,
)
from qe.config.stores import check_study_storage
from qe.data.format import option_errors
from qe.evaluation.coverage import BadLabels
from qe.learning.learner import LEARNERS
from qe.learning.parameters import constructor, strategy_mistakes
from qe.learning.selector import SELECTORS
from qe.models.taxonomy import TAXONOMIES
from qe.resources.settings import check_section
from qe.statistics.metric import METRICS
from qe.training.plan import Plan, Space

MAX_POINTS = 1_000_000  # of a grid


def load(path: Path, *, data_root: Path | None = None, overrides: Sequence[str] = ()) -> Plan:
    """The plan of an experiment's file. Raises InputError with all mistakes in one list."""
    try:
        experiment, wrong = experiment_file.draft(path, data_root=data_root, overrides=overrides)
        families = list[Configured]()
        wrong += [mistake for mistake in mistakes(experiment, families) if mistake not in wrong]
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise InputError(f"{quoted(error.filename)}: {error.strerror}", location=path) from None
    if wrong:
        raise combined_error(wrong, experiment.file_names(path))
    return Plan(experiment, families)


def check(experiment: Experiment, *, in_memory: bool = False) -> Plan:
    """The checked plan of an experiment. Raises InputError with everything that is wrong."""
    families = list[Configured]()
    if wrong := list(mistakes(experiment, families, in_memory=in_memory)):
        raise combined_error(wrong, f"experiment '{experiment.name}'")
    return Plan(experiment, families)


def mistakes(experiment: Experiment, families: list[Configured], *, in_memory: bool = False) -> Iterator[str]:
    """All mistakes, a text each; `families` is extended by the extractors whose settings are right."""
    if not (in_memory or experiment.dataset.format == IN_MEMORY):
        yield from _check_dataset(experiment.dataset, "dataset")
    if experiment.auxiliary_datasets and experiment.trees:
        yield "trees: with several datasets there can be none"
    for number, other in enumerate(experiment.auxiliary_datasets, start=1):
        place = f"dataset.{number}"
        yield from _check_dataset(other, place)
        if other.weight != 1:
            for learner in _without_weights(experiment):
                yield f"{place}.weight: the learner '{learner}' takes no weights; leave out `weight`"
    yield from _check_programs(experiment)
    yield from _check_features(experiment, families)
    parts = Plan(experiment, families).parts
    yield from _check_trees(experiment)
    yield from _check_bundle(experiment, experiment.resources, "resources", parts)
    for number, other in enumerate(experiment.auxiliary_datasets, start=1):
        if other.resources is not None:
            yield from _check_bundle(experiment, other.resources, f"dataset.{number}.resources", parts)
    train = experiment.split.train
    if not train:
        yield "split.train: there is none"
    for name in sorted({name for name in train if train.count(name) > 1}):
        yield f"split.train: '{name}' is named {train.count(name)} times"
    yield from _check_intervals(experiment)
    yield from _check_negatives(experiment)
    if experiment.auxiliary_labels and any(section.joint for section in experiment.auxiliary_datasets):
        why = "families would be fitted on rows of another dataset, too"
        yield f"auxiliary_labels: {why}; leave out `together` of the other datasets, or `auxiliary_labels`"
    yield from _check_strategies(experiment)
    yield from _check_search(experiment)
    model = experiment.tracking.model_name
    if model is not None and (not model.strip() or any(sign in model for sign in "/:")):
        yield f"tracking.model_name: no name for a model in MLflow: {quoted(model)}; leave out `/` and `:`"


def _check_dataset(section: DatasetSection, place: str) -> Iterator[str]:
    for error in option_errors(section.format, section.options()):
        text = _placed("dataset", error)
        yield text if place == "dataset" else place + text.removeprefix("dataset")
    if not section.path.exists():
        yield f"{place}.path: no such dataset: {section.path}; check it, or --data-root"


def _check_programs(experiment: Experiment) -> Iterator[str]:
    for language, name in experiment.text.segmenters.items():
        place = f"text.segmenters.{language}"
        if name not in SEGMENTERS.names:
            yield f"{place}: {unknown_name(SEGMENTERS.noun, name, SEGMENTERS.names)}"
            continue
        segmenter = SEGMENTERS.get(name)
        if language not in segmenter.languages:
            yield f"{place}: '{name}' splits {' and '.join(segmenter.languages)}"
        elif importlib.util.find_spec(segmenter.package) is None:
            yield f"{place}: {missing(segmenter.package)}"
    if experiment.translations:
        from qe.language.engine import ENGINES

        for column, name in experiment.translations.items():
            if name not in ENGINES.names:
                yield f"translations.{column}: {unknown_name(ENGINES.noun, name, ENGINES.names)}"
    if experiment.annotations:
        from qe.language.taggers import KNOWN, is_tagger

        if experiment.treebanks:
            yield from load_own("annotations", "treebanks").mistakes(experiment)
        for side, by in experiment.annotations.items():
            if isinstance(by, str) and not is_tagger(by):
                yield f"annotations.{side}: unknown annotator '{by}'; known: {KNOWN}"


def _check_features(experiment: Experiment, families: list[Configured]) -> Iterator[str]:
    for config in experiment.features:
        try:
            expanded = expand([config])
        except InputError as error:
            yield _placed("features", error)
            continue
        for single in expanded:
            errors = list[InputError]()
            try:
                family = configured(single)
                if family.kind.reads_files:
                    yield from _check_files(experiment, single["kind"])
                errors += family.errors()
                if not errors and not list(family.parts()):
                    FeatureSet.of_families([family], None)
            except InputError as error:
                errors.append(error)
            yield from (_placed("features", error) for error in errors)
            families += [] if errors else [family]
    if not (experiment.features or experiment.trees):
        yield "features: there are none"


def _check_files(experiment: Experiment, kind: str) -> Iterator[str]:
    if experiment.auxiliary_datasets:
        yield f"features: '{kind}' reads values of one dataset, but there are several"
    if experiment.negatives is not None:
        yield f"negatives: '{kind}' has no values for perturbed rows; leave out one of both"


def _check_trees(experiment: Experiment) -> Iterator[str]:
    for number, config in enumerate(experiment.trees):
        yield from _checked(f"trees.{number}", partial(make_trees, [config]))
    if not experiment.trees:
        return
    for section in experiment.learner:
        if section.kind in LEARNERS and not LEARNERS.get(section.kind).takes_trees:
            yield f"learner: '{section.kind}' takes no trees; svr_tree_kernels does, for example"
    for section in experiment.selection:
        if section.kind != "none":
            yield f"selection: '{section.kind}' cannot select if there are trees; set `kind: none`"


def _check_bundle(
    experiment: Experiment, section: ResourcesSection | None, place: str, parts: Sequence[str]
) -> Iterator[str]:
    yield from _checked(place, lambda: check_section(section, parts, place))
    if section is None:
        return
    if (bundle := section.bundle) is not None:
        yield from _checked(f"{place}.bundle", lambda: Bundle(bundle).require(parts))
        return
    settings = [{k: v for k, v in config.items() if k != "kind"} for config in experiment.features]
    # Only parts that settings name: to know all parts is to import all kinds of resources.
    for part in {*_texts(settings)}.intersection(parts):
        if part not in known_parts():
            yield _placed("features", unknown_part(part))
    corpus = ("source", "target", "source_annotation", "target_annotation", "alignments")
    for key in (*(() if section.optional else corpus), "source_monolingual", "target_monolingual"):
        path = getattr(section, key)
        if path is not None and not is_input_file(path):
            yield f"{place}.{key}: no such file: {path}"
    if not (section.read or section.settings):
        return
    from qe.resources import corpora, part_inputs
    from qe.resources.settings import checked

    builders = dict(corpora.Alignments(section.alignments).builders())

    def add_reader(part: str, path: Path) -> None:
        builders.update(part_inputs.PartFiles({part: path}).readers)

    for part, path in section.read.items():
        yield from _checked(f"{place}.read.{part}", partial(add_reader, part, path))
    for part, values in section.settings.items():
        for key, value in values.items():
            yield from _checked(f"{place}.settings.{part}", partial(checked, {part: {key: value}}, builders))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


def _check_intervals(experiment: Experiment) -> Iterator[str]:
    section, train = experiment.intervals, experiment.split.train
    if section.calibration in train:
        name = section.calibration
        yield f"intervals.calibration: the split '{name}' is learned from, and so cannot calibrate"
    if section.weighted_to in train:
        name = section.weighted_to
        yield f"intervals.weighted_to: the split '{name}' is learned from: calibration rows are like it"
    if section.row_weights and experiment.weights == "none":
        yield "intervals.row_weights: there are no row weights; set `weights`"
    if section.group_by is None:
        return
    try:
        options = TAXONOMIES.get(section.group_by).options
    except InputError as error:
        yield _placed("intervals.by", error)
        return
    for name in sorted(section.model_fields_set & {"bands", "edges", "column"} - options):
        known = ", ".join(sorted(options))
        yield f"intervals.{name}: does not go with `by: {section.group_by}`; it takes {known}"
    if "column" in options and section.column is None:
        yield f"intervals: `by: {section.group_by}` needs `column`; such as doc_id"


def _check_negatives(experiment: Experiment) -> Iterator[str]:
    if experiment.negatives is None:
        return
    from qe.data.perturbation import names

    for kind in experiment.negatives.kinds:
        if kind not in names():
            yield f"negatives.kinds: {unknown_name('perturbation', kind, names())}"
    if experiment.trees:
        yield "negatives: a kernel over trees takes real rows alone; leave out `trees` or `negatives`"


def _check_strategies(experiment: Experiment) -> Iterator[str]:
    for what, catalogue, sections in (
        ("learner", LEARNERS, experiment.learner),
        ("selection", SELECTORS, experiment.selection),
    ):
        if not sections:
            yield f"{what}: there is none"
        for number, section in enumerate(sections):
            place = what if len(sections) == 1 else f"{what}.{number}"
            for location, text in strategy_mistakes(
                catalogue, section.kind, section.params, section.space, place, f"{place}.params"
            ):
                yield f"{location}: {text}"
            if section.kind in [other.kind for other in sections[:number]]:
                yield f"{place}: '{section.kind}' is named twice; join their search spaces"
    if experiment.weights != "none":
        for kind in _without_weights(experiment):
            yield f"weights: the learner '{kind}' takes no weights; set `weights: none`"


def _without_weights(experiment: Experiment) -> Iterator[str]:
    for section in experiment.learner:
        if section.kind in LEARNERS:
            estimator = constructor(LEARNERS, section.kind)()
            if not has_fit_parameter(estimator, "sample_weight"):
                yield section.kind


def _check_search(experiment: Experiment) -> Iterator[str]:
    section = experiment.search
    if not section.objective:
        yield "search.objective: there is none"
    metrics = [("search.objective", name) for name in section.objective]
    for place, name in (*metrics, ("evaluation.metric", experiment.evaluation.metric)):
        if name not in METRICS:
            yield f"{place}: {METRICS.unknown(name)}"
    if (bad := experiment.evaluation.bad) is not None:
        yield from _checked("evaluation.bad", lambda: BadLabels.parse(bad))
    if (storage := section.storage) is not None:
        yield from _checked("search.storage", lambda: check_study_storage(storage, "search.storage"))
    for path in section.warm_start:
        if not (path / "study.journal").is_file():
            yield f"search.warm_start: no study (study.journal) in {path}; name an output folder of qe train"
    space = Space(experiment.learner, experiment.selection)
    try:
        space.distributions()
    except (InputError, ModuleNotFoundError):  # reported with the strategy
        return
    if is_foreign(section.sampler) or "." in section.sampler or section.pruner or section.sampler_params:
        from qe.training.study import pruner_of, sampler_of  # slow to import, and rarely needed here

        if section.sampler != "grid":
            yield from _checked("search.sampler", lambda: sampler_of(section, 0))
        elif section.sampler_params:
            yield "search.sampler_params: a grid takes none"
        yield from _checked("search.pruner", lambda: pruner_of(section))
        if section.pruner and len(section.objective) > 1:
            yield "search.pruner: Optuna prunes studies of one objective only; search.objective has several"
    if section.sampler == "grid":
        try:
            if (points := space.most_trials(section)) > MAX_POINTS:
                yield f"search.sampler: a grid of {points:,} points; at most {MAX_POINTS:,} can be tried"
        except InputError as error:
            yield _placed("search.sampler", error)


def _checked(place: str, rule: Callable[[], object]) -> Iterator[str]:
    try:
        rule()
    except InputError as error:
        yield _placed(place, error)


def _placed(place: str, error: InputError) -> str:
    text = str(error)
    return text if text.startswith(place) else f"{place}: {text}"


_PACKAGES: Mapping[str, Sequence[str]] = {
    "encoder": ("tokenizers",),
    "multilingual": ("tokenizers",),
    "morphemes": ("morfessor",),
}


@dataclass(frozen=True)
class Needed:
    """A program or package, the place that needs it, and what of it is `absent` (empty: nothing)."""

    place: str
    name: str
    absent: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        state = f"{self.absent}; {self.remedy}" if self.absent else "installed"
        return f"{self.name} ({self.place}): {state}"


def needed(plan: Plan) -> list[Needed]:
    experiment = plan.experiment
    found = list(_programs(experiment))
    for language, name in experiment.text.segmenters.items():
        found.append(Needed(f"text.segmenters.{language}", name))  # the check has refused those that are not
    kinds = [(f"features.{config['kind']}", str(config["kind"])) for config in plan.features]
    kinds += [(f"resources.{part}", known_parts()[part].kind) for part in plan.parts if part in known_parts()]
    for place, kind in dict.fromkeys(kinds):
        found += [_package(place, name) for name in _PACKAGES.get(kind, ())]
    for config in plan.features:
        if config.get("synonyms"):
            wordnet = Needed(f"features.{config['kind']}", "wordnet")
            try:
                english()
            except InputError as error:
                absent = f"{error.location}: {error.problem}"
                wordnet = replace(wordnet, absent=absent, remedy=error.remedy)
            found.append(wordnet)
    if (experiment.search.storage or "").startswith("postgresql"):
        found.append(_package("search.storage", "psycopg"))
    return found


def _package(place: str, name: str) -> Needed:
    if importlib.util.find_spec(name) is not None:
        return Needed(place, name)
    return Needed(place, name, f"the package {name} is not installed", missing(name).remedy)


def _languages(section: DatasetSection) -> tuple[str, str] | None:
    options = section.options()
    pair = str(options.get("pair") or "").split("-")
    if "source_language" in options and "target_language" in options:
        return str(options["source_language"]), str(options["target_language"])
    if len(pair) == 2:
        return pair[0], pair[1]
    return ("en", "es") if section.format == "wmt12" else None


def _programs(experiment: Experiment) -> Iterator[Needed]:
    languages = _languages(experiment.dataset)
    reverse = languages and languages[::-1]
    for side, by in experiment.annotations.items():
        programs = (
            (program for section in by for program in section.programs) if not isinstance(by, str) else ()
        )
        name = by if isinstance(by, str) else "+".join(dict.fromkeys(programs))
        if name:
            from qe.language.taggers import tagger

            pair = languages if side == "source" else reverse
            yield _installed(f"annotations.{side}", name, tagger, pair)
    for column, name in experiment.translations.items():
        from qe.language.engine import engine

        pair = reverse if column == "back_translation" else languages
        yield _installed(f"translations.{column}", name, engine, pair)


def _installed(
    place: str, name: str, make: Callable[[str, str, str], Any], languages: tuple[str, str] | None
) -> Needed:
    try:
        if languages is not None:
            make(name, *languages).fingerprint  # noqa: B018  (asks the program for its version and data)
    except InputError as error:
        return Needed(place, name, error.problem, error.remedy)
    return Needed(place, name)


def without_missing(plan: Plan) -> Plan:
    """The plan without missing annotators and engines, and without features that need them (`omitted`)."""
    absent = [program for program in _programs(plan.experiment) if program.absent]
    if not absent:
        return plan
    from qe.resources.part_inputs import annotated_sides

    places = {program.place for program in absent}
    experiment = plan.experiment.model_copy(
        update={
            section: {key: by for key, by in getattr(plan.experiment, section).items()
                      if f"{section}.{key}" not in places}
            for section in ("annotations", "translations")
        }
    )  # fmt: skip
    columns = {p.replace("annotations.", "annotation_").removeprefix("translations.") for p in places}
    sides = {column.removeprefix("annotation_") for column in columns if column.startswith("annotation_")}
    sides -= set(experiment.resources.annotations()) if experiment.resources else set()

    def lacks(family: Configured) -> bool:
        needs_column = columns & set(family.requires())
        return bool(needs_column or (sides and sides & set(annotated_sides(list(family.parts())))))

    lost = [variant(family.config) for family in plan.families if lacks(family)]
    features = tuple(dict(family.config) for family in plan.families if not lacks(family))
    trees = tuple(tree for tree in experiment.trees if make_trees([tree])[0].requires() not in columns)
    lost += [tree["kind"] for tree in experiment.trees if tree not in trees]
    reasons = dict.fromkeys(f"{program.absent}; {program.remedy}" for program in absent)
    named = ", ".join(f"{program.place} ({program.name})" for program in absent)
    omitted = (
        f"left out: {named}: {' '.join(reasons)}",
        f"left out with them: {', '.join(lost)}" if lost else "no feature needs what is left out",
    )
    changed = experiment.model_copy(update={"features": features, "trees": trees})
    return replace(check(changed), omitted=omitted)


_RANGE: Final = re.compile(r"(-?[0-9]+)\.\.(-?[0-9]+)")
MAX_RUNS: Final = 1000  # of one sweep, unless more are allowed
Setting = Mapping[str, str]  # key -> value, as YAML


def settings_of(sweep: Sequence[str], max_runs: int = MAX_RUNS) -> list[Setting]:
    """All combinations of `KEY=VALUE,VALUE` and `KEY=FIRST..LAST`, at most `max_runs`."""
    values: dict[str, Sequence[Any]] = {}
    for text in sweep:
        key, listed = assigned(text, "key=value,value", "--each")
        if key in values:
            raise InputError(f"--each names '{key}' twice", remedy="give all its values at once")
        span = _RANGE.fullmatch(listed.strip())
        if span:
            values[key] = range(int(span[1]), int(span[2]) + 1)
        else:
            parsed = strict_yaml.parse(f"[{listed}]", f"--each {key}")
            values[key] = [json.dumps(value, ensure_ascii=False).strip('"') for value in parsed]
        if not values[key]:
            raise InputError(f"--each {key}={listed} has no value", remedy="give VALUE,VALUE or FIRST..LAST")
    # The number comes first: a list of all runs might not fit into memory; len() of a range is limited.
    lengths = (v.stop - v.start if isinstance(v, range) else len(v) for v in values.values())
    if (size := math.prod(lengths)) > max_runs:
        remedy = "give fewer values, or a larger --max-runs"
        raise InputError(f"--each makes {size:,} runs, more than {max_runs:,}", remedy=remedy)
    return [dict(zip(values, map(str, point), strict=True)) for point in product(*values.values())]


def plans_of(
    path: Path,
    sweep: Sequence[str],
    *,
    data_root: Path | None,
    overrides: Sequence[str],
    max_runs: int = MAX_RUNS,
) -> list[tuple[Setting, Plan]]:
    """A checked plan for each combination, named after the experiment and its values."""
    name = load(path, data_root=data_root, overrides=overrides).experiment.name
    plans = []
    for setting in settings_of(sweep, max_runs):
        changes = [f"{key}={value}" for key, value in setting.items()]
        labels = [
            ("" if key.endswith((".kind", "features")) else key.rpartition(".")[2]) + value
            for key, value in setting.items()
        ]
        parts = [re.sub(r"[^A-Za-z0-9._]+", "_", label).strip("_") for label in labels]
        run_name = "-".join([name, *parts])
        plan = load(path, data_root=data_root, overrides=[*overrides, *changes, f"name={run_name}"])
        plans.append((setting, plan))
    return plans
