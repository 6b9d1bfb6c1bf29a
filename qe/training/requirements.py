"""Programs, packages and data that an experiment needs, and what remains without them."""

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from features.basics.errors import InputError
from features.basics.packages import missing
from features.core.bundle import known_parts
from features.core.feature_set import configured, parts_needed, variant
from features.core.tree_columns import make_trees
from features.text.synonyms import english
from qe.config.experiment import DatasetSection, Experiment, TreebankSection
from qe.training.check import check
from qe.training.plan import Plan

_PACKAGES: Mapping[str, Sequence[str]] = {"encoder": ("tokenizers",), "morphemes": ("morfessor",)}


@dataclass(frozen=True)
class Needed:
    """A program or package, and where the experiment asks for it.

    absent  what is not installed; empty if nothing
    remedy  the command that installs it
    """

    place: str
    name: str
    absent: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        state = f"{self.absent}; {self.remedy}" if self.absent else "installed"
        return f"{self.name} ({self.place}): {state}"


def needed(plan: Plan) -> list[Needed]:
    """Everything that the experiment needs beside this project and what it always requires."""
    experiment = plan.experiment
    languages = _languages(experiment.dataset)
    found = [*_annotators(experiment, languages), *_engines(experiment, languages)]
    for language, name in experiment.text.segmenters.items():
        found.append(Needed(f"text.segmenters.{language}", name))  # the check has refused those that are not
    kinds = [(f"features.{config['kind']}", str(config["kind"])) for config in plan.features]
    kinds += [(f"resources.{part}", known_parts()[part].kind) for part in plan.parts if part in known_parts()]
    for place, kind in dict.fromkeys(kinds):
        found += [_package(place, name) for name in _PACKAGES.get(kind, ())]
    found += [_wordnet(f"features.{config['kind']}") for config in plan.features if config.get("synonyms")]
    if (experiment.search.storage or "").startswith("postgresql"):
        found.append(_package("search.storage", "psycopg"))
    return found


def _package(place: str, name: str) -> Needed:
    if importlib.util.find_spec(name) is not None:
        return Needed(place, name)
    error = missing(name)
    return Needed(place, name, f"the package {name} is not installed", error.remedy)


def _wordnet(place: str) -> Needed:
    try:
        english()
    except InputError as error:
        return Needed(place, "wordnet", f"{error.location}: {error.problem}", error.remedy)
    return Needed(place, "wordnet")


def _languages(section: DatasetSection) -> tuple[str, str] | None:
    given = section.options()
    pair = str(given.get("pair") or "").split("-")
    if "source_language" in given and "target_language" in given:
        return str(given["source_language"]), str(given["target_language"])
    if len(pair) == 2:
        return pair[0], pair[1]
    return ("en", "es") if section.format == "wmt12" else None


def _annotators(experiment: Experiment, languages: tuple[str, str] | None) -> Iterator[Needed]:
    for side, by in experiment.annotations.items():
        name = by if isinstance(by, str) else "+".join(_programs(by))
        if name:
            from qe.language.programs.taggers import tagger

            pair = languages if side == "source" else languages and (languages[1], languages[0])
            yield _asked(f"annotations.{side}", name, tagger, pair)


def _programs(sections: Sequence[TreebankSection]) -> list[str]:
    return list(dict.fromkeys(name for section in sections for name in section.programs))


def _engines(experiment: Experiment, languages: tuple[str, str] | None) -> Iterator[Needed]:
    from qe.language.engine import engine

    for column, name in experiment.translations.items():
        back = column == "back_translation"
        pair = languages and ((languages[1], languages[0]) if back else languages)
        yield _asked(f"translations.{column}", name, engine, pair)


def _asked(
    place: str, name: str, make: Callable[[str, str, str], Any], languages: tuple[str, str] | None
) -> Needed:
    if languages is None:
        return Needed(place, name)
    try:
        make(name, *languages).fingerprint  # noqa: B018  (asks the program for its version and data)
    except InputError as error:
        return Needed(place, name, error.problem, error.remedy)
    return Needed(place, name)


def without_missing(plan: Plan) -> Plan:
    """The plan without missing annotators and engines, and without features that need them.

    The plan's `left_out` says what. Raises InputError if nothing that can be trained is left.
    """
    absent = [each for each in needed(plan) if each.absent and each.place.startswith(_LEAVABLE)]
    if not absent:
        return plan
    experiment = _without_programs(plan.experiment, {each.place for each in absent})
    columns = {_COLUMN.get(place, place.partition(".")[2]) for place in (each.place for each in absent)}
    sides = {column.removeprefix("annotation_") for column in columns if column.startswith("annotation_")}
    gone = [config for config in plan.features if _needs(config, columns, sides - _with_files(experiment))]
    trees = [tree for tree in experiment.trees if make_trees([tree])[0].requires() not in columns]
    kept = tuple(dict(config) for config in plan.features if config not in gone)
    experiment = experiment.model_copy(update={"features": kept, "trees": tuple(trees)})
    lost = [variant(config) for config in gone] + [t["kind"] for t in experiment.trees if t not in trees]
    return replace(check(experiment), left_out=(_told(absent), _told_lost(lost)))


def _told(absent: Sequence[Needed]) -> str:
    places = ", ".join(f"{each.place} ({each.name})" for each in absent)
    reasons = dict.fromkeys(f"{each.absent}; {each.remedy}" for each in absent)
    return f"left out: {places}: {' '.join(reasons)}"


def _told_lost(lost: Sequence[str]) -> str:
    return f"left out with them: {', '.join(lost)}" if lost else "no feature needs what is left out"


_LEAVABLE = ("annotations.", "translations.")
_COLUMN = {f"annotations.{side}": f"annotation_{side}" for side in ("source", "target", "pseudo_reference")}


def _without_programs(experiment: Experiment, places: set[str]) -> Experiment:
    annotations = {s: by for s, by in experiment.annotations.items() if f"annotations.{s}" not in places}
    translations = {c: by for c, by in experiment.translations.items() if f"translations.{c}" not in places}
    return experiment.model_copy(update={"annotations": annotations, "translations": translations})


def _with_files(experiment: Experiment) -> set[str]:
    return set(experiment.resources.annotations()) if experiment.resources else set()


def _needs(config: Mapping[str, Any], columns: set[str], sides: set[str]) -> bool:
    from qe.resources.annotations import annotated_sides

    if columns & set(configured(config).requires()):
        return True
    return bool(sides & set(annotated_sides(parts_needed([config]))))
