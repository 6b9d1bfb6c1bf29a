"""Cost of each feature family on WMT12's training set; resources of 315,831 pairs.

    QE_CACHE_DIR=/tmp/qecache python benchmarks/studies/costs_families.py            # prints the table
    QE_CACHE_DIR=/tmp/qecache python benchmarks/studies/costs_families.py --write  # and writes \\
        features/costs.yaml

Resources, second translations and annotations (both by Apertium) come from the cache, or are made and kept
there. Figures are processor time of one process. Tokenizing source and target is the alternative they are
compared with: it is what any feature costs at least.
"""

import argparse
import copy
import datetime
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import yaml

from features.basics.progress import Progress, silent
from features.core.configured import resources_in
from features.core.extractor import Extractor, FittedExtractor
from features.core.feature_set import EXTRACTORS, expand, from_variant, make_extractor, variants
from features.core.segments import Segments
from features.storage.files import atomic_file
from qe.cli.shared.progress import progress_bar
from qe.config.experiment import load
from qe.display.numbers import fixed
from qe.getting_started.catalogue.features import PUBLISHED, FeatureCosts
from qe.resources.bundle_source import default_cache
from qe.training.check import check
from qe.training.preparation import Prepared, prepare

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
        save(costs)


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
        total = costs.tokenization + sum(costs.families[name] for name in names)
        print(
            f"{label}: {total:,.0f} µs per segment, {1e6 / total:,.0f} segments/s (target {TARGET:,} without)"
        )


_WARM_UP = 32  # segments: kernels compiled, files mapped
_ENOUGH = 5.0  # seconds, after which a slow family is not run again
_Run = Callable[[], object]  # what is timed


def measure(
    data: Prepared, description: str, kinds: Sequence[str], *, repeats: int = 3, progress: Progress = silent
) -> FeatureCosts:
    """Costs of families on the training rows of prepared data; missing decoder output is made up."""
    split = replace(data.training, segments=with_decoder_output(data.training.segments))
    there = {name for name, _ in split.segments.columns()}
    measured: dict[str, float] = {}
    for done, name in enumerate(kinds):
        progress(f"measuring {name}", done, len(kinds))
        extractor = make_extractor(from_variant(name), data.bundle)
        if set(extractor.requires()) <= there:
            if isinstance(extractor, FittedExtractor):
                extractor = extractor.fit(split.segments, split.labels())
            measured[name] = cost(extractor, split.segments, repeats)
    progress("measuring", len(kinds), len(kinds))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return FeatureCosts(today, machine(), description, _tokenization(split.segments, repeats), measured)


def cost(extractor: Extractor, segments: Segments, repeats: int) -> float:
    """Microseconds per segment, the least of up to `repeats` runs of fresh copies on tokenized segments."""
    resources = {id(resource): resource for resource in resources_in(extractor)}

    def run_on(batch: Segments) -> _Run:
        return partial(copy.deepcopy(extractor, dict(resources)).extract, batch)

    warm_up = run_on(_fresh(segments).take(range(min(_WARM_UP, len(segments)))))
    warm_up()  # kernels differ for arrays not mapped
    return _fastest(lambda: run_on(_fresh(segments)), len(segments), repeats)


def machine() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text("utf-8").splitlines() if cpuinfo.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores, one process"


def with_decoder_output(segments: Segments) -> Segments:
    if segments.subwords is not None:
        return segments
    generator = np.random.default_rng(0)
    words = [segments.target_tokens.words(i) for i in range(len(segments))]
    values = [" ".join(fixed(v, 4) for v in generator.normal(-0.5, 0.2, len(w) + 1)) for w in words]
    subwords = tuple(" ".join(w) for w in words)
    return replace(segments, subwords=subwords, token_log_probabilities=tuple(values))


def measurable() -> list[str]:
    """All families and their variants, but for those that need files of the user's own."""
    of_users = ("columns", "encoder", "general", "multilingual", "precomputed")
    kinds = (kind for kind in EXTRACTORS.names if kind not in of_users)
    return [name for kind in kinds for name in variants(kind)]


def _fresh(segments: Segments) -> Segments:
    fresh = segments.take(range(len(segments)))
    _ = fresh.source_tokens, fresh.target_tokens
    return fresh


def _tokenization(segments: Segments, repeats: int) -> float:
    def tokenize(batch: Segments) -> None:
        _ = batch.source_tokens, batch.target_tokens

    return _fastest(lambda: partial(tokenize, replace(segments)), len(segments), repeats)


def _fastest(make: Callable[[], _Run], n: int, repeats: int) -> float:
    times: list[float] = []
    while len(times) < repeats and sum(times) < _ENOUGH:
        run, started = make(), time.process_time()
        run()
        times.append(time.process_time() - started)
    return 1e6 * min(times) / n


def save(costs: FeatureCosts, path: Path = PUBLISHED) -> None:
    content = {**asdict(costs), "families": {name: round(c, 1) for name, c in costs.families.items()}}
    content["tokenization"] = round(costs.tokenization, 1)
    with atomic_file(path) as temporary:
        temporary.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), "utf-8")


if __name__ == "__main__":
    main()
