"""The command line: `depth` of one prompt and of many, the store's commands, models, processes.

What all commands that measure do alike is in tests/kinds/test_contract.py.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import tiny
from cases import random_result
from command_line import printed, refusal
from fake_hub import REPO, client, lay_out

from coupling_core import Request, Store, View, measure, score_pairs
from coupling_core.analysis.scores import mean_interval, mean_off_diagonal
from coupling_core.sources.file_hashes import seal

PROMPT = "The cat sat on the mat"
OTHER = "the dog lay down"


@pytest.fixture
def depth(run, folder):
    """`depth` on the tiny model at K = 8."""
    return lambda *args: run("depth", "--model", folder, "--k", 8, *args)


def expected(folder, prompt=PROMPT, **changes):
    """The same measurement through Python."""
    return measure(Request(prompt, model=str(folder), k=8, **changes))


# ---- one prompt


def test_json_has_what_is_viewed_and_a_view_of_a_stored_result_computes_nothing(depth, folder):
    view = {"definition": "page", "role": "B"}
    words = [word for name, value in view.items() for word in (f"--{name}", value)]
    said = printed(depth("--prompt", PROMPT, *words, "--json"))
    found = score_pairs(expected(folder), View(k=8, **view))
    for name in ("coupling", "chance", "corrected"):
        np.testing.assert_allclose(said[name], getattr(found, name), atol=1e-6)
        if name != "chance":
            mean = mean_off_diagonal(getattr(found, name))
            assert said["mean"][name] == pytest.approx(mean, abs=1e-6)
    assert (said["blocks"], said["certified"]) == ([1, 2, 3, 4], [True] * 4)
    assert (said["token"], len(said["next_tokens"])) == (len(said["tokens"]), 5)
    assert said.items() >= (view | {"k": 8, "p": 1.0}).items()
    other = ("--k", 3, "--definition", "alignment", "--blocks", "2,4")
    assert printed(depth("--prompt", PROMPT, *other, "--json"))["stored"] is True


def test_what_does_not_exist_is_null_in_json_and_empty_in_csv(depth, tmp_path):
    said = printed(depth("--prompt", PROMPT, "--blocks", "2", "--json"))
    assert {*said["mean"].values()} == {None}
    depth("--prompt", PROMPT, "--k", 1, "--definition", "preprint", "--out", "r.csv")
    assert pd.read_csv(tmp_path / "r.csv")["corrected"].isna().all()


def test_the_table_has_the_scores_of_the_blocks(depth, folder):
    status, out, err = depth("--prompt", PROMPT, "--blocks", "2-4:2")
    result = expected(folder)
    found = score_pairs(result, View(k=8, blocks=(2, 4)))
    assert (status, err) == (0, "")
    for scores in (found.corrected, found.coupling):
        assert f"{mean_off_diagonal(scores):.4f}" in out
    assert "4 of 4 certified" in out
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    s, at = result.singular_values[1], (0, 1)
    cells = (found.coupling, found.chance, found.corrected, found.corrected.T)
    scores = [f"{values[at]:.3f}" for values in cells]
    assert rows["2"][1:] == [f"{s[0]:.3g}", f"{s[7]:.3g}", f"{s[7] / s[8]:.4f}", *scores]
    assert not {"1", "3"} & rows.keys()


def test_what_is_measured_follows_the_options(depth, folder):
    plain = score_pairs(expected(folder), View(k=8)).coupling
    for name, value in {"token": 2, "final_norm": "exclude", "untrained": 5}.items():
        option = f"--{name.replace('_', '-')}"
        said = printed(depth("--prompt", PROMPT, option, value, "--json"))
        found = score_pairs(expected(folder, **{name: value}), View(k=8))
        np.testing.assert_allclose(said["coupling"], found.coupling, atol=1e-6)
        assert not np.allclose(said["coupling"], plain, atol=1e-4)
        assert said["request"][name] == value


def test_prompts_that_look_like_markup_are_printed_as_they_are(depth):
    assert "[bold]cat[/bold] :cat:" in depth("--prompt", "[bold]cat[/bold] :cat:")[1]


def test_the_plain_method_is_measured_again_and_gives_the_same(depth):
    by_the_fast_way = printed(depth("--prompt", PROMPT, "--json"))
    plainly = printed(depth("--prompt", PROMPT, "--json", "--plain"))
    again = printed(depth("--prompt", PROMPT, "--json", "--plain"))
    assert list(plainly["provenance"]["ways"]) != list(by_the_fast_way["provenance"]["ways"])
    assert [found["stored"] for found in (by_the_fast_way, plainly, again)] == [False, False, True]
    np.testing.assert_allclose(plainly["coupling"], by_the_fast_way["coupling"], atol=1e-5)
    out = depth("--prompt", PROMPT, "--plain")[1]
    assert next(iter(plainly["provenance"]["ways"])) in out


@pytest.mark.full
def test_without_a_chromium_a_figure_is_drawn_or_the_result_is_kept(depth, tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    assert depth("--prompt", PROMPT, "--out", "r.pdf")[0] == 0
    assert (tmp_path / "r.pdf").read_bytes()[:4] == b"%PDF"
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "Chromium" in refusal(depth("--prompt", PROMPT, "--out", "r.svg"), status=1)
    assert len(Store(gallery=Path("none")).entries()) == 1


def test_memory_that_runs_out_is_status_1(depth):
    block = "engine.jacobians.derivative_check.block_jacobian"
    for part, error in (
        (block, RuntimeError("CUDA out of memory")),
        (block, MemoryError()),
        ("figures.render", MemoryError()),
    ):
        with patch(f"coupling_core.{part}", side_effect=error):
            assert "memory" in refusal(depth("--prompt", PROMPT, "--out", "r.html"), status=1)


# ---- processes


@pytest.mark.full
def test_a_stored_answer_needs_no_heavy_library_but_what_writes_tables(depth, folder, tmp_path):
    depth("--prompt", PROMPT)
    code = (
        "import sys; from coupling_core.cli import main\n"
        "asked = sys.argv[1:]\n"
        "for more in ([], ['--json'], ['--out', 'r.npz'], ['--out', 'r.csv']):\n"
        "    sys.argv = ['coupling', *asked, *more]\n"
        "    try: main()\n"
        "    except SystemExit as left: assert left.code == 0\n"
        "    print('HAS', *(m for m in ('torch', 'transformers', 'scipy', 'plotly', 'pandas',"
        " 'tokenizers', 'networkx', 'huggingface_hub', 'streamlit', 'distributed')"
        " if m in sys.modules))"
    )
    arguments = ["depth", "--model", str(folder), "--k", "8", "--prompt", PROMPT]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    heavy = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("HAS")]
    assert heavy == [[], [], [], ["pandas"]]
    assert done.stdout.count("from the store") == 3
    assert '"stored": true' in done.stdout


@pytest.mark.full
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk always full")
def test_the_module_is_the_same_command_line_and_an_output_that_is_full_is_status_1(tmp_path):
    command = [sys.executable, "-m", "coupling_core", "models", "--json"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path
        )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: ")
    assert "No space left on device" in done.stderr


# ---- many prompts


def test_an_aggregate_has_mean_median_and_interval_over_prompts(depth, folder, tmp_path):
    listed = tmp_path / "prompts.txt"
    listed.write_text(f"{PROMPT}\n\n   \n{OTHER}\r\n")
    alone = printed(depth("--prompt", OTHER, "--json"))
    status, out, err = depth("--prompts", listed, "--json")
    assert status == 0
    assert err.startswith("warning: Found 2 prompts: no claim")
    said = json.loads(out)
    assert (said["n"], said["enough"], said["stored"]) == (2, False, False)
    assert [(p["line"], p["prompt"]) for p in said["prompts"]] == [(1, PROMPT), (4, OTHER)]
    assert [p["stored"] for p in said["prompts"]] == [False, True]
    assert said["key"][1] == alone["key"]
    found = [score_pairs(expected(folder, p), View(k=8)) for p in (PROMPT, OTHER)]
    assert depth("--prompts", listed, "--out", "r.npz")[0] == 0
    arrays = np.load(tmp_path / "r.npz", allow_pickle=False)
    printed_now = depth("--prompts", listed)[1]
    for name in ("coupling", "corrected"):
        each = np.array([getattr(one, name) for one in found])
        np.testing.assert_allclose(said[name], each.mean(0), atol=1e-6)
        np.testing.assert_allclose(arrays[name], each.mean(0), atol=1e-6)
        values = np.array([mean_off_diagonal(matrix) for matrix in each])
        np.testing.assert_allclose(arrays[f"prompt_{name}"], values, atol=1e-6)
        wanted, over = mean_interval(values), said["over_prompts"][name]
        for what in ("mean", "median", "low", "high"):
            assert over[what] == pytest.approx(getattr(wanted, what), abs=1e-6)
        assert f"{values.mean():.4g}" in printed_now
    np.testing.assert_allclose(arrays["corrected_of_each"], each, atol=1e-6)
    assert (list(arrays["line"]), list(arrays["prompt"])) == ([1, 4], [PROMPT, OTHER])


def test_enough_prompts_are_not_warned_about_but_repeated_ones_are(depth, tmp_path):
    path = tmp_path / "many.txt"
    path.write_text(f"{PROMPT}\n" * 40)
    status, out, err = depth("--prompts", path, "--json")
    assert (status, json.loads(out)["enough"]) == (0, True)
    assert err.count("warning:") == err.count("more than once") == 1


def test_prompts_that_fail_do_not_lose_the_others_unless_all_do(depth, tmp_path):
    path = tmp_path / "p.txt"
    path.write_text(f"{PROMPT}\n{'x ' * 65}\n{OTHER}\n")
    status, out, err = depth("--prompts", path, "--json")
    said = json.loads(out)
    assert (status, "error: line 2 is left out" in err) == (0, True)
    assert [p["line"] for p in said["prompts"]] == [1, 3]
    assert [f["line"] for f in said["failed"]] == [2]
    path.write_text(f"{'x ' * 65}\n{'y ' * 65}\n")
    assert refusal(depth("--prompts", path))


def test_prompts_come_from_standard_input_and_their_table_goes_to_output(depth, monkeypatch):
    def asked(*more):
        given = io.TextIOWrapper(io.BytesIO(f"{PROMPT}\n\n{OTHER}\n".encode()))
        monkeypatch.setattr(sys, "stdin", given)
        status, out, err = depth("--prompts", "-", *more)
        assert status == 0, err
        return out

    rows = csv.DictReader(io.StringIO(asked("--out", "-")))
    for found in (rows, json.loads(asked("--json"))["prompts"]):
        assert [(int(one["line"]), one["prompt"]) for one in found] == [(1, PROMPT), (3, OTHER)]


# ---- the store


@pytest.fixture
def stored():
    """The keys of two results in the store."""
    return [Store(gallery=Path("none")).put(random_result(seed=seed)).stem for seed in (1, 2)]


def test_runs_list_shows_what_is_stored_and_asked_for(run, stored, tmp_path):
    def keys(*words):
        return {entry["key"] for entry in printed(run("runs", "list", *words, "--json"))}

    out = run("runs", "list")[1]
    for key in stored:
        (line,) = [line for line in out.splitlines() if line.startswith(key)]
        assert "random" in line
        assert "The cat sat down" in line
    listed = {entry["key"]: entry for entry in printed(run("runs", "list", "--json"))}
    assert (listed[stored[0]]["k_max"], listed[stored[0]]["read_only"]) == (8, False)
    assert keys("--own") == keys("RANDOM", "depth", "the cat sat") == set(stored)
    assert keys("random", "no such words") == set()
    shipped = {entry.key for entry in Store().entries() if entry.read_only}
    assert keys("SmolLM2") & shipped
    assert not keys("SmolLM2", "--own") & shipped
    other = Store(tmp_path / "own")
    other.put(result := random_result(seed=3))
    assert result.key in keys("--store", other.root) - keys()


def test_runs_show_reads_by_the_first_letters_and_writes_what_it_shows(run, stored, tmp_path):
    view = ("--k", 5, "--definition", "page")
    said = printed(run("runs", "show", stored[0][:9], *view, "--out", "r.csv", "--json"))
    found = score_pairs(random_result(seed=1), View(k=5, definition="page"))
    assert (said["key"], said["stored"]) == (stored[0], True)
    np.testing.assert_allclose(said["coupling"], found.coupling, atol=1e-5)
    written = pd.read_csv(tmp_path / "r.csv").set_index(["block", "basis"])
    assert written.loc[(1, 2), "coupling"] == pytest.approx(found.coupling[0, 1], abs=1e-5)
    assert "K = 8" in run("runs", "show", stored[0])[1]


def test_a_file_of_a_result_is_shown_and_rechecked_as_a_stored_one(run, depth, folder):
    assert depth("--prompt", PROMPT, "--out", "own.safetensors")[0] == 0
    said = printed(run("runs", "show", "own.safetensors", "--k", 5, "--json"))
    wanted = score_pairs(expected(folder), View(k=5)).coupling
    np.testing.assert_allclose(said["coupling"], wanted, atol=1e-5)
    status, out, _ = run("runs", "recheck", "own.safetensors")
    assert (status, out.startswith("own.safetensors  unchanged")) == (0, True)


def test_every_shipped_kind_has_a_figure_to_show(run, tmp_path):
    kinds = {entry.request.kind: entry.key for entry in Store().entries() if entry.request}
    assert len(kinds) > 3
    for kind, key in kinds.items():
        status, _, err = run("runs", "show", key, "--out", f"{kind}.html")
        assert (status, (tmp_path / f"{kind}.html").exists()) == (0, True), (kind, err)


def test_runs_verify_finds_the_damaged_one(run, stored):
    status, out, _ = run("runs", "verify", *stored)
    assert (status, out.count("  sound")) == (0, 2)
    path = Store().root / f"{stored[0]}.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-5] + bytes([data[-5] ^ 1]) + data[-4:])
    status, out, err = run("runs", "verify")
    assert (status, err.startswith("error: 1 of ")) == (1, True)
    assert [f"{key}  sound" in out for key in stored] == [False, True]
    (found,) = printed(run("runs", "recheck", stored[0], "--json"), status=1)
    assert found["verdict"] == "unknown"


def test_runs_rm_removes_for_good_but_nothing_that_is_shipped(run, stored):
    status, out, _ = run("runs", "rm", stored[0][:12])
    assert (status, out) == (0, f"{stored[0]}  removed\n")
    assert [entry.key for entry in Store(gallery=Path("none")).entries()] == [stored[1]]
    (shipped, *_) = [entry.key for entry in Store().entries() if entry.read_only]
    assert refusal(run("runs", "rm", shipped))
    assert shipped in [entry.key for entry in Store().entries()]


# ---- models


def test_people_are_shown_the_models_that_json_has(run):
    for words, name in ((("models",), "model"), (("vision", "list"), "repo")):
        listed = printed(run(*words, "--json"))
        out = run(*words)[1]
        assert len(listed) > 5
        assert [one[name] for one in listed if one[name] not in out] == []


@pytest.fixture
def gguf_alias(monkeypatch, tmp_path):
    """An alias whose file can be put or left out."""
    from coupling_core.sources import aliases

    alias = aliases.Alias("Toy", "pip install toy", ("toy_package/toy.gguf",), "0" * 64)
    monkeypatch.setitem(aliases.ALIASES, "toy", alias)
    monkeypatch.setattr(aliases, "_inside", lambda _: tmp_path / "toy.gguf")
    return tmp_path


def test_models_shows_what_state_an_alias_is_in(run, gguf_alias):
    def state():
        (found,) = [entry for entry in printed(run("models", "--json")) if entry["model"] == "toy"]
        return found["state"], found["remedy"]

    assert state() == ("not installed", "pip install toy")
    (gguf_alias / "toy.gguf").write_bytes(b"GGUF")
    assert state()[0] == "not converted"
    assert "coupling models --prepare toy" in state()[1]
    converted = gguf_alias / "home" / "models" / ("0" * 32)
    converted.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (converted / name).write_text("{}")
    assert state()[0] == "not converted"  # not to its end
    seal(converted)
    assert state() == ("ready", "")


def test_models_lists_the_hub_cache(run, folder, tmp_path, monkeypatch):
    client(monkeypatch, tmp_path)
    lay_out(tmp_path / "hub", {"main": folder})
    (found,) = [one for one in printed(run("models", "--json")) if one["model"] == REPO]
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert (found["state"], found["size"]) == ("in the hub cache", size + 40)  # and a commit


def test_preparing_converts_once_and_only_what_needs_it(run, folder, gguf_alias, monkeypatch):
    asked = []
    (gguf_alias / "toy.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(
        "coupling_core.engine.loading.convert.convert", lambda source, _: asked.append(source)
    )
    assert run("models", "--prepare", folder)[0] == 0
    assert asked == []
    assert run("models", "--prepare", "toy")[0] == 0
    assert [source.name for source in asked] == ["Toy"]


def test_a_model_is_probed(run, folder):
    found = printed(run("models", "--probe", folder, "--json"))
    assert (found["blocks"], found["width"], found["causal"]) == (4, 32, True)
    parameters = sum(p.numel() for p in tiny.model("llama").parameters())
    assert f"{parameters:,}" in run("models", "--probe", folder)[1]
