"""The tables of Koponen 2012 beside those of `qe effort` on the same data.

    qe effort --target ... --post-edit ... --effort ... --target-language es --output output/effort
    python benchmarks/studies/effort_koponen.py output/effort/report.json

Prints Markdown: table 1 (sets), tables 2 and 3 (correlations), percentages by word class, and how many signs
agree.
"""

import argparse
import json
from pathlib import Path
from typing import Any

# Koponen 2012, "Comparing human perceptions of post-editing effort with post-editing operations".
SETS = {  # table 1: segments, tokens, % edited, % reordered
    "low TER, low score": (37, 1480, 23, 24),
    "low TER, high score": (37, 695, 21, 15),
    "high TER, low score": (35, 943, 45, 45),
    "high TER, high score": (35, 556, 42, 33),
}
OVERALL = {  # tables 2 and 3: low TER, high TER
    "tokens": (-0.51, -0.43),
    "match": (0.11, 0.14),
    "form_changed": (-0.10, 0.36),
    "word_changed": (-0.15, -0.25),
    "pos_changed": (-0.15, -0.28),
    "deleted": (0.08, 0.14),
    "inserted": (-0.15, -0.22),
    "order_same": (0.51, 0.21),
    "moved_group": (-0.48, -0.12),
    "moved_alone": (-0.47, -0.34),
    "distance_1": (-0.37, -0.22),
    "distance_2_or_more": (-0.53, -0.25),
}
BY_CLASS = {
    "low TER": {
        ("noun", "order_same"): 0.49, ("adjective", "order_same"): 0.47, ("noun", "moved_group"): -0.46,
        ("adjective", "distance_2_or_more"): -0.46, ("noun", "distance_2_or_more"): -0.45,
        ("other", "moved_group"): -0.44, ("verb", "moved_alone"): -0.44,
        ("verb", "distance_2_or_more"): -0.43, ("other", "order_same"): 0.41,
        ("determiner", "moved_group"): -0.40, ("verb", "match"): 0.39, ("adjective", "moved_alone"): -0.38,
    },
    "high TER": {
        ("other", "inserted"): -0.38, ("noun", "moved_alone"): -0.36, ("noun", "pos_changed"): -0.35,
        ("noun", "word_changed"): -0.30, ("adjective", "order_same"): 0.28,
        ("determiner", "inserted"): -0.27, ("adjective", "distance_2_or_more"): -0.25,
        ("noun", "match"): 0.24,
    },
}  # fmt: skip
SHARES = {  # section 4.1: % of the words of a class at low TER, low and high scores
    ("verb", "match"): (55, 72),
    ("verb", "form_changed"): (23, 11),
    ("adjective", "form_changed"): (18, 7),
    ("determiner", "deleted"): (None, 15),
    ("determiner", "form_changed"): (None, 11),
    ("determiner", "inserted"): (10, None),
}

Correlations = dict[tuple[str, str], dict[str, Any]]


def main(path: Path) -> None:
    report = json.loads(path.read_text("utf-8"))
    print("| set | segments | tokens | edited | reordered |\n| --- | ---: | ---: | ---: | ---: |")
    for name, (segments, tokens, edited, reordered) in SETS.items():
        figures = report["sets"][name]
        print(
            f"| {name} | {figures['segments']} ({segments}) | {figures['tokens']:,} ({tokens:,}) "
            f"| {100 * figures['edited']:.0f} % ({edited}) "
            f"| {100 * figures['reordered']:.0f} % ({reordered}) |"
        )
    populations = {
        name: {(c["word_class"], c["category"]): c for c in report["correlations"][name]} for name in BY_CLASS
    }
    print("\n| category | low TER | paper | high TER | paper |\n| --- | ---: | ---: | ---: | ---: |")
    for category, published in OVERALL.items():
        cells = [
            f"{_cell(correlations['all', category])} | {value:+.2f}"
            for correlations, value in zip(populations.values(), published, strict=True)
        ]
        print(f"| {category.replace('_', ' ')} | {' | '.join(cells)} |")
    print("\n| word class, category | set | ours | paper |\n| --- | --- | ---: | ---: |")
    for name, entries in BY_CLASS.items():
        for (word_class, category), value in entries.items():
            cell = _cell(populations[name][word_class, category])
            print(f"| {word_class}, {category.replace('_', ' ')} | {name} | {cell} | {value:+.2f} |")
    print("\n| low TER, word class, category | low scores | high scores |\n| --- | ---: | ---: |")
    for (word_class, category), published in SHARES.items():
        cells = [
            _share(report["sets"][f"low TER, {score} score"]["shares"][word_class][category], value)
            for score, value in zip(("low", "high"), published, strict=True)
        ]
        print(f"| {word_class}, {category.replace('_', ' ')} | {' | '.join(cells)} |")
    print()
    for k, (name, correlations) in enumerate(populations.items()):
        published = {("all", category): values[k] for category, values in OVERALL.items()}
        print(f"{name}, all words: {_agreement(correlations, published)}")
        print(f"{name}, by word class: {_agreement(correlations, BY_CLASS[name])}")


def _share(share: float, published: int | None) -> str:
    return f"{100 * share:.0f} % ({'-' if published is None else published})"


def _cell(one: dict[str, Any]) -> str:
    interval = "-" if one["low"] is None else f"{one['low']:+.2f}, {one['high']:+.2f}"
    return f"{one['rho']:+.2f} [{interval}]; {one['lots']['mean']:+.2f} ± {one['lots']['sd']:.2f}"


def _agreement(correlations: Correlations, published: dict[tuple[str, str], float]) -> str:
    same = sum(correlations[key]["rho"] * value > 0 for key, value in published.items())
    inside = sum(
        correlations[key]["low"] is not None
        and correlations[key]["low"] <= value <= correlations[key]["high"]
        for key, value in published.items()
    )
    return f"{same} of {len(published)} signs as published, {inside} published values inside our intervals"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", type=Path, help="report.json of `qe effort`")
    main(parser.parse_args().report)
