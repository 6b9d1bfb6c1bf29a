"""MLQE-PE as its public archives unpack: folders per archive, labelled test20, test21."""

from pathlib import Path

import pytest

from qe.data import Dataset, make_folds
from qe.data.check import guess_format
from qe.data.folds import leaks
from qe.data.format import make_format
from tests.factories import Find, refuses

HEADER = "index\toriginal\ttranslation\tscores\tmean\tz_scores\tz_mean\tmodel_scores\n"
ROW = '0\tIt "rains.\tEr regnet.\t[41, 60]\t50.5\t[-1.5, -0.5]\t-1.0\t-0.5\n'


def unpacked(folder: Path, splits: tuple[str, ...] = ("train", "dev", "test20")) -> Path:
    """Two pairs, each archive unpacked in its own folder."""
    for pair in ("en-de", "ro-en"):
        code = pair.replace("-", "")
        for split in splits:
            part = split.removesuffix("20")
            direct = folder / "direct-assessments" / part / (pair if part == "test" else f"{pair}-{part}")
            edits = folder / "post-editing" / part / f"{pair}-{split}"
            direct.mkdir(parents=True)
            edits.mkdir(parents=True)
            (direct / f"{split}.{code}.df.short.tsv").write_text(
                HEADER + ROW.replace("rains", f"{pair} {split}")
            )
            texts = {"src": "It rains .", "mt": "Er regnet .", "pe": "Es regnet .", "hter": "0.333333"}
            texts |= {
                "tags": "OK BAD OK OK OK OK OK",
                "source_tags": "BAD OK OK",
                "src-mt.alignments": "0-0 1-1",
            }
            for end, text in texts.items():
                (edits / f"{split}.{end}").write_text(f"{text}\n")
        later = folder / "test21" / f"{pair}-test21"
        (later / "word-probas").mkdir(parents=True)
        for name, text in (
            ("src", "A dog."),
            ("mt", "Ein Hund."),
            ("tok.src", "A dog ."),
            ("tok.mt", "Ein Hund ."),
        ):
            (later / f"test21.{name}").write_text(f"{text}\n")
        (later / "word-probas" / f"mt.test21.{code}").write_text("Ein Hund .\n")
        (later / "word-probas" / f"word_probas.test21.{code}").write_text("-1 -1 -1 -1\n")
    return folder


def read(folder: Path, **keys: str) -> Dataset:
    return make_format("mlqe_pe", {"pair": "en-de", **keys}).read(folder)


@pytest.mark.parametrize(("label", "gold"), [("da", -1.0), ("da_mean", 50.5), ("hter", 0.333333)])
def test_archives_as_they_unpack(tmp_path: Path, label: str, gold: float) -> None:
    dataset = read(unpacked(tmp_path), label=label)
    assert [*dataset.splits] == ["train", "dev", "test20", "test21"]
    for name in ("train", "dev", "test20"):
        split = dataset.splits[name]
        assert split.scores is not None and split.scores.tolist() == [gold]
        assert split.post_edit == ("Es regnet .",)
        assert (split.judges is not None) == (label != "hter")
    train = dataset.splits["train"]
    assert train.segments.source == (("It rains .",) if label == "hter" else ('It "en-de train.',))
    assert (train.word_tags is not None) == (label == "hter")
    assert dataset.splits["test21"].labels() == {}
    assert dataset.splits["test21"].segments.token_log_probabilities == ("-1 -1 -1 -1",)
    assert "train: no train.doc_ids, so no documents" in dataset.notes


def test_gold_labels_of_test21(tmp_path: Path) -> None:
    gold = unpacked(tmp_path) / "test21" / "en-de-test21" / "goldlabels"
    gold.mkdir()
    (gold / "test21.da").write_text("0.75\n")
    scores = read(tmp_path).splits["test21"].scores
    assert scores is not None and scores.tolist() == [0.75]
    assert read(tmp_path, label="hter").splits["test21"].scores is None
    assert read(tmp_path, label="hter").splits["test21"].segments.source == ("A dog .",)


def test_blind_test20_needs_no_labels_of_any_kind(tmp_path: Path) -> None:
    unpacked(tmp_path)
    table = tmp_path / "direct-assessments" / "test" / "en-de" / "test20.ende.df.short.tsv"
    table.unlink()
    blind = table.with_name("test20.ende.inputs.tsv")
    blind.write_text("index\toriginal\ttranslation\tmodel_scores\n0\tIt rains.\tEr regnet.\t-0.5\n")
    for end in ("pe", "hter", "tags", "source_tags"):
        (tmp_path / "post-editing" / "test" / "en-de-test20" / f"test20.{end}").unlink()
    for label in ("da", "hter"):
        assert read(tmp_path, label=label).splits["test20"].labels() == {}


def test_the_layout_is_recognised_and_a_pair_asked_for(tmp_path: Path) -> None:
    assert guess_format(unpacked(tmp_path)) == "mlqe_pe"
    refuses("`pair` .* en-de, ro-en", make_format("mlqe_pe", {}).read, tmp_path)


def test_entropies_and_highest_log_probabilities_of_steps(tmp_path: Path) -> None:
    folder = unpacked(tmp_path) / "test21" / "en-de-test21" / "word-probas"
    (folder / "entropies.test21.ende").write_text("1 2 3 4\n")
    (folder / "highest.test21.ende").write_text("-1 -1 -1 -1\n")
    segments = read(tmp_path).splits["test21"].segments
    assert segments.token_entropies == ("1 2 3 4",)
    assert segments.token_highest_log_probabilities == ("-1 -1 -1 -1",)


LATER = HEADER.replace("\tmodel_scores", "")
TEXTS = ("It rains", '"A" dog', "It rains")  # the third row repeats the first one, with another score


def of_2023(folder: Path, quoted: bool, end: str) -> Path:
    """Tables of WMT 2023: no decoder, perhaps CRLF, quoted fields and no line end after the last line."""
    for split in ("train", "dev"):
        cells = [f'"{text.replace(chr(34), chr(34) * 2)}"' if quoted else text for text in TEXTS]
        rows = [f"{i}\t{c}\tX{c[1:]}\t[1, {i}]\t{i}\t[-1, {i}]\t{i}.5" for i, c in enumerate(cells)]
        if quoted:
            rows = [row.replace("\tX", '\t"X') for row in rows]
        place = folder / "en-te" / f"{split}.ente.df.short.tsv"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes((LATER.strip() + end + end.join(rows)).encode())
    return folder


@pytest.mark.parametrize(("quoted", "end"), [(False, "\n"), (True, "\r\n")])
def test_tables_of_2023(tmp_path: Path, quoted: bool, end: str) -> None:
    dataset = make_format("mlqe_pe", {"pair": "en-te"}).read(of_2023(tmp_path, quoted, end))
    train = dataset.splits["train"]
    assert train.segments.source == TEXTS and train.scores is not None
    assert train.scores.tolist() == [0.5, 1.5, 2.5] and train.segments.model_score is None
    assert train.segments.doc_id == ("pair-0", "pair-1", "pair-0")
    assert any(note.startswith("train: 1 rows repeat the texts of another row") for note in dataset.notes)
    refuses("no train.mt and no train.pe", read, tmp_path, pair="en-te", label="hter")


@pytest.mark.parametrize(("pair", "train", "dev"), [("en-hi", 6238, 984), ("en-te", 6998, 999)])
def test_repeated_pairs_of_2023_share_a_fold(shared_data: Find, pair: str, train: int, dev: int) -> None:
    splits = make_format("mlqe_pe", {"pair": pair}).read(shared_data("wmt23-qe")).splits
    documents = {name: split.segments.doc_id or () for name, split in splits.items()}
    assert (len({*documents["train"]}), len({*documents["dev"]})) == (train, dev)
    assert (
        leaks(splits["train"], {}, make_folds(7000, 5, scheme="document", documents=documents["train"])) == ()
    )


def test_two_tables_of_one_split(tmp_path: Path) -> None:
    unpacked(tmp_path)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "dev.ende.df.short.tsv").write_text(HEADER + ROW)
    refuses(r"dev.ende.df.short.tsv is also at", read, tmp_path)


def test_a_pair_without_post_edits_has_direct_assessments_alone(tmp_path: Path) -> None:
    folder = tmp_path / "si-en" / "direct-assessments"
    for split in ("train", "dev"):
        (folder / split).mkdir(parents=True)
        table = (HEADER + ROW).replace("index", "segid").replace("0\tIt", "10005\tIt")
        (folder / split / f"{split}.sien.df.short.tsv").write_text(table)
    train = read(tmp_path, pair="si-en").split("train")
    assert train.scores is not None and train.scores.tolist() == [-1.0] and train.post_edit is None
    refuses("no train.mt and no train.pe", read, tmp_path, pair="si-en", label="hter")
