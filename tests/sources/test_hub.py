"""Models of the hub: from a cache that the test lays out, and from a hub of the test's own."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import pytest
import tiny
from fake_hub import REPO, FakeHub, client, lay_out
from waiting import PATIENCE, until

from coupling_core import Cancelled, ComputeError, InputError, Progress, Request, Store, measure
from coupling_core.base.units import size as in_words
from coupling_core.cli.terminal import ProgressBar
from coupling_core.engine.loading.keeping import Kept
from coupling_core.measuring.probe import probe
from coupling_core.serving.jobs import Jobs
from coupling_core.sources import hub
from coupling_core.sources.hub import blobs, cache, naming
from coupling_core.sources.resolved import resolve

pytestmark = pytest.mark.full  # a hub of its own, and some fifty measurements

PROMPT = "The cat sat on the mat"
SEEDS = {"main": 2, "step0": 0, "step1000": 1}
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One model folder a revision, each with weights of its own."""
    path = tmp_path_factory.mktemp("revisions")
    return {name: tiny.folder(path / name, seed=seed) for name, seed in SEEDS.items()}


@pytest.fixture
def constants(tmp_path, monkeypatch):
    """The client's constants, with a cache of the test's own and the hub switched off."""
    monkeypatch.setattr("coupling_core.engine.loading.loading._kept", Kept())
    return client(monkeypatch, tmp_path)


@pytest.fixture
def commits(constants, tmp_path, folders):
    """A cache with every revision, and its commits."""
    return lay_out(tmp_path / "hub", folders)


@pytest.fixture(scope="module")
def one_hub(folders):
    """A hub that serves every test of this file."""
    fake = FakeHub(folders)
    yield fake
    fake.close()


@pytest.fixture
def server(one_hub, constants, folders, tmp_path, monkeypatch):
    """The hub as it was at first, with files of the test's own, and an empty cache."""
    one_hub.folders = {name: tmp_path / "served" / name for name in folders}
    for name, folder in folders.items():
        shutil.copytree(folder, one_hub.folders[name])
    one_hub.commits = {name: hashlib.sha1(name.encode()).hexdigest() for name in folders}
    one_hub.asked.clear()
    one_hub.hung_up.clear()
    one_hub.gated, one_hub.refusal, one_hub.breaks = False, 0, 0
    one_hub.slow = one_hub.damages = ""
    client(monkeypatch, tmp_path, one_hub)
    return one_hub


def request(**changes):
    return Request(PROMPT, model=REPO, k=4, **changes)


ROUNDING = 1e-5
"""Weights of a folder are copied, and those of the hub mapped: products round by where they lie."""


def spectrum(model, **changes):
    return measure(Request(PROMPT, model=str(model), k=4, **changes)).singular_values


def silent(_):
    return


def tree(path):
    return {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}


# ---- offline


def test_each_revision_measures_its_own_weights_offline(commits, folders):
    for revision in (None, "step0"):
        result = measure(request(revision=revision))
        name = revision or "main"
        assert result.singular_values == pytest.approx(spectrum(folders[name]), abs=ROUNDING)
        assert result.identity == {
            "kind": "hub",
            "id": REPO,
            "digest": commits[name],
            "name": f"{REPO}@{revision}" if revision else REPO,
        }
    found = spectrum(REPO, revision=commits["step0"])  # a commit stands for itself
    assert found == pytest.approx(result.singular_values, abs=ROUNDING)
    assert hub.commit("some/other", "f" * 40) == "f" * 40


def test_revisions_are_listed_offline_in_their_order_and_commits_without_a_name(commits, tmp_path):
    found = hub.revisions(REPO)
    assert [(r.name, r.commit, r.cached, r.upstream) for r in found] == [
        (name, commits[name], True, "") for name in ("main", "step0", "step1000")
    ]
    (tmp_path / "hub" / "models--someone--tiny" / "refs" / "step0").unlink()
    assert [r.name for r in hub.revisions(REPO)] == ["main", commits["step0"], "step1000"]
    assert hub.cached(REPO) == ["main", commits["step0"], "step1000"]


def test_a_missing_repository_is_told_offline(constants):
    with pytest.raises(ComputeError, match="not in the local cache"):
        hub.revisions(REPO)


def test_a_missing_revision_is_told_offline_and_found_once_it_is_there(commits, tmp_path):
    with pytest.raises(ComputeError, match="main, step0, step1000") as failed:
        hub.commit(REPO, "step2")
    assert "HF_HUB_OFFLINE" in str(failed.value)
    (tmp_path / "hub" / "models--someone--tiny" / "refs" / "step2").write_text(commits["step0"])
    assert hub.commit(REPO, "step2") == commits["step0"]


def test_half_a_model_is_not_taken_for_one_but_a_tokenizer_may_be_missing(commits):
    (cache.snapshot(REPO, commits["step0"]) / WEIGHTS).unlink()
    assert [r.name for r in hub.revisions(REPO) if not r.cached] == ["step0"]
    with pytest.raises(ComputeError, match="main, step1000 of"):
        measure(request(revision="step0"))
    folder = cache.snapshot(REPO, commits["main"])
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    assert hub.download(REPO, commits["main"], silent) == folder


def test_a_revision_is_no_path(commits, tmp_path):
    (tmp_path / "elsewhere").write_text("f" * 40)
    with pytest.raises(ComputeError, match="is not in the local cache"):
        hub.commit(REPO, "../../../elsewhere")


@pytest.mark.full
def test_a_stored_answer_of_a_hub_model_needs_no_client(commits, tmp_path):
    measure(request(), Store())
    code = (
        "import sys; from coupling_core import Request, Store, measure\n"
        f"measure(Request({PROMPT!r}, model={REPO!r}, k=4), Store())\n"
        "print([m for m in ('torch', 'httpx2', 'huggingface_hub.hf_api') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=os.environ | {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.stdout == "[]\n"


def test_many_cached_revisions_are_told_by_the_nearest(constants, tmp_path, folders):
    names = ["main", "step0", *(f"step{2**i}" for i in range(8))]
    lay_out(tmp_path / "hub", dict.fromkeys(names, folders["main"]))
    for wanted, near in {
        "step3": "10 revisions (step2 and step4 nearest)",
        "step2000": "10 revisions (step128 nearest)",
        "v1": "10 revisions of",
    }.items():
        with pytest.raises(ComputeError) as failed:
            hub.commit(REPO, wanted)
        assert near in str(failed.value)


# ---- which files


SHARDS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
INDEX = json.dumps({"weight_map": dict(zip("ab", SHARDS, strict=True))})


def test_weights_are_those_that_the_repository_names():
    for names, expected in (
        ([WEIGHTS, "consolidated.safetensors"], [WEIGHTS]),
        ([WEIGHTS, cache.INDEX, *SHARDS], [WEIGHTS]),
        ([cache.INDEX, *SHARDS, "consolidated.safetensors"], SHARDS),
        (["pytorch_model.bin", "consolidated.safetensors"], []),
    ):
        assert cache.weights(names, lambda: INDEX) == expected
    for name in ("evil.bin", "../x.safetensors"):
        for index in ("{", "[]", json.dumps({"weight_map": {"a": name}})):
            with pytest.raises(ComputeError, match=r"model\.safetensors\.index\.json"):
                cache.weights([cache.INDEX, "evil.bin"], lambda index=index: index)


# ---- from a hub


def test_a_hub_model_is_fetched_and_measured(server, folders, tmp_path):
    for name in ("pytorch_model.bin", "consolidated.safetensors", "modeling_x.py", "tokenizer.pkl"):
        (server.folders["step0"] / name).write_bytes(b"x" * 1000)
    result = measure(request(revision="step0"))
    assert result.singular_values == pytest.approx(spectrum(folders["step0"]), abs=ROUNDING)
    assert result.identity["digest"] == server.commits["step0"]
    wanted = {file.name for file in folders["step0"].iterdir()}
    assert server.fetched() == wanted
    assert {path.name for path in (tmp_path / "hub").rglob("snapshots/*/*")} == wanted


def test_what_was_fetched_is_found_offline(server, constants, folders, monkeypatch):
    first = measure(request(revision="step0"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("coupling_core.engine.loading.loading._kept", Kept())
    server.asked.clear()
    again = measure(request(revision="step0"))
    assert (again.singular_values == first.singular_values).all()
    assert again.identity == first.identity
    assert server.asked == []
    assert [r.name for r in hub.revisions(REPO)] == ["step0"]


def test_progress_is_told_in_bytes_and_none_of_what_is_cached(server):
    server.slow = WEIGHTS
    seen = []
    measure(request(), progress=seen.append)
    stages = list(dict.fromkeys(progress.stage for progress in seen))
    assert stages == ["loading", "downloading", "tracing", "blocks"]
    bytes_ = [(p.done, p.total) for p in seen if p.stage == "downloading"]
    expected = sum(file.stat().st_size for file in server.folders["main"].iterdir())
    assert {total for _, total in bytes_} == {expected}
    assert bytes_ == sorted(bytes_)
    assert (bytes_[0][0], bytes_[-1][0]) == (0, expected)
    small = expected - (server.folders["main"] / WEIGHTS).stat().st_size
    assert any(small < done < expected for done, _ in bytes_)
    last = max(i for i, progress in enumerate(seen) if progress.stage == "downloading")
    assert seen[last + 1] == Progress("loading")
    server.asked.clear()
    seen.clear()
    measure(request(), progress=seen.append)
    assert server.asked == []
    assert "downloading" not in {progress.stage for progress in seen}


def test_the_plan_says_what_it_takes_and_of_a_cached_model_nothing(
    server, folders, constants, monkeypatch
):
    found = hub.plan(REPO, server.commits["main"])
    sizes = {file.name: file.stat().st_size for file in folders["main"].iterdir()}
    assert {file.name: file.size for file in found.files} == sizes
    assert found.files[-1].name == WEIGHTS
    assert found.size == sum(sizes.values())
    parameters = sum(p.numel() for p in tiny.model("llama").parameters())
    assert found.memory == 4 * parameters
    assert found.free > 0
    assert in_words(found.size) in str(found)
    assert in_words(found.memory) in str(found)
    hub.download(REPO, server.commits["main"], silent)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    after = hub.plan(REPO, server.commits["main"])
    assert (after.size, after.missing, after.memory) == (0, 0, found.memory)
    assert {f.name for f in after.files} == {f.name for f in found.files}


def test_half_precision_takes_twice_its_size_in_memory(server):
    tiny.model("llama").bfloat16().save_pretrained(server.folders["main"])
    parameters = sum(p.numel() for p in tiny.model("llama").parameters())
    assert hub.plan(REPO, server.commits["main"]).memory == 4 * parameters


def test_shards_are_fetched_by_their_index(server, folders):
    served = server.folders["main"]
    (served / WEIGHTS).rename(served / "consolidated.safetensors")
    tiny.model("llama", SEEDS["main"]).save_pretrained(served, max_shard_size="100KB")
    shards = {file.name for file in served.glob("model-*.safetensors")}
    assert len(shards) > 1
    memory = hub.plan(REPO, server.commits["main"]).memory
    parameters = sum(p.numel() for p in tiny.model("llama").parameters())
    assert memory == pytest.approx(4 * parameters, rel=0.05)
    assert spectrum(REPO) == pytest.approx(spectrum(folders["main"]), rel=1e-4)
    assert {name for name in server.fetched() if name.endswith(".safetensors")} == shards


def test_files_that_revisions_share_are_fetched_once(server):
    hub.download(REPO, server.commits["step0"], silent)
    server.asked.clear()
    assert hub.plan(REPO, server.commits["main"]).missing == 1
    hub.download(REPO, server.commits["main"], silent)
    assert server.fetched() == {WEIGHTS}


# ---- stopped, resumed, broken


def halfway(error):
    """A callback that stops a download once part of the weights is here."""

    def report(progress):
        if progress.stage == "downloading" and progress.done > progress.total // 3:
            raise error

    return report


def test_a_stopped_download_ends_at_once_and_goes_on_where_it_was(server, folders):
    server.slow = WEIGHTS
    commit = server.commits["main"]
    with pytest.raises(Cancelled):
        hub.download(REPO, commit, halfway(Cancelled("enough")))
    assert server.hung_up.wait(PATIENCE)
    assert not [t for t in threading.enumerate() if "ThreadPool" in t.name]
    part = next(cache.repository(REPO).glob("blobs/*.incomplete")).stat().st_size
    whole = (folders["main"] / WEIGHTS).stat().st_size
    assert 0 < part < whole
    assert cache.commits(REPO) == []
    assert hub.plan(REPO, commit).size == whole - part

    server.slow = ""
    server.asked.clear()
    folder = hub.download(REPO, commit, silent)
    assert ("GET", f"range/{part}/{WEIGHTS}") in server.asked
    assert server.fetched() == {WEIGHTS}
    assert (folder / WEIGHTS).read_bytes() == (folders["main"] / WEIGHTS).read_bytes()
    assert not list(cache.repository(REPO).glob("blobs/*.incomplete"))


def test_a_job_that_nobody_waits_for_stops_downloading(server):
    server.slow = WEIGHTS
    jobs = Jobs(Store())
    key = jobs.submit(resolve(request()), "me").key

    def downloads():
        progress = jobs.status(key).progress
        return progress and progress.stage == "downloading" and progress.done

    until(downloads)
    jobs.leave(key, "me")
    until(lambda: jobs.status(key).state == "cancelled")
    assert server.hung_up.wait(PATIENCE)


def test_a_broken_connection_is_taken_up_again(server, folders):
    server.slow, server.breaks = WEIGHTS, 3
    folder = hub.download(REPO, server.commits["main"], silent)
    assert (folder / WEIGHTS).read_bytes() == (folders["main"] / WEIGHTS).read_bytes()
    parts = {name for _, name in server.asked if name.endswith(f"/{WEIGHTS}")}
    assert len(parts) == 4  # the plan's look at the header begins at 0, as the first attempt does


def test_content_that_is_not_the_file_is_thrown_away(server):
    server.damages = WEIGHTS
    with pytest.raises(ComputeError, match=r"model\.safetensors arrived with sha256"):
        hub.download(REPO, server.commits["main"], silent)
    assert not list(cache.repository(REPO).glob("blobs/*.incomplete"))
    server.damages = ""
    hub.download(REPO, server.commits["main"], silent)


def test_one_bad_file_ends_the_others_and_is_what_is_told(server):
    served = server.folders["main"]
    (served / WEIGHTS).unlink()
    tiny.model("llama").save_pretrained(served, max_shard_size="100KB")
    first, *_, server.damages = sorted(file.name for file in served.glob("model-*.safetensors"))
    server.slow = first
    with pytest.raises(ComputeError, match=f"{server.damages} arrived with sha256"):
        hub.download(REPO, server.commits["main"], silent)
    assert server.hung_up.wait(PATIENCE)


def test_a_disk_without_room_is_told_before_the_first_byte_and_in_the_middle(
    server, monkeypatch, tmp_path
):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as nearly:
        usage = type("Usage", (), {"free": 1000})
        nearly.setattr("coupling_core.base.folders.shutil.disk_usage", lambda _: usage)
        with pytest.raises(ComputeError, match="1 kB") as failed:
            hub.download(REPO, server.commits["main"], silent)
        wanted = in_words(sum(f.stat().st_size for f in server.folders["main"].iterdir()))
        assert f"{wanted} more" in str(failed.value)
        assert tree(tmp_path / "hub") == set()
    with monkeypatch.context() as filling:
        filling.setattr(blobs, "_append", full)
        with pytest.raises(ComputeError, match="is full"):
            hub.download(REPO, server.commits["main"], silent)
    shutil.rmtree(tmp_path / "hub")
    (tmp_path / "hub").write_text("no folder")
    with pytest.raises(ComputeError, match="HF_HUB_CACHE"):
        hub.download(REPO, server.commits["main"], silent)


# ---- refused


def test_what_the_hub_refuses_is_told(server):
    with pytest.raises(ComputeError, match="no/body"):
        hub.commit("no/body", None)
    with pytest.raises(InputError, match="a--b/c"):
        hub.commit("a--b/c", None)
    with pytest.raises(ComputeError, match="step0 and step1000"):
        hub.commit(REPO, "step2")
    with pytest.raises(ComputeError, match="v1"):
        hub.commit(REPO, "v1")
    with pytest.raises(ComputeError, match="ffff"):
        hub.plan(REPO, "f" * 40)
    server.gated = True
    with pytest.raises(ComputeError, match=f"gated: .* {server.url}/{REPO}, .*hf auth login"):
        measure(request())
    assert server.fetched() <= {"config.json"}


def test_other_refusals_are_told(server):
    for server.refusal, told in ((403, "token"), (429, "too often"), (503, "503")):
        with pytest.raises(ComputeError, match=told):
            hub.commit(REPO, f"step{server.refusal}")  # an answer is remembered by its revision


def test_of_a_hub_out_of_reach_the_cache_is_told(constants, folders, tmp_path, monkeypatch):
    away = FakeHub({})
    away.close()
    client(monkeypatch, tmp_path, away)
    lay_out(tmp_path / "hub", {"main": folders["main"]})
    with pytest.raises(ComputeError, match=r"has main of it, .*out of reach"):
        hub.commit(REPO, "step0")
    assert [r.name for r in hub.revisions(REPO)] == ["main"]


def test_a_model_without_safetensors_is_refused_before_anything_is_fetched(server):
    served = server.folders["main"]
    for former, name in ((WEIGHTS, "pytorch_model.bin"), ("pytorch_model.bin", "model.gguf")):
        (served / former).rename(served / name)
        with pytest.raises(ComputeError, match="gguf" if "gguf" in name else "pickled"):
            measure(request())
    assert server.fetched() == set()


# ---- revisions of a hub


def test_revisions_are_those_of_the_hub_and_the_cache(server, folders, tmp_path):
    here = lay_out(tmp_path / "hub", {"main": folders["main"], "local": folders["step0"]})
    found = {r.name: (r.commit, r.cached, r.upstream) for r in hub.revisions(REPO)}
    assert found == {
        "main": (here["main"], True, server.commits["main"]),
        "local": (here["local"], True, ""),
        "step0": (server.commits["step0"], False, server.commits["step0"]),
        "step1000": (server.commits["step1000"], False, server.commits["step1000"]),
    }
    server.asked.clear()
    assert hub.commit(REPO, "step1000") == server.commits["step1000"]
    assert server.asked == []  # the list is known for a while


def test_the_hubs_answer_stands_for_some_seconds_only(server, monkeypatch):
    now = time.monotonic()
    monkeypatch.setattr("coupling_core.sources.hub.naming.time.monotonic", lambda: now)
    assert hub.commit(REPO, "step0") == hub.commit(REPO, "step0") == server.commits["step0"]
    assert len(server.asked) == 1
    now += naming.REMEMBERED + 1
    server.commits["step0"] = "e" * 40
    assert hub.commit(REPO, "step0") == "e" * 40


# ---- on the command line, in the app


def test_depth_says_what_a_download_takes_and_only_then(server, run):
    plan = hub.plan(REPO, server.commits["step0"])
    arguments = ("depth", "--model", REPO, "--revision", "step0", "--prompt", PROMPT)
    arguments += ("--k", 4, "--json")
    status, out, err = run(*arguments)
    assert (status, json.loads(out)["stored"]) == (0, False)
    assert err.startswith(str(plan).partition("; ")[0])
    status, out, err = run(*arguments)
    assert (status, json.loads(out)["stored"], err) == (0, True, "")


def test_models_lists_the_revisions_of_one(server, folders, run, tmp_path, monkeypatch):
    here = lay_out(tmp_path / "hub", {"main": folders["main"]})
    status, out, err = run("models", "--revisions", REPO, "--json")
    assert (status, err) == (0, "")
    main, step0, _ = json.loads(out)
    assert main == {
        "name": "main",
        "commit": here["main"],
        "cached": True,
        "upstream": server.commits["main"],
    }
    assert (step0["name"], step0["cached"]) == ("step0", False)
    lines = run("models", "--revisions", REPO)[1].splitlines()
    assert lines[1].split()[:2] == ["main", here["main"][:12]]
    assert server.commits["main"][:12] in lines[1]  # where the hub has moved on
    client(monkeypatch, tmp_path)
    status, out, err = run("models", "--revisions", REPO, "--json")
    assert (status, [r["name"] for r in json.loads(out)]) == (0, ["main"])
    assert err.startswith("warning: ")
    (found,) = [model for model in json.loads(run("models", "--json")[1]) if model["model"] == REPO]
    assert found["revisions"] == ["main"]


def test_the_bar_counts_bytes_and_then_blocks():
    with ProgressBar(blocks="1-2") as bar:
        bar(Progress("downloading", 0, 1))  # which is no model of one block
        bar(Progress("downloading", 1_200_000, 4_800_000))
        assert bar._bar.tasks[0].fields["count"] == "1.2 MB of 4.8 MB"
        bar(Progress("blocks", 1, 2))
        assert bar._bar.tasks[0].fields["count"] == "1/2"


# ---- before anything is fetched


def test_only_the_config_is_fetched_to_probe_a_model(server):
    found = probe(resolve(request(revision="step0")))
    assert (found.name, found.blocks, found.causal) == (f"{REPO}@step0", 4, True)
    assert found.stored == "float32"
    assert server.fetched() == {"config.json"}
    server.asked.clear()
    hub.config(REPO, server.commits["step0"])
    assert not server.asked
    assert measure(request(revision="step0")).certified  # downloaded like any other


def test_a_probe_of_what_the_hub_does_not_give_is_told(server):
    server.gated = True
    with pytest.raises(ComputeError, match="gated"):
        probe(resolve(request()))
    server.gated = False
    (server.folders["main"] / "config.json").unlink()
    with pytest.raises(ComputeError, match=r"config\.json"):
        probe(resolve(request()))
