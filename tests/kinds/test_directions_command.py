"""`coupling directions`, run as people run it, on tiny models; and the results behind it."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
import torch
from command_line import printed

from coupling_core import DirectionsView, InputError, Request, Store, measure
from coupling_core.base.results.directions import READOUTS
from coupling_core.engine import reference
from coupling_core.store.archive import decode, encode

PROMPT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def result(folder, tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    return measure(Request(PROMPT, model=str(folder), kind="directions"), store)


@pytest.fixture
def command(run, folder):
    return lambda *args: run("directions", "--model", folder, "--prompt", PROMPT, *args)


def test_everything_is_measured_of_the_width_and_kept(result):
    assert result.complete
    assert result.count == result.width == 32
    assert result.rounding.max() < 0.05
    assert not result.missing
    again = decode(encode(result))
    np.testing.assert_array_equal(again.u, result.u)
    assert again.vocabulary == result.vocabulary
    assert 0 < result.beyond_chance.mean() < 0.2


def test_the_matrices_are_those_of_depth(result, folder):
    depth = measure(Request(PROMPT, model=str(folder), k=32, k_view=32))
    np.testing.assert_array_equal(result.matrices, depth.matrices[0])
    np.testing.assert_array_equal(result.singular_values, depth.singular_values[:, :32])


@pytest.mark.parametrize(
    ("family", "final"), [("llama", "model.norm"), ("gpt2", "transformer.ln_f")]
)
def test_a_block_s_directions_and_readouts_are_the_reference_s(family, final):
    model, ids, last = tiny.model(family), [3, 1, 4, 1, 5, 9], 6
    last_norm = model.get_submodule(final)
    weight = last_norm.weight.data = torch.linspace(0.2, 3, 32)  # so that it makes a difference
    W, E = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    result = measure(ids, model=model, kind="directions", store=None)
    for block in (2, 4):
        norm = last_norm if block == 4 else None
        J = reference.block_jacobian(model, ids, block, last, last, norm).double()
        u, s, vh = torch.linalg.svd(J)
        np.testing.assert_allclose(result.singular_values[block - 1], s, rtol=1e-3, atol=1e-3)
        one = torch.ones_like(weight)
        for at, (vectors, matrix, scale) in enumerate(
            [(u.T, W, one if block == 4 else weight), (vh, W, weight), (vh, E, one)]
        ):
            said = [reference.readout(matrix, scale, vector) for vector in vectors[:4]]
            found = result.peakedness[at, block - 1, :4]
            np.testing.assert_allclose(found, [peak for peak, _ in said], rtol=1e-3)
            for k, (_, ends) in enumerate(said):
                assert set(result.top[at, block - 1, k, :, 0]) == set(ends)


def test_json_and_the_table_have_the_blocks_and_directions_of_the_view(command, result, tmp_path):
    said = printed(command("--json", "--block", "2", "--k", "3"))
    assert len(said["directions"]) == 3 * len(READOUTS)
    np.testing.assert_allclose(said["singular_values"], result.singular_values[1:2, :3], rtol=1e-5)
    assert command("--out", tmp_path / "x.csv", "--block", "-1", "--k", "2")[0] == 0
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 1 + 2 * len(READOUTS)


def test_a_readout_that_is_chance_names_no_token(command, result):
    status, out, _ = command("--block", "2")
    assert status == 0
    chance = int((~result.beyond_chance[:, 1]).sum())
    assert out.count("no more than chance") == chance
    assert "readouts beyond chance, of 32" in command()[1]
    assert "one in a hundred" in result.verdict
    assert result.plot().figure.data[0].y.tolist() == result.beyond_chance[0].sum(-1).tolist()
    assert result.to_xarray().sizes["block"] == len(result.to_pandas().block.unique()) == 4


def test_a_model_whose_head_reads_more_than_the_state_has_no_readout():
    found = measure([3, 1, 4, 1, 5], model=tiny.model("bert"), kind="directions", store=None)
    assert found.complete
    assert "no matrix of the normed last state" in found.missing["writes"]
    assert "reads_embedding" not in found.missing
    assert np.isnan(found.peakedness[0]).all()


def test_a_forged_result_is_known(result):
    assert all(result.consistency().values())
    assert not all(replace(result, vocabulary={}).consistency().values())
    for leading in (0, 33):
        with pytest.raises(InputError, match=r"K must lie in 1\.\.32"):
            DirectionsView(leading=leading)
