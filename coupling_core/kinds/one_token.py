"""What kinds that look at one token measure alike: each block's Jacobian there, and its SVD."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.derivative_check import checked_jacobian
from coupling_core.engine.jacobians.trace import trace_of
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.svd import SVD, top_svd
from coupling_core.engine.side_by_side import SideBySide
from coupling_core.measuring.composing import begin, side_by_side
from coupling_core.sources.resolved import Resolved


class OneToken:
    """A model that has read the prompt of a request, which is about one of its tokens.

    The last block has the final norm in it where the request says so.
    """

    def __init__(self, asked: Resolved, loaded: LoadedModel) -> None:
        self._request, self._loaded = asked.request, loaded
        self.reader, self.about = begin(asked, loaded)
        self.trace = trace_of(self.reader, asked.request.token)
        self.about["token"] = self.trace.token
        self.n_blocks, self.width = self.reader.n_blocks, self.reader.width
        included = asked.request.final_norm == "include"
        self.norm: nn.Module | None = self.trace.kind.final_norm if included else None

    def side_by_side(self) -> SideBySide:
        """Workers for its blocks."""
        return side_by_side(self._request, self._loaded, self.reader)

    def jacobian(self, block: Block, device: torch.device) -> Tensor:
        """The Jacobian of a block, checked."""
        is_last = block.number == self.n_blocks
        return checked_jacobian(block, self.norm if is_last else None).to(device)

    def svds(
        self,
        beside: SideBySide,
        k: int,
        device: torch.device,
        blocks: Sequence[Block] | None = None,
    ) -> Iterator[tuple[Tensor, SVD]]:
        """The Jacobian of each block and its K leading triplets, in the order of the blocks."""

        def measured(block: Block) -> tuple[Tensor, SVD]:
            jacobian = self.jacobian(block, device)
            return jacobian, top_svd(jacobian, k)

        yield from beside.in_order(measured, self.trace.blocks if blocks is None else blocks)
