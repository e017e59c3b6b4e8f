"""The sweeps whose tables ship: they are of today's sweep files, prompts, weights and keys."""

import json
from pathlib import Path

import numpy as np
import pytest

from coupling_core.analysis.findings import Question, find
from coupling_core.base.folders import SWEEPS
from coupling_core.experiments.sweeps import make, read, read_table
from coupling_core.experiments.vision import SUITE
from coupling_core.experiments.vision.findings import VisionFindings
from coupling_core.store.request_key import make_key, parse_key

FOLDERS = sorted((SWEEPS / "measured").iterdir())
assert FOLDERS


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def shipped(request: pytest.FixtureRequest):
    """A folder, its plan made anew, and its table."""
    folder: Path = request.param
    name = json.loads((folder / "plan.json").read_text())["name"]
    return folder, make(read(SWEEPS / f"{name}.toml")), read_table(folder / "table.csv")


def test_it_is_of_the_sweep_as_its_file_is_now(shipped) -> None:
    folder, plan, _ = shipped
    assert folder.name == plan.id
    noted = json.loads((folder / "plan.json").read_text())
    assert noted == json.loads(json.dumps(plan.described))


def test_every_measurement_has_its_rows_by_the_key_of_its_result(shipped) -> None:
    _, plan, table = shipped
    several = len(plan.sweep.k)
    asked = [item for item in plan.items() for _ in range(several)]
    assert len(table) == len(asked)
    for item, text in zip(asked, table.key, strict=True):
        wanted = make_key(item.request, plan.weights[item.weights].identity)
        found = parse_key(text)
        assert found is not None
        assert found.digest == wanted.digest
        assert found.answers(item.request)  # one of the gallery may hold more than was asked for
    assert list(table.k[:several]) == sorted(plan.sweep.k)


def test_every_number_is_there_and_certified(shipped) -> None:
    _, _, table = shipped
    assert table.certified.astype(str).eq("True").all()
    for name in ("coupling", "chance", "corrected", "alignment", "parameters", "tokens"):
        assert np.isfinite(table[name]).all(), name
    assert table.loss.notna().equals(table.step.notna())


def test_what_it_says_is_said_of_the_untrained_too(shipped) -> None:
    _, plan, table = shipped
    if plan.of_images:
        found = VisionFindings(table, 10)
        assert found.untrained.n == len(SUITE.seeds)
        assert abs(found.untrained.mean) < 0.01 < found.runs["low"].max()
        return
    rows = find(table, Question(8)).means.rows.set_index("model")
    trained, twin = (rows.loc[name] for name in rows.index[rows.index.str.startswith("SmolLM2")])
    assert trained.low > twin.high
    assert abs(twin.coupling) < 0.003
