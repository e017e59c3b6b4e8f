"""Every architecture of the installed transformers against the definition: `make families`.

Each one is built tiny, with random weights of two sizes and the implementations that the library
takes by default, and measured as a user would: depth-wise at three tokens, and between tokens in
all modes. Its Jacobians are compared with those of the definition in true float64, or it is refused
in words. Each runs in a process of its own, since some could end it.
"""

import json
import multiprocessing
import os
import platform
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import torch
import transformers
from torch import Tensor

from benchmarks import architectures
from benchmarks.architectures import IDS, Architecture
from benchmarks.definition import Definition
from coupling_core import CouplingError, Request, measure
from coupling_core.engine.loading import find_stacks, start_token
from coupling_core.engine.pairs.coupling import Pairs
from coupling_core.engine.pairs.token_coupling import Positions

SCALES = (0.2, 1.5)
"""Standard deviations of the weights, in units of 0.1: nearly linear blocks, and far from it."""
TOLERANCE = 1e-5
ROUNDING = 4 * torch.finfo(torch.float32).eps
"""What float32 leaves of a derivative that is added to 1."""
OF_THE_DEFINITION = 5
"""How many times the error may be the largest that the definition itself has at this block in
float32, where that is more."""
FAINT, UNSEEN = 1e-4, 1e-12
"""Of the norm of the identity: what float32 no longer tells from rounding, and float64."""
SECONDS = 1800
GIVEN, LAST = 3, 7
"""The tokens that are fixed."""
MODES = ("depth 1", "depth 5", "depth 9", "self", "fixed-input", "fixed-output")
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

Verdict = Literal["right", "refused", "WRONG", "TRACEBACK", "FATAL", "TIMEOUT", "not built"]
GOOD: tuple[Verdict, ...] = ("right", "refused", "not built")


@dataclass(frozen=True)
class Row:
    """What came of one measurement.

    Args:
        mode: what was measured; "" for all of them.
        stack: of an encoder-decoder model.
        verdict: how it ended.
        error: the largest norm_F(J - J_ref) / norm_F(J_ref).
        told: why it is not right.
    """

    mode: str
    stack: str | None
    verdict: Verdict
    error: float = 0.0
    told: str = ""


def judge(architecture: Architecture, scale: float) -> list[Row]:
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
        self.exact: dict[torch.dtype, Definition] = {}
        self.moved: Definition | None = None
        self.is_seeing = model.main_input_name == "pixel_values"

    def rows(self) -> Iterator[Row]:
        for mode in MODES:
            try:
                found = self.measured(mode)
            except CouplingError as error:
                yield Row(mode, self.stack, "refused", told=str(error))
                continue
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(where.filename).name}:{where.lineno}"
                told = f"{type(error).__name__}: {error} ({place})"
                yield Row(mode, self.stack, "TRACEBACK", told=told)
                continue
            yield self.compared(mode, found)

    def measured(self, mode: str) -> dict[tuple[int, int, int], Tensor]:
        """Every Jacobian that a measurement used, by block, input token and output token."""
        kind, _, token = mode.partition(" ")
        at = {"self": -1, "fixed-input": GIVEN, "fixed-output": LAST}.get(kind)
        pair = {} if token else {"block": 1, "other_block": -1}
        request = Request(
            PICTURE if self.is_seeing else IDS, token=int(token) if token else at, k=4, k_view=4,
            stack=self.stack, kind=kind, **pair,
        )  # fmt: skip
        processor = _Pixels(self.inputs()["pixel_values"]) if self.is_seeing else None
        with _collected(Pairs if token else Positions) as collected:
            result = measure(request, model=self.model, tokenizer=processor, device="cpu")
        if token:
            t = int(token)
            return {(block, t, t): J for block, (J, _) in enumerate(collected, 1)}
        found = {}
        for place, J, other in collected:
            t = place + 1
            ends = {"self": (t, t), "fixed-input": (GIVEN, t), "fixed-output": (t, LAST)}[kind]
            found |= {(1, *ends): J, (result.blocks[1], *ends): other}
        return found

    def compared(self, mode: str, found: dict[tuple[int, int, int], Tensor]) -> Row:
        worst, wrong = 0.0, ""
        for at, J in found.items():
            exact = self.definition(torch.float64).jacobian(*at)
            off, size = float((J - exact).norm()), float(exact.norm())
            if not J.any() and size <= UNSEEN * len(J) ** 0.5:  # told as not seen
                continue
            worst = max(worst, off / size if size else off)
            rounding = ROUNDING * len(J) ** 0.5 if at[1] == at[2] else 0.0
            if off > TOLERANCE * size + rounding:
                allowed = max(self.coarseness(at[0], list(found)), self.conditioning(at))
                if off > OF_THE_DEFINITION * allowed * size:
                    wrong = f"block {at[0]}, token {at[1]} to {at[2]}"
        return Row(mode, self.stack, "WRONG" if wrong else "right", worst, wrong)

    def coarseness(self, block: int, places: list[tuple[int, int, int]]) -> float:
        """The largest relative error of the definition in float32 at a block.

        Of one token it may be small by luck, where the states' own rounding decides; and of one
        that has next to nothing to do with another, there is nothing but rounding.
        """
        exact, coarse = (self.definition(of) for of in (torch.float64, torch.float32))
        off = []
        for at in places:
            J = exact.jacobian(*at)
            if at[0] == block and (size := float(J.norm())) > FAINT * len(J) ** 0.5:
                off.append(float((coarse.jacobian(*at) - J).norm()) / size)
        return max(off, default=0.0)

    def conditioning(self, at: tuple[int, int, int]) -> float:
        """How far the states' own rounding in float32 moves what is exact in float64."""
        exact = self.definition(torch.float64).jacobian(*at)
        if self.moved is None:
            states = self.definition(torch.float32).leaves
            self.moved = Definition(self.model, self.inputs(), self.stack, states=states)
        return float((self.moved.jacobian(*at) - exact).norm() / exact.norm())

    def definition(self, dtype: torch.dtype) -> Definition:
        if dtype not in self.exact:
            self.exact[dtype] = Definition(self.model, self.inputs(), self.stack, dtype=dtype)
        return self.exact[dtype]

    def inputs(self) -> dict[str, Any]:
        given = architectures.inputs_of(self.model)
        if "decoder_input_ids" in given:
            shifted = (start_token(self.model), *IDS[:-1])
            given["decoder_input_ids"] = torch.tensor([shifted])
        return given


class _Pixels:
    """An image processor that gives the same picture whatever it is shown."""

    def __init__(self, pixels: Tensor) -> None:
        self.pixels = pixels

    def __call__(self, **_: Any) -> dict[str, Tensor]:
        return {"pixel_values": self.pixels}


@contextmanager
def _collected(kind: Any) -> Iterator[list[tuple[Any, ...]]]:
    """While it lasts, what a class is given through `add` is kept as well."""
    own, found = kind.add, []

    def add(self: Any, *given: Any) -> Any:
        found.append(given)
        return own(self, *given)

    kind.add = add
    try:
        yield found
    finally:
        kind.add = own


def isolated(architecture: Architecture, scale: float) -> list[Row]:
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


def _send(architecture: Architecture, scale: float, pipe: Any) -> None:
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    pipe.send(judge(architecture, scale))


def _judged_in_both_sizes(architecture: Architecture) -> list[Row]:
    rows = [row for scale in SCALES for row in isolated(architecture, scale)]
    sys.stderr.write(f"{architecture.name}: {dict(Counter(row.verdict for row in rows))}\n")
    return rows


HEAD = """\
# Every architecture against the definition

{summary}

Each architecture of the library's tables of language models, masked language models, models of two
stacks and image classifiers: {layers} blocks of width {width}, random weights (standard deviations
{scales}), and whatever implementation of attention and experts the library takes by default.
Depth-wise at tokens 1, 5 and 9 of {n}, and between tokens in the three modes, blocks 1 and L:
every Jacobian that the measurement used, in float32, against autograd through the whole sequence in
true float64.

*Right* is norm_F(J - J_ref) <= {tolerance:g} norm_F(J_ref), or what rounding in float32 leaves:
{rounding:.1g} of the norm of the identity that J is added to where both tokens are the same, or
{times} times what rounding leaves of the definition itself: the largest error that it has in
float32 at that block, or what it gives in float64 from states in float32. Between tokens, a J below
{unseen:g} of that norm counts as none, and none is what is told of it.

Made by `make families` on {date}, {machine}, torch {torch}, transformers {transformers}.

| architecture | stack | right | largest error | refused because |
|---|---|---|---|---|
"""


def page(found: dict[str, list[Row]]) -> str:
    """The page as Markdown."""
    built = {n: rows for n, rows in found.items() if rows[0].verdict != "not built"}
    rows = [row for each in built.values() for row in each]
    counts = Counter(row.verdict for row in rows)
    bad = [name for name, each in built.items() if any(r.verdict not in GOOD for r in each)]
    right = [n for n, each in built.items() if all(r.verdict == "right" for r in each)]
    refused = [n for n, each in built.items() if all(r.verdict == "refused" for r in each)]
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    in_part = len(built) - len(right) - len(refused) - len(bad)
    lacking = ", ".join(sorted(set(found) - set(built)))
    summary = (
        f"**{len(built)} architectures: {len(right)} right in every mode, {len(refused)} refused "
        f"in words, {in_part} right in some modes and refused in others; {len(bad)} wrong, with a "
        f"traceback or fatal{': ' + ', '.join(bad) if bad else ''}** "
        f"({len(rows)} measurements: {told}). "
        f"{len(found) - len(built)} could not be built small: {lacking}."
    )
    capability = torch.backends.cpu.get_cpu_capability()
    head = HEAD.format(
        summary=summary,
        layers=architectures.LAYERS,
        width=architectures.WIDTH,
        scales=" and ".join(f"{0.1 * scale:g}" for scale in SCALES),
        n=len(IDS),
        tolerance=TOLERANCE,
        rounding=ROUNDING,
        times=OF_THE_DEFINITION,
        unseen=UNSEEN,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=f"{platform.machine()} with {capability}",
        torch=torch.__version__,
        transformers=transformers.__version__,
    )
    return head + "".join(_line(name, built[name]) for name in sorted(built))


def _line(name: str, rows: list[Row]) -> str:
    text = ""
    for stack in dict.fromkeys(row.stack for row in rows):
        of = [row for row in rows if row.stack == stack]
        right = [row for row in of if row.verdict == "right"]
        error = f"{max(row.error for row in right):.1e}" if right else ""
        others = dict.fromkeys(
            ("" if row.verdict == "refused" else f"**{row.verdict}** ") + row.told.replace("|", "/")
            for row in of
            if row.verdict != "right"
        )
        told = "; ".join(others)
        text += f"| {name} | {stack or ''} | {len(right)} of {len(of)} | {error} | {told} |\n"
    return text


def main(target: Path, names: list[str]) -> int:
    """Judge all, one a processor at a time, and write the page.

    Args:
        target: the page; beside it its numbers as JSON.
        names: judge these alone, and take the others as the JSON has them.
    """
    multiprocessing.set_start_method("forkserver")  # this process has threads, and none may be cut
    multiprocessing.set_forkserver_preload(["benchmarks.matrix"])
    kept = target.with_suffix(".json")
    found = {}
    if names:
        found = {n: [Row(**r) for r in rows] for n, rows in json.loads(kept.read_text()).items()}
    every = [each for each in architectures.every() if not names or each.name in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        judged = pool.map(_judged_in_both_sizes, every)
        found |= {each.name: rows for each, rows in zip(every, judged, strict=True)}
    target.write_text(page(found))
    kept.write_text(
        json.dumps({name: [asdict(row) for row in rows] for name, rows in found.items()}, indent=1)
    )
    return int(any(row.verdict not in GOOD for rows in found.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
