"""`qe demo`: run the whole main job on artificial data; no files, no network.
`qe init`: write a first experiment for your own table, commented.
`qe report`: write one HTML page of a training run or of a scored file.
`qe ui`: open the MLflow UI on the project's store.
`qe schema`: write the JSON Schema of experiments, or of machine output.
`qe completion`: print a script by which the shell completes verbs and options.
"""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval

from features.basics.errors import NO_MODEL, InputError, unknown_name
from features.basics.progress import Progress
from qe.cli._help import names_in
from qe.cli.shared.commands import check_absent
from qe.cli.shared.options import RowOptions
from qe.cli.shared.printing import Result
from qe.display.numbers import count, span
from qe.statistics.settings import Seed

if TYPE_CHECKING:
    pass


def demo(progress: Progress, output: Path = Path("output/demo"), seed: Seed = 1) -> None:
    """Run the whole workflow on ARTIFICIAL data: no network, no files of yours.

    An invented language pair, 20,000 sentence pairs, the output of a flawed translator, its post-edits and
    three annotators; then resources, the 17 baseline features, a search, evaluation against two baselines
    with significance tests, tracking, registration, and scores for 2,000 new translations.

    Example:

        qe demo --output output/demo

    output:
      -o, --output DIR  Folder for everything that the demo makes.
    """
    from qe.cli._summary import comparisons, outcome_parts
    from qe.cli.shared.printing import show_parts
    from qe.getting_started.demo.run import demo as run

    print("The data of this demo are artificial: an invented language pair and a simulated translator.")
    made = run(output, seed=seed, progress=progress)
    show_parts([*outcome_parts(made.outcome), *comparisons(made.outcome.report)])
    scored, rows = count(made.scored.scored), count(made.scored.rows)
    print(f"{scored} of {rows} new translations scored, {count(made.seconds)} s in all")
    print("\nWhere to look next:")
    print(
        f"  {output}/report.json and {output}/plots: the figures with their recipe; {made.scores}: the scores"
    )
    print("  qe ui: the run, its trials and the registered model in MLflow (http://127.0.0.1:5000)")
    again = f"qe train {made.experiment} --set learner.kind=lightgbm --output {output}-lightgbm"
    print(f"  {again}: another learner")


def init(
    data: Path,
    table: RowOptions,
    source_language: str | None = None,
    target_language: str | None = None,
    higher_is_better: bool | None = None,
    parallel: tuple[Path, Path] | None = None,
    own_corpus: bool = False,
    name: str | None = None,
    output: Path | None = None,
    kind: str | None = None,
    overwrite: bool = False,
    quiet: bool = False,
) -> Result:
    """Write a first experiment for a table of labelled translations, ready to train.

    The usual headers are recognised (source, src, original; target, mt, translation; score, z_mean, hter;
    post_edit, pe; doc_id). Anything in doubt must be given; nothing is guessed.

    Examples:

        qe init data.tsv --source-language en --target-language de --higher-is-better

        qe init data.csv --source-language en --target-language de --columns scores=z_mean
        --parallel train.en.gz train.de.gz --output mine.yaml

    arguments:
      data  Labelled segments: a table, or XLSX, XLIFF or TMX.

    input:
      --columns NAME=HEADER  Headers that are not recognised: scores=z_mean,target=mt; `id=` ignores the ids.
      --higher-is-better/--lower-is-better  Direction of the score. (default: that of a known header)
      --parallel SOURCE TARGET  Parallel text, one sentence per line, plain or gzip.
      --own-corpus  Without parallel text: use a third of the rows as the corpus.
      --kind KIND  tsv, csv, jsonl, parquet, xlsx, xliff or tmx. (default: by the file's name)

    output:
      --name NAME  Name of the experiment and its model. (default: that of the experiment file)
      -o, --output FILE  The experiment file. (default: the name of the data, with .yaml)
    """
    from qe.getting_started.init.experiment import begin
    from qe.getting_started.init.table import Wishes, parse_columns

    wishes = Wishes(
        languages=(source_language, target_language),
        columns=parse_columns(table.columns or ()),
        higher_is_better=higher_is_better,
        layout=table.layout(kind=kind),
    )
    stem = data.name.removesuffix(".gz").rpartition(".")[0] or data.name
    made = begin(
        data, wishes, output or Path(f"{stem}.yaml"), name=name, parallel=parallel, own_corpus=own_corpus,
        overwrite=overwrite,
    )  # fmt: skip
    content = made.to_json()
    columns = ", ".join(f"{role} = {header}" for role, header in content["columns"].items())
    direction = "higher is better" if content["label"]["higher_is_better"] else "lower is better"
    low, high = content["labels"].values()
    lines = [
        f"{made.path}: {content['segments']:,} segments; columns: {columns}",
        f"label {content['label']['name']}, {span(low, high, 6)} here, {direction}",
        *(f"note: {note}" for note in content["notes"]),
        f"next: look at `label` in {made.path}, then qe train {made.path}",
        *(f"a step up: {step}" for step in content["steps"]),
    ]
    return Result("init", content, lines, brief=True)


def report(
    target: Path,
    output: Path | None = None,
    model: str | None = None,
    drift: Path | None = None,
    triage: Path | None = None,
    summary: Path | None = None,
    worst: Annotated[int | None, Interval(ge=1, le=10_000)] = None,
    require_signature: Path | None = None,
    overwrite: bool = False,
    quiet: bool = False,
) -> None:
    """Write one self-contained HTML page that needs no network, prints, and works with screen readers.

    The page of a run has figures with intervals, predictions, DeltaAvg, errors by length and by prediction,
    importance, the segments with the largest and smallest errors with explanations, and the recipe. The page
    of a scored file has scores compared with those of training, drift, the action for each band and its cost,
    flags, and the segments to look at first (score with --keep --flags --explain 3 --tokens, and the page
    shows all of it).

    Example:

        qe report output/demo

        qe report kept.jsonl --model output/demo/model --drift drift.json --triage costs.yaml -o page.html

        qe report kept.jsonl --model output/demo/model --worst 100

    arguments:
      target  Output folder of `qe train` or `qe demo`, or a file that `qe score` wrote.

    input:
      -m, --model MODEL  For a scored file: the model that scored it.
      --drift FILE  For a scored file: drift report of `qe score --drift`.
      --triage FILE  For a scored file: cost table or thresholds, as in `qe score`.
      --summary FILE  For a scored file: summary of the same job. (default: the one next to the scores)
      --worst N  For a scored file: number of segments shown, of the worst scores. (default: 20)

    output:
      -o, --output FILE  The page. (default: report.html in the run, or the name of the scores with .html)
    """
    from features.storage.files import atomic_file
    from features.storage.outputs import check_output

    is_run = target.is_dir()
    place = output or (target / "report.html" if is_run else target.with_suffix(".html"))
    read = [path for path in (drift, triage, summary) if path]
    if not overwrite:
        check_absent(place, "report", [target, *read])
    check_output(place, read if is_run else [target, *read])
    if is_run:
        given = {"--model": model, "--drift": drift, "--triage": triage, "--summary": summary}
        for name, value in (*given.items(), ("--worst", worst)):
            if value is not None:
                raise InputError(
                    f"{name} is for scored files", location=target, remedy="leave it out for a run"
                )
        from qe.training.page import run_page

        page = run_page(target)
    else:
        if model is None:
            remedy = f"give the model that scored it; {NO_MODEL}"
            raise InputError("a scored file needs --model", location=target, remedy=remedy)
        from qe.api.models import model_folder
        from qe.reports.scored import scored_page

        folder, identity = model_folder(model, require_signature)
        page = scored_page(
            target, folder, identity=identity, drift=drift, costs=triage, summary=summary, worst=worst
        )
    with atomic_file(place) as temporary:
        temporary.write_text(page, "utf-8")
    if not quiet:
        print(f"report: {place}")


def ui(
    host: str = "127.0.0.1", port: Annotated[int, Interval(ge=1, le=65535)] = 5000, open_: bool = True
) -> None:
    """Open the MLflow UI on the store that mlflow.yaml names, at the list of its runs.

    The printed address shows the runs with their figures in columns, the evaluation metric first.

    Example:

        qe ui --port 5001

    options:
      --host ADDRESS  Address to listen on. (default: 127.0.0.1, this machine only)
      --port N  Port to listen on.
      --open/--no-open  Open the address in a browser, if there is a screen.
    """
    from features.basics.errors import without_passwords
    from qe.production.serving import bound
    from qe.tracking.address import absolute, check_reachable, is_database
    from qe.tracking.connection import follow_moved
    from qe.tracking.settings import tracking_uri

    uri = absolute(tracking_uri())
    if not is_database(uri):
        remedy = "a tracking server has its own UI: open its address in a browser"
        raise InputError("is no database that a UI could be opened on", location=uri, remedy=remedy)
    check_reachable(uri)
    bound(host, port).close()
    follow_moved(uri)
    from qe.tracking.ui import application, view

    address = f"http://{host}:{port}{view()}"
    print(f"MLflow UI of {without_passwords(uri)} (stop with Ctrl-C): {address}", file=sys.stderr, flush=True)
    known = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    has_screen = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in known)
    import webbrowser
    from socket import socket

    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket] | None = None) -> None:
            await super().startup(sockets)
            if open_ and has_screen and self.started:
                webbrowser.open(address)

    Server(uvicorn.Config(application(), host=host, port=port, log_level="warning")).run()


def schema(name: str = "experiment", output: Path | None = None) -> None:
    """Write the JSON Schema of the experiment file, with the names and parameters that are installed.

    Or the schema of an output: `report` is report.json, `summary` is written next to scores, `log` is a line
    of --log json, and a verb is what it prints with --json (models-list: `qe models list`). Keys of outputs
    are stable (docs/machine-output.md).

    An editor with the YAML language server completes and checks keys, without network, in a file that begins
    with

        # yaml-language-server: $schema=PATH

    where PATH is the path of the schema, relative to that file.

    Examples:

        qe schema --output experiments/schema.json

        qe schema summary --output summary.schema.json

    arguments:
      name  experiment, or an output: report, summary, log, a verb such as evaluate.

    output:
      -o, --output FILE  File of the schema. (default: stdout)
    """
    from features.storage.files import atomic_file
    from qe.cli.outputs import output_schema
    from qe.getting_started.catalogue.schema import experiment_schema

    content = experiment_schema() if name == "experiment" else output_schema(name)
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    if output is None:
        print(text, end="")
        return
    with atomic_file(output) as temporary:
        temporary.write_text(text, "utf-8", newline="")


SHELLS = ("bash", "zsh")
# In zsh what reads scripts of bash needs the completion of zsh, which a plain shell has not begun.
_ZSH = """\
(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit; }}
autoload -Uz bashcompinit && bashcompinit
{script}"""
_BASH = """\
_qe() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
    local path="${{COMP_WORDS[1]}} "
    [ "$COMP_CWORD" -gt 2 ] && path+="${{COMP_WORDS[2]}} "
    [ "$before" = "=" ] && before="${{COMP_WORDS[COMP_CWORD-2]}}"
    [ "$current" = "=" ] && current=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{verbs} --help --version"
    else
        case "$path" in
{cases}
        esac
        case "$current" in
            -*) ;;
            *) [ "$COMP_CWORD" -eq 2 ] && words="${{words%%--*}}" || words="" ;;
        esac
        case "$path$before" in
{values}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _qe qe
"""


def completion(shell: str = "bash") -> None:
    """Print a script that completes verbs, options and their choices in the shell.

    Files are completed as usual.

    Examples:

        qe completion bash > ~/.local/share/bash-completion/completions/qe

        echo 'source <(qe completion zsh)' >> ~/.zshrc

    arguments:
      shell bash|zsh  The shell.
    """

    if shell not in SHELLS:
        raise unknown_name("shell", shell, SHELLS)
    print(_script() if shell == "bash" else _ZSH.format(script=_script()), end="")


def _script() -> str:
    from qe.cli._verbs import commands, verbs

    every = {path: one.options for verb in verbs() for path, one in commands(verb).items()}
    cases, values = [], []
    for path in sorted({**dict.fromkeys(verbs()), **every}, key=lambda path: -path.count(" ")):
        words = [other.split()[1] for other in every if other.startswith(f"{path} ")]
        for option in every.get(path, ()):
            choices = option.metavar.split("|") if "|" in option.metavar else names_in(option.text)
            names = (*option.names, *option.opposites)
            words += [name for name in names if name.startswith("--")] if names else choices
            if choices:
                values += [f'"{path} "*{name}) words="{" ".join(choices)}" ;;' for name in option.names]
        cases.append(f'"{path} "*) words="{" ".join([*words, "--help"])}" ;;')
    return _BASH.format(
        verbs=" ".join(verbs()),
        cases="\n".join(f"            {case}" for case in cases),
        values="\n".join(f"            {value}" for value in values),
    )
