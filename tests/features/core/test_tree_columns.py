"""Columns of trees: from an experiment's list to a feature table."""

from typing import Any

import numpy as np
import pytest

from features import FeatureSet, Segments
from features.core.tree_columns import TREES, make_trees, numbers, tree_names, without_trees
from tests.factories import refuses

CONFIGS = [
    {"kind": "constituents", "side": "source"},
    {"kind": "dependencies", "side": "source", "tag": "xpos"},
    {"kind": "dependencies", "side": "target"},
]
WORD = "1\t{0}\t_\tNOUN\tNN\t_\t0\troot\t_\t_"


def segments(**changes: Any) -> Segments:
    columns: dict[str, Any] = {
        "source": ("cat", "dog", ""),
        "target": ("gato", "perro", ""),
        "annotation_source": (
            "# text = cat\n# constituency = (NP-SBJ (NN cat))\n" + WORD.format("cat"),
            "# constituency = ( (NP (NN dog)) )\n" + WORD.format("dog"),
            "",
        ),
        "annotation_target": (
            "# constituency = (A b)\n" + WORD.format("gato"),
            "# constituency = (A c)\n" + WORD.format("perro"),
            "",
        ),
    }
    return Segments.from_columns({k: v for k, v in (columns | changes).items() if v is not None})


@pytest.mark.parametrize("kind", TREES.names)
def test_every_kind(kind: str) -> None:
    """One tree per segment of each side; it says what it needs, and can be made again from its config."""
    for side in ("source", "target"):
        (tree,) = make_trees([{"kind": kind, "side": side}])
        assert tree.name == f"{kind}_{side}" and side in tree.description and tree.requires().endswith(side)
        assert type(tree).__doc__ and make_trees([tree.config]) == (tree,)
        texts = segments(**{tree.requires(): None})
        refuses(f"no column '{tree.requires()}'", tree.read, texts)
        batch = tree.read(segments())
        assert len(batch) == 3 and batch.sizes[2] == 0 < batch.sizes[:2].min()


def test_constituents_in_annotations() -> None:
    """Brackets alone, in a comment, or of several sentences; a parser may have found none."""
    (tree,) = make_trees([{"kind": "constituents", "side": "source"}])
    block = WORD.format("x")
    two = f"# constituency = (A b)\n{block}\n\n# constituency = (C d)\n{block}"
    batch = tree.read(segments(annotation_source=("(NP-1 (-NONE- *) (NN cat))", two, block)))
    assert [batch.brackets(i) for i in range(3)] == ["(NP (NN cat))", "( (A b) (C d))", ""]


def test_a_table_has_features_and_trees() -> None:
    chosen = FeatureSet.make([{"kind": "surface", "only": ["tokens_source"]}], None, CONFIGS)
    trees = ["constituents_source", "dependencies_source", "dependencies_target"]
    assert chosen.names == ["tokens_source"] and chosen.columns == [*chosen.names, *trees]
    assert set(chosen.requires()) == {"annotation_source", "annotation_target"}
    table = chosen.extract(segments())
    assert list(table.columns) == chosen.columns and tree_names(table) == trees
    assert [str(tree) for tree in table["constituents_source"]] == ["(NP (NN cat))", "(NP (NN dog))", ""]
    assert str(table["dependencies_source"].iloc[0]) == "(NN root cat)"
    assert str(table["dependencies_target"].iloc[1]) == "(NOUN root perro)"
    assert numbers(table).tolist() == [[1], [1], [0]] and list(without_trees(table).columns) == chosen.names
    plain = without_trees(table)
    assert without_trees(plain) is plain and numbers(plain).dtype == np.float64


def test_the_fingerprint_tells_trees_apart() -> None:
    configs = [{"kind": "surface"}]
    prints = [FeatureSet.make(configs, None, trees).fingerprint for trees in ([], CONFIGS[:1], CONFIGS)]
    other = [CONFIGS[0], {**CONFIGS[1], "tag": "upos"}, CONFIGS[2]]
    assert len({*prints, FeatureSet.make(configs, None, other).fingerprint}) == 4
