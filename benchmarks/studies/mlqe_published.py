"""QE of neural MT on MLQE-PE: Pearson on dev, trained on train; published figures.

Runs the experiments of `experiments/mlqe` (minutes each; resources and features are cached) and prints, in
the same run, what the mean log-probability alone gives:

    python benchmarks/studies/mlqe_published.py --data-root ../shared/data [--only en-de-da] [--rate]

`--rate` measures decoder features instead: segments per second, and the ratio to NumPy segment by segment.
"""

import argparse
import os
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from features.core.segments import Segments
from features.decoder import Decoder
from features.decoder_output.tokens import DecoderTokens
from qe.config import experiment
from qe.data.dataset import Dataset
from qe.data.formats.mlqe_pe import MlqePe
from qe.resources.bundle_source import default_cache
from qe.training.check import check
from qe.training.train import train

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("ro-en-da", "en-de-da", "en-de-hter", "ro-en-hter")
# Without a pretrained encoder, on dev (QUALITY-NOTES.md, third study); OpenKiwi's LSTM, on test20.
STUDY = {"ro-en-da": 0.806, "en-de-da": 0.465, "en-de-hter": 0.512, "ro-en-hter": 0.823}
OPENKIWI = {"ro-en-da": 0.685, "en-de-da": 0.146, "en-de-hter": 0.392}


def accuracy(name: str, data_root: Path) -> str:
    """One row: Pearson and MAE on dev, log-probability alone, the published figures."""
    loaded = experiment.load(
        ROOT / "experiments" / "mlqe" / f"{name}.yaml",
        data_root=data_root,
        overrides=["tracking.register=false"],
    )
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        report = train(check(loaded), Path(folder) / "run", cache=default_cache()).report
    metrics = report["test"]["systems"][name]
    pearson, mae = metrics["pearson"], metrics["mae"]
    pair, _, label = name.rpartition("-")
    dataset = MlqePe(pair=pair, label=label).read(data_root / "mlqe-pe")  # type: ignore[arg-type]
    alone = log_probability(dataset)
    kiwi = OPENKIWI.get(name)
    return (
        f"{name:<11} {pearson:.3f} {mae:.3f}   {alone:.3f} (x{pearson / alone:.2f})   {STUDY[name]:.3f}   "
        f"{'-' if kiwi is None else f'{kiwi:.3f}'}   {time.perf_counter() - started:.0f} s"
    )


def log_probability(dataset: Dataset) -> float:
    """Pearson of the mean log-probability with the label on dev, oriented."""
    split = dataset.split("dev")
    column = Decoder().names.index("decoder_mean")
    values = Decoder().extract(split.segments)[:, column]
    assert split.scores is not None
    return float(np.corrcoef(values, dataset.scale.sign * split.scores)[0, 1])


def rate(data_root: Path) -> str:
    """Segments per second of all decoder columns; of three by NumPy, segment by segment."""
    segments = MlqePe(pair="en-de").read(data_root / "mlqe-pe").split("train").segments
    Decoder().extract(segments.take(range(10)))  # compiled
    ours = _best(lambda: Decoder().extract(segments))
    theirs = _best(lambda: _one_by_one(segments))
    columns = len(Decoder().names)
    return (
        f"decoder: {columns} columns, {len(segments) / ours:,.0f} segments/s; three by NumPy, one segment "
        f"at a time: {len(segments) / theirs:,.0f} segments/s; a column x{theirs / 3 / (ours / columns):.1f}"
    )


def _one_by_one(segments: Segments) -> list[tuple[float, float, float]]:
    tokens = DecoderTokens.from_segments(segments)
    offsets = tokens.subwords.offsets.tolist()
    parts = [tokens.log_probability[a:b] for a, b in pairwise(offsets)]
    return [(float(p.mean()), float(p.std()), float(np.quantile(p, 0.1))) for p in parts if len(p)]


def _best(run: object, repeats: int = 3) -> float:
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        run()  # type: ignore[operator]
        seconds.append(time.process_time() - started)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--only", choices=NAMES, action="append")
    parser.add_argument("--rate", action="store_true")
    arguments = parser.parse_args()
    if arguments.rate:
        print(rate(arguments.data_root))
        return
    print("experiment  Pearson MAE   log-probability alone   study (dev)   OpenKiwi (test20)   time")
    for name in arguments.only or NAMES:
        print(accuracy(name, arguments.data_root), flush=True)


if __name__ == "__main__":
    main()
