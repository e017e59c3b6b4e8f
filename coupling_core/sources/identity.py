"""Who a model is: where its files lie and the hashes that name it, found without torch.

Two ways to one model (an alias, the path of the same GGUF file) give one identity, and so one
stored result.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from coupling_core.base.choosing import nearest
from coupling_core.base.errors import InputError, refuse
from coupling_core.base.folders import user_cache
from coupling_core.base.reading import opened
from coupling_core.base.records import OWN, Request
from coupling_core.sources import hub
from coupling_core.sources.aliases import ALIASES
from coupling_core.sources.file_hashes import file_digest, folder_digest, is_sealed
from coupling_core.sources.identity_form import FORM, is_corrected, lacked
from coupling_core.sources.refusals import reading
from coupling_core.sources.suites import suites

_HUB_ID = re.compile(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}")


@dataclass(frozen=True)
class Source:
    """Where a model's files are.

    Args:
        kind: "gguf" for one file, "folder" for config and safetensors, "hub" for a repository of
            the hub.
        name: what to call the model.
        location: the file, the folder, or the hub id.
        digest: sha256 of the content, or the commit.
        revision: the branch, tag or commit of the hub that was asked for; None is the branch main.
    """

    kind: Literal["gguf", "folder", "hub"]
    name: str
    location: str
    digest: str
    revision: str | None = None

    @property
    def converted(self) -> Path:
        """The folder into which a GGUF file is converted, and which a folder already is."""
        if self.kind == "folder":
            return Path(self.location)
        return user_cache() / "models" / self.digest[:32]

    @property
    def is_converted(self) -> bool:
        """Whether `converted` is as its conversion left it; what needs none is."""
        return self.kind != "gguf" or is_sealed(self.converted)

    @property
    def folder(self) -> Path:
        """Where config, weights and tokenizer lie, or will once they are fetched or converted."""
        return hub.snapshot(self.location, self.digest) if self.kind == "hub" else self.converted

    @property
    def config(self) -> dict[str, Any]:
        """The model's config as its file has it; empty where none is on this disk yet."""
        try:
            config = json.loads((self.folder / "config.json").read_text())
        except (OSError, ValueError, RecursionError):
            return {}
        return config if isinstance(config, dict) else {}


def identity_of(source: Source, request: Request) -> dict[str, Any]:
    """What names a model: kind, digest (and hub id), and a display name."""
    identity = {"kind": source.kind, "name": source.name, "digest": source.digest}
    identity |= {"id": source.location} if source.kind == "hub" else {}
    is_new = lacked(request, source.kind) or is_corrected(source.config)
    return identity | ({"form": FORM} if is_new else {})


def digest_now(source: Source) -> str:
    """Hash of what lies where a model's file or folder was found."""
    path = Path(source.location)
    return folder_digest(path) if source.kind == "folder" else _gguf_digest(path)


def locate(request: Request) -> Source:
    """Find the files of the request's model."""
    model, revision = request.model.strip(), request.revision
    is_hub = is_hub_id(model)
    refuse(
        (
            model.startswith(OWN),
            f"{model!r} stands for a module of somebody's own, which only the program has that "
            "made it: measure(request, model=...) in Python",
        ),
        (
            revision is not None and not is_hub,
            f"revision {revision!r} was given with {model!r}, but only a hub id has revisions: "
            "leave it out",
        ),
    )
    path = _on_disk(model)
    if model in ALIASES:
        alias = ALIASES[model]
        return Source(alias.kind, alias.name, str(alias.place), alias.sha256)
    if path and path.is_dir():
        return Source(
            "folder", path.resolve().name, str(path.resolve()), folder_digest(path.resolve())
        )
    if path and path.is_file():
        return Source("gguf", path.stem, str(path.resolve()), _gguf_digest(path.resolve()))
    if is_hub:
        name = f"{model}@{revision}" if revision else model
        return Source("hub", name, model, hub.commit(model, revision), revision)
    named, _, of = model.partition("@")
    if of and is_hub_id(named):  # as results of a revision are called
        raise InputError(
            f"model {model!r} names a revision too: give model={named!r} and revision={of!r}"
        )
    if model.endswith(".gguf") or model.count("/") != 0 or model.startswith((".", "~")):
        raise InputError(f"model {model!r}: there is no such file or folder; check the path")
    suite = suites().get(model)
    meant = f" (did you mean {suite.repo!r}?)" if suite else nearest(model, ALIASES)
    raise InputError(
        f"model {model!r} is unknown{meant}: expected an alias "
        f"({', '.join(ALIASES)}), a hub id (owner/name), a folder with config.json and "
        "safetensors, or a .gguf file"
    )


def is_hub_id(model: str) -> bool:
    """Whether this names a model of the hub, and no file or folder of this machine."""
    return bool(_HUB_ID.fullmatch(model)) and not (model.endswith(".gguf") or _on_disk(model))


def _on_disk(model: str) -> Path | None:
    """The file or folder of this name; None where there is none."""
    try:
        path = Path(model).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long for a name, or in the home of nobody
        return None


def _gguf_digest(path: Path) -> str:
    with reading(path), opened(path) as file:
        magic = file.read(4)
    if magic != b"GGUF":
        raise InputError(
            f"{path} is no GGUF file, or cut short: it begins with {magic!r} instead of b'GGUF'; "
            "give a .gguf file, or the folder that holds config.json and safetensors"
        )
    return file_digest(path)
