"""Cost of each feature family on WMT12's training set; resources of 315,831 pairs.

    QE_CACHE_DIR=/tmp/qecache python benchmarks/studies/costs_families.py            # prints the table
    QE_CACHE_DIR=/tmp/qecache python benchmarks/studies/costs_families.py --write  # and writes \\
        features/costs.yaml

Resources, second translations and annotations (both by Apertium) come from the cache, or are made and kept
there. Figures are processor time of one process. Tokenizing source and target is the alternative they are
compared with: it is what any feature costs at least.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import yaml

from features.core.feature_set import expand
from qe.cli.shared.progress import progress_bar
from qe.config.experiment import load
from qe.getting_started.catalogue.costs import FeatureCosts
from qe.getting_started.catalogue.measurement import measurable, measure
from qe.resources.cache import default_cache
from qe.training.check import check
from qe.training.preparation import prepare

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "experiments" / "wmt12" / "best-own.yaml"
SLOW = {"similarity", "edit_distance", "word_quality"}  # outside the target
TARGET = 1000  # segments per second and core, all-blackbox without the slow ones


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--families", nargs="+", default=measurable())
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="write features/costs.yaml")
    given = parser.parse_args()
    costs = measured(given.data, given.families, given.repeats)
    print_table(costs)
    if given.write:
        costs.save()


def measured(data: Path, families: Sequence[str], repeats: int) -> FeatureCosts:
    override = f"features={yaml.safe_dump(list(families), default_flow_style=True, width=10_000)}"
    annotations = "annotations={source: apertium, target: apertium}"
    experiment = load(EXPERIMENT, data_root=data, overrides=[override, annotations])
    with progress_bar(quiet=False) as progress:
        prepared = prepare(check(experiment), default_cache(), progress)
        pairs = 0 if prepared.bundle is None else prepared.bundle.manifest["pairs"]
        what = f"WMT12 training set, {len(prepared.training):,} segments; resources of {pairs:,} pairs"
        return measure(prepared, what, families, repeats=repeats, progress=progress)


def print_table(costs: FeatureCosts) -> None:
    print(f"{costs.measured}, {costs.machine}; {costs.data}")
    print(f"{'family':22} {'µs/segment':>10} {'segments/s':>10} {'by tokenization':>15}")
    for name, cost in [("(tokenization)", costs.tokenization), *sorted(costs.families.items())]:
        print(f"{name:22} {cost:10.1f} {1e6 / cost:10,.0f} {cost / costs.tokenization:15.2f}")
    chosen = [config["kind"] for config in expand([{"set": "all-blackbox"}])]
    if not set(chosen) <= set(costs.families):
        return
    for label, names in (
        ("all-blackbox", chosen),
        (
            f"all-blackbox without {', '.join(sorted(SLOW & set(chosen)))}",
            [n for n in chosen if n not in SLOW],
        ),
    ):
        total = costs.total(names)
        print(
            f"{label}: {total:,.0f} µs per segment, {1e6 / total:,.0f} segments/s (target {TARGET:,} without)"
        )


if __name__ == "__main__":
    main()
