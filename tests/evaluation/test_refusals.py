"""What evaluation refuses, by the place that the message names."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qe.data import read_scores, read_submission
from qe.data.tag_files import read_tags
from qe.evaluation import leaderboard
from qe.evaluation.evaluate import evaluate
from qe.evaluation.oracles import PostEdited, oracle
from qe.evaluation.plots import delta_avg_by_quantiles, predicted_against_gold, residuals
from qe.evaluation.word_level import evaluate_words
from qe.statistics.settings import PowerSettings, SignificanceSettings
from qe.training.plots import feature_importance, study_history
from tests.evaluation.test_evaluate import EFFORT
from tests.evaluation.test_oracles import PAIRS, texts
from tests.evaluation.test_word_level import EVALUATE, scored, simulated
from tests.factories import SPANISH, ran, refuses

GOLD = np.array([5.0, 4, 3, 2, 1])
EMPTY = texts(PAIRS[0], ("a", " "), *PAIRS[:3])
THREE = np.array([1.0, 2.0, 3.0])
TAGS, BAD, OFFSETS = simulated(20, 5)
# What is refused, the function and its arguments.
CASES: list[tuple[Any, ...]] = [
    ("oracle 'ter'; known: effort, hter, bleu", oracle, "ter", GOLD, EFFORT),
    ("bleu needs translations", oracle, "bleu", GOLD, EFFORT),
    ("5 post-edits, but 2 gold", oracle, "hter", GOLD[:2], EFFORT, texts(*PAIRS)),
    ("segment 2 has an empty post-edit", oracle, "hter", GOLD, EFFORT, EMPTY),
    ("1 translations, but 2 post-edits", PostEdited, ["a"], ["a", "b"], SPANISH),
    ("3 gold labels, but 2 predictions of 'a'", evaluate, THREE, {"a": THREE[:2]}, EFFORT),
    ("segment 2 of 'a' is nan", evaluate, THREE, {"a": np.array([1, np.nan, 2])}, EFFORT),
    ("no gold labels", evaluate, THREE[:0], {"a": THREE[:0]}, EFFORT),
    ("baseline 'mean'; known: a", partial(evaluate, baselines=["mean"]), THREE, {"a": THREE}, EFFORT),
    ("metric 'maee'.*'mae'", partial(evaluate, metrics=["maee"]), THREE, {"a": THREE}, EFFORT),
    ("3 segments, but 2 groups", partial(evaluate, groups={"judge": [1, 2]}), THREE, {"a": THREE}, EFFORT),
    ("not a correction; use --test", partial(SignificanceSettings, correct="tukey")),
    ("samples.* 19, but got 1:", partial(SignificanceSettings, samples=1)),
    ("samples.* 19, but got -1:", partial(SignificanceSettings, samples=-1)),
    ("seed.* got -1", partial(SignificanceSettings, seed=-1)),
    ("known: metric, table, all", partial(SignificanceSettings, family="x")),
    ("samples.* 199 for 10", partial(PowerSettings, samples=99, comparisons=10)),
    ("baseline 'x'", partial(evaluate_words, baselines=["x"]), TAGS, {"a": BAD >= 0.5}, OFFSETS),
    *(("no pair", draw, [np.nan], [1.0], EFFORT) for draw in (predicted_against_gold, residuals)),
    *(("equal length", draw, [1.0, 2.0], [1.0], EFFORT) for draw in (predicted_against_gold, residuals)),
    ("no value of DeltaAvg", delta_avg_by_quantiles, {"a": []}),
    ("2 names, 1 values", feature_importance, ["a", "b"], [1.0]),
    ("no feature importance", feature_importance, ["a"], [np.nan]),
    ("no finished trial", study_history, [np.nan], "minimize", "MAE"),
    ("holds no finished run", leaderboard.make, [Path(__file__).parent]),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_what_is_refused(case: tuple[Any, ...]) -> None:
    refuses(*case)


def odd_tags(path: Path) -> Any:
    return read_tags(path).parts("tags")


# A file of this text, how it is read, and what is refused of it.
FILES: list[tuple[str, Any, str]] = [
    ("S\t1\t2.0\n", read_submission, "f.tsv:1: expected METHOD, SEGMENT, SCORE, RANK"),
    ("S\t1\t2.0\t1\nT\t2\t2.0\t2\n", read_submission, "records of 2 systems"),
    ("S\t1\t2.0\t1\nS\t1\t2.0\t2\n", read_submission, "f.tsv:2: segment 1 .*twice, first at .*f.tsv:1"),
    ("S\t1\t2.0\t1\nS\t3\t2.0\t2\n", read_submission, "f.tsv:2: segment 3 .*2 is missing"),
    ("S\t1\t2.0\t1\nS\t2\t2.0\t1\n", read_submission, "f.tsv:2: rank 1"),
    ("S\t1\tnan\t1\n", read_submission, "f.tsv:1: the score is 'nan'"),
    ("S\t1\t2,5\t1\n", read_submission, "f.tsv:1: the score is '2,5'"),
    ("", read_submission, "the file is empty"),
    ("T\t1\t0\t0\n", read_submission, "neither scores nor ranks"),
    ("T\t1\t0\t1\nT\t2\t0\t2\n", read_scores, "ranks only"),
    ("id\tscore\na\t1\n", partial(read_scores, column="x"), "no column 'x'.* id, score"),
    ("OK 0.5\n", read_tags, "f.tsv:1: tags and numbers"),
    ("OK GOOD\n", read_tags, "f.tsv:1: 'GOOD' is neither"),
    ("0.5 1.5\n", read_tags, "f.tsv:1: '1.5' is neither"),
    ("nan\n", read_tags, "'nan' is neither"),
    ("\n", read_tags, "no tags"),
    ("OK OK OK\nOK OK\n", odd_tags, "f.tsv:2: 2 tags, .* odd"),
    ("OK\n", lambda path: read_tags(path).parts("word"), "unknown layout"),
]


@pytest.mark.parametrize(("text", "read", "place"), FILES)
def test_files_that_are_refused(text: str, read: Any, place: str, tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_text(text)
    refuses(place, read, tmp_path / "f.tsv")


ONE = "evaluate --gold gold.txt --predictions svr.txt "
WORDS = EVALUATE + " --predictions model.jsonl "
COMMANDS: list[tuple[str, str, dict[str, Any]]] = [
    ("evaluate --gold gold.txt --predictions short.txt", "short.txt: 1 scores of 'short', but 60", {}),
    ("evaluate --gold gold.txt --predictions words.txt", "words.txt:1: the score", {}),
    (ONE + "svr.txt", "--predictions: 'svr' is given twice; use NAME=FILE", {}),
    (ONE + "--baseline nobody", "baseline 'nobody'", {}),
    (ONE + "--scale-high 2", "off the declared scale", {}),
    (ONE + "--official --baseline svr", "--official only scores", {}),
    (ONE + "--group judge=judges.txt", "judges.txt, line 60: names no group", {}),
    (WORDS, "no probabilities `source_bad`", {"source_bad": None}),
    (WORDS, "`source_tags` must be OK or BAD", {"source_tags": ["GOOD"]}),
    (WORDS, "model.jsonl:2: no probabilities `bad`", {"bad": [1.5]}),
    (WORDS, "tags need a threshold", {"tags": None}),
    (WORDS + "--layout words", "--source-gold needs the layout `tags`", {}),
    (WORDS + "--source-predictions b=b.probs", "--source-predictions names 'b'", {}),
    ("compare", "nothing to compare", {}),
    ("compare missing", "two or more", {}),
    ("compare missing missing --csv", "--csv is for MT systems", {}),
    ("compare missing --system a=b", "exclude each other", {}),
    ("compare missing missing --level 0.01", "--level is for MT systems", {}),
]


@pytest.mark.parametrize(("command", "place", "changes"), COMMANDS)
def test_what_commands_refuse(
    command: str, place: str, changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scores = "".join(f"{1 + i % 40 / 10}\n" for i in range(60))
    texts = {"gold.txt": scores, "svr.txt": scores, "short.txt": "3.0\n", "words.txt": "good\n" * 60}
    texts["judges.txt"] = "ann\n" * 59 + "\n"
    tags = {"gold.tags": "OK BAD OK OK OK\nBAD OK OK\n", "b.probs": "0.1 0.9 0.2 0.1 0.3\n0.6 0.2 0.1\n"}
    for name, text in (texts | tags).items():
        Path(name).write_text(text)
    scored(tmp_path, **changes)
    told = " ".join(ran(*command.split(), code=2).err.split())
    assert re.search(place, told), told
