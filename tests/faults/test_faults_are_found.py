"""The list of planted faults: each has one place in the source, and tests. `run.py` runs them."""

from pathlib import Path

from planting import Fault, LostError, faults, planted

ROOT = Path(__file__).parents[2]


def _wrong(fault: Fault) -> list[str]:
    try:
        path, text = planted(fault, ROOT)
        compile(text, path, "exec")
    except (LostError, SyntaxError) as error:
        return [f"{fault.name}: {error}"]
    found = [] if text != path.read_text() else [f"{fault.name}: it changes nothing"]
    lacks = [test for test in fault.tests if not (ROOT / "tests" / test).exists()]
    return found + [f"{fault.name}: there is no {test}" for test in lacks]


def test_every_fault_has_one_place_in_the_source_and_tests_that_are_there() -> None:
    """A fault that is lost tests nothing: give it a new place in `faults.txt`, or another one."""
    listed = faults()

    assert [problem for fault in listed for problem in _wrong(fault)] == []
    assert len({fault.name for fault in listed}) == len(listed)
    assert all(fault.tests for fault in listed)
