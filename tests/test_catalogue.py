"""The models of the papers' Table 1, as data."""

from pathlib import Path

import pandas as pd
import pytest

from coupling_core.identity import is_hub_id

FILE = Path(__file__).parents[1] / "sweeps" / "models.csv"


@pytest.fixture(scope="module")
def models():
    return pd.read_csv(FILE)


def test_every_model_stands_once_and_can_be_asked_for(models):
    assert len(models) == 42
    assert models["model"].is_unique
    assert all(map(is_hub_id, models["model"]))


def test_every_number_is_one_and_names_its_source(models):
    for name in ("parameters", "layers", "width"):
        assert (models[name] > 0).all()
    assert models["score"].dropna().between(25, 75).all()
    assert models["score"].notna().sum() == 36
    assert models["source"].notna().all()
    assert set(models["positions"]) == {"RoPE", "ALiBi", "Sine"}


def test_blocks_of_that_width_have_about_as_many_parameters(models):
    """12 d^2 a block in most families, and the embeddings: of Gemma 2B, more than half."""
    blocks = 12 * models["layers"] * models["width"] ** 2
    assert (models["parameters"] / blocks).between(0.5, 2.5).all()
