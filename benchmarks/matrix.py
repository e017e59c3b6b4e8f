"""Every architecture of the installed transformers against the definition: `make families`.

Each one is built tiny, with random weights of two sizes, and measured as a user would, in a process
of its own, since some could end it. Its Jacobians are compared with those of the definition in true
float64, at the states that it went through, or it is refused in words.
"""

import json
import multiprocessing
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import transformers
from torch import Tensor

from benchmarks import architectures, common, drawn
from benchmarks.architectures import IDS
from benchmarks.definition import Definition
from coupling_core import CouplingError, Request, measure
from coupling_core.base.images import from_pixels
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.loading import find_stacks
from coupling_core.engine.pairs.coupling import Pairs
from coupling_core.engine.pairs.token_coupling import Positions

SCALES = (0.2, 1.5)
"""Standard deviations of the weights, in units of 0.1: nearly linear blocks, and far from it."""
TOLERANCE = 1e-5
UNSEEN = 1e-12
"""Of the norm of the identity: what float64 no longer tells from rounding."""
SECONDS = 1800
GIVEN, LAST = 3, 7
"""The tokens that are fixed."""
MODES = ("depth 1", "depth 5", "depth 9", "self", "fixed-input", "fixed-output")

_Jacobians = dict[tuple[int, int, int], Tensor]
"""By block, input token and output token."""
Verdict = Literal["right", "refused", "WRONG", "TRACEBACK", "FATAL", "TIMEOUT", "not built"]
GOOD: tuple[Verdict, ...] = ("right", "refused", "not built")


@dataclass(frozen=True)
class Row:
    """What came of one measurement."""

    mode: str  # what was measured; "" for all of them
    stack: str | None  # of an encoder-decoder model
    verdict: Verdict
    error: float = 0.0  # the largest norm_F(J - J_ref) / norm_F(J_ref)
    moved: float = 0.0  # the same of J_ref from that of a pass in float64: rounded states do that
    told: str = ""  # why it is not right


def judge(architecture: str, scale: float) -> list[Row]:
    """Measure one architecture in every mode, in this process."""
    try:
        model = architectures.build(architecture, scale=scale)
    except Exception as error:  # configs and models refuse sizes in many ways
        return [Row("", None, "not built", told=f"{type(error).__name__}: {error}")]
    stacks = ("encoder", "decoder") if len(find_stacks(model)) == 2 else (None,)
    return [row for stack in stacks for row in _Judged(model, stack).rows()]


class _Judged:
    def __init__(self, model: Any, stack: Any) -> None:
        self.model, self.stack = model, stack
        self.inputs = architectures.inputs_of(model)

    @cached_property
    def exact(self) -> Definition:
        return self.defined()

    @cached_property
    def rounded(self) -> list[Tensor]:
        """The states in float32, by one pass over the whole sequence."""
        return self.defined(dtype=torch.float32).leaves

    @cached_property
    def exact_there(self) -> Definition:
        """The definition in float64, at the states in float32 of one pass."""
        return self.defined(states=self.rounded)

    def defined(self, **options: Any) -> Definition:
        return Definition(self.model, self.inputs, self.stack, **options)

    def rows(self) -> Iterator[Row]:
        for mode in MODES:
            try:
                found, met = self.measured(mode)
            except CouplingError as error:
                yield Row(mode, self.stack, "refused", told=str(error))
                continue
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(where.filename).name}:{where.lineno}"
                told = f"{type(error).__name__}: {error} ({place})"
                yield Row(mode, self.stack, "TRACEBACK", told=told)
                continue
            yield self.compared(mode, found, met)

    def measured(self, mode: str) -> tuple[_Jacobians, list[Block]]:
        """Every Jacobian that a measurement used, and every state at which it took one."""
        kind, _, token = mode.partition(" ")
        at = {"self": -1, "fixed-input": GIVEN, "fixed-output": LAST}.get(kind)
        pair = {} if token else {"block": 1, "other_block": -1}
        sees = "pixel_values" in self.inputs
        asked: Any = from_pixels(np.zeros((8, 8, 3), np.uint8)) if sees else IDS
        tokenizer = self.pixels_of_any if sees else None
        request = Request(
            asked, token=int(token) if token else at, k=4, k_view=4,
            stack=self.stack, kind=kind, **pair,
        )  # fmt: skip
        with (
            _collected(Pairs if token else Positions, "add") as collected,
            _collected(Block, "__init__") as met,
        ):
            result = measure(request, model=self.model, tokenizer=tokenizer, device="cpu")
        found: _Jacobians = {}
        if token:
            t = int(token)
            found = {(block, t, t): J for block, (_, J, _) in enumerate(collected, 1)}
            collected = []
        for _, place, J, other in collected:
            t = place + 1
            ends = {"self": (t, t), "fixed-input": (GIVEN, t), "fixed-output": (t, LAST)}[kind]
            found |= {(1, *ends): J, (result.blocks[1], *ends): other}
        return found, [block for block, *_ in met]

    def pixels_of_any(self, **_: Any) -> dict[str, Tensor]:
        """An image processor that gives the same picture whatever it is shown."""
        return {"pixel_values": self.inputs["pixel_values"]}

    def compared(self, mode: str, found: _Jacobians, met: list[Block]) -> Row:
        theirs: Definition | None = None
        error = moved = 0.0
        wrong = ""
        for at, J in found.items():
            exact = self.exact.jacobian(*at)
            if not J.any() and exact.norm() <= UNSEEN * len(J) ** 0.5:  # told as not seen
                continue
            there = self.exact_there.jacobian(*at)
            if not _apart(J, there) <= TOLERANCE:
                theirs = theirs or self.defined(states=self.states(met))
                there = min(there, theirs.jacobian(*at), key=partial(_apart, J))
            off = _apart(J, there)
            error, moved = max(error, off), max(moved, _apart(there, exact))
            if not off <= TOLERANCE:
                wrong = f"block {at[0]}, token {at[1]} to {at[2]}"
        return Row(mode, self.stack, "WRONG" if wrong else "right", error, moved, wrong)

    def states(self, met: list[Block]) -> list[Tensor]:
        """Those of one pass over the whole sequence, and where a token came by itself, its own.

        Both round differently, which may move an ill-conditioned block's Jacobian too far.
        """
        states = [leaf.detach().clone() for leaf in self.rounded]
        for block in met:
            rows = states[block.number - 1][0]
            if block.state.dtype == torch.float32 and block.state.shape == rows[0].shape:
                apart = (rows - block.state).norm(dim=1) / rows.norm(dim=1)
                if apart.min() <= TOLERANCE:  # others are of prompts by which a model is tried out
                    rows[apart.argmin()] = block.state.detach()
        return states


def _apart(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / (expected.norm() or 1.0))


@contextmanager
def _collected(kind: Any, name: str) -> Iterator[list[tuple[Any, ...]]]:
    """While it lasts, what a class's method is called with is kept as well, itself first."""
    own, found = getattr(kind, name), []

    def method(self: Any, *given: Any, **named: Any) -> Any:
        found.append((self, *given))
        return own(self, *given, **named)

    setattr(kind, name, method)
    try:
        yield found
    finally:
        setattr(kind, name, own)


def isolated(architecture: str, scale: float) -> list[Row]:
    """The same in a process that may die."""
    here, there = multiprocessing.Pipe(False)
    process = multiprocessing.Process(target=_send, args=(architecture, scale, there))
    process.start()
    there.close()
    try:
        found = here.recv() if here.poll(SECONDS) else None
    except EOFError:
        process.join()
        return [Row("", None, "FATAL", told=f"the process ended with {process.exitcode}")]
    if found is None:
        process.kill()
    process.join()
    return found or [Row("", None, "TIMEOUT", told=f"{SECONDS} s")]


def _send(architecture: str, scale: float, pipe: Any) -> None:
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    pipe.send(judge(architecture, scale))


def _judged_in_both_sizes(architecture: str) -> list[Row]:
    rows = [row for scale in SCALES for row in isolated(architecture, scale)]
    sys.stderr.write(f"{architecture}: {dict(Counter(row.verdict for row in rows))}\n")
    return rows


def parts(found: dict[str, list[Row]]) -> tuple[str, str, str]:
    """The summary, where it was measured and the table."""
    built = {name: rows for name, rows in found.items() if rows[0].verdict != "not built"}
    verdicts = {name: {row.verdict for row in rows} for name, rows in built.items()}
    counts = Counter(row.verdict for rows in built.values() for row in rows)
    bad = [name for name, met in verdicts.items() if not met <= {*GOOD}]
    right = sum(met == {"right"} for met in verdicts.values())
    refused = sum(met == {"refused"} for met in verdicts.values())
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    lacking = ", ".join(sorted(set(found) - set(built)))
    summary = (
        f"**{len(built)} architectures: {right} right in every mode, {refused} refused "
        f"in words, {len(built) - right - refused - len(bad)} right in some modes and refused in "
        f"others; {len(bad)} wrong, with a traceback or fatal{': ' * bool(bad)}{', '.join(bad)}** "
        f"({counts.total()} measurements: {told}). "
        f"{len(found) - len(built)} could not be built small: {lacking}."
    )
    rows = [
        _cells(name, stack, [row for row in built[name] if row.stack == stack])
        for name in sorted(built)
        for stack in dict.fromkeys(row.stack for row in built[name])
    ]
    columns = ("architecture", "stack", "right", "largest error", "moved", "refused because")
    where = f"It was {drawn.machine(common.environment())}"
    return summary, where, drawn.table(columns, rows)


def _cells(name: str, stack: str | None, rows: list[Row]) -> tuple[str, ...]:
    right = [row for row in rows if row.verdict == "right"]
    error = f"{max(row.error for row in right):.1e}" if right else ""
    moved = f"{max(row.moved for row in right):.1e}" if right else ""
    others = dict.fromkeys(
        ("" if row.verdict == "refused" else f"**{row.verdict}** ") + row.told.replace("|", "/")
        for row in rows
        if row.verdict != "right"
    )
    return name, stack or "", f"{len(right)} of {len(rows)}", error, moved, "; ".join(others)


def main(target: Path, names: list[str]) -> int:
    """Judge all, or these and take the others from the JSON beside the page, and draw the page."""
    multiprocessing.set_start_method("forkserver")  # this process has threads, and none may be cut
    multiprocessing.set_forkserver_preload(["benchmarks.matrix"])
    kept = target.with_suffix(".json")
    found = {}
    if names:
        found = {n: [Row(**r) for r in rows] for n, rows in json.loads(kept.read_text()).items()}
    judged = [name for name in architectures.MODELS if not names or name in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found |= zip(judged, pool.map(_judged_in_both_sizes, judged), strict=True)
    drawn.redraw(target, *parts(found))
    kept.write_text(
        json.dumps({name: [asdict(row) for row in rows] for name, rows in found.items()}, indent=1)
    )
    return int(any(row.verdict not in GOOD for rows in found.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
