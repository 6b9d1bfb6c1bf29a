"""`qe features`: list and describe features, extract a feature table.
`qe learners`: list and describe learners.
`qe selectors`: list and describe selectors.
"""

from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from features.basics.progress import Progress, silent
from qe.cli.shared.application import Application
from qe.cli.shared.options import EngineOptions, ExperimentOptions
from qe.cli.shared.printing import Result, Verbatim
from qe.display.numbers import count

if TYPE_CHECKING:
    from qe.getting_started.catalogue.features import Family, Set


features = Application()


@features.command(name="list")
def list_(quiet: bool = False) -> Result:
    """List the feature families and the named sets, with their costs.

    Costs are microseconds of processor time per segment (benchmarks/studies/costs_families.py).
    `describe` and --json also give what each needs.

    Example:

        qe features list
    """
    from qe.getting_started.catalogue.features import FeatureCosts, families, listing, sets

    costs = FeatureCosts.load()
    origin = f"Costs: {costs.measured}, {costs.machine}; {costs.data}"
    return Result(
        "features-list",
        lambda: {"families": list(families(costs)), "sets": list(sets(costs))},
        (*listing(costs), origin),
    )


@features.command()
def describe(name: str) -> Result:
    """Describe a family or a set: every feature with definition, source and unit.

    For a set, also the features of its source that it lacks. `baseline17` is a family and a set with the same
    features.

    Examples:

        qe features describe baseline17

        qe features describe uu-explicit99

    arguments:
      name  A feature family or a set, as in `qe features list`.
    """
    from qe.getting_started.catalogue.features import describe as described
    from qe.getting_started.catalogue.features import features_table

    subject, entries = described(name)
    content = {**asdict(subject), "features": list(entries)}
    tables = [features_table(entries)] if entries else []
    return Result("features-describe", content, [Verbatim(_text(subject)), *tables])


def _text(subject: "Family | Set") -> str:
    from qe.getting_started.catalogue.features import Set

    if isinstance(subject, Set):
        lines = [f"{subject.description}.", "", f"Source: {subject.origin}"]
        lines += [f"Families: {', '.join(subject.families)}"]
        lines += ["Absent:", *(f"- {entry}" for entry in subject.absent)] if subject.absent else []
    else:
        lines = [subject.documentation, ""]
        for what, names in (("resources", subject.resources), ("columns", subject.columns)):
            lines += [f"Needs the {what} {', '.join(names)}"] if names else []
        if subject.variants:
            lines += [f"Other columns by settings: {', '.join(subject.variants)}"]
        if subject.parameters:
            lines += [f"Its features depend on parameters without a default: {', '.join(subject.parameters)}"]
    cost = subject.microseconds
    return "\n".join(lines if cost is None else [*lines, f"Costs {count(cost)} µs per segment"])


@features.command()
def extract(
    experiment: Path, output: Path, settings: ExperimentOptions, engine: EngineOptions, progress: Progress,
    quiet: bool = False,
) -> None:  # fmt: skip
    """Extract the feature table of an experiment's dataset: split, id, gold label, features.

    Families that learn from labels are cross-fitted on the training rows. With Spark this is done on this
    machine, and the executors compute all other families (docs/scale.md).

    Example:

        qe features extract experiments/wmt12/baseline-own.yaml --data-root ../shared/data -o features.parquet

        qe features extract output/demo/demo.yaml --engine spark --output features.parquet

    arguments:
      experiment  Experiment file: its dataset, resources and features.

    output:
      -o, --output FILE  Parquet file (.parquet); one row per segment.
    """
    from qe.getting_started.catalogue.feature_tables import extract as run

    with engine.session(quiet) as session:
        executors: Any = None
        if session is not None:
            from qe.scoring.spark_features import Executors

            executors, progress = partial(Executors, session), silent
        table = run(settings.load(experiment), output, settings.cache, progress, executors)
    if not quiet:
        print(f"{len(table):,} segments, {len(table.columns) - 3} features: {output}")


@features.command()
def consistency(
    source: Path, target: Path, doc_ids: Path, resources: Path, output: Path, progress: Progress,
    alignment: Path | None = None,
) -> Result:  # fmt: skip
    """Find phrases that a document repeats, and whether they are translated consistently.

    The measure follows Carpuat and Simard 2012. The table is for the family `precomputed`
    (`columns: header`): the values of a segment depend on the rest of its document, so that no model that
    scores single rows can compute them.

    Example:

        qe features consistency --source train.en --target train.es --doc-ids documents.txt
        --resources output/en-es --output consistency.tsv

    options:
      --source FILE  Source segments, one per line, in the order of documents.
      --target FILE  Their translations.
      --doc-ids FILE  The document of each line.
      --resources DIR  Bundle with `aligner` and `phrase_table` (qe resources build).
      --alignment FILE  The decoder's own links (Pharaoh). (default: those of the aligner)

    output:
      -o, --output FILE  Table (TSV) with a header, one row per segment.
    """
    from qe.resources.consistency import consistency_of

    found = consistency_of(source, target, doc_ids, resources, alignment, progress)
    found.write(output)
    told = f"{found.segments:,} segments: {output}"
    return Result("features-consistency", found.summary(), [found.table(), told])


_LIST = """List the {noun}s: what each is, and which of its parameters a search draws.

Example:

    qe {noun}s list
"""
_DESCRIBE = """Describe a {noun}: what it does, its source, and its parameters with defaults and search space.

Example:

    qe {noun}s describe {example}

arguments:
  name  A {noun}, as in `qe {noun}s list`.
"""


def strategies_application(noun: str, module: str, example: str) -> Application:
    """The verb for the catalogue of a module, such as LEARNERS of qe.learning.learner."""
    app = Application()

    def catalogue() -> Any:
        return getattr(import_module(module), f"{noun.upper()}S")

    def list_() -> Result:
        from qe.getting_started.catalogue.strategies import listing, strategies

        content = {f"{noun}s": strategies(catalogue())}
        return Result("strategies", content, [listing(catalogue())])

    def describe(name: str) -> Result:
        from qe.getting_started.catalogue.strategies import parameters_table, strategy

        one = strategy(catalogue(), name)
        tables = [parameters_table(one)] if one.parameters else []
        return Result("strategy", one, [Verbatim(f"{one.documentation}\n"), *tables])

    list_.__doc__ = _LIST.format(noun=noun)
    describe.__doc__ = _DESCRIBE.format(noun=noun, example=example)
    app.command(name="list")(list_)
    app.command()(describe)
    return app


learners = strategies_application("learner", "qe.learning.learner", "ridge")


selectors = strategies_application("selector", "qe.learning.selector", "forward")
