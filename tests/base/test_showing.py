"""Whatever is public prints as a line or two, and not as pages of numbers."""

import pickle
from dataclasses import dataclass, replace

import by_hand
import numpy as np
import pandas as pd
import pytest
import tiny
from cases import (
    directions_result,
    random_result,
    spectrum_result,
    trajectory_result,
    what_if_result,
)

import coupling_core as cc
from coupling_core.base.errors import InputError
from coupling_core.base.showing import in_short
from coupling_core.base.trials import Ablation, Readings, Steering

NONE, TOP = np.zeros((300, 40)), np.zeros((300, 40, 5))


def wrapped():
    gpt = by_hand.GPT()
    return cc.wrap(gpt, blocks=gpt.blocks, final_norm=gpt.ln_f)


@pytest.mark.parametrize(
    ("make", "begins"),
    [
        (
            lambda: cc.effect_maps(what_if_result()),
            "EffectMaps(random, 'The cat sat down', 5 blocks, divergence where a block is skipped ",
        ),
        (
            lambda: cc.project_paths(trajectory_result()),
            "ProjectedPaths(random, 'The cat sat down', 13 states of 5 tokens, fitted on x^12, ",
        ),
        (
            lambda: cc.spectrum_numbers(spectrum_result()),
            "SpectrumNumbers(5 blocks, in the median ",
        ),
        (
            lambda: cc.shared_of(directions_result(), cc.DirectionsView()),
            "Shared(random, 'The cat sat down', blocks 1-4 write, ",
        ),
        (
            lambda: cc.between_prompts(
                [directions_result(), directions_result(token_ids=np.arange(5, 9))],
                cc.DirectionsView(),
            ),
            "BetweenPrompts(random, 2 prompts, ",
        ),
        (
            lambda: cc.cross(directions_result(), directions_result(), k=2),
            "Crossing(A: random, 'The cat sat down', B: random, 'The cat sat down', 4 blocks, ",
        ),
        (
            lambda: cc.locality(random_result(), cc.View(k=3)),
            "Locality(random, 'The cat sat down', K = 3, 4 distances, mean ",
        ),
        (lambda: cc.find_suite("pythia-70m"), "Suite('pythia-70m', Pythia 70M, "),
        (wrapped, "Wrapped(GPT, 3 blocks, final norm: LayerNorm)"),
        (lambda: cc.read(tiny.model("llama"), (3, 1, 4)), "Reader(LlamaForCausalLM, "),
        (
            lambda: Steering(
                *(2, "u", (5,), ("u_1",), (0.1,), "tokens", NONE, NONE, (), (), TOP, TOP),
                result=directions_result(),
            ),
            "Steering(random, 'The cat sat down', 1 direction at 1 size at the output of block 2 ",
        ),
        (
            lambda: Ablation(
                *(tuple(range(1, 81)), 5, 4, 64, "tokens", 1 / 3, NONE[0], 0.5),
                result=directions_result(),
            ),
            "Ablation(random, 'The cat sat down', 4 directions out of each of blocks 1-80 at "
            "token 5, 0.333 (KL, nats), by random frames 0 in the median)",
        ),
    ],
)
def test_it_is_told_in_short(make, begins):
    told = repr(make())
    assert told.startswith(begins)
    assert len(told) < 500
    assert "\n" not in told


def test_a_run_without_a_step_is_told_too():
    found = replace(cc.find_suite("pythia-70m"), steps=())
    assert repr(found) == "Suite('pythia-70m', Pythia 70M, 0 steps)"


def test_readings_are_told_in_short():
    found = Readings("writes", np.array([1.0, 3.0]), 2.0, ((), ()), ((), ()), directions_result())
    told = "Readings(random, 'The cat sat down', 1 of 2 readouts (writes) beyond chance)"
    assert repr(found) == told


def test_a_result_is_no_array_of_numbers():
    depth = random_result()
    for found, where in ((depth, "to_pandas"), (depth.scores(k=3), "it has three")):
        for taken in (np.asarray, np.mean, pd.isna):
            with pytest.raises(InputError, match=f"is no array: {where}"):
                taken(found)
        assert np.array([found, found], object).tolist() == [found, found]
    assert (np.zeros(3) == depth) is False


def test_the_numbers_of_a_step_are_told_rounded_and_kept_by():
    nothing = [float("nan")] * 7
    one, other = (cc.StepNumbers(4, 1 / 3, *nothing) for _ in range(2))
    assert one == other == pickle.loads(pickle.dumps(one))
    assert len({one, pickle.loads(pickle.dumps(one))}) == 1
    assert one != cc.StepNumbers(4, 1 / 4, *nothing)
    assert repr(one) == "StepNumbers(step=4, loss=0.3333)"


def test_what_is_short_is_told_as_it_is():
    @dataclass
    class Record:
        name: str
        of: tuple[int, ...]
        at: object = None
        by: float = 2.0

    assert in_short(Record("a" * 80, (1, 2))).endswith("aa', of: (1, 2), at: None, by: 2)")
    assert "of: 40 of them" in in_short(Record("b", tuple(range(40))))
    assert "at: [0, 0]" in in_short(Record("b", (), np.zeros(2)))
    assert "at: array of 5" in in_short(Record("b", (), np.zeros(5)))


def test_what_is_found_elsewhere_is_told():
    found = cc.compare(random_result(), random_result(seed=1), k=3)
    with pytest.raises(AttributeError, match=r"two results have no test; compare_models\(table"):
        found.by_prompt()
    with pytest.raises(AttributeError, match="did you mean 'view'"):
        _ = found.viwe
