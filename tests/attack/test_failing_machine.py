"""Kills and damage, of a sweep's notes and in the middle of an export: nothing is wrong."""

import json
import random
import signal
import zipfile
from collections import Counter
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

import pytest
from bounded import bounded
from cases import random_result
from store_processes import die_at
from sweep_table import model_row, sweep_of

from coupling_core import InputError, Store, View
from coupling_core.cli.files import write_result
from coupling_core.experiments.sweeps import Failure, Journal, State, read_table, write_sealed
from coupling_core.experiments.sweeps.table import COLUMNS
from coupling_core.store.archive import decode
from coupling_core.store.packs import pack

STATE = State("one-1", "One", total=9, stored=2, done=3, started=1e9, updated=1.1e9, working=("m",))
TABLE = sweep_of([model_row("m", "f", 0.4)], prompts=2).reindex(columns=list(COLUMNS))
PLAN = {"name": "one", "title": "One", "kinds": ["depth"], "k": [4, 0.25], "total": 9}
HOSTILE = (None, "x", [], {}, -1, 10**30, 1e308, float("nan"), True, [[]], "\ud800")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """A journal with all its files."""
    made = Journal(tmp_path / "sweeps" / "one-1")
    made.begin(dict(PLAN))
    made.note(STATE, now=True)
    made.note_failures([Failure("m", "p", "depth", "why")])
    write_sealed(made.table, TABLE)
    return made


def damages(content: bytes, bits: int) -> list[bytes]:
    """Every byte with this many of its bits flipped in turn, and every shorter file."""
    flipped = [
        content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]
        for at in range(len(content))
        for bit in random.Random(at).sample(range(8), bits)
    ]
    return flipped + [content[:end] for end in range(0, len(content), 1 if bits == 8 else 16)]


@pytest.mark.parametrize("bits", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_what_is_damaged_is_refused_and_never_something_else(journal: Journal, bits: int) -> None:
    for path, of in (
        (journal.folder / "state.json", journal.state),
        (journal.folder / "plan.json", journal.plan),
    ):
        content, whole, counted = path.read_bytes(), of(), Counter[bool]()
        for damaged in damages(content, bits):
            path.write_bytes(damaged)
            found = of()
            if isinstance(found, dict) and found:  # the hash's name may be what is damaged
                found = {name: value for name, value in found.items() if name in PLAN}
            assert found in (whole, None, {}), damaged
            counted[found == whole] += 1
        path.write_bytes(content)
        assert of() == whole
        assert counted[False] > len(content) * bits * 0.9  # some bits of JSON are but space
    content = journal.table.read_bytes()
    for damaged in damages(content, bits)[:: 1 if bits == 8 else 5]:
        journal.table.write_bytes(damaged)
        with pytest.raises(InputError):
            read_table(journal.table)
    journal.table.write_bytes(content)
    assert len(read_table(journal.table)) == len(TABLE)


def test_notes_without_a_hash_of_any_kind_break_nothing(journal: Journal) -> None:
    for name, note in (("state.json", asdict(STATE)), ("plan.json", PLAN)):
        for field in note:
            for value in HOSTILE:
                (journal.folder / name).write_text(json.dumps(dict(note) | {field: value}))
                state, plan = journal.state(), journal.plan()
                assert state is None or isinstance(
                    (state.runs, state.left, state.seconds_left), tuple
                )
                assert isinstance(plan, dict)
    for value in HOSTILE:
        (journal.folder / "failures.json").write_text(json.dumps([value]))
        assert journal.failures() == []


def write_and_die(store: Store, key: str, out: Path, occurrence: int) -> None:
    """Write a file, and be killed at the n-th call that opens, renames or removes one there."""
    die_at(occurrence, out.parent, "open", "os.rename", "os.remove")
    if out.suffix == ".zip":
        pack(store, [key], out)
    else:
        write_result(out, store.get(key), View(k=4), None)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "npz", "safetensors", "zip"])
def test_a_file_whose_writer_is_killed_is_the_old_one_or_the_new(
    ending: str, tmp_path: Path, store: Store
) -> None:
    store.put(result := random_result())
    out = tmp_path / "out" / f"file.{ending}"
    out.parent.mkdir()

    def write(occurrence: int) -> int:
        ran = bounded(lambda: write_and_die(store, result.key, out, occurrence))
        assert ran.status in (0, -signal.SIGKILL), ran.said
        return ran.status

    assert write(0) == 0
    new, kills, status = out.read_bytes(), -1, -signal.SIGKILL
    while status:
        kills += 1
        out.write_bytes(b"old")
        status = write(kills + 1)
        assert out.read_bytes() == b"old" or whole(out.read_bytes(), new, ending)
    assert kills >= 2


def whole(found: bytes, expected: bytes, ending: str) -> bool:
    """Whether a file is all there; some tell when they were made, or are in another order."""
    if ending == "zip":
        return zipfile.ZipFile(BytesIO(found)).testzip() is None
    return decode(found).complete if ending == "safetensors" else found == expected
