"""Captions and alternative texts of the figures of trajectories."""

from dataclasses import replace
from html import escape

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.projection import ProjectedPaths
from coupling_core.base.records import Part
from coupling_core.base.results import TrajectoryResult
from coupling_core.base.results.base import short_prompt
from coupling_core.base.units import counted, percent
from coupling_core.base.wording import paragraph

FAR_LESS = 0.05
"""Share of the first paths' reach below which the others are hardly seen beside them."""
SHOWN = 24  # letters of a prompt in a legend
PARTS: dict[Part, str] = {
    "all": "all blocks",
    "shallower": "the shallower half",
    "deeper": "the deeper half",
}


def which(
    result: TrajectoryResult, beside: TrajectoryResult | None = None, *, second: bool = False
) -> str:
    """What tells a result from the one beside it, in a legend.

    Trained or untrained; of other models their names; of one model its prompts, or its final norm
    where the prompt is one too; A and B where these are alike.
    """
    own = "trained" if result.request.untrained is None else "untrained twin"
    if beside is None:
        return own
    if result.model_name == beside.model_name:
        names = [
            of.final_norm_words
            if result.tokens == beside.tokens
            else f"“{escape(short_prompt(of, SHOWN), quote=False)}”"
            for of in (result, beside)
        ]
        return names[0] if names[0] != names[1] else "AB"[second]
    is_twin = (result.request.untrained is None) != (beside.request.untrained is None)
    return own if result.request.model == beside.request.model and is_twin else result.model_name


def both_in_words(a: TrajectoryResult, b: TrajectoryResult) -> tuple[str, str]:
    """The two of `which`, as a sentence has them: with articles and seeds."""

    def in_words(name: str, of: TrajectoryResult) -> str:
        seed = f"the untrained twin (seed {of.request.untrained})"
        return {"untrained twin": seed, "trained": "the trained model"}.get(name, name)

    return in_words(which(a, b), a), in_words(which(b, a, second=True), b)


def of_both(result: TrajectoryResult, beside: TrajectoryResult | None, mark: str) -> str:
    """Whose numbers the `mark` shows, such as "The dashed line is of"; "" without a second."""
    if beside is None:
        return ""
    if beside.tokens == result.tokens:
        own, other = both_in_words(result, beside)
        return f" {mark} {other}; all else is of {own}."
    names = (
        f"the {counted(len(of.tokens), 'token')} of “{short_prompt(of)}”" for of in (result, beside)
    )
    return f" Medians over {' and over '.join(names)}."


def mean_words(values: Float[np.ndarray, " token"]) -> str:
    """The mean over the prompt; infinite and undefined numbers are counted, not averaged."""
    known = np.isfinite(values)
    if not known.any():
        return "no number"
    without = f" without {(~known).sum()}" * (not known.all())
    return f"mean {values[known].mean():.2f}{without}"


def walked(found: ProjectedPaths) -> ProjectedPaths:
    """The paths up to the last block, where that includes the final norm: a step of its own."""
    is_normed = found.result.ends_in_norm and found.states[-1] == found.result.n_blocks
    if not is_normed or len(found.states) < 3:
        return found
    return replace(found, states=found.states[:-1], coordinates=found.coordinates[:-1])


def component(found: ProjectedPaths, index: int) -> str:
    """Title of an axis: which component, and how much it explains."""
    share = found.explained[index]
    if np.isnan(share):
        return f"PC {index + 1} (there is none)"
    of = f"x<sup>{found.states[-1]}</sup>" if found.view.fit == "last" else "all states"
    return f"PC {index + 1} ({percent(share, 1)} of {of})"


def paths_alt(found: ProjectedPaths, token: int) -> str:
    """What the paths look like, in numbers."""
    result, share = found.result, np.nansum(found.explained[:2])
    explained = f" Two components explain {percent(share, 1)} of what they are fitted on."
    return (
        f"Paths of {counted(len(found.tokens), 'token')} through {PARTS[found.view.part]} in "
        f"principal components, {result.subject}; highlighted: token {token}, "
        f"{result.tokens[token - 1]!r}."
        f"{explained if share else ''}"  # a single state has no variance
    )


def paths_caption(found: ProjectedPaths, n_drawn: int, beside: ProjectedPaths | None = None) -> str:
    """How the paths are read, of which `n_drawn` are drawn, and dashed those beside them."""
    result, view = found.result, found.view
    first, last = found.states[[0, -1]]
    end, skipped = walked(found).states[-1], view.leaves_out_first(len(result.tokens))
    to, known = found.fitted_to, found.drawn[np.isfinite(found.drawn)]
    fitted = "" if to is None else f" to {both_in_words(to, result)[0]}"
    fitted += f" on state x^{last}" if view.fit == "last" else " on all of these states"
    of_all = f" ({_shares(known)} of all that is drawn)" * (view.fit == "last" and known.size > 0)
    is_part = len(found.tokens) < len(result.tokens) - skipped
    return paragraph(
        f"Each line is a token's path from x^{first} to x^{end} (dot).",
        f"The components are fitted{fitted} and explain {_shares(found.explained)} of its variance "
        f"here{of_all}.",
        (end < last, f"Rings are x^{last}, after the last block and the final norm."),
        (is_part, f"States of {len(result.kept)} tokens of this long prompt are stored."),
        (n_drawn < len(found.tokens), f"{n_drawn} of them are drawn."),
        (skipped, "The first token is left out."),
        found.why_none or (_beside(found, beside) if beside else ""),
    )


def _shares(shares: Float[np.ndarray, " c"]) -> str:
    return ", ".join(percent(share, 1) for share in shares if share > 0) or "nothing"


def _beside(found: ProjectedPaths, beside: ProjectedPaths) -> str:
    own, other = both_in_words(found.result, beside.result)
    ours, theirs = (
        float(np.nanmax(np.ptp(paths.coordinates[..., :2], axis=(0, 1))))
        for paths in (found, beside)
    )
    share = percent(np.nansum(beside.explained[:2]), 1)
    apart = "The directions of models that were trained apart do not correspond."
    return paragraph(
        f"Lines: {own}; dashed, in the same components: {other}.",
        (np.isfinite(beside.explained).any(), f"Two of these explain {share} of its variance."),
        (theirs < FAR_LESS * ours, f"Its paths reach {percent(theirs / (ours or 1), 1)} as far."),
        (found.result.model_name != beside.result.model_name, apart),
    )
