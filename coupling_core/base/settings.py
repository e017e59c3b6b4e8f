"""What whoever runs the app may decide: by environment variables, or in one TOML file.

A field `longest_prompt` is the variable COUPLING_LONGEST_PROMPT, or `longest_prompt = 512` in
`coupling.toml` of the folder where the program is started (or in the file that COUPLING_CONFIG
names); the environment counts more. docs/hosting.md has a table of them.
"""

import os
import re
import tomllib
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from coupling_core.base.errors import InputError, problems, reason
from coupling_core.base.folders import STORE_BYTES, expanded

PREFIX = "COUPLING_"
FILE = "coupling.toml"


def _split(value: Any) -> Any:
    """A list of the environment, where there are no lists."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


def _site(value: str) -> str:
    if not re.fullmatch(r"https?://(\*\.)?[a-z0-9.-]+(:\d{1,5})?", value):
        raise ValueError("expected a site, such as https://huggingface.co")
    return value


def _allowed(value: str) -> str:
    if not re.fullmatch(r"\*|(\*|[^@*\s]+)@[^@*\s]+", value):
        raise ValueError("it is no address, and neither *@domain nor *")
    return value


def _network(value: str) -> str:
    ip_network(value)  # its words say what an address looks like
    return value


Limit = Annotated[int, Field(ge=1)]
Network = Annotated[str, AfterValidator(_network)]
Allowed = Annotated[str, AfterValidator(_allowed)]
Site = Annotated[str, AfterValidator(_site)]


DEMO = {
    "longest_prompt": 128,
    "largest_k": 64,
    "longest_seconds": 120,
    "queue_length": 100,
    "jobs_per_session": 4,
    "jobs_per_hour": 60,
    "training": False,
}
"""What a demo is limited to where nothing else is set."""


_OPENS = ("mode", "models", "sign_in", "framed_by", "trusted_proxies", "training", "read_only")
"""Settings that are refused where they are empty: their defaults let more people do more."""


class Settings(BaseSettings):
    """The settings; None is no limit."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    mode: Literal["local", "demo"] = Field(
        default="local", description="`demo`: strangers use the app; only `models`, and no path"
    )
    models: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        min_length=1,
        default=(
            "smollm2-135m",
            "minilm-l6",
            "coupling-explorer/mini-64",
            "coupling-explorer/mini-64-sd",
            "coupling-explorer/mini-128",
        ),
        description="what a demo offers, separated by commas: aliases, and hub ids with all of "
        "their revisions or as `id@revision`",
    )
    sign_in: Annotated[
        Annotated[tuple[Allowed, ...], Field(min_length=1)] | None,
        NoDecode,
        BeforeValidator(_split),
    ] = Field(
        default=None,
        description="who may use the app, and must sign in for it, separated by commas: addresses, "
        "`*@domain` for all of a domain, or `*` for whoever can sign in",
    )
    framed_by: Annotated[tuple[Site, ...] | None, NoDecode, BeforeValidator(_split)] = Field(
        default=None,
        description="other sites that may show the app in a frame, separated by commas, such as "
        "`https://huggingface.co`",
    )
    longest_prompt: Limit | None = Field(default=None, description="tokens")
    largest_k: Limit | None = Field(default=None, description="singular triplets")
    longest_seconds: Limit | None = Field(
        default=None, description="seconds of computing, as they are estimated beforehand"
    )
    queue_length: Limit | None = Field(
        default=None,
        description="jobs that may wait; without sign-in, at most half of them from one network "
        "address",
    )
    jobs_per_session: Limit | None = Field(
        default=None,
        description="jobs that one browser session, or one person where people sign in, may have "
        "queued or running",
    )
    jobs_per_hour: Limit | None = Field(
        default=None, description="jobs that one of them may start in an hour"
    )
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(),
        description="addresses and networks of the proxies in front of the app, separated by "
        "commas: only from these is `X-Forwarded-For` believed",
    )
    store_bytes: Limit = Field(
        default=STORE_BYTES, description="size of the store; what was not used for longest goes"
    )
    upload_bytes: Limit = Field(
        default=50 * 2**20, description="size of a file that is added on the page Runs"
    )
    device: str | None = Field(
        default=None, description="such as `cuda:0`; the best there is by default"
    )
    memory_reserve: Annotated[int, Field(ge=0)] = Field(
        default=2**30, description="bytes of memory that no measurement may take"
    )
    training: bool = Field(
        default=True,
        description="whether small models may be trained on the page Train one; in a demo all "
        "visitors see them, and they stay until somebody deletes them",
    )
    read_only: bool = Field(
        default=False, description="`true`: what is stored is shown, and nothing computed"
    )
    log: Literal["text", "json"] = Field(
        default="text",
        description="`json`: jobs, models and faults on stderr, one JSON object a line, without "
        "prompts; `text`: warnings, for people",
    )

    @model_validator(mode="before")
    @classmethod
    def _limit_demo(cls, values: dict[str, Any]) -> dict[str, Any]:
        said = {n: value for n, value in values.items() if value != "" or n in _OPENS}
        return DEMO | said if said.get("mode") == "demo" else said

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment before file."""
        return (env_settings, _File(settings_cls, toml_file=config_file()))


class _File(TomlConfigSettingsSource):
    """A TOML file that may begin with a mark, as some editors write it."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        return tomllib.loads(file_path.read_text(encoding="utf-8-sig"))


def config_file() -> Path:
    """The TOML file, whether or not it is there."""
    return expanded(os.environ.get(f"{PREFIX}CONFIG", FILE))


@cache
def settings() -> Settings:
    """What is set, read once; raises `InputError` on a value or a setting that is none."""
    named = os.environ.get(f"{PREFIX}CONFIG")
    try:
        if named and not config_file().is_file():  # or its limits would silently not hold
            raise FileNotFoundError("there is no such file")
        return Settings()
    except ValidationError as error:
        raise InputError(
            f"the settings cannot be used ({problems(error)}): see {config_file()} and the "
            f"variables that begin with {PREFIX}"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{config_file()} cannot be read as TOML: {reason(error)}") from error
