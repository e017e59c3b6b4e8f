"""What experiments cannot take: every refusal in one table, with the words that users read."""

import gzip
import inspect
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import shallow
import tiny
import training
from PIL import Image
from refused import refusals
from sweep_table import sweep_of, zoo
from test_sweep_definition import SWEEP
from torch import nn

import coupling_core as cc
from coupling_core.analysis.findings import Question
from coupling_core.analysis.statistics import at_k
from coupling_core.experiments.own.plans import BLOCKS, RATES, OwnPlan, goal_of
from coupling_core.experiments.sweeps import make, read, read_table, run, write_report, write_table
from coupling_core.experiments.sweeps.report import report
from coupling_core.experiments.sweeps.table import COLUMNS
from coupling_core.experiments.vision.findings import VisionFindings
from coupling_core.experiments.watching.callback import CouplingCallback
from studies.pretraining import packages
from studies.pretraining.plans import find_plan
from studies.pushing.at_scale import Pushed, train
from studies.vision import data, fashion, folders, plans

OF_LIBRARIES = "Error tokenizing|Could not open Parquet"
"""How words begin that pandas and pyarrow change with their versions."""
bare = inspect.unwrap
"""What a caller without checked types calls."""


def each(call, cases, before=""):
    """The calls of a function, a case each."""
    return {f"{before}{name}": lambda case=case: call(case) for name, case in cases.items()}


def many(folder):
    own = tiny.model("gpt2", seed=1)

    def asked(prompts=("The cat sat", "on the mat"), models=None, **how):
        how = {"k": 4, "tokenizer": tiny.tokenizer(), "progress": False, "store": None} | how
        return bare(cc.measure_many)(prompts, {"a": own} if models is None else models, **how)

    def killed():
        raise RuntimeError("KilledWorker")

    prompts = {
        "none": [], "no csv": "no/such/file.csv",
        "one text": "The cat",
        "empty": ["a", "  "], "empty cell": pd.DataFrame({"prompt": ["a", None]}),
        "columns of two lengths": {"prompt": ["a", "b"], "category": ["x"]},
        "out of the vocabulary": [[10_000]],
    }  # fmt: skip
    models = {
        "none": [], "unknown": ["no-such-model"], "a prompt": ["The cat sat"],
        "with a k": [{"model": "minilm-l6", "k": 4}],
        "a module with a dtype": [{"model": nn.Linear(2, 2), "dtype": "float16"}],
        "misspelled": {"model": "minilm-l6", "untraind": 1},
    }  # fmt: skip
    future = SimpleNamespace(result=killed)
    dead = SimpleNamespace(scheduler_info=None, submit=lambda *_, **__: future)
    there = {"models": str(tiny.folder(folder / "there")), "store": folder / "kept"}
    options = {
        "K 1.5": {"k": 1.5}, "one K of several": {"k": [4, 8.5]},
        "K 1.0 as a share": {"k": (0.5, 1.0)}, "each K beyond the width": {"k": (1000, 2000)},
        "definition": {"definition": "papr"}, "a block twice": {"blocks": [2, 3, 3]},
        "blocks beyond": {"blocks": "2-9"}, "one block": {"blocks": -1},
        "blocks of another kind": {"blocks": "2-4", "kind": "self"}, "blocks": {"blocks": "last"},
        "a client's module": {"client": object()},
        "a client without a store": {"client": object(), "models": "minilm-l6"},
        "a worker that died": there | {"client": dead},
    }  # fmt: skip
    return (
        each(asked, prompts, "prompts: ")
        | each(lambda of: asked(models=of), models, "models: ")
        | each(lambda how: asked(**how), options, "options: ")
    )


def comparisons(folder):
    def planted(n=6, ks=(8,), **columns):
        rows = [(m, f"{i}", "depth", k, i / 7 + k) for m in "ab" for i in range(n) for k in ks]
        names = ["model", "prompt", "kind", "k", "corrected"]
        return pd.DataFrame(rows, columns=names).assign(**columns)

    def compare(table, a="a", b="b", **how):
        return lambda: cc.compare_models(table, a, b, **how)

    two = planted(width=[80] * 6 + [160] * 6)
    late, early = (planted(model="a", blocks=b).drop_duplicates("prompt") for b in ("3-4", "1-2"))
    blocks = pd.concat([late, early])
    of_blocks = {"a": "3-4", "b": "1-2", "column": "blocks"}
    wide, narrower = planted(ks=(50,), width=64), planted(ks=(48,), width=48)
    two_widths = pd.concat([wide[wide.model == "a"], narrower[narrower.model == "b"]])
    return {
        "several K": compare(planted(ks=(4, 8))), "another K": compare(planted(), k=5),
        "no such model": compare(planted(), "c"), "no row": compare(planted()[:0]),
        "no such number": compare(planted(), measure="alignment"),
        "no score": compare(two, measure="width"), "no K in common": compare(two_widths),
        "rows twice": compare(pd.concat([planted(), planted()])),
        "empty cells": compare(planted(corrected=np.nan)),
        "a share that was not measured": compare(two, k=0.5),
        "a share of one": compare(two.replace({"k": {8: 12}}), k=0.15),
        "a share without widths": compare(planted(), k=0.1),
        "several K and shares": compare(planted(ks=(4, 16), k_share=[np.nan, 0.5] * 12)),
        "nothing alike": compare(planted(blocks=["1-2"] * 6 + ["3-4"] * 6)),
        "blocks without column": compare(blocks, "3-4", "1-2"),
        "no such role": compare(blocks, "3-4", "1-2", column="role"),
        "blocks of two models": compare(pd.concat([blocks, late.assign(model="b")]), **of_blocks),
        "a table whose numbers are texts": compare(planted().astype({"corrected": str})),
    }  # fmt: skip


SLURM = (
    *(f'{name} = "x\\nrm -rf ~"' for name in ("queue", "account", "memory", "walltime")),
    *(f'{name} = "x\\rid"' for name in ("interface", "folder")),
    'directives = ["--x\\n#SBATCH --uid=0"]', 'prologue = ["a", "b\\nc"]',
)  # fmt: skip
CHANGES = {
    'name = "few"': ('name = "a b"', ""),
    "k = [4, 8]": (
        "k = [0]", "k = [4, 8", "k = [4, 7]\nkinds = ['self']", "kinds = ['dept']",
        "definition = 'mine'", "k = 8\n[slurm]\njob = 2",
    ),
    "steps = [512, 0]": ("steps = [513]", 'revisions = ["step0"]', 'model = "smollm2-135m"'),
    "untrained = [0, 3]": ("untrained = [-1]", "untrained = 0\nquantize = 'nf4'"),
    'suite = "mini-64"': ('suite = "mini-63"',),
    'file = "own.txt"': (
        'file = "none.txt"', *(f'file = "own.txt"\n[slurm]\n{line}' for line in SLURM),
    ),
    "[[prompts]]": ("[[prompt]]",),
}  # fmt: skip


def sweep_files(folder):
    tiny.folder(folder / "model")
    (folder / "own.txt").write_text("Water boils\n\nThe cat sat on the mat\n")
    (folder / "large.toml").write_text("#" * 2**20 + "#")

    def changed(change):
        path = folder / "few.toml"
        path.write_text(SWEEP.format(folder=folder / "model").replace(*change))
        return make(read(path))

    usual = {"name": "n", "models": [{"model": "a/b"}], "prompts": [{"text": "The cat"}]}
    own = {"model": str(folder / "model")}
    in_python = {
        "models of texts": {"models": ["smollm2-135m"]}, "token 0": {"token": 0},
        "a module": {"models": [{"model": tiny.model("llama")}]}, "no prompts": {"prompts": []},
        "a prompt misspelled": {"prompts": [{"text": "The cat"}, {"txt": "x"}]},
        "k of a prompt": {"prompts": [{"text": "a", "k": 8}]},
        "k of a model": {"models": [{"model": "a/b", "k": 8}]},
        "a share of tokens": {"k": [5, 0.9], "kinds": ["self"]},
        "a score as a share": {"models": [own | {"score": 0.41}]},
        "a score of a suite": {"models": [{"suite": "mini-64", "score": 41}]},
        "nothing left": {"models": [own | {"trained": False}]}, "k of none": {"k": 0},
        "prompts of texts": {"prompts": ["The cat"]}, "one model": {"models": own},
        "one kind": {"kinds": "depth"}, "a k in words": {"k": "x"},
    }  # fmt: skip
    changes = {f"{old!r} -> {new!r}": (old, new) for old in CHANGES for new in CHANGES[old]}
    files = {"no file": folder / "nowhere.toml", "a megabyte": folder / "large.toml", "nothing": {}}
    return (
        each(changed, changes)
        | each(lambda of: read(usual | of), in_python)
        | each(bare(read), files)
        | {"every model too narrow": lambda: make(read(usual | {"models": [own], "k": [5000]}))}
    )


def sweep_tables(folder):
    table = sweep_of(zoo()[:4], prompts=2).reindex(columns=list(COLUMNS))
    tiny.folder(folder / "model")
    asked = {"name": "n", "k": 4, "prompts": [{"text": "The cat"}]}
    plan = make(asked | {"models": [{"model": str(folder / "model")}]})

    def back(changes):
        write_table(folder / "t.csv", table.assign(**changes))
        return read_table(folder / "t.csv")

    def content(written):
        path = folder / ("odd.parquet" if written.startswith(b"PAR1") else "odd.csv")
        path.write_bytes(written)
        return read_table(path)

    cells = {
        "k of none": {"k": np.nan}, "k 0.5": {"k": 0.5}, "a width below": {"width": -64},
        "a loss in words": {"loss": "low"}, "trained in words": {"trained": "maybe"},
    }  # fmt: skip
    files = {
        "no column": b"model,k\nx,1\n", "empty": b"", "no text": b"\xff\xfe\x00",
        "an open quote": b'"open', "no parquet": b"PAR1",
    }  # fmt: skip
    written = {
        "another ending": ("t.xlsx", table), "no folder": ("none/t.csv", table),
    }  # fmt: skip
    return (
        each(back, cells)
        | each(content, files)
        | each(lambda of: bare(write_table)(folder / of[0], of[1]), written)
        | {
            "no table": lambda: read_table(folder / "gone.csv"),
            "no such K": lambda: at_k(table.assign(k_share=0.25), 5),
            "a report in csv": lambda: write_report(folder / "r.csv", plan, table),
            "a report without depth": lambda: report({}, table.assign(kind="self"), Question(4)),
            "no workers": lambda: run(plan, folder / "store", workers=0),
        }
    )


def runs(folder):
    """Of training runs that are looked at, and of those that are to be trained."""
    own = {
        "many blocks": {"blocks": BLOCKS[-1] + 1}, "width": {"width": 33}, "seed": {"seed": -1},
        "rate": {"learning_rate": RATES[0] / 2}, "rate of none": {"learning_rate": float("nan")},
        "dropped": {"drop_path": 0.6}, "weight": {"weight": 0.0}, "a path": {"name": "../x"},
    }  # fmt: skip
    watched = {
        "no prompts": {"prompts": []}, "every": {"every": 0}, "share": {"share": 0.0},
        "name of a suite": {"name": "mini-64"}, "name of a path": {"name": "../x"},
    }  # fmt: skip
    steps = {
        "no suite": {"suite": "mini-65"}, "no such step": {"steps": [3]},
        "no store": {"store": None},
    }  # fmt: skip
    looks = {"texts without a tokenizer": {"prompts": ["The"]}, "a K beyond": {"k": 500}}

    def looked(how):
        watch = CouplingCallback(**{"prompts": [(3, 5)]} | how, every=1, share=1.0)
        watch.after(0, tiny.model("gpt_neox"))

    one_block = shallow.model("gpt_neox", 1)
    course = cc.collect(training.SUITE, training.REQUEST, training.stored(folder), (0, 4))
    unread = {"prompt": "The cat", "suite": "mini-64", "steps": 0}

    def pushed(tokens):
        asked = {"model": "", "held_out": "", "name": "", "tokens": str(folder / tokens)}
        bare(train)(Pushed(**asked), None)

    np.save(folder / "floats.npy", np.zeros(100))
    return (
        each(lambda of: OwnPlan(**{"name": "mine"} | of), own, "own: ")
        | each(goal_of, {"up": "up", "0.5x": "0.5x"}, "goal ")
        | each(pushed, {"floats": "floats.npy"}, "token ids: ")
        | each(lambda of: CouplingCallback(**{"prompts": ["x"]} | of), watched, "watching: ")
        | each(looked, looks, "watching ")
        | each(lambda of: cc.measure_steps(**unread | of), steps, "steps: ")
        | {
            "nothing watched": CouplingCallback([(1, 2, 3)]).plot,
            "one block watched": lambda: CouplingCallback([(1, 2, 3)]).after(0, one_block),
            "K beside a view": lambda: course.to_pandas(cc.View(k=2), k=2),
            "no such figure": lambda: bare(type(course).plot)(course, "map"),
            "nothing measured": lambda: replace(course, depth={}, paths={}).plot(),
            "no recipe": lambda: find_plan("pythia-70m"),
            "no apt-get": lambda: packages.fetch_debian("r-cran-janeaustenr", folder),
        }
    )


def pruning(folder):
    words = ["cat", "dog", "mat", "tired", "lay", "down", "beside"]
    texts = [f"The {word} sat on it" for word in words]
    broken = tiny.model("llama")
    broken.model.layers[2].mlp.down_proj.weight.mul_(np.inf)
    (folder / "full").mkdir()
    (folder / "full" / "mine.txt").write_text("mine")

    def pruned(how):
        given = {"model": tiny.model("llama"), "texts": texts, "tokenizer": tiny.tokenizer()}
        return cc.prune(**given | {"by": "last", "remove": 1} | how)

    said = {
        "five texts": {"texts": texts[:5]}, "one text nine times": {"texts": [texts[0]] * 9},
        "a text of one token": {"texts": [texts[0], "t", *texts[1:]]},
        "every block": {"remove": 4}, "no ranking": {"by": ()}, "no block": {"remove": 0},
        "one text": {"texts": texts[0]},
        "infinite weights": {"model": broken},
        **{name: {"model": tiny.model(name)} for name in ("t5", "bert", "albert")},
    }  # fmt: skip
    plan = pruned({"by": ("last", "random")})
    places = {"full": "full", "a file": "full/mine.txt", "no folder above": "no/where"}
    return (
        each(pruned, said)
        | each(lambda place: plan.save(folder / place, "last", 1), places, "into ")
        | {"random sets": lambda: plan.save(folder / "short", "random", 1)}
    )


def vision(folder):
    plan = plans.PRESETS["digits"].plan
    head = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3])

    def idx(content):
        (folder / "array.gz").write_bytes(content)
        return fashion.read_idx(folder / "array.gz")

    (folder / "nothing").mkdir()
    for place in ("split/train/cat", "split/train/dog", "split/test/cow", "cut/cat", "cut/dog"):
        (folder / place).mkdir(parents=True)
        Image.new("L", (8, 8), 5).save(folder / place / "0.png")
    cut = folder / "cut" / "dog" / "0.png"
    cut.write_bytes(cut.read_bytes()[:-24])
    changes = {"rates": {"rates": [1.0]}, "decay": {"weight_decay": -1.0}, "epochs": {"epochs": 0}}
    shapes = {"heads": {"heads": 7}, "patches": {"patch": 3}}
    files = {
        "no gzip": b"no gzip", "cut gzip": gzip.compress(head + bytes(6))[:-9],
        "too short": gzip.compress(head + bytes(5)),
        "no bytes": gzip.compress(bytes([0, 0, 13, 1, 0, 0, 0, 1, 5])),
        "nothing": gzip.compress(b""),
    }  # fmt: skip
    return (
        each(lambda how: plans.plan_runs(**how), changes)
        | each(lambda how: replace(plan, **how), shapes)
        | each(idx, files, "idx: ")
        | {
            "preset": lambda: plans.plan_runs("mnist"),
            "digits too small": lambda: data.load_pictures("digits", 32, print),
            "no data": lambda: data.load_pictures("/no/such", 32, print),
            "an empty folder": lambda: folders.read_folder(folder / "nothing", 8),
            "a class that is tested alone": lambda: folders.read_folder(folder / "split", 8),
            "an image that is cut": lambda: folders.read_folder(folder / "cut", 8),
            "not measured": lambda: VisionFindings(sweep_of(zoo()[:2], 2), 4, kind="self").runs,
        }
    )


@pytest.mark.parametrize(
    "calls", [many, comparisons, sweep_files, sweep_tables, runs, pruning, vision],
    ids=lambda calls: calls.__name__,
)  # fmt: skip
def test_what_cannot_be_taken_is_refused_in_words(calls, snapshot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    training.lay_out(monkeypatch, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))  # neither apt-get nor Slurm is here
    asked = calls(tmp_path)
    before = {one.key for one in cc.Store().entries()}
    found = refusals(asked, tmp_path, sorts=(cc.InputError, cc.ComputeError))
    found = {name: re.sub(f"({OF_LIBRARIES}).*", "...", words) for name, words in found.items()}
    assert {one.key for one in cc.Store().entries()} == before
    assert found == snapshot
