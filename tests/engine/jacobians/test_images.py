"""Models that read images: their Jacobians, their tokens, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import vision_models
from checks import relative
from PIL import Image

from coupling_core import InputError, Request, Store, measure, score_pairs
from coupling_core.base.images import from_pixels, in_words, is_image, read_image, to_pixels
from coupling_core.base.records import DEFAULT_MODEL, View
from coupling_core.engine import reference
from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.jacobians.between_tokens import output_jacobians, self_jacobians
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.derivative_check import check_derivative
from coupling_core.engine.jacobians.one_row import Rows
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.loading import load
from coupling_core.sources.resolved import resolve

N_BEFORE = {"deit": 2, "registers": 5}
"""Tokens before the patches, where they are not the class token alone."""
ALONE = ("vit", "deit", "beit", "dinov2", "registers", "clip")
"""Families whose rows meet in one attention and nowhere else."""


@pytest.fixture(scope="module")
def pixels():
    image = torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    return (2 * image - 1).double()


def definition(model, pixels, block, t1, t2, norm):
    return reference.block_jacobian(model, [], block, t1, t2, norm, inputs={"pixel_values": pixels})


@pytest.mark.parametrize(
    ("family", "attention", "token"),
    [
        *((family, "sdpa", 11) for family in vision_models.FAMILIES),
        ("vit", "sdpa", 1),
        ("beit", "eager", 1),
    ],
)
def test_the_jacobian_is_that_of_the_whole_sequence(family, attention, token, pixels):
    model = vision_models.model(family, attention).double()
    with true_float64.TrueFloat64():
        traced = trace(model, pixels, token)
        assert not traced.kind.causal
        for block in traced.blocks:
            norm = traced.kind.final_norm if block.number == len(traced.blocks) else None
            found = block_jacobian(block, norm)
            expected = definition(model, pixels, block.number, token, token, norm)
            assert relative(found, expected) < 1e-9
            check_derivative(block, found, norm)


@pytest.mark.parametrize("family", ["vit", "deit", "beit", "dinov2"])
def test_every_patch_is_measured_at_once_and_each_with_every_other(family, pixels):
    model = vision_models.model(family).double()
    with true_float64.TrueFloat64():
        reader = read(model, pixels)
        n = 16 + N_BEFORE.get(family, 1)
        assert reader.n_tokens == n
        of_all = dict(self_jacobians(reader, [2], range(1, n + 1)))
        assert set(of_all) == set(range(1, n + 1))
        (to_class,) = output_jacobians(reader, [2], 1)
        assert len(to_class) == n
        for token in (1, n):
            itself = definition(model, pixels, 2, token, token, None)
            assert relative(of_all[token][0], itself) < 1e-9
            other = definition(model, pixels, 2, token, 1, None)
            assert relative(to_class[token - 1], other) < 1e-9


@pytest.mark.parametrize("family", vision_models.FAMILIES)
def test_a_row_runs_alone_where_attention_is_all_that_joins_rows(family, pixels):
    model = vision_models.model(family).double()
    with true_float64.TrueFloat64():
        for call in read(model, pixels).whole:
            rows = Rows(call)
            assert rows._is_alone(3) == (family in ALONE)
            assert torch.allclose(
                rows.replay(call.hidden[:, 3:4], 3), call.output[0, 3], atol=1e-12
            )


def test_a_block_that_joins_rows_in_another_way_runs_over_all_of_them(pixels):
    class Mixing(torch.nn.Module):
        def __init__(self, block):
            super().__init__()
            self.block = block

        def forward(self, hidden, *args, **kwargs):
            out = self.block(hidden, *args, **kwargs)
            return out + hidden.mean(1, keepdim=True)  # one row alone has another mean

    model = vision_models.model("vit").double()
    layers = model.vit.layers if hasattr(model.vit, "layers") else model.vit.encoder.layer
    for i, layer in enumerate(layers):
        layers[i] = Mixing(layer)
    with true_float64.TrueFloat64():
        traced = trace(model, pixels, 5)
        found = block_jacobian(traced.blocks[1])
        assert relative(found, definition(model, pixels, 2, 5, 5, None)) < 1e-9


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("vision")
    return {f: str(vision_models.folder(root / f, f)) for f in ("vit", "deit", "registers")}


@pytest.mark.parametrize(
    ("family", "first"),
    [
        ("vit", ("class", "patch 1,1")),
        ("deit", ("class", "distillation", "patch 1,1")),
        ("registers", ("class", *(f"register {i}" for i in range(1, 5)), "patch 1,1")),
    ],
)
def test_tokens_are_called_by_their_place(folders, family, first):
    result = measure(Request(vision_models.picture(), model=folders[family], token=1, k=4))
    assert result.tokens[: len(first)] == first
    assert result.tokens[-1] == "patch 4,4"
    assert len(result.tokens) == 16 + N_BEFORE.get(family, 1)
    assert result.certified
    assert result.prompt_text == in_words(vision_models.picture())


def test_a_classifier_names_its_classes(folders):
    result = measure(Request(vision_models.picture(), model=folders["vit"], token=1, k=4))
    names, shares = zip(*result.next_tokens, strict=True)
    assert set(names) < {f"LABEL_{i}" for i in range(6)}
    assert list(shares) == sorted(shares, reverse=True)


@pytest.mark.parametrize("kind", ["self", "fixed-input", "fixed-output", "trajectory"])
def test_every_kind_is_measured_and_stored(folders, tmp_path, kind):
    store = Store(tmp_path / "results", gallery=tmp_path / "none")
    sized = {} if kind == "trajectory" else {"k": 4, "block": 2}
    request = Request(vision_models.picture(), model=folders["vit"], kind=kind, **sized)
    first = measure(request, store)
    assert first.complete
    assert measure(request, store).key == first.key
    other = Request(vision_models.picture(41), model=folders["vit"], kind=kind, **sized)
    assert measure(other, store).key != first.key


def test_a_grey_picture_is_read_by_a_model_of_colours_and_the_other_way_round(folders, tmp_path):
    grey = str(vision_models.folder(tmp_path / "grey", "vit", num_channels=1))
    colour = folders["vit"]
    for model, channels in ((grey, 1), (colour, 3)):
        for image in (vision_models.picture(channels=1), vision_models.picture()):
            read = load(resolve(Request(image, model=model))).encode(image)
            assert read.shape == (1, channels, 32, 32)
    seen = load(resolve(Request("-", model=colour))).encode(vision_models.picture(channels=1))
    assert torch.equal(seen[:, 0], seen[:, 2])


def test_the_same_image_as_own_model_and_as_folder(folders):
    request = Request(vision_models.picture(), model=folders["vit"], token=1, k=4)
    processor = vision_models.processor()
    bare = replace(request, model=DEFAULT_MODEL)
    own = measure(bare, model=vision_models.model("vit"), tokenizer=processor)
    scores = [score_pairs(r, View(4)).coupling for r in (measure(request), own)]
    assert np.allclose(*scores, atol=1e-6)


def test_text_and_image_are_told_apart(folders, tmp_path):
    image = vision_models.picture()
    with pytest.raises(InputError, match="reads an image, and the prompt is text"):
        measure(Request("a cat", model=folders["vit"]))
    import tiny

    text_model = str(tiny.folder(tmp_path / "llama"))
    with pytest.raises(InputError, match="reads text, and the prompt is an image"):
        measure(Request(image, model=text_model))
    with pytest.raises(InputError, match="no image processor"):
        measure(Request(image), model=vision_models.model("vit"))
    with pytest.raises(InputError, match=r"tokens 1\.\.17"):
        measure(Request(image, model=folders["vit"], token=18))
    with pytest.raises(InputError, match="holds none"):
        measure(Request(image[:-40], model=folders["vit"]))


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "CMYK", "1", "I;16"])
def test_an_image_of_any_mode_becomes_a_prompt(tmp_path, mode):
    path = tmp_path / ("x.jpg" if mode == "CMYK" else "x.png")
    Image.new(mode, (9, 7)).save(path)
    prompt = read_image(path)
    assert is_image(prompt)
    assert to_pixels(prompt).shape == (7, 9, 1 if mode == "L" else 3)
    assert read_image(path.read_bytes()) == prompt


def test_a_large_image_becomes_smaller_and_keeps_its_shape():
    image = from_pixels(np.zeros((10, 12), np.uint8))
    assert to_pixels(image).shape == (10, 12, 1)
    with pytest.raises(InputError, match="cannot be read as an image"):
        read_image(b"no image")


def test_pixels_come_back_as_they_were():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 6, 3)).astype(np.uint8)
    assert np.array_equal(to_pixels(from_pixels(pixels)), pixels)
    assert in_words(from_pixels(pixels)).startswith("colour image of 6 x 5 pixels")


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
    assert printed.count("colour image of 50 x 4") == 2
    for wrong in (("--image", tmp_path / "none.png"), ("--prompts", tmp_path / "home")):
        status, printed, told = run(*asked, *wrong)
        assert (status, printed) == (2, "")
        assert "Traceback" not in told
