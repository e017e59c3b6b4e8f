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
FAMILIES = [
    "gpt2",
    *(pytest.param(family, marks=pytest.mark.full) for family in ("gemma3", "mixtral", "t5")),
    *(pytest.param(family, marks=pytest.mark.slow) for family in ("bloom", "mamba", "bert")),
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


def tolerance(divergence, logits):
    """1e-5 of a divergence, and what rounding of the logits makes of it.

    Its derivative by the logits is q - p, whose 1-norm is at most sqrt(2 KL) (Pinsker). So logits
    that are off by e move it by e sqrt(2 KL), which is more than 1e-5 of it where KL < 2e10 e^2,
    however exactly it is computed from them: at e = 1e-6, below 0.02 nats.
    """
    rounding = 32 * torch.finfo(torch.float32).eps * logits.abs().amax(-1)
    return 1e-5 * divergence + rounding * (2 * divergence).sqrt() + 1e-12


@pytest.mark.parametrize("family", FAMILIES)
def test_edits_together_give_what_each_gives_alone(family):
    model = tiny.model(family)
    replays = Replays(read(model, IDS))
    edits = all_edits(replays.n_blocks)
    found = list(Effects(replays).of(torch.stack(states_of(replays, edits))))
    run = replays.reader.runner
    with torch.no_grad():
        own = run(replays.reader.ids).logits[0]
        for edit, effect in zip(edits, found, strict=True):
            with edited(model, edit):
                alone = run(replays.reader.ids).logits[0]
            expected = reference.divergence(own, alone)
            off = (effect.divergence - expected).abs()
            assert (off <= tolerance(expected, alone)).all(), (edit, off, expected)


def test_in_float64_they_are_the_same_to_twelve_digits():
    model = tiny.model("llama")
    with in_float64(model):
        many, single = (Replays(read(model, IDS), size) for size in (8, 1))
        assert (many.at_once, single.at_once) == (8, 1)
        edits = all_edits(many.n_blocks)
        together, alone = (torch.stack(states_of(of, edits)) for of in (many, single))
        pairs = zip(Effects(many).of(together), Effects(single).of(alone), strict=True)
        for edit, (one, other) in zip(edits, pairs, strict=True):
            assert (one.divergence - other.divergence).abs().max() <= 1e-12, edit


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
