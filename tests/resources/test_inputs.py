"""What a bundle is made of beside its corpus: by command and by experiment the same, apart from others."""

import json
from pathlib import Path

import pytest

from qe.config.experiment import load
from tests.factories import ran
from tests.resources.building import build_command, task_bundle, write_experiment, write_lines
from tests.resources.test_files import ARPA

FILES = {
    "s": ["red house", "", "the red house"],
    "t": ["casa roja", "nada", "la casa roja"],
    "links": ["0-1 1-0", "", "0-0 1-2 2-1"],
    "more": ["El gato de Ana, la casa", ""],
    "es.arpa": ARPA.splitlines(),
}
# Part -> option of the command, key of the experiment, and the setting of the part that tells it.
INPUTS = {
    "source_lm": ("--set source_lm.order=2", "settings: {source_lm: {order: 2}}", "order"),
    "target_lm": ("--read target_lm={folder}/es.arpa", 'read: {target_lm: "{target}.arpa"}', "read"),
    "target_ngrams": ("--target-monolingual {folder}/more", "target_monolingual: more", "monolingual"),
    "phrase_table": ("--alignments {folder}/links", "alignments: links", "alignments"),
}


@pytest.mark.slow
@pytest.mark.parametrize("part", INPUTS)
def test_by_command_and_experiment(part: str, tmp_path: Path) -> None:
    option, key, setting = INPUTS[part]
    for name, lines in FILES.items():
        write_lines(tmp_path / name, lines)
    command = build_command(tmp_path, "--only", part, *option.format(folder=tmp_path).split())
    told = json.loads(ran(*command).out)["parts"][part]["settings"][setting]
    paths, settings = [], []
    for more in ("", f", {key}", ""):
        section = load(write_experiment(tmp_path, f"{{source: s, target: t{more}}}")).resources
        bundle = task_bundle(tmp_path, section, part)
        paths.append(bundle.path)
        settings.append(bundle.manifest["parts"][part]["settings"].get(setting))
    assert paths[0] == paths[2] != paths[1]
    assert settings[1] == told != settings[0]
