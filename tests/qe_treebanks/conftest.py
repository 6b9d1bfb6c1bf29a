"""A folder of annotators for all tasks, trained once for the room."""

from pathlib import Path

import pytest

from qe_treebanks.annotator_folder import train
from tests.factories import TempPaths
from tests.qe_treebanks.annotators.made import write_conllu, write_entities, write_trees


@pytest.fixture(scope="session")
def trained(tmp_path_factory: TempPaths) -> Path:
    root = tmp_path_factory.mktemp("annotators")
    treebank = write_conllu(root / "t.conllu")
    for task in ("pos", "dependencies"):
        train(task, [treebank], "es", root / "es", {"epochs": 1})
    train("constituents", [write_trees(root / "t.mrg")], "es", root / "es", {"n_best": 3})
    train("entities", [write_entities(root / "t.ner")], "es", root / "es", {"epochs": 1})
    return root / "es"
