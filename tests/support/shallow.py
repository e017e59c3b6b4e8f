"""Tiny models of fewer blocks, for what two or three of them show as well as four."""

from typing import Any

import tiny

from coupling_core.engine.loading import find_stacks


def model(family: str, depth: int = 2, attention: str | None = None, seed: int = 0) -> Any:
    """The first blocks of each stack of `tiny.model`, with a config that says so."""
    built = tiny.model(family, seed, attention)
    config = built.config.get_text_config()
    for blocks in find_stacks(built).values():
        for name, value in list(vars(config).items()):
            if isinstance(value, list) and len(value) == len(blocks):  # one entry a block
                setattr(config, name, value[:depth])
        del blocks[depth:]
    for name in ("num_hidden_layers", "num_decoder_layers"):
        if hasattr(config, name):
            setattr(config, name, min(depth, getattr(config, name)))
    return built
