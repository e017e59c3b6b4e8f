"""`coupling cross`: the directions of one model's blocks against those of another."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from coupling_core.analysis.alignment import differences
from coupling_core.analysis.crossing import Crossing, CrossScores
from coupling_core.analysis.crossing import cross as cross_results
from coupling_core.analysis.exports import written
from coupling_core.base.errors import InputError
from coupling_core.base.results import DirectionsResult
from coupling_core.base.units import counted
from coupling_core.cli import files, options
from coupling_core.cli.compare import A, B
from coupling_core.cli.stored import open_result
from coupling_core.cli.terminal import print_lines, print_table
from coupling_core.measuring.trying import cross_scores
from coupling_core.store.disk import Store

SHOWN = 10
"""New directions in the printed table."""
_AXES = {
    **dict.fromkeys(("angles", "inside", "new"), ("side", "block", "k")),
    "chance": ("k",),
    **dict.fromkeys(("a_in_b", "b_in_a"), ("block", "basis")),
}


def cross(
    a: A,
    b: B,
    k: Annotated[int | None, options.k_option("half of those that are kept")] = None,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Also load both models: each one's Jacobians in the other."),
    ] = False,
    device: options.Device = None,
    *,
    output: options.Numbers,
) -> None:
    """Hold the stored directions of two models against one another, block by block."""
    output.require_writable()
    shelf = Store(output.store)
    first, second = (_directions(shelf, text) for text in (a, b))
    found = cross_results(first, second, k)
    # One model after the other, so that they need not fit into memory together.
    pairs = {"a_in_b": (first, second), "b_in_a": (second, first)} if scores else {}
    maps = {name: cross_scores(*of, device=device, progress=False) for name, of in pairs.items()}
    if output.out is not None:
        _write(output.out, found, maps)
    output.tell(lambda: _summary(found, maps), lambda: _show(found, maps, output.out))


def _directions(store: Store, text: str) -> DirectionsResult:
    result = open_result(store, text)
    if isinstance(result, DirectionsResult):
        return result
    raise InputError(
        f"{text!r} is a result of {result.request.kind}: measure both models with `coupling "
        "directions` first, over the same prompt"
    )


def _write(out: Path, found: Crossing, maps: dict[str, CrossScores]) -> None:
    """Write the file that --out names."""

    def arrays() -> dict[str, np.ndarray]:
        named = {name: getattr(found, name) for name in ("angles", "inside", "new", "chance")}
        return named | {name: scores.corrected for name, scores in maps.items()}

    content = written(files.ending(out), found.to_pandas, arrays, _AXES)
    if content is not None:
        files.write(out, content)
    else:
        found.plot().save(out)


def _summary(found: Crossing, maps: dict[str, CrossScores]) -> dict[str, Any]:
    return {
        "a": found.a.key,
        "b": found.b.key,
        "differ_in": differences(found.a, found.b),
        "k": found.k,
        "told": found.verdict,
        "chance": found.chance,
        "blocks": found.to_pandas().to_dict("records"),
        "new": found.new_directions().to_dict("records"),
        **{name: scores.mean()._asdict() for name, scores in maps.items()},
    }


def _show(found: Crossing, maps: dict[str, CrossScores], out: Path | None) -> None:
    print_lines(
        f"A           {found.a.model_name}, {found.a.key}",
        f"B           {found.b.model_name}, {found.b.key}",
        *(f"differ in   {difference}" for difference in differences(found.a, found.b)),
        f"prompt      {found.a.prompt_text!r}, token {found.a.token_words(found.a.token)}",
        *([f"written     {out}"] if out else []),
        "",
        found.verdict,
        "",
    )
    print_table(
        ("block", "writes, median", "largest", "new", "reads, median", "largest", "new"),
        [
            tuple(f"{value:.1f}" if isinstance(value, float) else str(value) for value in row[:-1])
            for row in found.to_pandas().itertuples(index=False)
        ],
        right=True,
    )
    new = found.new_directions()
    beyond = new[new.beyond_chance].head(SHOWN).to_dict("records")
    print_lines(
        "",
        f"{counted(len(new), 'new direction')}, {int(new.beyond_chance.sum())} of them with a "
        "readout beyond chance",
    )
    if beyond:
        rows = [
            (
                f"{row['side']}_{row['component']} of block {row['block']}",
                f"{row['inside']:.2f}",
                str(row["towards"]),
                str(row["away"]),
            )
            for row in beyond
        ]
        print_table(("", "part in A", "towards", "away"), rows)
    print_lines(*(["", *(scores.verdict for scores in maps.values())] if maps else []))
