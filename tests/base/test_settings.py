"""What may be decided from outside; what cannot be used is in test_base_refusals."""

from pathlib import Path

import pytest

from coupling_core.base import settings as module
from coupling_core.base.settings import Settings, settings


@pytest.fixture(autouse=True)
def nothing_set(tmp_path, monkeypatch):
    """No file, and what was read before is forgotten."""
    monkeypatch.chdir(tmp_path)
    settings.cache_clear()
    yield
    settings.cache_clear()


def test_nothing_is_limited_but_in_a_demo(monkeypatch):
    found = settings()
    assert found.mode == "local"
    assert (found.longest_prompt, found.largest_k, found.queue_length) == (None, None, None)
    assert not found.read_only
    monkeypatch.setenv("COUPLING_MODE", "demo")
    settings.cache_clear()
    found = settings()
    assert {name: getattr(found, name) for name in module.DEMO} == module.DEMO


def test_the_environment_counts_more_than_the_file_and_both_more_than_a_demo(tmp_path, monkeypatch):
    told = 'mode = "demo"\nlargest_k = 30\nqueue_length = 7\nmodels = ["a", "b"]\n'
    (tmp_path / "coupling.toml").write_text(told)
    monkeypatch.setenv("COUPLING_LARGEST_K", "20")
    monkeypatch.setenv("COUPLING_LONGEST_SECONDS", "9000")
    found = settings()
    assert (found.mode, found.largest_k, found.models) == ("demo", 20, ("a", "b"))
    assert (found.queue_length, found.longest_seconds) == (7, 9000)
    assert found.jobs_per_session == module.DEMO["jobs_per_session"]


def test_another_file_and_a_list_separated_by_commas(tmp_path, monkeypatch):
    (tmp_path / "other.toml").write_text("queue_length = 3\n")
    monkeypatch.setenv("COUPLING_CONFIG", str(tmp_path / "other.toml"))
    monkeypatch.setenv("COUPLING_MODELS", "smollm2-135m, EleutherAI/pythia-70m@step1000")
    assert settings().queue_length == 3
    assert settings().models == ("smollm2-135m", "EleutherAI/pythia-70m@step1000")


def test_every_setting_is_in_the_table_of_the_document_on_hosting():
    rows = module.table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [
        f"COUPLING_{name.upper()}" for name in Settings.model_fields
    ]
    assert module.table() in (Path(__file__).parents[2] / "docs" / "hosting.md").read_text()
