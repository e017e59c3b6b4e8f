"""What commands refuse: exit status 2, one line, nothing printed, nothing stored.

What the commands of kinds refuse of one prompt is in tests/kinds/test_kinds_refusals.py.
"""

from pathlib import Path

import pytest
from cases import random_result, trajectory_result
from command_line import refusals

from coupling_core import Request, Store
from coupling_core.base.results import Progress
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.serving.desk import Desk
from coupling_core.serving.jobs import JobStatus
from coupling_core.store.archive import save

MODEL = ("--model", "MODEL", "--prompt", "The cat")
MANY = ("--model", "MODEL", "--prompts", "own.csv")
SWEEP = f"""
name = "few"
k = [4, 8]
[[models]]
suite = "mini-64"
steps = [0, 256]
[[prompts]]
text = "{EXAMPLES[0]}"
"""
PRUNE = ("prune", "--model", "MODEL", "--texts", "texts.txt")
TRAINING = ("training", "--prompt", "The cat", "--k", 4)
WRONG = {
    "commands": [
        ("nonsense",),
        ("runs", "nonsense"),
        ("depth", "The cat"),
        ("doctor", "The cat"),
        ("depth", "--prompt"),
        ("tokens", "--mod", "self"),
    ],
    "what would have no effect": [
        ("whatif", *MODEL, "--edit", "skip(1)", "--edit", "skip(2)"),
        ("depth", *MODEL, "--out", "a.csv", "--out", "b.csv"),
        ("graph", *MODEL, "--figure", "graph"),
        ("depth", *MODEL, "--figure", "scores", "--json"),
        ("depth", *MODEL, "--out", "a.json"),
        ("depth", *MODEL, "--out", "-", "--json"),
        ("depth", "--prompt", "x", "--prompts", "own.csv"),
    ],
    "prompts": [
        ("depth", "--model", "MODEL", "--prompt", "x " * 65),
        ("depth", "--model", "MODEL", "--prompts", "no prompt.jsonl"),
        ("depth", "--model", "MODEL", "--prompts", "empty.txt"),
        ("depth", "--model", "MODEL", "--prompts", "bytes.txt"),
        ("depth", "--model", "MODEL", "--prompts", "none.txt"),
        ("depth", "--model", "fake.gguf", "--prompt", "x"),
    ],
    "many prompts": [
        ("depth", *MANY, "--figure", "spectrum", "--out", "many.html"),
        ("graph", *MANY, "--figure", "locality", "--out", "many.html"),
        ("trajectory", *MANY, "--figure", "paths-3d", "--out", "many.html"),
        ("trajectory", *MANY, "--token", 2),
        ("trajectory", *MANY, "--fit", "all"),
        ("trajectory", *MANY, "--part", "deeper"),
        ("trajectory", *MANY, "--without-first"),
        ("perturbation", *MANY, "--size", 1),
        ("depth", *MANY, "--out", "many.safetensors"),
        ("depth", *MANY, "--out", "own.csv"),
        ("depth", *MANY, "--k", 33),
    ],
    "results": [
        ("runs", "show", "zzz"),
        ("runs", "show", ""),
        ("runs", "show", "a.safetensors", "--out", "map.doc"),
        ("runs", "recheck", "no.safetensors"),
        ("compare", "a.safetensors", "ffff"),
        ("compare", "a.safetensors", "no.safetensors"),
        ("compare", "a.safetensors", "b.safetensors", "--k", 60),
        ("compare", "a.safetensors", "b.safetensors", "--blocks", "4"),
        ("compare", "a.safetensors", "b.safetensors", "--blocks", "4-99"),
        ("compare", "a.safetensors", "b.safetensors", "--out", "c.graphml"),
        ("compare", "a.safetensors", "b.safetensors", "--figure", "difference"),
        ("compare", "a.safetensors", "path.safetensors"),
        ("graph", *MODEL, "--threshold", 1.5),
        ("graph", *MODEL, "--out", "g.safetensors"),
        ("graph", *MODEL, "--blocks", "40"),
        ("graph", *MODEL, "--layout", "cube"),
    ],
    "models": [
        ("models", "--prepare", "nobody"),
        ("models", "--probe", "."),
        ("models", "--probe", "MODEL", "--revision", "main"),
        ("models", "--revision", "main"),
        (*PRUNE, "--remove", "0"),
        (*PRUNE, "--remove", "x"),
        (*PRUNE, "--remove", "4", "--by", "last"),
        (*PRUNE, "--save", "short"),
        (*PRUNE, "--save", "short", "--by", "kl"),
        (*PRUNE, "--save", "short", "--by", "random", "--remove", 1),
        (*PRUNE, "--save", ".", "--by", "kl", "--remove", 1),
        (*PRUNE, "--out", "plan.txt"),
    ],
    "jobs": [("jobs", "--end", key, "--store", "apps") for key in ("zz", "ab", "../x")],
    "sweeps": [
        ("sweep", "new", "few.toml"),
        ("sweep", "new", "no/x.toml"),
        *(
            ("sweep", command, name)
            for command in ("run", "status", "report")
            for name in ("none.toml", ".", "own.csv")
        ),
        ("sweep", "run", "few.toml", "--workers", 2, "--slurm"),
        ("sweep", "run", "few.toml", "--scheduler", "tcp://x:1", "--slurm"),
        ("sweep", "run", "few.toml", "--workers", 2, "--scheduler", "tcp://x:1"),
        ("sweep", "run", "few.toml", "--jobs", 2),
        ("sweep", "run", "few.toml", "--workers", 0),
        ("sweep", "run", "few.toml", "--out", "x.html"),
        ("sweep", "run", "few.toml", "--fast"),
        ("sweep", "run", "few.toml", "--store", "/proc/none"),
        *(("sweep", "report", "few.toml", f"--k={k}") for k in (7, "inf", "nan", -3)),
        ("sweep", "report", "few.toml", "--out", "r.pdf"),
        ("sweep", "report", "few.toml", "--subset", "above-45"),
        ("sweep", "report", "few.toml", "--subset", "best"),
        ("sweep", "report", "few.toml", "--against", "money"),
    ],
    "training runs": [
        (*TRAINING, "--steps", "3"),
        (*TRAINING, "--steps", "early"),
        (*TRAINING, "--steps", "16,"),
        (*TRAINING, "--suite", "mini-65"),
        (*TRAINING, "--token", "0"),
        (*TRAINING, "--figure", "heatmap"),
        (*TRAINING, "--out", "curve.safetensors"),
    ],
}


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
        " ".join(map(str, words))[:80]: [folder if word == "MODEL" else word for word in words]
        for words in WRONG[subject]
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
