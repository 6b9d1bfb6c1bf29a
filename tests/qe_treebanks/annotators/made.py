"""A made language: three files of treebanks, small enough for tests, regular enough to be learned."""

import json
from itertools import product
from pathlib import Path
from typing import Any

from features.storage.files import sha256
from qe.config.experiment import Experiment, from_mapping
from qe_treebanks.annotator_folder import MANIFEST

DETERMINERS = {"el": "Masc", "la": "Fem"}
NOUNS = {"gato": "Masc", "perro": "Masc", "casa": "Fem", "mesa": "Fem", "niño": "Masc", "luna": "Fem"}
VERBS = ("mira", "busca", "pinta", "rompe")
NAMES = {"Ana": "PER", "Luis": "PER", "Lima": "LOC", "Roma": "LOC"}

Word = tuple[str, str, str, str, int, str]  # form, lemma, upos, feats, head, relation


def sentences() -> list[list[Word]]:
    """`la casa mira el gato .`, `Ana busca la mesa del niño .`: subject, verb, object."""
    collected: list[list[Word]] = []
    for (noun, gender), verb, (other, kind) in product(NOUNS.items(), VERBS, NOUNS.items()):
        own, his = (d for g in (gender, kind) for d, of in DETERMINERS.items() if of == g)
        collected.append(
            [
                (own, "el", "DET", f"Gender={gender}", 2, "det"),
                (noun, noun, "NOUN", f"Gender={gender}", 3, "nsubj"),
                (verb, verb + "r", "VERB", "_", 0, "root"),
                (his, "el", "DET", f"Gender={kind}", 5, "det"),
                (other, other, "NOUN", f"Gender={kind}", 3, "obj"),
                (".", ".", "PUNCT", "_", 3, "punct"),
            ]
        )
    for name, verb, (noun, gender) in product(NAMES, VERBS, NOUNS.items()):
        own = next(d for d, of in DETERMINERS.items() if of == gender)
        collected.append(
            [
                (name, name, "PROPN", "_", 2, "nsubj"),
                (verb, verb + "r", "VERB", "_", 0, "root"),
                (own, "el", "DET", f"Gender={gender}", 4, "det"),
                (noun, noun, "NOUN", f"Gender={gender}", 2, "obj"),
                ("de", "de", "ADP", "_", 7, "case"),
                ("el", "el", "DET", "Gender=Masc", 7, "det"),
                ("niño", "niño", "NOUN", "Gender=Masc", 4, "nmod"),
                (".", ".", "PUNCT", "_", 2, "punct"),
            ]
        )
    return collected


def conllu(some: list[list[Word]]) -> str:
    """With `del` as a range of `de` and `el`."""
    lines: list[str] = []
    for sentence in some:
        for i, (form, lemma, upos, feats, head, relation) in enumerate(sentence, start=1):
            if form == "de":
                lines.append(f"{i}-{i + 1}\tdel" + "\t_" * 8)
            lines.append(f"{i}\t{form}\t{lemma}\t{upos}\t{upos.lower()}\t{feats}\t{head}\t{relation}\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"


def write_conllu(path: Path, held_out: bool = False) -> Path:
    """All sentences; with `held_out` without every fifth."""
    path.write_text(conllu([s for i, s in enumerate(sentences()) if i % 5 or not held_out]), "utf-8")
    return path


def write_entities(path: Path) -> Path:
    lines = []
    for sentence in sentences():
        lines += [f"{form} {f'B-{NAMES[form]}' if form in NAMES else 'O'}" for form, *_ in sentence] + [""]
    path.write_text("\n".join(lines), "utf-8")
    return path


def write_trees(path: Path) -> Path:
    lines = []
    for words in (sentence for sentence in sentences() if len(sentence) == 6):
        one, two, three, four, five, stop = (word[0] for word in words)
        subject, obj = f"(NP (D {one}) (N {two}))", f"(NP (D {four}) (N {five}))"
        lines.append(f"( (S {subject} (VP (V {three}) {obj}) (. {stop})) )")
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def relist(folder: Path) -> None:
    """The manifest of annotators with the checksums of what lies there, as a forger writes it."""
    content = json.loads((folder / MANIFEST).read_text("utf-8"))
    for task, about in content["tasks"].items():
        about["files"] = {file.name: sha256(file) for file in (folder / task).iterdir()}
    (folder / MANIFEST).write_text(json.dumps(content), "utf-8")


def experiment(folder: Path, annotations: Any, **more: Any) -> Experiment:
    keys = {
        "name": "e",
        "dataset": {"format": "wmt12", "path": "."},
        "features": [{"kind": "surface"}],
        "learner": {"kind": "ridge"},
        "annotations": annotations,
    }
    return from_mapping(keys | more, folder)
