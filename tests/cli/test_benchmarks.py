"""The benchmarks' machinery on a tiny model; no figure of theirs is judged."""

import json
import math
import os
import subprocess
import sys
from importlib import import_module

import pytest
import torch
from threadpoolctl import threadpool_info

import benchmarks
from benchmarks import common, gpu, growth, readme, stages, svd
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.matrix_products import product
from coupling_core.engine.pairs.svd import top_svd


def well_formed(name, results):
    """Results as they are read back from a file; every row of theirs is a pair of texts."""
    read = json.loads(json.dumps(results, allow_nan=False))
    rows = import_module(f"benchmarks.{name}").summary(read)
    assert rows
    assert all(what and said and "|" not in what + said for what, said in rows)
    return read


def test_the_command_writes_results_with_their_machine(run, tmp_path):
    status, _, err = run("bench", "svd", "--quick", "--out", tmp_path / "results")
    assert (status, err) == (0, "")
    (path,) = (tmp_path / "results").iterdir()
    written = json.loads(path.read_text())
    assert written["claim"] == path.stem == "svd"
    assert written["command"] == "coupling bench svd --quick"
    assert written["environment"]["versions"]["torch"] == torch.__version__
    assert written["environment"]["cores"] == os.cpu_count()
    results = well_formed("svd", written["results"])
    for found in results["accuracy"]:
        assert found["errors"]["ours"] < 1e-5
        assert found["certified"] == found["svds"] == 8
    for found in results["dropped"]:
        assert found["caught"] == found["tried"] > 0


def test_an_unknown_benchmark_is_refused(run):
    status, _, err = run("bench", "speed")
    assert status == 2
    assert "depth" in err and "'speed' came" in err  # noqa: PT018


def test_without_a_checkout_the_command_says_so(run, monkeypatch, tmp_path):
    bench = import_module("coupling_core.cli.bench")  # the package has the function
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    status, _, err = run("bench")
    assert status == 2
    assert "come with a checkout" in err


@pytest.mark.parametrize(
    "name",
    [
        "jacobian",
        "growth",
        pytest.param("streaming", marks=pytest.mark.slow),
        pytest.param("fresh", marks=[pytest.mark.slow, pytest.mark.real]),
        pytest.param("many", marks=[pytest.mark.slow, pytest.mark.real]),
    ],
)
def test_a_script_gives_well_formed_results(name):
    well_formed(name, import_module(f"benchmarks.{name}").collect(quick=True))


@pytest.mark.slow
def test_jacobians_between_tokens_are_those_of_the_definition():
    results = well_formed("tokens", import_module("benchmarks.tokens").collect(quick=True))
    row = results["rows"][0]
    for apart in row["differences"].values():
        assert apart["float64"] < 1e-12
        assert apart["float32"] < 1e-5
    assert [row["modes"][mode]["extrapolated"] for mode in ("output", "self")] == [False, True]
    times = row["times"]
    peer = times["states"]["cpu"] + 4 * times["self definition"]["cpu"]  # 2 of 8 tokens
    assert row["modes"]["self"]["definition"]["cpu"] == pytest.approx(peer)


@pytest.mark.slow
def test_depth_compares_the_same_work(monkeypatch):
    monkeypatch.setattr(common, "fresh_process_peak", lambda *_, **__: {"before": 1, "peak": 2})
    results = well_formed("depth", import_module("benchmarks.depth").collect(quick=True))
    assert [row["extrapolated"] for row in results["rows"][:3]] == [False, True, False]
    row = results["rows"][1]
    found, times = row["k"]["3"], row["times"]
    peer = times["states"]["cpu"] + 2 * times["jacobians"]["cpu"] + times["scores 3"]["cpu"]
    assert found["released"]["cpu"] == pytest.approx(peer)
    assert found["released"]["ratio"]["cpu"] == pytest.approx(peer / times["ours 3"]["cpu"])
    peer += 2 * (times["fastest"]["cpu"] - times["jacobians"]["cpu"])
    assert found["fastest"]["cpu"] == pytest.approx(peer)


def test_the_gpu_script_runs_without_one_where_it_is_told_to():
    results = well_formed("gpu", gpu.collect(quick=True, device="cpu"))
    assert max(results["shapes"]["tiny"]["errors"]["float32"]) < 1e-5
    assert results["streamed"]["blocks"] == 4
    assert results["streamed"]["certified"]


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_its_script_writes_nothing(tmp_path):
    command = [sys.executable, "-m", "benchmarks", "gpu", "--out", str(tmp_path / "results")]
    done = subprocess.run(command, cwd=common.ROOT, capture_output=True, text=True, check=True)
    assert "no CUDA device" in done.stdout
    assert not (tmp_path / "results").exists()


def test_the_startup_commands_read_a_stored_result(monkeypatch, tmp_path):
    startup = import_module("benchmarks.startup")
    listed = startup.commands(tmp_path)
    monkeypatch.setattr(startup, "commands", lambda _: {"stored answer": listed["stored answer"]})
    monkeypatch.setattr(startup, "first_paint", lambda _: {"first_visit": 1.0, "wall": 1.0})
    results = startup.collect(quick=True)
    assert list(results["processes"]) == ["stored answer"]


def allocate(megabytes):
    """What a fresh process may run."""
    return lambda: torch.ones(megabytes, 2**18).sum()


@pytest.mark.slow
def test_peak_memory_is_that_of_the_run():
    found = common.fresh_process_peak("tests.cli.test_benchmarks", "allocate", megabytes=200)
    if found["peak"] is None:
        pytest.skip("this system does not tell anonymous memory")
    assert 200 <= (found["peak"] - found["before"]) / 2**20 <= 240


def test_runs_are_interleaved_and_medians_are_of_their_rounds():
    seen = []
    runs = {name: lambda name=name: seen.append(name) for name in "ab"}
    found = common.interleaved(runs, 3)
    assert seen == ["a", "b"] * 4  # the first are the warm-up
    assert all(len(found[name]["walls"]) == 3 for name in "ab")
    assert found["gemm"]["gflops"] > 0
    assert found["gemm"]["library"] in found["gemm"]["libraries"]
    assert found["gemm"]["instructions"] == torch.backends.cpu.get_cpu_capability()
    assert common.medians([(1.0, 5.0), (9.0, 4.0), (2.0, 9.0)])["wall"] == 2.0


def test_the_library_that_was_chosen_is_told_with_the_speed_of_both():
    gemm = {"threads": 1, "gflops": 211.0, "library": "oneDNN", "instructions": "AVX2"}
    gemm |= {"libraries": {"MKL": 99.0, "oneDNN": 205.0}}
    times = {"wall": 1.0, "cpu": 1.0}
    row = {"tokens": 10, "gemm": gemm, "k": {"50": {"ours": times}}, "extrapolated": False}
    results = {"rows": [row], "limits": [], "memory": {"run_ours": {}}}
    chosen, measured = import_module("benchmarks.depth").summary(results)
    assert chosen[1] == "oneDNN, chosen on AVX2: MKL 99, oneDNN 205 GFLOP/s"
    assert measured[1].endswith("GEMM peak 211 GFLOP/s by oneDNN on AVX2")


def test_the_limits_of_stages_are_the_products_that_the_engine_makes():
    traced = trace(common.llama(128, 3), [1, 2, 3], 3)
    jacobians = [block_jacobian(block) for block in traced.blocks]
    svds = [top_svd(J, 8) for J in jacobians]
    bases = torch.stack([torch.stack([svd.v.T, svd.u.T]) for svd in svds], 1)
    calls = stages.products_of(lambda: block_jacobian(traced.blocks[1]))
    for ours, limit in (
        (lambda: block_jacobian(traced.blocks[1]), lambda: [call() for call in calls]),
        (lambda: stages.pairs(jacobians, svds, 8), lambda: stages.compared(jacobians, bases)),
    ):
        with common.Operations() as made:
            ours()
        with common.Operations() as alone:
            limit()
        assert 0.95 * made.total < alone.total <= made.total  # the rest is of single vectors
    found = stages.compare(True, 6, 3)
    assert list(found["stages"]) == ["reading", "Jacobians", "SVDs", "pairs"]
    parts = [one["limit"]["cpu"] for one in found["stages"].values()]
    assert found["all"]["limit"]["cpu"] == pytest.approx(sum(parts))


def test_threads_hold_for_torch_and_blas_and_end():
    before = torch.get_num_threads()
    with common.threads(1):
        assert torch.get_num_threads() == 1
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    assert torch.get_num_threads() == before


def test_operations_are_those_of_the_products():
    with common.Operations() as counted:
        _ = torch.ones(3, 4) @ torch.ones(4, 5) + 1
        _ = product(torch.ones(300, 400), torch.ones(400, 500))
    assert counted.total == 2 * (3 * 4 * 5 + 300 * 400 * 500)


def test_an_exponent_is_that_of_a_power_law():
    assert growth.exponent((10, 100, 1000), [2.0, 2e3, 2e6]) == pytest.approx(3)


def test_a_tie_is_not_counted_among_the_dropped():
    J = torch.diag(torch.tensor([3.0, 2.0, 2.0, 1.0]))
    found = svd.dropped([J], 2)
    assert (found["tried"], found["caught"], found["whole_certified"]) == (1, 1, 1)


def test_the_table_stands_between_its_markers():
    text = f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n"
    assert readme.replaced(text, "new") == text.replace("old", "new")
    assert readme.replaced(readme.PAGE.read_text(), "x")
    with pytest.raises(ValueError, match="lacks the lines"):
        readme.replaced("nothing", "new")


def test_the_table_has_a_row_and_its_command_for_every_figure(tmp_path):
    line = {"values": [1, 2], "cpu": [1.0, 2.0], "exponent": 1.0, "last_exponent": 1.0}
    written = {
        "claim": "growth",
        "command": "coupling bench growth",
        "environment": common.environment(),
        "results": {"lines": {"n": line | {"gemm": {"gflops": 100.0}}}},
    }
    (tmp_path / "growth.json").write_text(json.dumps(written))
    drawn = readme.section(tmp_path).splitlines()
    assert drawn[0].startswith("- `growth`: measured on ")
    assert drawn[-1].startswith("| CPU time of a measurement, n = 1 to 2 | 1.00 to 2.00 s")
    assert drawn[-1].endswith("| `coupling bench growth` |")
    assert math.isfinite(written["environment"]["load_before"])


def test_the_committed_table_is_that_of_the_committed_results():
    text = readme.PAGE.read_text()
    assert text == readme.replaced(text, readme.section(common.ROOT / "benchmarks" / "results"))


@pytest.mark.parametrize(
    "other",
    [
        {"date": "2026-01-03T00:00:00+00:00"},
        {"system": "another kernel"},
        {"memory_bytes": 1},
        {"versions": {"torch": "0"}},
        {"environment": {"OMP_NUM_THREADS": "1"}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_was_measured_elsewhere_or_on_another_day_has_a_line_of_its_own(other):
    here = common.environment() | {"date": "2026-01-02T03:00:00+00:00"}
    later = here | {"date": "2026-01-02T04:00:00+00:00", "commit": "abc", "load_before": 9.0}
    found = [
        {"claim": name, "environment": where}
        for name, where in {"depth": here, "svd": later, "cost": here | other}.items()
    ]
    first, second = readme.environments(found)
    assert first.startswith("- `depth`, `svd`: measured on ")
    assert second.startswith("- `cost`: measured on ")


def test_every_script_is_there():
    for name in benchmarks.SCRIPTS:
        script = import_module(f"benchmarks.{name}")
        assert callable(script.collect)
        assert callable(script.summary)
