"""Translation files, and a server behind a script: the commands, with what they print."""

import re
from pathlib import Path

from tests.attacks.servers import honest_request, served
from tests.factories import qe
from tests.scoring.test_in_place import XLIFF


def test_a_file_is_scored_in_place_and_a_script_gets_the_same_scores(
    demo_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "project.xlf").write_text(XLIFF, "utf-8")
    output = tmp_path / "scored.xlf"
    done = qe("score", "--model", demo_model, "--input", tmp_path / "project.xlf", "--output", output)
    assert done.code == 0 and done.out.startswith("2 of 3 rows scored: ") and str(output) in done.out
    table = tmp_path / "scores.jsonl"
    assert qe("score", "-m", demo_model, "-i", tmp_path / "project.xlf", "-o", table, "--keep").code == 0
    notes = re.findall(r'<note from="qe">score ([\d.]+)', output.read_text("utf-8"))
    records = [{"source": "Zdand dro leyn", "target": "Nawanw nisê yêtatê"}]
    with (tmp_path / "server.log").open("wb") as log, served(demo_model, log, "--quiet") as server:
        (answer,) = honest_request(server, records)
    assert len(notes) == 2 and f"{answer['score']:.3f}" == notes[0]


def test_a_misspelt_path_is_told_before_the_model_is_loaded(tmp_path: Path) -> None:
    done = qe("score", "-m", tmp_path / "none", "-i", tmp_path / "projct.xlf", "-o", tmp_path / "x.xlf")
    assert done.code == 2 and "projct.xlf" in done.err and "Traceback" not in done.err
