"""Tiny models of real families, built from their configs with random weights, and a tokenizer."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

TEXT = "The cat sat on the mat because it was tired, and the dog lay down beside it."

_SHAPE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "vocab_size": 300,
    "max_position_embeddings": 64,
}
_FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {"num_key_value_heads": 2}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {"num_key_value_heads": 2, "head_dim": 8}),
    "mistral": (
        "MistralConfig",
        "MistralForCausalLM",
        {"num_key_value_heads": 2, "sliding_window": 3},
    ),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"n_embd": 32, "n_layer": 4, "n_head": 4}),
    "bloom": ("BloomConfig", "BloomForCausalLM", {"n_layer": 4, "n_head": 4}),
    "bert": ("BertConfig", "BertForMaskedLM", {}),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {"embedding_size": 16}),
    "mamba": ("MambaConfig", "MambaForCausalLM", {"state_size": 4}),
    "t5": ("T5Config", "T5ForConditionalGeneration", {"d_model": 32, "d_kv": 8, "d_ff": 48}),
}
CAUSAL = ("llama", "gpt_neox", "qwen3", "mistral", "gpt2", "bloom")


def model(family: str, seed: int = 0) -> Any:
    """A model in evaluation mode, its weights large enough for blocks far from linear."""
    config_name, class_name, extra = _FAMILIES[family]
    config = getattr(transformers, config_name)(**_SHAPE | extra)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        built = getattr(transformers, class_name)._from_config(config, dtype=torch.float32)
        for parameter in built.parameters():
            if parameter.ndim > 1:
                torch.nn.init.normal_(parameter, std=0.15)
    return built.eval().requires_grad_(False)


def tokenizer() -> Any:
    """A byte-level tokenizer trained on one sentence."""
    built = Tokenizer(BPE())
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    built.train_from_iterator([TEXT], BpeTrainer(vocab_size=300, initial_alphabet=alphabet))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=built)


def folder(path: Path, family: str = "llama", seed: int = 0) -> Path:
    """A folder as `save_pretrained` leaves it: config, safetensors, tokenizer."""
    model(family, seed).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path
