"""Damage to a model's files: every file, damaged in every way, is found before a score is given."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from features.basics.errors import InputError
from features.core.bundle import Bundle
from features.storage import checksums
from qe.models.model import Model
from qe.scoring.jobs import frame_of
from qe.scoring.scorer import Options, Scorer
from tests.attacks.models import Workshop, copy_of, edit, unsealed
from tests.factories import refuses

ROWS = pd.DataFrame({"source": ["a house", "the red door ."], "target": ["una casa", "la puerta roja ."]})


def flipped(place: float) -> Callable[[Path], None]:
    """One bit of a file, at a share of its length, is another."""

    def damage(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[int(place * (len(content) - 1))] ^= 1
        path.write_bytes(content)

    return damage


# What happens to a file: a line each.
DAMAGE: dict[str, Callable[[Path], object]] = {
    "first bit": flipped(0.0),
    "a bit in the middle": flipped(0.5),
    "last bit": flipped(1.0),
    # The last byte, and the line feed that ends JSON, which does not matter.
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-2]),
    "grown": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "emptied": lambda path: path.write_bytes(b""),
    "gone": Path.unlink,
}
LMS = "resources/source_lm", "resources/target_lm"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QE_CACHE_DIR", str(tmp_path / "cache"))


def scores(folder: Path) -> pd.DataFrame:
    return frame_of(Scorer.load(folder, Options(interval=0.8, explain=2, drift=True)), ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("how", DAMAGE)
def test_every_file_of_a_model(how: str, model: Path, tmp_path: Path) -> None:
    for name in checksums.regular_files(model):
        folder = copy_of(model, tmp_path / "model")
        DAMAGE[how](folder / name)
        refuses(r"damaged|has changed|is not a model|no prediction intervals", scores, folder)
        shutil.rmtree(folder)


@pytest.mark.slow
def test_values_of_model_json(model: Path, tmp_path: Path) -> None:
    """A value that was changed, and is still one, does not go with the checksum of the rest."""
    content = json.loads((model / "model.json").read_text())
    assert content.keys() >= {"files", "checksum"}
    for key in content.keys() - {"made_columns", "about", "trees", "guard", "limits"}:  # empty
        folder = copy_of(model, tmp_path / "model")
        changed = {**content, key: type(content[key])()}
        (folder / "model.json").write_text(json.dumps(changed))
        refuses(r"model\.json.* damaged|has model format", scores, folder)
        shutil.rmtree(folder)


@pytest.mark.slow
def test_language_models_exchanged_between_the_sides(model: Path, tmp_path: Path) -> None:
    folder = copy_of(model, tmp_path / "model")
    source, target = (folder / name for name in LMS)
    source.rename(folder / "aside")
    target.rename(source)
    (folder / "aside").rename(target)
    refuses("resources/source_lm/.* has changed", scores, folder)


@pytest.mark.slow
def test_a_file_too_many(model: Path, tmp_path: Path) -> None:
    folder = copy_of(model, tmp_path / "model")
    (folder / "note.txt").write_text("mine")
    refuses(r"note\.txt is not one of them", scores, folder)


@pytest.mark.slow
@pytest.mark.parametrize("how", DAMAGE)
def test_every_file_of_a_bundle(how: str, workshop: Workshop, tmp_path: Path) -> None:
    for name in checksums.regular_files(workshop.bundle.path):
        if name.startswith((".", "corpus/")) or ".arpa" in name:
            continue
        folder = copy_of(workshop.bundle.path, tmp_path / "bundle")
        DAMAGE[how](folder / name)
        with pytest.raises(InputError, match=r"is damaged|no manifest\.json"):
            bundle = Bundle(folder)
            for part in bundle.manifest["parts"]:
                bundle.part(part)
        shutil.rmtree(folder)


@pytest.mark.slow
def test_a_large_file_is_read_once_and_remembered(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By size and times: after that a model starts without reading it; a change is seen all the same."""
    monkeypatch.setattr(checksums, "_LARGE", 1)
    monkeypatch.setattr(checksums, "_SETTLED", 0)
    folder = copy_of(model, tmp_path / "model")
    read: list[Path] = []
    real = checksums.sha256
    monkeypatch.setattr(checksums, "sha256", lambda path: (read.append(path), real(path))[1])
    before = scores(folder)
    assert len(read) >= len(checksums.regular_files(folder)) - 1
    read.clear()
    pd.testing.assert_frame_equal(scores(folder), before)
    assert read == []
    flipped(0.5)(folder / "resources/source_lm/words.npy")
    refuses(r"words\.npy has changed", scores, folder)


@pytest.mark.slow
def test_what_has_just_changed_is_not_remembered(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It might change again within the same tick of the clock."""
    monkeypatch.setattr(checksums, "_LARGE", 1)
    folder = copy_of(model, tmp_path / "model")
    scores(folder)
    assert not list((tmp_path / "cache").rglob("*-*"))


def test_a_model_without_checksums_is_refused(model: Path, tmp_path: Path) -> None:
    folder = copy_of(model, tmp_path / "model")
    unsealed(folder)
    refuses(r"model\.json is damaged .*`files` is missing", scores, folder)


@pytest.mark.parametrize("key", ["files", "checksum"])
def test_a_bundle_without_checksums_is_refused(workshop: Workshop, tmp_path: Path, key: str) -> None:
    folder = copy_of(workshop.bundle.path, tmp_path / "bundle")
    content = json.loads((folder / "manifest.json").read_text("utf-8"))
    for part in content["parts"].values():
        part.pop(key, None)
    content.pop(key, None)
    text = json.dumps(content if key == "checksum" else checksums.sealed(content))
    (folder / "manifest.json").write_text(text, "utf-8")
    refuses(f"is damaged .*'{key}'", Bundle(folder).part, "source_lm")


@pytest.mark.slow
def test_a_model_shares_no_file_with_the_bundle_it_was_made_from(workshop: Workshop, tmp_path: Path) -> None:
    """Truncating a file in place would end whoever has mapped it: it must be nobody else's."""
    folder = workshop.model("own")
    before = scores(folder)
    for path in (workshop.bundle.path / "source_lm").rglob("*.npy"):
        twin = folder / "resources" / "source_lm" / path.name
        assert path.stat().st_ino != twin.stat().st_ino and path.stat().st_nlink == 1
        assert path.read_bytes() == twin.read_bytes()
    pd.testing.assert_frame_equal(scores(folder), before)


@pytest.mark.slow
def test_a_model_that_is_being_used_can_be_replaced(model: Path, workshop: Workshop, tmp_path: Path) -> None:
    """By another folder of its name (a rename): what is loaded goes on with the old files."""
    folder = copy_of(model, tmp_path / "model")
    scorer = Scorer.load(folder, Options(drift=False, cache=0))
    before = frame_of(scorer, ROWS)
    Model.load(copy_of(model, tmp_path / "other")).save(folder)
    pd.testing.assert_frame_equal(frame_of(scorer, ROWS), before)


def test_numbers_of_a_bundle_are_for_whoever_builds_it(workshop: Workshop, tmp_path: Path) -> None:
    """The manifest's own checksum: what it says of parts is what was recorded."""
    folder = copy_of(workshop.bundle.path, tmp_path / "bundle")
    content = json.loads((folder / "manifest.json").read_text())
    content["parts"]["source_lm"]["settings"]["order"] = 9
    (folder / "manifest.json").write_text(json.dumps(content))
    refuses("does not go with its checksum", Bundle(folder).part, "source_lm")
    edit(folder / "manifest.json", lambda manifest: {**manifest, "pairs": 0})
    assert Bundle(folder).manifest["pairs"] == 0


@pytest.mark.slow
def test_a_read_only_cache_costs_time_and_nothing_else(model: Path, tmp_path: Path) -> None:
    """In a process whose cache folder cannot be made."""
    (tmp_path / "file").write_text("")
    script = (
        "import sys, os; os.environ['QE_CACHE_DIR'] = sys.argv[2] + '/cache'\n"
        "from features.storage import checksums; checksums._LARGE = 1; checksums._SETTLED = 0\n"
        "from pathlib import Path; from qe.models.model import Model\n"
        "print(Model.load(Path(sys.argv[1])).name)"
    )
    command = [sys.executable, "-c", script, str(model), str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("small\n", 0), done.stderr
