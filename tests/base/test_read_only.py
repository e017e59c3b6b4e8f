"""Nobody writes into the arrays of a result, or of what is made of results."""

import copy
import pickle
from dataclasses import replace
from functools import cache

import by_hand
import numpy as np
import pytest
import torch
from cases import (
    EVERY_KIND,
    VIEW,
    directions_result,
    planted,
    trajectory_result,
    what_if_result,
)

import coupling_core as cc


def arrays(record):
    return {name: x for name, x in vars(record).items() if isinstance(x, np.ndarray)}


def scores():
    return cc.score_pairs(planted(), VIEW)


@cache
def a_gpt():
    gpt = by_hand.GPT()
    return cc.wrap(gpt, blocks=gpt.blocks, final_norm=gpt.ln_f)


@cache
def depth():
    return cc.measure([1, 2, 3], model=a_gpt(), k=2)


@cache
def between():
    return cc.measure([1, 2, 3], model=a_gpt(), kind="self", block=1, k=2, k_view=2)


@pytest.mark.parametrize(
    "make",
    [
        *EVERY_KIND,
        scores,
        lambda: scores()[[1, 3]],
        depth,
        between,
        lambda: between().scores(k=2),
        lambda: cc.jacobian(a_gpt(), [1, 2, 3], block=1, k=2),
        lambda: cc.cross(directions_result(), directions_result(), k=2),
        lambda: cc.shared_of(directions_result(), cc.DirectionsView()),
        lambda: cc.project_paths(trajectory_result()),
        lambda: cc.effect_maps(what_if_result()),
    ],
)
@pytest.mark.parametrize(
    "again",
    [
        lambda it: it,
        copy.copy,
        copy.deepcopy,
        replace,
        lambda it: pickle.loads(pickle.dumps(it)),
    ],
    ids=["itself", "copied", "copied deeply", "replaced", "pickled"],
)
def test_its_arrays_cannot_be_written(make, again):
    found = arrays(again(make()))
    assert found
    for name, array in found.items():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        assert not array.flags.writeable, name


def test_nor_those_of_a_file_that_was_read(tmp_path):
    loaded = cc.load(planted().save(tmp_path / "a.safetensors"))
    assert not any(array.flags.writeable for array in arrays(loaded).values())


def test_nothing_is_copied_and_who_made_an_array_still_fills_it():
    own = planted().diagonal.copy()
    made = replace(planted(), diagonal=own)
    own[0, 0, 0, 0] = 7
    assert made.diagonal[0, 0, 0, 0] == 7


def test_tables_and_named_arrays_of_it_are_ones_own_to_change():
    found = scores()
    table, named = found.to_pandas(), found.to_xarray()
    table.loc[0, "corrected"] = 7
    table["coupling"] *= 2
    named.corrected[0, 0] = 7
    assert (table.corrected[0], named.corrected[0, 0]) == (7, 7)
    assert found.corrected[0, 0] != 7


@pytest.mark.filterwarnings("error")
def test_torch_takes_directions_without_a_warning():
    model = a_gpt()
    found = cc.measure([1, 2, 3], model=model, kind="directions")
    cc.steer(found, block=1, components=1, sizes=0.5, model=model)
    cc.ablate(found, blocks=[1], k=1, model=model)
    cc.read_out(found, found.u[0, :, :2], model=model)
    assert torch.tensor(found.u).shape == found.u.shape
