"""What commands refuse: exit status 2, one line, nothing printed, nothing stored.

What the commands of kinds refuse of one prompt is in tests/kinds/test_kinds_refusals.py.
"""

from pathlib import Path

import pytest
from cases import random_result, trajectory_result
from command_line import alternatives, refusals

from coupling_core import Progress, Request, Store
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.serving.desk import Desk
from coupling_core.serving.jobs import JobStatus
from coupling_core.store.archive import save

MODEL = "--model MODEL --prompt 'The cat'"
MANY = "--model MODEL --prompts own.csv"
PRUNE = "prune --model MODEL --texts texts.txt"
TRAINING = "training --prompt 'The cat' --k 4"
FILES = "compare a.safetensors b.safetensors"
SWEEP = f"""
name = "few"
k = [4, 8]
[[models]]
suite = "mini-64"
steps = [0, 256]
[[prompts]]
text = "{EXAMPLES[0]}"
"""
WRONG = {
    "commands": {
        "": "nonsense | runs nonsense | depth 'The cat' | doctor 'The cat' | depth --prompt",
        "tokens": "--mod self",
    },
    "outputs": {
        f"depth {MODEL}": "--out a.json | --out - --json",
        "depth --prompt x": "--prompts own.csv",
    },
    "prompts": {
        "depth --model MODEL": f"--prompt '{'x ' * 65}' | --prompts 'no prompt.jsonl' | "
        "--prompts empty.txt | --prompts bytes.txt | --prompts none.txt",
        "depth --model fake.gguf": "--prompt x",
    },
    "many prompts": {
        f"depth {MANY}": "--figure spectrum --out many.html | --out many.safetensors | "
        "--out own.csv | --k 33",
        f"graph {MANY}": "--figure locality --out many.html",
        f"trajectory {MANY}": "--figure paths-3d --out many.html",
    },
    "results": {
        "runs show": "zzz | '' | a.safetensors --out map.doc",
        "runs recheck": " | no.safetensors | a.safetensors --all",
        "compare a.safetensors": "ffff | no.safetensors | path.safetensors",
        FILES: "--k 60 | --blocks 4 | --blocks 4-99 | --out c.graphml",
        f"graph {MODEL}": "--threshold 1.5 | --out g.safetensors | --blocks 40 | --layout cube",
    },
    "models": {
        "models": "--prepare nobody | --probe . | --probe MODEL --revision main | --revision main",
        PRUNE: "--remove 0 | --remove x | --remove 4 --by last | --out plan.txt",
        f"{PRUNE} --save": "short | short --by kl | short --by random --remove 1 | "
        ". --by kl --remove 1",
    },
    "jobs": {"jobs --end": "zz --store apps | ab --store apps | ../x --store apps"},
    "sweeps": {
        "sweep new": "few.toml | no/x.toml | few.txt",
        **dict.fromkeys(("sweep run", "sweep status", "sweep report"), "none.toml | . | own.csv"),
        "sweep run few.toml": "--workers 2 --slurm | --scheduler tcp://x:1 --slurm | "
        "--workers 2 --scheduler tcp://x:1 | --jobs 2 | --workers 0 | --out x.html | --fast | "
        "--store /proc/none",
        "sweep report few.toml": "--k=7 | --k=inf | --k=nan | --k=-3 | --out r.pdf | "
        "--subset above-45 | --subset best | --against money",
    },
    "training runs": {
        TRAINING: "--steps 3 | --steps early | --steps 16, | --suite mini-65 | --token 0 | "
        "--figure heatmap | --out curve.safetensors",
        "training --suite mini-64": "",
    },
}
"""By subject: commands, and what is wrong after each."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with what the commands are given, and no network."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    files = {
        "own.csv": "prompt,topic\nThe cat sat on the mat,a\nthe dog lay down,b\n",
        "few.toml": SWEEP,
        "empty.txt": "\n \n",
        "no prompt.jsonl": '{"prompt": "x"}\n{"text": "x"}\n',
        "fake.gguf": "not this",
        "texts.txt": "".join(f"The cat sat on mat {n}\n" for n in range(6)),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    save(random_result(), tmp_path / "a.safetensors")
    save(random_result(seed=2), tmp_path / "b.safetensors")
    save(trajectory_result(), tmp_path / "path.safetensors")
    running = JobStatus("abc-1", Request("x"), "running", progress=Progress("blocks", 3, 30))
    Desk(tmp_path / "apps").show([running, JobStatus("abd-2", Request("y"), "queued", place=1)])
    return tmp_path


@pytest.mark.parametrize(
    "subject",
    [pytest.param(one, marks=pytest.mark.full) if one == "sweeps" else one for one in WRONG],
)
def test_what_is_wrong_is_refused_in_one_line(run, folder, place, subject, snapshot):
    commands = {
        name: [folder if word == "MODEL" else word for word in words]
        for name, words in alternatives(WRONG[subject]).items()
    }
    before = {path: path.read_bytes() for path in place.iterdir() if path.is_file()}
    assert refusals(run, commands, place, folder) == snapshot
    assert {path: path.read_bytes() for path in place.iterdir() if path.is_file()} == before
    assert not Store(gallery=Path("none")).entries()


def test_a_missing_command_is_an_error_after_the_help(run):
    for words in ((), ("runs",)):
        status, out, err = run(*words)
        assert (status, err) == (2, "error: a command is missing\n")
        assert "--help" in out
