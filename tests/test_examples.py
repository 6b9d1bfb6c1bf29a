"""What small functions of qe give for one input each, module by module."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qe.data.check
import qe.models.robustness_table
import qe.scoring.filtering
import qe.statistics.metric
import qe.systems.text_metric
import qe.tracking.address
from features.storage.damage import Damaged
from qe.data.delimited import is_sgm
from qe.data.headers import higher_is_better, key_of, numbers_of, says_languages, unknown_pair
from qe.data.reading import number_in, number_problem
from qe.data.score_files import is_submission, named_fields, ranks_of
from qe.data.split import LabelScale
from qe.display.numbers import estimate, fixed, probability, span, starred
from qe.language.taggers import is_program
from qe.learning.learners.checks import contiguous_folds
from qe.learning.selectors.columns import uncorrelated
from qe.models.artifact import decode
from qe.models.taxonomies.groups import Prediction
from qe.models.training_rows import Learned
from qe.production.server.app import check_proxies
from qe.production.server.monitoring import bounds
from qe.production.server.protocol import escaped
from qe.resources.bundle_source import rows_of_own_corpus
from qe.resources.settings import parsed
from qe.scoring.checks import is_similar, language_probabilities
from qe.scoring.row_formats import name_pairs
from qe.statistics.family import copies_of
from qe.statistics.metrics.ranking import tie_groups
from qe.systems.mt_metrics.table import SegmentScores
from qe.systems.text_metric import metric, tokenizations_of
from qe.tracking.logged_models import example
from qe.training.reading import letters
from tests.factories import refuses

EXAMPLES: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
    (qe.data.check.parse_settings, (["pair=en-de", "label.low=1"],), {"pair": "en-de", "label": {"low": 1}}),
    (unknown_pair, (["sí", "no", "", "no"],), ("no", "sí")),
    (unknown_pair, (["1", "x"],), None),
    (numbers_of, (["ok", "BAD", "?"], ("OK", "BAD")), ["0", "1", "?"]),
    (key_of, (" Z-Mean ",), "z_mean"),
    (higher_is_better, ("HTER", None, ""), False),
    (higher_is_better, ("score", True, ""), True),
    (says_languages, ("Src-Lang",), True),
    (says_languages, ("source",), False),
    (number_problem, ("3.5", 1, 5), None),
    (number_in, ("2.5\x1f",), 2.5),
    (is_submission, ("SYS\t1\t3.5\t2",), True),
    (is_submission, ("id\tsource\ttarget\tscore",), False),
    (is_sgm, (Path("newstest2014-src.en.sgm"),), True),
    (is_sgm, (Path("a.SGML.gz"),), True),
    (is_sgm, (Path("a.en"),), False),
    (span, (0.0001234, 18320.4), "[0.0001234, 18,320]"),
    (starred, (estimate(0.25, (0.125, 0.5), 2), 0.01, 0.05), "0.25 [0.12, 0.50]*"),
    (probability, (0.05,), ".05"),
    (fixed, (1234.5, 2), "1234.50"),
    (is_program, ("apertium+hunspell",), True),
    (is_program, ("spacy:es_core_news_md",), True),
    (is_program, ("spacy:../model",), False),
    (escaped, ("a\n\u202e", 9), "a\\n\\u202e"),
    (escaped, ("abcdef", 3), "abc..."),
    (check_proxies, (["10.0.0.1", "10.1.0.0/16"],), ["10.0.0.1", "10.1.0.0/16"]),
    (is_similar, ("Europe", "Europa"), True),
    (is_similar, ("London", "Madrid"), False),
    (qe.scoring.filtering.parse_settings, (["length.maximum=100"],), {"length.maximum": "100"}),
    (name_pairs, (["source=en,target=de", "id="], "--columns"), {"source": "en", "target": "de", "id": ""}),
    (qe.tracking.address.kind_of, ("postgresql+psycopg://host/name",), "postgresql"),
    (qe.tracking.address.kind_of, ("sqlite:///mlflow.db",), "sqlite"),
    (letters, ("It &apos;s Anna 's .",), letters("It's Anna's.")),
    (
        parsed,
        (["target_lm.order=4", "target_lm.prune=true"],),
        {"target_lm": {"order": "4", "prune": "true"}},
    ),
]


@pytest.mark.parametrize(("function", "given", "expected"), EXAMPLES)
def test_an_example(function: Callable[..., Any], given: tuple[Any, ...], expected: Any) -> None:
    assert function(*given) == expected


def test_examples_of_files_and_texts() -> None:
    record: Mapping[str, str] | None = named_fields(
        "en-de\tSYS\t0\t1.5", [("pair", "method", "segment", "score")]
    )
    assert record and record["score"] == "1.5"
    row = {"source": "one two three .", "alignment": "0-0 1-1 2-2 3-3"}
    assert example(["source", "alignment"]).to_dict("records") == [row]
    probabilities = language_probabilities("De kinderen spelen in de tuin.")
    assert max(probabilities, key=lambda language: probabilities[language]) == "nl"


def test_examples_of_arrays() -> None:
    assert ranks_of(np.array([2.0, 3.0, 2.0])).tolist() == [2, 1, 3]
    groups, count = tie_groups(np.array([2.0, 1.0, 2.0]))
    assert groups.tolist() == [1, 0, 1] and count == 2
    assert [test.tolist() for _, test in contiguous_folds(5, 2)] == [[0, 1, 2], [3, 4]]
    columns = np.array([[1.0, -2.0, 0.0], [2.0, -4.0, 1.0], [3.0, -6.0, 0.0]])
    assert uncorrelated(columns, 0.999).tolist() == [True, False, True]
    assert [rows.tolist() for rows in rows_of_own_corpus(7)] == [[0, 1, 3, 4, 6], [2, 5]]
    systems = {"a": np.array([0.0, 1]), "b": np.array([1.0, 1]), "c": np.array([-0.0, 1])}
    assert copies_of(systems) == {"a": "a", "b": "b", "c": "a"}
    assert SegmentScores().score(["0.5", "0.7"], []) == pytest.approx(0.6)
    metrics = [metric("bleu:tokenize=intl"), metric("ter"), metric("chrf")]
    assert tokenizations_of(metrics) == ["intl"]
    assert bounds(0, 1, np.array([]))[:3] == [0.1, 0.2, 0.3]
    assert Learned.make([("a", "b")]).knows([("a", "b"), ("a", "B")]).tolist() == [True, False]
    bands = Prediction([2.0, 3.0]).numbers(np.array([1.5, 2.0, 4.5]), np.zeros(3), ())
    assert bands.tolist() == [0, 1, 2]


def test_a_wrong_type_in_a_models_file_is_named() -> None:
    scale = {"name": "effort", "low": 1, "high": None, "higher_is_better": "no"}
    message = "`higher_is_better` must be true or false, but is 'no'"
    refuses(message, decode, LabelScale, scale, "", error=Damaged)
