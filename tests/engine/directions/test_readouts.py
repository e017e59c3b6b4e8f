"""Readouts with planted answers, and how often chance is taken for more."""

import by_hand
import pytest
import tiny
import torch

from coupling_core.engine.directions.head import find_embedding, find_head, norm_scale
from coupling_core.engine.directions.readouts import (
    LEVEL,
    Rows,
    random_units,
    read_out,
    readout_floor,
)
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.loading.wrapped import wrap

V, D, SEED = 2000, 64, 3


@pytest.fixture(scope="module")
def matrix():
    return torch.randn(V, D, generator=torch.Generator().manual_seed(SEED))


@pytest.fixture(scope="module")
def scale():
    return torch.rand(D, generator=torch.Generator().manual_seed(SEED)) + 0.5


def test_a_planted_row_is_read_out_with_its_z(matrix, scale):
    (u,) = random_units(1, D, torch.Generator().manual_seed(9))
    planted = matrix.clone()
    planted[77], planted[5] = 12 * u / scale, -12 * u / scale
    rows = Rows(planted, scale)
    found = read_out(rows, torch.stack([u, -u]))
    assert found.ids[0, :, 0].tolist() == [77, 5]
    assert found.ids[1, :, 0].tolist() == [5, 77]
    cosines = rows.cosines(u[None])[0]
    z = (cosines - cosines.mean()) / cosines.std(correction=0)
    torch.testing.assert_close(found.z[0, :, 0], torch.stack([z[77], z[5]]))
    assert float(found.cosine[0, 0, 0]) == pytest.approx(1, abs=0.01)
    assert float(found.z[0, 0, 0]) > 7
    torch.testing.assert_close(found.z[0], -found.z[1].flip(0))
    assert (found.peakedness > readout_floor(rows, D)).all()


def test_chance_is_beyond_chance_once_in_a_hundred(matrix, scale):
    """Both the floor of 500 draws and the rate of 2,000 have a Monte Carlo error."""
    rows = Rows(matrix, scale)
    drawn = random_units(2000, D, torch.Generator().manual_seed(99))
    rate = float((read_out(rows, drawn).peakedness > readout_floor(rows, D)).float().mean())
    rare = 1 - LEVEL
    error = (rare * LEVEL * (1 / 500 + 1 / 2000)) ** 0.5
    assert rate == pytest.approx(rare, abs=3 * error)


def test_the_row_that_is_the_mean_has_no_direction():
    rows = Rows(torch.tensor([[1.0, 2.0], [-1.0, -2.0], [0.0, 0.0]]))
    assert rows.cosines(torch.tensor([[1.0, 0.0]]))[0, 2] == 0


@pytest.mark.parametrize("family", ["llama", "gemma", "olmo"])
def test_a_norm_s_weight_is_found_by_trying(family):
    """Gemma keeps its weight less 1, and OLMo has none."""
    norm = read(tiny.model(family), [3, 1, 4]).kind.final_norm
    weight = getattr(norm, "weight", None)
    expected = torch.ones(32) if weight is None else weight + (family == "gemma")
    found = norm_scale(norm, 32, torch.device("cpu"))
    torch.testing.assert_close(found, expected.detach().float(), rtol=1e-4, atol=1e-5)


def test_so_it_is_of_an_odd_width_and_with_a_bias():
    norm = torch.nn.LayerNorm(31)
    norm.weight.data = torch.linspace(0.5, 2, 31)
    norm.bias.data += 0.3
    found = norm_scale(norm, 31, torch.device("cpu"))
    torch.testing.assert_close(found, norm.weight.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", ["llama", "gemma2", "granite"])
def test_a_head_is_found_by_what_it_says(family):
    model = tiny.model(family)
    found, why = find_head(read(model, [3, 1, 4]))
    assert not why
    assert torch.equal(found, model.get_output_embeddings().weight)


@pytest.mark.parametrize("family", ["bert", "opt_350m"])
def test_a_head_that_reads_something_else_is_refused(family):
    found, why = find_head(read(tiny.model(family), [3, 1, 4]))
    assert found is None
    assert why


def test_a_head_with_a_bias_of_a_module_of_one_s_own_is_found():
    gpt = by_hand.GPT().eval()
    gpt.head = torch.nn.Linear(by_hand.WIDTH, by_hand.VOCABULARY)
    torch.nn.init.normal_(gpt.head.bias, std=3.0)
    reads = read(wrap(gpt, blocks=gpt.blocks, final_norm=gpt.ln_f), [3, 1, 4])
    for found, weight in (
        (find_head(reads), gpt.head.weight),
        (find_embedding(reads), gpt.tok.weight),
    ):
        assert (found[1], torch.equal(found[0], weight)) == ("", True)


def test_which_of_two_tables_of_one_size_embeds_the_tokens_is_not_guessed():
    gpt = by_hand.GPT().eval()
    gpt.pos = torch.nn.Embedding(by_hand.VOCABULARY, by_hand.WIDTH)
    found, why = find_embedding(read(wrap(gpt, blocks=gpt.blocks), [3, 1, 4]))
    assert found is None
    assert why


@pytest.mark.parametrize("family", ["llama", "gptj"])
def test_what_a_model_names_as_its_embedding_is_taken(family):
    model = tiny.model(family)
    found, why = find_embedding(read(model, [3, 1, 4]))
    assert (why, torch.equal(found, model.get_input_embeddings().weight)) == ("", True)
