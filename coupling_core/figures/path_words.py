"""Captions and alternative texts of the figures of trajectories."""

from dataclasses import replace
from html import escape

import numpy as np
from jaxtyping import Float

from coupling_core.analysis import trajectory
from coupling_core.analysis.projection import ProjectedPaths
from coupling_core.analysis.scaling import Line
from coupling_core.base.records import Part, PathView
from coupling_core.base.results import DepthResult, TrajectoryResult
from coupling_core.base.results.base import short_prompt
from coupling_core.base.units import counted, percent
from coupling_core.figures.words import subject

FAR_LESS = 0.05
"""Share of the first paths' reach below which the others are hardly seen beside them."""
SHOWN = 24
"""Letters of a prompt in a legend."""
PARTS: dict[Part, str] = {
    "all": "all blocks",
    "shallower": "the shallower half",
    "deeper": "the deeper half",
}


def which(
    result: TrajectoryResult, beside: TrajectoryResult | None = None, *, second: bool = False
) -> str:
    """Trained or untrained, as a word.

    Its name where what is drawn beside it is no twin of it; its prompt where it is the same model,
    and of the same prompt too its final norm. Where what is shown of these is the same, they are A
    and B.

    Args:
        result: whose word is wanted.
        beside: the other one.
        second: whether this is the one that is drawn beside, B.
    """
    asked = result.request
    if beside is not None:
        other = beside.request
        if result.model_name == beside.model_name and result.tokens == beside.tokens:
            norms = result.final_norm_words, beside.final_norm_words
            return norms[0] if norms[0] != norms[1] else "AB"[second]
        if result.model_name == beside.model_name:
            names = short_prompt(result, SHOWN), short_prompt(beside, SHOWN)
            alike = names[0] == names[1]
            return "AB"[second] if alike else f"“{escape(names[0], quote=False)}”"
        is_twin = (asked.untrained is None) != (other.untrained is None)
        if asked.model != other.model or not is_twin:
            return result.model_name
    return "trained" if asked.untrained is None else "untrained twin"


def both_in_words(a: TrajectoryResult, b: TrajectoryResult) -> tuple[str, str]:
    """The two of `which`, as a sentence has them: with articles, and the seed of a twin."""

    def in_words(name: str, of: TrajectoryResult) -> str:
        if name == "untrained twin":
            return f"the untrained twin (seed {of.request.untrained})"
        return "the trained model" if name == "trained" else name

    return in_words(which(a, b), a), in_words(which(b, a, second=True), b)


def mean_words(values: Float[np.ndarray, " token"]) -> str:
    """The mean over the prompt; infinite and undefined numbers are counted, not averaged."""
    known = np.isfinite(values)
    text = f"mean {values[known].mean():.2f}" if known.any() else "no number"
    left_out = int((~known).sum())
    return text + f" without {left_out}" * (left_out > 0 and bool(known.any()))


def _first(explained: Float[np.ndarray, " c"]) -> str:
    """How many components explain the shares that follow."""
    n = int((explained > 0).sum())
    return f"the first {n} explain" if n > 1 else "they explain"


def _reach(found: ProjectedPaths) -> float:
    """How far paths extend in two components, at most."""
    return float(np.nanmax(np.ptp(found.coordinates[..., :2], axis=(0, 1))))


def walked(result: TrajectoryResult, found: ProjectedPaths) -> ProjectedPaths:
    """The paths up to the last block, where that has the final norm in it: a step of its own."""
    normed = result.ends_in_norm
    if not normed or found.states[-1] != result.n_blocks or len(found.states) < 3:
        return found
    return replace(found, states=found.states[:-1], coordinates=found.coordinates[:-1])


def component(found: ProjectedPaths, view: PathView, index: int) -> str:
    """Title of an axis: which component, and how much it explains."""
    share = found.explained[index]
    if np.isnan(share):
        return f"PC {index + 1} (there is none)"
    return f"PC {index + 1} ({percent(share, 1)} of {_fitted(found, view)})"


def _fitted(found: ProjectedPaths, view: PathView) -> str:
    return f"x<sup>{found.states[-1]}</sup>" if view.fit == "last" else "all states"


def paths_alt(result: TrajectoryResult, view: PathView, found: ProjectedPaths, token: int) -> str:
    """What the paths look like, in numbers."""
    text = (
        f"Paths of {counted(len(found.tokens), 'token')} through {PARTS[view.part]} in principal "
        f"components, {subject(result)}; token {token}, {result.tokens[token - 1]!r}, in ink."
    )
    share = np.nansum(found.explained[:2])
    if not share:  # a single state has no variance
        return text
    return text + f" Two components explain {percent(share, 1)} of what they are fitted on."


def paths_caption(
    result: TrajectoryResult,
    view: PathView,
    found: ProjectedPaths,
    n_drawn: int,
    beside: ProjectedPaths | None = None,
) -> str:
    """How the paths are read."""
    first, last = found.states[[0, -1]]
    end = walked(result, found).states[-1]
    ended = "the last of these states" if end == last else "the last state"
    where = f"{ended}, x^{last}" if view.fit == "last" else "all of these states"
    shares = ", ".join(percent(share, 1) for share in found.explained if share > 0)
    drawn = ", ".join(percent(share, 1) for share in found.drawn if np.isfinite(share))
    text = f"Each line is a token's path from x^{first} to x^{end} (dot). "
    if found.fitted_to is None:
        text += (
            f"The components are fitted on {where}, of whose variance {_first(found.explained)} "
            f"{shares or 'nothing, since there is none'}"
        )
    else:
        text += f"The components are those of {which(found.fitted_to, result)}, fitted on {where}"
        text += f"; of the variance here {_first(found.explained)} {shares}" * bool(shares)
    text += f" (of all that is drawn: {drawn})." if view.fit == "last" and drawn else "."
    if end < last:
        text += f" Rings are x^{last}, after the last block and the final norm, which rescales it."
    left_out = view.leaves_out_first(len(result.tokens))
    if len(found.tokens) < len(result.tokens) - left_out:
        text += f" Of this long prompt the states of {len(result.kept)} tokens are stored."
    if n_drawn < len(found.tokens):
        text += f" {n_drawn} of them are drawn."
    text += " The first token is left out." * left_out
    if beside is not None and not found.why_none:
        names = both_in_words(result, beside.result)
        text += (
            f" The lines are of {names[0]}; dashed are the paths of {names[1]} in the same "
            "components"
        )
        if np.isfinite(beside.explained).any():
            share = percent(np.nansum(beside.explained[:2]), 1)
            text += f", of whose variance they explain {share} in two"
        text += "."
        ours, theirs = _reach(found), _reach(beside)
        if theirs < FAR_LESS * ours:
            text += f" They lie close together here, and reach {percent(theirs / ours, 1)} as far."
        if result.model_name != beside.result.model_name:
            text += " Where two models were trained apart, their directions do not correspond."
    return text + f" {found.why_none}" * bool(found.why_none)


_BY_DEPTH = {
    "norms": "Euclidean norm of each token's state by depth. The first token often grows far "
    "above the others.",
    "growth": "Growth of the norm in each block (paper, Eq. 12): a level line is exponential "
    "growth, and the variance over the blocks in units of the squared mean is the expodistance.",
    "steps": "How far each block moves each token, in units of that token's mean step: a level "
    "line at 1 is equal steps.",
    "line-shape-by-depth": f"Line-shape score of the {trajectory.WINDOW} states round each "
    "state (preprint, Figure 25): 1 is a straight line; nothing where the window does not fit.",
    "entropy": "Entropy of the next-token distribution that each state would give through the "
    "model's own final norm and head; 0 is certain.",
}


def by_depth_caption(result: TrajectoryResult, name: str) -> str:
    """How a number by depth is read."""
    if name == "entropy" and result.no_entropy:
        return f"There is no entropy: {result.no_entropy}."
    if name == "line-shape-by-depth" and result.n_blocks < trajectory.WINDOW - 1:
        return (
            f"This model has {result.n_blocks + 1} states, and the window takes "
            f"{trajectory.WINDOW}: there is no score."
        )
    return _BY_DEPTH[name]


def of_both(result: TrajectoryResult, beside: TrajectoryResult | None, mark: str) -> str:
    """Whose the other numbers are, where a second result is drawn beside; else nothing.

    Args:
        result: that is drawn.
        beside: it.
        mark: what tells the second one in the figure.
    """
    if beside is None:
        return ""
    if beside.tokens == result.tokens:
        own, other = both_in_words(result, beside)
        return f" {mark} {other}; all else is of {own}."
    told = (
        f"the {counted(len(of.tokens), 'token')} of “{short_prompt(of)}”" for of in (result, beside)
    )
    return f" Medians over {' and over '.join(told)}."


def by_depth_alt(
    result: TrajectoryResult,
    name: str,
    values: Float[np.ndarray, "depth token"],
    token: int,
    first: int,
) -> str:
    """What the lines do, in numbers."""
    title = name.removesuffix("-by-depth").replace("-", " ").capitalize()
    text = f"{title} by depth, a line a token, {subject(result)}."
    own = values[:, token - 1]
    known = np.flatnonzero(np.isfinite(own))
    if not known.size:
        return text + f" Token {token} has no value."
    low, high = known[0], known[-1]
    return text + (
        f" Token {token} goes from {own[low]:.3g} at l = {low + first} to {own[high]:.3g} at "
        f"l = {high + first}."
    )


_PER_TOKEN = {
    "line-shape": "Line-shape score of each token's path (paper, Eq. 10): 1 is a straight line. "
    "Dashed: the mean over the prompt.",
    "expodistance": "Variance of the growth rates over their squared mean (paper, Eq. 13): 0 is a "
    "norm that grows by one factor in every block. Dashed: the mean over the prompt.",
    "equidistance": "Coefficient of variation of the lengths of the steps: 0 is steps of one "
    "length. Dashed: the mean over the prompt.",
}


def per_token_caption(result: TrajectoryResult, name: str) -> str:
    """How a number of each path is read, and why some have none."""
    text = _PER_TOKEN[name]
    if name == "expodistance":
        reasons = trajectory.why_no_expodistance(result.norms)
        without = [f"token {i}: {why}" for i, why in enumerate(reasons, 1) if why]
        text += f" No value for {'; '.join(without[:3])}." if without else ""
        text += f" And {len(without) - 3} more." if len(without) > 3 else ""
        if result.ends_in_norm:
            text += " The last step has the final norm in it, whose rescaling counts as growth."
    return text


def per_token_alt(
    result: TrajectoryResult, name: str, values: Float[np.ndarray, " token"], token: int
) -> str:
    """What the numbers are."""
    return (
        f"{name.replace('-', ' ').capitalize()} of each token's path, {subject(result)}: "
        f"{mean_words(values)}; token {token} has {values[token - 1]:.3g}."
    )


def linearised_caption() -> str:
    """How the errors are read."""
    return (
        "Error of the linearised path x^l = (I + J^l) x^(l-1) of the selected token (paper, "
        "Section 6.1), one block at a time and rolled out from the embedding; thin: medians over "
        "all tokens. Below the dotted line the linear part says more than that the state stays "
        "where it is."
    )


def linearised_alt(result: TrajectoryResult, token: int) -> str:
    """What the errors are, in numbers."""
    text = f"Errors of the linearised path of token {token}, {subject(result)}."
    one, rolled = result.one_step[:, token - 1], result.rolled_out[:, token - 1]
    if np.isnan(one).any():
        return text + " They are not computed yet."
    return text + (
        f" One step: median {np.median(one):.2f} over the blocks; rolled out: {rolled[0]:.2f} "
        f"after the first block, {rolled[-1]:.2f} after the last."
    )


def scaling_caption(inverse: bool, lines: tuple[Line, ...]) -> str:
    """How singular values by depth are read."""
    if not inverse:
        return (
            "Largest singular values of each block's Jacobian at the selected token. Those of "
            "residual networks fall inversely with depth (preprint, A.3)."
        )
    shares = [line.r_squared for line in lines if np.isfinite(line.r_squared)]
    text = "Their inverse: singular values that scale inversely with depth lie on a rising line."
    if not shares:
        return text
    return text + (
        f" Lines of least squares explain {percent(min(shares))} to {percent(max(shares))} of the "
        f"variance (k = 1..{len(lines)}; each fit is in the table)."
    )


def scaling_alt(result: DepthResult, s: Float[np.ndarray, "block k"], inverse: bool) -> str:
    """What the singular values do, in numbers."""
    text = f"{'Inverse of the top' if inverse else 'Top'} singular values by block, "
    text += f"{subject(result)}."
    if np.isnan(s[[0, -1], 0]).any():
        return text + " Not every block is measured yet."
    first, last = (1 / s[[0, -1], 0]) if inverse else s[[0, -1], 0]
    return text + f" For k = 1 from {first:.3g} in the first block to {last:.3g} in the last."
