"""Tiny models of images, built from their configs with random weights, and a picture for them."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from coupling_core.base.images import from_pixels

SIDE = 32
_SHAPE: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
    "image_size": SIDE, "patch_size": 8, "num_labels": 6,
}  # fmt: skip
_BIASED = {"use_relative_position_bias": True, "use_absolute_position_embeddings": True}
_FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "vit": ("ViTConfig", "ViTForImageClassification", {}),
    "deit": ("DeiTConfig", "DeiTForImageClassificationWithTeacher", {}),
    "beit": ("BeitConfig", "BeitForImageClassification", _BIASED),
    "dinov2": ("Dinov2Config", "Dinov2Model", {}),
    "registers": ("Dinov2WithRegistersConfig", "Dinov2WithRegistersModel", {}),
    "clip": ("CLIPVisionConfig", "CLIPVisionModel", {}),
    "dinov3": ("DINOv3ViTConfig", "DINOv3ViTModel", {}),
}
FAMILIES = tuple(_FAMILIES)


def model(family: str, attention: str | None = None, **changes: Any) -> Any:
    """A model in evaluation mode, its weights large enough for blocks far from linear."""
    config_name, class_name, extra = _FAMILIES[family]
    config = getattr(transformers, config_name)(**_SHAPE | extra | changes)
    config._attn_implementation = attention
    with torch.random.fork_rng():
        torch.manual_seed(0)
        built = getattr(transformers, class_name)._from_config(config, dtype=torch.float32)
        for parameter in built.parameters():
            if parameter.ndim > 1:
                torch.nn.init.normal_(parameter, std=0.15)
    return built.eval().requires_grad_(False)


def reads_pictures(model: Any) -> bool:
    """Whether it is one of these."""
    return str(model.main_input_name) == "pixel_values"


def processor(channels: int = 3) -> Any:
    """Resizes to the size of these models."""
    scale: dict[str, Any] = {"image_mean": [0.5] * channels, "image_std": [0.5] * channels}
    return transformers.ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}, **scale)


def folder(path: Path, family: str, **changes: Any) -> Path:
    """A folder as `save_pretrained` leaves it: config, safetensors, image processor."""
    model(family, **changes).save_pretrained(path)
    processor(changes.get("num_channels", 3)).save_pretrained(path)
    return path


def picture(height: int = 40, width: int = 50, channels: int = 3) -> str:
    """A prompt: a smooth picture with some noise."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:height, :width]
    smooth = np.stack([x * 4 + y, y * 5, 255 - x * 3], -1)[..., :channels]
    return from_pixels((smooth + rng.integers(0, 40, smooth.shape)).clip(0, 255).astype(np.uint8))
