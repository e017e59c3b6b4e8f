"""One vocabulary of blocks: 1..L, or counted from the end; anything else is an error."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
from cases import random_result

from coupling_core import InputError, Request, View, compare, figures, layer_graph, measure
from coupling_core.analysis.exports import arrays as depth_arrays
from coupling_core.analysis.locality import locality
from coupling_core.analysis.scores import mean_by_k, score_by_k, score_pairs
from coupling_core.analysis.subspaces import stored_angles
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.records import resolve_block, resolve_blocks

VIEW = View(k=4)
RESULT = random_result()
OTHER = random_result(seed=1)
L = RESULT.n_blocks

PAIRS = {
    "matrix": lambda block, basis: RESULT.matrix(block, basis),
    "score_by_k": lambda block, basis: score_by_k(RESULT, block, basis, VIEW),
    "stored_angles": lambda block, basis: stored_angles(RESULT, block, basis, VIEW),
    "figures.matrix": lambda block, basis: figures.matrix(RESULT, block, basis, VIEW),
    "figures.score_by_k": lambda block, basis: figures.score_by_k(RESULT, block, basis, VIEW),
    "figures.angles": lambda block, basis: figures.angles(RESULT, block, basis, VIEW),
    "figures.spectrum": lambda *pair: figures.spectrum(RESULT, VIEW, selected=pair),
    "figures.spectra": lambda *pair: figures.spectra(compare(RESULT, OTHER, VIEW), *pair),
    "matrix_table": lambda block, basis: figures.matrix_table(RESULT, block, basis, VIEW),
    "score_by_k_table": lambda block, basis: figures.score_by_k_table(RESULT, block, basis, VIEW),
    "angles_table": lambda block, basis: figures.angles_table(RESULT, block, basis, VIEW),
    "pair_spectra": lambda *pair: figures.pair_spectra_table(compare(RESULT, OTHER, VIEW), *pair),
}
RANGES = {
    "score_pairs": lambda view: score_pairs(RESULT, view),
    "mean_by_k": lambda view: mean_by_k(RESULT, view),
    "locality": lambda view: locality(score_pairs(RESULT, view)),
    "layer_graph": lambda view: sorted(layer_graph(score_pairs(RESULT, view)).nodes),
    "compare": lambda view: compare(RESULT, OTHER, view).difference,
    "spectrum": lambda view: figures.spectrum(RESULT, view),
    "spectrum_table": lambda view: figures.spectrum_table(RESULT, view),
    "export": lambda view: depth_arrays(RESULT, view),
}


def refusing(calls, *arguments):
    """The calls that take blocks which do not exist, or refuse without naming those there are."""
    wrong = []
    for name, call in calls.items():
        for asked in arguments:
            try:
                call(*asked)
            except InputError as error:
                if f"blocks 1..{L}" in str(error):
                    continue
            wrong.append((name, asked))
    return wrong


def test_a_pair_is_of_blocks_that_exist_or_counted_from_the_end():
    assert refusing(PAIRS, (0, 1), (1, 0), (L + 1, 1), (1, -L - 1)) == []
    assert [name for name, call in PAIRS.items() if str(call(-1, -L)) != str(call(L, 1))] == []


def test_a_range_is_of_blocks_that_exist_or_counted_from_the_end():
    ranges = ((1, L + 1), (1, -L - 1))
    assert refusing(RANGES, *((replace(VIEW, blocks=blocks),) for blocks in ranges)) == []
    ends, numbers = (replace(VIEW, blocks=b) for b in ((-L, -2, -1), (1, L - 1, L)))
    assert [name for name, call in RANGES.items() if str(call(ends)) != str(call(numbers))] == []


def test_between_tokens_the_blocks_are_those_that_were_measured_and_tokens_are_1_to_n():
    asked = Request((5, 17, 42), k=4, kind="self", block=1, other_block=-1)
    tokens = measure(asked, model=tiny.model("llama"))
    assert tokens.blocks == (1, 4)
    with pytest.raises(InputError, match="blocks"):
        score_positions(tokens, View(k=4, blocks=(1, 2)))
    assert np.array_equal(tokens.matrix(-1, 1), tokens.matrix(3, 1))
    for wrong in (0, 4, -4):
        with pytest.raises(InputError, match=r"1\.\.3"):
            tokens.matrix(wrong, 1)
    assert resolve_blocks(None, 3) == (1, 2, 3)
    assert [resolve_block(block, 3) for block in (1, 3, -1, -3)] == [1, 3, 3, 1]
