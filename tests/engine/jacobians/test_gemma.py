"""A second real language model, Gemma 3 270M, where its packages are installed."""

import pytest

from coupling_core import Request, View, score_pairs
from coupling_core.sources.aliases import ALIASES

pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(not ALIASES["gemma3-270m"].is_installed, reason="its wheels are not here"),
]
REQUEST = Request("What is the capital of France? The capital is", model="gemma3-270m")
REFERENCE = {(6, 7): 0.7311, (7, 6): 0.6870, (9, 8): 0.7921, (10, 7): 0.8172}
"""c at K = 50 of a plain autograd Jacobian and a full SVD."""


def test_its_blocks_share_subspaces_and_not_vectors(trained, untrained):
    assert trained.tokens[0] == "<bos>"
    assert trained.certified
    found = trained.scores(50)
    for pair, c in REFERENCE.items():
        assert found[pair].coupling == pytest.approx(c, abs=1e-3)
    assert found.mean().corrected == pytest.approx(-0.0225, abs=1e-3)
    inner = tuple(range(1, trained.n_blocks))
    means = {
        name: [
            getattr(score_pairs(result, View(10, **how, blocks=inner)).mean(), of)
            for result in (trained, untrained)
        ]
        for name, of, how in (
            ("overlap", "coupling", {"definition": "overlap"}),
            ("paired", "corrected", {"level": "rotations"}),
        )
    }
    assert means["overlap"] == pytest.approx([0.0294, 0.0018], abs=5e-4)
    assert means["paired"] == pytest.approx([0.020, 0], abs=1e-3)
