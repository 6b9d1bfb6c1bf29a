"""`qe select`: choose among the translations of several systems."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from annotated_types import Interval

from features.basics.assignments import assignments
from features.basics.errors import InputError, unknown_name
from features.basics.progress import Progress
from qe.cli.shared.options import Positive
from qe.cli.shared.printing import Result, Verbatim
from qe.statistics.settings import Samples, Seed

if TYPE_CHECKING:
    from qe_papers.selection.selection import Translations


def select(
    source: Path,
    system: list[str],
    progress: Progress,
    references: list[Path] | None = None,
    model: str | None = None,
    features: list[str] | None = None,
    resources: Path | None = None,
    method: list[str] | None = None,
    unit: str = "segment",
    doc_ids: Path | None = None,
    block: Positive = 10,
    new_source: Path | None = None,
    new_system: list[str] | None = None,
    new_doc_ids: Path | None = None,
    source_language: str = "en",
    target_language: str = "es",
    metrics: list[str] | None = None,
    tokenize: str = "13a",
    folds: Annotated[int, Interval(ge=2)] = 10,
    samples: Samples = 10_000,
    correct: str = "holm",
    seed: Seed = 0,
    cache_dir: Path | None = None,
    output: Path | None = None,
) -> Result:
    """Choose among the translations of several systems, for each segment or document.

    With --references, a choice is learned and evaluated by cross-validation over documents, compared with
    always taking the best system. The choice learned from all references is then applied to --new-source.
    With --model, a trained scoring model chooses, without references. Exit code 1 if references are given and
    no method is significantly better (first metric, level .05).

    Examples:

        qe select --source s.en --references r.es --system moses=m.es --system apertium=a.es
        --resources output/en-es --features baseline17 --features pseudo_reference --output choice

        qe select --model output/model --source s.en --system moses=m.es --system apertium=a.es -o choice

    input:
      --source FILE  Source segments, one per line.
      --system NAME=FILE  Output of a system. Repeatable.
      --references FILE  References for learning and evaluation. Repeatable.
      -m, --model MODEL  Choose by the scores of this trained model instead.
      --features NAME|FILE  A feature set, a family, or a YAML file with a list `features`. Repeatable.
      --resources DIR  Bundle built by `qe resources build`.
      --unit segment|document  Unit of the choice.
      --doc-ids FILE  One document id per line.
      --block N  Without --doc-ids: consecutive segments that form a document.
      --new-source FILE  Source segments without references, to which the learned choice is applied.
      --new-system NAME=FILE  Output of the same systems for --new-source. Repeatable.
      --new-doc-ids FILE  Document ids of --new-source.

    tests:
      --method METHOD...  {qe_papers.choosers}. (default: all)
      --metrics METRIC  Metric that compares the choices. Repeatable. (default: bleu, chrf)
      --tokenize NAME  Tokenization for BLEU: none, 13a, intl, char, moses.
      --folds N  Folds of the cross-validation, by document.
      --samples N  Permutations, and bootstrap samples.

    output:
      -o, --output DIR  Folder for the chosen translations and the report.
    """
    if unit not in ("segment", "document"):
        raise unknown_name("--unit", unit, ("segment", "document"))
    unit = cast(Literal["segment", "document"], unit)
    translations = _translations(source, system, "--system", doc_ids, block, references or ())
    new = None
    if new_source is not None:
        if output is None:
            raise InputError("the chosen translations need a folder", remedy="give --output FOLDER")
        new = _translations(new_source, new_system or (), "--new-system", new_doc_ids, block)
    elif new_system or new_doc_ids:
        raise InputError("--new-system and --new-doc-ids go with --new-source")
    if model is not None:
        return _apply(model, translations, unit, output, arguments=bool(references or features or new))
    if not references or not features:
        raise InputError("--references and --features are needed to learn a choice", remedy="or give --model")
    from qe.resources.bundle_source import default_cache
    from qe.systems.mt_metrics.ngrams import Bleu
    from qe.systems.text_metric import metric, title_of
    from qe.systems.texts import TOKENIZATIONS
    from qe_papers.selection.chooser import CHOOSERS
    from qe_papers.selection.files import selection_tables, write
    from qe_papers.selection.selection import applied, make_extraction
    from qe_papers.selection.selection import select as run

    if tokenize not in TOKENIZATIONS:
        raise unknown_name("tokenization", tokenize, TOKENIZATIONS)
    defaults: dict[str, Any] = {"tokenize": tokenize, "language": target_language}
    chosen = {name: metric(name, defaults) for name in metrics or ["bleu", "chrf"]}
    extraction, tokenizers = make_extraction(
        _features(features), resources, (source_language, target_language),
        cache_dir or default_cache(), seed=seed, progress=progress,
    )  # fmt: skip
    bleu, choosers = Bleu(**defaults), {name: CHOOSERS.get(name)() for name in method or CHOOSERS.names}
    selection = run(
        translations, extraction, choosers, tokenizers, chosen, bleu=bleu, granularity=unit, folds=folds,
        samples=samples, correction=correct, seed=seed, progress=progress,
    )  # fmt: skip
    if new is not None and output is not None:
        chosen_new = applied(translations, new, extraction, choosers, tokenizers, bleu)
        write(output / "new", new, chosen_new, unit)
    if output is not None:
        write(output, translations, selection.preferences, unit, selection)
    first, better = next(iter(chosen)), list[str]()
    worse: dict[str, list[str]] = {}
    for one in selection.comparisons:
        sign = -1 if chosen[one.metric].higher_is_better is False else 1
        if one.p_corrected <= 0.05 and sign * one.result.difference > 0 and one.metric == first:
            better.append(one.system)
        if one.p_corrected <= 0.05 and sign * one.result.difference < 0:
            worse.setdefault(one.system, []).append(title_of(one.metric))
    found = ", ".join(better) or "none"
    lines = [f"significantly better than always {selection.best} by {title_of(first)}: {found}"]
    for name in better:
        if name in worse:
            against = ", ".join(worse[name])
            lines.append(f"  but {name} is significantly worse by {against}: BLEU was what it learned")
    parts = [*selection_tables(selection, list(chosen)), *map(Verbatim, lines)]
    return Result("select", selection, parts, code=0 if better else 1)


def _lines(path: Path) -> tuple[str, ...]:
    from features.storage.files import read_lines

    return tuple(line.strip() for line in read_lines(path))


def _translations(
    source: Path, systems: Sequence[str], option: str, doc_ids: Path | None, block: int,
    references: Sequence[Path] = (),
) -> "Translations":  # fmt: skip
    from qe.systems.documents import blocks
    from qe_papers.selection.selection import Translations

    lines = _lines(source)
    documents = _lines(doc_ids) if doc_ids else blocks(len(lines), block)
    named = assignments(systems, "NAME=FILE", option)
    outputs = {name: _lines(Path(path)) for name, path in named.items()}
    return Translations(lines, outputs, documents, tuple(map(_lines, references)))


def _features(arguments: Sequence[str]) -> list[dict[str, Any]]:
    from features.core.feature_set import set_names
    from features.storage.strict_yaml import read_mapping
    from qe.config.schema import feature_configs

    configs: list[dict[str, Any]] = []
    for name in arguments:
        if name.endswith((".yaml", ".yml")):
            path = Path(name)
            configs += feature_configs(read_mapping(path, "file of features").get("features"), path)
        else:
            configs.append({"set" if name in set_names() else "kind": name})
    return configs


def _apply(
    model: str, translations: "Translations", unit: Literal["segment", "document"], output: Path | None,
    *, arguments: bool,
) -> Result:  # fmt: skip
    from qe.api.models import model_folder
    from qe.display.numbers import percent
    from qe.models.model import Model
    from qe_papers.selection.files import write
    from qe_papers.selection.selection import choose_by_model, shares

    if arguments:
        raise InputError("--model chooses without --references, --features and --new-source")
    if output is None:
        raise InputError("the chosen translations need a folder", remedy="give --output FOLDER")
    preferences = choose_by_model(Model.load(*model_folder(model)), translations)
    write(output, translations, {"model": preferences}, unit)
    taken = shares(preferences.choice(unit, translations.documents), len(translations.names))
    shares_of = dict(zip(translations.names, map(float, taken), strict=True))
    parts = ", ".join(f"{name} {percent(share)}" for name, share in shares_of.items())
    content = {"segments": len(translations), "shares": shares_of, "output": output}
    shown = f"{len(translations):,} segments: {parts}; chosen translations in {output}"
    return Result("select-model", content, [shown])
