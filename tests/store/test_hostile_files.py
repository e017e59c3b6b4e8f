"""Files that are made to harm: pickles, bombs, links that lead out, paths that climb."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import tiny
from cases import content, random_result
from hostile import DEEP, Touch

from coupling_core import Request, Store
from coupling_core.base.errors import InputError
from coupling_core.sources.resolved import resolve
from coupling_core.store import packs
from coupling_core.store.archive import encode, load
from coupling_core.store.packs import MANIFEST, unpack

RESULT = random_result()
OTHER = random_result(seed=1)


@pytest.fixture
def target(tmp_path):
    return Store(tmp_path / "target", layers=(), gallery=tmp_path / "none")


@pytest.fixture
def folder(tmp_path):
    return tiny.folder(tmp_path / "model")


# ---- paths that climb


@pytest.mark.parametrize("name", ["../../x", "../model/../../x", "a/../../x", "~/../x", "/../x"])
def test_a_model_by_a_path_that_is_not_there_is_told(run, name):
    status, _, err = run("depth", "--model", name, "--prompt", "x")
    assert (status, "no such file or folder" in err) == (2, True)


@pytest.mark.parametrize("command", ["show", "rm", "verify"])
@pytest.mark.parametrize("climb", ["..", "../outside/", "*/../../outside/", "/"])
def test_no_key_leads_out_of_the_store(run, target, tmp_path, command, climb):
    outside = Store(tmp_path / "outside", layers=(), gallery=tmp_path / "none")
    path = outside.put(RESULT)
    target.put(OTHER)
    status, _, err = run("runs", command, f"{climb}{RESULT.key}", "--store", target.root)
    assert (status, "no stored result" in err) == (2, True)
    assert path.is_file()


# ---- pickles


@pytest.mark.parametrize("ending", [".bin", ".pt", ".pkl", ".gguf", ".safetensors"])
def test_a_pickle_is_no_model_and_no_result(run, tmp_path, ending):
    path = tmp_path / f"evil{ending}"
    path.write_bytes(pickle.dumps(Touch(tmp_path / "owned")))
    for line in (
        ["depth", "--model", path, "--prompt", "x"],
        ["models", "--probe", path],
        ["models", "--prepare", path],
        ["runs", "import", path],
        ["compare", path, path],
    ):
        assert run(*line)[0] == 2
    assert not (tmp_path / "owned").exists()


def test_arrays_of_objects_are_no_result(run, tmp_path):
    np.savez(tmp_path / "evil.npz", singular_values=np.array([Touch(tmp_path / "owned")]))
    status, _, err = run("runs", "import", "evil.npz")
    assert (status, "is no pack of results" in err) == (2, True)
    assert not (tmp_path / "owned").exists()


def test_code_beside_weights_is_never_run(folder, run):
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoConfig": "evil.C", "AutoModelForCausalLM": "evil.M"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text(f"open({str(folder / 'owned')!r}, 'w')")
    assert run("depth", "--model", folder, "--prompt", "x", "--k", 4)[0] == 0
    assert not (folder / "owned").exists()


# ---- bombs


def forge(path, members, manifest, *, stored=True):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
        file.writestr(MANIFEST, manifest, zipfile.ZIP_STORED if stored else None)
    return path


def test_a_pack_in_a_pack_is_not_opened(tmp_path, target):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("zeros", bytes(10**7))
    listed = {"version": 1, "results": [{"key": RESULT.key}]}
    path = forge(
        tmp_path / "p.zip", {f"{RESULT.key}.safetensors": inner.getvalue()}, json.dumps(listed)
    )
    (found,) = unpack(path, target)
    assert found.state == "refused"
    assert not target.root.exists()


def test_a_manifest_that_would_fill_the_memory_is_refused(tmp_path, target, monkeypatch):
    monkeypatch.setattr(packs, "_MAX_MANIFEST", 10**6)
    path = forge(tmp_path / "p.zip", {}, "[" + "0," * 10**7 + "0]", stored=False)
    assert path.stat().st_size < 10**5
    with pytest.raises(InputError, match="more than the 1000000 bytes that are allowed"):
        list(unpack(path, target))


def test_a_result_that_would_fill_the_memory_is_refused(tmp_path, target, monkeypatch):
    monkeypatch.setattr(packs, "MAX_RESULT", 1000)
    (tmp_path / "x.safetensors").write_bytes(encode(RESULT))
    with pytest.raises(InputError, match="more than the 1000 bytes of a result"):
        list(unpack(tmp_path / "x.safetensors", target))


def test_json_that_is_nested_without_end_is_told(tmp_path, target, run, folder):
    header = f'{{"__metadata__": {DEEP}'.encode()
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(InputError, match="is no stored result, or damaged"):
        load(tmp_path / "x.safetensors")
    with pytest.raises(InputError, match="is no pack of results"):
        list(unpack(forge(tmp_path / "p.zip", {}, DEEP), target))
    (tmp_path / "p.jsonl").write_text(DEEP)
    assert "line 1: expected JSON" in run("depth", "--prompts", "p.jsonl")[2]
    (folder / "config.json").write_text(DEEP)
    assert resolve(Request("x", model=str(folder))).config == {}
    assert run("depth", "--model", folder, "--prompt", "x")[0] == 1


# ---- links


def test_a_link_in_the_store_is_replaced_and_not_written_through(target, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    target.root.mkdir()
    link = target.root / f"{RESULT.key}.safetensors"
    link.symlink_to(outside)
    assert target.verify(RESULT.key)
    target.put(RESULT)
    assert outside.read_text() == "mine"
    assert not link.is_symlink()
    assert content(target.get(RESULT.key)) == content(RESULT)


def test_to_remove_a_link_leaves_what_it_leads_to(target, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    target.root.mkdir()
    (target.root / f"{RESULT.key}.safetensors").symlink_to(outside)
    target.remove(RESULT.key)
    assert outside.read_text() == "mine"
    assert not list(target.root.iterdir())


def test_a_linked_folder_of_weights_is_named_by_what_it_leads_to(folder, tmp_path):
    before = resolve(Request("x", model=str(folder))).identity["digest"]
    other = tiny.folder(tmp_path / "other", seed=1)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(other / "model.safetensors")
    assert resolve(Request("x", model=str(folder))).identity["digest"] != before


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("to", ["nowhere", "itself"])
def test_a_link_to_nothing_is_told(folder, run, name, to):
    (folder / name).unlink()
    (folder / name).symlink_to(folder / (name if to == "itself" else "nowhere"))
    status, _, err = run("depth", "--model", folder, "--prompt", "x")
    assert (status, err.count("\n")) == (2, 1)
    assert name in err


def test_an_index_that_leads_out_of_a_folder_is_refused(folder, run, tmp_path):
    tiny.folder(tmp_path / "other", seed=1)
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    outside = {"weight_map": {"lm_head.weight": "../other/model.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(outside))
    status, _, err = run("depth", "--model", folder, "--prompt", "x", "--k", 4)
    assert (status, "model.safetensors.index.json" in err) == (2, True)
