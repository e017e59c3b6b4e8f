"""What is right and what is wrong with this installation: `coupling doctor`."""

import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import psutil
from packaging.requirements import Requirement

from coupling_core.base.errors import CouplingError
from coupling_core.base.extras import Extra, remedy
from coupling_core.base.folders import free_bytes, user_cache
from coupling_core.base.installed import this
from coupling_core.base.memory import free_memory
from coupling_core.base.records import Request
from coupling_core.base.settings import config_file, settings
from coupling_core.base.units import counted, duration, size
from coupling_core.measuring import deaths
from coupling_core.serving import heartbeat
from coupling_core.sources import hub
from coupling_core.sources.aliases import ALIASES
from coupling_core.sources.gguf_head import read_head
from coupling_core.sources.identity import locate
from coupling_core.sources.suites import suites
from coupling_core.store.disk import Store

State = Literal["ok", "note", "wrong"]

OTHERS = "coupling.doctor"
"""Group of entry points to further functions such as those in `_LOOKS`: the app, of which nothing
is known here, has its sign-in looked at so."""

HUB_SECONDS = 5
_ENOUGH_DISK = 2 * 10**9


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Args:
        about: what it is.
        state: "ok"; "note" for what is missing and may not be needed; "wrong" for what does not
            work.
        text: what was found, with a remedy where something is missing.
    """

    about: str
    state: State
    text: str


def examine() -> Iterator[Finding]:
    """Look at everything, one thing after the other; nothing here raises."""
    others = {other.name: other.load() for other in this().entry_points.select(group=OTHERS)}
    for about, look in (_LOOKS | others).items():
        try:
            yield from (Finding(about, state, text) for state, text in look())
        except CouplingError as error:
            yield Finding(about, "wrong", str(error))


_Found = Iterator[tuple[State, str]]


def _python() -> _Found:
    yield "ok", f"{platform.python_version()}, {platform.system()} {platform.machine()}"


def _packages() -> _Found:
    """Whether what is installed is what this program asks for, by itself and for its extras."""
    wanted = [Requirement(line) for line in this().requires or ()]
    marked = [(r, r.marker) for r in wanted if r.marker]
    for requirement in (r for r in wanted if not r.marker):
        if wrong := _lacks(requirement):
            yield "wrong", f"{wrong}: pip install '{requirement.name}{requirement.specifier}'"
    for extra in get_args(Extra):
        of_extra = [r for r, marker in marked if marker.evaluate({"extra": extra})]
        if lacking := [wrong for wrong in map(_lacks, of_extra) if wrong]:
            yield "note", f"{', '.join(lacking)}: {remedy(extra)}"
    names = ("torch", "transformers", "streamlit", "plotly", "bitsandbytes")
    yield "ok", ", ".join(f"{name} {version(name)}" for name in names if find_spec(name))


def _lacks(requirement: Requirement) -> str:
    """That a package is missing, or of another version; "" where it is as it should be."""
    try:
        found = version(requirement.name)
    except PackageNotFoundError:
        return f"{requirement.name} is missing"
    right = requirement.specifier.contains(found, prereleases=True)
    return "" if right else f"{requirement.name} is {found}"


def _devices() -> _Found:
    import torch

    from coupling_core.engine.hardware import choose_device, device_name, devices, free_memory

    for name in devices():
        device = choose_device(name)
        what = f"{psutil.cpu_count()} cores" if name == "cpu" else device_name(device)
        yield "ok", f"{name}: {what}, {size(free_memory(device))} free"
    if not torch.cuda.is_available() and shutil.which("nvidia-smi"):
        yield (
            "wrong",
            f"there is an NVIDIA GPU, and torch {torch.__version__} does not reach it: install the "
            "build of torch for your CUDA",
        )
    if chosen := settings().device:
        choose_device(chosen)


def _memory() -> _Found:
    free, reserve = free_memory(), settings().memory_reserve
    whole = psutil.virtual_memory().total
    text = f"{size(free)} free, {size(reserve)} kept in reserve; the machine has {size(whole)}"
    yield ("ok" if free > reserve else "wrong"), text


def _store() -> _Found:
    store = Store()
    entries = store.entries()
    own = [entry for entry in entries if not entry.read_only]
    yield (
        "ok",
        f"{store.root}: {counted(len(own), 'result')}, {size(sum(entry.size for entry in own))} of "
        f"{size(settings().store_bytes)}; COUPLING_STORE names another folder",
    )
    for layer in store.layers:
        count = sum(entry.path.parent == layer for entry in entries)
        yield ("ok" if count else "note"), f"{layer}: {counted(count, 'result')}, read only"
    if damaged := [entry.key for entry in entries if entry.problem]:
        yield "wrong", f"{len(damaged)} results cannot be read: coupling runs rm {damaged[0]} ..."
    store.require_writable()
    yield from _room(store.root)


def _workers() -> _Found:
    wrong = heartbeat.problem(Store())
    yield ("wrong", f"{wrong}: end its job, or restart the app") if wrong else ("ok", "none hangs")


def _models() -> _Found:
    for alias, shipped in ALIASES.items():
        if not shipped.is_installed:
            yield "note", f"{alias} is not installed: {shipped.install}"
        elif not locate(Request("-", model=alias)).is_converted:
            takes = duration(read_head(*shipped.files).seconds)
            yield "note", f"{alias} is converted at its first use, which takes about {takes}"
        else:
            yield "ok", f"{alias} is ready"
    for what, path in deaths.notes():
        yield (
            "note",
            f"{what} ended the process that measured it, and is measured by the definition "
            f"alone: delete {path} to try the fast way again",
        )
    here = [f"{s.name} ({counted(len(s.here()), 'step')})" for s in suites().values() if s.here()]
    yield ("ok" if here else "note"), f"suites of checkpoints: {', '.join(here) or 'none here'}"
    yield from _room(user_cache())


def _hub() -> _Found:
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        yield "note", "HF_HUB_OFFLINE keeps it out of reach: only what is in its cache is offered"
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_SECONDS).raise_for_status()
    except Exception as error:  # the client's network errors share no base class
        why = type(error).__name__
        yield "note", f"{constants.ENDPOINT} is out of reach ({why}): its cache works offline"
        return
    yield "ok", f"{constants.ENDPOINT} answers; its cache is {hub.cache.root()}"


def _pictures() -> _Found:
    import plotly.graph_objects as go

    from coupling_core.figures.export import by_chromium

    try:
        by_chromium([go.Figure(layout={"width": 200, "height": 100})], ".svg")
    except CouplingError as error:
        yield "note", str(error)
    else:
        yield "ok", "SVG and PNG can be drawn"


def _settings() -> _Found:
    file = config_file()
    where = f"{file} and the environment" if file.is_file() else "the environment"
    changed = settings().model_dump(exclude_defaults=True)
    text = ", ".join(f"{name} = {value!r}" for name, value in changed.items())
    yield "ok", f"from {where}: {text or 'no setting of the app'}"


def _room(folder: Path) -> _Found:
    free = free_bytes(folder)
    yield ("ok" if free > _ENOUGH_DISK else "wrong"), f"{size(free)} free on the disk of {folder}"


_LOOKS: dict[str, Callable[[], _Found]] = {
    "settings": _settings,
    "python": _python,
    "packages": _packages,
    "devices": _devices,
    "memory": _memory,
    "store": _store,
    "workers": _workers,
    "models": _models,
    "hub": _hub,
    "pictures": _pictures,
}
"""Each by what it is about."""
