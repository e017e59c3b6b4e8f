"""Whole maps of edits, run together, against the same edits one by one."""

import pytest
import tiny
import torch

from coupling_core.base.edits import Edit, flat
from coupling_core.engine import reference
from coupling_core.engine.edits.edited import edited
from coupling_core.engine.edits.effects import Effects
from coupling_core.engine.edits.obstacles import Obstacles
from coupling_core.engine.edits.programs import run_programs, shared_steps
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.true_float64 import in_float64

IDS = [5, 17, 200, 31, 8, 99, 42]
SLOW = ("t5", "gemma3", "mixtral", "bloom", "mamba", "bert")
FAMILIES = [
    "gpt2",
    *(pytest.param(family, marks=pytest.mark.slow) for family in SLOW),
]


def all_edits(L):
    every = range(1, L + 1)
    pairs = [(a, b) for a in every for b in every if a != b]
    return [
        *(Edit(verb, (b,)) for verb in ("skip", "repeat") for b in every),
        *(Edit("damp", (b,), 0.5) for b in every),
        *(Edit("replace", pair) for pair in pairs),
        *(Edit("interchange", pair) for pair in pairs if pair[0] < pair[1]),
        Edit("reverse", (1, L)), Edit("parallel", (2, 3)), Edit(),
    ]  # fmt: skip


def states_of(replays, edits):
    found = {}
    programs = [flat(edit.slots(replays.n_blocks)) for edit in edits]
    run_programs(replays, programs, lambda number, state: found.update({number: state.clone()}))
    return [found[number] for number in range(len(edits))]


@pytest.mark.parametrize("family", FAMILIES)
def test_edits_together_give_what_each_gives_alone(family):
    model = tiny.model(family)
    with in_float64(model):
        replays = Replays(read(model, IDS), 8)
        assert replays.at_once == 8 or family != "gpt2"  # some run one edit at a time
        edits, run, ids = all_edits(replays.n_blocks), replays.reader.runner, replays.reader.ids
        found = Effects(replays).of(torch.stack(states_of(replays, edits)))
        with torch.no_grad():
            own = run(ids).logits[0]
        for edit, effect in zip(edits, found, strict=True):
            with torch.no_grad(), edited(model, edit):
                expected = reference.divergence(own, run(ids).logits[0])
            assert (effect.divergence - expected).abs().max() <= 1e-10, edit


def test_what_begins_alike_is_run_once():
    replays = Replays(read(tiny.model("llama"), IDS))
    told = []
    one = Edit("replace", (1, 3)), Edit("interchange", (1, 3))
    programs = [flat(edit.slots(4)) for edit in (*one, *one)]
    run_programs(replays, programs, lambda *_: None, lambda *at: told.append(at))
    assert told[-1] == (6, 6)  # 3 2 are shared; 3 4 and 1 4 are each one's own
    assert shared_steps(flat(Edit("skip", (3,)).slots(4))) == 2


def test_a_change_of_loss_is_that_of_the_text():
    model = tiny.model("llama")
    replays = Replays(read(model, IDS))
    effects = Effects(replays)
    (found,) = effects.of(torch.stack(states_of(replays, [Edit("skip", (2,))])))
    own = effects.own_loss()
    ids = replays.reader.ids
    with torch.no_grad():
        before = model(ids, labels=ids).loss
        with edited(model, "skip(2)"):
            after = model(ids, labels=ids).loss
    assert own[:-1].mean() == pytest.approx(float(before), rel=1e-5)
    assert found.loss[:-1].mean() == pytest.approx(float(after - before), rel=1e-4)
    assert found.loss[-1].isnan()


@pytest.mark.parametrize("family", ["bert", "gpt_neo", "t5"])
def test_blocks_that_take_their_state_alone_run_anywhere(family):
    replays = Replays(read(tiny.model(family), IDS))
    obstacles = Obstacles(replays)
    assert {obstacles.in_slot(a, b) for a in (1, 2, 3) for b in (1, 2, 3)} == {""}
