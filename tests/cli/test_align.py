"""`qe align` from the command line."""

import gzip
from pathlib import Path

import pytest

from features.core.bundle import build
from features.text.corpus import ParallelCorpus
from qe.getting_started.demo.generation import generate
from tests.factories import ran


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("align")
    demo = generate(folder / "demo", pairs=400, train=40, test=10, new=10)
    pairs = list(
        zip(
            demo.corpus_source.read_text().splitlines(),
            demo.corpus_target.read_text().splitlines(),
            strict=True,
        )
    )
    build(lambda: ParallelCorpus.from_lines(pairs), folder / "bundle", ["aligner"])
    (folder / "s").write_text(f"{pairs[0][0]}\n\n{pairs[1][0]}\n")
    (folder / "t").write_text(f"{pairs[0][1]}\n\n{pairs[1][1]}\n")
    return folder


def arguments(folder: Path, *more: str) -> list[str]:
    paths = {"--resources": "bundle", "--source": "s", "--target": "t"}
    return ["align", *(a for key, name in paths.items() for a in (key, str(folder / name))), *more]


@pytest.mark.slow
def test_one_line_out_per_line_in(bundle: Path, tmp_path: Path) -> None:
    text = ran(*arguments(bundle)).out
    lines = text.split("\n")
    assert len(lines) == 4 and lines[1] == lines[3] == "" and lines[0] and lines[2]
    assert all(a.isdigit() and b.isdigit() for a, _, b in (link.partition("-") for link in lines[0].split()))
    ran(*arguments(bundle, "-o", str(tmp_path / "o")))
    assert (tmp_path / "o").read_text() == text


@pytest.mark.slow
def test_intersection_is_within_union(bundle: Path) -> None:
    links = {}
    for method in ("intersection", "grow-diag-final-and", "union"):
        lines = ran(*arguments(bundle, "--symmetrize", method)).out.splitlines()
        links[method] = {(k, link) for k, line in enumerate(lines) for link in line.split()}
    assert links["intersection"] <= links["grow-diag-final-and"] <= links["union"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "change, message",
    [
        (["--symmetrize", "unoin"], "unknown symmetrisation 'unoin'"),
        (["--target", "{bundle}/none"], "no such file"),
        (["--target", "{bundle}/short"], "same number of lines"),
        (["--target", "{bundle}/damaged.gz"], "damaged.gz:1: damaged gzip file"),
        (["--output", "{bundle}/s/x"], "/s/x: cannot be written ("),
    ],
)
def test_bad_input_is_exit_code_2(change: list[str], message: str, bundle: Path, tmp_path: Path) -> None:
    (bundle / "short").write_text("una\n")
    (bundle / "damaged.gz").write_bytes(gzip.compress(b"una\n" * 3, mtime=0)[:10] + b"\xff" * 20)
    more = [value.replace("{bundle}", str(bundle)) for value in change]
    assert message in ran(*arguments(bundle, "--output", str(tmp_path / "out"), *more), code=2).err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options, message",
    [
        (["--aligner", "giza"], "known: hmm, eflomal"),
        ([], "the aligner hmm needs a bundle; add --resources DIR"),
        (["--aligner", "eflomal"], "add --tokenized, or --resources DIR"),
        (["--with-corpus"], "--with-corpus is for eflomal"),
        (["--aligner", "eflomal", "--tokenized", "--with-corpus"], "--with-corpus needs a bundle"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], message: str, bundle: Path) -> None:
    assert message in ran("align", "--source", bundle / "s", "--target", bundle / "t", *options, code=2).err


@pytest.mark.slow
def test_eflomal_with_the_corpus_of_the_bundle(bundle: Path) -> None:
    pytest.importorskip("eflomal", reason="the optional package eflomal is absent")
    lines = ran(*arguments(bundle, "--aligner", "eflomal", "--with-corpus")).out.split("\n")
    assert len(lines) == 4 and lines[1] == lines[3] == "" and lines[0] and lines[2]
