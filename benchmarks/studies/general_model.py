"""Leave-one-pair-out figures of experiments/general/da.yaml, without and with log-probabilities of a decoder.

`encode MODEL` reads a sample of training rows of each pair and its development rows once, and stores arrays.
`report` learns from seven pairs and scores development rows of the eighth, as the family `multilingual` does.

    .venv/bin/python benchmarks/studies/general_model.py encode multilingual-e5-small-int8
    .venv/bin/python benchmarks/studies/general_model.py report
"""

import csv
import sys
import time
from functools import reduce
from itertools import combinations
from pathlib import Path

import numpy as np
from lightgbm import LGBMRegressor
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import pearsonr, spearmanr
from sklearn.linear_model import Ridge

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


PENALTY, ALPHA = 0.002, 1000
SHARES = np.linspace(0, 1, 201)
TREES = {"n_estimators": 200, "learning_rate": 0.03, "num_leaves": 15, "min_child_samples": 100,
         "colsample_bytree": 0.3, "subsample": 0.6, "subsample_freq": 1, "reg_lambda": 10,
         "n_jobs": 1, "verbose": -1, "random_state": 1}  # fmt: skip


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


def joint(vectors):
    parts = []
    for layer in range(vectors.shape[2]):
        u, v = unit(vectors[:, 0, layer]), unit(vectors[:, 1, layer])
        parts += [u, v, np.abs(u - v), u * v]
    return np.hstack(parts).astype(np.float32)


def compared(data):
    vectors, matches, lengths = unit(data["vectors"]), data["matches"], np.log(data["lengths"])
    cosines = (vectors[:, 0] * vectors[:, 1]).sum(axis=-1)
    f1 = 2 * matches[:, 0] * matches[:, 7] / (matches[:, 0] + matches[:, 7])
    ratio = lengths[:, 1] - lengths[:, 0]
    return np.column_stack(
        [cosines, matches[:, 0], matches[:, 7], f1, matches[:, 1:5], lengths, ratio, data["logs"]]
    )


def quantiles(values):
    known = [column[np.isfinite(column)] for column in values.T]
    return np.column_stack([np.quantile(k, SHARES) if len(k) else np.full(201, np.nan) for k in known])


def row_features(values, own, everywhere, predicted):
    ranks = np.full(values.shape, np.nan)
    for j, column in enumerate(values.T):
        grid = own[:, j] if np.isfinite(own[0, j]) else everywhere[:, j]
        ranks[:, j] = np.interp(column, grid, SHARES)
    return np.column_stack([values, ranks, np.isfinite(values[:, -1]), predicted])


def ridges(joints, labels):
    """Held-out pairs (one or two) -> slopes and intercept of the ridge on the others."""
    sums = {p: (len(x), x.sum(axis=0), x.T @ x, x.T @ labels[p]) for p, x in joints.items()}
    found = {}
    for held_out in [*combinations(joints, 1), *combinations(joints, 2)]:
        others = [sums[p] for p in joints if p not in held_out]
        n, s, products, moments = reduce(lambda a, b: tuple(x + y for x, y in zip(a, b, strict=True)), others)
        covariance = products - np.outer(s, s) / np.float32(n)
        covariance[np.diag_indices_from(covariance)] += PENALTY * n
        slopes = cho_solve(cho_factor(covariance), moments)
        found[frozenset(held_out)] = slopes, -(s / n) @ slopes
    return found


def report() -> None:
    start = time.process_time()
    train, dev = ({p: dict(np.load(STORE / f"{p}.{s}.npz")) for p in PAIRS} for s in ("train", "dev"))
    labels = {p: ((d["scores"] - d["scores"].mean()) / d["scores"].std()).astype(np.float32)
              for p, d in train.items()}  # fmt: skip
    joints = {p: joint(d["vectors"]) for p, d in train.items()}
    learned = ridges(joints, labels)
    values = {p: compared(d) for p, d in train.items()}
    for held_out in PAIRS:
        others = [p for p in PAIRS if p != held_out]
        everywhere, tables = quantiles(np.vstack([values[p] for p in others])), []
        for p in others:
            slopes, intercept = learned[frozenset((held_out, p))]
            predicted = joints[p] @ slopes + intercept
            tables.append(row_features(values[p], quantiles(values[p]), everywhere, predicted))
        table, gold = np.vstack(tables), np.concatenate([labels[p] for p in others])
        median = np.nanmedian(table, axis=0)
        table = np.where(np.isfinite(table), table, median)
        mean, deviation = table.mean(axis=0), table.std(axis=0) + 1e-9
        members = [LGBMRegressor(**TREES), Ridge(alpha=ALPHA)]
        members = [member.fit((table - mean) / deviation, gold) for member in members]
        slopes, intercept = learned[frozenset([held_out])]
        predicted, test = joint(dev[held_out]["vectors"]) @ slopes + intercept, compared(dev[held_out])
        figures = []
        for logs in (False, True):
            own = test if logs else np.column_stack([test[:, :-4], np.full((len(test), 4), np.nan)])
            rows = row_features(own, everywhere, everywhere, predicted)
            rows = (np.where(np.isfinite(rows), rows, median) - mean) / deviation
            scores, real = sum(m.predict(rows) for m in members), dev[held_out]["scores"]
            figures += [pearsonr(scores, real)[0], spearmanr(scores, real)[0]]
        print(held_out, *(f"{figure:.3f}" for figure in figures), flush=True)
    print("CPU s", round(time.process_time() - start))


if __name__ == "__main__":
    encode(sys.argv[2]) if sys.argv[1] == "encode" else report()
