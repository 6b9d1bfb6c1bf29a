"""Figures of a general model by language pair, with and without log-probabilities, and its speed.

qe train experiments/general/da.yaml --data-root ../shared/data --output output/general
python benchmarks/studies/general_pairs.py output/general

Development rows of every pair of the experiment. The family `multilingual` predicts them without labels of
their pair; the weights of its five columns are learned from all pairs.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr, spearmanr

from qe.config.experiment import load
from qe.data.format import make_format
from qe.models.model import Model

EXPERIMENT = Path(__file__).resolve().parents[2] / "experiments" / "general" / "da.yaml"
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="Folder of the run.")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    section = load(EXPERIMENT, data_root=options.data).dataset
    dataset = make_format(section.format, section.options()).read(section.path)
    model = Model.load(options.output / "model")
    print("| pair left out | Pearson | Spearman | with log-probabilities: Pearson | Spearman |")
    print("| --- | ---: | ---: | ---: | ---: |")
    rows, start = 0, time.process_time()
    for name, split in dataset.splits.items():
        if name == "train" or split.scores is None:
            continue
        given = split.segments.token_log_probabilities or ()
        without = replace(split.segments, token_log_probabilities=None)
        kinds = [without, split.segments] if any(given) else [without]
        cells = []
        for segments in kinds:
            predictions = np.asarray(model.predict(segments), np.float64)
            found = (pearsonr(predictions, split.scores)[0], spearmanr(predictions, split.scores)[0])
            cells += [f"{value:.3f}" for value in found]
            rows += len(segments)
        print(f"| {name.removeprefix('dev-')} | {' | '.join([*cells, '', ''][:4])} |")
    seconds = time.process_time() - start
    print(f"{rows:,} predictions in {seconds:.0f} CPU s: {rows / seconds:.0f} a second")


if __name__ == "__main__":
    main()
