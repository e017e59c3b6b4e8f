"""Memory estimated before a measurement, held against what one takes."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from coupling_core import Request
from coupling_core.measuring import memory
from coupling_core.measuring.forecast import PROCESS
from coupling_core.measuring.memory import cheaper, estimate_memory, longest_prompt
from coupling_core.measuring.probe import Probe, probe
from coupling_core.sources.resolved import resolve

GB = 10**9
SMALL = Probe(
    "small", "Small", 100_000_000, "float32", None, 8,
    blocks=20, width=512, block_parameters=4_000_000, widest=2048, causal=True,
)  # fmt: skip
LARGE = replace(
    SMALL, parameters=70 * GB, blocks=80, width=8192, block_parameters=856_000_000, widest=28672
)
PROGRAM = """
import json, sys, threading
import bitsandbytes, psutil, transformers
from coupling_core import Request, measure

def held():
    took = psutil.Process().memory_info()
    return {"RssAnon": took.rss - took.shared, "RssFile": took.shared}

first, peak, done = held(), {"RssAnon": 0, "RssFile": 0}, threading.Event()

def watch():
    while not done.wait(0.002):
        for name, size in held().items():
            peak[name] = max(peak[name], size)

thread = threading.Thread(target=watch)
thread.start()
result = measure(Request(**json.loads(sys.argv[1])), device="cpu")
done.set()
thread.join()
taken = {name: peak[name] - first[name] for name in peak}
print(json.dumps(taken | {"tokens": len(result.tokens)}))
"""


def estimate(found=SMALL, tokens=10, free=20 * GB, **changes):
    return estimate_memory(Request("-", **changes), found, tokens, free)


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("words", "k"), [(9, 50), (9, 200), (200, 50)], ids=["short", "large K", "long"]
)
def test_an_estimate_is_near_what_a_measurement_takes(words, k):
    asked = {"prompt": "the " * words, "k": k}
    line = [sys.executable, "-c", PROGRAM, json.dumps(asked)]
    took = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
    found = estimate_memory(Request(**asked), probe(resolve(Request("-"))), took["tokens"], 10**12)
    # The weights, in float32 on the disk, are mapped; everything else is memory of its own.
    assert 0.75 < found.work / took["RssAnon"] < 1.6
    assert 0.8 < found.weights / took["RssFile"] < 1.2


def test_weights_that_would_fill_the_memory_are_streamed():
    small, large = estimate(), estimate(LARGE)
    assert (small.weights, small.streamed, small.fits) == (400_000_000, False, True)
    assert (large.weights, large.streamed, large.fits) == (0, True, True)
    assert large.work > 4 * LARGE.block_parameters
    assert not estimate(LARGE, free=4 * GB).fits


def test_rounded_and_quantised_weights_take_what_they_take(monkeypatch):
    monkeypatch.setattr(memory, "threads", lambda: 1)  # plain weights have a block for each
    assert estimate(dtype="bfloat16").weights == 600_000_000
    assert estimate(quantize="nf4").weights == 40_000_000 + 80_000_000
    assert estimate(quantize="int8").weights == 80_000_000 + 80_000_000
    assert estimate(quantize="nf4").work == estimate().work + 16_000_000


def test_weights_that_cannot_be_streamed_do_not_fit():
    quantised = estimate(LARGE, quantize="nf4")
    assert (quantised.streamed, quantised.fits) == (False, False)
    assert not estimate(LARGE, untrained=0).fits


def test_a_bidirectional_model_takes_more_with_every_token():
    reads = [replace(SMALL, causal=causal) for causal in (True, False)]
    between = {"tokens": 200, "kind": "fixed-input", "block": 3, "token": 1}
    both = [estimate(found, **between).work for found in reads]
    assert both[1] > 2 * both[0]
    # Of a token with itself, its own row is run alone.
    assert estimate(reads[0], tokens=200) == estimate(reads[1], tokens=200)
    assert estimate(replace(SMALL, causal=None)) == estimate()


def test_a_cheaper_setting_is_one_that_fits():
    free = 700_000_000
    large_k = Request("-", k=500)
    assert not estimate_memory(large_k, SMALL, 10, free).fits
    assert cheaper(large_k, SMALL, 10, free) == {"k": 50}
    assert cheaper(Request("-", quantize="nf4"), LARGE, 10, 20 * GB) == {"quantize": None}
    assert cheaper(Request("-"), LARGE, 10, GB) == {}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (Request("-", kind="fixed-input", block=3, token=1), replace(SMALL, causal=False)),
        (Request("-", kind="self"), SMALL),
    ],
    ids=["a fixed input", "all means"],
)
def test_the_longest_prompt_that_fits_fits_and_one_more_does_not(asked, found):
    free = estimate_memory(asked, found, 300, 0).needed
    most = longest_prompt(asked, found, 1000, free)
    assert estimate_memory(asked, found, most, free).fits
    assert not estimate_memory(asked, found, most + 1, free).fits
    assert longest_prompt(asked, found, 1000, 10**8) == 0


def test_tokens_are_estimated_by_what_they_hold():
    L, d, k = 20, 512, 50
    longer, shorter = (estimate(kind="self", tokens=n).work for n in (2000, 1000))
    # Both sides' bases of every Jacobian; all else grows with the square of the prompt's length.
    assert longer - shorter > 2 * 4 * L * 1000 * k * d
    pair = {"kind": "self", "block": 3}
    assert estimate(tokens=100, **pair).work < estimate(tokens=100, kind="self").work
    output = estimate(tokens=100, kind="fixed-output", block=3).work
    assert output - estimate(tokens=100, **pair).work > 6 * 4 * 100 * d * d


def crew(found=SMALL, free=20 * GB, most=16, mapped=True, **changes):
    return memory.crew(Request("-", **changes), found, 10, free, most, mapped=mapped)


def test_processes_share_weights_that_are_mapped_and_have_memory_of_their_own():
    shared, copied = crew(), crew(mapped=False)
    assert (shared.processes, shared.shared) == (16, 400_000_000)
    assert copied.each == shared.each + 400_000_000
    assert shared.needed == 400_000_000 + 16 * shared.each
    assert shared.each > PROCESS
    rounded = crew(mapped=False, dtype="bfloat16")
    assert rounded.each == copied.each + 200_000_000


@pytest.mark.parametrize("mapped", [True, False])
def test_there_are_as_many_processes_as_there_is_memory_for(mapped):
    each = crew(mapped=mapped).each
    for free in range(GB // 2, 12 * GB, GB // 3):
        found = crew(free=free, mapped=mapped)
        assert found.processes == 1 or found.needed <= free
        # The last of them does not stream what the first one has in memory.
        last = free - (found.processes - 1) * each
        alone = memory.estimate_memory(Request("-"), SMALL, 10, last, cores=1)
        assert found.processes == 1 or not alone.streamed
    assert crew(free=12 * GB, mapped=mapped).processes > 4
    assert crew(LARGE, mapped=mapped).processes == 1  # which streams
