"""`qe annotate`: train, run and evaluate annotators."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from features.basics.progress import Progress
from qe.cli.shared.application import Application
from qe.cli.shared.options import Positive
from qe.cli.shared.printing import Result, Verbatim

if TYPE_CHECKING:
    from qe.display.table import Table

app = Application()


@app.command()
def train(
    task: str,
    treebank: list[Path],
    language: str,
    output: Path,
    progress: Progress,
    overrides: list[str] | None = None,
) -> Result:
    """Train the annotator of one task into a folder that may hold other tasks.

    dependencies needs pos in the same folder. The folder holds JSON and arrays, no code: it can be handed on.

    Examples:

        qe annotate train --task pos --treebank es-ud-train.conllu --language es --output annotators/es

        qe annotate train --task dependencies --treebank es-ud-train.conllu --language es -o annotators/es

        qe annotate train --task constituents --treebank wsj.mrg --language en -o annotators/en --set n_best=9

    options:
      --task  {qe_treebanks.annotators}.
      --treebank  Annotated file, plain or gzip; may be repeated. pos, dependencies: CoNLL-U; constituents:
          bracketed trees (Penn, CESS); entities: CoNLL 2002 or 2003, or CoNLL-U with NER= in MISC.
      --language  Language code of the treebank, such as es.
      --set  epochs=N, seed=N (not constituents); beam=N (dependencies); vertical=N, horizontal=N, n_best=N
          (constituents).

    output:
      -o, --output DIR  Folder of the language's annotators; made if not there.
    """
    from qe_treebanks import annotator_folder as _folder
    from qe_treebanks.annotator_folder import parse_settings

    options = parse_settings(task, overrides or [])
    made = _folder.train(task, treebank, language, output, options, progress)
    lines = [f"{output}: {task} trained from {', '.join(map(str, treebank))}"]
    if skipped := made.settings.get("skipped"):
        lines.append(f"{skipped} trees passed over: their brackets do not match, or no word is left in them")
    content = {"task": task, "output": str(output), "settings": dict(made.settings)}
    return Result("annotate-train", content, map(Verbatim, lines), brief=True)


@app.command()
def run(
    annotator: str,
    input_: Path,
    output: Path,
    progress: Progress,
    language: str | None = None,
    other_language: str = "en",
    tokenized: bool = False,
) -> Result:
    """Annotates a file on all cores; an interrupted run resumes.

    The output is suitable for `annotation_source`, `annotation_target` of a dataset, and `qe resources build
    --source-annotation`: a word for each token of the project's tokenizer.

    Example:

        qe annotate run --annotator annotators/es --input train.es.gz --output train.es.conllu.gz

    options:
      --annotator  Folder of trained annotators; or apertium, udpipe:FILE, spacy:NAME, stanza:LANGUAGE.
      -i, --input  One segment per line, plain or gzip.
      --language  Language code of the text. (default: the folder's)
      --other-language  The other language of the pair whose data Apertium uses.
      --tokenized  The text is tokenized: split at whitespace only.

    output:
      -o, --output FILE  CoNLL-U, a block per line of the input; .gz compresses.
    """
    from features.text.tokenizer import Tokenizer
    from qe.language import taggers
    from qe_treebanks.annotator_folder import annotate_file

    code = language or _language(annotator)
    by = taggers.tagger(annotator, code, other_language, texts_per_process=2000)
    tokenizer = Tokenizer(code, "whitespace", False) if tokenized else Tokenizer(code)
    done = annotate_file(input_, output, by, tokenizer, progress=progress)
    line = Verbatim(f"{output}: {done.lines} segments, {done.tokens} tokens by {annotator}")
    return Result("annotate-run", {"output": str(output), **vars(done)}, [line], brief=True)


@app.command()
def project(
    annotator: str,
    resources: Path,
    output: Path,
    progress: Progress,
    pairs: Positive = 100000,
    test_sentences: Path | None = None,
    language: str | None = None,
) -> Result:
    """Creates an entity treebank for a language, from an annotator of another language.

    The annotator tags one side of a parallel corpus, and word links project the tags to the other side. A
    sentence is skipped if an entity has no clear place. An annotator trained on the result (`qe annotate
    train --task entities`) is limited by annotator and links: `--test-sentences` measures how well it
    reproduces them.

    Example:

        qe annotate project --annotator annotators/es --resources output/en-es -o en-entities.conll

    options:
      --annotator  Annotator of entities, as for `qe annotate run`, of one side of the corpus.
      --resources  Bundle with a corpus and the part `aligner` (qe resources build --only aligner).
      --pairs  Number of leading pairs of the corpus.
      --language  Language code of the annotator. (default: the folder's)

    output:
      -o, --output FILE  CoNLL 2002: the other side's words, their tags.
      --test-sentences FILE  File for every 25th sentence, held out for evaluation.
    """
    from typing import cast

    from features.core.bundle import Bundle
    from features.resources.aligner import Aligner
    from features.storage.outputs import check_output
    from qe.language.taggers import tagger
    from qe.resources.corpora import corpus_of
    from qe_treebanks.treebanks import project_entities

    code = language or _language(annotator)
    check_output(output, [resources])
    if test_sentences is not None:
        check_output(test_sentences, [resources, output])
    bundle = Bundle(resources)
    corpus, aligner = corpus_of(bundle), cast(Aligner, bundle.part("aligner"))
    by = tagger(annotator, code, code, texts_per_process=2000)
    done = project_entities(corpus, aligner, by, code, output, pairs, test_sentences, progress)
    line = Verbatim(
        f"{output}: {done.sentences:,} sentences, {done.entities:,} entities by {annotator}; "
        f"{done.skipped:,} sentences skipped"
    )
    return Result("annotate-project", {"output": str(output), **vars(done)}, [line], brief=True)


@app.command()
def evaluate(annotator: Path, task: str, gold: list[Path]) -> Result:
    """Evaluates an annotator on annotated files, with the files' tokenization.

    pos: accuracy. dependencies: attachment scores, with punctuation. Both are given for syntactic words, and
    for tokens of the text, in which a range such as `del` is one token. constituents: brackets by EVALB's
    rules. entities: whole entities, as in conlleval. Earlier stages are predicted too: dependencies use the
    folder's tags, not the file's.

    Example:

        qe annotate evaluate --annotator annotators/es --task dependencies --gold es-ud-test.conllu

    options:
      --annotator  Folder of trained annotators.
      --task  {qe_treebanks.annotators}.
      --gold  Annotated file of the task's kind, not used in training; may be repeated.
    """
    from qe_treebanks.annotator_folder import AnnotatorFolder

    figures = AnnotatorFolder(annotator).evaluate(task, gold)
    return Result("annotate-evaluate", figures, [figures_table(figures, task)])


def figures_table(figures: Mapping[str, Any], title: str) -> "Table":
    """Table with a row per annotated layer, and per type in a layer; missing figures are empty."""
    from qe.display.table import Column, Table

    rows: dict[str, Mapping[str, Any]] = {}
    for name, row in figures.items():
        if isinstance(row, Mapping):
            rows[name] = {key: value for key, value in row.items() if key != "types"}
            rows |= {f"{name}: {kind}": of_kind for kind, of_kind in row.get("types", {}).items()}
    names = list(dict.fromkeys(key for row in rows.values() for key in row))
    columns = [Column(""), *(Column(name, drop=place) for place, name in enumerate(names))]
    return Table(
        title, columns, [[name, *(_cell(row.get(key)) for key in names)] for name, row in rows.items()]
    )


def _cell(value: Any) -> str:
    from qe.display.numbers import count, number

    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    return number(value, 4) if isinstance(value, float) else count(value)


def _language(annotator: str) -> str:
    from features.basics.errors import InputError
    from qe_treebanks.annotator_folder import MANIFEST, AnnotatorFolder

    if (Path(annotator) / MANIFEST).is_file():
        return AnnotatorFolder(Path(annotator)).language
    raise InputError(
        f"the language of the text that '{annotator}' is to annotate is not said", remedy="add --language"
    )
