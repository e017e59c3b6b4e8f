"""Every architecture of the installed transformers, as a tiny model with random weights.

The library's own tables name them, and a config is made small by what its fields are called.
"""

import inspect
from contextlib import suppress
from typing import Any

import torch
import transformers
from transformers.models.auto import configuration_auto, modeling_auto

from coupling_core.engine.loading import start_token

WIDTH, HEADS, GROUPS, HEAD, LAYERS, EXPERTS, VOCABULARY, LONGEST = 32, 4, 2, 8, 3, 4, 300, 64
SIDE, PATCH = 32, 8
IDS = (5, 17, 42, 8, 99, 17, 3, 64, 29)
"""A prompt, with one token twice."""
LARGEST = 30_000_000
"""Parameters: an architecture that comes out larger was not made small."""

MODELS: dict[str, str] = {
    name: model[0] if isinstance(model, tuple) else model
    for table in (
        modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    )
    for name, model in table.items()
}
"""The class of each that reads texts or images, with the head of the last table that has it."""

_NAMES = {
    "hidden_size d_model n_embd dim embed_dim word_embed_proj_dim embedding_size emb_dim emb_size"
    " projection_dim lru_width attention_hidden_size dim_model true_hidden_size width"
    " encoder_hidden_size decoder_hidden_size rnn_hidden_size embedding_dim attention_dim": WIDTH,
    "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim n_inner d_ff d_inner dim_ff"
    " ffn_hidden_size hidden_dim expert_ffn_hidden_size intermediate_size_mlp"
    " moe_intermediate_size shared_expert_intermediate_size shared_intermediate_size"
    " moe_shared_expert_intermediate_size expert_intermediate_size feed_forward_size"
    " block_ff_dim dense_intermediate_size mlp_hidden_size": 48,
    "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_blocks"
    " num_decoder_layers num_encoder_layers decoder_num_layers": LAYERS,
    "num_attention_heads n_head n_heads num_heads encoder_attention_heads"
    " decoder_attention_heads num_decoder_attention_heads num_encoder_attention_heads"
    " linear_num_value_heads linear_num_heads swa_num_attention_heads": HEADS,
    "mamba_n_heads n_mamba_heads": 2 * HEADS,
    "num_key_value_heads num_kv_heads n_head_kv linear_num_key_heads num_experts_per_tok"
    " num_experts_per_token moe_topk moe_k top_k num_selected_experts kv_n_heads moe_top_k"
    " swa_num_key_value_heads": GROUPS,
    "head_dim d_kv qk_nope_head_dim v_head_dim kv_channels attention_head_dim mamba_d_head"
    " linear_key_head_dim linear_value_head_dim mamba_d_state state_size index_head_dim"
    " swa_head_dim query_pre_attn_scalar ssm_state_size mamba_head_dim dim_head"
    " v_channels qk_channels global_head_dim": HEAD,
    "qk_rope_head_dim rotary_dim sliding_window window_size attention_window mamba_chunk_size"
    " chunk_size local_attention index_topk attention_chunk_size": HEAD // 2,
    "q_lora_rank kv_lora_rank o_lora_rank mamba_dt_rank hidden_size_per_layer_input"
    " laurel_rank": 16,
    "num_experts n_routed_experts num_local_experts moe_num_experts expert_num": EXPERTS,
    "n_group topk_group first_k_dense_replace num_shared_layers mamba_n_groups n_groups"
    " num_nextn_predict_layers n_shared_experts num_dense_layers decoder_sparse_step"
    " num_mem_blocks moe_num_shared_experts encoder_sparse_step num_shared_experts"
    " moe_layer_interval": 1,
    "vocab_size vocab_size_per_layer_input decoder_vocab_size tgt_vocab_size"
    " src_vocab_size entity_vocab_size": VOCABULARY,
    "max_position_embeddings n_positions n_ctx max_seq_len max_sequence_length seq_length"
    " max_source_positions max_target_positions max_seq_length context_length"
    " original_max_position_embeddings model_max_length": LONGEST,
    "image_size img_size": SIDE,
    "patch_size": PATCH,
    "bos_token_id eos_token_id pad_token_id decoder_start_token_id": 0,
}  # fmt: skip
_SIZES = {name: size for names, size in _NAMES.items() for name in names.split()}
_REPEATED = (
    "layer_types",
    "block_types",
    "layers_block_type",
    "attention_types",
    "mlp_layer_types",
)
"""One entry a layer: made again by the config itself."""


def build(name: str, scale: float = 1.0) -> Any:
    """A model with matrices of this standard deviation, in units of 0.1, or whatever error."""
    config = _small_config(name)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = _make(name, config)
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.data = scale * 0.1 * torch.randn(parameter.shape)
    return model.float().eval().requires_grad_(False)


def _make(name: str, config: Any) -> Any:
    return getattr(transformers, MODELS[name])._from_config(config)


def _small_config(name: str) -> Any:
    """By the first of `_CHANGES` that its own checks, and its model, accept."""
    kind = configuration_auto.CONFIG_MAPPING[name]
    met: list[Exception] = []
    for change in _CHANGES:
        try:
            config = _small(kind, change | _ALSO.get(name, {}))
            _require_small(name, config)
        except Exception as error:
            met.append(error)
        else:
            return config
    raise met[0]


def inputs_of(model: Any) -> dict[str, Any]:
    """A prompt that a model reads: a few tokens, or an image of the size that its config names."""
    if model.main_input_name == "pixel_values":
        config = getattr(model.config, "vision_config", model.config)
        side = getattr(config, "image_size", None) or SIDE
        height, width = (side, side) if isinstance(side, int) else side
        generator = torch.Generator().manual_seed(0)
        channels = getattr(config, "num_channels", 3)
        return {"pixel_values": torch.rand(1, channels, height, width, generator=generator)}
    ids = {"input_ids": torch.tensor([IDS])}
    if model.config.is_encoder_decoder:
        ids["decoder_input_ids"] = torch.tensor([(start_token(model), *IDS[:-1])])
    return ids | {"use_cache": False}


def _require_small(name: str, config: Any) -> None:
    with torch.device("meta"):
        model = _make(name, config)
    size = sum(parameter.numel() for parameter in model.parameters())
    if size > LARGEST:
        raise ValueError(f"it has {size} parameters however small its config is made")
    with torch.no_grad():
        _make(name, config).eval()(**inputs_of(model))


_CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"num_key_value_heads": HEADS},
    {"num_experts_per_tok": 1},
    {"head_dim": 2 * HEAD},
    {"num_key_value_heads": HEADS, "qk_rope_head_dim": HEAD, "n_routed_experts": EXPERTS},
    {"linear_num_key_heads": HEADS, "linear_num_value_heads": HEADS},
    {"true_hidden_size": 4 * WIDTH, "intra_bottleneck_size": WIDTH, "embedding_size": WIDTH},
    {"image_size": 4 * SIDE},
    {"default_language": "en_XX"},
    {"vocab_size": VOCABULARY, "pad_token_id": 0},
    {"is_decoder": True},
    {"num_hidden_layers": 2 * LAYERS},
    {"position_embedding_type": "rotary"},
    {"num_attention_heads": [2, 2]},
    {"attention_types": [[["global", "local"], 2]], "num_layers": 4},
    {"hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0},
    {"num_kv_shared_layers": 0},
)
"""Made one after the other until one is accepted."""
_WHOLE = ["full_attention"] * LAYERS
_SWIN = {"depths": [2, 2], "num_heads": [2, 4], "window_size": 4, "embed_dim": WIDTH // 2}
_ZAMBA = {
    "attention_hidden_size": 2 * WIDTH, "attention_head_dim": 2 * HEAD,
    "num_key_value_heads": HEADS,
}  # fmt: skip
_ALSO: dict[str, dict[str, Any]] = {
    "bailing_hybrid": {"num_expert_group": 1, "num_key_value_heads": HEADS},
    "cohere_compass_text": {
        "layer_types": _WHOLE,
        "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e4}},
    },
    "deepseek_v2": {
        "head_dim": HEAD // 2, "num_key_value_heads": HEADS, "num_experts_per_tok": GROUPS,
        "n_group": None, "topk_group": None,
    },
    "dots1": {
        "n_shared_experts": 1, "layer_types": _WHOLE, "num_key_value_heads": HEADS,
        "n_routed_experts": EXPERTS, "num_experts_per_tok": GROUPS,
    },
    "falcon_h1": {"mamba_d_ssm": 2 * WIDTH},
    "lfm2_moe": {"layer_types": ["conv", "full_attention", "conv"]},
    "mobilebert": {
        "hidden_size": 2 * WIDTH, "intra_bottleneck_size": WIDTH, "embedding_size": WIDTH,
    },
    "perceiver": {"d_latents": WIDTH, "num_latents": HEAD, "num_self_attends_per_block": LAYERS},
    "recurrent_gemma": {
        "block_types": ["recurrent", "recurrent", "attention"], "attention_window_size": HEAD // 2,
    },
    "reformer": {
        "is_decoder": True, "attn_layers": ["local", "lsh", "local"], "axial_pos_embds": False,
        "local_attn_chunk_length": 16, "lsh_attn_chunk_length": 16, "attention_head_size": HEAD,
        "num_buckets": 2,
    },
    "swin": _SWIN,
    "swinv2": _SWIN,
    "zamba": _ZAMBA | {
        "num_hidden_layers": 2 * LAYERS, "layers_block_type": ["mamba", "hybrid"] * LAYERS,
        "n_mamba_heads": 2, "mamba_dt_rank": "auto",
    },
    "zamba2": _ZAMBA | {
        "num_hidden_layers": 4, "layers_block_type": ["mamba", "hybrid"] * 2,
        "mamba_d_state": HEAD, "adapter_rank": HEAD,
    },
}  # fmt: skip
"""By architecture, fields whose sizes must agree with one another, or have no default."""


def _small(kind: Any, change: dict[str, Any]) -> Any:
    default = kind()
    asked: dict[str, Any] = {}
    for name, value in default.to_dict().items():
        if name in _SIZES and isinstance(value, int) and not isinstance(value, bool):
            asked[name] = _SIZES[name]
        elif name in _REPEATED:
            asked[name] = None
    for name, part in getattr(kind, "sub_configs", {}).items():
        if inspect.isclass(part) and name in vars(default):
            with suppress(Exception):  # a part that is any model of the library
                asked[name] = _small(part, change)
    known = vars(default)
    return kind(**asked | {name: value for name, value in change.items() if name in known})
