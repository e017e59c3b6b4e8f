"""What experiments cannot take: every refusal in one table, with the words that users read."""

import gzip
import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny
import training
from refused import refusals
from sweep_table import sweep_of, zoo
from test_sweep_definition import SWEEP
from torch import nn
from transformers import TrainingArguments

from coupling_core import (
    ComputeError,
    InputError,
    Store,
    View,
    collect,
    compare_models,
    means_by,
    measure_many,
    measure_steps,
    prune,
)
from coupling_core.analysis.findings import Question, find, first_question
from coupling_core.analysis.statistics import at_k
from coupling_core.experiments.own.plans import BLOCKS, RATES, OwnPlan, goal_of
from coupling_core.experiments.pretraining import find_plan, packages
from coupling_core.experiments.pushing import at_scale
from coupling_core.experiments.sweeps import (
    make,
    read,
    read_table,
    run,
    status,
    write_report,
    write_table,
)
from coupling_core.experiments.sweeps.report import report
from coupling_core.experiments.sweeps.table import COLUMNS
from coupling_core.experiments.vision import PRESETS, fashion, plan_runs
from coupling_core.experiments.vision.data import load_pictures
from coupling_core.experiments.vision.findings import VisionFindings
from coupling_core.experiments.vision.folders import read_folder
from coupling_core.experiments.watching.callback import CouplingCallback
from coupling_core.store.disk import as_store

Calls = dict[str, Callable[[], object]]

TEXTS = ("The cat sat", "on the mat", "The dog sat on the mat")
OF_LIBRARIES = "Error tokenizing|Could not open Parquet|.{3}Could not convert"
"""How words begin that pandas and pyarrow change with their versions."""
bare = inspect.unwrap
"""What a caller without checked types calls."""


def many(folder: Path) -> Calls:
    own = tiny.model("gpt2", seed=1)

    def asked(prompts, models, **how):
        how = {"k": 4, "tokenizer": tiny.tokenizer(), "progress": False, "store": None} | how
        return bare(measure_many)(prompts, models, **how)

    prompts = {
        "none": [],
        "no file": "no such file",
        "no csv": "no/such/file.csv",
        "no path": folder / "gone.csv",
        "other column": [{"text": "a"}],
        "empty": ["a", "  "],
        "empty cell": pd.DataFrame({"prompt": ["a", None]}),
        "a number": 5,
        "no column of prompts": {"text": ["a"]},
        "columns of two lengths": {"prompt": ["a", "b"], "category": ["x"]},
        "out of the vocabulary": [[10_000]],
    }
    models = {
        "none": [],
        "a number": 5,
        "unknown": ["no-such-model"],
        "a prompt": ["The cat sat"],
        "with a k": [{"model": "minilm-l6", "k": 4}],
        "a module with a dtype": [{"model": nn.Linear(2, 2), "dtype": "float16"}],
        "misspelled": {"model": "minilm-l6", "untraind": 1},
        "trained a number": {"u": {"model": own, "trained": 1}},
    }
    options = {
        "K 1.5": {"k": 1.5},
        "K a text": {"k": "8"},
        "one K of several": {"k": [4, 8.5]},
        "K 1.0 as a share": {"k": (0.5, 1.0)},
        "K beyond the width": {"k": 33},
        "each K beyond the width": {"k": (1000, 2000)},
        "definition": {"definition": "papr"},
        "a block twice": {"blocks": [2, 3, 3]},
        "blocks beyond": {"blocks": "2-9"},
        "one block": {"blocks": -1},
        "blocks in words": {"blocks": "two"},
        "blocks of another kind": {"blocks": "2-4", "kind": "self"},
    }
    return (
        {f"prompts: {name}": lambda of=of: asked(of, own) for name, of in prompts.items()}
        | {f"models: {name}": lambda of=of: asked(["a"], of) for name, of in models.items()}
        | {
            f"options: {name}": lambda how=how: asked(TEXTS, {"a": own}, **how)
            for name, how in options.items()
        }
        | {
            "a client's module": lambda: asked(TEXTS, own, client=object()),
            "a client without a store": lambda: asked(TEXTS, "minilm-l6", client=object()),
            "a client's address": lambda: asked(
                TEXTS, "minilm-l6", client="tcp://127.0.0.1:8786", store=Store()
            ),
        }
    )


def comparisons(folder: Path) -> Calls:
    def planted(n=6, ks=(8,), **columns):
        return pd.DataFrame(
            [
                {"model": m, "prompt": f"{i}", "kind": "depth", "k": k, "corrected": i / 7 + k}
                for m in "ab"
                for i in range(n)
                for k in ks
            ]
        ).assign(**columns)

    def compare(table, a="a", b="b", **how):
        return lambda: bare(compare_models)(table, a, b, **how)

    two = planted(width=[80] * 6 + [160] * 6)
    late, early = (planted(model="a", blocks=b).drop_duplicates("prompt") for b in ("3-4", "1-2"))
    blocks = pd.concat([late, early])
    of_blocks = {"a": "3-4", "b": "1-2", "column": "blocks"}
    wide, narrower = planted(ks=(50,), width=64), planted(ks=(48,), width=48)
    two_widths = pd.concat([wide[wide.model == "a"], narrower[narrower.model == "b"]])
    found = compare_models(planted(topic=list("xyzxyz") * 2), "a", "b")
    shared = planted(ks=(4, 16), k_share=[np.nan, 0.5] * 12)
    return {
        "several K": compare(planted(ks=(4, 8))),
        "another K": compare(planted(), k=5),
        "a list of K": compare(planted(), k=[4, 8]),
        "K a text": compare(planted(), k="8"),
        "no such model": compare(planted(), "c"),
        "no such number": compare(planted(), measure="alignment"),
        "two numbers": compare(planted(), measure=["corrected"]),
        "no score": compare(two, measure="width"),
        "rows twice": compare(pd.concat([planted(), planted()])),
        "no row": compare(planted()[:0]),
        "empty cells": compare(planted(corrected=np.nan)),
        "a path": compare("t.csv"),
        "a share that was not measured": compare(two, k=0.5),
        "a share of one": compare(two.replace({"k": {8: 12}}), k=0.15),
        "a share without widths": compare(planted(), k=0.1),
        "several K and shares": compare(shared),
        "no K in common": compare(two_widths),
        "other definitions": compare(planted(definition=["paper"] * 6 + ["alignment"] * 6)),
        "nothing alike": compare(planted(blocks=["1-2"] * 6 + ["3-4"] * 6)),
        "blocks without column": compare(blocks, "3-4", "1-2"),
        "column misspelled": compare(blocks, "3-4", "1-2", column="block"),
        "no such role": compare(blocks, "3-4", "1-2", column="role"),
        "blocks of two models": compare(pd.concat([blocks, late.assign(model="b")]), **of_blocks),
        "groups by a number": lambda: bare(found.means_by.__func__)(found, 3),
        "groups by nothing": lambda: bare(found.means_by.__func__)(found, []),
        "groups by what is of a row": lambda: found.means_by("kind"),
        "colours of no column": lambda: found.plot(by="topics"),
        "means by a number": lambda: bare(means_by)(planted(), 5),
        "a table whose numbers are texts": compare(planted().astype({"corrected": str})),
    }


CHANGES = (
    ('name = "few"', 'name = "a b"'),
    ('name = "few"', ""),
    ("k = [4, 8]", "k = [0]"),
    ("k = [4, 8]", "k = []"),
    ("k = [4, 8]", "k = [4, 8"),
    ("k = [4, 8]", "k = [4, 7]\nkinds = ['self']"),
    ("k = [4, 8]", "kinds = ['dept']"),
    ("k = [4, 8]", "kinds = ['sideways']"),
    ("k = [4, 8]", "kind = ['depth']"),
    ("k = [4, 8]", "definition = 'mine'"),
    ("k = [4, 8]", "k = 8\n[slurm]\njob = 2"),
    ("steps = [512, 0]", "steps = [513]"),
    ("steps = [512, 0]", 'revisions = ["step0"]'),
    ("steps = [512, 0]", 'model = "smollm2-135m"'),
    ("steps = ", "stepps = "),
    ("untrained = [0, 3]", "untrained = [-1]"),
    ("untrained = [0, 3]", "trained = false"),
    ("untrained = [0, 3]", "untrained = 0\nquantize = 'nf4'"),
    ('suite = "mini-64"', 'suite = "mini-63"'),
    ('file = "own.txt"', 'file = "none.txt"'),
    ('file = "own.txt"', 'fil = "own.txt"'),
    ("[[prompts]]", "[[prompt]]"),
    ("[[models]]", "[models]"),
    *(
        ('file = "own.txt"', f'file = "own.txt"\n[slurm]\n{line}')
        for line in (
            *(f'{name} = "x\\nrm -rf ~"' for name in ("queue", "account", "memory", "walltime")),
            *(f'{name} = "x\\rid"' for name in ("interface", "folder")),
            'directives = ["--x\\n#SBATCH --uid=0"]',
            'prologue = ["a", "b\\nc"]',
        )
    ),
)


def sweep_files(folder: Path) -> Calls:
    tiny.folder(folder / "model")
    (folder / "own.txt").write_text("Water boils\n\nThe cat sat on the mat\n")
    (folder / "large.toml").write_text("#" * 2**20 + "#")

    def changed(before, after):
        path = folder / "few.toml"
        path.write_text(SWEEP.format(folder=folder / "model").replace(before, after))
        return make(read(path))

    usual = {"name": "n", "models": [{"model": "a/b"}], "prompts": [{"text": "The cat"}]}
    own = {"model": str(folder / "model")}
    in_python = {
        "no name": {"name": ""},
        "misspelled": {"modles": []},
        "models of texts": {"models": ["smollm2-135m"]},
        "models of a table": {"models": {"model": "a/b"}},
        "models and prompts of numbers": {"models": 3, "prompts": 3},
        "a module": {"models": [{"model": tiny.model("llama")}]},
        "no prompts": {"prompts": []},
        "prompts of texts": {"prompts": ["x"]},
        "a prompt misspelled": {"prompts": [{"text": "The cat"}, {"txt": "x"}]},
        "a prompt as measured": {"prompts": [{"prompt": "The cat"}]},
        "a prompt of a number": {"prompts": [{"text": 3}]},
        "k of a prompt": {"prompts": [{"text": "a", "k": 8}]},
        "k of a model": {"models": [{"model": "a/b", "k": 8}]},
        "k in words": {"k": "eight"},
        "a share of tokens": {"k": [5, 0.9], "kinds": ["self"]},
        "token 0": {"token": 0},
        "a score as a share": {"models": [own | {"score": 0.41}]},
        "a score of a suite": {"models": [{"suite": "mini-64", "score": 41}]},
    }
    return (
        {f"{before!r} -> {after!r}": lambda c=(before, after): changed(*c)
         for before, after in CHANGES}
        | {name: lambda of=of: read(usual | of) for name, of in in_python.items()}
        | {
            "nothing": lambda: read({}),
            "no file": lambda: read(folder / "nowhere.toml"),
            "a megabyte": lambda: read(folder / "large.toml"),
            "a frame": lambda: bare(read)(pd.DataFrame()),
            "every model too narrow": lambda: make(read(usual | {"models": [own], "k": [5000]})),
        }
    )  # fmt: skip


def sweep_tables(folder: Path) -> Calls:
    table = sweep_of(zoo()[:4], prompts=2).reindex(columns=list(COLUMNS))
    pair = (table, {})
    tiny.folder(folder / "model")
    asked = {"name": "n", "k": 4, "prompts": [{"text": "The cat"}]}
    plan = make(asked | {"models": [{"model": str(folder / "model")}]})
    store = folder / "store"

    def back(name, **changes):
        def call():
            write_table(folder / name, table.assign(**changes))
            return read_table(folder / name)

        return call

    def content(written, name="odd.csv"):
        def call():
            (folder / name).write_bytes(written)
            return read_table(folder / name)

        return call

    kinds = {
        "k of none": {"k": np.nan}, "k 0.5": {"k": 0.5}, "a width below": {"width": -64},
        "a loss in words": {"loss": "low"}, "trained in words": {"trained": "maybe"},
    }  # fmt: skip
    mixed = table.assign(topic=[1, *["one"] * (len(table) - 1)])
    return {name: back("t.csv", **of) for name, of in kinds.items()} | {
        "no column": content(b"model,k\nx,1\n"),
        "no table": lambda: read_table(folder / "gone.csv"),
        "empty": content(b""),
        "no text": content(b"\xff\xfe\x00"),
        "an open quote": content(b'"open'),
        "no parquet": content(b"PAR1", "odd.parquet"),
        "another ending": lambda: write_table(folder / "t.xlsx", table),
        "no folder": lambda: write_table(folder / "none" / "t.csv", table),
        "mixed parquet": lambda: write_table(folder / "t.parquet", mixed),
        "a path of a number": lambda: bare(read_table)(5),
        "table and path exchanged": lambda: bare(write_table)(table, "a.csv"),
        "a pair to write": lambda: bare(write_table)(folder / "t.csv", pair),
        "a pair to find in": lambda: bare(find)(pair),
        "a pair to ask of": lambda: bare(first_question)(pair),
        "a dict to find in": lambda: bare(find)({}),
        "no such K": lambda: at_k(table.assign(k_share=0.25), 5),
        "a pair to report": lambda: bare(write_report)(folder / "r.html", plan, pair),
        "a report in csv": lambda: write_report(folder / "r.csv", plan, table),
        "a report of no plan": lambda: bare(write_report)(folder / "r.html", asked, table),
        "a report without depth": lambda: report({}, table.assign(kind="self"), Question(4)),
        "a status of no plan": lambda: bare(status)(asked, store),
        "a run of a path": lambda: bare(run)(folder / "few.toml"),
        "a store of a number": lambda: bare(as_store)(3),
    } | {
        f"{workers!r} workers": lambda n=workers: bare(run)(plan, store, workers=n)
        for workers in (0, "2")
    }  # fmt: skip


def runs(folder: Path) -> Calls:
    """Of training runs that are looked at, and of those that are to be trained."""
    tiny.folder(folder / "model")
    unread = {"prompt": "The cat", "suite": "mini-64"}
    own = {
        "many blocks": {"blocks": BLOCKS[-1] + 1}, "width": {"width": 33}, "seed": {"seed": -1},
        "rate": {"learning_rate": RATES[0] / 2}, "rate of none": {"learning_rate": float("nan")},
        "dropped": {"drop_path": 0.6}, "weight": {"weight": 0.0}, "a path": {"name": "../x"},
        "capital": {"name": "Mine"}, "long name": {"name": "x" * 65},
    }  # fmt: skip
    watched = {
        "no prompts": {"prompts": []}, "every": {"prompts": ["x"], "every": 0},
        "share": {"prompts": ["x"], "share": 0.0}, "name": {"prompts": ["x"], "name": "My Run"},
        "name of a suite": {"prompts": ["x"], "name": "mini-64"},
        "name of a path": {"prompts": ["x"], "name": "../x"},
    }  # fmt: skip

    def pushed(tokens):
        given = at_scale.Pushed(
            model=str(folder / "model"), tokens=str(folder / tokens), name="",
            held_out=str(folder / "held_out.npy"),
        )  # fmt: skip
        return at_scale.train(
            given, TrainingArguments(output_dir=str(folder), report_to=[], use_cpu=True)
        )

    def looked(model, **how):
        return lambda: CouplingCallback(**how, every=1, share=1.0).after(0, model)

    np.save(folder / "floats.npy", np.zeros(100))
    shallow = tiny.model("gpt_neox")
    del shallow.gpt_neox.layers[1:]
    shallow.config.num_hidden_layers = 1
    course = collect(training.SUITE, training.REQUEST, training.stored(folder), (0, 4))
    return (
        {f"own: {name}": lambda of=of: OwnPlan(**{"name": "mine"} | of) for name, of in own.items()}
        | {f"goal {goal}": lambda goal=goal: goal_of(goal) for goal in ("up", "RAISE", "0.5x")}
        | {
            f"watching: {name}": lambda of=of: CouplingCallback(**of)
            for name, of in watched.items()
        }
        | {
            "watching texts without a tokenizer": looked(tiny.model("gpt_neox"), prompts=["The"]),
            "watching at a K beyond": looked(tiny.model("gpt_neox"), prompts=[(3, 5)], k=500),
            "watching one block": looked(shallow, prompts=[(3, 5)]),
            "nothing watched": CouplingCallback([(1, 2, 3)]).plot,
            "steps of no suite": lambda: measure_steps("The cat", "mini-65", 0),
            "no such step": lambda: measure_steps(steps=[3], **unread),
            "no steps": lambda: measure_steps(steps=[], **unread),
            "steps without a store": lambda: measure_steps(steps=0, store=None, **unread),
            "collected without a store": lambda: collect(training.SUITE, training.REQUEST, None),
            "K beside a view": lambda: course.to_pandas(View(k=2), k=2),
            "no such figure": lambda: bare(type(course).plot)(course, "map"),
            "nothing measured": lambda: replace(course, depth={}, paths={}).plot(),
            "no recipe": lambda: find_plan("pythia-70m"),
            "no apt-get": lambda: packages.fetch_debian("r-cran-janeaustenr", folder),
            "token ids of floats": lambda: pushed("floats.npy"),
            "no token ids": lambda: pushed("none.npy"),
        }
    )


def pruning(folder: Path) -> Calls:
    words = ["cat", "dog", "mat", "tired", "lay", "down", "beside"]
    texts = [f"The {word} sat on it" for word in words]
    model = tiny.model("llama")
    broken = tiny.model("llama")
    broken.model.layers[2].mlp.down_proj.weight.mul_(np.inf)
    said = {
        "five texts": (texts[:5], {}),
        "one text nine times": ([texts[0]] * 9, {}),
        "a text of one token": ([texts[0], "t", *texts[1:]], {}),
        "one text": ("a text", {}),
        "every block": (texts, {"remove": 4}),
        "no blocks": (texts, {"remove": ()}),
        "no ranking": (texts, {"by": ()}),
    }

    def pruned(model, texts=texts, **how):
        return prune(model, texts, tokenizer=tiny.tokenizer(), **{"by": "last", "remove": 1} | how)

    plan = pruned(model, by=("last", "random"))
    (folder / "full").mkdir()
    (folder / "full" / "mine.txt").write_text("mine")
    return (
        {name: lambda t=t, how=how: pruned(model, t, **how) for name, (t, how) in said.items()}
        | {
            name: lambda name=name: pruned(tiny.model(name))
            for name in ("t5", "bert", "albert", "swin")
        }
        | {
            "infinite weights": lambda: pruned(broken),
            "random sets": lambda: plan.save(folder / "short", "random", 1),
            "a full folder": lambda: plan.save(folder / "full", "last", 1),
            "a file": lambda: plan.save(folder / "full" / "mine.txt", "last", 1),
            "no folder above": lambda: plan.save(folder / "no" / "where", "last", 1),
        }
    )


def vision(folder: Path) -> Calls:
    plan = PRESETS["digits"].plan
    head = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3])

    def idx(content):
        def call():
            (folder / "array.gz").write_bytes(content)
            return fashion.read_idx(folder / "array.gz")

        return call

    (folder / "nothing").mkdir()
    table = sweep_of(zoo()[:2], prompts=2)
    return {
        "preset": lambda: plan_runs("mnist"),
        "rate 1": lambda: plan_runs(rates=[1.0]),
        "rate below": lambda: plan_runs(rates=[-0.1]),
        "decay": lambda: plan_runs(weight_decay=-1.0),
        "no epochs": lambda: plan_runs(epochs=0),
        "heads": lambda: replace(plan, heads=7),
        "patches": lambda: replace(plan, patch=3),
        "digits too small": lambda: load_pictures("digits", 32, print),
        "no data": lambda: load_pictures("/no/such", 32, print),
        "an empty folder": lambda: read_folder(folder / "nothing", 8),
        "no gzip": idx(b"no gzip"),
        "cut gzip": idx(gzip.compress(head + bytes(6))[:-9]),
        "too short": idx(gzip.compress(head + bytes(5))),
        "no bytes": idx(gzip.compress(bytes([0, 0, 13, 1, 0, 0, 0, 1, 5]))),
        "only a head": idx(gzip.compress(b"\0\0\x08")),
        "nothing in it": idx(gzip.compress(b"")),
        "not measured": lambda: VisionFindings(table, 4, kind="self").runs,
    }


@pytest.mark.parametrize(
    "calls", [many, comparisons, sweep_files, sweep_tables, runs, pruning, vision],
    ids=lambda calls: calls.__name__,
)  # fmt: skip
def test_what_cannot_be_taken_is_refused_in_words(calls, snapshot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    training.lay_out(monkeypatch, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))  # neither apt-get nor Slurm is here
    asked = calls(tmp_path)
    before = {one.key for one in Store().entries()}
    found = refusals(asked, tmp_path, sorts=(InputError, ComputeError))
    found = {name: re.sub(f"({OF_LIBRARIES}).*", "...", words) for name, words in found.items()}
    assert {one.key for one in Store().entries()} == before
    assert found == snapshot
