"""What may be decided from outside; what cannot be used is in test_base_refusals."""

from pathlib import Path

import pytest

from coupling_core.base.errors import InputError
from coupling_core.base.folders import user_cache
from coupling_core.base.settings import DEMO, Settings, settings


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
    assert {name: getattr(found, name) for name in DEMO} == DEMO


def test_the_environment_counts_more_than_the_file_and_both_more_than_a_demo(tmp_path, monkeypatch):
    told = 'mode = "demo"\nlargest_k = 30\nqueue_length = 7\nmodels = ["a", "b"]\n'
    (tmp_path / "coupling.toml").write_text(told)
    monkeypatch.setenv("COUPLING_LARGEST_K", "20")
    monkeypatch.setenv("COUPLING_LONGEST_SECONDS", "9000")
    found = settings()
    assert (found.mode, found.largest_k, found.models) == ("demo", 20, ("a", "b"))
    assert (found.queue_length, found.longest_seconds) == (7, 9000)
    assert found.jobs_per_session == DEMO["jobs_per_session"]


def test_another_file_and_a_list_separated_by_commas(tmp_path, monkeypatch):
    monkeypatch.setenv("COUPLING_CONFIG", str(tmp_path / "other.toml"))
    (tmp_path / "other.toml").write_bytes(b"\xef\xbb\xbfqueue_length = 3\n")  # as some editors do
    monkeypatch.setenv("COUPLING_STORE_BYTES", "")
    monkeypatch.setenv("COUPLING_MODELS", "smollm2-135m, EleutherAI/pythia-70m@step1000")
    assert settings().queue_length == 3
    assert settings().models == ("smollm2-135m", "EleutherAI/pythia-70m@step1000")


def test_a_cache_is_found_by_its_tilde_and_where_nobody_has_a_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COUPLING_HOME", "~/c")
    assert user_cache() == tmp_path / "c"
    for name in ("HOME", "COUPLING_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda _: {}["no entry"])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert user_cache().parent == tmp_path
    assert user_cache().stat().st_mode & 0o77 == 0
    monkeypatch.setattr("os.getuid", lambda: 12345)
    (tmp_path / "coupling-explorer-12345").symlink_to("/")  # of another user
    with pytest.raises(InputError, match="COUPLING_HOME"):
        user_cache()


def told(value):
    """A default as the document has it."""
    listed = value if isinstance(value, tuple) else () if value is None else (value,)
    shown = (str(it).lower() if isinstance(it, bool) else str(it) for it in listed)
    return ", ".join(f"`{it}`" for it in shown) or "none"


def test_every_setting_is_in_the_table_of_the_document_on_hosting():
    document = (Path(__file__).parents[2] / "docs" / "hosting.md").read_text()
    for name, field in Settings.model_fields.items():
        demo = f", in a demo {told(DEMO[name])}" if name in DEMO else ""
        row = f"| `COUPLING_{name.upper()}` | {field.description} | {told(field.default)}{demo} |"
        assert row in document.splitlines()
