"""`qe rank`: rank MT systems by human judgements: rank ranges, significance."""

from functools import partial
from pathlib import Path
from typing import Annotated

from annotated_types import Interval

from features.basics.errors import InputError, known_name
from features.basics.progress import Progress
from qe.cli.shared.options import MAX_SAMPLES, Seed
from qe.cli.shared.printing import Result


def rank(
    files: list[Path],
    progress: Progress,
    pair: list[str] | None = None,
    methods: list[str] | None = None,
    ranges: list[str] | None = None,
    samples: Annotated[int, Interval(le=MAX_SAMPLES)] = 1000,
    seed: Seed = 0,
    confidence: float = 0.95,
    level: float = 0.1,
    correct: str | None = None,
    draw: str = "tasks",
    constrained: list[str] | None = None,
    reference: str = "_ref",
    with_reference: bool = False,
    output: Path | None = None,
    markdown: bool = False,
    latex: bool = False,
    track: bool = False,
) -> Result:
    """Rank MT systems by human judgements.

    It shows several methods, rank ranges, significance and agreement.

    Example:

        qe rank wmt12.RNK_results.csv.gz --pair Czech-English --methods expected_wins feedback_arc_set

    arguments:
      files FILE...  WMT ranking CSV, a table of ranks, or pairwise counts; plain or gzip.

    input:
      --pair PAIR...  Language pairs: Czech-English. (default: all)
      --constrained SYSTEM...  Systems that a second mark (⋆) compares among themselves.
      --reference  Name of the human reference among the systems.
      --with-reference  Rank the reference like a system, by every method.

    tests:
      --methods METHOD...  {qe_human.rankings}; with settings: trueskill:draw=0.2. (default: all)
      --ranges METHOD...  Methods with rank ranges, all, or none. (default: those that are quick)
      --samples  Bootstrap samples of tasks.
      --seed N  Seed of all random draws.
      --confidence  Confidence of the rank ranges.
      --level  Level of the sign test that decides who wins.
      --correct none|bonferroni|holm|bh  Correct the sign tests of all pairs before they decide. (default:
          none)
      --draw tasks|segments|judges  What bootstrap samples are drawn of.

    output:
      -o, --output DIR  Folder for reports, tables and plots.
    """
    from features.basics.assignments import configured
    from qe_human.judgements import ranking_tables
    from qe_human.judgements.ranking_report import RankSettings, ranking_report
    from qe_human.judgements.ranking_tables import figures, ranking_table, rankings_json
    from qe_human.judgements.reading import chosen_pairs, read_judgements
    from qe_human.ranking_method import RANKINGS

    if output is not None or track:
        # A missing package is told before any work.
        from qe_human.judgements.report_files import write_reports
    # The findings of WMT 2012 give rank ranges for expected wins: by default, it leads.
    texts = list(dict.fromkeys(methods or sorted(RANKINGS.names, key=lambda x: (x != "expected_wins", x))))
    kinds = [text.partition(":")[0] for text in texts]
    # One method with two settings is told apart by them.
    keys = [kind if kinds.count(kind) == 1 else text for kind, text in zip(kinds, texts, strict=True)]
    made = {key: configured(RANKINGS, text, {"seed": seed}) for key, text in zip(keys, texts, strict=True)}
    settings = RankSettings(
        reference, with_reference, _ranges(ranges, list(made)), samples, seed, confidence, level,
        None if correct == "none" else correct, tuple(constrained or ()), draw,  # type: ignore[arg-type]
    )  # fmt: skip
    judged = chosen_pairs(read_judgements(files, progress), pair or [])
    systems = sorted({system for one in judged.values() for system in one.counts.systems})
    for name in settings.constrained:
        known_name("constrained system", name, systems)
    reports = []
    for done, entry in enumerate(judged.values()):
        progress("ranking", done, len(judged))
        reports.append(ranking_report(entry, made, settings, optional=methods is None, progress=progress))
    rankings = {report.name: rankings_json(report) for report in reports}
    return Result(
        "rank", {"rankings": rankings}, map(ranking_table, reports),
        write=partial(write_reports, reports) if output is not None or track else None,
        recipe=reports[0].recipe,
        figures=lambda: {key: value for report in reports for key, value in figures(report).items()},
        forms={
            "latex": lambda: "\n".join(map(ranking_tables.latex, reports)),
            "markdown": lambda: "\n".join(map(ranking_tables.markdown, reports)),
        },
    )  # fmt: skip


def _ranges(names: list[str] | None, methods: list[str]) -> tuple[str, ...] | None:

    if names is None or names in (["all"], ["none"]):
        return None if names is None else tuple(methods) if names == ["all"] else ()
    strangers = [name for name in names if name not in methods]
    if strangers:
        raise InputError(
            f"no method '{strangers[0]}' is among --methods",
            location="--ranges",
            remedy=f"known: {', '.join(methods)}, all, none",
        )
    return tuple(names)
