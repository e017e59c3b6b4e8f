"""Tiny models of real families, built from their configs with random weights, and a tokenizer."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gguf
import torch
import transformers
from safetensors.torch import load_file, save_file
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
_GQA = {"num_key_value_heads": 2}
_GEMMA = _GQA | {"head_dim": 8}
_GEMMA_2 = _GEMMA | {"sliding_window": 3, "query_pre_attn_scalar": 8}
_GPT = {"n_embd": 32, "n_layer": 4, "n_head": 4}
_NEO = {"num_layers": 4, "attention_types": [[["global", "local"], 2]], "window_size": 3}
_FALCON = {"ffn_hidden_size": 48, "alibi": False}
_FALCON_NEW = _FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}
_FALCON_RW = _FALCON | {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True}
_LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
PYTHIA_ROPE = {"rope_type": "default", "partial_rotary_factor": 1.0, "rope_theta": 500.0}
"""Not the defaults, so that a config that is not understood shows."""
_EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
_OPT = {"ffn_dim": 48, "word_embed_proj_dim": 32}
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_heads": 4, "num_layers": 4}
_DISTIL = {"dim": 32, "n_layers": 4, "n_heads": 4, "hidden_dim": 48}
_BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 3}
_BART |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
_BART |= {"encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
_SWIN = {"image_size": 32, "window_size": 4, "embed_dim": 8}
_SWIN |= {"depths": [2, 2], "num_attention_heads": [2, 2]}
_FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    # name: what the names of its classes begin with, what differs from the common shape
    "gpt2": ("GPT2", _GPT),
    "gpt_neo": ("GPTNeo", _NEO),
    "gpt_neox": ("GPTNeoX", {}),
    "gptj": ("GPTJ", _GPT | {"rotary_dim": 4}),
    "codegen": ("CodeGen", _GPT | {"rotary_dim": 4}),
    "llama": ("Llama", _GQA),
    "llama3": ("Llama", _GQA | {"rope_parameters": _LLAMA3}),
    "mistral": ("Mistral", _GQA | {"sliding_window": 3}),
    "mixtral": ("Mixtral", _GQA | _EXPERTS),
    "falcon": ("Falcon", _FALCON | {"multi_query": True}),
    "falcon_new": ("Falcon", _FALCON_NEW),
    "falcon_rw": ("Falcon", _FALCON_RW),
    "mpt": ("Mpt", {"d_model": 32, "n_layers": 4, "n_heads": 4}),
    "gemma": ("Gemma", _GEMMA),
    "gemma2": ("Gemma2", _GEMMA_2),
    "gemma3": ("Gemma3", _GEMMA_2),
    "phi": ("Phi", {}),
    "phi3": ("Phi3", _GQA | {"pad_token_id": 0}),
    "olmo": ("Olmo", {}),
    "olmo2": ("Olmo2", {}),
    "qwen2": ("Qwen2", _GQA),
    "qwen3": ("Qwen3", _GEMMA),
    "opt": ("OPT", _OPT),
    "opt_350m": ("OPT", _OPT | {"word_embed_proj_dim": 16, "do_layer_norm_before": False}),
    "bloom": ("Bloom", {"n_layer": 4, "n_head": 4}),
    "stablelm": ("StableLm", _GQA),
    "starcoder2": ("Starcoder2", _GQA),
    "cohere": ("Cohere", _GQA),
    "granite": ("Granite", _GQA),
    "openai_gpt": ("OpenAIGPT", _GPT),
    "bert": ("Bert", {}),
    "roberta": ("Roberta", {}),
    "distilbert": ("DistilBert", _DISTIL),
    "electra": ("Electra", {"embedding_size": 16}),
    "t5": ("T5", _T5 | {"decoder_start_token_id": 0}),
    "bart": ("Bart", _BART),
    "albert": ("Albert", {"embedding_size": 16}),
    "mamba": ("Mamba", {"state_size": 4}),
    "swin": ("Swin", _SWIN),
}
TWO_STACKS = ("t5", "bart")
BIDIRECTIONAL = ("bert", "roberta", "distilbert", "electra")
REFUSED = ("albert", "swin")
CAUSAL = tuple(f for f in _FAMILIES if f not in TWO_STACKS + BIDIRECTIONAL + REFUSED)
_HEADS = (
    dict.fromkeys(("gpt2", "openai_gpt"), "LMHeadModel")
    | dict.fromkeys((*BIDIRECTIONAL, "albert"), "ForMaskedLM")
    | dict.fromkeys(TWO_STACKS, "ForConditionalGeneration")
    | {"swin": "Model"}
)
"""What the names of models end with, if not in ForCausalLM."""
SHORT = ("llama", "gpt_neox", "qwen3", "mistral", "gpt2", "bloom")
"""Causal families for the tests that need not run over all of them."""


def model(family: str, seed: int = 0, attention: str | None = None) -> Any:
    """A model in evaluation mode, its weights large enough for blocks far from linear."""
    name, extra = _FAMILIES[family]
    config_name = f"{name}TextConfig" if family == "gemma3" else f"{name}Config"
    config = getattr(transformers, config_name)(**_SHAPE | extra)
    config._attn_implementation = attention
    config._experts_implementation = "eager"  # the default has no kernel in float64
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = getattr(transformers, name + _HEADS.get(family, "ForCausalLM"))
        built = made._from_config(config, dtype=torch.float32)
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


def bridged(bridge: Any, family: str = "gpt2") -> Any:
    """A model in TransformerLens' bridge, which reads its tokenizer's folder once more for texts
    that begin with token 7."""
    first = tokenizer()
    first.bos_token = first.convert_ids_to_tokens(7)
    with TemporaryDirectory() as path:
        first.save_pretrained(path)
        words = transformers.AutoTokenizer.from_pretrained(path)
        told = {"hf_model": model(family), "tokenizer": words, "device": "cpu"}
        return bridge.boot_transformers("tiny", **told)


def folder(path: Path, family: str = "llama", seed: int = 0) -> Path:
    """A folder as `save_pretrained` leaves it: config, safetensors, tokenizer."""
    model(family, seed).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


def pythia(path: Path, seed: int = 0) -> Path:
    """A folder as a revision of the real Pythia has it: an old config, half precision, and causal
    masks and rotary frequencies beside the weights, which today's transformers computes itself."""
    folder(path, "gpt_neox", seed)
    config = json.loads((path / "config.json").read_text())
    for name in ("rope_parameters", "attention_bias", "dtype", "is_decoder", "pad_token_id"):
        del config[name]
    config |= {
        "rotary_pct": PYTHIA_ROPE["partial_rotary_factor"],
        "rotary_emb_base": PYTHIA_ROPE["rope_theta"],
        "torch_dtype": "float16",
        "transformers_version": "4.24.0",
    }
    (path / "config.json").write_text(json.dumps(config))
    weights = {name: w.half() for name, w in load_file(path / "model.safetensors").items()}
    n = config["max_position_embeddings"]
    for block in range(config["num_hidden_layers"]):
        attention = f"gpt_neox.layers.{block}.attention"
        weights[f"{attention}.bias"] = torch.ones(1, 1, n, n).tril().to(torch.uint8)
        weights[f"{attention}.masked_bias"] = torch.tensor(-1e4).half()
        weights[f"{attention}.rotary_emb.inv_freq"] = torch.zeros(4).half()
    save_file(weights, path / "model.safetensors", {"format": "pt"})
    return path


def gguf_file(path: Path, seed: int = 0) -> Path:
    """A tiny llama in GGUF form, its matrices quantised to 8 bits, with its tokenizer."""
    built, words = model("llama", seed), json.loads(tokenizer().backend_tokenizer.to_str())
    config, vocabulary = built.config, words["model"]["vocab"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    tokens += [f"<{i}>" for i in range(len(tokens), config.vocab_size)]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_merges([" ".join(pair) for pair in words["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, weight in built.state_dict().items():
        numbers, kind = weight.numpy(), None
        if weight.ndim == 2 and weight.shape[1] % 32 == 0:
            kind = gguf.GGMLQuantizationType.Q8_0
            numbers = gguf.quantize(numbers, kind)
        writer.add_tensor(names.get_name(name, (".weight",)), numbers, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
