"""The command line, through real measurements of a tiny model in a folder."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny
from cases import WHOSE, random_result

from coupling_core import Request, Store, View, measure, score_pairs
from coupling_core.analysis.scores import mean_interval, mean_off_diagonal
from coupling_core.sources.file_hashes import seal
from coupling_core.store.archive import load

PROMPT = "The cat sat on the mat"
OTHER = "the dog lay down"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.folder(tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture
def depth(run, folder):
    """`depth` on the tiny model at K = 8."""
    return lambda *args: run("depth", "--model", folder, "--k", 8, *args)


def expected(folder, prompt=PROMPT, **changes):
    """The same measurement through Python."""
    return measure(Request(prompt, model=str(folder), k=8, **changes))


def printed(answer):
    """JSON that a command printed."""
    status, out, err = answer
    assert status == 0, err
    return json.loads(out)


def complaint(answer, status=2):
    """The one line that a failed command says."""
    left, out, err = answer
    assert left == status
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


# ---- one prompt


def test_json_has_the_numbers_of_the_same_measurement_in_python(depth, folder):
    said = printed(depth("--prompt", PROMPT, "--definition", "page", "--role", "B", "--json"))
    result = expected(folder)
    found = score_pairs(result, View(k=8, definition="page", role="B"))
    assert np.array(said["coupling"]) == pytest.approx(found.coupling, abs=1e-6)
    assert np.array(said["chance"]) == pytest.approx(found.chance, abs=1e-6)
    assert np.array(said["corrected"]) == pytest.approx(found.corrected, abs=1e-6)
    assert said["mean"]["corrected"] == pytest.approx(mean_off_diagonal(found.corrected), abs=1e-6)
    assert said["mean"]["coupling"] == pytest.approx(mean_off_diagonal(found.coupling), abs=1e-6)
    assert said["blocks"] == [1, 2, 3, 4]
    assert said["token"] == len(said["tokens"]) == len(result.tokens)
    assert said["model"] == "tiny-llama"
    assert said["certified"] == [True] * 4
    assert len(said["next_tokens"]) == 5
    assert said["seconds"] > 0
    assert said["load_seconds"] > 0
    assert (said["k"], said["definition"], said["role"], said["p"]) == (8, "page", "B", 1.0)


def test_the_second_time_it_comes_from_the_store_under_the_same_key(depth):
    first, second = (printed(depth("--prompt", PROMPT, "--json")) for _ in range(2))
    assert (first["stored"], second["stored"]) == (False, True)
    assert first["key"] == second["key"]
    assert first["coupling"] == second["coupling"]


def test_views_of_a_stored_result_never_compute(depth, monkeypatch):
    depth("--prompt", PROMPT)
    monkeypatch.setattr(sys.modules["coupling_core.measuring.measure"], "_compute", None)
    view = ("--k", 3, "--definition", "alignment", "--role", "B", "--blocks", "2,4")
    assert printed(depth("--prompt", PROMPT, *view, "--json"))["stored"] is True


def test_what_does_not_exist_is_null_in_json_and_empty_in_csv(depth, tmp_path):
    said = printed(depth("--prompt", PROMPT, "--blocks", "2", "--json"))
    assert said["mean"] == {"coupling": None, "chance": None, "corrected": None}
    options = ("--k", 1, "--definition", "preprint", "--out", "r.csv")
    depth("--prompt", PROMPT, *options)
    rows = list(csv.DictReader((tmp_path / "r.csv").open()))
    assert {row["corrected"] for row in rows} == {""}


def test_a_stored_answer_needs_no_heavy_library_but_what_writes_tables(depth, folder, tmp_path):
    depth("--prompt", PROMPT)
    code = (
        "import sys; from coupling_core.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('torch', 'transformers', 'scipy', 'plotly', 'pandas', 'tokenizers',"
        " 'networkx', 'huggingface_hub', 'streamlit') if m in sys.modules])"
    )
    arguments = ["depth", "--model", str(folder), "--k", "8", "--prompt", PROMPT]
    asked = {"": [], "--json": [], "--out r.npz": [], "--out r.csv": ["pandas"]}
    for more, heavy in asked.items():
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments, *more.split()],
            capture_output=True, text=True, check=True, cwd=tmp_path, env=os.environ,
        )  # fmt: skip
        assert "from the store" in done.stdout or '"stored": true' in done.stdout
        assert done.stdout.splitlines()[-1] == str(heavy)


def test_the_module_is_the_same_command_line(folder, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "coupling_core", "depth", "--prompt", " ", "--model", str(folder)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: the prompt is empty")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk always full")
@pytest.mark.parametrize(("told", "policy"), [(None, "passive"), ("active", "active")])
def test_threads_do_not_spin_unless_that_is_told(monkeypatch, told, policy):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if told:
        monkeypatch.setenv("OMP_WAIT_POLICY", told)
    code = (
        "import os, sys; from coupling_core.cli import main; sys.argv = ['coupling', '--help']\n"
        "try: main()\nexcept SystemExit: print(os.environ['OMP_WAIT_POLICY'], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == [policy]


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["table", "JSON"])
def test_an_output_that_is_full_is_told_with_what_may_help(more, tmp_path):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "coupling_core", "models", *more],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "error: the output cannot be printed (No space left on device): make room where it goes, "
        "or send it to another place\n"
    )


def test_the_table_has_the_scores_the_blocks_and_the_key(depth, folder):
    status, out, err = depth("--prompt", PROMPT, "--blocks", "2-4:2")
    result = expected(folder)
    found = score_pairs(result, View(k=8, blocks=(2, 4)))
    assert (status, err) == (0, "")
    assert "tiny-llama" in out
    assert f"chance-corrected {mean_off_diagonal(found.corrected):.4f}" in out
    assert f"c {mean_off_diagonal(found.coupling):.4f}" in out
    assert "paper, Eq. 9, p = 1, K = 8, final norm included" in out
    assert "4 of 4 certified" in out
    assert Store().key(result.request, result.identity) in out
    rows = [line.split() for line in out.splitlines()]
    (row,) = [row for row in rows if row[:1] == ["2"]]
    s = result.singular_values[1]
    assert row[1:4] == [f"{s[0]:.3g}", f"{s[7]:.3g}", f"{s[7] / s[8]:.4f}"]
    assert row[4:] == [
        f"{x:.3f}"
        for x in (
            found.coupling[0, 1],
            found.chance[0, 0],
            found.corrected[0, 1],
            found.corrected[1, 0],
        )
    ]
    assert not [row for row in rows if row[:1] in (["1"], ["3"])]


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        (["--token", 2], {"token": 2}),
        (["--final-norm", "exclude"], {"final_norm": "exclude"}),
        (["--untrained", 5], {"untrained": 5}),
    ],
)
def test_what_is_measured_follows_the_options(depth, folder, options, changes):
    said = printed(depth("--prompt", PROMPT, *options, "--json"))
    found = score_pairs(expected(folder, **changes), View(k=8))
    plain = score_pairs(expected(folder), View(k=8))
    assert np.array(said["coupling"]) == pytest.approx(found.coupling, abs=1e-6)
    assert np.array(said["coupling"]) != pytest.approx(plain.coupling, abs=1e-4)
    name, value = next(iter(changes.items()))
    assert said["request"][name] == value


def test_the_store_is_where_it_is_asked_to_be(depth, tmp_path):
    key = printed(depth("--prompt", PROMPT, "--store", tmp_path / "mine" / "here", "--json"))["key"]
    assert (tmp_path / "mine" / "here" / f"{key}.safetensors").is_file()
    assert not Store().root.exists()


def test_prompts_that_look_like_markup_are_printed_as_they_are(depth):
    _, out, _ = depth("--prompt", "[bold]cat[/bold] :cat:")
    assert "[bold]cat[/bold] :cat:" in out


# ---- files


def test_the_plain_way_is_measured_again_gives_the_same_and_says_so(depth):
    by_the_fast_way = printed(depth("--prompt", PROMPT, "--json"))
    plainly = printed(depth("--prompt", PROMPT, "--json", "--plain"))
    again = printed(depth("--prompt", PROMPT, "--json", "--plain"))
    assert "a branch forwards" in by_the_fast_way["provenance"]["ways"]
    assert list(plainly["provenance"]["ways"]) == ["the whole sequence (as asked)"]
    assert [found["stored"] for found in (by_the_fast_way, plainly, again)] == [False, False, True]
    np.testing.assert_allclose(plainly["coupling"], by_the_fast_way["coupling"], atol=1e-5)


def test_the_report_says_how_the_jacobians_were_had(depth):
    _, fast, _ = depth("--prompt", PROMPT)
    _, plain, _ = depth("--prompt", PROMPT, "--plain")
    assert "Jacobians   one token over a cache: all blocks\n" in fast
    assert "Jacobians   the whole sequence (as asked): all blocks\n" in plain
    assert "no fast way was tried, since that was asked for" in plain


def test_npz_holds_the_arrays_that_the_design_names(depth, folder, tmp_path):
    options = ("--k", 6, "--role", "A", "--blocks", "1,3", "--out", "r.npz")
    status, out, _ = depth("--prompt", PROMPT, *options)
    assert status == 0
    assert "r.npz" in out
    arrays = dict(np.load(tmp_path / "r.npz", allow_pickle=False))
    result = measure(Request(PROMPT, model=str(folder), k=6))
    found = score_pairs(result, View(k=6, blocks=(1, 3)))
    assert set(arrays) == {
        "singular_values", "A", "coupling", "chance", "corrected", "blocks", "tokens",
        "token_ids", "certified",
    }  # fmt: skip
    assert arrays["singular_values"] == pytest.approx(result.singular_values[[0, 2], :6], rel=1e-5)
    assert arrays["A"].shape == (2, 2, 6, 6)
    assert arrays["A"][1, 0] == pytest.approx(result.matrix(3, 1)[:6, :6], abs=1e-3)
    assert np.diag(arrays["A"][0, 0]) == pytest.approx(result.singular_values[0, :6], rel=1e-3)
    assert arrays["coupling"] == pytest.approx(found.coupling, abs=1e-6)
    assert arrays["chance"] == pytest.approx(found.chance, abs=1e-6)
    assert arrays["corrected"] == pytest.approx(found.corrected, abs=1e-6)
    assert list(arrays["blocks"]) == [1, 3]
    assert tuple(arrays["tokens"]) == result.tokens
    assert list(arrays["token_ids"]) == list(result.token_ids)
    assert list(arrays["certified"]) == [True, True]


def test_npz_of_role_b_holds_b_and_k_view_bounds_its_side(depth, folder, tmp_path):
    depth("--prompt", PROMPT)  # stores more than is asked for next
    depth("--prompt", PROMPT, "--role", "B", "--k-view", 3, "--out", "r.npz")
    arrays = np.load(tmp_path / "r.npz")
    assert "A" not in arrays
    assert arrays["B"].shape == (4, 4, 3, 3)
    assert arrays["B"][1, 2] == pytest.approx(expected(folder).matrix(2, 3, "B")[:3, :3], abs=1e-3)


def test_csv_is_the_score_table(depth, folder, tmp_path):
    depth("--prompt", PROMPT, "--out", "r.csv")
    rows = list(csv.DictReader((tmp_path / "r.csv").open()))
    found = score_pairs(expected(folder), View(k=8))
    assert list(rows[0]) == ["block", "basis", "coupling", "chance", "corrected", *WHOSE]
    assert (rows[0]["model"], rows[0]["prompt"], rows[0]["K"]) == ("tiny-llama", PROMPT, "8")
    assert len(rows) == 16
    (row,) = [row for row in rows if (row["block"], row["basis"]) == ("2", "4")]
    assert float(row["coupling"]) == pytest.approx(found.coupling[1, 3], abs=1e-6)
    assert float(row["chance"]) == pytest.approx(found.chance[1, 3], abs=1e-6)
    assert float(row["corrected"]) == pytest.approx(found.corrected[1, 3], abs=1e-6)


def test_safetensors_is_the_stored_form(depth, tmp_path):
    said = printed(depth("--prompt", PROMPT, "--out", "r.safetensors", "--json"))
    assert load(tmp_path / "r.safetensors").key == said["key"]


@pytest.mark.parametrize(
    ("figure", "options", "words"),
    [
        ("mosaic", [], "Mosaic of 4 by 4 matrices"),
        ("scores", [], "Heatmap of the chance-corrected score"),
        ("scores", ["--raw"], "Heatmap of the score c"),
        ("spectrum", [], "Singular values of the Jacobians of 4 blocks"),
        ("k", [], "Mean score over l ≠ l"),
    ],
)
def test_html_is_the_figure_asked_for(depth, tmp_path, figure, options, words):
    assert depth("--prompt", PROMPT, "--figure", figure, "--out", "r.html", *options)[0] == 0
    assert f'aria-label="{words}' in (tmp_path / "r.html").read_text()


def test_svg_is_drawn(depth, tmp_path):
    assert depth("--prompt", PROMPT, "--figure", "spectrum", "--out", "r.svg")[0] == 0
    assert "<svg" in (tmp_path / "r.svg").read_text()[:100]


def test_without_a_chromium_matplotlib_draws_and_says_so(depth, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    status, _, _ = depth("--prompt", PROMPT, "--out", "r.pdf")
    assert (status, (tmp_path / "r.pdf").read_bytes()[:4]) == (0, b"%PDF")
    assert "matplotlib draws this .pdf" in caplog.text


def test_where_nothing_draws_one_line_says_so_and_the_result_is_kept(depth, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "Chromium" in complaint(depth("--prompt", PROMPT, "--out", "r.svg"), status=1)
    assert len(Store(gallery=Path("none")).entries()) == 1


# ---- wrong input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--prompts FILE: none came"),
        (["--prompt", "x", "--prompts", "f.txt"], "several came"),
        (["--prompt", ""], "the prompt is empty"),
        (["--prompt", "x " * 65], "takes at most 64"),
        (["--prompt", "x", "--token", "0"], "token 0 does not exist"),
        (["--prompt", "x", "--token", "9"], "token 9 is out of range"),
        (["--prompt", "x", "--k", "0"], "K must be at least 1"),
        (["--prompt", "x", "--k", "33"], "K must lie in 1..32 (the model's width)"),
        (["--prompt", "x", "--k-view", "51"], "k-view must lie in 1..50"),
        (["--prompt", "x", "--p", "0.5"], "the order p"),
        (["--prompt", "x", "--p", "2", "--definition", "page"], "'page' has none: leave it out"),
        (["--prompt", "x", "--blocks", "3-5"], "this model has blocks 1..4"),
        (["--prompt", "x", "--blocks", "a-b"], "cannot be read"),
        (["--prompt", "x", "--model", "nobody"], "model 'nobody' is unknown"),
        (["--prompt", "x", "--model", "."], "no config.json"),
        (["--prompt", "x", "--revision", "main"], "only a hub id has revisions"),
        (["--prompt", "x", "--untrained", "-1"], "the seed"),
        (["--prompt", "x", "--device", "abacus"], "device 'abacus' is unknown"),
        (["--prompt", "x", "--out", "r.gif"], "--out ends in .npz"),
        (["--prompt", "x", "--out", "none/r.npz"], "there is no folder none"),
        (["--prompt", "x", "--definition", "mine"], "'mine' is not one of 'paper'"),
        (["--prompt", "x", "--role", "C"], "'C' is not one of 'A', 'B'"),
        (["--prompt", "x", "--figure", "pie"], "'pie' is not one of 'mosaic'"),
        (["--prompt", "x", "--k", "many"], "'--k': expected a whole number, and 'many' came"),
        (["--prompt", "x", "--k", "1.5"], "'--k': expected a whole number, and '1.5' came"),
        (["--prompt", "x", "--p", "two"], "'--p': expected a number, and 'two' came"),
        (["--prompt"], "--prompt"),
        (["--colour", "red"], "--colour"),
        (["--prompts", "none.txt"], "none.txt cannot be read"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(depth, options, words):
    assert words in complaint(depth(*options))


def test_a_file_that_is_no_gguf_is_refused(run, tmp_path):
    (tmp_path / "fake.gguf").write_bytes(b"not this")
    said = complaint(run("depth", "--prompt", "x", "--model", "fake.gguf"))
    assert "is no GGUF file" in said


def test_blocks_that_a_stored_result_lacks_are_refused(depth):
    depth("--prompt", PROMPT)
    assert "this model has blocks 1..4" in complaint(depth("--prompt", PROMPT, "--blocks", "5"))


@pytest.mark.parametrize("closed", ["--out", "--store"])
def test_what_cannot_be_written_is_refused_before_computing(depth, monkeypatch, closed):
    monkeypatch.setattr("coupling_core.engine.loading.load", None)
    target = {"--out": "/proc/r.npz", "--store": "/proc/store"}[closed]
    assert "cannot be written" in complaint(depth("--prompt", PROMPT, closed, target))


@pytest.mark.parametrize("blocks", ["3-5", "a-b"])
def test_blocks_that_the_model_lacks_stop_it_at_its_first_block(depth, blocks):
    complaint(depth("--prompt", PROMPT, "--blocks", blocks))
    assert Store(gallery=Path("none")).entries() == []


def test_an_output_that_is_a_folder_is_refused(depth, tmp_path):
    (tmp_path / "r.npz").mkdir()
    assert "is a folder" in complaint(depth("--prompt", PROMPT, "--out", "r.npz"))


@pytest.mark.parametrize("args", [[], ["nonsense"], ["runs"], ["runs", "nonsense"]])
def test_a_wrong_command_is_told(run, args):
    status, _, err = run(*args)
    assert status == 2
    assert err.startswith("error: ")
    assert "command" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory")])
def test_memory_that_runs_out_is_status_1(depth, monkeypatch, error):
    def too_much(*_):
        raise error

    monkeypatch.setattr("coupling_core.engine.jacobians.derivative_check.block_jacobian", too_much)
    assert "memory ran out" in complaint(depth("--prompt", PROMPT), status=1)


def test_memory_that_runs_out_in_drawing_is_status_1(depth, monkeypatch):
    def too_much(*_, **__):
        raise MemoryError

    monkeypatch.setattr("coupling_core.figures.render", too_much)
    assert "memory ran out" in complaint(depth("--prompt", PROMPT, "--out", "r.html"), status=1)


def test_help_names_every_option(run):
    status, out, _ = run("depth", "--help")
    assert status == 0
    for option in (
        "--model", "--prompt", "--prompts", "--token", "--blocks", "--k", "--k-view",
        "--definition", "--p", "--role", "--corrected", "--final-norm", "--revision",
        "--untrained", "--device", "--out", "--figure", "--json", "--store",
    ):  # fmt: skip
        assert option in out


# ---- many prompts


@pytest.fixture
def listed(tmp_path):
    path = tmp_path / "prompts.txt"
    path.write_text(f"{PROMPT}\n\n   \n{OTHER}\r\n")
    return path


def means(folder, prompt):
    found = score_pairs(expected(folder, prompt), View(k=8))
    return mean_off_diagonal(found.coupling), mean_off_diagonal(found.corrected)


def test_an_aggregate_has_mean_median_and_interval_over_prompts(depth, listed, folder):
    status, out, err = depth("--prompts", listed, "--json")
    assert status == 0
    assert "2 prompts are fewer than 40" in err
    assert err.startswith("warning: ")
    said = json.loads(out)
    per_prompt = np.array([means(folder, p) for p in (PROMPT, OTHER)])
    for name, values in zip(("coupling", "corrected"), per_prompt.T, strict=True):
        wanted = mean_interval(values)
        over = said["over_prompts"][name]
        assert over["mean"] == pytest.approx(values.mean(), abs=1e-6)
        assert over["median"] == pytest.approx(wanted.median, abs=1e-6)
        assert (over["low"], over["high"]) == pytest.approx((wanted.low, wanted.high), abs=1e-6)
    assert (said["n"], said["enough"], said["stored"]) == (2, False, False)
    assert [p["line"] for p in said["prompts"]] == [1, 4]
    assert [p["prompt"] for p in said["prompts"]] == [PROMPT, OTHER]
    matrices = [score_pairs(expected(folder, p), View(k=8)).coupling for p in (PROMPT, OTHER)]
    assert np.array(said["coupling"]) == pytest.approx(np.mean(matrices, axis=0), abs=1e-6)


def test_an_aggregate_reads_what_is_stored(depth, listed):
    alone = printed(depth("--prompt", OTHER, "--json"))
    said = printed(depth("--prompts", listed, "--json"))
    assert [p["stored"] for p in said["prompts"]] == [False, True]
    assert said["key"][1] == alone["key"]
    again = printed(depth("--prompts", listed, "--json"))
    assert (again["stored"], again["seconds"]) == (True, 0)


def test_an_aggregate_is_read_by_people_too(depth, listed, folder):
    _, out, _ = depth("--prompts", listed)
    raw, corrected = np.mean([means(folder, p) for p in (PROMPT, OTHER)], axis=0)
    assert "2 measured, 0 of them from the store" in out
    assert f"c {raw:24.4f}" in out
    assert f"chance-corrected  {corrected:8.4f}" in out


def test_enough_prompts_are_not_warned_about(depth, tmp_path):
    path = tmp_path / "many.txt"
    path.write_text(f"{PROMPT}\n" * 40)
    status, out, err = depth("--prompts", path, "--json")
    assert status == 0
    assert "fewer than" not in err
    assert err.count("warning:") == err.count("comes more than once") == 1
    assert json.loads(out)["enough"] is True


def test_jsonl_prompts_keep_their_newlines(depth, tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"prompt": "The cat\nsat"}) + "\n" + json.dumps({"prompt": OTHER}))
    said = printed(depth("--prompts", path, "--json"))
    assert [p["prompt"] for p in said["prompts"]] == ["The cat\nsat", OTHER]


def test_csv_prompts_are_read_by_their_column(depth, tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(f'category,prompt\nx,"The cat\nsat"\ny,{OTHER}\n')
    said = printed(depth("--prompts", path, "--json"))
    assert [p["prompt"] for p in said["prompts"]] == ["The cat\nsat", OTHER]
    assert [p["line"] for p in said["prompts"]] == [2, 4]


@pytest.mark.parametrize("line", ["no json", '{"text": "x"}', '["x"]', '{"prompt": 3}'])
def test_a_line_that_is_no_prompt_is_named(depth, tmp_path, line):
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"prompt": "x"}}\n{line}\n')
    assert "line 2: expected JSON" in complaint(depth("--prompts", path))


def test_a_file_without_prompts_is_refused(depth, tmp_path):
    path = tmp_path / "p.txt"
    path.write_text("\n \n")
    assert "has no prompt" in complaint(depth("--prompts", path))


def test_a_file_that_is_no_text_is_refused(depth, tmp_path):
    path = tmp_path / "p.txt"
    path.write_bytes(b"\xff\xfe\x00")
    assert "cannot be read as text" in complaint(depth("--prompts", path))


def test_one_prompt_that_fails_does_not_lose_the_others(depth, tmp_path, folder):
    path = tmp_path / "p.txt"
    path.write_text(f"{PROMPT}\n{'x ' * 65}\n{OTHER}\n")
    status, out, err = depth("--prompts", path, "--json")
    said = json.loads(out)
    assert status == 0
    assert "error: line 2 is left out: the prompt has" in err
    assert [p["line"] for p in said["prompts"]] == [1, 3]
    assert [f["line"] for f in said["failed"]] == [2]
    assert said["n"] == 2


def test_prompts_that_all_fail_are_an_error(depth, tmp_path):
    path = tmp_path / "p.txt"
    path.write_text(f"{'x ' * 65}\n{'y ' * 65}\n")
    status, out, err = depth("--prompts", path)
    assert (status, out) == (2, "")
    assert [line.split(":")[0] for line in err.splitlines()] == ["error"]
    assert err.startswith("error: the prompt has ")


def test_a_model_out_of_reach_is_told_once(run, listed):
    said = complaint(run("depth", "--prompts", listed, "--model", "nobody"))
    assert "model 'nobody' is unknown" in said


def test_an_aggregate_as_csv_has_a_row_a_prompt(depth, listed, tmp_path, folder):
    assert depth("--prompts", listed, "--out", "r.csv")[0] == 0
    rows = list(csv.DictReader((tmp_path / "r.csv").open()))
    assert [(row["line"], row["prompt"]) for row in rows] == [("1", PROMPT), ("4", OTHER)]
    raw, corrected = means(folder, OTHER)
    assert float(rows[1]["coupling"]) == pytest.approx(raw, abs=1e-6)
    assert float(rows[1]["corrected"]) == pytest.approx(corrected, abs=1e-6)


def test_an_aggregate_as_npz_has_mean_matrices(depth, listed, tmp_path, folder):
    assert depth("--prompts", listed, "--out", "r.npz")[0] == 0
    arrays = np.load(tmp_path / "r.npz", allow_pickle=False)
    found = [score_pairs(expected(folder, p), View(k=8)) for p in (PROMPT, OTHER)]
    for name in ("coupling", "chance", "corrected"):
        wanted = np.mean([getattr(one, name) for one in found], axis=0)
        assert arrays[name] == pytest.approx(wanted, abs=1e-6)
    assert arrays["prompt_coupling"] == pytest.approx(
        [mean_off_diagonal(one.coupling) for one in found], abs=1e-6
    )
    assert list(arrays["line"]) == [1, 4]
    assert list(arrays["prompt"]) == [PROMPT, OTHER]
    assert arrays["corrected_of_each"] == pytest.approx(
        np.array([one.corrected for one in found]), abs=1e-6, nan_ok=True
    )
    assert list(arrays["blocks"]) == [1, 2, 3, 4]


# ---- the store


@pytest.fixture
def stored():
    """Two results in the store, and their keys."""
    store = Store(gallery=Path("none"))
    results = [random_result(seed=seed) for seed in (1, 2)]
    for result in results:
        store.put(result)
    return [result.key for result in results]


def test_runs_ls_lists_what_is_stored(run, stored):
    status, out, _ = run("runs", "ls")
    assert status == 0
    for key in stored:
        (line,) = [line for line in out.splitlines() if line.startswith(key)]
        assert "random" in line
        assert "The cat sat down" in line
    listed = {entry["key"]: entry for entry in printed(run("runs", "ls", "--json"))}
    assert set(stored) <= set(listed)
    assert listed[stored[0]]["k_max"] == 8
    assert listed[stored[0]]["read_only"] is False


def test_runs_show_reads_by_the_first_letters(run, stored):
    said = printed(run("runs", "show", stored[0][:9], "--k", 5, "--definition", "page", "--json"))
    found = score_pairs(random_result(seed=1), View(k=5, definition="page"))
    assert said["key"] == stored[0]
    assert said["stored"] is True
    assert np.array(said["coupling"]) == pytest.approx(found.coupling, abs=1e-5)
    _, out, _ = run("runs", "show", stored[0])
    assert "K = 8" in out
    assert "from the store, computed in 1.5 s after 0.5 s of loading" in out


def test_runs_ls_leaves_out_what_is_not_asked_for(run, stored):
    def keys(*words):
        return [entry["key"] for entry in printed(run("runs", "list", *words, "--json"))]

    assert sorted(keys("--own")) == sorted(stored)
    assert set(keys("RANDOM", "depth", "the cat sat")) == set(stored)
    assert keys("random", "no such words") == []
    shipped = [entry.key for entry in Store().entries() if entry.read_only]
    assert set(keys("SmolLM2")) & set(shipped)
    assert not set(keys("SmolLM2", "--own")) & set(shipped)


def test_runs_show_writes_what_it_shows(run, stored, tmp_path):
    table, page = tmp_path / "scores.csv", tmp_path / "map.html"
    status, out, _ = run("runs", "show", stored[0], "--k", 5, "--out", table)
    assert (status, f"written     {table}" in out) == (0, True)
    found = score_pairs(random_result(seed=1), View(k=5))
    written = pd.read_csv(table, comment="#").set_index(["block", "basis"])
    assert written.loc[(1, 2), "coupling"] == pytest.approx(found.coupling[0, 1], abs=1e-5)
    assert run("runs", "show", stored[0], "--out", page)[0] == 0
    assert "plotly" in page.read_text().lower()
    assert "ends in" in complaint(run("runs", "show", stored[0], "--out", tmp_path / "map.doc"))


def test_a_file_of_a_result_is_shown_and_rechecked_as_a_stored_one(run, folder, tmp_path):
    asked = ("depth", "--model", folder, "--prompt", PROMPT, "--k", 8)
    assert run(*asked, "--out", "own.safetensors")[0] == 0
    said = printed(run("runs", "show", "own.safetensors", "--k", 5, "--json"))
    assert np.array(said["coupling"]) == pytest.approx(
        score_pairs(expected(folder), View(k=5)).coupling, abs=1e-5
    )
    status, out, _ = run("runs", "recheck", "own.safetensors")
    assert (status, out) == (0, "own.safetensors  unchanged to the bit\n")
    assert "no.safetensors" in run("runs", "recheck", "no.safetensors")[2]


def test_every_shipped_kind_has_a_figure_to_show(run, tmp_path):
    kinds = {entry.request.kind: entry.key for entry in Store().entries() if entry.request}
    assert len(kinds) > 3
    for kind, key in kinds.items():
        out = tmp_path / f"{kind}.html"
        status, _, err = run("runs", "show", key, "--out", out)
        assert (status, out.exists()) == (0, True), (kind, err)


def test_a_text_without_its_option_is_told_of(run):
    said = complaint(run("depth", "The cat"))
    assert said.endswith('a text comes after --prompt: coupling depth --prompt "The cat sat"\n')
    assert "--prompt" not in complaint(run("doctor", "The cat"))


def test_a_key_must_be_known(run, stored):
    assert "there is no stored result 'zzz'" in complaint(run("runs", "show", "zzz"))
    assert "there is no stored result ''" in complaint(run("runs", "show", ""))


def test_runs_verify_finds_the_damaged_one(run, stored):
    status, out, _ = run("runs", "verify", *stored)
    assert (status, out.count("  sound")) == (0, 2)
    path = Store().root / f"{stored[0]}.safetensors"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    status, out, err = run("runs", "verify")
    assert status == 1
    assert f"{stored[1]}  sound" in out
    assert f"{stored[0]}  sound" not in out
    assert err.startswith("error: 1 of ")


def test_runs_rm_removes_for_good(run, stored):
    status, out, _ = run("runs", "rm", stored[0][:12])
    assert (status, out) == (0, f"{stored[0]}  removed\n")
    keys = [entry["key"] for entry in printed(run("runs", "ls", "--json"))]
    assert stored[0] not in keys
    assert stored[1] in keys


def test_the_gallery_cannot_be_removed(run):
    (shipped, *_) = [entry.key for entry in Store().entries() if entry.read_only]
    assert "only read from here" in complaint(run("runs", "rm", shipped))


def test_a_store_of_ones_own_is_listed(run, tmp_path):
    store = Store(tmp_path / "own")
    store.put(result := random_result(seed=3))
    assert result.key in run("runs", "ls", "--store", tmp_path / "own")[1]
    assert result.key not in run("runs", "ls")[1]


# ---- models


@pytest.fixture
def gguf_alias(monkeypatch, tmp_path):
    """An alias whose file can be put or left out."""
    from coupling_core.sources import identity

    alias = identity.Alias("Toy", "toy_package", "pip install toy", "toy.gguf", "0" * 64)
    monkeypatch.setitem(identity.ALIASES, "toy", alias)
    monkeypatch.setattr(identity, "_alias_path", lambda _: tmp_path / "toy.gguf")
    return tmp_path


def state_of(answer, model):
    (found,) = [entry for entry in printed(answer) if entry["model"] == model]
    return found["state"], found["remedy"]


def test_models_says_what_state_an_alias_is_in(run, gguf_alias):
    assert state_of(run("models", "--json"), "toy") == ("not installed", "pip install toy")
    (gguf_alias / "toy.gguf").write_bytes(b"GGUF")
    state, remedy = state_of(run("models", "--json"), "toy")
    assert state == "not converted"
    assert "coupling models --prepare toy" in remedy
    converted = gguf_alias / "home" / "models" / ("0" * 32)
    converted.mkdir(parents=True)
    (converted / "config.json").write_text("{}")
    (converted / "model.safetensors").write_bytes(b"weights")
    assert state_of(run("models", "--json"), "toy")[0] == "not converted"  # not to its end
    seal(converted)
    assert state_of(run("models", "--json"), "toy") == ("ready", "")
    assert "toy" in run("models")[1]


def test_models_lists_the_hub_cache(tmp_path):
    repository = tmp_path / "hub" / "models--someone--something"
    snapshot = repository / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "blobs" / "b").write_bytes(b"x" * 2_000_000)
    (snapshot / "config.json").symlink_to(repository / "blobs" / "b")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("a" * 40)
    done = subprocess.run(
        [sys.executable, "-m", "coupling_core", "models", "--json"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
        env=os.environ | {"HF_HUB_CACHE": str(tmp_path / "hub")},
    )  # fmt: skip
    (found,) = [m for m in json.loads(done.stdout) if m["model"] == "someone/something"]
    assert (found["state"], found["size"]) == ("in the hub cache", 2_000_000)


def test_a_folder_needs_no_preparing(run, folder):
    status, out, _ = run("models", "--prepare", folder)
    assert (status, out) == (0, "tiny-llama needs no conversion\n")


def test_preparing_converts_once(run, gguf_alias, monkeypatch):
    asked = []
    (gguf_alias / "toy.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr("coupling_core.engine.loading.convert.convert", asked.append)
    status, out, err = run("models", "--prepare", "toy")
    assert status == 0
    assert [source.name for source in asked] == ["Toy"]
    assert "Toy is ready in" in out
    assert "converting Toy" in err


def test_preparing_an_unknown_model_is_told(run):
    assert "model 'nobody' is unknown" in complaint(run("models", "--prepare", "nobody"))


def test_a_model_is_probed(run, folder):
    status, out, _ = run("models", "--probe", folder)
    assert status == 0
    facts = dict(line.split("  ", 1) for line in out.splitlines()[1:])
    assert {name: text.strip() for name, text in facts.items()} == {
        "architecture": "LlamaForCausalLM",
        "parameters": f"{sum(p.numel() for p in tiny.model('llama').parameters()):,}",
        "stored as": "float32",
        "blocks": "4",
        "width d": "32",
        "heads": "4",
        "attention": "causal",
        "longest prompt": "64 tokens",
    }
    found = json.loads(run("models", "--probe", folder, "--json")[1])
    assert (found["blocks"], found["width"], found["causal"]) == (4, 32, True)


def test_a_probe_that_fails_is_told_in_one_line(run, folder, tmp_path):
    assert "has no config.json" in complaint(run("models", "--probe", tmp_path))
    revision = run("models", "--probe", folder, "--revision", "main")
    assert "only a hub id has revisions" in complaint(revision)
    assert "--revision goes with --probe" in complaint(run("models", "--revision", "main"))


# ---- files of other forms, and standard output


def test_parquet_and_netcdf_have_the_numbers_of_csv_and_npz(depth, tmp_path):
    import pandas as pd
    import xarray

    for name in ("r.csv", "r.parquet", "r.npz", "r.nc"):
        assert depth("--prompt", PROMPT, "--out", name)[0] == 0
    text, binary = pd.read_csv(tmp_path / "r.csv"), pd.read_parquet(tmp_path / "r.parquet")
    assert text.equals(binary)
    named, found = np.load(tmp_path / "r.npz"), xarray.load_dataset(tmp_path / "r.nc")
    assert found["corrected"].to_numpy().tobytes() == named["corrected"].tobytes()
    assert found["A"].dims == ("block", "basis", "u", "v")
    assert found.attrs["k"] == 8


@pytest.mark.parametrize("command", ["depth", "graph", "tokens", "trajectory"])
def test_standard_output_has_the_table_as_csv_and_nothing_else(run, folder, tmp_path, command):
    of_kind = [] if command == "trajectory" else ["--k", 8]
    of_pair = ["--block", 2] if command == "tokens" else []
    asked = (command, "--model", folder, "--prompt", PROMPT, *of_kind, *of_pair)
    assert run(*asked, "--out", "r.csv")[0] == 0
    status, out, _ = run(*asked, "--out", "-")
    assert status == 0
    assert out.splitlines() == (tmp_path / "r.csv").read_text().splitlines()


def test_standard_output_is_for_one_of_two(depth):
    assert "--out - and --json" in complaint(depth("--prompt", PROMPT, "--out", "-", "--json"))


def test_the_table_of_prompts_keeps_the_columns_of_their_file(depth, tmp_path):
    own = tmp_path / "own.csv"
    own.write_text(f"prompt,topic,difficulty,key\n{PROMPT},animals,2,mine\n{OTHER},dogs,1,yours\n")
    assert depth("--prompts", own, "--out", "r.csv")[0] == 0
    with (tmp_path / "r.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["topic"], second["topic"]) == ("animals", "dogs")
    assert (first["prompt_key"], float(first["difficulty"])) == ("mine", 2)
    assert len(first["key"]) > 20


def test_prompts_come_from_standard_input(depth, monkeypatch):
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{PROMPT}\n\n{OTHER}\n".encode()))
    )
    said = printed(depth("--prompts", "-", "--json"))
    assert [(one["line"], one["prompt"]) for one in said["prompts"]] == [(1, PROMPT), (3, OTHER)]


def test_a_table_of_standard_input_goes_to_standard_output(depth, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{PROMPT}\n".encode())))
    status, _, told = depth("--prompts", "-", "--out", "-")
    assert (status, "which would be lost" in told) == (0, False)
