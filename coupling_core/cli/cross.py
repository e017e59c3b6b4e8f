"""`coupling cross`: the directions of one model's blocks against those of another."""

from typing import Annotated, Any

import typer

from coupling_core.analysis.alignment import differences
from coupling_core.analysis.crossing import Crossing, CrossScores
from coupling_core.analysis.crossing import cross as cross_results
from coupling_core.base.errors import InputError
from coupling_core.base.results import DirectionsResult
from coupling_core.base.units import counted
from coupling_core.cli import files, options
from coupling_core.cli.compare import A, B
from coupling_core.cli.terminal import print_facts, print_frame, print_lines
from coupling_core.measuring.trying import cross_scores

SHOWN = 10
"""New directions in the printed table."""
_AXES: dict[str, tuple[str, ...]] = {
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
    first, second = (_directions(output, text) for text in (a, b))
    found = cross_results(first, second, k)
    # One model after the other, so that they need not fit into memory together.
    pairs = {"a_in_b": (first, second), "b_in_a": (second, first)} if scores else {}
    maps = {name: cross_scores(*of, device=device, progress=False) for name, of in pairs.items()}
    if output.out is not None:
        names = ("angles", "inside", "new", "chance")
        named = {name: (_AXES[name], getattr(found, name)) for name in names}
        named |= {name: (_AXES[name], scored.corrected) for name, scored in maps.items()}
        files.write_numbers(
            output.out,
            found.to_pandas,
            lambda: named,
            None,
            lambda ending: found.plot().render(ending),
        )
    output.tell(lambda: _summary(found, maps), lambda: _show(found, maps))


def _directions(output: options.Output, text: str) -> DirectionsResult:
    result = output.open(text)
    if isinstance(result, DirectionsResult):
        return result
    raise InputError(
        f"{text!r} is a result of {result.request.kind}: measure both models with `coupling "
        "directions` first, over the same prompt"
    )


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
        **{name: scores.mean() for name, scores in maps.items()},
    }


def _show(found: Crossing, maps: dict[str, CrossScores]) -> None:
    print_facts(
        A=f"{found.a.model_name}, {found.a.key}",
        B=f"{found.b.model_name}, {found.b.key}",
        differ_in=differences(found.a, found.b),
        prompt=f"{found.a.prompt_text!r}, token {found.a.token_words(found.a.token)}",
    )
    print_lines("", found.verdict, "")
    print_frame(found.to_pandas().drop(columns="median_angle_by_chance"))
    new = found.new_directions()
    beyond = new[new.beyond_chance].drop(columns="beyond_chance")
    print_lines(
        "",
        f"{counted(len(new), 'new direction')}, {len(beyond)} of them with a readout beyond chance",
    )
    print_frame(beyond.head(SHOWN))
    for scores in maps.values():
        print_lines("", scores.verdict)
