"""What is special to `coupling tokens`: pairs of blocks, forbidden pairs, a fixed token."""

import numpy as np
import pytest
from command_line import printed

from coupling_core import Request, View, measure, score_positions

PROMPT = "The cat\nsat on the mat"
FIXED_OUTPUT = ("--kind", "fixed-output", "--block", 1, "--token", 4)


@pytest.fixture
def tokens(run, folder):
    """`tokens` on the tiny model at K = 5."""
    return lambda *args: run("tokens", "--model", folder, "--k", 5, "--prompt", PROMPT, *args)


@pytest.fixture
def expected(folder):
    """The same measurement through Python."""
    return lambda **changes: measure(Request(PROMPT, model=str(folder), k=5, **changes))


OPTIONS = {
    "self": ("--block 2 --other-block 4 --role B", {"block": 2, "other_block": 4}, {"role": "B"}),
    "fixed-input": ("--block 3 --p 2", {"block": 3, "token": 1}, {"p": 2}),
    "fixed-output": ("--token 4 --definition page", {"token": 4}, {"definition": "page"}),
}
"""Of two blocks, of one, and the mean over all; what they change in the request and the view."""


@pytest.mark.parametrize("kind", OPTIONS)
def test_what_is_measured_follows_the_options(tokens, expected, kind):
    options, changes, view = OPTIONS[kind]
    said = printed(tokens("--kind", kind, *options.split(), "--json"))
    found = score_positions(expected(kind=kind, **changes), View(5, **view))
    for name in ("coupling", "corrected"):
        np.testing.assert_allclose(np.array(said[name], float), getattr(found, name), atol=1e-6)
    assert said["mean"] == pytest.approx(found.mean().corrected, abs=1e-6)
    block = changes.get("block")
    assert said["blocks"] == (block and [block, changes.get("other_block", block)])
    assert (said["kind"], said["token"]) == (kind, changes.get("token"))


def test_the_report_counts_what_is_forbidden_and_what_lacks_rank(tokens):
    status, out, err = tokens(*FIXED_OUTPUT)
    assert status == 0, err
    assert "forbidden by causality" in out
    assert "4 of 4 certified" in out
    assert "3 Jacobians have a rank below K" in tokens(*FIXED_OUTPUT, "--k", 25)[1]
