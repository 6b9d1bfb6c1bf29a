"""Metrics with a reference beside adequacy models without: Pearson on WMT12's effort.

Written as files.

    python benchmarks/studies/adequacy_metrics.py --data ../shared/data/wmt12-qe --output output/metrics
    qe evaluate --gold $D/wmt12-qe/training_set_annotations/target_system.effort \\
      --predictions output/metrics/*.txt f=output/adequacy-f/predictions.cv.tsv
"""

import argparse
from pathlib import Path

import numpy as np
from scipy import stats

from features.storage.files import read_lines
from qe.systems.text_metric import MT_METRICS
from qe.systems.texts import Texts

ROWS = ("bleu", "ter", "meteor")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    labels = given.data / "training_set_annotations"
    effort = np.array([float(line) for line in read_lines(labels / "target_system.effort")])
    target = Texts.from_lines(list(read_lines(given.data / "training_set" / "target_system.spa")))
    reference = Texts.from_lines(list(read_lines(labels / "target_reference.spa")))
    given.output.mkdir(parents=True, exist_ok=True)
    for name in ROWS:
        kind = MT_METRICS.get(name)
        metric = kind(**kind.usual("es"))
        scores = metric.segment_scores(metric.statistics(target, [reference]))
        sign = 1 if metric.higher_is_better else -1
        (given.output / f"{name}.txt").write_text("".join(f"{sign * score}\n" for score in scores))
        print(f"{name:8} Pearson {stats.pearsonr(scores, effort).statistic:.3f}")


if __name__ == "__main__":
    main()
