"""MT system comparison: MultEval's example figure by figure, laws, outputs, and every bad input."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from features.storage.files import read_lines
from qe.statistics import tukey_hsd
from qe.statistics.resampling import randomization_tests
from qe.statistics.settings import ResamplingSettings, Test
from qe.systems import System, SystemsComparison, Texts, compare, report
from qe.systems.report import changes
from qe.systems.text_metric import metric
from tests.factories import Find, ran

FOLDER = "golden/multeval"
SHUFFLES = 400_000  # behind the p-values of golden/README.md
# system, metric -> mean over runs, s_test (golden/README.md, MultEval 0.5.1)
MULTEVAL = {
    ("baseline", "bleu"): (18.526808, 0.057280),
    ("baseline", "ter"): (65.656694, 0.203397),
    ("baseline", "length"): (107.544525, 0.121665),
    ("sys1", "bleu"): (18.813470, 0.294001),
    ("sys1", "ter"): (64.816644, 0.589323),
    ("sys1", "length"): (107.700640, 0.724763),
}
NAMES = {"BLEU": "bleu", "TER": "ter", "Length": "length", "baseline": "baseline", "system 1": "sys1"}


def metrics(*names: str) -> dict[str, Any]:
    return {name: metric(name) for name in names}


@pytest.fixture(scope="module")
def example(shared_data: Find) -> SystemsComparison:
    folder = shared_data(FOLDER)

    def texts(name: str) -> Texts:
        return Texts.from_lines(list(read_lines(folder / f"{name}.gz")), name)

    systems = [
        System(name, tuple(texts(f"hyps.lc.tok.en.{name}.opt{run}") for run in range(3)))
        for name in ("baseline", "sys1")
    ]
    return compare(systems, [texts("refs.test2010.lc.tok.en.0")], metrics("bleu", "ter", "length"))


@pytest.mark.parametrize(("system", "name"), MULTEVAL)
def test_mean_and_s_test_equal_multeval(example: SystemsComparison, system: str, name: str) -> None:
    outcome = example.scores[system][name].instability
    assert (outcome.mean, outcome.s_test) == pytest.approx(MULTEVAL[system, name], abs=5e-7)


def test_s_sel_is_within_three_standard_errors_of_nine_runs_of_multeval(
    example: SystemsComparison, shared_data: Find
) -> None:
    lines = read_lines(shared_data(f"{FOLDER}/repeats_summary.tsv"))
    rows = [row for row in csv.DictReader(lines, delimiter="\t") if row["quantity"] == "RESAMPLED_STDDEV_AVG"]
    assert len(rows) == 6
    for row in rows:
        outcome = example.scores[NAMES[row["system"]]][NAMES[row["metric"]]].instability.s_sel
        error = float(row["sd"]) / np.sqrt(float(row["n"]))
        assert abs(outcome - float(row["mean"])) < 3 * error, row


@pytest.mark.parametrize(
    ("exchange", "name", "expected", "samples"),
    [
        ("segment-run", "bleu", 0.00023, 200_000),
        ("segment-run", "length", 0.0967, 20_000),
        ("segment", "bleu", 0.0105, 100_000),
        ("segment", "length", 0.284, 20_000),
        ("any", "length", 0.048, 8_000),
    ],
)
def test_p_values_of_all_runs(
    example: SystemsComparison, exchange: Any, name: str, expected: float, samples: int
) -> None:
    runs = {system: example.scored.statistics[system] for system in ("sys1", "baseline")}
    assert_p(example, runs, name, expected, samples, exchange)


@pytest.mark.parametrize(
    ("run", "name", "expected"),
    [
        (0, "bleu", 0.00066),
        (1, "bleu", 0.94051),
        (2, "bleu", 0.00318),
        (1, "ter", 0.00082),
        (2, "ter", 0.00016),
    ],
)
def test_p_values_of_single_runs(example: SystemsComparison, run: int, name: str, expected: float) -> None:
    runs = {system: example.scored.statistics[system][run : run + 1] for system in ("sys1", "baseline")}
    assert_p(example, runs, name, expected, 100_000, None)


def assert_p(
    example: SystemsComparison,
    runs: Mapping[str, Any],
    name: str,
    expected: float,
    samples: int,
    exchange: Any,
) -> None:
    """Within four Monte-Carlo standard errors of a p-value from `SHUFFLES` (20,000 for `any`) shuffles."""
    measures = {name: example.scored.measures[name]}
    result = randomization_tests(
        runs["sys1"], runs["baseline"], measures, exchange=exchange, samples=samples, seed=1
    )[name]
    behind = 20_000 if exchange == "any" else SHUFFLES
    error = np.sqrt(expected * (1 - expected) * (1 / samples + 1 / behind))
    assert abs(result.p - expected) < 4 * error


def test_the_report_of_the_example(example: SystemsComparison) -> None:
    told = json.loads(json.dumps(example.to_json(), allow_nan=False))
    assert list(told) == ["recipe", "systems", "comparisons", "ranks", "buckets", "single_runs"]
    bleu = told["systems"]["sys1"]["bleu"]
    assert bleu["runs"] == pytest.approx([18.986909, 18.474014, 18.979487], abs=5e-7)
    assert bleu["median_run"] == 2 and bleu["s_dev"] is None
    by_metric = {row["metric"]: row for row in told["comparisons"]}
    assert by_metric["bleu"]["exchange"] == "segment"
    assert by_metric["bleu"]["p_corrected"] == by_metric["bleu"]["p"]  # one system, one metric: a family of 1
    low, high = by_metric["bleu"]["ci"]
    assert 0 < low < by_metric["bleu"]["difference"] < high


def test_table_csv_and_latex_tell_the_same(example: SystemsComparison) -> None:
    rows = report.table(example).body
    assert rows[1][:5] == ("BLEU ↑", "sys1", "18.81", "0.26", "0.29")
    table = list(csv.DictReader(io.StringIO(report.csv_table(example))))
    shown = [(NAMES[row[0].split()[0]], row[1]) for row in rows]
    assert [(row["metric"], row["system"]) for row in table] == shown
    assert float(table[1]["mean"]) == example.scores["sys1"]["bleu"].instability.mean
    assert table[0]["p"] == ""
    latex = report.latex_tables(example)
    assert r"BLEU $\uparrow$" in latex and r"TER $\downarrow$" in latex and "18.81 & 0.26 & 0.29" in latex


# A small artificial task: `new` repairs the first two segments of `old` and breaks the fourth.

REFERENCE = [f"word{i} is here today and tomorrow too" for i in range(12)]
OLD = [line.replace("today", "x") if i % 2 == 0 else line for i, line in enumerate(REFERENCE)]
NEW = [*REFERENCE[:3], "nothing of it", *OLD[4:]]


def small(
    old: list[list[str]], new: list[list[str]], names: Any = ("bleu", "ter"), **options: Any
) -> SystemsComparison:
    systems = [
        System(name, tuple(Texts.from_lines(run, f"{name}.{i}") for i, run in enumerate(runs)))
        for name, runs in (("old", old), ("new", new))
    ]
    settings = ResamplingSettings(**{"samples": 500, **options.pop("settings", {})})
    return compare(
        systems, [Texts.from_lines(REFERENCE, "ref")], metrics(*names), settings=settings, **options
    )


@pytest.mark.parametrize("test", get_args(Test))
@pytest.mark.parametrize("runs", [1, 3])
def test_identical_systems_differ_by_0_with_p_1(test: str, runs: int) -> None:
    built = small([OLD] * runs, [OLD] * runs, settings={"test": test})
    assert [(c.result.difference, c.result.p, c.p_corrected) for c in built.comparisons] == [(0, 1, 1)] * 2


def test_tukey_compares_all_systems_at_once() -> None:
    """Riezler and Maxwell 2005, section 4.4: the p-value of a pair holds for all pairs."""
    outputs = {"a": OLD, "b": NEW, "c": NEW[::-1]}
    systems = [System(name, (Texts.from_lines(lines, name),)) for name, lines in outputs.items()]
    settings = ResamplingSettings(test="tukey", samples=500, seed=3)
    reference = [Texts.from_lines(REFERENCE, "ref")]
    built = compare(systems, reference, metrics("bleu"), settings=settings)
    bleu = metric("bleu")
    statistics = {
        name: bleu.statistics(Texts.from_lines(lines), reference) for name, lines in outputs.items()
    }
    every = tukey_hsd(statistics, bleu.aggregate, samples=500, seed=3)
    for one in built.comparisons:
        assert one.result.p == one.p_corrected == every["a", one.system].p
        assert one.result.difference == pytest.approx(-every["a", one.system].difference)
    assert built.recipe["correct"] == "in the test"


def test_the_claim_is_named_and_the_other_claims_are_told(example: SystemsComparison) -> None:
    bleu, length = example.comparisons[0], example.comparisons[2]
    assert list(bleu.other_claims) == ["segment-run", "run"]
    assert bleu.other_claims["segment-run"].p < 0.002
    assert length.other_claims["segment-run"].p == pytest.approx(0.0967, abs=0.012)
    assert bleu.other_claims["run"].undecided  # 20 ways to deal six runs: no p-value below .1
    assert example.to_json()["comparisons"][0]["other_claims"]["run"] is None


@pytest.mark.parametrize("unit", ["segment", "segment-run"])
def test_tukey_of_several_runs_claims_what_it_exchanges(example: SystemsComparison, unit: str) -> None:
    """Tukey's test of two systems is the randomization test of the same unit."""
    settings = ResamplingSettings(test="tukey", exchange=unit, samples=2000, seed=1)
    built = compare(example.systems, example.references, metrics("bleu", "length"), settings=settings)
    for one in built.comparisons:
        other = next(c for c in example.comparisons if c.metric == one.metric)
        p = other.result.p if unit == "segment" else other.other_claims[unit].p
        assert one.result.exchange == unit
        assert one.result.p == pytest.approx(p, abs=0.03)


def test_segments_and_runs_together_take_the_larger_p() -> None:
    rng = np.random.default_rng(0)
    noisy = [[line if rng.random() < 0.5 else f"{line} x" for line in REFERENCE * 3] for _ in range(8)]
    systems = [
        System(name, tuple(Texts.from_lines(run) for run in runs))
        for name, runs in (("a", noisy[:4]), ("b", noisy[4:]))
    ]

    def p(exchange: str) -> Any:
        settings = ResamplingSettings(exchange=exchange, samples=500)
        return compare(
            systems, [Texts.from_lines(REFERENCE * 3)], metrics("ter"), settings=settings
        ).comparisons[0]

    both, segment, run = (p(unit) for unit in ("segment+run", "segment", "run"))
    assert both.result.p == max(segment.result.p, run.result.p)
    assert both.result.exchange == "segment and run" and list(both.other_claims) == ["segment-run"]


def test_families_leave_length_out_unless_asked() -> None:
    """`new` is better by BLEU and TER in six segments, and as long."""

    def factors(family: str) -> dict[str, float]:
        built = small([OLD], [REFERENCE], ("bleu", "ter", "length"), settings={"family": family})
        return {c.metric: c.p_corrected / c.result.p for c in built.comparisons if c.result.p < 1}

    assert factors("metric") == {"bleu": 1, "ter": 1}
    few = small([OLD], [REFERENCE], ("bleu", "ter", "length"), settings={"family": "table"})
    assert few.recipe["families"]["comparisons"] == {"all metrics with a direction": 2, "length": 1}
    assert all("among 2 comparisons" in c.result.undecided for c in few.comparisons[:2])  # 2 / 64 x 2 > .05
    wide = small([OLD], [REFERENCE], ("bleu", "ter", "length"), settings={"family": "all"})
    assert wide.recipe["families"]["comparisons"] == {"the whole table": 3}


def test_one_segment_is_defined_and_noted() -> None:
    system = [System(name, (Texts.from_lines([text]),)) for name, text in (("old", "a x"), ("new", "a b"))]
    comparison = compare(
        system, [Texts.from_lines(["a b"])], metrics("ter"), settings=ResamplingSettings(samples=50),
        margins={"ter": 90.0}, ranks=True,
    )  # fmt: skip
    equivalence = comparison.comparisons[0].equivalence
    assert equivalence is not None and np.isnan(equivalence.p) and equivalence.verdict == "undecided"
    assert comparison.ranks["ter"]["old"].bootstrap is None
    assert np.isnan(comparison.comparisons[0].result.p)
    assert "1 segment" in comparison.comparisons[0].result.undecided
    score = comparison.scores["old"]["ter"]
    assert np.isnan(score.instability.s_sel) and np.isnan(score.ci).all() and score.instability.mean == 50
    assert np.isnan(comparison.comparisons[0].ci).all()
    assert any("one segment only" in note for note in comparison.recipe["notes"])
    json.dumps(comparison.to_json(), allow_nan=False)


def test_the_same_seed_gives_the_same_report_and_metrics_share_draws() -> None:
    first = small([OLD, NEW], [NEW, OLD[::-1]]).to_json()
    assert first == small([OLD, NEW], [NEW, OLD[::-1]]).to_json()
    alone = small([OLD, NEW], [NEW, OLD[::-1]], ("ter",)).to_json()
    assert alone["systems"]["new"]["ter"] == first["systems"]["new"]["ter"]
    assert alone["comparisons"][0]["p"] == first["comparisons"][1]["p"]


def test_s_dev_comes_from_outputs_or_from_scores() -> None:
    dev = tuple(Texts.from_lines(run) for run in (["a b", "c"], ["a x", "c"]))
    systems = [
        System("old", (Texts.from_lines(OLD), Texts.from_lines(NEW)), dev=dev),
        System("new", (Texts.from_lines(OLD), Texts.from_lines(NEW)), dev_scores={"ter": [20.0, 21.0]}),
    ]
    comparison = compare(
        systems, [Texts.from_lines(REFERENCE)], metrics("ter", "length"),
        dev_references=[Texts.from_lines(["a b", "c"])], settings=ResamplingSettings(samples=50),
    )  # fmt: skip
    assert comparison.scores["old"]["ter"].instability.s_dev == pytest.approx(100 / 3 / np.sqrt(2))
    assert comparison.scores["new"]["ter"].instability.s_dev == pytest.approx(1 / np.sqrt(2))
    assert np.isnan(comparison.scores["new"]["length"].instability.s_dev)


def test_groups_are_the_unit() -> None:
    groups = [i // 4 for i in range(12)]
    built = small([OLD], [NEW], groups=groups)
    result = built.comparisons[0].result
    # The systems differ in the first group alone: one coin, which shows nothing.
    assert (result.exchange, result.samples, result.units, result.min_p) == ("group", 2, 1, 1.0)
    assert built.recipe["groups"] == 3 and np.isnan(result.p)
    table = report.table(built)
    assert "?" in table.body[1] and "?: cannot be decided" in table.foot[0]
    crossed = small([OLD], [NEW], groups={"document": groups, "judge": [i % 5 for i in range(12)]})
    assert crossed.comparisons[0].result.exchange == "document and judge"
    assert crossed.recipe["units"] == {"document": 3, "judge": 5}


@pytest.mark.parametrize("interval", ["bca", "jackknife"])
def test_other_intervals_and_the_baseline_of_choice(interval: str) -> None:
    built = small([OLD], [NEW], baseline="new", settings={"interval": interval})
    compared = built.comparisons[0]
    assert (compared.system, compared.baseline) == ("old", "new")
    assert compared.ci[0] < compared.result.difference < compared.ci[1]


def test_changes_name_the_segments_in_the_metrics_direction() -> None:
    outcome = list(changes(small([OLD], [NEW], ("bleu", "ter", "length"))))
    listed = {
        (kind, change): [c.segment for c in outcome if (c.metric, c.change) == (kind, change)]
        for kind in ("bleu", "ter", "length")
        for change in ("improved", "worsened")
    }
    assert listed["bleu", "improved"] == listed["ter", "improved"] == [1, 3]
    assert listed["bleu", "worsened"] == listed["ter", "worsened"] == [4]
    assert not listed["length", "improved"]  # neither direction is better
    assert (outcome[0].baseline_text, outcome[0].system_text) == (OLD[0], REFERENCE[0])


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., str]:
    def write(name: str, lines: list[str]) -> str:
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return str(tmp_path / name)

    return write


@pytest.mark.slow
def test_the_command_line(files: Callable[..., str], tmp_path: Path) -> None:
    reference, old, new = files("ref", REFERENCE), files("old", OLD), files("new", NEW)
    common = [
        "--references", reference, reference, "--system", f"old={old},{new}", f"new={new},{old}",
        "--metrics", "bleu", "ter", "chrf:word_order=2", "--samples", "200", "--tokenize", "13a",
    ]  # fmt: skip
    folder = tmp_path / "out"
    told = json.loads(ran("compare", *common, "--json", "--output", str(folder)).out)
    assert told == {"schema": 1, **json.loads((folder / "report.json").read_text("utf-8"))}
    assert list(told["systems"]["new"]) == ["bleu", "ter", "chrf:word_order=2"]
    assert told["recipe"]["references"] == [reference, reference]
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {
        "comparison.html", "report.json", "table.csv", "table.tex", "changes.txt", "changes.jsonl",
        "segments.tsv", "runs.png",
    }  # fmt: skip
    segments = (folder / "segments.tsv").read_text("utf-8").splitlines()
    assert len(segments) == 1 + 2 * 2 * 12
    assert "chrF:word_order=2" in ran("compare", *common).out
    assert ran("compare", *common, "--csv").out == (folder / "table.csv").read_text("utf-8")
    assert ran("compare", *common, "--latex").out == (folder / "table.tex").read_text("utf-8")


def test_tables_need_no_reference(files: Callable[..., str], capsys: Any) -> None:
    old, new = files("old", ["1 2 3", "2 2 2"]), files("new", ["2 2 3", "2 2 2"])
    arguments = ["--system", f"old={old}", f"new={new}", "--metrics", "table:score_of=recall", "--json"]
    told = json.loads(ran("compare", *arguments).out)
    assert told["systems"]["new"]["table:score_of=recall"]["mean"] == pytest.approx(4 / 5)


@pytest.mark.slow
def test_track_logs_recipe_scores_and_files(
    files: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    settings = "tracking_uri: sqlite:///runs.db\nartifact_root: files\nexperiment: comparisons\n"
    (tmp_path / "mlflow.yaml").write_text(settings, "utf-8")
    systems = [f"old={files('old', OLD)}", f"new={files('new', REFERENCE)}"]
    arguments = ["--references", files("ref", REFERENCE), "--metrics", "ter", "--samples", "50", "--track"]
    captured = ran("compare", *arguments, "--json", "--system", *systems)
    told = json.loads(captured.out)
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path}/runs.db")
    logged = client.get_run(captured.err.split("MLflow run ")[1].split()[0])
    assert logged.data.params["samples"] == "50"
    assert logged.data.metrics["new.ter.mean"] == told["systems"]["new"]["ter"]["mean"]
    assert logged.data.metrics["new.ter.p"] == told["comparisons"][0]["p"]
    assert list((tmp_path / "files").rglob("comparison/runs.png"))
