"""All blocks of a ViT-B/16 at its class token: seconds, memory, and one block the whole way.

The shape is that of ViT-B/16 at 224 x 224 pixels (197 tokens, width 768, 12 blocks), the weights
random. What it is compared with takes one block over the whole sequence, as the definition reads,
with the same code otherwise; it runs in the same process, interleaved.
"""

from functools import partial
from typing import Any

import torch
from transformers import ViTConfig, ViTModel

from benchmarks import common
from coupling_core import Request, measure
from coupling_core.base.images import from_pixels
from coupling_core.engine.jacobians.captured_block import Block, at_one_row
from coupling_core.engine.jacobians.captured_calls import Call
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.one_row import Rows
from coupling_core.engine.jacobians.same_token import block_jacobian

CLASS = 1
ROUNDS, PEER_ROUNDS = 3, 1
SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
}


class Unchanged:
    """An image processor for pixels that are as the model takes them."""

    def __init__(self, side: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.pixels = torch.randn(1, 3, side, side, generator=generator)

    def __call__(self, **_: Any) -> dict[str, torch.Tensor]:
        """The same pixels, whatever image comes."""
        return {"pixel_values": self.pixels}


def model(quick: bool) -> Any:
    """ViT-B/16, or something tiny, with random weights."""
    return common.drawn(lambda: ViTModel(ViTConfig(**SMALL if quick else {})))


def whole(quick: bool) -> common.Run:
    """All of a measurement: every block's Jacobian, its SVD, and the coupling of all pairs."""
    built = model(quick)
    picture = from_pixels(torch.zeros(8, 8, 3, dtype=torch.uint8).numpy())
    k = 8 if quick else 50
    request = Request(picture, token=CLASS, k=k)
    return partial(measure, request, model=built, tokenizer=Unchanged(built.config.image_size))


class OverAll(Rows):
    """Rows that are never run alone."""

    def _is_alone(self, row: int) -> bool:
        return False


def one_block(call: Call, rows: type[Rows]) -> torch.Tensor:
    """The first block's Jacobian at the class token."""
    block: Block = at_one_row(1, rows(call), CLASS)
    return block_jacobian(block)


def collect(quick: bool) -> common.Results:
    """Seconds on one thread and on two, the peer on all of them, and the peak of the memory."""
    rounds = 1 if quick else ROUNDS
    rows = []
    for _ in common.on_threads():
        found = common.interleaved({"ours": whole(quick)}, rounds)
        rows.append({"seconds": found["ours"], "gemm": found["gemm"]})
    built = model(quick)
    call = read(built, Unchanged(built.config.image_size).pixels).whole[0]
    blocks = {"ours": partial(one_block, call, Rows), "whole": partial(one_block, call, OverAll)}
    found = common.interleaved(blocks, PEER_ROUNDS, warm_up=quick)
    return {
        "tokens": call.hidden.shape[1],
        "blocks": built.config.num_hidden_layers,
        "rows": rows,
        "block": {name: found[name] for name in blocks},
        "ratio": found["whole"]["cpu"] / found["ours"]["cpu"],
        "memory": common.fresh_process_peak("benchmarks.vision", "whole", quick=quick),
    }


def summary(results: common.Results) -> common.Rows:
    """Seconds by threads, memory, and the ratio to the whole sequence."""
    name = f"ViT-B/16, class token, {results['blocks']} blocks of {results['tokens']} tokens"
    said = [
        f"{row['seconds']['wall']:.1f} s on {common.thread_words(row['gemm'])}"
        for row in results["rows"]
    ]
    memory = results["memory"]
    if memory["peak"] is not None:
        said.append(f"{memory['peak'] / 1e9:.2f} GB at the peak, the model's weights included")
    said.append(f"a block in {results['ratio']:.0f} times less CPU than over the whole sequence")
    return [(name, "; ".join(said))]
