"""One name, one meaning, one default: the options of all commands side by side."""

import os
import subprocess
import sys
from collections import defaultdict

import pytest
import tiny
import typer

from coupling_core import Request, Store, measure
from coupling_core.cli.commands import app

EXCEPTIONS = {
    ("--figure", "choices and default"): "each command draws figures of its own",
    ("--figure", "help"): "each command says which it draws of many prompts",
    ("--out", "help"): "each command says which endings it writes",
    (
        "--token",
        "help",
    ): "`tokens` holds one token fixed, and `trajectory` measures all and shows one",
    ("--token", "default"): "the last, whose number `trajectory` needs no image to know",
    ("--block", "help"): "`tokens` measures one, or the mean over all, and `directions` shows one",
    ("--seed", "help"): "`prompts` draws one sample, and `vision train` several runs",
    ("--seed", "default"): "as above",
}
"""What may differ between commands, and why."""

PARTS = ("help", "choices and default", "default", "flag", "short")


def commands():
    """Every command that is shown, by what one types."""

    def walk(command, name):
        if hasattr(command, "commands"):
            for sub, part in command.commands.items():
                yield from walk(part, [*name, sub])
        elif not command.hidden:
            yield name, command

    return list(walk(typer.main.get_command(app), []))


def options(command):
    return [
        p for p in command.params if p.param_type_name == "option" and not getattr(p, "hidden", 0)
    ]


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


SEEN = defaultdict(lambda: defaultdict(list))
for words, command in commands():
    for option in options(command):
        SEEN[option.opts[0]][" ".join(words)] = described(option)
SHARED = sorted(name for name, where in SEEN.items() if len(where) > 1 and name != "--help")


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("part", PARTS)
def test_one_name_has_one_meaning_and_one_default(name, part):
    forms = {repr(one[part]) for command, one in SEEN[name].items() if command != "bench"}
    if (name, part) in EXCEPTIONS:
        assert len(forms) > 1, "this exception is none"
    else:
        assert len(forms) == 1, {command: one[part] for command, one in SEEN[name].items()}


def test_many_options_are_shared():
    assert {"--k", "--blocks", "--json", "--token", "--prompts", "--out", "--store"} <= set(SHARED)


def test_json_is_one_thing_everywhere():
    assert {str(one["help"]) for one in SEEN["--json"].values()} == {"Print JSON for machines."}


def test_what_lists_is_called_list_everywhere():
    names = {" ".join(words) for words, _ in commands()}
    assert {"runs list", "suite list", "vision list"} <= names
    assert not [name for name in names if name.endswith(" ls")]


def test_lists_answer_to_their_old_name_too(run):
    assert run("runs", "ls") == run("runs", "list")


@pytest.mark.parametrize("words", [one for one, _ in commands()], ids=" ".join)
def test_every_command_helps_and_can_be_quiet(run, words):
    status, short, _ = run(*words, "-h")
    assert status == 0
    assert "--quiet" in short
    assert run(*words, "--help")[1] == short


def test_the_version_is_the_packages(run):
    from importlib.metadata import version

    assert run("--version")[:2] == (0, f"coupling {version('coupling-explorer')}\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_given_completions(monkeypatch, shell):
    # The shell that asks is found among the processes above, where CI has none.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    asked = [sys.executable, "-m", "coupling_core", "--show-completion", shell]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0
    assert "_COUPLING_COMPLETE=complete_" in done.stdout
    assert "python" not in done.stdout.lower()


def test_an_option_that_help_does_not_have_is_not_offered(run):
    status, _, told = run("tokens", "--mod", "self")
    assert (status, told.strip()) == (
        2,
        "error: No such option: --mod (Possible options: --model, --out)",
    )


def test_a_choice_that_is_none_is_refused_in_plain_words(run):
    status, _, told = run("depth", "--figure", "foo")
    assert status == 2
    assert "Invalid value for '--figure': 'foo' is not one of 'mosaic', 'scores'" in told


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            ("whatif", "--prompt", "x", "--edit", "skip(1)", "--edit", "skip(2)"),
            "'--edit': it came 2",
        ),
        (
            ("depth", "--prompt", "x", "--out", "a.csv", "--out", "b.csv"),
            "'--out': it came 2 times",
        ),
        (("graph", "--prompt", "x", "--figure", "graph"), "and no --out came"),
        (("depth", "--prompt", "x", "--figure", "scores", "--json"), "and no --out came"),
        (("depth", "--prompt", "x", "--out", "a.json"), "--json prints JSON"),
    ],
)
def test_what_would_have_no_effect_is_refused(run, asked, told):
    status, printed, said = run(*asked)
    assert (status, printed) == (2, "")
    assert told in said


def test_what_may_come_twice_does(run):
    """The last counts, so that an alias may have options that a call replaces."""
    assert run("depth", "--help", "-q", "-q")[0] == 0
    said = run("depth", "--prompt", "x", "--k", "8", "--k", "0")[2]
    assert "K must be at least 1" in said


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("coupling depth --model sm", {"smollm2-135m"}),
        ("coupling depth --model owner/", {"owner/cached--model"}),
        ("coupling training --suite mini-128", {"mini-128", "mini-128-seed1"}),
        ("coupling suite list mini-128", {"mini-128", "mini-128-seed1"}),
        ("coupling runs show KEY", {"KEY"}),
        ("coupling compare KEY", {"KEY"}),
        ("coupling depth --model none-such", set()),
    ],
)
def test_models_runs_and_keys_are_completed(tmp_path, monkeypatch, typed, offered):
    folder = tiny.folder(tmp_path / "llama")
    result = measure(Request(tiny.TEXT, model=str(folder), k=2), Store())
    key = result.key.partition("-")[0]
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "hub" / "models--owner--cached--model").mkdir(parents=True)
    words = typed.replace("KEY", key[:4])
    told = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "coupling_core"],
        env=os.environ | told | {"_COUPLING_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
    )
    assert set(done.stdout.split()) == {key if one == "KEY" else one for one in offered}
