"""What the family matrix came to, as a page to read: `make families`.

Reads the JUnit file of a run of tests/engine/jacobians/test_families.py and writes a table of every
family and identity, with the largest relative error of its Jacobians.
"""

import platform
import re
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

import torch
import transformers

IDENTITIES = {
    "test_replaying_a_block_gives_the_next_state": "replay",
    "test_states_are_those_of_the_whole_sequence": "states",
    "test_the_jacobian_is_that_of_the_definition": "Jacobian",
    "test_a_jacobian_to_another_token_has_no_skip_term": "skip",
    "test_lent_weights_give_the_numbers_of_a_float32_model": "bfloat16",
}
REFUSED = "test_what_does_not_replay_is_refused"
_CASE = re.compile(r"(\w+)\[(?:(?:default|eager)-)?(.+)\]")

HEAD = """\
# The family matrix

{summary}

Tiny models of each family (two to four blocks, width 32, random weights), every block. The
identities:

- **replay**: a captured block, replayed, gives the next block's state;
- **states**: the states are those of the whole sequence, and the final norm of the last one is
  the model's own last hidden state;
- **Jacobian**: at the first, a middle and the last token it is that of the definition, taken
  through the whole sequence in true float64, with the default attention and with the eager one,
  and agrees with a central difference; the column *error* is the largest
  norm_F(J - J_ref) / norm_F(J_ref);
- **skip**: with its skip connection J differs by the identity where input and output token are
  the same;
- **bfloat16**: weights in bfloat16, lent as float32 to a block at a time, give the numbers of the
  model in float32 to the bit.

Run on {date}, {machine}, with Python {python}, torch {torch}, transformers {transformers}.

| family | {columns} | error |
|---|{rules}---|
"""


def page(path: Path) -> str:
    """The page as Markdown, of this JUnit file."""
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
    head = HEAD.format(
        summary=summary,
        date=suite.attrib["timestamp"][:10],
        machine=f"{platform.machine()}, {torch.get_num_threads()} threads",
        python=platform.python_version(),
        torch=torch.__version__,
        transformers=transformers.__version__,
        columns=" | ".join(names),
        rules="---|" * len(names),
    )
    words = {True: "passed", False: "FAILED", None: "not run"}
    rows = [
        f"| {family} | {' | '.join(words[found.get(name)] for name in names)} | "
        f"{errors.get(family, float('nan')):.1e} |\n"
        for family, found in passed.items()
    ]
    return head + "".join(rows)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(page(source))
