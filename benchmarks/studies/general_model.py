"""Leave-one-pair-out figures of models of many language pairs: vectors, matches and log-probabilities.

`encode` reads a sample of each pair's training rows and its development rows once and stores the arrays.
"""

import csv
import sys
import time
from pathlib import Path

import numpy as np

from features.encoding.encoded import as_read
from features.encoding.folder import EncoderFolder, EncoderSettings, encoder_path

DATA = Path("/work/shared/data")
STORE = Path("/tmp/general")
PAIRS = {**dict.fromkeys(("ro-en", "en-de", "si-en", "ru-en"), "mlqe-pe"),
         **dict.fromkeys(("en-gu", "en-hi", "en-ta", "en-te"), "wmt23-qe")}  # fmt: skip
LAYERS = (4, 8)
ROWS = 3000
SEED = 7


def table(pair: str, split: str) -> list[list[str]]:
    folder = DATA / PAIRS[pair] / pair
    if PAIRS[pair] == "mlqe-pe":
        folder = folder / "direct-assessments" / split
    path = folder / f"{split}.{pair.replace('-', '')}.df.short.tsv"
    quoted = csv.QUOTE_MINIMAL if (pair, split) == ("en-te", "train") else csv.QUOTE_NONE
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, delimiter="\t", quoting=quoted))[1:]


def log_probabilities(pair: str, split: str, n: int) -> np.ndarray:
    if PAIRS[pair] != "mlqe-pe":
        return np.full((n, 4), np.nan)
    code = pair.replace("-", "")
    folder = DATA / "mlqe-pe" / pair / "direct-assessments" / split / "word-probas"
    rows = []
    for line in (folder / f"word_probas.{split}.{code}").read_text().splitlines():
        values = np.sort(np.array(line.split(), float))
        worst = values[: max(1, len(values) // 4)]
        rows.append([values.mean(), values.min(), values.std(), worst.mean()])
    return np.array(rows)


def both(first, second):
    if not (len(first) and len(second)):
        return [np.nan] * 14
    cosines = first @ second.T
    values = []
    for best in (cosines.max(axis=1), cosines.max(axis=0)):
        values += [best.mean(), best.min(), *np.quantile(best, (0.1, 0.25, 0.5)), best.std(), len(best)]
    return values


def encode_split(encoder, prompt, pair, split):
    rows = table(pair, split)
    logs = log_probabilities(pair, split, len(rows))
    chosen = np.arange(len(rows))
    if split == "train":
        chosen = np.sort(np.random.default_rng(SEED).permutation(len(rows))[:ROWS])
    vectors, matches, start = [], [], time.process_time()
    for i in range(0, len(chosen), 200):
        texts = [as_read(rows[j][side]) for j in chosen[i : i + 200] for side in (1, 2)]
        out = encoder.encode(texts, prompt)
        for source, target in zip(out[::2], out[1::2], strict=True):
            vectors.append([[*e.layers, e.vector] for e in (source, target)])
            matches.append(both(target.tokens, source.tokens))
    np.savez(STORE / f"{pair}.{split}.npz", vectors=np.array(vectors, np.float32), matches=np.array(matches),
             logs=logs[chosen], scores=np.array([float(rows[j][6]) for j in chosen]),
             lengths=np.array([[len(rows[j][1]), len(rows[j][2])] for j in chosen]))  # fmt: skip
    print(pair, split, len(chosen), "CPU s", round(time.process_time() - start, 1), flush=True)


def encode(model: str) -> None:
    folder = EncoderFolder(encoder_path(model))
    encoder = folder.load(EncoderSettings("auto", None, 1, 32, LAYERS))
    for pair in PAIRS:
        for split in ("dev", "train"):
            encode_split(encoder, folder.prompt, pair, split)


if __name__ == "__main__":
    encode(sys.argv[2])
