"""`qe rank`: rank MT systems by human judgements: rank ranges, significance."""

from functools import partial
from pathlib import Path

from features.basics.errors import known_name
from features.basics.progress import Progress
from qe.cli.shared.printing import Result
from qe_human.settings import RankSettings


def rank(
    files: list[Path],
    *,
    progress: Progress,
    pair: list[str] | None = None,
    methods: list[str] | None = None,
    settings: RankSettings,
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

    tests:
      --methods METHOD...  {qe_human.rankings}; with settings: trueskill:draw=0.2. (default: all)

    output:
      -o, --output DIR  Folder for reports, tables and plots.
    """
    from features.basics.assignments import configured
    from qe_human.judgements import ranking_tables
    from qe_human.judgements.ranking_report import ranking_report
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
    made = {
        key: configured(RANKINGS, text, {"seed": settings.seed})
        for key, text in zip(keys, texts, strict=True)
    }
    settings.check_ranges(list(made))
    judged = chosen_pairs(read_judgements(files, progress), pair or [])
    systems = sorted({system for one in judged.values() for system in one.counts.systems})
    for name in settings.constrained or ():
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
