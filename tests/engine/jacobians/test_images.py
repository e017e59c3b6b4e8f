"""Models that read images: their Jacobians, their tokens, and what a prompt may be."""

from dataclasses import replace

import pytest
import torch
import vision_models
from checks import relative
from PIL import Image

from coupling_core import Request, Store, measure
from coupling_core.base.images import to_pixels
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

N_BEFORE = {"deit": 2, "registers": 5}
"""Tokens before the patches, where they are not the class token alone."""
ALONE = ("vit", "deit", "beit", "dinov2", "registers", "clip")
"""Families whose rows meet in one attention and nowhere else."""
PIXELS = (2 * torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(1)) - 1).double()


def definition(model, block, t1, t2, norm=None):
    inputs = {"pixel_values": PIXELS}
    return reference.block_jacobian(model, [], block, t1, t2, norm, inputs=inputs)


def tiers(*fast):
    """Every family of images, those that are not named in `make test` alone."""
    return [
        pytest.param(family, marks=() if family in fast else pytest.mark.full)
        for family in vision_models.FAMILIES
    ]


@pytest.mark.parametrize(
    ("family", "attention"),
    [
        *(pytest.param(*p.values, "sdpa", marks=p.marks) for p in tiers("vit", "dinov3")),
        pytest.param("beit", "eager", marks=pytest.mark.slow),
    ],
)
def test_the_jacobian_is_that_of_the_whole_sequence(family, attention):
    model = vision_models.model(family, attention).double()
    with TrueFloat64():
        traced = trace(model, PIXELS, 11)
        assert not traced.kind.causal
        for block in traced.blocks:
            norm = traced.kind.final_norm if block.number == len(traced.blocks) else None
            found = block_jacobian(block, norm)
            assert relative(found, definition(model, block.number, 11, 11, norm)) < 1e-9
            check_derivative(block, found, norm)


@pytest.mark.parametrize("family", ["vit", pytest.param("deit", marks=pytest.mark.full)])
def test_every_patch_is_measured_at_once_and_each_with_every_other(family):
    model, n = vision_models.model(family).double(), 16 + N_BEFORE.get(family, 1)
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


@pytest.mark.parametrize("family", tiers("vit", "dinov3"))
def test_a_row_runs_alone_where_attention_is_all_that_joins_rows(family):
    with TrueFloat64():
        for call in read(vision_models.model(family).double(), PIXELS).whole:
            rows = Rows(call)
            assert rows._is_alone(3) == (family in ALONE)
            replayed = rows.replay(call.hidden[:, 3:4], 3)
            assert torch.allclose(replayed, call.output[0, 3], atol=1e-12)


class Mixing(torch.nn.Module):
    """A block to which the mean of all rows is added: one row alone has another mean."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, hidden, *args, **kwargs):
        return self.block(hidden, *args, **kwargs) + hidden.mean(1, keepdim=True)


def test_a_block_that_joins_rows_in_another_way_runs_over_all_of_them():
    model = vision_models.model("vit").double()
    layers = model.vit.layers if hasattr(model.vit, "layers") else model.vit.encoder.layer
    for i, layer in enumerate(layers):
        layers[i] = Mixing(layer)
    with TrueFloat64():
        found = block_jacobian(trace(model, PIXELS, 5).blocks[1])
        assert relative(found, definition(model, 2, 5, 5)) < 1e-9


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("vision")
    return {f: str(vision_models.folder(root / f, f)) for f in ("vit", "deit", "registers")}


FIRST = {
    "vit": ("class", "patch 1,1"),
    "deit": ("class", "distillation", "patch 1,1"),
    "registers": ("class", *(f"register {i}" for i in range(1, 5)), "patch 1,1"),
}


@pytest.mark.parametrize("family", FIRST)
def test_tokens_are_called_by_their_place_and_a_classifier_names_its_classes(folders, family):
    result = measure(Request(vision_models.picture(), model=folders[family], token=1, k=4))
    assert result.tokens[: len(FIRST[family])] == FIRST[family]
    assert result.tokens[-1] == "patch 4,4"
    assert len(result.tokens) == 16 + N_BEFORE.get(family, 1)
    assert result.certified
    if family == "vit":
        names, shares = zip(*result.next_tokens, strict=True)
        assert set(names) < {f"LABEL_{i}" for i in range(6)}
        assert list(shares) == sorted(shares, reverse=True)


@pytest.mark.parametrize(
    "kind", ["fixed-output", pytest.param("trajectory", marks=pytest.mark.full)]
)
def test_an_image_is_the_prompt_that_a_result_is_stored_under(folders, tmp_path, kind):
    store = Store(tmp_path / "results", gallery=tmp_path / "none")
    sized = {} if kind == "trajectory" else {"k": 4, "block": 2}
    request = Request(vision_models.picture(), model=folders["vit"], kind=kind, **sized)
    first = measure(request, store)
    assert first.complete
    assert measure(request, store).key == first.key
    assert measure(replace(request, prompt=vision_models.picture(41)), store).key != first.key


def test_a_grey_picture_is_read_by_a_model_of_colours_and_the_other_way_round(folders, tmp_path):
    grey = str(vision_models.folder(tmp_path / "grey", "vit", num_channels=1))
    for model, channels in ((grey, 1), (folders["vit"], 3)):
        for image in (vision_models.picture(channels=1), vision_models.picture()):
            seen = load(resolve(Request(image, model=model))).encode(image)
            assert seen.shape == (1, channels, 32, 32)
    image = vision_models.picture(channels=1)
    seen = load(resolve(Request("-", model=folders["vit"]))).encode(image)
    assert torch.equal(seen[:, 0], seen[:, 2])


@pytest.mark.full
def test_the_command_line_takes_an_image_and_a_folder_of_them(folders, tmp_path, run):
    pictures = tmp_path / "pictures"
    (pictures / "boots").mkdir(parents=True)
    for name, height in (("boots/b.png", 40), ("a.png", 44)):
        Image.fromarray(to_pixels(vision_models.picture(height))).save(pictures / name)
    asked = ("depth", "--model", folders["vit"], "--k", 4, "--json")
    status, printed, told = run(*asked, "--image", pictures / "a.png")
    assert (status, told) == (0, "")
    assert '"class"' in printed
    status, printed, _ = run(*asked, "--prompts", pictures)
    assert status == 0
    assert printed.count("50 x 4") == 2
    for wrong in (("--image", tmp_path / "none.png"), ("--prompts", tmp_path / "home")):
        status, printed, told = run(*asked, *wrong)
        assert (status, printed) == (2, "")
        assert "Traceback" not in told
