"""Watching coupling while a model trains: what is told, and that the training does not notice."""

import json

import numpy as np
import pytest
import tiny
import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, default_data_collator

from coupling_core import Request, Store, View, measure
from coupling_core.base.folders import SWEEPS
from coupling_core.experiments.watching.budget import Budget
from coupling_core.experiments.watching.callback import CouplingCallback, picture
from coupling_core.measuring.stored_steps import collect, numbers
from coupling_core.sources.prompts import read_file
from coupling_core.sources.suites import find_suite, suites

PROBES = ("The cat sat on the mat", "A dog lay down")
STEPS = 6


class Texts(Dataset):
    """The shipped texts, of one length."""

    def __init__(self):
        words = tiny.tokenizer()
        self.rows = []
        for prompt in read_file(SWEEPS / "prompts.jsonl")[:24]:
            ids = (words(prompt.text).input_ids * 12)[:12]
            self.rows.append({"input_ids": ids, "labels": ids})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at]


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path / "home"))


def fresh():
    torch.manual_seed(0)
    model = tiny.model("gpt_neox", 0).requires_grad_(True)
    model.config.attention_dropout = model.config.hidden_dropout = 0.1
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.1  # so that random numbers matter
    return model


def trained(tmp_path, callback=None, report_to=(), **more):
    arguments = TrainingArguments(
        output_dir=str(tmp_path / "out"),
        max_steps=STEPS,
        per_device_train_batch_size=4,
        logging_steps=1,
        learning_rate=5e-3,
        report_to=list(report_to),
        save_strategy="no",
        use_cpu=True,
        seed=1,
        **more,
    )
    trainer = Trainer(
        fresh(),
        arguments,
        train_dataset=Texts(),
        processing_class=tiny.tokenizer(),
        data_collator=default_data_collator,
        callbacks=[callback] if callback else [],
    )
    trainer.train()
    return trainer


def losses(trainer):
    return [row["loss"] for row in trainer.state.log_history if "loss" in row]


@pytest.mark.parametrize(
    "how",
    [
        {},
        pytest.param({"bf16": True}, marks=pytest.mark.slow),
        pytest.param({"gradient_checkpointing": True}, marks=pytest.mark.slow),
    ],
    ids=["plain", "bf16", "checked"],
)
def test_a_training_does_not_notice_to_the_bit_that_it_is_measured(tmp_path, how):
    alone = trained(tmp_path, **how)
    watch = CouplingCallback(PROBES, every=2, share=1.0, k=4)
    watched = trained(tmp_path, watch, **how)
    assert len(losses(alone)) == STEPS
    assert losses(watched) == losses(alone)
    for (name, a), b in zip(
        watched.model.named_parameters(), alone.model.parameters(), strict=True
    ):
        assert torch.equal(a, b), name
    told = [row for row in watched.state.log_history if "coupling/corrected" in row]
    steps = [look.step for look in watch.looks]
    assert steps == [row["step"] for row in told] == [0, 2, 4, 6]
    for look, model in ((watch.looks[0], fresh()), (watch.looks[-1], watched.model)):
        asked = {"model": model, "tokenizer": tiny.tokenizer(), "k": 4}
        means = [measure(text, None, **asked).scores(k=4).mean() for text in PROBES]
        for name in ("corrected", "chance"):
            expected = np.mean([getattr(one, name) for one in means])
            assert look.numbers[name] == pytest.approx(expected, rel=1e-5)
    assert watch.looks[0].numbers != watch.looks[-1].numbers


def test_a_run_becomes_a_suite_while_it_goes_on(tmp_path):
    shelf, seen = Store(tmp_path / "store"), []

    def look_in(look, png):
        course = collect(find_suite("my-run"), Request(PROBES[0]), shelf)
        seen.append((course.steps, course.missing))
        assert png.startswith(b"\x89PNG")

    watch = CouplingCallback(
        PROBES, every=3, share=1.0, name="my-run", title="Mine", store=shelf, report=look_in
    )
    trained(tmp_path, watch, eval_strategy="no")
    assert seen == [((0,), ()), ((0, 3), ()), ((0, 3, 6), ())]
    suite = suites()["my-run"]
    assert (suite.title, suite.is_watched, suite.is_own) == ("Mine", True, True)
    for prompt in PROBES:
        course = collect(suite, Request(prompt), shelf)
        assert course.missing == ()
    both = [
        [n.corrected for n in numbers(collect(suite, Request(p), shelf), View(k=8))] for p in PROBES
    ]
    np.testing.assert_allclose(
        np.mean(both, 0), [look.numbers["corrected"] for look in watch.looks], rtol=1e-5
    )


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
    assert "<table" in watch._repr_html_()
    watch.after(0, fresh())
    assert "step 0" in watch.verdict
    assert "plotly" in watch._repr_html_()
    assert picture(watch.looks[0], View(4), "two probes").startswith(b"\x89PNG")
    assert watch.to_pandas().attrs["K"] == 4
    for step in (1, 2):
        watch.after(step, fresh())
    watch.note_loss(1, 3.5)
    table = watch.to_pandas()
    np.testing.assert_array_equal(table.loss, [np.nan, 3.5, np.nan])
    assert len(watch.plot("loss").figure.data)
    found = [measure(p, model=fresh(), store=None).scores(k=4).mean() for p in [(1, 2, 3), (4, 5)]]
    assert table.coupling[0] == pytest.approx(np.mean([one.coupling for one in found]), abs=1e-5)
    assert table.step.tolist() == [0, 1, 2]
    for figure in ("corrected", "coupling", "alignment", "locality"):
        (line,) = [one for one in watch.plot(figure).figure.data if len(one.customdata or ())]
        np.testing.assert_allclose(line.y, table[figure])


def kept(name, steps, *, seed=0, losses=(), every=5):
    """What is found of a run of this name after it was watched at these steps."""
    torch.manual_seed(seed)
    model = tiny.model("gpt_neox", seed).requires_grad_(True)
    watch = CouplingCallback([(1, 2, 3), (4, 5)], every=every, share=1.0, k=4, name=name)
    for step in steps:
        watch.after(step, model)
        if step in losses:
            watch.note_loss(step, 100.0 + step)
    found = collect(find_suite(name), Request((1, 2, 3)), Store())
    return {one.step: one.loss for one in numbers(found, View(4))}


def test_a_new_run_has_no_loss_of_an_earlier_one_of_its_name(caplog):
    assert kept("clash", (0, 5, 10), losses=(0, 5, 10)) == {0: 100.0, 5: 105.0, 10: 110.0}
    assert not caplog.records
    again = kept("clash", (0, 5), seed=3)
    assert list(again) == [0, 5]
    assert np.isnan(list(again.values())).all()
    assert "0, 5, 10" in caplog.text


def test_a_training_that_goes_on_keeps_its_beginning():
    kept("on", (0, 5, 10, 15), losses=(5, 15))
    found = kept("on", (10, 15, 20), losses=(20,))
    assert list(found) == [0, 5, 10, 15, 20]
    np.testing.assert_array_equal(list(found.values()), [np.nan, 105.0, np.nan, np.nan, 120.0])
    assert list(kept("on", (1, 5), losses=())) == [5]


def test_a_loss_without_a_place_is_told_once(caplog):
    watch = CouplingCallback([(1, 2, 3)], every=5, share=1.0, k=4, name="between")
    watch.after(0, fresh())
    for step in (0, 3, 4):
        watch.note_loss(step, 2.0)
    (told,) = [record.getMessage() for record in caplog.records]
    assert "step 3" in told


def test_a_watched_run_says_with_what_it_was_measured(run):
    kept("said", (0, 5))
    suite = find_suite("said")
    assert suite.probes() == ((1, 2, 3), (4, 5))
    assert (suite.usual_k, find_suite("mini-64").usual_k) == (4, 8)
    assert collect(suite, Request((1, 2, 3), k=None), Store()).default_k == 4
    status, out, told = run("training", "--suite", "said", "--json")
    assert not status, told
    assert [step["step"] for step in json.loads(out)["suites"][0]["steps"]] == [0, 5]
    assert json.loads(out)["k"] == 4
    status, _, told = run("training", "--suite", "said", "--prompt", "another")
    assert status == 1
    assert "(1, 2, 3) and (4, 5)" in told
