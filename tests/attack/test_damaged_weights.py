"""Damage to what a model is loaded from, at many random places: no number comes of it, ever.

One place of each kind is among the quick tests: tests/sources/test_integrity.py.
"""

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

pytestmark = pytest.mark.slow

OWN = "coupling-explorer/mini-64"
FILES = ("model.safetensors", "config.json", "tokenizer.json")
TIMES = 34
"""Damages of each file."""


@pytest.fixture(autouse=True)
def _sound(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget()
    remembering(monkeypatch)
    yield
    forget()


def outcome(asked: Request, store: Store | None, expected: Result) -> str:
    """How a measurement ends."""
    try:
        found = measure(asked, store)
    except (ComputeError, InputError):
        return "refused"
    names = ("singular_values", "diagonal", "token_ids")
    is_same = all(np.array_equal(getattr(found, n), getattr(expected, n)) for n in names)
    return "the same numbers" if is_same else "other numbers"


def require_refused(asked: Request, damage: Callable[[Path, int], bytes], store: Store) -> None:
    """After each of many damages, which are mended again."""
    chance, found, expected = random.Random(0), Counter[str](), measure(asked)
    folder = locate(asked).folder
    for name in FILES * TIMES:
        file = (folder / name).resolve()
        forget()
        before = damage(file, chance.randrange(8 * file.stat().st_size))
        found[outcome(asked, store, expected)] += 1
        file.write_bytes(before)
    assert found == {"refused": 3 * TIMES}
    assert not list(store.root.glob("*.safetensors"))
    forget()
    assert outcome(asked, store, expected) == "the same numbers"


def test_bits_of_a_suite(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"models--{OWN.replace('/', '--')}"
    shutil.copytree(SHIPPED / "suites" / name, tmp_path / "shipped" / "suites" / name)
    monkeypatch.setattr(hub.cache, "SHIPPED", tmp_path / "shipped")
    require_refused(Request("The cat sat", model=OWN, revision="step4000", k=4), flip, store)


def test_bits_of_the_hubs_blobs(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    client(monkeypatch, tmp_path)
    lay_out(tmp_path / "hub", {"main": tiny.folder(tmp_path / "m")})
    require_refused(Request("The cat sat", model=REPO, k=4), flip, store)


def test_bits_that_rot_beneath_a_folder(tmp_path: Path, store: Store) -> None:
    folder = tiny.folder(tmp_path / "m")
    require_refused(Request("The cat sat", model=str(folder), k=4), rot, store)


def test_bits_that_rot_beneath_converted_weights(tmp_path: Path, store: Store) -> None:
    """Refused once; then the file is converted anew, and gives its numbers."""
    asked = Request("The cat sat", model=str(tiny.gguf_file(tmp_path / "m.gguf")), k=4)
    expected, chance, found = measure(asked), random.Random(0), Counter[str]()
    for name in FILES * (TIMES // 4):
        assert locate(asked).is_converted
        file = locate(asked).converted / name
        forget()
        rot(file, chance.randrange(8 * file.stat().st_size))
        found[outcome(asked, store, expected)] += 1
        assert outcome(asked, None, expected) == "the same numbers"
    assert found == {"refused": 3 * (TIMES // 4)}
