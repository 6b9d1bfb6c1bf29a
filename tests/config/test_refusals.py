"""Experiment files that are refused, and where the refusal points."""

from pathlib import Path

import pytest

from qe.config import load
from tests.config.test_experiment import MINIMAL, RESOURCES
from tests.config.test_extending import BASE
from tests.factories import refuses

# Override -> where the refusal points.
OVERRIDES = {
    "split.fold=3": "'split.fold'; known: .*'folds'",
    "weight_power=0": "weight_power: .*greater than 0, .* 0",
    "search.sampler=annealing": "search.sampler: .*'tpe'",
    "features=[]": "list of extractors",
    "features=[{compat: quest}]": "`kind` or a `set`",
    "folds": "--set: .*key=value, .*'folds'",
    "name.first=x": "'name' is not a section",
}
# What a file changes of base.yaml -> where the refusal points.
CHANGES = {
    "features: {remove: [lms]}": "x.yaml: features.remove: .*'lms'; .*surface, lm,.*'lm'",
    "features: {remove: [{kind: lm}]}": r"names of kinds, .*\{'kind': 'lm'\}",
    "features: {ad: [lm]}": "x.yaml: features: .*'ad'; known: remove, add",
    "features: {}": "`features` must be a list",
    "features: {add: [3]}": r"x.yaml \(extends base.yaml\): features.5: .*`kind`",
    "split: {fold: 3}": r"x.yaml \(extends base.yaml\): .*'split.fold'",
}
# The file x.yaml, the overrides, and where the refusal points.
FILES: dict[str, tuple[str, list[str], str]] = {
    **{override: (MINIMAL, [override], place) for override, place in OVERRIDES.items()},
    **{change: (f"extends: base.yaml\n{change}", [], place) for change, place in CHANGES.items()},
    "a key twice": (f"{MINIMAL}name: other\n", [], "'name' occurs twice"),
    "code": (f"{MINIMAL}description: !!python/object/apply:os.getcwd []\n", [], "not valid YAML"),
    "no pair": (MINIMAL + RESOURCES, [], r"resources.source: '\{pair\}' needs dataset.pair, .*None"),
    "half a pair": (MINIMAL + RESOURCES, ["dataset.pair=ende"], "needs dataset.pair, .*'ende'"),
    "placeholder": (MINIMAL + "resources: {bundle: '{lang}'}\n", [], r"'\{lang\}'; known: \{pair\}"),
    "extends itself": ("extends: x.yaml", [], "x.yaml: extends: .*circle: x.yaml extends x.yaml"),
    "a circle": ("extends: y.yaml", [], "x.yaml: extends: .*: x.yaml extends y.yaml extends x.yaml"),
    "no such file": ("extends: none.yaml", [], "x.yaml: extends: no such .*none.yaml"),
    "two files": ("extends: [y.yaml]", [], r"extends: .*\['y.yaml'\]"),
    "a list": ("extends: list.yaml", [], "list.yaml: .*mapping"),
    "added to nothing": ("features: {add: [lm]}", [], "in `extends`"),
}


@pytest.mark.parametrize("case", FILES)
def test_files(case: str, tmp_path: Path) -> None:
    content, overrides, place = FILES[case]
    for name, text in {"x": content, "base": BASE, "y": "extends: ./x.yaml", "list": "[a]"}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    refuses(place, load, tmp_path / "x.yaml", overrides=overrides)


def test_no_file(tmp_path: Path) -> None:
    refuses("absent.yaml: no such", load, tmp_path / "absent.yaml")
