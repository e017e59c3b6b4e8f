"""Readouts with planted answers, and how often chance is taken for more."""

import by_hand
import pytest
import tiny
import torch

from coupling_core.engine.directions import readouts
from coupling_core.engine.directions.head import find_embedding, find_head, norm_scale
from coupling_core.engine.directions.readouts import Rows, random_units, read_out, readout_floor
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
    rare = 1 - readouts.LEVEL
    error = (rare * readouts.LEVEL * (1 / 500 + 1 / 2000)) ** 0.5
    assert rate == pytest.approx(rare, abs=3 * error)


def test_rows_are_centred_and_the_one_that_is_the_mean_has_no_direction():
    rows = Rows(torch.tensor([[2.0, 3.0], [0.0, -1.0], [1.0, 1.0]]))
    cosines = rows.cosines(torch.tensor([[1.0, 0.0]]))[0]
    torch.testing.assert_close(cosines, torch.tensor([1.0, -1.0, 0.0]) / 5**0.5)


def test_a_norm_s_weight_is_found_by_trying():
    """Gemma keeps its weight less 1, OLMo has none, and one is of an odd width, with a bias."""
    llama, gemma, olmo = (
        read(tiny.model(family), [3, 1, 4]).kind.final_norm for family in ("llama", "gemma", "olmo")
    )
    odd = torch.nn.LayerNorm(31)
    odd.weight.data, odd.bias.data = torch.linspace(0.5, 2, 31), torch.full((31,), 0.3)
    for norm, expected in (
        (llama, llama.weight),
        (gemma, gemma.weight + 1),
        (olmo, torch.ones(32)),
        (odd, odd.weight.detach()),
    ):
        found = norm_scale(norm, len(expected), torch.device("cpu"))
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", ["llama", "gemma2", "granite"])
def test_a_head_is_found_by_what_it_says_and_an_embedding_by_its_name(family):
    model = tiny.model(family)
    reads = read(model, [3, 1, 4])
    for found, of in (
        (find_head(reads), model.get_output_embeddings()),
        (find_embedding(reads), model.get_input_embeddings()),
    ):
        assert (found[1], torch.equal(found[0], of.weight)) == ("", True)


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
