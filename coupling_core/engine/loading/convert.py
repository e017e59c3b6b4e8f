"""A GGUF file converted once into a safetensors folder, which loads thirty times faster."""

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from coupling_core.base.errors import ComputeError
from coupling_core.base.records import Request
from coupling_core.base.results import Progress
from coupling_core.base.units import duration
from coupling_core.engine.loading.gguf_reading import read_fast
from coupling_core.engine.loading.reading import read_whole
from coupling_core.engine.loading.words import plain_errors, quiet
from coupling_core.sources.aliases import alias_of
from coupling_core.sources.file_hashes import hash_of, seal
from coupling_core.sources.gguf_head import read_head
from coupling_core.sources.identity import Source, digest_now, locate

_UNFINISHED = ".converting-"
_ABANDONED_AFTER = 86400.0
"""Seconds from the beginning of a conversion on; the largest models take an hour."""


def prepare(name: str, report: Callable[[Progress], None] | None = None) -> Path:
    """Convert an alias or a .gguf file into a safetensors folder, once, so that it loads fast."""
    source = locate(Request(prompt="-", model=name))
    if source.kind == "gguf":
        convert(source, report)
    return source.converted


def convert(source: Source, report: Callable[[Progress], None] | None = None) -> None:
    """Read a GGUF file through transformers and save it as a folder, atomically.

    A folder that is there but not as it was written is made anew.
    """
    file, parent = Path(source.location), source.converted.parent
    _sweep(parent)
    if source.is_converted:
        return
    require_shipped(source)
    with plain_errors(source), quiet(), read_fast():
        takes = duration(read_head(file).seconds)
        note = f"{source.name} is converted once, which takes about {takes}"
        (report or (lambda _: None))(Progress("converting", note=note))
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=parent) as place:
            folder = Path(place) / "new"
            _rewrite(file, Path(place) / "alone", folder)
            _require_same(source)
            seal(folder)
            if source.converted.exists() and not source.is_converted:  # damaged, or replaced
                source.converted.rename(Path(place) / "old")
            try:
                folder.rename(source.converted)
            except OSError:
                if not source.is_converted:  # else another process was first: same content
                    raise
    if alias := alias_of(source.digest):
        alias.take_apart()


def _sweep(parent: Path) -> None:
    """Delete what conversions left behind that died: as much as a model."""
    for place in parent.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):
            if time.time() - place.stat().st_mtime > _ABANDONED_AFTER:
                shutil.rmtree(place)


def _rewrite(file: Path, alone: Path, folder: Path) -> None:
    """Save what a GGUF file holds as a folder.

    It is read from a folder of its own: what lies beside it is no part of its hash, and a
    tokenizer's config would be read from there.
    """
    alone.mkdir()
    (alone / file.name).symlink_to(file)
    where: dict[str, Any] = {"gguf_file": file.name, "trust_remote_code": False}
    tokenizer: Any = AutoTokenizer.from_pretrained(alone, **where)  # nosec B615  # a folder
    tokenizer.save_pretrained(folder)
    model = read_whole(AutoModelForCausalLM, alone, torch.float32, where, of=file)
    # The weights are plain float32 now; what still says otherwise would block saving.
    del model.config.quantization_config
    model.hf_quantizer = None
    model.is_quantized = False
    model.save_pretrained(folder)


def require_shipped(source: Source) -> None:
    """Check that what stands for an alias is there, and is the very content that names it."""
    if (alias := alias_of(source.digest)) is None:
        return
    place = Path(source.location)
    if place == alias.place and alias.is_installed:
        alias.put_together()
    if not place.exists():
        raise ComputeError(f"the package that ships {alias.name} is missing: `{alias.install}`")
    found = digest_now(source)
    if found != alias.sha256:
        raise ComputeError(
            f"{place} has sha256 {found[:12]}… instead of {alias.sha256[:12]}…: "
            f"another version of the package is installed; `{alias.install}`"
        )


def _require_same(source: Source) -> None:
    """Refuse what came of a file that is not, or no more, the one that names the model."""
    found = hash_of(Path(source.location))
    if found != source.digest:
        raise ComputeError(
            f"{source.location} has sha256 {found[:12]}… instead of {source.digest[:12]}…: it "
            "changed while it was converted, or is damaged; try again, or copy it anew"
        )
