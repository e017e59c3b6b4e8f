"""Files of every kind that somebody may hand over, each spoilt by a number: the same one each time.

`CASES` has for each kind a function that does with such a file all that the program does with it.
"""

import base64
import copy
import io
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import tiny
from cases import random_result, trajectory_result
from PIL import Image

from coupling_core import Request, Store
from coupling_core.base.errors import CouplingError, InputError
from coupling_core.base.images import in_words, read_image, to_pixels
from coupling_core.measuring.worker import small
from coupling_core.sources.tokens import encoded
from coupling_core.store import archive
from coupling_core.store.archive import encode, load, read_header
from coupling_core.store.packs import pack, take_in
from coupling_core.store.request_key import make_key

NUMBERS = (0, 1, -1, 2, 7, 64, 2**15, 2**31, 2**63, 10**6, 10**12, 10**30, -(2**31), 1e308, -0.5)
ODD = (
    *(float("inf"), float("nan"), None, True, False, "", "x", "0", "é" * 300, "\ud800", "\0"),
    *([], {}, [[]], [None], {"": 0}, {"x": []}, [0] * 1000, "9" * 5000, "[" * 100),
)


def spoilt(random: Random, data: bytes) -> bytes:
    """Bytes, some of which are flipped, cut out, doubled, put in, or made a large number."""
    for _ in range(random.randint(1, 4)):
        at, to = sorted(random.choices(range(len(data) + 1), k=2))
        match random.randrange(7):
            case 0 | 1 if at < len(data):
                data = data[:at] + bytes([data[at] ^ random.randint(1, 255)]) + data[at + 1 :]
            case 2:
                data = data[:at] + data[to:]
            case 3:
                data = data[:to] + data[at:]
            case 4:
                data = data[:at] + random.randbytes(random.randint(0, 20)) + data[at:]
            case 5:
                data = data[:at] + bytes(min(to - at, 64)) + data[at + min(to - at, 64) :]
            case _:
                number = struct.pack(random.choice(("<I", ">I", "<Q")), random.getrandbits(31))
                data = data[:at] + number + data[at + len(number) :]
    return data


def respoken(random: Random, said: Any) -> Any:
    """JSON of which one to three places say something else."""
    said = copy.deepcopy(said)
    for _ in range(random.randint(1, 3)):
        places = [
            (part, at)
            for part in _nested(said)
            for at in (list(part) if isinstance(part, dict) else range(len(part)))
        ]
        if not places:
            return said
        part, at = random.choice(places)
        match random.randrange(6):
            case 0:
                del part[at]
            case 1 | 2:
                part[at] = random.choice(NUMBERS)
            case 3:
                part[at] = copy.deepcopy(random.choice(ODD))
            case 4:
                other, there = random.choice(places)
                with suppress(LookupError):  # it went with what it was in
                    part[at] = copy.deepcopy(other[there])
            case _ if isinstance(part, dict):
                part[str(random.choice(ODD))[:50]] = random.choice(NUMBERS)
    return said


def _nested(said: Any) -> list[Any]:
    if not isinstance(said, dict | list) or not said:
        return []
    parts = said.values() if isinstance(said, dict) else said
    return [said, *(found for part in parts for found in _nested(part))]


@contextmanager
def _store() -> Iterator[Store]:
    with TemporaryDirectory() as folder:
        yield Store(Path(folder), layers=(), gallery=Path(folder) / "none")


# ---- results


@cache
def _results() -> tuple[bytes, ...]:
    return tuple(map(encode, (random_result(), random_result(seed=1), trajectory_result())))


def result_file(random: Random) -> bytes:
    """A result spoilt in its bytes; or in what it says, under seals of its own."""
    data = random.choice(_results())
    if random.random() < 0.3:
        return spoilt(random, data)
    end = 8 + int.from_bytes(data[:8], "little")
    said = json.loads(data[8:end])
    metadata = said["__metadata__"]
    header = json.loads(metadata["header"])
    if random.random() < 0.25:
        said = respoken(random, said)
    else:
        header = respoken(random, header)
    with suppress(Exception):  # what has no key keeps the old one
        header["key"] = str(make_key(Request(**header["request"]), header["identity"]))
    with suppress(Exception):  # what has no metadata any more
        if random.random() < 0.9:
            said["__metadata__"]["header"] = json.dumps(header)
    return sealed(json.dumps(said).encode("utf-8", "surrogatepass"), data[end:])


def sealed(said: bytes, arrays: bytes) -> bytes:
    """The file of a result that says this of itself, under seals of its own."""
    said = said.replace(b'": "', b'":"')  # as the seals are looked for
    head = len(said).to_bytes(8, "little") + said
    head = archive._with_seal(head, archive._ARRAYS_SEAL, archive._sha256(arrays))
    head = archive._with_seal(head, archive._HEADER_SEAL, archive._BLANK)
    return archive._with_seal(head, archive._HEADER_SEAL, archive._sha256(head)) + arrays


def result(seed: int) -> None:
    """List it beside another, read it, and take it in."""
    from explorer.pages.runs.page import table
    from explorer.server.estimate import earlier, estimate

    data = result_file(Random(seed))
    with _store() as store:
        good = random_result(seed=2)
        store.put(good)
        path = store.root / f"{'0' * 32}-k50-v4.safetensors"
        path.write_bytes(data)
        _look(store)
        entries = store.entries()
        assert len(entries) == 2
        assert len(table(entries)) == 2
        for entry in entries:
            runs = earlier(entry.identity.get("digest", ""), good.request, entries)
            estimate(runs, 1.0, [1.0] * len(runs), in_seconds=True)
        path.unlink()
        with suppress(CouplingError):
            list(take_in(io.BytesIO(data), "file", store))
        for entry in store.entries():
            _use(store, entry.key)


def _look(store: Store) -> None:
    """What lists of results do."""
    for entry in store.entries():
        "".join(map(str, entry.row.values())).encode(errors="replace")
        store.verify(entry.key)
        for read in (read_header, load):
            with suppress(InputError):
                read(entry.path)


def _use(store: Store, key: str) -> None:
    """What is done with one that was let in."""
    from coupling_core.analysis.exports import arrays
    from coupling_core.base.kinds import kind_of
    from coupling_core.cli.reports import summary

    found = store.get(key)
    kind = kind_of(found.request.kind)
    view = kind.view(k=min(4, found.k_max)) if kind.has_k else kind.view()
    arrays(found, view)
    summary(found, view, stored=True)


# ---- archives


@cache
def _pack() -> bytes:
    with _store() as store:
        keys = [found.key for found in map(random_result, (1, 2)) if store.put(found)]
        pack(store, keys, store.root / "p.zip")
        return (store.root / "p.zip").read_bytes()


def packed(seed: int) -> None:
    """Take in a pack that is spoilt mostly in its directory, which stands at its end."""
    random, data, start = Random(seed), _pack(), 0
    if random.random() > 0.3:
        start = data.rindex(b'{\n "version"') if random.random() < 0.4 else data.index(b"PK\1\2")
    data = data[:start] + spoilt(random, data[start:])
    with _store() as store, suppress(CouplingError):
        list(take_in(io.BytesIO(data), "file", store))


# ---- pictures


@cache
def _pictures() -> list[bytes]:
    pixels = np.random.default_rng(0).integers(0, 255, (40, 50, 4), dtype=np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    made = []
    for kind in ("GIF P", "JPEG RGB", "PNG P", "PNG RGBA", "WEBP RGB"):
        (name, mode), held = kind.split(), io.BytesIO()
        options: dict[str, Any] = {} if name == "GIF" else {"exif": exif}
        Image.fromarray(pixels).convert(mode).save(held, name, **options)
        made.append(held.getvalue())
    return made


def picture(seed: int) -> None:
    """Read it as a file, and as a prompt."""
    random = Random(seed)
    data = spoilt(random, random.choice(_pictures()))
    with suppress(InputError):
        in_words(read_image(data))
    prompt = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    in_words(prompt)
    with suppress(InputError):
        to_pixels(prompt)


# ---- configs


@cache
def _said(name: str) -> tuple[str, ...]:
    """What is in a file of this name, of several models."""
    with TemporaryDirectory() as kept:
        families = ("llama", "gpt_neox", "bert", "t5")
        return tuple((tiny.folder(Path(kept) / f, f) / name).read_text() for f in families)


def config(seed: int) -> None:
    """Probe a model that has it."""
    from coupling_core.measuring.probe import probe
    from coupling_core.sources.identity import Source
    from coupling_core.sources.resolved import Resolved

    random = Random(seed)
    said = random.choice(_said("config.json"))
    if random.random() < 0.9:
        said = json.dumps(respoken(random, json.loads(said)))
    else:
        said = spoilt(random, said.encode()).decode(errors="replace")
    with TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(said)
        asked = Request((1, 2, 3), model=folder, k=4)
        source = Source("folder", "x", folder, "0" * 64)
        probe(Resolved(asked, {}, source), rehearse=random.random() < 0.5)


# ---- tokenizers


def tokenizer(seed: int) -> None:
    """Read a prompt with it, as the app does: where it may die."""
    random, said = Random(seed), _said("tokenizer.json")[0]
    if random.random() < 0.8:
        spelled = json.dumps(_respelled(random, json.loads(said))).encode()
    else:
        spelled = spoilt(random, said.encode())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_bytes(spelled)
        small.run(partial(encoded, "The cat sat on the mat.", path, seed))


def _respelled(random: Random, said: Any) -> Any:
    """A tokenizer that says something else beside its thousand words, and perhaps there too."""
    words = said["model"].pop("vocab"), said["model"].pop("merges")
    said = respoken(random, said)
    if isinstance(said.get("model"), dict):
        said["model"] |= {"vocab": words[0], "merges": words[1]}
        if random.random() < 0.3:
            said["model"] = respoken(random, said["model"])
    return said


def prepare(kind: str) -> None:
    """Make what forks then have in common."""
    if kind in ("configs", "tokenizers"):
        import coupling_core.measuring.probe  # noqa: F401

        _said("config.json")


CASES: Mapping[str, Callable[[int], None]] = {
    "results": result,
    "archives": packed,
    "pictures": picture,
    "configs": config,
    "tokenizers": tokenizer,
}
