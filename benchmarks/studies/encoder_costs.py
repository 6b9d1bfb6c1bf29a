"""CPU seconds of the family `encoder` on MLQE-PE: reading texts, fitting, extracting.

python benchmarks/studies/encoder_costs.py --pair ro-en --rows 2800

The second run finds the encodings in the user's cache; `--cold` uses an empty cache.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from features.encoder import Encoder
from features.encoding.folder import HOME, encoders_home
from qe.data.format import make_format

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--pair", default="ro-en")
    parser.add_argument("--rows", type=int, default=2800, help="of train")
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    with cache(options.cold):
        measure(options.data, options.pair, options.rows)


@contextmanager
def cache(cold: bool) -> Iterator[None]:
    """An empty cache if `cold`, with the user's encoders."""
    os.environ[HOME] = str(encoders_home())
    with TemporaryDirectory() as folder:
        if cold:
            os.environ["QE_CACHE_DIR"] = folder
        yield


def measure(data: Path, pair: str, rows: int) -> None:
    dataset = make_format("mlqe_pe", {"pair": pair, "label": "da"}).read(data / "mlqe-pe")
    train, dev = dataset.splits["train"].take(np.arange(rows)), dataset.splits["dev"]
    encoder = Encoder("multilingual-e5-small", pca=16, layers=[6, 8, 10], normalise=False)
    print(", ".join(encoder.checksums()))
    timed(f"encode {2 * rows:,} texts", lambda: encoder._compared("source", train.segments))
    timed(f"encode {2 * len(dev):,} texts", lambda: encoder._compared("source", dev.segments))
    fitted = timed(f"fit on {rows:,} rows", lambda: encoder.fit(train.segments, train.labels()))
    values = timed(f"extract {len(dev):,} rows", lambda: fitted.extract(dev.segments))
    predicted = values[:, [feature.name for feature in fitted.features].index("encoder_prediction")]
    print(f"Pearson of the prediction on dev: {np.corrcoef(predicted, dev.scores)[0, 1]:.4f}")


def timed(stage: str, action: Callable[[], Any]) -> Any:
    began = time.process_time()
    result = action()
    print(f"{stage}: {time.process_time() - began:.1f} CPU s", flush=True)
    return result


if __name__ == "__main__":
    main()
