"""Models that stay in memory once they were measured, so that the next prompt need not load them.

There is one copy of each on a device, whoever asks. Together they take a share of the memory that
measurements may take, and go where a measurement needs it: first the one not used for longest.
"""

import gc
import logging
from dataclasses import dataclass, replace
from threading import RLock

import torch

from coupling_core.base.records import Dtype, Quantisation, Request
from coupling_core.engine.hardware import usable_memory
from coupling_core.engine.loading.loaded import LoadedModel
from coupling_core.sources.identity import Source

SHARE = 0.25
"""Of the memory that measurements may take, the part that kept models may; the last one loaded is
kept in any case."""

COLLECTED = 4 * 10**7
"""Bytes from which on a model's memory is asked back at once: that takes a third of a second, as
long as it does to load a checkpoint of a small training run."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Key:
    """What makes a loaded model another one.

    Args:
        location: the file, the folder, or the hub id.
        digest: sha256 of its content, or the commit.
        untrained: seed of an untrained twin.
        dtype: precision to which the weights are rounded.
        quantize: their quantised form.
        device: where it computes.
        streamed: whether that was asked for.
    """

    location: str
    digest: str
    untrained: int | None
    dtype: Dtype
    quantize: Quantisation | None
    device: torch.device
    streamed: bool | None = None

    @classmethod
    def of(
        cls, source: Source, request: Request, device: torch.device, streamed: bool | None = None
    ) -> "Key":
        """The model that a request names."""
        asked = (request.untrained, request.dtype, request.quantize)
        return cls(source.location, source.digest, *asked, device, streamed)


class Kept:
    """Models by what makes them others, the last used last; safe to call from any thread."""

    def __init__(self) -> None:
        self._models: dict[Key, _Entry] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._models)

    def get(self, key: Key) -> LoadedModel | None:
        """A model that is kept; that it is there took no time."""
        with self._lock:
            found = self._models.pop(key, None)
            if found is None:
                return None
            self._models[key] = found
            return found.loaded

    def put(self, key: Key, loaded: LoadedModel) -> None:
        """Keep a model."""
        with self._lock:
            self._models[key] = _Entry.of(loaded)

    def release(self, location: str | None = None, digest: str | None = None) -> None:
        """Let go of the models of one location and content, and the files they keep open; or all.

        A location or a content of None is any.
        """
        with self._lock:
            for key in list(self._models):
                if location in (None, key.location) and digest in (None, key.digest):
                    self._drop(key)
            gc.collect()

    def make_room(self, device: torch.device, wanted: int) -> None:
        """Let go of models until another one of so many bytes may be kept beside the rest."""
        with self._lock:
            while (held := self._of(device)) and (
                sum(entry.size for entry in held.values()) + wanted
                > SHARE * self.within_reach(device)
            ):
                self._drop(next(iter(held)))

    def give_way(self, device: torch.device, needed: int, user: Key | None = None) -> None:
        """Let go of models until a measurement has so much memory, of which one may be in use.

        The bytes that it needs are with those of the model that it measures.
        """
        with self._lock:
            others = self._of(device)
            own = others.pop(user, None) if user else None
            in_use = own.allocated if own else 0
            for key in others:
                if usable_memory(device) + in_use >= needed:
                    return
                self._drop(key)

    def within_reach(self, device: torch.device) -> int:
        """Bytes that measurements may take on a device, once nothing is kept there."""
        with self._lock:
            held = self._of(device).values()
            return usable_memory(device) + sum(entry.allocated for entry in held)

    def _of(self, device: torch.device) -> "dict[Key, _Entry]":
        return {key: entry for key, entry in self._models.items() if key.device == device}

    def _drop(self, key: Key) -> None:
        size = self._models.pop(key).size
        _log.info("model released", extra={"model": key.location, "digest": key.digest})
        if size > COLLECTED:
            gc.collect()
        if key.device.type == "cuda":
            torch.cuda.empty_cache()


@dataclass(frozen=True)
class _Entry:
    """A model that is kept.

    Args:
        loaded: the model, which takes no time to load from now on.
        size: bytes of its weights.
        allocated: those of them that are given back when it goes. What is mapped from a file is
            not: the system pages it in and out as it likes, and counts it as free.
    """

    loaded: LoadedModel
    size: int
    allocated: int

    @classmethod
    def of(cls, loaded: LoadedModel) -> "_Entry":
        tensors = [*loaded.model.parameters(), *loaded.model.buffers()]
        # What torch has not allocated itself, it cannot resize.
        allocated = sum(t.nbytes for t in tensors if t.untyped_storage().resizable())
        return cls(replace(loaded, seconds=0.0), sum(t.nbytes for t in tensors), allocated)
