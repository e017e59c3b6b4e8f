"""Models that read images: their Jacobians, their tokens, and what a prompt may be."""

import pytest
import torch
import vision_models
from checks import relative

from coupling_core import Request, measure
from coupling_core.engine import reference
from coupling_core.engine.jacobians.between_tokens import output_jacobians, self_jacobians
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.derivative_check import check_derivative
from coupling_core.engine.jacobians.one_row import Rows
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.jacobians.true_float64 import TrueFloat64
from coupling_core.engine.loading import load
from coupling_core.sources.resolved import resolve

ALONE = ("vit", "deit", "beit", "dinov2", "registers", "clip")
"""Families whose rows meet in one attention and nowhere else."""
MARKS = {"vit": (), "dinov3": (), "beit": pytest.mark.full}
PIXELS = (2 * torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(1)) - 1).double()


def definition(model, block, t1, t2, norm=None):
    inputs = {"pixel_values": PIXELS}
    return reference.block_jacobian(model, [], block, t1, t2, norm, inputs=inputs)


@pytest.mark.parametrize(
    "family",
    [pytest.param(f, marks=MARKS.get(f, pytest.mark.slow)) for f in vision_models.FAMILIES],
)
def test_the_jacobian_is_that_of_the_whole_sequence(family):
    model = vision_models.model(family).double()
    with TrueFloat64():
        traced = trace(model, PIXELS, 11)
        assert not traced.kind.causal
        for block in traced.blocks:
            norm = traced.kind.final_norm if block.number == len(traced.blocks) else None
            found = block_jacobian(block, norm)
            assert relative(found, definition(model, block.number, 11, 11, norm)) < 1e-9
            check_derivative(block, found, norm)


def test_every_patch_is_measured_at_once_and_each_with_every_other():
    model, n = vision_models.model("vit").double(), 17
    with TrueFloat64():
        reader = read(model, PIXELS)
        assert reader.n_tokens == n
        of_all = dict(self_jacobians(reader, [2], range(1, n + 1)))
        assert set(of_all) == set(range(1, n + 1))
        (to_class,) = output_jacobians(reader, [2], 1)
        assert len(to_class) == n
        for token in (1, n):
            assert relative(of_all[token][0], definition(model, 2, token, token)) < 1e-9
            assert relative(to_class[token - 1], definition(model, 2, token, 1)) < 1e-9


def test_a_row_runs_alone_where_attention_is_all_that_joins_rows():
    for family in vision_models.FAMILIES:
        with TrueFloat64():
            call = read(vision_models.model(family).double(), PIXELS).whole[1]
            rows = Rows(call)
            assert rows._is_alone(3) == (family in ALONE), family
            replayed = rows.replay(call.hidden[:, 3:4], 3)
            assert torch.allclose(replayed, call.output[0, 3], atol=1e-12), family


class Mixing(torch.nn.Module):
    """A block to which the mean of all rows is added: one row alone has another mean."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, hidden, *args, **kwargs):
        return self.block(hidden, *args, **kwargs) + hidden.mean(1, keepdim=True)


def test_a_block_that_joins_rows_in_another_way_runs_over_all_of_them():
    model = vision_models.model("vit").double()
    layers = reference.find_blocks(model)
    for i, layer in enumerate(layers):
        layers[i] = Mixing(layer)
    with TrueFloat64():
        found = block_jacobian(trace(model, PIXELS, 5).blocks[1])
        assert relative(found, definition(model, 2, 5, 5)) < 1e-9


FIRST = {
    "vit": ("class",),
    "deit": ("class", "distillation"),
    "registers": ("class", *(f"register {i}" for i in range(1, 5))),
}
"""Tokens before the patches."""


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    return str(vision_models.folder(tmp_path_factory.mktemp("vision") / "vit", "vit"))


def test_tokens_are_called_by_their_place_and_a_classifier_names_its_classes(vit, tmp_path):
    for family, first in FIRST.items():
        at = vit if family == "vit" else str(vision_models.folder(tmp_path / family, family))
        result = measure(Request(vision_models.picture(), model=at, token=1, k=4))
        assert result.tokens[: len(first) + 1] == (*first, "patch 1,1")
        assert result.tokens[-1] == "patch 4,4"
        assert len(result.tokens) == len(first) + 16
        if family == "vit":
            names, shares = zip(*result.next_tokens, strict=True)
            assert set(names) < {f"LABEL_{i}" for i in range(6)}
            assert list(shares) == sorted(shares, reverse=True)


def test_a_grey_picture_is_read_by_a_model_of_colours_and_the_other_way_round(vit, tmp_path):
    grey = str(vision_models.folder(tmp_path / "grey", "vit", num_channels=1))
    for model, channels in ((grey, 1), (vit, 3)):
        for image in (vision_models.picture(channels=1), vision_models.picture()):
            seen = load(resolve(Request(image, model=model))).encode(image)
            assert seen.shape == (1, channels, 32, 32)
    image = vision_models.picture(channels=1)
    seen = load(resolve(Request("-", model=vit))).encode(image)
    assert torch.equal(seen[:, 0], seen[:, 2])
