"""Plants each fault of the list in a copy of a tree, and says which test notices it.

    python tests/faults/run.py [--only WORDS ...] [--tree FOLDER] [--jobs 2] [--report FILE.json]

The status is 1 where one is not noticed, or has lost its place. The tree itself is never touched.
"""

import argparse
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import SimpleQueue

from planting import Fault, LostError, faults, planted

TIERS = {
    "fast": "not slow and not full and not e2e",
    "full": "full and not slow and not e2e",
    "slow": "slow or e2e",
}
_LIBRARIES = [
    *("pytest", "hypothesis", "numpy", "scipy.stats", "pandas", "xarray", "networkx", "sklearn"),
    *("torch", "transformers", "safetensors", "plotly.graph_objects", "streamlit", "pydantic"),
    *("statsmodels.api", "jaxtyping", "beartype", "typer", "rich.console"),
]
"""Imported once, before the processes of all runs fork off."""
_FORKS = multiprocessing.get_context("forkserver")
_NAMED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - (.*))?$", re.MULTILINE)
_NOTHING_FAILED = (0, 5)  # as pytest says it: or nothing was selected
_FAILED = (1, 2)  # or a file of tests cannot be imported


@dataclass(frozen=True)
class Found:
    """What became of a fault.

    Args:
        fault: its name.
        tier: in which it was noticed; "" where it was not.
        by: the test that noticed it; else what is the matter.
        seconds: what that took.
    """

    fault: str
    tier: str
    by: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Failure:
    """A test that failed; in place of its name, what is the matter with the run itself."""

    test: str
    why: str
    is_of_a_test: bool = True


@dataclass(frozen=True)
class Runner:
    """Plants faults, each in a copy of the tree that nobody else has meanwhile.

    Args:
        copies: those that are free.
        tiers: in which tests are run.
        timeout: seconds of one test.
    """

    copies: "SimpleQueue[Path]"
    tiers: Sequence[str]
    timeout: int

    def tried(self, fault: Fault) -> Found:
        """What the tests say of a fault."""
        tree, began = self.copies.get(), time.monotonic()
        try:
            with _edited(fault, tree):
                found = self._of_tests(fault, tree)
        except LostError as lost:
            found = Found(fault.name, "", f"LOST: {lost}")
        finally:
            self.copies.put(tree)
        return replace(found, seconds=round(time.monotonic() - began, 1))

    def without_false_alarms(self, found: list[Found]) -> list[Found]:
        """The same; what a test noticed that fails without a fault too was not noticed."""
        tests = sorted({one.by for one in found if one.tier})
        tree = self.copies.get()
        failures = self._failures(tree, tests, "") if tests else []
        self.copies.put(tree)
        failed = {each.test for each in failures}
        if not all(each.is_of_a_test for each in failures):
            _say(f"not known whether they pass without a fault: {', '.join(failed)}")
        return [
            replace(one, tier="", by=f"{one.by} fails anyway") if one.by in failed else one
            for one in found
        ]

    def _of_tests(self, fault: Fault, tree: Path) -> Found:
        tests = [f"tests/{test}" for test in fault.tests if (tree / "tests" / test).exists()]
        for tier in self.tiers if tests else ():
            for failure in self._failures(tree, tests, TIERS[tier], "-x"):
                if "Timeout" in failure.why and not fault.hangs:
                    return Found(fault.name, "", f"{failure.test} ran out of time")
                return Found(fault.name, tier * failure.is_of_a_test, failure.test)
        return Found(fault.name, "", "no test fails" if tests else "none of its tests is there")

    def _failures(self, tree: Path, tests: Sequence[str], marks: str, *how: str) -> list[Failure]:
        """Those of a run of pytest in a process that has the libraries already."""
        command = (
            *("-q", "-rfE", "--tb=no", "-o", "addopts=", "-m", marks, "--timeout", self.timeout),
            *("-p", "no:cacheprovider", "-p", "no:randomly", *how, *tests),
        )
        with tempfile.NamedTemporaryFile(mode="r") as output:
            given = str(tree), [*map(str, command)], output.name
            process = _FORKS.Process(target=_run_pytest, args=given)
            process.start()
            process.join()
            told = output.read()
        if process.exitcode in _NOTHING_FAILED:
            return []
        if process.exitcode in _FAILED and (named := _NAMED.findall(told)):
            return [Failure(*each) for each in named]
        last = told.strip().splitlines()[-1:]
        return [Failure(f"pytest ended with {process.exitcode}: {last}", "", is_of_a_test=False)]


def main() -> int:
    """Run the faults that were asked for."""
    parser = argparse.ArgumentParser(description="Plant faults, and see which test notices them.")
    parser.add_argument("--only", nargs="+", default=[""], help="those whose name or place has it")
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tiers", nargs="+", choices=TIERS, default=list(TIERS))
    parser.add_argument("--timeout", type=int, default=300, help="seconds of one test")
    parser.add_argument("--report", type=Path)
    asked = parser.parse_args()
    chosen = [one for one in faults() if any(part in f"{one.name} {one.at}" for part in asked.only)]
    began, found = time.monotonic(), []
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: a job has a core
    _FORKS.set_forkserver_preload(_LIBRARIES)
    with _copies(asked.tree, asked.jobs) as copies, ThreadPoolExecutor(asked.jobs) as pool:
        runner = Runner(copies, asked.tiers, asked.timeout)
        for one in pool.map(runner.tried, chosen):
            _say(f"{one.tier or 'NOT CAUGHT':10} {one.fault} ({one.seconds} s)\n{'':10} {one.by}")
            found.append(one)
        found = runner.without_false_alarms(found)
    missed = [one for one in found if not one.tier]
    for one in missed:
        _say(f"not caught: {one.fault}: {one.by}")
    counts = ", ".join(f"{sum(one.tier == tier for one in found)} {tier}" for tier in TIERS)
    took = time.monotonic() - began
    _say(f"{len(found)} faults in {took:.0f} s: caught {counts}; {len(missed)} not caught")
    if asked.report:
        asked.report.write_text(json.dumps([asdict(one) for one in found], indent=1))
    return bool(missed)


@contextmanager
def _copies(tree: Path, count: int) -> Iterator["SimpleQueue[Path]"]:
    """Copies of what git would commit of a tree."""
    listing = ("git", "-C", tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split("\0")
    copies: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        for number in range(count):
            copy = Path(folder, str(number))
            for name in filter(None, names):
                if (tree / name).is_file():
                    (copy / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(tree / name, copy / name)
            copies.put(copy)
        yield copies


@contextmanager
def _edited(fault: Fault, tree: Path) -> Iterator[None]:
    """A fault in a tree, while it lasts."""
    path, text = planted(fault, tree)
    content, state = path.read_bytes(), path.stat()
    path.write_text(text)
    try:
        yield
    finally:
        path.write_bytes(content)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # by which its bytecode is known


def _run_pytest(tree: str, command: Sequence[str], output: str) -> None:
    import pytest

    os.chdir(tree)
    os.environ["PYTHONPATH"] = tree  # of the processes that tests start
    sys.path[:] = [tree, *(path for path in sys.path if path != str(Path(__file__).parent))]
    with Path(output).open("w") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    sys.exit(pytest.main(list(command)))


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
