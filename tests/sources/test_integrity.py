"""Bytes that are not what their names say: refused with the file and both hashes, and no number."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny
from fake_hub import REPO, FakeHub, client, lay_out
from rotting import flip, remembering, rot

from coupling_core import ComputeError, Request, Store, measure
from coupling_core.base.folders import SHIPPED
from coupling_core.base.results import Progress, Result
from coupling_core.engine.loading import loading
from coupling_core.sources import hub, integrity
from coupling_core.sources.file_hashes import counted
from coupling_core.sources.identity import Source, locate

pytestmark = pytest.mark.full  # each of a copy of a model, which is damaged and measured

OWN = "coupling-explorer/mini-64"
PROMPT = "The cat sat"
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    loading.forget()
    remembering(monkeypatch)


@pytest.fixture
def suite(tmp_path, monkeypatch) -> Path:
    """The folder of a step of the shipped suite, in a copy."""
    name = f"models--{OWN.replace('/', '--')}"
    copy = tmp_path / "shipped" / "suites" / name
    commit = (SHIPPED / "suites" / name / "refs" / "step4000").read_text()
    for part in ("refs", f"snapshots/{commit}"):
        shutil.copytree(SHIPPED / "suites" / name / part, copy / part)
    shutil.copy(SHIPPED / "suites" / name / integrity.RECORD, copy)
    monkeypatch.setattr(hub.cache, "SHIPPED", tmp_path / "shipped")
    return copy / "snapshots" / commit


def request(model: object, revision: str | None = None, prompt: str = PROMPT) -> Request:
    return Request(prompt, model=str(model), revision=revision, k=4)


def same(a: Result, b: Result) -> bool:
    names = ("singular_values", "diagonal", "token_ids")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def middle(file: Path) -> int:
    """A bit of the second half, which no header of weights reaches."""
    return 8 * (file.stat().st_size * 3 // 4) + 5


def require_refused(asked, file, hashed, store=None, damage=flip):
    """A damaged file, which is mended again, gives no number."""
    before = damage(file, middle(file))
    loading.forget()
    with pytest.raises(ComputeError, match=f"{file.name}.* damaged: {hashed}"):
        measure(asked, store)
    file.write_bytes(before)


def test_a_flipped_bit_in_a_suite_gives_no_number_and_mended_it_gives_the_old_one(suite, tmp_path):
    store, asked = Store(tmp_path / "store", gallery=tmp_path / "none"), request(OWN, "step4000")
    sound, whole = measure(asked), hashlib.sha256((suite / TOKENIZER).read_bytes()).hexdigest()
    require_refused(asked, suite / TOKENIZER, f"sha256.*{whole[:12]}", store)
    require_refused(asked, suite / WEIGHTS, f"sha1 .*{suite.name[:12]}", store)
    (suite.parents[1] / integrity.RECORD).unlink()  # then it is known by its commit
    require_refused(asked, suite / TOKENIZER, f"sha1 .*{suite.name[:12]}", store)
    assert not list(store.root.glob("*.safetensors"))
    assert same(measure(asked), sound)


def test_an_untrained_twin_needs_no_sound_weights_but_a_sound_config(suite):
    twin = Request(PROMPT, model=OWN, revision="step4000", k=4, untrained=0)
    flip(suite / WEIGHTS, middle(suite / WEIGHTS))
    assert measure(twin).certified
    loading.forget()
    flip(suite / CONFIG, middle(suite / CONFIG))
    with pytest.raises(ComputeError, match=r"config\.json is damaged"):
        measure(twin)


def test_a_record_that_cannot_be_read_is_told(suite):
    for content in ("{", "[]", '{"a": {"config.json": 3}}', "\x00"):
        (suite.parents[1] / integrity.RECORD).write_text(content)
        with pytest.raises(ComputeError, match=rf"{integrity.RECORD}.* damaged"):
            measure(request(OWN, "step4000"))


@pytest.mark.full
def test_all_that_ships_is_what_its_names_say():
    snapshots = list((SHIPPED / "suites").glob("*/snapshots/*"))
    assert len(snapshots) == 51
    for snapshot in snapshots:
        repo = snapshot.parents[1].name.removeprefix("models--").replace("--", "/", 1)
        source = Source("hub", repo, repo, snapshot.name)
        claimed = {file for claim in integrity.claims_of(source) for file in claim.files}
        assert claimed == {*counted(snapshot)}
        with integrity.verified(source, lambda: None):
            pass


def test_a_blob_of_the_hub_is_what_its_name_says_and_is_fetched_again(tmp_path, monkeypatch):
    server = FakeHub({"main": tiny.folder(tmp_path / "served")})
    client(monkeypatch, tmp_path, server)
    asked = request(REPO)
    sound = measure(asked)
    blobs = [(locate(asked).folder / name).resolve() for name in (WEIGHTS, CONFIG)]
    for blob in blobs:
        loading.forget()
        flip(blob, middle(blob))
        with pytest.raises(ComputeError, match=f"is damaged: .*{blob.name[:12]}"):
            measure(asked)
        blob.unlink()
    assert same(measure(asked), sound)
    server.close()


@pytest.fixture
def laid_out(tmp_path, monkeypatch):
    """A model in the hub's cache, and no hub within reach."""
    client(monkeypatch, tmp_path)
    lay_out(tmp_path / "hub", {"main": tiny.folder(tmp_path / "m")})


def test_files_that_no_name_speaks_for_are_taken_as_they_are(laid_out):
    snapshot = locate(request(REPO)).folder
    for link in list(snapshot.iterdir()):
        content = link.read_bytes()
        link.unlink()
        link.write_bytes(content)
    assert integrity.claims_of(locate(request(REPO))) == []
    assert measure(request(REPO)).certified


def test_bits_that_rot_in_a_gguf_file_or_beneath_what_was_made_of_it_give_no_number(tmp_path):
    file = tiny.gguf_file(tmp_path / "m.gguf")
    asked = request(file)
    source = locate(asked)
    before = rot(file, middle(file))
    assert locate(asked).digest == source.digest, "size and times say so"
    with pytest.raises(ComputeError, match="is damaged"):
        measure(asked)
    assert not source.converted.exists()
    file.write_bytes(before)
    sound = measure(asked)
    loading.forget()
    locate(asked).is_converted  # noqa: B018 - which remembers the hashes
    rot(source.converted / WEIGHTS, middle(source.converted / WEIGHTS))
    assert locate(asked).is_converted, "size and times say so"
    with pytest.raises(ComputeError, match=f"{WEIGHTS} is damaged"):
        measure(asked)
    assert same(measure(asked), sound)


def test_bits_that_rot_in_a_folder_give_no_number(tmp_path):
    folder = tiny.folder(tmp_path / "m")
    sound = measure(request(folder))
    require_refused(request(folder), folder / WEIGHTS, "sha256", damage=rot)
    require_refused(request(folder), folder / CONFIG, "sha256", damage=rot)
    assert same(measure(request(folder)), sound)


def test_weights_that_are_written_over_while_they_are_kept_give_no_number(laid_out):
    """They lie in a mapped file, and are read as they are needed."""
    measure(request(REPO))
    blob = (locate(request(REPO)).folder / WEIGHTS).resolve()
    with blob.open("r+b") as file:  # in its place, as `cp` does
        file.seek(middle(blob) // 8)
        file.write(b"\x7f")
    for told in ("was written to", "is damaged"):
        with pytest.raises(ComputeError, match=told):
            measure(request(REPO, prompt="The dog lay"))


def test_a_kept_model_whose_files_went_away_is_measured(laid_out):
    sound = measure(request(REPO))
    blob = (locate(request(REPO)).folder / WEIGHTS).resolve()
    content = blob.read_bytes()
    blob.unlink()
    blob.write_bytes(content)  # another file, of the same bytes
    assert same(measure(request(REPO)), sound)


def test_whoever_leaves_while_weights_are_hashed_waits_no_longer(tmp_path, monkeypatch):
    folder = tiny.folder(tmp_path / "m")
    stopped, began = [], []

    def slow(claim: integrity.Claim, stop: integrity.Event) -> str:
        if claim.of_weights:
            began.append(claim)
            stopped.append(stop.wait(30))
        return claim.expected

    def leave(progress: Progress):
        if began:
            raise KeyboardInterrupt

    monkeypatch.setattr(integrity, "_digest", slow)
    with pytest.raises(KeyboardInterrupt):
        measure(request(folder), progress=leave)
    assert stopped == [True]


def test_a_checkpoint_that_is_written_is_recorded(tmp_path):
    folder = tiny.folder(tmp_path / "snapshot")
    commit = integrity.record(tmp_path, folder)
    hashes = {path.name: hashlib.sha256(path.read_bytes()) for path in folder.iterdir()}
    both = (folder / WEIGHTS).read_bytes() + (folder / TOKENIZER).read_bytes()
    assert commit == hashlib.sha1(both).hexdigest()
    recorded = {*hashes} - {WEIGHTS, "generation_config.json"}
    assert json.loads((tmp_path / integrity.RECORD).read_text()) == {
        commit: {name: hashes[name].hexdigest() for name in recorded}
    }
