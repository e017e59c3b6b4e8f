"""Watching coupling while a model trains: what is told, and that the training does not notice."""

import json

import numpy as np
import pytest
import tiny
import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, default_data_collator

from coupling_core import InputError, Request, Store, View, measure
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
    "how", [{}, {"bf16": True}, {"gradient_checkpointing": True}], ids=["plain", "bf16", "checked"]
)
def test_a_training_does_not_notice_to_the_bit(tmp_path, how):
    alone = trained(tmp_path, **how)
    watch = CouplingCallback(PROBES, every=2, share=1.0)
    watched = trained(tmp_path, watch, **how)
    assert len(losses(alone)) == STEPS
    assert losses(watched) == losses(alone)
    for (name, a), b in zip(
        watched.model.named_parameters(), alone.model.parameters(), strict=True
    ):
        assert torch.equal(a, b), name
    assert [look.step for look in watch.looks] == [0, 2, 4, 6]


def test_the_numbers_are_those_of_a_measurement(tmp_path):
    watch = CouplingCallback(PROBES, every=3, share=1.0, k=4)
    trainer = trained(tmp_path, watch)
    first, last = watch.looks[0], watch.looks[-1]
    for look, model in ((first, fresh()), (last, trainer.model)):
        found = [
            measure(text, None, model=model, tokenizer=tiny.tokenizer(), k=4).scores(k=4).mean()
            for text in PROBES
        ]
        assert look.numbers["corrected"] == pytest.approx(
            np.mean([one.corrected for one in found]), rel=1e-5
        )
        assert look.numbers["chance"] == pytest.approx(
            np.mean([one.chance for one in found]), rel=1e-5
        )
    assert first.numbers != last.numbers
    told = [row for row in trainer.state.log_history if "coupling/corrected" in row]
    assert [row["step"] for row in told] == [0, 3, 6]


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
    by_step = [n.corrected for n in numbers(course, View(k=8))]
    both = [
        [n.corrected for n in numbers(collect(suite, Request(p), shelf), View(k=8))] for p in PROBES
    ]
    assert by_step == both[1]
    np.testing.assert_allclose(
        np.mean(both, 0), [look.numbers["corrected"] for look in watch.looks], rtol=1e-5
    )


def test_a_run_of_the_same_name_begins_anew(tmp_path):
    shelf = Store(tmp_path / "store")
    for steps in (3, 2):
        watch = CouplingCallback(PROBES[:1], every=1, share=1.0, name="again", store=shelf)
        model = fresh()
        for step in range(steps):
            watch.after(step, model, tiny.tokenizer())
        watch.note_loss(1, 4.5)
    assert find_suite("again").steps == (0, 1)
    assert find_suite("again").losses() == {1: 4.5}


def test_a_loop_of_ones_own_measures_token_ids(tmp_path):
    watch = CouplingCallback([(3, 5, 7, 9)], every=2, share=1.0)
    model = fresh()
    for step in range(5):
        watch.after(step, model, last=step == 3)
    assert [look.step for look in watch.looks] == [0, 2, 3, 4]


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_no_more_time_is_taken_than_allowed(share):
    now = [0.0]
    budget = Budget(share, lambda: now[0])
    for _ in range(1000):
        now[0] += 1.0  # a step of training
        if budget.allows():
            now[0] += 5.0
            budget.spend(5.0)
    assert budget.so_far <= share
    assert budget.so_far > 0.9 * share


def test_what_cannot_be_measured_ends_the_watching_and_not_the_training(tmp_path, caplog):
    watch = CouplingCallback([(3, 5, 7)], every=1, share=1.0)
    model = fresh()
    watch.after(0, model)
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    watch.after(1, model)
    assert [look.step for look in watch.looks] == [0]
    assert "is not watched any longer" in caplog.text
    watch.after(2, model)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"prompts": ["The cat"]}, "tokenizer"), ({"prompts": [(3, 5)], "k": 500}, "width")],
)
def test_what_the_model_can_never_meet_is_refused_at_the_first_look(wrong, told):
    watch = CouplingCallback(**wrong, every=1, share=1.0)
    with pytest.raises(InputError, match=told):
        watch.after(0, fresh())


def test_steps_left_out_are_listed_and_said_once(caplog):
    watch = CouplingCallback([(3, 5, 7)], every=1, share=1e-6)
    model = fresh()
    for step in range(4):
        watch.after(step, model, last=step == 3)
    assert [look.step for look in watch.looks] == [0, 3]
    assert watch.left_out == [1, 2]
    assert caplog.text.count("is not measured at step") == 1
    assert "2 steps left out" in repr(watch)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"prompts": []}, "at least one prompt"),
        ({"prompts": ["x"], "every": 0}, "every must be"),
        ({"prompts": ["x"], "share": 0.0}, "share"),
        ({"prompts": ["x"], "name": "My Run"}, "small letters"),
        ({"prompts": ["x"], "name": "mini-64"}, "a suite of its own"),
        ({"prompts": ["x"], "name": "../x"}, "small letters"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, told):
    with pytest.raises(InputError, match=told):
        CouplingCallback(**wrong)


def test_the_picture_is_that_of_the_mean_map():
    watch = CouplingCallback(PROBES, every=1, share=1.0)
    watch.after(0, fresh(), tiny.tokenizer())
    assert picture(watch.looks[0], View(8), "two probes").startswith(b"\x89PNG")


def test_looks_are_a_table_and_a_figure():
    watch = CouplingCallback([(1, 2, 3), (4, 5)], every=1, share=1.0, k=4)
    with pytest.raises(InputError, match="nothing is measured yet"):
        watch.plot()
    assert watch.to_pandas().empty
    assert "is measured yet" in watch.verdict
    assert "<table" in watch._repr_html_()
    watch.after(0, fresh())
    assert watch.verdict.endswith(" at step 0, the only one so far.")
    assert "plotly" in watch._repr_html_()
    assert watch.to_pandas().attrs["K"] == 4
    for step in (1, 2):
        watch.after(step, fresh())
    watch.note_loss(1, 3.5)
    assert "over 2 prompts at K = 4 is " in watch.verdict
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
    assert "is there already: what it has of steps 0, 5, 10 is replaced" in caplog.text


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
    assert [record.getMessage()[:36] for record in caplog.records] == [
        "the held-out loss of step 3 has no p"
    ]


def test_a_watched_run_says_with_what_it_was_measured(run):
    kept("said", (0, 5))
    assert find_suite("said").probes() == ((1, 2, 3), (4, 5))
    status, out, told = run("training", "--suite", "said", "--json")
    assert not status, told
    assert [step["step"] for step in json.loads(out)["suites"][0]["steps"]] == [0, 5]
    status, _, told = run("training", "--suite", "said", "--prompt", "another")
    assert status == 1
    assert "it was watched with (1, 2, 3) and (4, 5)" in told
    status, _, told = run("training", "--suite", "mini-64")
    assert status
    assert "give --prompt" in told


def test_a_run_is_looked_at_with_the_k_that_it_was_watched_with(run):
    kept("narrow", (0, 5))
    assert find_suite("narrow").usual_k == 4
    assert find_suite("mini-64").usual_k == 8
    found = collect(find_suite("narrow"), Request((1, 2, 3), k=None), Store())
    assert found.default_k == 4
    _, out, _ = run("training", "--suite", "narrow", "--json")
    assert json.loads(out)["k"] == 4


def test_a_model_of_one_block_is_refused_at_the_first_look():
    model = fresh()
    del model.gpt_neox.layers[1:]
    model.config.num_hidden_layers = 1
    watch = CouplingCallback([(1, 2, 3)], every=5, share=1.0, k=4)
    with pytest.raises(InputError, match="one block"):
        watch.after(0, model)
