"""Watching coupling while a model trains: what is told, and that the training does not notice."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import shallow
import tiny
import torch
from transformers import Trainer, TrainingArguments, default_data_collator

from coupling_core import Request, Store, View, measure
from coupling_core.analysis.by_step import numbers
from coupling_core.base.folders import SWEEPS
from coupling_core.experiments.watching.budget import Budget
from coupling_core.experiments.watching.callback import CouplingCallback
from coupling_core.measuring.stored_steps import collect
from coupling_core.sources.prompts import read_file
from coupling_core.sources.suites import find_suite, suites

pytestmark = pytest.mark.usefixtures("one_thread")

PROBES = ("The cat sat on the mat", "A dog lay down")
STEPS = 3


def texts():
    """The shipped ones as rows of a trainer, of one length."""
    words = tiny.tokenizer()
    shipped = read_file(SWEEPS / "prompts.jsonl")[:24]
    of_each = [(words(prompt.text).input_ids * 12)[:12] for prompt in shipped]
    return [{"input_ids": ids, "labels": ids} for ids in of_each]


def small(seed=0):
    """A model of three blocks."""
    return shallow.model("gpt_neox", 3, seed=seed).requires_grad_(True)


def fresh():
    torch.manual_seed(0)
    model = small()
    model.config.attention_dropout = model.config.hidden_dropout = 0.1
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.1  # so that random numbers matter
    return model


def trained(tmp_path, callback=None, report_to=(), **more):
    arguments = TrainingArguments(
        output_dir=str(tmp_path / "out"), max_steps=STEPS, per_device_train_batch_size=4,
        logging_steps=1, learning_rate=5e-3, report_to=list(report_to), save_strategy="no",
        use_cpu=True, seed=1, **more,
    )  # fmt: skip
    trainer = Trainer(
        fresh(), arguments, train_dataset=texts(), processing_class=tiny.tokenizer(),
        data_collator=default_data_collator, callbacks=[callback] if callback else [],
    )  # fmt: skip
    trainer.train()
    return trainer


def losses(trainer):
    return [row["loss"] for row in trainer.state.log_history if "loss" in row]


def assert_same(watched, alone):
    """Two trainings, to the bit."""
    assert len(losses(alone)) == STEPS
    assert losses(watched) == losses(alone)
    parts = zip(watched.model.named_parameters(), alone.model.parameters(), strict=True)
    assert [name for (name, a), b in parts if not torch.equal(a, b)] == []


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same training alone and watched, and what was found of its run on the way."""
    folder = tmp_path_factory.mktemp("both")
    shelf, seen = Store(folder / "store"), []

    def look_in(look, png):
        course = collect(find_suite("my-run"), Request(PROBES[0]), shelf)
        seen.append((course.steps, course.missing))
        assert png.startswith(b"\x89PNG")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUPLING_HOME", str(folder / "home"))
        patch.setenv("BROWSER_PATH", "/nowhere")  # a Chromium for each picture takes seconds
        watch = CouplingCallback(
            PROBES, every=2, share=1.0, name="my-run", title="Mine", store=shelf, report=look_in
        )
        found = SimpleNamespace(watch=watch, shelf=shelf, seen=seen, home=folder / "home")
        found.alone, found.watched = trained(folder), trained(folder, watch)
    return found


@pytest.mark.full
def test_a_training_does_not_notice_to_the_bit_that_it_is_measured(both):
    assert_same(both.watched, both.alone)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["bf16", "gradient_checkpointing"])
def test_other_trainings_do_not_notice_it_either(tmp_path, how):
    watch = CouplingCallback(PROBES, every=2, share=1.0, k=4)
    assert_same(trained(tmp_path, watch, **{how: True}), trained(tmp_path, **{how: True}))


@pytest.mark.full
def test_looks_have_the_numbers_of_the_model_at_that_step(both):
    looks = both.watch.looks
    told = [row for row in both.watched.state.log_history if "coupling/corrected" in row]
    assert [look.step for look in looks] == [row["step"] for row in told] == [0, 2, 3]
    for look, model in ((looks[0], fresh()), (looks[-1], both.watched.model)):
        asked = {"model": model, "tokenizer": tiny.tokenizer(), "k": 8}
        means = [measure(text, None, **asked).scores(k=8).mean() for text in PROBES]
        for name in ("corrected", "chance"):
            expected = np.mean([getattr(one, name) for one in means])
            assert look.numbers[name] == pytest.approx(expected, rel=1e-5)
    assert looks[0].numbers != looks[-1].numbers


@pytest.mark.full
def test_a_run_becomes_a_suite_while_it_goes_on(both, monkeypatch):
    monkeypatch.setenv("COUPLING_HOME", str(both.home))
    assert both.seen == [((0,), ()), ((0, 2), ()), ((0, 2, 3), ())]
    suite = suites()["my-run"]
    assert (suite.title, suite.is_watched, suite.is_own) == ("Mine", True, True)
    courses = [collect(suite, Request(prompt), both.shelf) for prompt in PROBES]
    assert [course.missing for course in courses] == [(), ()]
    of_each = [[one.corrected for one in numbers(course, View(k=8))] for course in courses]
    looks = [look.numbers["corrected"] for look in both.watch.looks]
    np.testing.assert_allclose(np.mean(of_each, 0), looks, rtol=1e-5)


def test_a_loop_of_ones_own_measures_token_ids_and_lists_what_it_leaves_out(caplog):
    for share, measured, left_out in ((1.0, [0, 2, 3, 4], []), (1e-6, [0, 3], [2, 4])):
        watch = CouplingCallback([(3, 5, 7, 9)], every=2, share=share)
        model = fresh()
        for step in range(5):
            watch.after(step, model, last=step == 3)
        assert [look.step for look in watch.looks] == measured
        assert watch.left_out == left_out
        assert len(caplog.records) == bool(left_out)  # once for all steps


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_no_more_time_is_taken_than_allowed(share):
    now = [0.0]
    budget = Budget(share, lambda: now[0])
    for _ in range(1000):
        now[0] += 1.0  # a step of training
        if budget.allows():
            now[0] += 5.0
            budget.spend(5.0)
    assert 0.9 * share < budget.so_far <= share


def test_what_cannot_be_measured_ends_the_watching_and_not_the_training(tmp_path, caplog):
    watch = CouplingCallback([(3, 5, 7)], every=1, share=1.0)
    model = fresh()
    watch.after(0, model)
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    watch.after(1, model)
    assert [look.step for look in watch.looks] == [0]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    watch.after(2, model)


def test_looks_are_a_table_and_a_figure():
    watch = CouplingCallback([(1, 2, 3), (4, 5)], every=1, share=1.0, k=4)
    assert watch.to_pandas().empty
    assert "No score" in watch.verdict
    assert "<table" in watch._repr_html_()
    watch.after(0, fresh())
    assert "only" in watch.verdict
    watch.after(1, fresh())
    watch.note_loss(1, 3.5)
    assert "step 0" in watch.verdict
    assert "2 looks" in repr(watch)
    table = watch.to_pandas()
    assert (table.step.tolist(), table.attrs["K"]) == ([0, 1], 4)
    np.testing.assert_array_equal(table.loss, [np.nan, 3.5])
    found = [measure(p, model=fresh(), store=None).scores(k=4).mean() for p in [(1, 2, 3), (4, 5)]]
    assert table.coupling[0] == pytest.approx(np.mean([one.coupling for one in found]), abs=1e-5)
    for figure in ("corrected", "locality"):
        (line,) = [one for one in watch.plot(figure).figure.data if one.customdata is not None]
        np.testing.assert_allclose(line.y, table[figure])


def kept(name, steps, *, seed=0, losses=()):
    """What is found of a run of this name after it was watched at these steps."""
    model = small(seed)
    watch = CouplingCallback([(1, 2, 3)], every=5, share=1.0, k=4, name=name)
    for step in steps:
        watch.after(step, model)
        if step in losses:
            watch.note_loss(step, 100.0 + step)
    found = collect(find_suite(name), Request((1, 2, 3)), Store())
    return {one.step: one.loss for one in numbers(found, View(4))}


def test_a_training_that_goes_on_keeps_its_beginning_and_one_anew_keeps_nothing(caplog):
    assert kept("on", (0, 3, 4, 5), losses=(0, 3, 4, 5)) == {0: 100.0, 5: 105.0}
    (told,) = caplog.records  # of losses that have no place, once
    assert "step 3" in told.getMessage()
    gone_on = kept("on", (5, 10), losses=(10,))
    assert gone_on == pytest.approx({0: 100.0, 5: np.nan, 10: 110.0}, nan_ok=True)
    anew = kept("on", (1, 5), seed=3)
    assert list(anew) == [5]
    assert np.isnan(anew[5])
    assert "0, 5, 10" in caplog.text


def test_of_two_callbacks_of_one_name_the_first_keeps_nothing_more(caplog):
    first, second = (
        CouplingCallback([(1, 2, 3)], every=1, k=4, share=1.0, name="both") for _ in range(2)
    )
    for step in (0, 1):
        for watch in (first, second):
            watch.after(step, shallow.model("llama"))
    assert "both" in caplog.text
    assert ([look.step for look in first.looks], len(second.looks)) == ([0], 2)


def test_a_watched_run_says_with_what_it_was_measured(run):
    kept("said", (0,))
    suite = find_suite("said")
    assert (suite.probes(), suite.usual_k) == (((1, 2, 3),), 4)
    assert collect(suite, Request((1, 2, 3), k=None), Store()).default_k == 4
    status, out, told = run("training", "--suite", "said", "--json")
    assert not status, told
    assert [step["step"] for step in json.loads(out)["suites"][0]["steps"]] == [0]
    assert json.loads(out)["k"] == 4
    status, _, told = run("training", "--suite", "said", "--prompt", "another")
    assert (status, "(1, 2, 3)" in told) == (1, True)


@pytest.mark.slow  # where their packages are installed
def test_tensorboard_has_curves_and_maps_beside_the_losses(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    watch = CouplingCallback(PROBES, every=2, share=1.0)
    trained(tmp_path, watch, report_to=["tensorboard"])
    (folder,) = (tmp_path / "out" / "runs").iterdir()
    found = EventAccumulator(str(folder), size_guidance={"images": 0}).Reload()
    told = {one.step: one.value for one in found.Scalars("coupling/corrected")}
    expected = {look.step: look.numbers["corrected"] for look in watch.looks}
    assert told == pytest.approx(expected, rel=1e-5)
    assert len(found.Images("coupling/map")) == 3
    assert found.Scalars("train/loss")


@pytest.mark.slow
def test_wandb_offline_has_them(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    watch = CouplingCallback(PROBES, every=2, share=1.0)
    trained(tmp_path, watch, report_to=["wandb"])
    summary = dict(wandb.run.summary)
    wandb.finish()
    last = watch.looks[-1].numbers["corrected"]
    assert summary["coupling/corrected"] == pytest.approx(last, rel=1e-6)
    assert summary["train/loss"]
    assert list(tmp_path.glob("wandb/offline-run-*/files/media/images/coupling/map*.png"))
