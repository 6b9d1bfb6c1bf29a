"""`qe demo`: run the whole main job on artificial data; no files, no network."""

from pathlib import Path

from qe.cli.shared.options import Seed
from qe.cli.shared.progress import progress_bar
from qe.display.numbers import count


def demo(output: Path = Path("output/demo"), seed: Seed = 1, quiet: bool = False) -> None:
    """Run the whole workflow on ARTIFICIAL data: no network, no files of yours.

    An invented language pair, 20,000 sentence pairs, the output of a flawed translator, its post-edits and
    three annotators; then resources, the 17 baseline features, a search, evaluation against two baselines
    with significance tests, tracking, registration, and scores for 2,000 new translations.

    Example:

        qe demo --output output/demo

    output:
      -o, --output DIR  Folder for everything that the demo makes.
    """
    from qe.cli._summary import print_comparisons, print_outcome
    from qe.getting_started.demo.run import demo as run

    print("The data of this demo are artificial: an invented language pair and a simulated translator.")
    with progress_bar(quiet) as progress:
        made = run(output, seed=seed, progress=progress)
    print_outcome(made.outcome)
    print_comparisons(made.outcome.report)
    scored, rows = count(made.scored.scored), count(made.scored.rows)
    print(f"{scored} of {rows} new translations scored, {count(made.seconds)} s in all")
    print("\nWhere to look next:")
    print(
        f"  {output}/report.json and {output}/plots: the figures with their recipe; {made.scores}: the scores"
    )
    print("  qe ui: the run, its trials and the registered model in MLflow (http://127.0.0.1:5000)")
    again = f"qe train {made.experiment} --set learner.kind=lightgbm --output {output}-lightgbm"
    print(f"  {again}: another learner")
