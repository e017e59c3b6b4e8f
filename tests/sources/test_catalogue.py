"""The catalogue of models: those of the papers' Table 1, and a user's own."""

from dataclasses import replace

import pytest
from catalogue_rows import FILE, HEAD, OWN

from coupling_core.base.folders import user_cache
from coupling_core.sources.catalogue import (
    CatalogueModel,
    catalogue,
    read_catalogue,
    write_catalogue,
)
from coupling_core.sources.identity import is_hub_id


@pytest.fixture(scope="module")
def models():
    return read_catalogue(FILE)


def test_every_model_stands_once_with_numbers_that_name_their_source(models):
    assert len(models) == len({model.id for model in models}) == 42
    assert all(is_hub_id(model.id) and model.source and model.family for model in models)
    scores = [model.score for model in models if model.score is not None]
    assert len(scores) == 36
    assert all(25 <= score <= 75 for score in scores)
    assert {model.positions for model in models} == {"RoPE", "ALiBi", "Sine"}
    assert sum(model.tuned for model in models) == 11


def test_blocks_of_that_width_have_about_as_many_parameters(models):
    """12 d^2 a block in most families, and the embeddings: of Gemma 2B, more than half."""
    ratios = [model.parameters / (12 * model.layers * model.width**2) for model in models]
    assert all(0.5 <= ratio <= 2.5 for ratio in ratios)


def test_what_is_written_is_read_again(models, tmp_path):
    path = tmp_path / "new" / "models.csv"
    write_catalogue(path, models)
    assert path.read_bytes() == FILE.read_bytes()
    write_catalogue(path, [OWN])
    assert read_catalogue(path) == [OWN]


def test_own_models_replace_and_extend_those_that_ship(models, monkeypatch, tmp_path):
    assert catalogue() == models
    better = replace(models[3], score=60.0)
    write_catalogue(user_cache() / "models.csv", [OWN, better])
    assert catalogue() == [*models[:3], better, *models[4:], OWN]
    monkeypatch.setattr("coupling_core.sources.catalogue.SWEEPS", tmp_path / "nowhere")
    assert catalogue() == [OWN, better]  # outside a checkout they are all


def test_a_row_of_numbers_alone_is_enough(tmp_path):
    path = tmp_path / "models.csv"
    path.write_text(f"\ufeff{HEAD}\r\n a/b ,,1000,4,64\r\n", encoding="utf-8")
    assert read_catalogue(path) == [CatalogueModel("a/b", "", 1000, 4, 64)]
