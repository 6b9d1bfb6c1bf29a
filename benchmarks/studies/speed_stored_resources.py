"""Resources in few bytes beside plain arrays: size, speed, features and scores.

python benchmarks/studies/speed_stored_resources.py BUNDLE  # of WMT12's corpus, built by af1e994f or before

Stores every language model, n-gram count and lexicon of BUNDLE anew in a temporary folder, and compares both
in turn, in one process: bytes, log10 of `target_lm` and of the lexicon on WMT12's segments, the 17 baseline
columns, CPU time (the best of the rounds), and a ridge on the columns in ten folds of blocks of 31 training
segments.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from features.core.bundle import MANIFEST, RESOURCES, Bundle
from features.core.feature_set import FeatureSet
from features.core.resource import Resource
from features.core.segments import Segments
from features.resources.language_model import LanguageModel
from features.resources.lexicon import ROUND, Lexicon
from features.resources.ngrams import NgramCounts
from features.storage.checksums import checksums, sealed
from features.storage.compact import coded, counted, packed
from qe.statistics.metrics.ranking import delta_avg_by_n

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ROUNDS = 6


def anew(part: Resource) -> Resource | None:
    """The part as this version stores it; None for another kind."""
    if isinstance(part, LanguageModel):
        return replace(part, trie=part.trie.compact(), log10=coded(part.log10), backoff=coded(part.backoff))
    if isinstance(part, NgramCounts):
        return replace(part, trie=part.trie.compact(), occurrences=counted(part.occurrences))
    if isinstance(part, Lexicon):
        values = coded(part.values, relative=True, edges=ROUND)
        return replace(part, columns=packed(part.columns), values=values)
    return None


def stored_anew(bundle: Path, folder: Path) -> None:
    """Writes the parts of a bundle anew, and prints their sizes."""
    manifest = Bundle(bundle).manifest
    parts, sums = {}, np.zeros(2)
    for name, entry in manifest["parts"].items():
        kind = RESOURCES.get(entry["kind"])
        before = kind.load(bundle / name)
        if (bundle / name / "words.npy").is_file() and np.load(
            bundle / name / "words.npy", mmap_mode="r"
        ).dtype != np.int32:
            raise SystemExit(f"{bundle / name} is stored in few bytes already")
        started = time.process_time()
        part = anew(before)
        if part is None:
            continue
        seconds = time.process_time() - started
        (folder / name).mkdir()
        part.save(folder / name)
        parts[name] = {**entry, "version": kind.version, "files": checksums(folder / name)}
        sizes = np.array([size_of(bundle / name), size_of(folder / name)])
        sums += sizes
        print(f"{name:28} {sizes[0]:7.1f} MB {sizes[1]:7.1f} MB, {seconds:.1f} CPU s", flush=True)
    print(f"{'together':28} {sums[0]:7.1f} MB {sums[1]:7.1f} MB")
    content = {key: value for key, value in manifest.items() if key != "checksum"} | {"parts": parts}
    (folder / MANIFEST).write_text(json.dumps(sealed(content)), "utf-8")


def size_of(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def compared(what: str, bundles: tuple[Bundle, Bundle], run: Callable[[Bundle], Any]) -> tuple[Any, Any]:
    """What both say; prints the CPU time of each, in turn."""
    said, times = [run(bundle) for bundle in bundles], np.empty((ROUNDS, 2))
    for number in range(ROUNDS):
        for side, bundle in enumerate(bundles):
            started = time.process_time()
            said[side] = run(bundle)
            times[number, side] = time.process_time() - started
    before, now = times.min(0) * 1000
    print(f"{what}: {before:.1f} CPU ms before, {now:.1f} now")
    return said[0], said[1]


def scores(columns: Any, gold: Any) -> Any:
    """Cross-validated predictions of a ridge."""
    fold, result = np.arange(len(gold)) // 31 % 10, np.empty(len(gold))
    for left_out in range(10):
        model = make_pipeline(SimpleImputer(), StandardScaler(), Ridge(10.0))
        model.fit(columns[fold != left_out], gold[fold != left_out])
        result[fold == left_out] = model.predict(columns[fold == left_out])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--data-root", type=Path, default=DATA)
    options = parser.parse_args()
    data = options.data_root / "wmt12-qe"

    def lines(*names: str) -> list[str]:
        return [line for name in names for line in (data / name).read_text("utf-8").splitlines()]

    gold = np.array(lines("training_set_annotations/target_system.effort"), float)
    with tempfile.TemporaryDirectory() as folder:
        stored_anew(options.bundle, Path(folder))
        bundles = Bundle(options.bundle), Bundle(Path(folder))
        segments = Segments.from_columns(
            {
                "source": lines("training_set/source.eng", "test_set/source.eng"),
                "target": lines("training_set/target_system.spa", "test_set/target_system.spa"),
            },
            *bundles[0].tokenizers,
        )
        source, target = segments.source_tokens, segments.target_tokens
        model: Callable[[Bundle], Any] = lambda bundle: bundle.part("target_lm")  # noqa: E731
        before, now = compared("target_lm", bundles, lambda bundle: model(bundle).score(target))
        texts = [np.add.reduceat(said.log10, said.offsets[:-1]) for said in (before, now)]
        events, whole = np.abs(before.log10 - now.log10).max(), np.abs(texts[0] - texts[1]).max()
        print(f"  {len(now.log10)} events differ by {events:.1e} at most, texts by {whole:.1e}")
        table: Callable[[Bundle], Any] = lambda bundle: bundle.part("lexicon_source_to_target")  # noqa: E731
        before, now = compared("lexicon", bundles, lambda bundle: table(bundle).score(source, target))
        words = np.abs(np.log10(before.maximum / now.maximum)).max()
        texts = np.abs(before.log10() - now.log10()).max()
        print(f"  log10 of words differ by {words:.1e} at most, texts by {texts:.1e}")
        sets = {id(bundle): FeatureSet.make([{"kind": "baseline17"}], bundle, ()) for bundle in bundles}
        columns = compared(
            f"baseline17 of {len(segments)} segments", bundles,
            lambda bundle: sets[id(bundle)].extractors[0].extract(segments),
        )  # fmt: skip
        equal = ((columns[0] == columns[1]) | np.isnan(columns[0]) & np.isnan(columns[1])).all(0)
        print(f"  {equal.sum()} of {len(equal)} columns are equal to the bit")
        predicted = [scores(side[: len(gold)], gold) for side in columns]
        for name, each in zip(("before", "now"), predicted, strict=True):
            delta = np.mean(delta_avg_by_n(gold, each))
            print(f"  {name}: MAE {np.abs(each - gold).mean():.6f}, DeltaAvg {delta:.6f}")
        print(f"  scores differ by {np.abs(predicted[0] - predicted[1]).max():.1e} at most")


if __name__ == "__main__":
    main()
