"""The architecture of Pythia in small, with the initialisation of its authors' GPT-NeoX."""

import math
from functools import partial
from typing import Any

import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from coupling_core.experiments.pretraining.corpus import VOCABULARY
from coupling_core.experiments.pretraining.plan import Plan

_OUTPUTS = ("attention.dense.weight", "mlp.dense_4h_to_h.weight")
"""The matrices that write into the residual stream."""


def build(plan: Plan) -> Any:
    """A freshly initialised GPTNeoXForCausalLM, in training mode.

    Matrices are normal: sqrt(2 / (5 d)) is the standard deviation of those that read from the
    residual stream (small_init) and 2 / (L sqrt(d)) of those that write into it (wang_init).
    transformers' own default is 0.02 for all.
    """
    settings: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": plan.width,
        "num_hidden_layers": plan.blocks,
        "num_attention_heads": plan.heads,
        "intermediate_size": 4 * plan.width,
        "max_position_embeddings": plan.context,
        "rotary_pct": 0.25,
        "use_parallel_residual": True,
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    config = GPTNeoXConfig(**settings)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(plan.seed)
        model = GPTNeoXForCausalLM(config)
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2:
                torch.nn.init.normal_(parameter, std=_std(name, plan))
    _drop_blocks(model, plan.drop_path)
    return model.train()


def _std(name: str, plan: Plan) -> float:
    if name.endswith(_OUTPUTS):
        return 2 / (plan.blocks * math.sqrt(plan.width))
    return math.sqrt(2 / (5 * plan.width))


def _drop_blocks(model: GPTNeoXForCausalLM, last: float) -> None:
    """Have each sequence skip blocks at random while the model trains (stochastic depth).

    What a block adds is divided by the probability that it is kept, so that the whole model, which
    is what is measured, adds as much on average.
    """
    if not last:
        return
    layers = model.gpt_neox.layers
    for number, layer in enumerate(layers):
        layer.register_forward_hook(partial(_skip, last * number / (len(layers) - 1)))


def _skip(
    rate: float, block: torch.nn.Module, arguments: tuple[Any, ...], output: torch.Tensor
) -> torch.Tensor:
    if not block.training:
        return output
    state: torch.Tensor = arguments[0]
    kept = torch.rand(len(state), 1, 1, device=state.device) >= rate
    return state + kept / (1 - rate) * (output - state)
