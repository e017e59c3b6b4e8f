"""Models that read images: what they are given, and what their tokens and classes are called."""

from typing import Any

from jaxtyping import Float
from torch import Tensor
from transformers import AutoImageProcessor

from coupling_core.base.errors import InputError
from coupling_core.base.images import LARGEST_SIDE, to_pixels

READS = "pixel_values"
"""The argument that takes an image, in every family of transformers."""

_CLASS = "class"
_SECOND = {"deit": "distillation"}
"""What a second token before the patches is, where it is no register."""


def reads_images(model: Any) -> bool:
    """Whether a model, or a class of models, reads images alone."""
    return getattr(model, "main_input_name", "") == READS


def family_reads_images(family: Any, config: Any) -> bool:
    """The same of a class of transformers and a config, before there is a model."""
    made = family._model_mapping.get(type(config), None)
    return reads_images(made[0] if isinstance(made, tuple) else made)


def image_processor(where: Any, options: dict[str, Any]) -> Any:
    """What resizes and scales images for a model, by the same arithmetic on every machine."""
    # Without being told, transformers takes torchvision where that is installed, whose resizing
    # rounds in another way.
    found = AutoImageProcessor.from_pretrained(where, backend="pil", **options)  # nosec B615
    for name in ("size", "crop_size", "pad_size"):
        sides = dict(getattr(found, name, None) or {})
        if any((side or 0) > LARGEST_SIDE for side in sides.values()):
            raise InputError(
                f"its image processor makes pictures of {name} = {sides}, and a side may have at "
                f"most {LARGEST_SIDE} pixels"
            )
    return found


def to_tensor(prompt: str, processor: Any, config: Any) -> Float[Tensor, "1 channel height width"]:
    """An image as a model reads it."""
    pixels = to_pixels(prompt)
    if getattr(_of_vision(config), "num_channels", 3) == 1:
        pixels = pixels if pixels.shape[2] == 1 else pixels.mean(2, keepdims=True).astype("uint8")
    elif pixels.shape[2] == 1:
        pixels = pixels.repeat(3, 2)
    found = processor(images=pixels, return_tensors="pt", input_data_format="channels_last")
    tensor: Tensor = found[READS]
    return tensor


def token_names(
    config: Any, read: Float[Tensor, "1 channel height width"], n: int
) -> tuple[str, ...]:
    """What the tokens of an image are called: "class", then "patch row,column" from 1,1."""
    side = _of_vision(config).patch_size
    height, width = (side, side) if isinstance(side, int) else side
    rows, columns = read.shape[-2] // height, read.shape[-1] // width
    patches = [f"patch {r},{c}" for r in range(1, rows + 1) for c in range(1, columns + 1)]
    before = n - len(patches)
    if before < 0:  # patches were put together on the way
        return tuple(f"#{i}" for i in range(1, n + 1))
    first = [_CLASS, _SECOND.get(config.model_type, "register 1")]
    registers = [f"register {i}" for i in range(2, before)]
    return (*[*first, *registers][:before], *patches)


def _of_vision(config: Any) -> Any:
    """The part of a config that is about images, where it is about texts too, as CLIP's."""
    return getattr(config, "vision_config", config)


def class_names(config: Any, count: int) -> tuple[str, ...]:
    """What a classifier calls its classes."""
    names = getattr(config, "id2label", None) or {}
    return tuple(str(names.get(i, f"class {i}")) for i in range(count))
