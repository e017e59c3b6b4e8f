"""A plain ViT with the settings of DeiT: class token, learned positions, norms before each half.

transformers' own ViT cannot drop blocks at random; its BEiT can, and is the same architecture
without relative positions, scaled layers and mean pooling (and but for a bias of the keys, which
attention does not feel).
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, UInt8
from PIL import Image
from transformers import BeitConfig, BeitForImageClassification

from studies.vision.pictures import Pictures
from studies.vision.plans import VisionPlan

RESAMPLE = Image.Resampling.BILINEAR
"""How an image of another size is resized; one of the right size stays as it is."""

_STD = 0.02


def build(plan: VisionPlan, classes: tuple[str, ...], channels: int) -> Any:
    """A freshly initialised BeitForImageClassification, in training mode.

    Matrices, class token and positions are normal with DeiT's standard deviation of 0.02.
    """
    names = dict(enumerate(classes))
    settings: dict[str, Any] = {
        "hidden_size": plan.width,
        "num_hidden_layers": plan.blocks,
        "num_attention_heads": plan.heads,
        "intermediate_size": 4 * plan.width,
        "image_size": plan.size,
        "patch_size": plan.patch,
        "num_channels": channels,
        "drop_path_rate": plan.drop_path,
        "layer_scale_init_value": 0.0,
        "use_absolute_position_embeddings": True,
        "use_relative_position_bias": False,
        "use_mean_pooling": False,
        "use_mask_token": False,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "layer_norm_eps": 1e-6,
        "initializer_range": _STD,
        "id2label": names,
        "label2id": {name: number for number, name in names.items()},
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(plan.seed)
        model = BeitForImageClassification(BeitConfig(**settings))
        embeddings: Any = model.beit.embeddings
        for parameter in (embeddings.cls_token, embeddings.position_embeddings):
            torch.nn.init.trunc_normal_(parameter, std=_STD)
    return model.train()


class Pixels:
    """What a model reads of images, as the processor that is kept with it makes it.

    Args:
        pictures: those that are learned tell the mean and the deviation.
        device: where the model computes.
    """

    def __init__(self, pictures: Pictures, device: torch.device) -> None:
        self._mean, self._std = (
            torch.tensor(values, device=device).view(-1, 1, 1)
            for values in (pictures.mean, pictures.std)
        )

    def __call__(
        self, images: UInt8[np.ndarray, "image height width channel"]
    ) -> Float32[torch.Tensor, "image channel height width"]:
        """Those of images, one brightness a channel."""
        bright = torch.from_numpy(images).to(self._mean.device).permute(0, 3, 1, 2).float() / 255
        return (bright - self._mean) / self._std


def make_processor(pictures: Pictures) -> Any:
    """What turns an image into what the model was trained on."""
    from transformers import ViTImageProcessor  # says at once where torchvision is missing

    height, width = pictures.learned.shape[1:3]
    return ViTImageProcessor(
        size={"height": height, "width": width},
        resample=RESAMPLE,
        image_mean=pictures.mean,
        image_std=pictures.std,
    )


def save_processor(pictures: Pictures, folder: Path) -> None:
    """Write it beside a model."""
    make_processor(pictures).save_pretrained(folder)
