"""Metrics over several language pairs: Tables 7 and 8 of the findings of WMT 2012 from Tables 29 to 36."""

import json
from pathlib import Path

import numpy as np
import pytest

from qe_human.human import CORRELATIONS
from qe_human.metric_evaluation.reading import from_rankings
from qe_human.metric_evaluation.report import MetaReport, averages, meta_report, reports_json
from qe_human.metric_evaluation.report_files import write_reports
from qe_human.settings import CorrelationSettings
from tests.factories import Find, qe, refuses

PAIRS = {
    7: ("Czech-English", "German-English", "Spanish-English", "French-English"),
    8: ("English-Czech", "English-German", "English-Spanish", "English-French"),
}
TABLES = {
    7: """SEMPOS .94 .92 .94 .80 .90; AMBER .83 .79 .97 .85 .86; METEOR .66 .89 .95 .84 .83;
        TERRORCAT .71 .76 .97 .88 .83; SIMPBLEU .89 .70 .89 .82 .82; TER .89 .62 .92 .82 .81;
        BLEU .89 .67 .87 .81 .81; POSF .66 .66 .87 .83 .75; BLOCKERRCATS .64 .75 .88 .74 .75;
        WORDBLOCKEC .66 .67 .85 .77 .74; XENERRCATS .66 .64 .87 .77 .74""",
    8: """SIMPBLEU .83 .46 .42 .94 .66; BLOCKERRCATS .65 .53 .47 .93 .64; ENXERRCATS .74 .38 .47 .93 .63;
        POSF .80 .54 .37 .69 .60; WORDBLOCKEC .71 .37 .47 .81 .59; TERRORCAT .65 .48 .58 .53 .56;
        AMBER .71 .25 .50 .75 .55; TER .69 .41 .45 .66 .55; METEOR .73 .18 .45 .82 .54;
        BLEU .80 .22 .40 .71 .53""",
}


def printed(table: int) -> dict[str, list[float]]:
    rows = (row.split() for row in TABLES[table].split(";"))
    return {name: list(map(float, values)) for name, *values in rows}


def reports(table: int, shared_data: Find) -> list[MetaReport]:
    file, metrics = shared_data("human-rankings/raw/wmt12.RNK_results.csv.gz"), list(printed(table))
    scores = [str(Path(__file__).with_name("automatic_scores_2012.tsv"))]  # printed to two digits
    errors = {"TER", "BLOCKERRCATS", "WORDBLOCKEC", "XENERRCATS", "ENXERRCATS"}
    lower = [name for name in metrics if name in errors]
    correlation = {"system_spearman": CORRELATIONS.get("system_spearman")()}
    made = (from_rankings([file], pair, scores, metrics, lower, "bojar", "_ref") for pair in PAIRS[table])
    settings = CorrelationSettings(samples=0, permutations=0)
    return [meta_report(evaluation, correlation, settings) for evaluation in made]


@pytest.mark.parametrize(("table", "off"), [(7, 0.08), (8, 0.12)])
def test_spearman_of_the_findings(table: int, off: float, shared_data: Find) -> None:
    """Scores have two digits only, and rounding makes ties."""
    (found,) = averages(reports(table, shared_data)).values()
    expected = printed(table)
    assert {one.metric for one in found} == set(expected)
    for one in found:
        assert [*one.scores.values()] == pytest.approx(expected[one.metric][:4], abs=off), one.metric
        assert one.mean == pytest.approx(expected[one.metric][4], abs=0.05)
        assert one.mean == pytest.approx(np.mean(list(one.scores.values())))
    best = max(expected, key=lambda name: expected[name][4])
    assert found[0].metric == best


def test_shares_of_comparisons_add_up(shared_data: Find, tmp_path: Path) -> None:
    """Popovic 2012: rank> and rank>=; each comparison is won by one side, or counts for both in rank>=."""
    made = reports(7, shared_data)
    (found,) = averages(made).values()
    assert sum(one.better + one.wins_or_ties for one in found) == pytest.approx(len(found))
    sempos = found[0]
    scores = {one.metric: list(one.scores.values()) for one in found}
    own = np.array(scores.pop("SEMPOS"))
    assert sempos.better == pytest.approx(np.mean(own > np.array(list(scores.values()))))
    write_reports(made, tmp_path)
    told = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert told == json.loads(json.dumps(reports_json(made)))
    assert told["averages"]["system_spearman"]["SEMPOS"]["mean"] == sempos.mean
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == set(PAIRS[7])
    refuses("given twice", averages, [made[0], made[0]])


def test_pairs_of_tables(tmp_path: Path) -> None:
    lines = ["pair\tsystem\tsegment\tscore\tgood\tbad"]
    for pair in ("en-de", "en-fr"):
        for system in range(3):
            for segment in range(4):
                value = system + 0.1 * segment
                bad = -value if pair == "en-de" else value
                lines.append(f"{pair}\ts{system}\t{segment}\t{value}\t{value}\t{bad}")
    file = tmp_path / "scores.tsv"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    call = [
        "correlate", "--human", str(file), "--metrics", str(file), "--columns", "good", "bad",
        "--correlations", "pearson", "--samples", "0", "--permutations", "0",
    ]  # fmt: skip
    for more, code in ((["--pair", "en-de", "en-fr", "--json"], 0), ([], 2), (["--pair", "en-es"], 2)):
        captured = qe(*call, *more)
        assert captured.code == code, captured.err
        if code == 0:
            means = json.loads(captured.out)["averages"]["pearson"]
            assert means["good"]["mean"] == pytest.approx(1) and means["bad"]["mean"] == pytest.approx(0)
            assert means["good"]["better"] == 0.5 and means["good"]["at_least"] == 1
        else:
            assert "choose one with --pair: en-de, en-fr" in captured.err or "en-es" in captured.err
