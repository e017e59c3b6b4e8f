"""Damage to what a model is loaded from, at random places: no number comes of it, ever."""

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tiny
from fake_hub import REPO, client, lay_out
from rotting import flip, remembering, rot

from coupling_core import ComputeError, InputError, Request, Store, measure
from coupling_core.base.folders import SHIPPED
from coupling_core.base.results import Result
from coupling_core.engine.loading import forget
from coupling_core.sources import hub
from coupling_core.sources.identity import locate

OWN = "coupling-explorer/mini-64"
STEP = "step4000"
FILES = ("model.safetensors", "config.json", "tokenizer.json")
QUICK, ALL = 2, 34
"""Damages of each file."""
Damage = Callable[[Path, int], bytes]

pytestmark = pytest.mark.full

many = pytest.mark.parametrize(
    "times", [QUICK, pytest.param(ALL, marks=pytest.mark.slow)], ids=["quick", "all"]
)


@pytest.fixture
def sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget()
    remembering(monkeypatch)
    yield
    forget()


def outcomes(asked: Request, folder: Path, times: int, damage: Damage, store: Path) -> Counter[str]:
    """How measurements end after each of many damages, which are mended again."""
    chance, found = random.Random(0), Counter[str]()
    shelf, expected = Store(store, gallery=store / "none"), measure(asked)
    for name in FILES * times:
        file = (folder / name).resolve()
        forget()
        before = damage(file, chance.randrange(8 * file.stat().st_size))
        found[_outcome(asked, shelf, expected)] += 1
        file.write_bytes(before)
    assert not list(store.glob("*.safetensors"))
    forget()
    assert _outcome(asked, shelf, expected) == "the same numbers"
    return found


def _outcome(asked: Request, store: Store | None, expected: Result) -> str:
    try:
        found = measure(asked, store)
    except (ComputeError, InputError):
        return "refused"
    names = ("singular_values", "diagonal", "token_ids")
    is_same = all(np.array_equal(getattr(found, n), getattr(expected, n)) for n in names)
    return "the same numbers" if is_same else "other numbers"


@many
@pytest.mark.usefixtures("sound")
def test_bits_of_a_suite(times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"models--{OWN.replace('/', '--')}"
    copy = tmp_path / "shipped" / "suites" / name
    shutil.copytree(SHIPPED / "suites" / name, copy)
    monkeypatch.setattr(hub.cache, "SHIPPED", tmp_path / "shipped")
    asked = Request("The cat sat", model=OWN, revision=STEP, k=4)
    found = outcomes(asked, locate(asked).folder, times, flip, tmp_path / "store")
    assert found == {"refused": 3 * times}


@many
@pytest.mark.usefixtures("sound")
def test_bits_of_the_hubs_blobs(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client(monkeypatch, tmp_path)
    lay_out(tmp_path / "hub", {"main": tiny.folder(tmp_path / "m")})
    asked = Request("The cat sat", model=REPO, k=4)
    found = outcomes(asked, locate(asked).folder, times, flip, tmp_path / "store")
    assert found == {"refused": 3 * times}


@pytest.mark.slow
@pytest.mark.usefixtures("sound")
def test_bits_that_rot_beneath_a_folder(tmp_path: Path) -> None:
    folder = tiny.folder(tmp_path / "m")
    asked = Request("The cat sat", model=str(folder), k=4)
    found = outcomes(asked, folder, ALL, rot, tmp_path / "store")
    assert found == {"refused": 3 * ALL}


@pytest.mark.slow
@pytest.mark.usefixtures("sound")
def test_bits_that_rot_beneath_converted_weights(tmp_path: Path) -> None:
    """Refused once; then the file is converted anew, and gives its numbers."""
    asked = Request("The cat sat", model=str(tiny.gguf_file(tmp_path / "m.gguf")), k=4)
    expected, chance, found = measure(asked), random.Random(0), Counter[str]()
    store = Store(tmp_path / "store", gallery=tmp_path / "none")
    for name in FILES * (ALL // 4):
        assert locate(asked).is_converted
        file = locate(asked).converted / name
        forget()
        rot(file, chance.randrange(8 * file.stat().st_size))
        found[_outcome(asked, store, expected)] += 1
        assert _outcome(asked, None, expected) == "the same numbers"
    assert found == {"refused": 3 * (ALL // 4)}
