"""What users give to be read, as targets of fuzzing: scores, rankings, treebanks, decoder output, models.

A reader is a line in `readers`: a file, its content, and a module-level function of its path.
"""

import gzip
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from features import ParallelCorpus, Segments
from features.basics.array_types import FloatArray
from features.core.feature_set import checked, make_extractor
from features.resources.annotation import Annotation
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.text.tokens import Tokens
from qe.data import read_scores
from qe.data.format import FORMATS
from qe.data.table_rows import FileInput, Layout
from qe.data.translation_files.xlsx import Sheet
from qe.language.conllu import read_conllu
from qe.resources.corpora import Alignments
from qe.resources.part_inputs import from_file
from qe_human.effort.sets import read_conllu as read_annotated
from qe_human.judgements.reading import chosen_pairs, read_judgements
from qe_human.ranking_method import RANKINGS
from qe_papers.moses import nbest_column, trace_column, with_search
from qe_treebanks.annotators._grammar import read_trees
from qe_treebanks.annotators.entities import read_entities
from tests.attacks.fuzzing import Target
from tests.attacks.models import TOKENIZERS
from tests.qe_treebanks.annotators.made import write_conllu, write_entities, write_trees

PAIRS = [("a b c", "A B C"), ("a b", "A B"), ("c", "C")]
LABEL = {"name": "score", "low": 1, "high": 5, "higher_is_better": True}
SPLITS = {"train": {"source": "s.txt", "target": "t.txt", "scores": "y.txt", "post_edit": "p.txt"}}
LANGUAGES = {"source_language": "en", "target_language": "es"}

TRACE = "A B |0-1| C |2-2|\nA |0-0| B |1-1|\nC |0-0|\n"
NBEST = """\
0 ||| A B C ||| LM0= -10.5 TM0= -1 -2 ||| -3.25 ||| 0-1=0-1 2=2
0 ||| A C B ||| LM0= -11.5 TM0= -1 -3 ||| -4.25 ||| 0=0 1-2=1-2
1 ||| A |0-0| B |1-1| ||| lm: -5 tm: -1 -2 ||| -2.5
2 ||| C ||| -1 -2 ||| -1.5
"""
GRAPH = """\
0 hyp=0 stack=0 forward=1 fscore=-103.717
0 hyp=1 stack=1 back=0 score=-2.1 transition=-2.1 forward=2 fscore=-103.1 covered=0-0 out=A
0 hyp=2 stack=3 back=1 score=-3.1 transition=-1.0 recombined=1 forward=-1 fscore=-3.1 covered=1-2 out=B C
"""
SEARCH = {"nodes": 5, "dead": 1, "recombined": 2, "transitions": [-1.5, -2.0]}
ENTRY = [
    {
        "text": "A B C",
        "score": -3.0,
        "scores": {"LM0": [-1.5], "TM0": [-1, -2]},
        "phrases": [[0, 1, 0, 1]],
        "search": SEARCH,
    },
    {"text": "A C", "score": -4.0},
    "B C",
]
LEX = "a A 0.5\na B 0.5\nNULL C 0.25\nc C 1\n"
ARPA = """\
\\data\\
ngram 1=5
ngram 2=4
ngram 3=1

\\1-grams:
-1.5\t<unk>
-99\t<s>\t-0.3
-0.9\t</s>
-0.7\ta\t-0.2
-1.1\tb\t-0.25

\\2-grams:
-0.4\t<s> a\t-0.1
-0.5\ta b\t-0.1
-0.3\tb </s>
-0.8\ta a

\\3-grams:
-0.2\t<s> a b

\\end\\
"""
RANKINGS_CSV = """\
srclang,trglang,srcIndex,documentId,segmentId,judgeId,system1Number,system1Id,system2Number,system2Id,system3Number,system3Id,system1rank,system2rank,system3rank
Czech,English,1,,,j1,1,x,2,y,3,z,1,2,3
Czech,English,2,,,j1,2,y,1,x,0,blank,2,2,-1
Czech,English,2,,,j2,3,z,1,x,2,y,5,4,-1
"""
RANK_TABLE = """\
source_language\ttarget_language\tsegment\tjudge\tsystem\trank
Czech\tEnglish\t1\tj1\tx\t1
Czech\tEnglish\t1\tj1\ty\t2
Czech\tEnglish\t1\tj1\tz\t3
Czech\tEnglish\t2\tj2\tx\t2
Czech\tEnglish\t2\tj2\ty\t-1
Czech\tEnglish\t2\tj2\tz\t1
"""
XLIFF_1 = """\
<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" datatype="plaintext"
 source-language="en" target-language="es"><body>
<trans-unit id="1"><source>a <g id="1">b</g> c</source><target>A <x id="2"/>B C</target></trans-unit>
<trans-unit id="2"><source>a b</source><seg-source><mrk mtype="seg" mid="0">a</mrk> <mrk mtype="seg"
 mid="1">b</mrk></seg-source><target><mrk mtype="seg" mid="0">A</mrk>
 <mrk mtype="seg" mid="1">B</mrk></target>
<note from="qe" annotates="target">score 2</note></trans-unit>
<trans-unit id="3"><source>c</source><target/></trans-unit>
</body></file></xliff>
"""
XLIFF_2 = """\
<?xml version="1.0" encoding="UTF-8"?>
<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="es"><file id="f">
<unit id="1"><notes><note category="qe">score 2</note></notes>
<originalData><data id="d">x</data></originalData>
<segment id="1"><source>a <ph id="1" dataRef="d"/>b c</source><target>A B C</target></segment>
<segment><source>a b</source></segment><ignorable><source> </source></ignorable></unit>
<unit id="2"><segment><source>c</source><target>C</target></segment></unit>
</file></xliff>
"""
TMX = """\
<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header creationtool="x" creationtoolversion="1" segtype="sentence" o-tmf="x"
 adminlang="en" srclang="en" datatype="plaintext"/><body>
<tu tuid="1"><tuv xml:lang="en"><seg>a <bpt i="1">b</bpt> c</seg></tuv>
<tuv xml:lang="es"><seg>A B C</seg></tuv></tu><tu><prop type="qe">score 2</prop>
<tuv xml:lang="EN-US"><seg>a b</seg></tuv><tuv xml:lang="es-MX"><seg>A B</seg></tuv></tu></body></tmx>
"""
COUNTS = "system_a,system_b,wins,ties,losses\nx,y,10,2,5\ny,z,4,4,4\nx,z,7,0,1\n"


def scores(path: Path) -> None:
    read_scores(path, low=1, high=5)


def ranks(path: Path) -> None:
    read_scores(path, ranks_suffice=True)


def judgements(path: Path) -> None:
    """As `qe rank` begins: read, counted, and ranked."""
    judged = read_judgements([path])
    for pair in chosen_pairs(judged, []).values():
        for name in ("expected_wins", "bojar", "official"):
            RANKINGS.get(name)().ranking(pair.counts.wins, pair.counts.ties)


def treebank(path: Path) -> None:
    for sentence in read_conllu([path]):
        sentence.heads()
        sentence.in_text()


def annotated_texts(path: Path) -> None:
    read_annotated(path, "es")


def corpus() -> ParallelCorpus:
    return ParallelCorpus.from_lines(PAIRS, *TOKENIZERS)


def corpus_annotation(path: Path) -> None:
    """As `qe resources build --source-annotation FILE`."""
    given = corpus()
    blocks = from_file(path).blocks(given, "source")
    Annotation.from_blocks(given, "source", blocks, {"by": "file"})


def entities(path: Path) -> None:
    read_entities([path])


def trees(path: Path) -> None:
    read_trees(path)


def nbest(path: Path) -> None:
    """As the extractor `nbest` uses what `qe data import` made of a decoder's list."""
    extracted({"kind": "nbest"}, nbest=nbest_column(path, len(PAIRS)))


def trace(path: Path) -> None:
    extracted({"kind": "nbest"}, nbest=trace_column(path))


def search_graph(path: Path) -> None:
    column = with_search(nbest_column(path.with_name("list.txt"), len(PAIRS)), path)
    extracted({"kind": "nbest"}, nbest=column)


def extracted(config: dict[str, Any], **columns: Sequence[str]) -> FloatArray:
    source, target = zip(*PAIRS, strict=True)
    segments = Segments.from_columns({"source": source, "target": target, **columns}, *TOKENIZERS)
    return checked(make_extractor(config, None), segments)


def nbest_entry(path: Path) -> None:
    """As a table of new translations gives it in the column `nbest` of a row."""
    extracted({"kind": "nbest"}, nbest=[path.read_text("utf-8", "replace")] * len(PAIRS))


def precomputed(path: Path) -> None:
    ids = [f"train-{i}" for i in range(1, len(PAIRS) + 1)]
    extracted({"kind": "precomputed", "files": {"train": str(path)}, "columns": "header"}, id=ids)


def lexicon(path: Path) -> None:
    given = corpus()
    Lexicon.read_lex(path).with_quartiles(given.source, given.target)


def language_model(path: Path) -> None:
    model = LanguageModel.read(path)
    model.score(Tokens.from_lists([["a", "b"], [], ["a", "a", "x"]]))


def alignments(path: Path) -> None:
    """As a phrase table is made of given links."""
    given = corpus()
    alignment = Alignments(path)
    builders: Any = alignment.builders()
    builders["phrase_table"](given, minimum=1)


def parallel_corpus(path: Path) -> None:
    ParallelCorpus.read(path, path.with_name("t.txt"), *TOKENIZERS)


def parallel_text(path: Path) -> None:
    FORMATS.get("parallel_text")(splits=SPLITS, label=LABEL, **LANGUAGES).read(path.parent)


def table(path: Path) -> None:
    FORMATS.get("table")(label=LABEL, columns={"scores": "score"}, **LANGUAGES).read(path)


def translated(path: Path) -> None:
    """The way of `qe score FILE` in place: read, a note or a cell put at every segment, read again."""
    layout = Layout(languages=("en", "es"))
    file = FileInput(path, layout).file
    again = path.with_name(f"again{path.suffix}")
    if isinstance(file, Sheet):
        file.add({"score": "added"}, {row.number: {"score": 1.0} for row in file.rows})
        file.save(again)
    else:
        again.write_bytes(file.with_notes(["score 1"] * len(file.rows)))
    assert len(FileInput(again, layout).file.rows) == len(file.rows)
    again.unlink()


def use_file(folder: Path, name: str, read: Callable[[Path], object]) -> None:
    given = read(folder / name)
    if isinstance(given, Iterator):
        deque(given, 0)


def rows() -> pd.DataFrame:
    source, target = zip(*PAIRS, strict=True)
    columns = {"id": ["1", "2", "3"], "source": source, "target": target, "score": [1.0, 2.5, 5.0]}
    return pd.DataFrame(columns)


def write_tables(folder: Path) -> None:
    rows().to_csv(folder / "rows.csv", index=False)
    rows().to_csv(folder / "rows.tsv", index=False, sep="\t")
    rows().to_json(folder / "rows.jsonl", orient="records", lines=True)
    rows().to_parquet(folder / "rows.parquet")
    rows().to_excel(folder / "rows.xlsx", index=False)


def write_texts(folder: Path) -> None:
    for name, column in (("s", "source"), ("t", "target"), ("p", "target"), ("y", "score")):
        (folder / f"{name}.txt").write_text("".join(f"{value}\n" for value in rows()[column]), "utf-8")


def small_conllu() -> str:
    """A block per pair of the corpus."""
    blocks = []
    for source, _ in PAIRS:
        words = TOKENIZERS[0].split(source)
        lines = [f"{i}\t{w}\t{w}\tNOUN\tN\t_\t{i - 1}\tdep\t_\tNER=O" for i, w in enumerate(words, start=1)]
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


def submission() -> str:
    numbers = np.arange(1, 8)
    return "".join(f"method\t{i}\t{i / 2}\t{8 - i}\n" for i in numbers)


def readers(scratch: Path) -> Iterator[Target]:
    """Everything that is given."""
    folder = scratch / "given"
    folder.mkdir()
    write_tables(folder)
    write_texts(folder)
    write_conllu(folder / "treebank.conllu")
    write_entities(folder / "entities.txt")
    write_trees(folder / "trees.mrg")
    content = {
        "numbers.txt": "1\n2.5\n5\n",
        "submission.txt": submission(),
        "wmt.csv": RANKINGS_CSV,
        "ranks.tsv": RANK_TABLE,
        "Czech-English.csv": COUNTS,
        "small.conllu": small_conllu(),
        "list.txt": NBEST,
        "trace.txt": TRACE,
        "entry.json": json.dumps(ENTRY),
        "search.graph": GRAPH,
        "words.lex": LEX,
        "model.arpa": ARPA,
        "links.txt": "0-0 1-1 2-2\n0-0 1-1\n0-0\n",
        "version1.xlf": XLIFF_1,
        "version2.xlf": XLIFF_2,
        "memory.tmx": TMX,
        "features.tsv": "half\tthird\n1\tNaN\n0.5\t3\n2e-3\t4\n",
    }
    for name, text in content.items():
        (folder / name).write_text(text, "utf-8")
    (folder / "model.arpa.gz").write_bytes(gzip.compress(ARPA.encode(), mtime=0))
    reads: list[tuple[str, Callable[[Path], object]]] = [
        ("numbers.txt", scores),
        *((f"rows.{kind}", scores) for kind in ("tsv", "csv", "jsonl", "parquet")),
        ("submission.txt", ranks),
        *((name, judgements) for name in ("wmt.csv", "ranks.tsv", "Czech-English.csv")),
        ("treebank.conllu", treebank),
        ("treebank.conllu", annotated_texts),
        ("small.conllu", corpus_annotation),
        ("entities.txt", entities),
        ("trees.mrg", trees),
        ("list.txt", nbest),
        ("trace.txt", trace),
        ("entry.json", nbest_entry),
        ("search.graph", search_graph),
        ("words.lex", lexicon),
        ("model.arpa", language_model),
        ("model.arpa.gz", language_model),
        ("links.txt", alignments),
        ("features.tsv", precomputed),
        ("s.txt", parallel_corpus),
        *((f"{name}.txt", parallel_text) for name in "stpy"),
        *((f"rows.{kind}", table) for kind in ("tsv", "csv", "jsonl", "parquet", "xlsx")),
        *((name, translated) for name in ("version1.xlf", "version2.xlf", "memory.tmx", "rows.xlsx")),
    ]
    for name, read in reads:
        yield Target(f"{read.__name__}: {name}", folder, use_file, (name, read), None, name)
