"""Models of the hub: from a cache that the test lays out, and from a hub of the test's own."""

import json
import shutil
import threading
import time

import pytest
import tiny
from fake_hub import REPO, FakeHub, client, lay_out
from waiting import PATIENCE

from coupling_core import Cancelled, ComputeError, InputError, Request, measure
from coupling_core.base.units import size as in_words
from coupling_core.engine.loading import forget
from coupling_core.measuring.probe import probe
from coupling_core.sources import hub
from coupling_core.sources.hub import blobs, cache, naming
from coupling_core.sources.resolved import resolve

pytestmark = pytest.mark.full  # a hub of its own, and some fifty measurements

PROMPT = "The cat sat on the mat"
SEEDS = {"main": 2, "step0": 0, "step1000": 1}
WEIGHTS = "model.safetensors"
PARAMETERS = sum(p.numel() for p in tiny.model("llama").parameters())


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One model folder a revision, each with weights of its own."""
    path = tmp_path_factory.mktemp("revisions")
    return {name: tiny.folder(path / name, seed=seed) for name, seed in SEEDS.items()}


@pytest.fixture
def constants(tmp_path, monkeypatch):
    """The client's constants, with a cache of the test's own and the hub switched off."""
    return client(monkeypatch, tmp_path)


@pytest.fixture
def commits(constants, tmp_path, folders):
    """A cache with every revision, and its commits."""
    return lay_out(tmp_path / "hub", folders)


@pytest.fixture
def server(constants, folders, tmp_path, monkeypatch):
    """A hub within reach with files of the test's own, and an empty cache."""
    served = {name: shutil.copytree(folders[name], tmp_path / name) for name in folders}
    fake = FakeHub(served)
    client(monkeypatch, tmp_path, fake)
    yield fake
    fake.close()


def request(**changes):
    return Request(PROMPT, model=REPO, k=4, **changes)


ROUNDING = 1e-5
"""Weights of a folder are copied, and those of the hub mapped: products round by where they lie."""


def spectrum(model, **changes):
    return measure(Request(PROMPT, model=str(model), k=4, **changes)).singular_values


def silent(_):
    return


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


def test_what_is_missing_is_told_offline_and_found_once_it_is_there(commits, tmp_path):
    refs = tmp_path / "hub" / "models--someone--tiny" / "refs"
    (tmp_path / "elsewhere").write_text("f" * 40)  # a revision is no path
    for ask in (
        lambda: hub.revisions("no/body"),
        lambda: hub.commit(REPO, "step2"),
        lambda: hub.commit(REPO, "../../../elsewhere"),
    ):
        with pytest.raises(ComputeError, match="HF_HUB_OFFLINE"):
            ask()
    (refs / "step2").write_text(commits["step0"])
    assert hub.commit(REPO, "step2") == commits["step0"]
    for power in range(7, 12):
        (refs / f"step{2**power}").write_text(commits["step0"])
    for wanted, near in (("step200", "step128 and step256 nearest"), ("step3000", "step2048")):
        with pytest.raises(ComputeError, match=near):
            hub.commit(REPO, wanted)


def test_half_a_model_is_not_taken_for_one_but_a_tokenizer_may_be_missing(commits):
    (cache.snapshot(REPO, commits["step0"]) / WEIGHTS).unlink()
    assert [r.name for r in hub.revisions(REPO) if not r.cached] == ["step0"]
    with pytest.raises(ComputeError, match="main, step1000 of"):
        measure(request(revision="step0"))
    folder = cache.snapshot(REPO, commits["main"])
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    assert hub.download(REPO, commits["main"], silent) == folder


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


def test_a_hub_model_is_fetched_measured_and_then_found_offline(
    server, constants, folders, tmp_path, monkeypatch
):
    for name in ("pytorch_model.bin", "consolidated.safetensors", "modeling_x.py", "tokenizer.pkl"):
        (server.folders["step0"] / name).write_bytes(b"x" * 1000)
    result = measure(request(revision="step0"))
    assert result.singular_values == pytest.approx(spectrum(folders["step0"]), abs=ROUNDING)
    assert result.identity["digest"] == server.commits["step0"]
    wanted = {file.name for file in folders["step0"].iterdir()}
    assert server.fetched() == wanted
    assert {path.name for path in (tmp_path / "hub").rglob("snapshots/*/*")} == wanted
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    forget()
    server.asked.clear()
    again = measure(request(revision="step0"))
    assert (again.singular_values == result.singular_values).all()
    assert again.identity == result.identity
    assert server.asked == []
    assert [r.name for r in hub.revisions(REPO)] == ["step0"]


def test_progress_is_told_in_bytes(server):
    server.slow = WEIGHTS
    seen = []
    measure(request(), progress=seen.append)
    stages = list(dict.fromkeys(progress.stage for progress in seen))
    assert stages == ["loading", "downloading", "tracing", "blocks"]
    bytes_ = [(p.done, p.total) for p in seen if p.stage == "downloading"]
    expected = sum(file.stat().st_size for file in server.folders["main"].iterdir())
    small = expected - (server.folders["main"] / WEIGHTS).stat().st_size
    assert {total for _, total in bytes_} == {expected}
    assert bytes_ == sorted(bytes_)
    assert (bytes_[0][0], bytes_[-1][0]) == (0, expected)
    assert any(small < done < expected for done, _ in bytes_)


def test_the_plan_says_what_it_takes_and_of_a_cached_model_nothing(
    server, folders, constants, monkeypatch
):
    found = hub.plan(REPO, server.commits["main"])
    sizes = {file.name: file.stat().st_size for file in folders["main"].iterdir()}
    assert {file.name: file.size for file in found.files} == sizes
    assert found.files[-1].name == WEIGHTS
    assert found.size == sum(sizes.values())
    assert found.memory == 4 * PARAMETERS
    assert all(in_words(each) in str(found) for each in (found.size, found.memory))
    tiny.model("llama").bfloat16().save_pretrained(server.folders["step0"])
    assert hub.plan(REPO, server.commits["step0"]).memory == found.memory  # twice its size
    hub.download(REPO, server.commits["main"], silent)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    after = hub.plan(REPO, server.commits["main"])
    assert (after.size, after.missing, after.memory) == (0, 0, found.memory)
    assert {f.name for f in after.files} == {f.name for f in found.files}


def test_shards_are_fetched_by_their_index(server, folders):
    served = server.folders["main"]
    (served / WEIGHTS).rename(served / "consolidated.safetensors")
    tiny.model("llama", SEEDS["main"]).save_pretrained(served, max_shard_size="100KB")
    shards = {file.name for file in served.glob("model-*.safetensors")}
    assert len(shards) > 1
    memory = hub.plan(REPO, server.commits["main"]).memory
    assert memory == pytest.approx(4 * PARAMETERS, rel=0.05)
    assert spectrum(REPO) == pytest.approx(spectrum(folders["main"]), rel=1e-4)
    assert {name for name in server.fetched() if name.endswith(".safetensors")} == shards


def test_files_that_revisions_share_are_fetched_once(server):
    hub.download(REPO, server.commits["step0"], silent)
    server.asked.clear()
    assert hub.plan(REPO, server.commits["main"]).missing == 1
    hub.download(REPO, server.commits["main"], silent)
    assert server.fetched() == {WEIGHTS}


# ---- stopped, resumed, broken


def test_a_stopped_download_ends_at_once_and_goes_on_where_it_was(server, folders):
    def halfway(progress):
        if progress.stage == "downloading" and progress.done > progress.total // 3:
            raise Cancelled("enough")

    server.slow = WEIGHTS
    commit, whole = server.commits["main"], (folders["main"] / WEIGHTS).read_bytes()
    with pytest.raises(Cancelled):
        hub.download(REPO, commit, halfway)
    assert server.hung_up.wait(PATIENCE)
    assert not [t for t in threading.enumerate() if "ThreadPool" in t.name]
    part = next(cache.repository(REPO).glob("blobs/*.incomplete")).stat().st_size
    assert 0 < part < len(whole)
    assert cache.commits(REPO) == []
    assert hub.plan(REPO, commit).size == len(whole) - part

    server.slow = ""
    server.asked.clear()
    folder = hub.download(REPO, commit, silent)
    assert ("GET", f"range/{part}/{WEIGHTS}") in server.asked
    assert server.fetched() == {WEIGHTS}
    assert (folder / WEIGHTS).read_bytes() == whole
    assert not list(cache.repository(REPO).glob("blobs/*.incomplete"))


def test_a_broken_connection_is_taken_up_again(server, folders):
    server.slow, server.breaks = WEIGHTS, 3
    folder = hub.download(REPO, server.commits["main"], silent)
    assert (folder / WEIGHTS).read_bytes() == (folders["main"] / WEIGHTS).read_bytes()
    parts = {name for _, name in server.asked if name.endswith(f"/{WEIGHTS}")}
    assert len(parts) == 4  # the plan's look at the header begins at 0, as the first attempt does


def test_one_bad_file_is_thrown_away_and_ends_the_others(server):
    served = server.folders["main"]
    (served / WEIGHTS).unlink()
    tiny.model("llama").save_pretrained(served, max_shard_size="100KB")
    server.slow, *_, server.damages = sorted(f.name for f in served.glob("model-*.safetensors"))
    with pytest.raises(ComputeError, match=f"{server.damages} arrived with sha256"):
        hub.download(REPO, server.commits["main"], silent)
    assert server.hung_up.wait(PATIENCE)
    server.slow = server.damages = ""
    assert hub.download(REPO, server.commits["main"], silent).is_dir()


def test_a_disk_without_room_is_told_before_the_first_byte_and_in_the_middle(
    server, monkeypatch, tmp_path
):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as nearly:
        usage = type("Usage", (), {"free": 1000})
        nearly.setattr("coupling_core.base.folders.shutil.disk_usage", lambda _: usage)
        wanted = in_words(sum(f.stat().st_size for f in server.folders["main"].iterdir()))
        with pytest.raises(ComputeError, match=f"{wanted} more.* 1 kB"):
            hub.download(REPO, server.commits["main"], silent)
        assert not [path for path in (tmp_path / "hub").rglob("*") if path.is_file()]
    with monkeypatch.context() as filling:
        filling.setattr(blobs, "_append", full)
        with pytest.raises(ComputeError, match="is full"):
            hub.download(REPO, server.commits["main"], silent)
    shutil.rmtree(tmp_path / "hub")
    (tmp_path / "hub").write_text("no folder")
    with pytest.raises(ComputeError, match="HF_HUB_CACHE"):
        hub.download(REPO, server.commits["main"], silent)


def test_what_the_hub_refuses_is_told(server):
    for ask, told in (
        (lambda: hub.commit("no/body", None), "no/body"),
        (lambda: hub.commit("a--b/c", None), "a--b/c"),
        (lambda: hub.commit(REPO, "step2"), "step0 and step1000"),
        (lambda: hub.commit(REPO, "v1"), "v1"),
        (lambda: hub.plan(REPO, "f" * 40), "ffff"),
    ):
        with pytest.raises((ComputeError, InputError), match=told):
            ask()
    server.gated = True
    for ask in (measure, lambda asked: probe(resolve(asked))):
        with pytest.raises(ComputeError, match=r"gated: .*hf auth login"):
            ask(request())
    assert server.fetched() <= {"config.json"}
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
    file = server.folders["main"] / WEIGHTS
    for name, told in (("pytorch_model.bin", "pickled"), ("model.gguf", "gguf")):
        file = file.rename(file.with_name(name))
        with pytest.raises(ComputeError, match=told):
            measure(request())
    assert server.fetched() == set()


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
    for _ in range(2):
        assert hub.commit(REPO, "step0") == server.commits["step0"]
    assert len(server.asked) == 1
    now += naming.REMEMBERED + 1
    server.commits["step0"] = "e" * 40
    assert hub.commit(REPO, "step0") == "e" * 40


def test_depth_says_what_a_download_takes_and_only_then(server, run):
    plan = hub.plan(REPO, server.commits["step0"])
    for is_stored, begins in ((False, str(plan).partition("; ")[0]), (True, "")):
        status, out, err = run(
            *("depth", "--model", REPO, "--revision", "step0", "--prompt", PROMPT),
            *("--k", 4, "--json"),
        )
        assert (status, json.loads(out)["stored"]) == (0, is_stored)
        assert err.startswith(begins)
    assert err == ""


def test_models_lists_the_revisions_of_one(server, folders, run, tmp_path, monkeypatch):
    here, upstream = lay_out(tmp_path / "hub", {"main": folders["main"]}), server.commits["main"]
    main, step0, _ = json.loads(run("models", "--revisions", REPO, "--json")[1])
    assert main == {"name": "main", "commit": here["main"], "cached": True, "upstream": upstream}
    assert (step0["name"], step0["cached"]) == ("step0", False)
    assert upstream[:12] in run("models", "--revisions", REPO)[1]  # where the hub has moved on
    client(monkeypatch, tmp_path)
    status, out, err = run("models", "--revisions", REPO, "--json")
    assert (status, [r["name"] for r in json.loads(out)]) == (0, ["main"])
    assert err.startswith("warning: ")


def test_only_the_config_is_fetched_to_probe_a_model(server):
    found = probe(resolve(request(revision="step0")))
    assert (found.name, found.blocks, found.causal) == (f"{REPO}@step0", 4, True)
    assert found.stored == "float32"
    assert server.fetched() == {"config.json"}
    server.asked.clear()
    hub.config(REPO, server.commits["step0"])
    assert not server.asked
    assert measure(request(revision="step0")).certified  # downloaded like any other
    (server.folders["main"] / "config.json").unlink()
    with pytest.raises(ComputeError, match=r"config\.json"):
        probe(resolve(request()))
