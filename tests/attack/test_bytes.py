"""Files that are made to harm, by every door: none hangs, fills the memory or ends in a traceback.

Each is handed to a fork of this process, whose seconds and memory the system bounds.
"""

import io
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import mutations
import pyarrow as pa
import pytest
import tiny
from bounded import MB, Ran, bounded, coupling, spoilt
from cases import random_result
from PIL import Image
from pyarrow import parquet

import explorer.pages.runs.page  # noqa: F401 - which forks then have
from coupling_core import Store
from coupling_core.base.images import read_image
from coupling_core.experiments.sweeps.definition import read
from coupling_core.measuring import probe
from coupling_core.measuring.worker import small
from coupling_core.sources.identity import Source
from coupling_core.sources.prompts import PromptSource, fetching
from coupling_core.sources.tokens import tokenize
from coupling_core.store.archive import SUFFIX, encode
from coupling_core.store.packs import MANIFEST, unpack

RESULT = random_result()
SECONDS = 10


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.folder(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", layers=(), gallery=tmp_path / "none")


def require_refused(ran: Ran, told: str) -> None:
    """It ended by itself, in words."""
    assert ran.is_plain, ran.said[-2000:]
    assert told in ran.said
    assert ran.peak < 500 * MB


# ---- what is no file


@pytest.fixture(params=["pipe", "device"])
def endless(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "device":
        return Path("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (("runs", "import"), "x.safetensors"),
        (("runs", "import"), "x.zip"),
        (("prompts",), "p.txt"),
        (("prompts",), "p.jsonl"),
        (("prompts",), "p.csv"),
        (("depth", "--image"), "p.png"),
    ],
)
def test_a_pipe_or_a_device_is_read_by_no_command(
    endless: Path, tmp_path: Path, line: tuple[str, ...], name: str
) -> None:
    (tmp_path / name).symlink_to(endless)
    require_refused(coupling(*line, tmp_path / name, seconds=SECONDS), "cannot be read")


def test_a_pipe_or_a_device_is_no_sweep(endless: Path) -> None:
    assert "cannot be read" in bounded(lambda: read(endless), seconds=SECONDS).last


def test_a_pipe_or_a_device_breaks_no_list(endless: Path, store: Store, tmp_path: Path) -> None:
    store.put(random_result(seed=1))
    (store.root / f"{RESULT.key}{SUFFIX}").symlink_to(endless)
    ran = coupling("runs", "ls", "--store", store.root, seconds=SECONDS)
    assert (ran.status, ran.said.count("it is a pipe or a device")) == (0, 1)
    shown = coupling("runs", "show", RESULT.key, "--store", store.root, seconds=SECONDS)
    require_refused(shown, "cannot be read")


# ---- archives


def packed(path: Path, listed: list[str], members: dict[str, bytes], how: int) -> Path:
    results = [{"key": key, "sha256": "0" * 64} for key in listed]
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data, how)
        file.writestr(MANIFEST, json.dumps({"version": 1, "results": results}))
    return path


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_packed_is_stored(tmp_path: Path, how: int) -> None:
    name = f"{RESULT.key}{SUFFIX}"
    path = packed(tmp_path / "p.zip", [RESULT.key] * 30, {name: bytes(8 * MB)}, how)
    assert path.stat().st_size < MB // 8
    ran = coupling("runs", "import", path, "--store", tmp_path / "s", seconds=SECONDS)
    require_refused(ran, "is compressed")
    assert ran.said.count("the manifest lists it twice") == 29
    assert ran.peak < 100 * MB


def test_a_directory_of_a_million_members_is_not_read(tmp_path: Path) -> None:
    path = packed(tmp_path / "p.zip", [], {}, 0)
    data = path.read_bytes()
    start, end = data.index(b"PK\1\2"), data.rindex(b"PK\5\6")
    many = data[start:end] * 100_000
    tail = bytearray(data[end:])
    tail[12:16] = len(many).to_bytes(4, "little")
    path.write_bytes(data[:start] + many + tail)
    require_refused(coupling("runs", "import", path, seconds=SECONDS), "directory is too large")


def test_members_that_share_their_bytes_are_read_once(tmp_path: Path, store: Store) -> None:
    keys = [f"{number:032x}-k50-v4" for number in range(40)]
    path = packed(tmp_path / "p.zip", keys, {f"{keys[0]}{SUFFIX}": encode(RESULT)}, 0)
    data = path.read_bytes()
    start, end = data.index(b"PK\1\2"), data.rindex(b"PK\5\6")
    one = data[start : data.index(b"PK\1\2", start + 1)]
    more = b"".join(one.replace(keys[0].encode(), key.encode()) for key in keys[1:])
    whole = data[start:end] + more
    tail = bytearray(data[end:])
    tail[8:12] = (len(keys) + 1).to_bytes(2, "little") * 2
    tail[12:16] = len(whole).to_bytes(4, "little")
    path.write_bytes(data[:start] + whole + tail)
    found = [each.problem for each in unpack(path, store)]
    assert len(found) == 40
    assert all(found)


# ---- pictures


def test_pictures_are_of_three_formats_and_bounded(tmp_path: Path) -> None:
    huge = tmp_path / "huge.png"
    Image.new("L", (9, 9)).save(huge)
    data = bytearray(huge.read_bytes())
    data[16:24] = (13_000).to_bytes(4) * 2  # width and height, under a sum of their own
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4)
    huge.write_bytes(data)
    ran = coupling("depth", "--image", huge, seconds=SECONDS)
    require_refused(ran, "it has 13000 x 13000 pixels")
    assert ran.peak < 50 * MB
    program = tmp_path / "program.png"
    program.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n")
    ran = coupling("depth", "--image", program, seconds=SECONDS)
    require_refused(ran, "cannot identify image file")
    assert "Ghostscript" not in ran.said
    Image.new("L", (9, 9)).save(gif := io.BytesIO(), "GIF")
    program.write_bytes(gif.getvalue())
    require_refused(coupling("depth", "--image", program, seconds=SECONDS), "cannot identify image")


@pytest.mark.slow
def test_the_largest_picture_that_is_taken_takes_little(tmp_path: Path) -> None:
    made = Image.new("RGBA", (5000, 5000))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned
    made.save(tmp_path / "p.png", exif=exif)
    ran = bounded(lambda: read_image(tmp_path / "p.png"), seconds=SECONDS)
    assert (ran.status, ran.peak < 500 * MB) == (0, True), ran.said


# ---- models


@pytest.mark.parametrize(
    ("field", "number"),
    [
        *[("num_hidden_layers", n) for n in (10**6, 10**12)],
        *[("num_labels", 10**9), ("num_attention_heads", 10**9)],
        *[(name, 10**9) for name in ("hidden_size", "vocab_size", "head_dim")],
        ("intermediate_size", 10**12),
        ("max_position_embeddings", 10**15),
    ],
)
def test_no_number_of_a_config_builds_without_end(
    model: Path, tmp_path: Path, field: str, number: int
) -> None:
    probe  # noqa: B018 - imported before the fork
    place = shutil.copytree(model, tmp_path / "m")
    said = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(said | {field: number}))
    ran = coupling("models", "--probe", place, seconds=SECONDS)
    assert ran.is_plain, ran.said
    assert ran.peak < 500 * MB


@pytest.fixture
def apart() -> Iterator[None]:
    yield
    small._process.close()


@pytest.mark.slow
def test_a_tokenizer_that_ends_its_process_ends_no_other(
    model: Path, tmp_path: Path, apart: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coupling_core.sources.tokens._run", small.run)
    place = shutil.copytree(model, tmp_path / "m")
    said = json.loads((place / "tokenizer.json").read_text())
    more = {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 1000}
    said["normalizer"] = {"type": "Sequence", "normalizers": [more] * 4}
    (place / "tokenizer.json").write_text(json.dumps(said))
    evil, good = (Source("folder", "x", str(folder), "0" * 64) for folder in (place, model))
    assert tokenize("tree", evil) is None
    assert tokenize("tree", good) is not None


# ---- data sets


def test_a_small_parquet_file_that_stands_for_gigabytes_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "d" / "main"
    place.mkdir(parents=True)
    rows = pa.table({"question": pa.DictionaryArray.from_arrays([0] * 4000, ["x" * MB])})
    parquet.write_table(rows, place / "test-0.parquet", compression="zstd")
    assert (place / "test-0.parquet").stat().st_size < MB
    source = PromptSource(dataset="gsm8k", folder=tmp_path / "d")
    files = fetching.find_files(source, "main", "test")
    before = len(list(Path("/tmp").iterdir()))
    ran = bounded(lambda: fetching.from_folder(source, files, "main"), seconds=SECONDS)
    assert "rows take more than" in ran.last
    assert ran.peak < 700 * MB
    assert len(list(Path("/tmp").iterdir())) <= before + 1


# ---- and thousands that nobody thought of


FAILED: dict[str, tuple[int, ...]] = {
    "results": (1, 3, 8, 25, 31, 32, 34, 66, 113, 147, 191, 307, 321, 177),
    "configs": (2023,),
}
"""Numbers of those that once ended in a traceback."""
MANY = {"results": 5000, "archives": 4000, "pictures": 4000, "configs": 3000, "tokenizers": 4000}


@pytest.mark.parametrize("kind", ["results", "archives", "pictures"])
def test_no_spoilt_file_does_more_than_to_be_refused(kind: str) -> None:
    numbers = {*FAILED.get(kind, ()), *range(10)}
    assert spoilt(mutations.CASES[kind], sorted(numbers), seconds=SECONDS) == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MANY)
def test_none_of_twenty_thousand_does(kind: str) -> None:
    mutations.prepare(kind)
    assert spoilt(mutations.CASES[kind], range(MANY[kind]), seconds=SECONDS) == {}
