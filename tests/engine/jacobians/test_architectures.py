"""Architectures with the implementations that a user gets, against the definition.

`make families` judges every one that the library knows; here is one of each class of failure.
"""

import pytest
import torch

from benchmarks import architectures, matrix
from benchmarks.definition import Definition
from coupling_core import Request, measure

pytestmark = pytest.mark.full
SCALE = 1.5
CASES = {
    "mixtral": "right",  # a router whose weights are another output of its module
    "switch_transformers": "right",  # a router that replaces its weights as it runs
    "m2m_100": "right",  # positions counted from the length of the cache
    "moshi": "right",  # a window that a cache cuts shorter
    "dinov2": "right",  # a final norm outside the encoder
    "prophetnet": "refused",  # a decoder of several streams
    "deepseek_v3": "right",  # experts in groups, keys and values of low rank
    "clip": "right",  # images, in a config that is about texts too
    "imagegpt": "right",  # token ids of an image, and a head over classes
    "xglm": "right",  # constants in the default precision
    "jetmoe": "right",  # experts inside attention
    "jamba": "right",  # layers with a state, layers with experts, layers with attention
    "xlstm": "right",  # no attention
    "nllb-moe": "right",  # routers of two experts
    "seamless_m4t": "right",  # text_encoder and text_decoder
}
DEFAULT = ("xglm", "prophetnet")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in DEFAULT else pytest.mark.slow) for name in CASES],
)
def test_right_or_refused_in_words(name):
    rows = matrix.judge(name, SCALE)
    assert {row.verdict for row in rows} <= {"right", "refused"}, rows
    if CASES[name] == "right":
        assert any(row.verdict == "right" for row in rows)


def test_what_is_lost_in_rounding_is_found_in_float64_or_told_as_not_seen():
    """A state that forgets: of what token 3 gives, less and less reaches the tokens after it."""
    model = architectures.build("qwen3_next", scale=0.2)
    request = Request(architectures.IDS, kind="fixed-input", token=3, block=1, other_block=1, k=4)
    result = measure(request, model=model, device="cpu")
    exact, coarse = (
        Definition(model, architectures.inputs_of(model), dtype=dtype).jacobian(1, 3, 7)
        for dtype in (torch.float64, torch.float32)
    )
    assert (coarse - exact).norm() > 1e-2 * exact.norm()  # or there is nothing to be found
    s = torch.linalg.svdvals(exact)
    assert torch.allclose(torch.tensor(result.singular_values[0, 6]).double(), s, rtol=1e-5)
    assert result.rank[0, 7:].tolist() == [0, 0]
    assert "between tokens in float64 (float32 was too coarse)" in result.provenance["ways"]
