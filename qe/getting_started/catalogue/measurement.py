"""Measures what feature families cost."""

import copy
import datetime
import importlib.util
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from features.basics.progress import Progress, silent
from features.core.configured import resources_in
from features.core.extractor import Extractor, FittedExtractor
from features.core.feature_set import EXTRACTORS, from_variant, make_extractor, parts_needed, variants
from features.core.segments import Segments
from qe.config.experiment import load
from qe.display.numbers import fixed
from qe.getting_started.catalogue.costs import FeatureCosts
from qe.getting_started.demo.generation import generate
from qe.getting_started.demo.run import EXPERIMENT
from qe.resources.annotations import annotated_sides
from qe.training.check import check
from qe.training.preparation import Prepared, prepare

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


@contextmanager
def demo_world(
    families: Sequence[str | Mapping[str, Any]],
    *,
    pairs: int = 300,
    settings: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Iterator[Prepared]:
    """Generated data with second translations, and a small bundle for the families named or configured."""
    with TemporaryDirectory(prefix="qe-features-") as folder:
        generate(Path(folder) / "data", pairs=pairs, train=240, test=1, new=1)
        columns = {"pseudo_reference": "train.post_edit", "back_translation": "train.source"}
        overrides = [f"dataset.splits.train.{name}={file}" for name, file in columns.items()]
        overrides += [f"resources.settings={json.dumps(dict(settings))}"] if settings else []
        overrides.append(f"features={json.dumps(list(families))}")
        experiment = load(EXPERIMENT, data_root=Path(folder), overrides=overrides)
        yield prepare(check(experiment), Path(folder) / "cache", progress)


def measurable() -> list[str]:
    """All families and their variants, but for those that need files of the user's own."""
    of_users = ("columns", "encoder", "general", "multilingual", "precomputed")
    kinds = (kind for kind in EXTRACTORS.names if kind not in of_users)
    return [name for kind in kinds for name in variants(kind)]


def measure_on_demo(progress: Progress = silent) -> FeatureCosts:
    """Costs of families on generated data with small resources: less than with real ones.

    Those whose resources need an annotated corpus, or a package that is not installed, are left out.
    """
    parts = {name: parts_needed([from_variant(name)]) for name in measurable()}
    kinds = [n for n, p in parts.items() if not annotated_sides(p)]
    if importlib.util.find_spec("morfessor") is None:
        kinds.remove("morphemes")
    with demo_world([from_variant(name) for name in kinds], progress=progress) as data:
        what = f"generated data, {len(data.training)} segments, resources of 300 pairs"
        return measure(data, what, kinds, progress=progress)


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
