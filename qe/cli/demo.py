"""`qe demo`: run the whole main job on artificial data; no files, no network."""

from pathlib import Path
from typing import Annotated

from qe.cli._options import Quiet, output_option, seed_option
from qe.cli._progress import progress_bar
from qe.display.numbers import count


def demo(
    output: Annotated[
        Path, output_option("--output", "-o", help="Folder for everything the demo makes.")
    ] = Path("output/demo"),
    seed: Annotated[int, seed_option("Seed of the artificial data.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Run the whole main job on ARTIFICIAL data: no network, no files of yours.

    An invented language pair, 20,000 sentence pairs, the output of a flawed translator, its post-edits and
    three judges; then resources, the 17 baseline features, a search, evaluation against two baselines with
    significance, tracking, registration, and scores for 2,000 new translations.

    Example:

        qe demo --output output/demo
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
