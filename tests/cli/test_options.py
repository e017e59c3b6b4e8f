"""One name, one meaning, one default: the options of all commands side by side; completions."""

import json
import os
from collections import defaultdict
from dataclasses import fields
from importlib.metadata import version

from cases import random_result
from command_line import commands, refusal

from coupling_core import Store
from coupling_core.base.kinds import kinds
from coupling_core.cli.options import Measuring
from coupling_core.experiments.sweeps import read

EXCEPTIONS = {
    ("--figure", "choices and default"): "each command draws figures of its own",
    ("--figure", "help"): "each command says which it draws of many prompts",
    ("--out", "help"): "each command says which endings it writes",
    ("--token", "help"): "`tokens` fixes one, and `trajectory` measures all and shows one",
    ("--token", "default"): "the last, whose number `trajectory` needs no image to know",
    ("--block", "help"): "`tokens` measures one, or the mean over all, and `directions` shows one",
    ("--seed", "help"): "`prompts` draws a sample, and `suite new` all that a run draws",
}
"""What may differ between commands, and why."""


SHOWN = {words: command for words, command in commands().items() if not command.hidden}


def described(option):
    """What an option is, by part."""
    kind = option.type_descriptor
    choices = list(getattr(kind, "choices", None) or ())
    return {
        "help": option.help,
        "choices and default": (choices, option.default if choices else None),
        "default": None if choices else option.default,
        "flag": (option.is_flag, option.secondary_opts, option.metavar),
        "short": sorted(option.opts),
    }


def forms():
    """The forms that each part of an option has, by (option, part), over the commands."""
    found = defaultdict(lambda: defaultdict(list))
    for words, command in SHOWN.items():
        for option in command.params:
            is_shown = option.param_type_name == "option" and not getattr(option, "hidden", 0)
            if is_shown and words != "bench" and option.opts[0] != "--help":
                for part, form in described(option).items():
                    found[option.opts[0], part][repr(form)].append(words)
    return found


def test_one_name_has_one_meaning_and_one_default():
    differ = {key: dict(of) for key, of in forms().items() if len(of) > 1}
    assert {key: of for key, of in differ.items() if key not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() - differ.keys() == set()
    shared = {name for (name, part), of in forms().items() if sum(map(len, of.values())) > 1}
    assert {"--k", "--blocks", "--json", "--token", "--prompts", "--out", "--store"} <= shared


def test_a_field_of_the_record_of_measuring_is_an_option_of_every_command_that_measures():
    names = {field.name for field in fields(Measuring)}
    of_kinds = {kind.command for kind in kinds().values()}
    for command in (*of_kinds, "graph"):
        assert names <= {one.name for one in SHOWN[command].params}, command


def test_every_command_helps_and_can_be_quiet(run):
    for words, command in SHOWN.items():
        status, short, _ = run(*words.split(), "-h")
        assert (status, "--quiet" in short) == (0, True), words
        options = [p.opts[0] for p in command.params if not getattr(p, "hidden", 0)]
        assert [name for name in options if name.startswith("--") and name not in short] == []
    assert run("depth", "--help") == run("depth", "-h")


def test_what_lists_is_called_list(run):
    assert {"runs list", "suite list", "vision list"} <= SHOWN.keys()
    assert run("--version")[:2] == (0, f"coupling {version('coupling-explorer')}\n")


def test_a_home_and_a_name_of_any_bytes_are_those_of_the_disk(run, tmp_path, monkeypatch):
    """A shell leaves the ~ of --out=~/x.csv, and of what stands in quotes."""
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    (tmp_path / "me").mkdir()
    (tmp_path / "me" / os.fsdecode(b"p\xff.txt")).write_text("The cat\n")
    assert run("sweep", "new", "~/s.toml")[0] == 0
    assert read("~/s.toml").name == "s"
    status, out, _ = run("prompts", os.fsdecode(b"~/p\xff.txt"), "--json")
    assert (status, json.loads(out)["origin"]["source"]) == (0, "p\\udcff.txt")
    assert run("prompts", "~nobody-here/p.txt")[0] == 2


def test_what_may_come_twice_does(run):
    """The last counts, so that an alias may have options that a call replaces."""
    assert run("depth", "--help", "-q", "-q")[0] == 0
    assert "k = 0" in refusal(run("depth", "--prompt", "x", "--k", "8", "--k", "0"))


def test_models_runs_and_keys_are_completed(run, tmp_path, monkeypatch):
    result = random_result()
    Store().put(result)
    key = result.key.partition("-")[0]
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "hub" / "models--owner--cached--model").mkdir(parents=True)
    offered = {
        "coupling depth --model sm": {"smollm2-135m"},
        "coupling depth --model owner/": {"owner/cached--model"},
        "coupling training --suite mini-128": {"mini-128", "mini-128-seed1"},
        "coupling suite list mini-128": {"mini-128", "mini-128-seed1"},
        f"coupling runs show {key[:4]}": {key},
        f"coupling compare {key[:4]}": {key},
        "coupling depth --model none-such": set(),
    }
    monkeypatch.setenv("_COUPLING_COMPLETE", "complete_bash")
    for typed, expected in offered.items():
        monkeypatch.setenv("COMP_WORDS", typed)
        monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
        assert set(run()[1].split()) == expected, typed
