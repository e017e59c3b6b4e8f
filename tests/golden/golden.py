"""The numbers of all that the results that ship give: a refactoring moves none of them.

    python tests/golden/golden.py compare [KIND ...]    print what moved; exit status 1 if any
    python tests/golden/golden.py write [KIND ...]      write what is there today

Each result is asked for as people do: its command with `--json`, `.csv` and `.npz`, and all figures
of `plot`. Numbers alone are kept: a small array as it is, of a large one the weighted sums of its
parts, so that a change is found and its part is named. Text is not compared, except keys.
"""

import base64
import csv
import io
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import astuple, dataclass, fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

import coupling_core as cc
from coupling_core.base.drawing import figures_of
from coupling_core.base.kinds import kinds
from coupling_core.cli import main
from coupling_core.experiments.gallery import EXAMPLES, PICTURE

FOLDER = Path(__file__).parent
PARTS = 16
"""Sums that are kept of an array with more numbers than that."""
NOT_NUMBERS_OF_A_RESULT = ("seconds", "provenance", "bytes", "load")
"""What a machine or a day changes, by the beginning of its name."""
DRAWN = ("x", "y", "z", "customdata", "error_x", "error_y", "zmin", "zmax")
"""What of a trace are numbers of a result."""
VIEWS: Mapping[str, Sequence[Sequence[str]]] = {
    "depth": [
        *(["--definition", name] for name in cc.DEFINITIONS),
        ["--level", "rotations", "--k", "10"],
        ["--role", "B", "--k", "10"],
        ["--blocks", "2-8:3", "--p", "2", "--raw"],
    ],
    "self": [["--definition", "alignment", "--k", "7"], ["--role", "B"]],
    "trajectory": [["--fit", "all", "--part", "deeper"]],
}
"""Options under which the first result of a kind is looked at besides."""
TRAINED, UNTRAINED = "2ac07c58", "0dbb4409"
"""The first prompt's depth-wise results, by which a stored result is named."""
PROMPT = ("--prompt", EXAMPLES[0])
COMMANDS: Sequence[Sequence[str]] = (
    ("graph", *PROMPT),
    ("graph", *PROMPT, "--threshold", "0.1", "--blocks", "3-25", "--raw"),
    ("compare", TRAINED, UNTRAINED),
    ("compare", TRAINED, UNTRAINED, "--definition", "alignment", "--k", "10", "--role", "B"),
    ("compare", "0f38f0da", "d463f773"),  # trajectories
    ("compare", "55f82f20", "8af2b822"),  # tokens of two blocks, two modes
    ("compare", "55f82f20", "1d92900b"),  # tokens of two blocks, and the mean over all
    ("cross", "dd94fdb7", "c632642a"),  # directions
    ("whatif", *PROMPT, "--coupling", "depth"),
    ("training", *PROMPT, "--suite", "mini-64", "--spectra"),
    ("training", *PROMPT, "--suite", "mini-128", "--suite", "mini-64-sd", "--definition", "page"),
    ("suite", "list"),
)
"""Commands that answer from several results that ship."""


@dataclass(frozen=True)
class Numbers:
    """An array, or what is kept of it.

    Args:
        size: how many numbers it has, NaN among them.
        missing: how many are NaN or infinite.
        sums: its finite numbers, or weighted sums of `PARTS` parts of it.
        scale: sums of magnitudes in each part, which tell how exact its sum can be.
    """

    size: int
    missing: int
    sums: list[float]
    scale: list[float]

    @classmethod
    def of(cls, values: np.ndarray) -> "Numbers":
        """What is kept of an array."""
        flat = np.asarray(values, float).ravel()
        finite = np.where(np.isfinite(flat), flat, 0)
        # Weights that no exchange of two numbers leaves as they are.
        weighted = finite * (1 + 0.5 * np.cos(np.arange(flat.size) * 2.399963))
        parts = np.array_split(weighted, PARTS) if flat.size > PARTS else finite[:, None]
        sums = [float(f"{part.sum():.10g}") for part in parts]
        scale = [float(f"{abs(part).sum():.3g}") for part in parts]
        return cls(flat.size, int((finite != flat).sum()), sums, scale)

    def moved(self, other: "Numbers") -> str:
        """What another has otherwise, in words; empty where they agree."""
        if (self.size, self.missing) != (other.size, other.missing):
            now = f"now {other.size} with {other.missing}"
            return f"{self.size} numbers with {self.missing} NaN, {now}"
        # A number in float32 is exact to a ten millionth; errors of many add up as their root.
        exact = 5e-7 / math.sqrt(self.size / PARTS) if self.size > PARTS else 2e-6
        parts = zip(self.sums, other.sums, self.scale, strict=True)
        for part, (was, now, scale) in enumerate(parts, 1):
            if abs(now - was) > exact * scale + 1e-8:
                return f"part {part} of {len(self.sums)}: {was:.9g}, now {now:.9g}"
        return ""


Golden = dict[str, Numbers | str]
"""What is kept, by where it was found."""


def numbers(found: Any, name: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Every array of numbers of a nested answer, by its place; lists of records by field."""
    if is_dataclass(found) and not isinstance(found, type):
        found = {item.name: getattr(found, item.name) for item in fields(found)}
    if isinstance(found, Mapping):
        parts = list(found.values())
        if len(parts) > PARTS and all(isinstance(part, Mapping) for part in parts):
            yield from numbers(parts, name)
            return
        for key, part in found.items():
            if not str(key).startswith(NOT_NUMBERS_OF_A_RESULT):
                yield from numbers(part, f"{name}/{key}")
        return
    if isinstance(found, list | tuple):
        if records := [part for part in found if isinstance(part, Mapping)]:
            for key in dict.fromkeys(key for record in records for key in record):
                yield from numbers({key: [record.get(key) for record in records]}, name)
            return
        flat = [*_flat(found)]
        is_known = any(isinstance(each, float | int) and not math.isnan(each) for each in flat)
        found = np.array(flat) if is_known else None
    if isinstance(found, np.ndarray) and found.dtype.kind == "c":
        found = np.stack([found.real, found.imag])
    if isinstance(found, int | float | np.number):
        found = np.array([found])
    if isinstance(found, np.ndarray) and found.size and found.dtype.kind in "biuf":
        yield name, found


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    """What a nested list has besides texts, None as NaN."""
    for part in values:
        if isinstance(part, list | tuple):
            yield from _flat(part)
        elif isinstance(part, np.ndarray):
            yield from part.ravel().tolist()
        elif part is None or isinstance(part, int | float | np.number):
            yield math.nan if part is None else float(part)


def words_of(request: cc.Request) -> list[str]:
    """The command that asks for a result."""
    between = request.kind in ("self", "fixed-input", "fixed-output")
    words = ["tokens", "--kind", request.kind] if between else [request.kind.replace("-", "")]
    is_image = str(request.prompt).startswith("data:")
    words += ["--image", str(PICTURE)] if is_image else ["--prompt", str(request.prompt)]
    asked = ["model", "revision", "untrained", "block", "other_block"]
    for name in asked + (["token", "k", "k_view"] if request.kind == "depth" else []):
        if (value := getattr(request, name)) is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def answered(words: Sequence[str]) -> str:
    """What a command prints, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["coupling", *words]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as left:
            if left.code:
                raise RuntimeError(f"{' '.join(words)}: {err.getvalue()}") from None
    return out.getvalue()


def asked(
    request: cc.Request, folder: Path, key: str, *, is_whole: bool
) -> Iterator[tuple[str, Any]]:
    """All that is read of a result, by name; of one that is one of many only what is cheap."""
    words = words_of(request)
    printed = answer(words)
    if printed["key"] != key:
        raise RuntimeError(f"{' '.join(words)} was answered by {printed['key']}, not by {key}")
    yield "json", printed
    if not is_whole:
        return
    for view in VIEWS.get(request.kind, ()):
        yield f"json {' '.join(view)}", answer([*words, *view])
    table, arrays = folder / "table.csv", folder / "arrays.npz"
    for file in (table, arrays):
        answered([*words, "--out", str(file)])
    with table.open(newline="") as read:
        rows = csv.DictReader(read)
        yield "csv", [{key: _number(cell) for key, cell in row.items()} for row in rows]
    with np.load(arrays) as loaded:
        yield "npz", dict(loaded)
    result = cc.Store().get(key)
    for figure in figures_of(request.kind):
        try:
            drawn = result.plot(figure).figure.to_plotly_json()
        except cc.InputError:  # not every result has every figure of its kind
            continue
        yield f"figure {figure}", _traces(drawn["data"]) | _axes(drawn["layout"])


def _traces(drawn: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is drawn, by the names of the traces, with a number where several share one."""
    named: dict[str, Any] = {}
    seen: Counter[str] = Counter()
    for trace in drawn:
        name = str(trace.get("name") or trace.get("type"))
        parts = {part: _unpacked(trace[part]) for part in DRAWN if part in trace}
        marker = trace.get("marker", {})
        parts |= {part: _unpacked(marker.get(part)) for part in ("color", "cmin", "cmax")}
        named[f"{name} {seen[name]}"] = parts
        seen[name] += 1
    return named


def _unpacked(part: Any) -> Any:
    """An array as plotly sends it, or what is not one as it is."""
    if not isinstance(part, Mapping):
        return part
    if "bdata" in part:
        return np.frombuffer(base64.b64decode(part["bdata"]), part["dtype"])
    return {name: _unpacked(each) for name, each in part.items()}


def _axes(layout: Mapping[str, Any]) -> dict[str, Any]:
    """The ranges of a figure's axes and colours."""
    kept = {name: part for name, part in layout.items() if "axis" in name}
    names = ("range", "cmin", "cmax")
    return {axis: {name: part.get(name) for name in names} for axis, part in kept.items()}


def _number(cell: str) -> float | str | None:
    try:
        return float(cell) if cell else None
    except ValueError:
        return cell


def all_numbers(entry: Any, *, is_whole: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Every array of numbers that is read of one stored result, by its place."""
    with TemporaryDirectory() as folder:
        for name, given in asked(entry.request, Path(folder), entry.key, is_whole=is_whole):
            yield from numbers(given, name)
    yield from numbers(cc.Store().get(entry.key), "stored")


def answer(words: Sequence[str]) -> Any:
    """What a command prints as JSON."""
    return json.loads(answered([*words, "--json"]))


def kept(found: Iterable[tuple[str, np.ndarray]]) -> Golden:
    """What is kept of arrays."""
    return {place: Numbers.of(each) for place, each in found}


def shipped(kind: str) -> dict[str, Any]:
    """The results of a kind that ship, by key."""
    found = [entry for entry in cc.Store().entries() if entry.request.kind == kind]
    return {entry.key: entry for entry in sorted(found, key=lambda entry: entry.key)}


def in_full(entries: Mapping[str, Any]) -> set[str]:
    """Keys of the results that are read in every way: the first of each model."""
    first: dict[str, str] = {}
    for key, entry in entries.items():
        first.setdefault(f"{entry.request.model} {entry.request.untrained}", key)
    return set(first.values())


def subjects() -> list[str]:
    """What is looked at: every kind of which results ship, and the commands of several results."""
    return [*(kind for kind in kinds() if shipped(kind)), "commands"]


def today(subject: str, names: Sequence[str] = ()) -> Iterator[tuple[str, Golden]]:
    """What a subject gives today, by the key of a result or the words of a command."""
    if subject == "commands":
        for words in COMMANDS:
            yield " ".join(words), kept(numbers(answer(words)))
        return
    entries = shipped(subject)
    whole = in_full(entries)
    for key in names or entries:
        if key in entries:
            found = kept(all_numbers(entries[key], is_whole=key in whole))
            yield key, found | {"key": key}


def read(subject: str) -> dict[str, Golden]:
    """What was written of a subject."""
    text = (FOLDER / f"{subject}.json").read_text()
    return {
        name: {at: Numbers(*each) if isinstance(each, list) else each for at, each in of.items()}
        for name, of in json.loads(text).items()
    }


def write(subject: str) -> None:
    """Write what a subject gives today, a line a result."""
    lines = []
    for name, found in today(subject):
        plain = {
            at: list(astuple(each)) if isinstance(each, Numbers) else each
            for at, each in found.items()
        }
        lines.append(f"{json.dumps(name)}: {json.dumps(plain)}")
    (FOLDER / f"{subject}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def moved(before: Golden, now: Golden) -> list[str]:
    """What of one result is otherwise than before, a line each."""
    lines = []
    for name in before | now:
        was, is_now = before.get(name), now.get(name)
        if was is None or is_now is None:
            lines.append(f"{name}: {'is new' if was is None else 'is gone'}")
        elif isinstance(was, Numbers) and isinstance(is_now, Numbers):
            if said := was.moved(is_now):
                lines.append(f"{name}: {said}")
        elif was != is_now:
            lines.append(f"{name}: {was}, now {is_now}")
    return lines


def compare(subject: str, names: Sequence[str] = ()) -> list[str]:
    """What of a subject is otherwise than what was written, a line each."""
    written, found = read(subject), dict(today(subject, names))
    lines = [f"{name}: is gone" for name in names or written if name not in found]
    for name, now in found.items():
        lines += [f"{name[:60]} {line}" for line in moved(written.get(name, {}), now)]
    return [f"{subject} {line}" for line in lines]


def run(action: str, *chosen: str) -> int:
    """The command; its exit status."""
    status = 0
    for subject in chosen or subjects():
        if action == "write":
            write(subject)
            continue
        found = compare(subject)
        status |= bool(found)
        sys.stdout.write("\n".join([*found, f"{subject}: {len(found)} moved\n"]))
    return status


if __name__ == "__main__":
    with TemporaryDirectory() as empty, patch.dict(os.environ, COUPLING_STORE=empty):
        sys.exit(run(*sys.argv[1:]))
