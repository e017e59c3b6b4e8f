"""Models written by hand, which know nothing of transformers: each a few lines, random weights."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HEADS, VOCABULARY, LENGTH = 24, 3, 50, 32


class Attention(nn.Module):
    def __init__(self, causal: bool = True) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        q, k, v = (part.view(b, n, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, causal: bool = True) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = Attention(causal)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Any:
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class InPlace(Block):
    def forward(self, x: Tensor) -> Any:
        x += self.attn(self.ln1(x))
        x += self.mlp(self.ln2(x))
        return x


class PostNorm(Block):
    def forward(self, x: Tensor) -> Any:
        x = self.ln1(x + self.attn(x))
        return self.ln2(x + self.mlp(x))


class Tuple(Block):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x), {"aux": x.mean()}


def in_list(blocks: list[nn.Module]) -> nn.Module:
    return nn.ModuleList(blocks)


def in_dict(blocks: list[nn.Module]) -> nn.Module:
    return nn.ModuleDict(OrderedDict((f"layer{i}", b) for i, b in enumerate(blocks)))


class GPT(nn.Module):
    """The model; `order` are the blocks that it runs."""

    def __init__(
        self,
        make: Callable[..., nn.Module] = Block,
        held: Callable[[list[nn.Module]], nn.Module] = in_list,
        depth: int = 3,
        norm: nn.Module | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.tok = nn.Embedding(VOCABULARY, WIDTH)
            self.pos = nn.Embedding(LENGTH, WIDTH)
            self.blocks = held([make() for _ in range(depth)])
            self.ln_f = norm or nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
            for parameter in self.parameters():
                if parameter.ndim > 1:
                    nn.init.normal_(parameter, std=0.25)
        self.order = list(range(depth))

    @property
    def listed(self) -> list[nn.Module]:
        blocks: Any = self.blocks
        return list(blocks.values() if isinstance(blocks, nn.ModuleDict) else blocks)

    def states(self, ids: Tensor) -> Tensor:
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for at in self.order:
            x = self.listed[at](x)
            x = x[0] if isinstance(x, tuple) else x
        return x

    def forward(self, ids: Tensor) -> Any:
        logits: Tensor = self.head(self.ln_f(self.states(ids)))
        return logits
