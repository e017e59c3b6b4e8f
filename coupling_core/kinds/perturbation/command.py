"""`coupling perturbation`: noise on a token's embedding, and where linear blocks stop saying it."""

from typing import Annotated, Any

import typer

from coupling_core.analysis.exports import row
from coupling_core.analysis.perturbation import TENTH, perturbation_radius, spread
from coupling_core.base.records import AnyView
from coupling_core.base.results import PerturbationResult
from coupling_core.base.results.perturbation import WAYS
from coupling_core.cli import options
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.shown import Shown
from coupling_core.cli.terminal import print_frame
from coupling_core.kinds.perturbation.numbers import DRAWS, table
from coupling_core.kinds.perturbation.views import radius_words


def command(
    *,
    asked: options.Differentiating,
    token: options.Token = None,
    figure: str = "cosine",
    size: Annotated[
        float,
        typer.Option(help="Size of the noise in the figure depth, in norms of the embedding."),
    ] = TENTH,
    output: options.Output,
) -> None:
    """Add noise to a token's embedding, and see how far the linearised blocks predict it."""
    shown = Shown(
        "perturbation",
        asked.many,
        figure,
        {"size": size},
        chosen={"noise": "isotropic, of 0.1 of the embedding's norm but for the radius"},
    )
    answer(asked, asked.request("perturbation", token=token), shown, output)


def summary(result: PerturbationResult, view: AnyView) -> dict[str, Any]:
    """Radii by state, and medians at the first and the last block, ready for JSON."""
    ends = [1, result.n_blocks]
    return {
        "directions": result.directions,
        "sizes": result.noise_sizes,
        "mean": row(result, view),
        "radius": dict(zip(WAYS, perturbation_radius(result), strict=True)),
        "states": ends,
        **{
            name: dict(zip(WAYS, spread(getattr(result, name)).median[..., ends], strict=True))
            for name in DRAWS
        },
        "certificates": result.certificates,
    }


def facts(result: PerturbationResult, view: AnyView) -> dict[str, object]:
    """What noise there is, and from which size on first order is off."""
    radii = zip(WAYS, perturbation_radius(result)[:, -1], strict=True)
    return {
        "noise": f"on its embedding, {result.distance.shape[2]} draws of each size and way; "
        f"K = {result.directions}",
        "radius": [f"{way}: {radius_words(result, radius)}" for way, radius in radii],
        "below": "of isotropic noise: the cosine with the undisturbed state, the median of the "
        "draws and what 95\u00a0% of them have; by first order, and what that is off by",
    }


def tables(result: PerturbationResult, view: AnyView) -> None:
    """Print a line a size, behind the first block and the last."""
    found = table(result, view)
    shown = found[(found.way == WAYS[0]) & found.state.isin([1, result.n_blocks])]
    columns = ["state", "size", "cosine", "cosine_low", "cosine_high", "linear_cosine", "error"]
    print_frame(shown[columns].sort_values("state", kind="stable"))
