"""What rankings, correlations and effort reports refuse, a row each: the place with words of the rule, and
the call, or the command line, in a folder with the files below."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from features.basics.assignments import configured
from qe_human.effort.correlations import Draws, spearman_association
from qe_human.effort.report import analyse
from qe_human.effort.sets import Limits
from qe_human.human import CORRELATIONS, Human
from qe_human.judgements.collection import JudgedPair, PairwiseCounts
from qe_human.judgements.ranking_report import ranking_report
from qe_human.judgements.reading import chosen_pairs, read_judgements
from qe_human.metric_evaluation.reading import from_metrics_eval, from_rankings, from_tables, read_human_table
from qe_human.ranking_method import RANKINGS
from qe_human.settings import CorrelationSettings, RankSettings
from tests.factories import Monkeypatch, ran, refuses
from tests.qe_human.correlations.test_correlations import NAN, TEXTS
from tests.qe_human.effort.test_report import annotated, conllu
from tests.qe_human.judgements.test_reading_judgements import HEADER, TASKS, wmt_row
from tests.qe_human.metric_evaluation.test_reading_scores import RANKED, write_metrics_eval

HOUSE = [("La", "el", "DET"), ("casa", "_", "NOUN"), (".", ".", "PUNCT")]
COUNTS = "system_a,system_b,wins,ties,losses"
BLANKS = "\t_" * 8
FILES = {
    "judged.csv": "\n".join([HEADER, *map(wmt_row, TASKS)]) + "\n",
    "ranks.csv": RANKED,
    "counts.csv": COUNTS + ",source_language,target_language\na,b,1,0,0,Czech,English\n",
    "human.tsv": "system\tsegment\tscore\na\t1\t5\na\t2\t3\nb\t1\t\nb\t2\t1\n",
    "judges.csv": "system,id,judge,adequacy,fluency\na,1,x,5,1\na,1,y,4,1\nb,1,x,2,1\n",
    "m.tsv": "system\tsegment\tbleu\ta\na\t1\t5\tx\n",
    "mt.conllu": conllu([HOUSE] * 4),
    "mt.txt": "La casa\n",
    "columns.conllu": "1\tLa\tel\n",
    "form.conllu": f"1\t{BLANKS}\n",
    "id.conllu": f"١\tLa{BLANKS}\n",
    "effort": "2\n5\n4\n5\n",
    "two": "2\n5\n",
    "full/letter.txt": "dear",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: Monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, "utf-8")
    return tmp_path


def file(name: str, read: Any, *lines: str) -> Any:
    def written() -> None:
        Path(name).write_text("\n".join(lines) + "\n", "utf-8")
        read(Path(name))

    return written


judgements = partial(file, "j.csv", lambda path: chosen_pairs(read_judgements([path]), []))
table = partial(file, "t.tsv", lambda path: from_tables(Path("human.tsv"), None, [str(path)], None, []))
export = partial(file, "scores.csv", lambda path: read_human_table(path, None))


def changed(change: Any) -> Any:
    """A file of judgements whose last row is another."""
    return judgements(HEADER, wmt_row(TASKS[1]), change(wmt_row(TASKS[0])))


def tables(files: list[str], columns: Any = None, lower: Any = (), people: Any = ("human.tsv", None)) -> Any:
    return partial(from_tables, Path(people[0]), people[1], files, columns, lower)


def ranked(pair: str | None, method: str) -> Any:
    return partial(from_rankings, [Path("ranks.csv")], pair, ["m.tsv"], ["bleu"], [], method, "_ref")


def metrics_eval(*options: Any, file: str = "", text: str | None = None) -> Any:
    """A folder of mt-metrics-eval in which a file has another text, or is gone."""

    def read() -> None:
        root = write_metrics_eval(Path("wmt99"))
        if text is not None:
            (root / file).write_text(text)
        elif file:
            (root / file).unlink()
        from_metrics_eval(root, *(options or (None, None, None)), [])

    return read


def correlation(text: str, **people: Any) -> Any:
    gold = Human(("a", "b"), ("1",), **people)
    return lambda: configured(CORRELATIONS, text).problem(gold, np.ones((1, 2), bool))


def one_system() -> None:
    counts = PairwiseCounts(("_ref", "a"), np.array([[0, 3], [1, 0]]), np.zeros((2, 2), np.int64))
    ranking_report(JudgedPair("x", counts, None), {"bojar": RANKINGS.get("bojar")()})


def effort(*scores: float) -> Any:
    texts = annotated(["a"] * 3)
    return lambda: analyse(texts, texts, np.array(scores), draws=Draws(samples=50, permutations=50))


LONG = "source_language,target_language,segment,judge,system,rank"
BLEU = "metric-scores/en-de/BLEU-refA.seg.score"
BY_NAME = "system\tsegment\tbleu"
REFUSED = [
    # files of judgements
    (r"^j\.csv:3: the rank is '6'", changed(lambda row: row.replace(",-1", ",6"))),
    (r"^j\.csv:3: the rank is 'good'", changed(lambda row: row.replace(",-1", ",good"))),
    (r"^j\.csv:3: expected 21 columns .*found 22", changed(lambda row: row + ",1")),
    (r"^j\.csv:3: expected 21 columns .*found 20", changed(lambda row: row.rpartition(",")[0])),
    (r"^j\.csv:3: a system without a name", changed(lambda row: row.replace(",b,", ",  ,"))),
    (r"^j\.csv:3: not valid CSV", changed(lambda row: row.replace(",b,", ',"b,'))),
    (r"^j\.csv: .*is empty", judgements("")),
    (r"^j\.csv:1: begins like no known file", judgements("a,b")),
    (r"^j\.csv:1: no column 'judgeId'", judgements(HEADER.replace("judgeId", "judge"))),
    (r"^j\.csv:1: no column 'system2Id'", judgements(HEADER.replace("system2Id", "second"))),
    ("the files hold no judgements", judgements(HEADER)),
    (r"^j\.csv:2: a system without", judgements(LONG, "a,b,1,j,,1")),
    (r"^j\.csv:2: the rank is '9'", judgements(LONG, "a,b,1,j,s,9")),
    (r"^j\.csv:2: expected 6 columns", judgements(LONG, "a,b,1,j,s")),
    (r"^j\.csv:2: the count is '-3'", judgements(COUNTS, "a,b,1,2,-3")),
    (r"^j\.csv:2: 'a' is compared with itself", judgements(COUNTS, "a,a,1,2,3")),
    (r"^j\.csv:2: 'a' and 'b' appear twice", judgements("a b 1 2 3", "a b 1 2 3")),
    (r"^j\.csv:2: 'b' and 'a' have counts \(1, 2, 3\)", judgements("a b 1 2 3", "b a 1 2 3")),
    (r"^j\.csv:2: expected 5 columns", judgements("a b 1 2 3", "a b 1 2")),
    ("Czech-English comes both as tasks and as counts",
     partial(read_judgements, [Path("judged.csv"), Path("counts.csv")])),
    # scores and metrics
    ("hold no column of numbers", table(BY_NAME, "a\t1\tx1")),
    (r"^t\.tsv:3: 'a 1' has two rows", table(BY_NAME, "a\t1\t5", "a\t1\t6")),
    (r"^t\.tsv:2: a score without a system", table(BY_NAME, "\t1\t5")),
    (r"^t\.tsv:1: .*neither a column 'system' nor", table("engine\tbleu", "a\t5")),
    ("'bleu' scores no translation", table(BY_NAME, "z\t1\t5")),
    (r"^m\.tsv:2: .*not a number \('x'\)", tables(["m.tsv"], ["a"])),
    ("^--columns: unknown column 'blue'", tables(["m.tsv"], ["bleu", "blue"])),
    ("^--lower-is-better: unknown metric 'ter'", tables(["m.tsv"], None, ["ter"])),
    ("'bleu' of 'a 1' has been read", tables(["m.tsv"] * 2)),
    ("no column 'scores' of scores", tables(["m.tsv"], people=("human.tsv", "scores"))),
    ("--human-column: adequacy, fluency", tables(["m.tsv"], people=("judges.csv", None))),
    ("which language pair", export("u1,A,1,TGT,eng,deu,1", "u1,A,1,TGT,eng,ces,2")),
    (r"^scores\.csv:2: expected annotator", export("u1,A,1,TGT,eng,deu,1", "u1,A,1,TGT,eng,deu")),
    ("no judgements of translations", export("u1,A,1,BAD,eng,deu,1")),
    ("^--ranking-method: unknown ranking method", ranked(None, "most_probable")),
    ("no judgements of 'Czech-French'", ranked("Czech-French", "expected_wins")),
    ("^full: holds no human-scores", partial(from_metrics_eval, Path("full"), None, None, None, [])),
    ("^--pair: unknown language pair 'en-cs'", metrics_eval("en-cs", None, None)),
    ("^--gold: unknown human score 'da'", metrics_eval(None, "da", None)),
    ("^--columns: unknown metric 'chrF'", metrics_eval(None, None, ["chrF"])),
    (f"{BLEU}: 'good' has 2 scores, not 3", metrics_eval(file=BLEU, text="good 3\ngood 4\n")),
    (f"{BLEU}:2: expected a system", metrics_eval(file=BLEU, text="good 3\ngood\n")),
    ("no such file of sources", metrics_eval(file="sources/en-de.txt")),
    # correlations and ranking methods
    *((f"needs .*{'systems' if 'accuracy' in text or 'system_' in text else 'translations'} .*all metrics",
       correlation(text, scores=np.full((1, 2), NAN))) for text in TEXTS),
    *(("only .*system scores|are rankings or system scores",
       correlation(text, system_scores=np.array([1.0, 2.0])))
      for text in TEXTS if not text.startswith(("pairwise", "system_"))),
    ("0 < confidence < 1", partial(CorrelationSettings, confidence=1.0)),
    ("permutations .*at least 19", partial(CorrelationSettings, permutations=5)),
    ("^--resample: .*'judges'; known: both, segments", partial(CorrelationSettings, resample="judges")),
    ("^--exchange: .*'judge'; known: segment", partial(CorrelationSettings, exchange="segment+judge")),
    ("unknown correction 'sidak'", partial(CorrelationSettings, correct="sidak")),
    ("0 < level < 1", partial(CorrelationSettings, level=0.0)),
    ("seed .*negative", partial(CorrelationSettings, seed=-1)),
    ("unknown correction 'holms'", partial(RankSettings, correct="holms")),
    ("unknown .*'words'", partial(RankSettings, draw="words")),
    ("0 < confidence < 1", partial(RankSettings, confidence=1.0)),
    ("0 < level < 1", partial(RankSettings, level=1.0)),
    ("unknown ranking method 'soccr'", partial(configured, RANKINGS, "soccr")),
    ("unknown option 'x'", partial(configured, RANKINGS, "bojar:x=1")),
    ("prior must be above 0", partial(configured, RANKINGS, "bradley_terry:prior=0")),
    ("0 <= draw < 1 must hold", partial(configured, RANKINGS, "trueskill:draw=1")),
    ("spread must be above 0", partial(configured, RANKINGS, "trueskill:spread=-1")),
    ("'draw' .*a number or null, but got 'much'", partial(configured, RANKINGS, "trueskill:draw=much")),
    ("tournaments must be at least 1", partial(configured, RANKINGS, "monte_carlo_playoffs:tournaments=0")),
    ("no two systems of x are compared", one_system),
    # effort
    ("finite and of equal length", partial(spearman_association, np.arange(3.0), np.arange(4.0))),
    ("finite and of equal length", partial(spearman_association, np.array([1, NAN]), np.arange(2.0))),
    ("low <= high must hold .* 4.0 and 3.0", partial(Limits, low_effort=4.0, high_effort=3.0)),
    ("3 translations.* 2 effort scores", effort(1.0, 2.0)),
    ("segment 2 has no effort score", effort(1.0, NAN, 3.0)),
]  # fmt: skip


@pytest.mark.parametrize(("location", "call"), REFUSED)
def test_refused(location: str, call: Any) -> None:
    refuses(location, call)


EFFORT = "effort --target mt.conllu --post-edit mt.conllu --effort effort --target-language es"
BOTH = "correlate --human human.tsv --metrics m.tsv"
COMMANDS = [
    ("no judgements of 'Czech-Englsh'", "rank judged.csv --pair Czech-Englsh"),
    ("--ranges: no method 'soccr'", "rank judged.csv --ranges soccr"),
    ("--ranges: no method 'all'", "rank judged.csv --ranges all bojar"),
    ("samples must be at least 0", "rank judged.csv --samples -1"),
    ("only one of", "rank judged.csv --json --latex"),
    ("one of --human, --rankings and --metrics-eval", "correlate"),
    ("got --human and --metrics-eval", "correlate --human human.tsv --metrics-eval x"),
    ("unknown .*'person'", f"{BOTH} --correlations person"),
    ("--resample: .*'x'", f"{BOTH} --resample x"),
    ("mt.txt, mt.conllu: one side is CoNLL-U, the other plain text", f"{EFFORT} --target mt.txt"),
    ("4 translations, 4 post-edits and 2 effort scores", f"{EFFORT} --effort two"),
    ("two: 2 sources, but 4 translations", f"{EFFORT} --source two"),
    ("low <= high must hold", f"{EFFORT} --low-effort 5"),
    ("unknown correction 'x'", f"{EFFORT} --correct x"),
    (r"columns\.conllu, segment 1: CoNLL-U has 10 columns", f"{EFFORT} --target columns.conllu"),
    (r"form\.conllu, segment 1: a word without form", f"{EFFORT} --target form.conllu"),
    (r"id\.conllu, segment 1: .*is no id of a word", f"{EFFORT} --target id.conllu"),
    ("full: holds 'letter.txt' and no output of `qe effort`", f"{EFFORT} --output full"),
    ("[.]: holds the input mt.conllu", f"{EFFORT} --output ."),
]


@pytest.mark.parametrize(("location", "command"), COMMANDS)
def test_refused_and_nothing_is_written(location: str, command: str, folder: Path) -> None:
    done = ran(*command.split(), code=2)
    assert re.search(location, done.err), done.err
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert done.out == "" and files == set(FILES)
