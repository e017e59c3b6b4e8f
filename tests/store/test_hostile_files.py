"""Files that are made to harm: pickles, deep JSON, links that lead out, paths that climb.

Packs and bombs are in tests/attack.
"""

import json
import pickle

import pytest
import tiny
from cases import content, random_result
from hostile import DEEP, Touch

from coupling_core import Request, Store
from coupling_core.sources.resolved import resolve

RESULT = random_result()


@pytest.fixture
def target(tmp_path):
    return Store(tmp_path / "target", layers=(), gallery=tmp_path / "none")


@pytest.fixture
def folder(tmp_path):
    return tiny.folder(tmp_path / "model")


# ---- paths that climb


def test_no_key_leads_out_of_the_store(run, target, tmp_path):
    path = Store(tmp_path / "outside", layers=(), gallery=tmp_path / "none").put(RESULT)
    target.put(random_result(seed=1))
    for command in ("show", "rm", "verify"):
        for climb in ("..", "../outside/", "*/../../outside/", "/"):
            asked = ("runs", command, f"{climb}{RESULT.key}", "--store", target.root)
            assert run(*asked)[0] == 2, asked
    assert path.is_file()


# ---- code


def test_a_pickle_is_no_model_and_no_result(run, tmp_path):
    for ending in (".bin", ".pt", ".pkl", ".gguf", ".safetensors"):
        path = tmp_path / f"evil{ending}"
        path.write_bytes(pickle.dumps(Touch(tmp_path / "owned")))
        for line in (
            ["depth", "--model", path, "--prompt", "x"],
            ["models", "--probe", path],
            ["models", "--prepare", path],
            ["runs", "import", path],
            ["compare", path, path],
        ):
            assert run(*line)[0] == 2, line
    assert not (tmp_path / "owned").exists()


def test_json_that_is_nested_without_end_is_told(tmp_path, run, folder):
    (tmp_path / "p.jsonl").write_text(DEEP)
    assert "line 1" in run("depth", "--prompts", "p.jsonl")[2]
    (folder / "config.json").write_text(DEEP)
    assert resolve(Request("x", model=str(folder))).config == {}
    assert run("depth", "--model", folder, "--prompt", "x")[0] == 1


# ---- links


def test_a_link_in_the_store_is_replaced_or_removed_and_not_followed(target, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    target.root.mkdir()
    link = target.root / f"{RESULT.key}.safetensors"
    link.symlink_to(outside)
    assert target.verify(RESULT.key)
    target.put(RESULT)
    assert not link.is_symlink()
    assert content(target.get(RESULT.key)) == content(RESULT)
    link.unlink()
    link.symlink_to(outside)
    target.remove(RESULT.key)
    assert not list(target.root.iterdir())
    assert outside.read_text() == "mine"


def test_a_linked_folder_of_weights_is_named_by_what_it_leads_to(folder, tmp_path):
    before = resolve(Request("x", model=str(folder))).identity["digest"]
    other = tiny.folder(tmp_path / "other", seed=1)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(other / "model.safetensors")
    assert resolve(Request("x", model=str(folder))).identity["digest"] != before


def test_a_link_to_nothing_is_told(folder, run):
    for name in ("config.json", "model.safetensors"):
        whole = (folder / name).read_bytes()
        for to in ("nowhere", name):  # the last is itself
            (folder / name).unlink()
            (folder / name).symlink_to(folder / to)
            status, _, err = run("depth", "--model", folder, "--prompt", "x")
            assert (status, err.count("\n"), name in err) == (2, 1, True), (name, to)
        (folder / name).unlink()
        (folder / name).write_bytes(whole)


def test_an_index_that_leads_out_of_a_folder_is_refused(folder, run, tmp_path):
    tiny.folder(tmp_path / "other", seed=1)
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    outside = {"weight_map": {"lm_head.weight": "../other/model.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(outside))
    status, _, err = run("depth", "--model", folder, "--prompt", "x", "--k", 4)
    assert (status, "model.safetensors.index.json" in err) == (2, True)
