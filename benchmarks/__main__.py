"""Run the benchmarks: `python -m benchmarks [NAME] [--quick] [--out DIR]`."""

import argparse
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import SCRIPTS, common

RESULTS = common.ROOT / "benchmarks" / "results"


def main() -> int:
    """Run one script here, or each in a process of its own; the exit status."""
    parser = argparse.ArgumentParser("benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", choices=SCRIPTS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.name is None:
        again = [sys.executable, "-m", "benchmarks", *sys.argv[1:]]
        return max(subprocess.run([*again, name]).returncode for name in SCRIPTS)
    run(asked.name, asked.quick, asked.out or (RESULTS / "quick" if asked.quick else RESULTS))
    return 0


def run(name: str, quick: bool, out: Path) -> None:
    """Run a script, write its results with the environment, and say what came out."""
    script = import_module(f"benchmarks.{name}")
    machine = common.environment()
    try:
        results = script.collect(quick)
    except common.LackingError as error:
        sys.stdout.write(f"{name} is left out: {error}\n")
        return
    command = f"coupling bench {name}" + " --quick" * quick
    written = {"claim": name, "command": command, "environment": machine, "results": results}
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.json"
    path.write_text(json.dumps(written, indent=1, allow_nan=False) + "\n")
    # As they are read back: the keys of JSON are texts.
    for what, said in script.summary(json.loads(path.read_text())["results"]):
        sys.stdout.write(f"{what}: {said}\n")
    sys.stdout.write(f"written to {path}\n")


if __name__ == "__main__":
    sys.exit(main())
