"""What may be decided from outside, and what is said of a value that cannot be used."""

from pathlib import Path

import pytest

from coupling_core.base import settings as module
from coupling_core.base.errors import InputError
from coupling_core.base.settings import Settings, settings


@pytest.fixture(autouse=True)
def nothing_set(tmp_path, monkeypatch):
    """No file, and what was read before is forgotten."""
    monkeypatch.chdir(tmp_path)
    settings.cache_clear()
    yield
    settings.cache_clear()


def test_by_default_nothing_is_limited():
    found = settings()
    assert found.mode == "local"
    assert (found.longest_prompt, found.largest_k, found.queue_length) == (None, None, None)
    assert not found.read_only


def test_a_demo_is_limited_where_nothing_else_is_set(monkeypatch):
    monkeypatch.setenv("COUPLING_MODE", "demo")
    found = settings()
    assert {name: getattr(found, name) for name in module.DEMO} == module.DEMO


def test_what_is_set_counts_more_in_a_demo_too(tmp_path, monkeypatch):
    (tmp_path / "coupling.toml").write_text('mode = "demo"\nqueue_length = 7\n')
    monkeypatch.setenv("COUPLING_LONGEST_SECONDS", "9000")
    found = settings()
    assert (found.queue_length, found.longest_seconds) == (7, 9000)
    assert found.jobs_per_session == module.DEMO["jobs_per_session"]


def test_the_environment_counts_more_than_the_file(tmp_path, monkeypatch):
    (tmp_path / "coupling.toml").write_text('mode = "demo"\nlargest_k = 30\nmodels = ["a", "b"]\n')
    monkeypatch.setenv("COUPLING_LARGEST_K", "20")
    found = settings()
    assert (found.mode, found.largest_k, found.models) == ("demo", 20, ("a", "b"))


def test_another_file(tmp_path, monkeypatch):
    (tmp_path / "other.toml").write_text("queue_length = 3\n")
    monkeypatch.setenv("COUPLING_CONFIG", str(tmp_path / "other.toml"))
    assert settings().queue_length == 3


def test_a_list_of_the_environment_is_separated_by_commas(monkeypatch):
    monkeypatch.setenv("COUPLING_MODELS", "smollm2-135m, EleutherAI/pythia-70m@step1000")
    assert settings().models == ("smollm2-135m", "EleutherAI/pythia-70m@step1000")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MODE", "public", r"mode = 'public': input should be 'local' or 'demo'"),
        ("LARGEST_K", "0", r"largest_k = '0': input should be greater than or equal to 1"),
        ("LONGEST_PROMPT", "many", r"longest_prompt = 'many': .*valid integer"),
        ("READ_ONLY", "perhaps", r"read_only = 'perhaps'"),
        ("TRUSTED_PROXIES", "::1,caddy", r"trusted_proxies.1 = 'caddy'"),
        ("TRUSTED_PROXIES", "10.0.0.1/8", r"trusted_proxies.0 = '10.0.0.1/8': .*host bits set"),
        ("MEMORY_RESERVE", "-1", r"memory_reserve = '-1'"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_with_its_name(name, value, words, monkeypatch):
    monkeypatch.setenv(f"COUPLING_{name}", value)
    with pytest.raises(InputError, match=words):
        settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("longest = 3", "longest is no setting"),
        ("'__class__' = 'x'", "__class__ is no setting"),
        ("mode = ", "cannot be read as TOML"),
        ("mode = 'local'\nmode = 'demo'", "cannot be read as TOML"),
        ("\0", "cannot be read as TOML"),
        ("\udcff", "cannot be read as TOML"),
        ("device = " + "[" * 100_000, "cannot be read as TOML"),
        ("[mode]\nlocal = 1", "mode = {'local': 1}"),
        ("mode = 1979-05-27", "mode = datetime.date"),
        ("models = []", "at least 1 item"),
        ("models = ' , '", "at least 1 item"),
        ("models = [1]", "models.0 = 1"),
        ("largest_k = nan", "largest_k = nan: .*finite"),
        ("largest_k = 1.5", "largest_k = 1.5: .*integer"),
        ("jobs_per_hour = -1", "jobs_per_hour = -1"),
    ],
    ids=range(15),
)
def test_a_file_that_cannot_be_used_is_told(text, words, tmp_path):
    (tmp_path / "coupling.toml").write_text(text, errors="surrogateescape")
    with pytest.raises(InputError, match=words):
        settings()


@pytest.mark.parametrize("kind", ["nothing", "a folder", "a link to itself"])
def test_a_file_that_is_named_and_not_there_is_told(kind, tmp_path, monkeypatch):
    path = tmp_path / "named.toml"
    if kind == "a folder":
        path.mkdir()
    if kind == "a link to itself":
        path.symlink_to(path)
    monkeypatch.setenv("COUPLING_CONFIG", str(path))
    with pytest.raises(InputError, match=r"named\.toml cannot be read"):
        settings()


def test_the_table_has_every_setting():
    rows = module.table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [
        f"COUPLING_{name.upper()}" for name in Settings.model_fields
    ]


def test_the_document_on_hosting_has_the_table():
    assert module.table() in (Path(__file__).parents[2] / "docs" / "hosting.md").read_text()
