"""What every family of the linguistic layer knows beyond the predictions of a run.

    qe train experiments/wmt12/best.yaml --data-root ../shared/data --output output/best
    python benchmarks/studies/wmt12_linguistic.py output/best
    python benchmarks/studies/wmt12_linguistic.py output/best --table consistency.tsv

To the run's out-of-fold predictions an elastic net adds what a family says of their errors (label minus
prediction): fitted on nine folds, applied to the tenth, with the run's folds (10 of contiguous blocks of 31)
and the parameters of experiments/wmt12/all-blackbox.yaml, so that nothing is chosen on these folds. The
difference of DeltaAvg and of MAE has its 95 % interval and p-value as `qe evaluate` gives them, Holm over the
rows.

The layer reads annotations of annotators/en and annotators/es (`experiments/wmt12/wlv-shef-fs.yaml` says how
they are trained), with hunspell's marks for Spanish. `--table` asks the same of the columns of a file with a
row for each training segment (TSV with a header, as `qe features consistency` writes it).
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from features.basics.array_types import FloatArray
from features.storage.cache_folder import default_cache
from qe.config.experiment import load
from qe.data.dataset import LabelScale
from qe.data.folds import make_folds
from qe.evaluation.evaluate import Report, evaluate
from qe.training.check import check
from qe.training.preparation import Prepared, prepare

ROOT = Path(__file__).resolve().parents[2]
METRICS = ("delta_avg", "mae")
SCALE = LabelScale("effort", 1, 5, True)
LAYER: tuple[str | dict[str, Any], ...] = (
    "parts_of_speech",
    "dependency_trees",
    "constituent_trees",
    "parse_probabilities",
    "dependency_matches",
    "subjects",
    "agreement",
    "dangling_determiners",
    "deictics",
    {"kind": "entities", "sides": "target"},  # no treebank of English entities is at hand
    "misspellings",
    "grammar_checks",
)


def out_of_fold(run: Path) -> pd.DataFrame:
    """The run's training rows by id: `gold`, and `predicted` by models that did not see the row."""
    table = pd.read_parquet(run / "predictions.parquet").query("split == 'train'").set_index("id")
    if table["nested"].notna().all():
        table["predicted"] = table["nested"]
    return table


def layer(experiment: Path, data_root: Path, annotators: Path, leave: Sequence[str], cache: Path) -> Prepared:
    """The experiment's dataset with trained annotators, and the features of the layer."""
    families = [f for f in LAYER if (f if isinstance(f, str) else f["kind"]) not in leave]
    changes = {
        "features": families,
        "annotations": {"source": str(annotators / "en"), "target": f"{annotators / 'es'}+hunspell"},
    }
    overrides = [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    return prepare(check(load(experiment, data_root=data_root, overrides=overrides)), cache)


def corrected(predicted: FloatArray, gold: FloatArray, table: pd.DataFrame) -> FloatArray:
    """Predictions, and what these columns say of their errors in the other blocks.

    Without an intercept: the mean error of the other folds has the opposite sign of that of the fold.
    """
    result = predicted.copy()
    for train, held_out in make_folds(len(gold), 10, seed=0, scheme="block", block=31):
        model = make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True),
            StandardScaler(),
            ElasticNet(alpha=0.05, l1_ratio=0.3, fit_intercept=False, max_iter=5000),
        )
        model.fit(table.iloc[train], (gold - predicted)[train])
        result[held_out] += model.predict(table.iloc[held_out])
    return result


def subsets(families: Mapping[str, str]) -> dict[str, list[str]]:
    """Name -> columns: each family, and all of them if there are several."""
    names = list(dict.fromkeys(families.values()))
    each = {f"+ {name}": [c for c, family in families.items() if family == name] for name in names}
    return {**each, "+ all of these": list(families)} if len(names) > 1 else each


def show(outcome: Report, sizes: Mapping[str, int]) -> None:
    print(f"{'features':24s} columns  metric      value  difference   95 % interval        p   (Holm)")
    for name, scores in outcome.systems.items():
        for metric in METRICS:
            line = f"{name:24s} {sizes.get(name, 0):7d}  {metric:10s} {scores.metrics[metric]:6.4f}"
            if name != "run":
                pair = outcome.comparison(name, "run", metric)
                line += f"  {pair.result.difference:+10.4f}   [{pair.ci[0]:+.4f}, {pair.ci[1]:+.4f}]"
                line += f"  {pair.result.p:.4f} ({pair.p_corrected:.4f})"
            print(line)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    best = ROOT / "experiments" / "wmt12" / "best.yaml"
    parser.add_argument("run", type=Path, help="output folder of `qe train`")
    parser.add_argument("--experiment", type=Path, default=best, help="of the run")
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--annotators", type=Path, default=ROOT / "annotators")
    parser.add_argument("--leave", nargs="*", default=[], metavar="FAMILY", help="of the layer, left out")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--table", type=Path, help="columns of this file, in the place of the layer")
    given = parser.parse_args()
    rows = out_of_fold(given.run)
    if given.table is None:
        data = layer(given.experiment, given.data_root, given.annotators.resolve(), given.leave, given.cache)
        table, families = (
            data.extraction.static(data.training.segments),
            data.extraction.feature_set.families(),
        )
    else:
        table = pd.read_csv(given.table, sep="\t").set_index(rows.index)
        families = dict.fromkeys(table.columns, given.table.stem)
    rows = rows.loc[table.index]
    gold, predicted = rows["gold"].to_numpy(), rows["predicted"].to_numpy()
    columns = subsets(families)
    systems = {name: corrected(predicted, gold, table[chosen]) for name, chosen in columns.items()}
    outcome = evaluate(gold, {"run": predicted, **systems}, SCALE, baselines=("run",), metrics=METRICS)
    show(outcome, {name: len(chosen) for name, chosen in columns.items()})


if __name__ == "__main__":
    main()
