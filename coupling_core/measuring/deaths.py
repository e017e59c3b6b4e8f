"""Models that ended the process which measured them, remembered so that it happens once.

In some architectures the fast ways of differentiating end the process, by a fault inside torch that
no Python code can catch. Such a model is measured by the definition alone from then on, for as long
as torch and transformers stay what they are. Each is a small file in the user's cache: whoever
measures on this account reads it, the app, a sweep or a command.
"""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path

from coupling_core.base.folders import user_cache
from coupling_core.base.writing import write_quietly
from coupling_core.sources.resolved import Resolved


def note(asked: Resolved, how: str) -> bool:
    """Remember that a request's model ended its process.

    It gives whether that is news, and was written: to measure it again may then end better.
    """
    path = _file(asked)
    told = {"model": asked.request.model, "architecture": architecture(asked), "how": how}
    return not path.exists() and write_quietly(path, json.dumps(told | _versions()))


def reason(asked: Resolved) -> str:
    """Why a request's model is measured by the definition alone; "" where it need not be."""
    try:
        how = json.loads(_file(asked).read_text())["how"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    of = architecture(asked)
    return f"the fast way ended the process that measured {of} ({how})"


def notes() -> list[tuple[str, Path]]:
    """What is remembered for today's libraries: of which architectures, and where."""
    found = []
    for path in sorted(_folder().glob("*.json")):
        try:
            told = json.loads(path.read_text())
            if told | _versions() == told:
                found.append((f"{told['architecture']} ({told['how']})", path))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def architecture(asked: Resolved) -> str:
    """The class of transformers that runs a model; its hash where no config is on this disk."""
    config = asked.config
    named = config.get("architectures") or [config.get("model_type")]
    return str(named[0] or asked.identity["digest"])


def _file(asked: Resolved) -> Path:
    what = [architecture(asked), asked.request.quantize, _versions()]
    name = hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]
    return _folder() / f"{name}.json"


def _folder() -> Path:
    return user_cache() / "deaths"


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("torch", "transformers")}
