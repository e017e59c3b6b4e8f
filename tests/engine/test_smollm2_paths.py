"""Paths of SmolLM2-135M, the default model, against a few lines of NumPy and transformers."""

import numpy as np
import pytest
import torch

from coupling_core import PathView, Request, project_paths
from coupling_core.analysis import trajectory as of
from coupling_core.engine.jacobians.decode import decode, read
from coupling_core.engine.jacobians.same_token import block_jacobian

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("one_thread")]

PROMPT = "What is the capital of France? The capital is"
REQUEST = Request(PROMPT, kind="trajectory")


@pytest.fixture(scope="module")
def hidden(loaded):
    """What transformers tells: x^0 .. x^{L-1}, and x^L after the final norm."""
    ids = torch.tensor([loaded.encode(PROMPT)])
    with torch.no_grad():
        told = loaded.model(ids, output_hidden_states=True).hidden_states
    return torch.stack(told)[:, 0].double().numpy()


def test_states_are_those_that_transformers_tells(trained, hidden):
    error = np.linalg.norm(trained.states - hidden, axis=-1) / np.linalg.norm(hidden, axis=-1)
    assert error.max() < 1e-5
    np.testing.assert_allclose(trained.norms, np.linalg.norm(hidden, axis=-1), rtol=1e-5)


def test_line_shape_is_the_formula(trained):
    x = trained.states.astype(float)
    unit = np.diff(x, axis=0)
    unit /= np.linalg.norm(unit, axis=-1, keepdims=True)
    whole = 30 / np.linalg.norm(unit.sum(0), axis=-1)
    np.testing.assert_allclose(trained.line_shape, whole, rtol=1e-10)
    for centre in (5, 15, 25):
        windowed = 10 / np.linalg.norm(unit[centre - 5 : centre + 5].sum(0), axis=-1)
        np.testing.assert_allclose(trained.windowed_line_shape[centre], windowed, rtol=1e-10)


def test_expodistance_and_equidistance_are_the_formulas(trained):
    x = trained.states.astype(float)
    norms = np.sqrt((x**2).sum(-1))
    alpha = np.log(norms[1:] / norms[:-1])
    expected = ((alpha - alpha.mean(0)) ** 2).mean(0) / alpha.mean(0) ** 2
    np.testing.assert_allclose(of.expodistance(trained.norms), expected, rtol=1e-9)
    steps = np.sqrt(((x[1:] - x[:-1]) ** 2).sum(-1))
    spread = np.sqrt(((steps - steps.mean(0)) ** 2).mean(0)) / steps.mean(0)
    np.testing.assert_allclose(of.equidistance(trained.step_lengths), spread, rtol=1e-9)


@pytest.mark.parametrize("first", [True, False])
def test_components_of_the_last_state_are_those_of_an_svd(trained, first):
    x = trained.states[:, 0 if first else 1 :].astype(float)
    centred = x[-1] - x[-1].mean(0)
    _, s, Vh = np.linalg.svd(centred, full_matrices=False)
    V = Vh[:3].T
    V *= np.sign(V[np.abs(V).argmax(0), range(3)])
    found = project_paths(trained, PathView(first=first))
    np.testing.assert_allclose(found.coordinates, (x - x[-1].mean(0)) @ V, atol=1e-6)
    np.testing.assert_allclose(found.explained, s[:3] ** 2 / (s**2).sum(), rtol=1e-9)


def test_entropy_is_that_of_norm_and_head_at_every_raw_state(trained, loaded, hidden):
    model = loaded.model
    with torch.no_grad():
        logits = model.lm_head(model.model.norm(torch.tensor(hidden[:-1]).float())).double()
        own = model.lm_head(torch.tensor(hidden[-1]).float()).double()  # normed already
    p = torch.cat([logits, own[None]]).softmax(-1)
    expected = -(p * (p + 1e-300).log()).sum(-1).numpy()
    np.testing.assert_allclose(trained.entropy, expected, atol=2e-4)
    np.testing.assert_allclose(np.log(49152), 10.80, atol=0.01)
    assert trained.entropy.max() < 10.8


@pytest.mark.parametrize("token", [1, 6, 10])
def test_linearised_steps_are_those_of_dense_jacobians(trained, loaded, token):
    reader = read(loaded.model, loaded.encode(PROMPT))
    chosen = (1, 2, 15, 30)
    for capture in next(decode(reader, chosen, [token])):
        block = capture.block
        norm = reader.kind.final_norm if block.number == 30 else None
        J = block_jacobian(block, norm).double()
        before, x = (torch.tensor(trained.states[n, token - 1]) for n in block_states(block))
        expected = (before + J @ before.double() - x).norm() / x.norm()
        found = trained.one_step[block.number - 1, token - 1]
        assert found == pytest.approx(float(expected), rel=1e-3)
    np.testing.assert_array_equal(trained.one_step[0], trained.rolled_out[0])


def block_states(block):
    return block.number - 1, block.number


def test_training_straightens_the_paths(trained, untrained):
    """The papers report 4.25 against 6.54 over their models; this is one prompt of one model."""
    assert trained.line_shape.mean() == pytest.approx(4.478, abs=2e-3)
    assert untrained.line_shape.mean() == pytest.approx(6.645, abs=2e-3)
    assert (trained.line_shape < untrained.line_shape).all()
    # At random, no step has anything to do with the one before: sqrt(L), and what norms add.
    assert untrained.line_shape.min() > np.sqrt(30)


def test_untrained_steps_are_the_more_even(trained, untrained):
    even, uneven = (of.equidistance(r.step_lengths).mean() for r in (untrained, trained))
    assert even < 0.2
    assert uneven > 1
