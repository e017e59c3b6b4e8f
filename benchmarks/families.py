"""Draw the family matrix from the JUnit file of tests/engine/jacobians/test_families.py."""

import math
import re
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

from benchmarks import common, drawn

IDENTITIES = {
    "test_replaying_a_block_gives_the_next_state": "replay",
    "test_states_are_those_of_the_whole_sequence": "states",
    "test_the_jacobian_is_that_of_the_definition": "Jacobian",
    "test_a_jacobian_to_another_token_has_no_skip_term": "skip",
    "test_lent_weights_give_the_numbers_of_a_float32_model": "bfloat16",
}
REFUSED = "test_what_does_not_replay_is_refused"
_CASE = re.compile(r"(\w+)\[(?:(?:default|eager)-)?(.+)\]")


def parts(path: Path) -> tuple[str, str, str]:
    """The summary, where it ran and the table, of this JUnit file."""
    suite = next(ET.parse(path).iter("testsuite"))  # nosec B314  # our own tests wrote it
    passed: dict[str, dict[str, bool]] = defaultdict(dict)
    errors: dict[str, float] = {}
    refused = []
    for case in suite.iter("testcase"):
        test, family = _CASE.fullmatch(case.attrib["name"]).groups()
        good = not any(case.find(bad) is not None for bad in ("failure", "error", "skipped"))
        if test == REFUSED:
            refused += [family] * good
            continue
        name = IDENTITIES[test]
        passed[family][name] = passed[family].get(name, True) and good
        for item in case.iter("property"):
            errors[family] = max(errors.get(family, 0.0), float(item.attrib["value"]))
    count, failed = len(passed), sum(not all(found.values()) for found in passed.values())
    families = {name.removesuffix("-encoder").removesuffix("-decoder") for name in passed}
    summary = (
        f"**{len(families)} families with {count} stacks, of which {count - failed} pass every "
        f"identity; worst relative error of a Jacobian {max(errors.values()):.1e}** "
        f"({suite.attrib['tests']} tests, {float(suite.attrib['time']):.0f} s, `make families`). "
        f"Refused, as they should be: {', '.join(refused)}."
    )
    names = list(IDENTITIES.values())
    words = {True: "passed", False: "FAILED", None: "not run"}
    rows = [
        (family, *(words[found.get(name)] for name in names), f"{errors.get(family, math.nan):.1e}")
        for family, found in passed.items()
    ]
    where = f"It was {drawn.machine(common.environment())}"
    return summary, where, drawn.table(("family", *names, "error"), rows)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    drawn.redraw(target, *parts(source))
