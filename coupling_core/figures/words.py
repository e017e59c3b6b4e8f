"""Captions and alternative texts: what a figure shows and how it is read, in sentences."""

import textwrap

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.scores import (
    Scores,
    arbitrary,
    definition_name,
    score_pairs,
)
from coupling_core.base.records import AnyView, View
from coupling_core.base.results import DepthResult, Result
from coupling_core.base.results.base import NORM_INCLUDED
from coupling_core.base.units import counted, ranges, rounded
from coupling_core.base.wording import sentences


def subject(result: Result) -> str:
    """Which model, and what of the prompt, as a phrase."""
    return f"{result.model_name} {result.measured}"


def provenance(result: Result, view: AnyView, whose: str = "") -> str:
    """Where a figure comes from, in one line: model, tokens, K, definition, versions.

    Args:
        result: what it shows.
        view: how.
        whose: in place of the model and what was measured, where it is of more than one.
    """
    prompt = textwrap.shorten(result.prompt_text, 60, placeholder=" …")
    versions = result.provenance.get("versions", {})
    return " · ".join(
        sentences(
            whose or subject(result),
            f"prompt of {counted(len(result.tokens), 'token')}{_put_first(result)}: “{prompt}”",
            *((f"K = {view.k}", definition_name(view)) if isinstance(view, View) else ()),
            result.final_norm_words,
            result.precision,
            (result.svds, "SVDs certified" if result.certified else "SVDs not all certified"),
            ", ".join(f"{name} {version}" for name, version in versions.items()),
        )
    )


def _put_first(result: Result) -> str:
    """The token before the text, if the tokenizer has put one there."""
    first, rest, text = result.tokens[0], "".join(result.tokens[1:]), result.prompt_text
    alike = "".join(rest.split()) == "".join(text.split()) != ""  # some tokenizers drop blanks
    return f", {first!r} first" if alike else ""


def zero_words(is_corrected: bool, floor: float) -> str:
    """What an unrelated basis scores.

    Args:
        is_corrected: whether the score is chance-corrected.
        floor: mean chance floor of the pairs that are drawn; NaN where none is measured yet.
    """
    if is_corrected:
        return "0 is what an unrelated basis gives"
    value = "" if np.isnan(floor) else f", {rounded(floor)} in the mean"
    return f"an unrelated basis gives the chance floor{value}, and not 0"


def spectrum_words(s: Float[np.ndarray, "line k"], k: int) -> str:
    """Where singular values run from and to, of the first and of the K-th."""
    first, at_k = (f"{np.nanmin(s[:, i]):.3g} to {np.nanmax(s[:, i]):.3g}" for i in (0, k - 1))
    return f" s₁ runs from {first}, the value at K = {k} from {at_k}."


def arbitrary_told(result: DepthResult, view: View) -> str:
    """Which blocks have no leading directions, so that their scores mean nothing."""
    blocks = arbitrary(result, view)
    if not blocks:
        return ""
    which = f"block{'s' * (len(blocks) > 1)} {ranges(blocks)}"
    return (
        f"The singular values of {which} are all alike, as if a hook had replaced an output: the "
        "directions are arbitrary, and the scores there mean nothing."
    )


def last_row(final_norm: str, n_blocks: int, found: Scores, corrected: bool) -> str:
    """What sets the row of the last block apart; "" if it has no final norm."""
    if final_norm != NORM_INCLUDED or found.blocks[-1] != n_blocks:
        return ""
    values = found.corrected if corrected else found.coupling
    off = np.where(np.equal.outer(found.blocks, found.blocks), np.nan, values)
    if np.isnan(off[-1]).all() or np.isnan(off[:-1]).all():
        return ""
    own, others = (rounded(float(np.nanmean(rows))) for rows in (off[-1], off[:-1]))
    return (
        f"Block {n_blocks} includes the final norm, so its row (mean {own}) is not comparable with "
        f"the others (mean {others})."
    )


def leading(k: int, side: int) -> str:
    """Which triplets a matrix shows."""
    return f"K = {k}" if side >= k else f"leading {side} of K = {k}"


def spectrum_alt(result: DepthResult, view: View, blocks: tuple[int, ...]) -> str:
    """What the singular values look like, in numbers."""
    s = result.singular_values[np.array(blocks) - 1]
    text = (
        f"Singular values of the Jacobians of {counted(len(blocks), 'block')} of "
        f"{subject(result)} by index "
        "on a log axis, a line a block, coloured by depth."
    )
    if np.isnan(s).all():
        return text + " No block is measured yet."
    return text + spectrum_words(s, view.k)


def spectrum_caption() -> str:
    """How the singular values are read."""
    return (
        "Singular values of each block's Jacobian, largest first. Where s_K / s_(K+1) "
        "is close to 1, the K-th singular vector is arbitrary, and only the "
        "subspaces mean anything."
    )


def mean_by_k_alt(result: DepthResult, view: View) -> str:
    """What the mean score does as K grows."""
    return (
        f"Mean score over l ≠ l' against K from 1 to {result.k_max} with its chance floor, "
        f"{subject(result)}. At K = {view.k}: {score_pairs(result, view).verdict}"
    )


def mean_by_k_caption() -> str:
    """How the mean score against K is read."""
    return (
        "Mean over all pairs of different blocks as more singular triplets are counted. Only what "
        "lies above the chance line is coupling."
    )


def angles_alt(
    result: DepthResult, block: int, basis: int, sides: Float[np.ndarray, "side k"]
) -> str:
    """What the angles are, in numbers."""
    text = (
        f"Principal angles between the top-{sides.shape[1]} singular subspaces of blocks {block} "
        f"and {basis}, {subject(result)}, smallest first."
    )
    if np.isnan(sides).all():
        return text + " They are not computed yet."
    smallest, largest = np.nanmin(sides, axis=1), np.nanmax(sides, axis=1)
    return text + (
        f" Left: {smallest[0]:.0f} to {largest[0]:.0f} degrees; "
        f"right: {smallest[1]:.0f} to {largest[1]:.0f}."
    )


def angles_caption(block: int, basis: int, k: int) -> str:
    """How the angles are read."""
    return (
        f"Angles between the top-{k} singular subspaces of blocks {block} and {basis}: 0° is a "
        "shared direction, 90° one at right angles to the other subspace. Below the chance line "
        "the subspaces have more in common than two random ones of this size."
    )
