"""Files that are made to harm, by every door: none hangs, fills the memory or ends in a traceback.

Each is handed to a fork of this process, whose seconds and memory the system bounds.
"""

import io
import json
import os
import shutil
import tempfile
import zlib
from pathlib import Path

import mutations
import pyarrow as pa
import pytest
from bounded import MB, Ran, bounded, coupling, spoilt
from cases import random_result
from PIL import Image
from pyarrow import parquet

import coupling_core.cli.commands
import coupling_core.measuring.probe  # noqa: F401
import explorer.pages.runs.page  # noqa: F401 - forks then have all three
from coupling_core import Store
from coupling_core.base.images import read_image
from coupling_core.experiments.sweeps.definition import read
from coupling_core.measuring.worker import small
from coupling_core.sources.identity import Source
from coupling_core.sources.prompts import PromptSource, fetching
from coupling_core.sources.tokens import tokenize
from coupling_core.store.archive import SUFFIX

pytestmark = pytest.mark.full

RESULT = random_result()


def require_refused(ran: Ran, told: str) -> None:
    """It ended by itself, in words."""
    assert ran.is_plain, ran.said[-2000:]
    assert told in ran.said
    assert ran.peak < 500 * MB


# ---- what is no file


def test_a_pipe_or_a_device_is_read_by_nothing(tmp_path: Path, store: Store) -> None:
    os.mkfifo(tmp_path / "pipe")
    store.put(random_result(seed=1))
    commands = {
        "x.safetensors": ("runs", "import"),
        "x.zip": ("runs", "import"),
        "p.txt": ("prompts",),
        "p.png": ("depth", "--image"),
    }
    for name, line in commands.items():
        (tmp_path / name).symlink_to(tmp_path / "pipe" if name[0] == "x" else "/dev/zero")
        require_refused(coupling(*line, tmp_path / name), "cannot be read")
    stored = store.root / f"{RESULT.key}{SUFFIX}"
    for endless in (tmp_path / "pipe", Path("/dev/zero")):
        assert "cannot be read" in bounded(lambda at=endless: read(at)).last
        stored.unlink(missing_ok=True)
        stored.symlink_to(endless)
        ran = coupling("runs", "list", "--store", store.root)
        assert (ran.status, ran.said.count("it is a pipe or a device")) == (0, 1)
    require_refused(coupling("runs", "show", RESULT.key, "--store", store.root), "cannot be read")


# ---- pictures


def test_pictures_are_of_three_formats_and_bounded(tmp_path: Path) -> None:
    huge = tmp_path / "huge.png"
    Image.new("L", (9, 9)).save(huge)
    data = bytearray(huge.read_bytes())
    data[16:24] = (13_000).to_bytes(4) * 2  # width and height, under a sum of their own
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4)
    huge.write_bytes(data)
    ran = coupling("depth", "--image", huge)
    require_refused(ran, "it has 13000 x 13000 pixels")
    assert ran.peak < 50 * MB
    program = tmp_path / "program.png"
    program.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n")
    ran = coupling("depth", "--image", program)
    require_refused(ran, "its format is unknown")
    assert "Ghostscript" not in ran.said
    Image.new("L", (9, 9)).save(gif := io.BytesIO(), "GIF")
    program.write_bytes(gif.getvalue())
    require_refused(coupling("depth", "--image", program), "its format is unknown")


@pytest.mark.slow
def test_the_largest_picture_that_is_taken_takes_little(tmp_path: Path) -> None:
    made = Image.new("RGBA", (5000, 5000))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned
    made.save(tmp_path / "p.png", exif=exif)
    ran = bounded(lambda: read_image(tmp_path / "p.png"))
    assert (ran.status, ran.peak < 500 * MB) == (0, True), ran.said


# ---- models


LARGE = ("vocab_size", "num_labels", "head_dim", "num_attention_heads", "hidden_size")
NUMBERS = {"num_hidden_layers": (10**12, 10**6)} | dict.fromkeys(LARGE, (10**9,))
NUMBERS |= {"intermediate_size": (10**12,), "max_position_embeddings": (10**15,)}


@pytest.mark.parametrize(
    "fields",
    [["num_hidden_layers", "vocab_size"], pytest.param([*NUMBERS], marks=pytest.mark.slow)],
)
def test_no_number_of_a_config_builds_without_end(
    folder: Path, tmp_path: Path, fields: list[str]
) -> None:
    place = shutil.copytree(folder, tmp_path / "m")
    said = json.loads((place / "config.json").read_text())
    for field in fields:
        for number in NUMBERS[field]:
            (place / "config.json").write_text(json.dumps(said | {field: number}))
            ran = coupling("models", "--probe", place)
            assert ran.is_plain, (field, number, ran.said)
            assert ran.peak < 500 * MB, (field, number)


@pytest.mark.slow
def test_a_tokenizer_that_ends_its_process_ends_no_other(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    request.addfinalizer(small._process.close)
    monkeypatch.setattr("coupling_core.sources.tokens._run", small.run)
    place = shutil.copytree(folder, tmp_path / "m")
    said = json.loads((place / "tokenizer.json").read_text())
    more = {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 1000}
    said["normalizer"] = {"type": "Sequence", "normalizers": [more] * 4}
    (place / "tokenizer.json").write_text(json.dumps(said))
    evil, good = (Source("folder", "x", str(at), "0" * 64) for at in (place, folder))
    assert tokenize("tree", evil) is None
    assert tokenize("tree", good) is not None


# ---- data sets


def test_a_small_parquet_file_that_stands_for_gigabytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "d" / "main"
    place.mkdir(parents=True)
    rows = pa.table({"question": pa.DictionaryArray.from_arrays([0] * 4000, ["x" * MB])})
    parquet.write_table(rows, place / "test-0.parquet", compression="zstd")
    assert (place / "test-0.parquet").stat().st_size < MB
    source = PromptSource(dataset="gsm8k", folder=tmp_path / "d")
    files = fetching.find_files(source, "main", "test")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    ran = bounded(lambda: fetching.from_folder(source, files, "main"))
    assert "rows take more than" in ran.last
    assert ran.peak < 700 * MB
    assert list((tmp_path / "temporary").iterdir()) == []


# ---- and thousands that nobody thought of


FAILED: dict[str, tuple[int, ...]] = {
    "results": (1, 3, 8, 25, 31, 32, 34, 66, 113, 147, 191, 307, 321, 177),
    "configs": (2023,),
}
"""Numbers of those that once ended in a traceback."""
MANY = {"results": 5000, "archives": 4000, "pictures": 4000, "configs": 3000, "tokenizers": 4000}


def test_no_spoilt_file_does_more_than_to_be_refused() -> None:
    for kind in ("results", "archives", "pictures"):
        numbers = {*FAILED.get(kind, ()), *range(10)}
        assert spoilt(mutations.CASES[kind], sorted(numbers)) == {}, kind


@pytest.mark.slow
@pytest.mark.parametrize("kind", MANY)
def test_none_of_twenty_thousand_does(kind: str) -> None:
    mutations.prepare(kind)
    assert spoilt(mutations.CASES[kind], range(MANY[kind])) == {}
