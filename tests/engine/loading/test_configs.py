"""A config is bounded before anything is built from it."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiny

from coupling_core.base.errors import InputError
from coupling_core.engine.loading.configs import read_config, require_bounded

TOO_LARGE: list[dict[str, Any]] = [
    {"num_hidden_layers": 1001},
    {"n_layer": 10**12},
    {"text_config": {"num_layers": 10**6}},
    {"depths": [2, 2, 10**6, 2]},
    {"num_local_experts": 10**6},
    {"num_labels": 10**9},
    {"num_hidden_layers": 1e300},
    {"num_hidden_layers": float("inf")},
]
REAL: list[Any] = [
    {"num_hidden_layers": 1000, "vocab_size": 10**6, "block_size": 2**20, "depths": [2, 27, 2]},
    {"max_position_embeddings": 10**7, "num_local_experts": 2048, "vision_feature_layer": -2},
    {"num_hidden_layers": True, "layer_types": ["full_attention"] * 5000},
    [],
    None,
]


def test_no_config_builds_more_than_any_model_has() -> None:
    for said in TOO_LARGE:
        with pytest.raises(InputError, match=r"config.json says \w+ = "):
            require_bounded(said)
    for said in REAL:
        require_bounded(said)


def test_a_config_is_bounded_before_transformers_sees_it(tmp_path: Path) -> None:
    tiny.folder(tmp_path)
    said = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(said | {"num_labels": 10**12}))
    with pytest.raises(InputError, match="num_labels = 1e"):
        read_config(tmp_path, {})
