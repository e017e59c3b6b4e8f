"""The arrays of results: read-only, since a key stands for them; torch takes them all the same."""

from dataclasses import replace

import by_hand
import numpy as np
import pytest
from cases import EVERY_KIND, VIEW, planted

import coupling_core as cc


def writable(it):
    """Names of its arrays that can be written."""
    return [n for n, x in vars(it).items() if isinstance(x, np.ndarray) and x.flags.writeable]


def test_the_arrays_of_a_result_cannot_be_written(tmp_path):
    loaded = cc.load(planted().save(tmp_path / "a.safetensors"))
    for it in (loaded, *(make() for make in EVERY_KIND)):
        assert writable(it) == writable(replace(it)) == [], type(it)


def test_but_who_made_an_array_or_asks_for_a_table_may():
    own = planted().diagonal.copy()
    result = replace(planted(), diagonal=own)
    own[0, 0, 0, 0] = 7
    assert result.diagonal[0, 0, 0, 0] == 7
    scores = cc.score_pairs(planted(), VIEW)
    table, named = scores.to_pandas(), scores.to_xarray()
    table.loc[0, "corrected"] = 7
    named.corrected[0, 0] = 7
    assert scores.corrected[0, 0] != 7


@pytest.mark.filterwarnings("error")
def test_torch_takes_directions_without_a_warning():
    gpt = by_hand.GPT()
    model = cc.wrap(gpt, blocks=gpt.blocks, final_norm=gpt.ln_f)
    found = cc.measure([1, 2, 3], model=model, kind="directions")
    cc.steer(found, block=1, components=1, sizes=0.5, model=model)
    cc.ablate(found, blocks=[1], k=1, model=model)
    cc.read_out(found, found.u[0, :, :2], model=model)
