"""`qe effort`: show which edits go with the effort that people perceive."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval

from features.basics.errors import InputError
from features.basics.progress import Progress
from qe.cli.shared.printing import Result
from qe.statistics.settings import Samples, Seed

if TYPE_CHECKING:
    from qe_human.effort.sets import AnnotatedTexts


def effort(
    target: Path,
    post_edit: Path,
    scores: Path,
    target_language: str,
    progress: Progress,
    source: Path | None = None,
    source_language: str = "en",
    tagger: str = "apertium",
    effort_column: str | None = None,
    low_effort: float = 2.5,
    high_effort: float = 4.0,
    low_ter: float = 0.33,
    high_ter: float = 0.45,
    telling: Annotated[int, Interval(ge=0)] = 10,
    samples: Samples = 1000,
    permutations: Samples = 10000,
    seed: Seed = 0,
    correct: str = "holm",
    output: Path | None = None,
    cache_dir: Path | None = None,
    track: bool = False,
) -> Result:
    """Show which edits go with perceived effort.

    It aligns translations with post-edits, and correlates edit categories with effort.

    Segments whose scores do not fit their edits are compared with others of similar TER (Koponen 2012).

    Example:

        qe effort --target mt.es --post-edit pe.es --effort scores.txt --source s.en
        --target-language es --output effort

    input:
      --target  Translations: one per line, a table, or annotated (.conllu); .gz too.
      --post-edit  Their post-edits, in the same form.
      --effort  Effort scores, higher is less effort: one per line, or a table.
      --target-language  ISO 639 code of the translations, such as es.
      --source  Sources, to be shown on the page.
      --source-language  ISO 639 code of the sources; Apertium's data are those of a language pair.
      --tagger  What annotates plain text.
      --effort-column  Column of the scores, for a table.

    options:
      --low-effort  Highest score that says: much effort.
      --high-effort  Lowest score that says: little effort.
      --low-ter  Highest TER of lightly edited segments.
      --high-ter  Lowest TER of heavily edited segments.

    tests:
      --samples  Bootstrap samples of the intervals.
      --permutations  Permutations of the p-values.
      --seed N  Seed of all random draws.

    output:
      --telling  Segments of each set that the page shows.
      -o, --output DIR  Folder for the page, JSON, tables and plots.
    """
    from qe.data.score_files import read_scores
    from qe.statistics.family import correct as check_correction
    from qe_human.effort.correlations import Draws
    from qe_human.effort.report import STRONGEST, analyse, correlations_table, sets_table, strongest_table
    from qe_human.effort.sets import Limits

    check_correction([], correct)
    limits = Limits(low_effort, high_effort, low_ter, high_ter)
    labels = read_scores(scores, effort_column).scores
    title = f"Edits and effort: {target.name.removesuffix('.gz')}"
    languages = source_language, target_language
    sides, by = _texts(target, post_edit, tagger, target_language, source_language, cache_dir, progress)
    report = analyse(
        *sides, labels,
        source=_source(source, len(sides[0])), limits=limits, telling=telling,
        draws=Draws(samples, permutations, seed, correct), recipe={"tagger": by}, progress=progress,
    )  # fmt: skip

    def write(folder: Path) -> None:
        from qe_human.effort.report_files import write_report

        write_report(report, folder, title, languages)

    def logged() -> dict[str, float]:
        from qe_human.effort.report_files import figures

        return figures(report)

    by_class = (strongest_table(name, values, STRONGEST) for name, values in report.correlations.items())
    lines = [f"note: {note}" for note in report.notes]
    lines += [] if output is None else [f"page, tables and plots: {output / 'effort.html'}"]
    return Result(
        "effort", report, [sets_table(report), correlations_table(report), *by_class, *lines],
        write=write, recipe=report.recipe, figures=logged,
    )  # fmt: skip


def _texts(
    target: Path,
    post_edit: Path,
    tagger: str,
    language: str,
    counterpart: str,
    cache: Path | None,
    progress: Progress,
) -> "tuple[tuple[AnnotatedTexts, AnnotatedTexts], str]":
    from features.text.languages import language_code
    from qe.data.reading import Reading, equal_lengths, texts_of
    from qe.language.taggers import tagger as make_tagger
    from qe.resources.bundle_source import default_cache
    from qe_human.effort.sets import is_conllu, read_conllu, tagged_texts

    language, counterpart = language_code(language), counterpart and language_code(counterpart)
    if is_conllu(target) != is_conllu(post_edit):
        raise InputError(
            "one side is CoNLL-U, the other plain text",
            location=f"{target}, {post_edit}",
            remedy="annotate both, or none",
        )
    if is_conllu(target):
        return (read_conllu(target, language), read_conllu(post_edit, language)), "CoNLL-U"
    by = make_tagger(tagger, language, counterpart)
    reading = Reading(Path())
    columns = {
        "target": texts_of(reading, target, "target"),
        "post_edit": texts_of(reading, post_edit, "post_edit"),
    }
    equal_lengths(columns)
    sides = [
        tagged_texts(column.texts, language, by, cache or default_cache(), name, progress)
        for name, column in (("translations", columns["target"]), ("post-edits", columns["post_edit"]))
    ]
    return (sides[0], sides[1]), f"{tagger} {by.fingerprint}"


def _source(path: Path | None, segments: int) -> list[str] | None:
    from qe.data.reading import Reading, texts_of

    if path is None:
        return None
    lines = texts_of(Reading(Path()), path, "source").texts
    if len(lines) != segments:
        raise InputError(f"{len(lines)} sources, but {segments} translations", location=path)
    return lines
