"""What is unlike of two models of a table, or of two ways to look at one, beside their numbers."""

from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.analysis.alignment import nearly_whole, of_two_widths
from coupling_core.analysis.model_comparison import ModelComparison
from coupling_core.base.definitions import sampled_definitions
from coupling_core.base.records import ALL_BLOCKS, OF_BLOCKS, parse_blocks
from coupling_core.base.units import counted, rounded, with_difference
from coupling_core.base.wording import sentences

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame


def caveats(found: ModelComparison, rows: "DataFrame") -> tuple[str, ...]:
    """What bears on the difference of two, a sentence each.

    The rows are what the table says of both, of the prompts that both have, at the K compared.
    """
    from coupling_core.analysis.statistics.means import uncertified

    of_models, names, values = found.column == "model", found.names, (found.a, found.b)
    # NaN is what the table does not say, and compares as neither alike nor other.
    told = ["width", "layers", "k", "trained", OF_BLOCKS, "tokens"]
    sides = rows.reindex(columns=["model", "prompt", *told]).groupby("model")
    first = sides.first().reindex(values)
    width, layers, k = first[["width", "layers", "k"]].to_numpy(float).T
    floors = rows.reindex(columns=["chance", "floor_error"]).astype(float)
    chance, errors = floors.groupby(rows["model"]).mean().reindex(values).to_numpy().T
    a_tokens, b_tokens = (sides.get_group(one).set_index("prompt")["tokens"] for one in values)
    blocks = [_blocks(found, *of) for of in zip(values, first[OF_BLOCKS], layers, strict=True)]
    extent = layers if of_models else layers * np.nan
    if all(blocks):
        extent = np.array([of[-1] - of[0] + 1 for of in blocks])
    shared = len({*blocks[0]} & {*blocks[1]}) if found.column == OF_BLOCKS else 0
    has_last = [n in of for n, of in zip(layers, blocks, strict=True)]
    is_untrained = first["trained"].map(str) == "False"
    untrained = dict.fromkeys(compress(names if of_models else [found.model] * 2, is_untrained))
    definitions = values if found.column == "definition" else [found.definition] * 2
    sampled = " and ".join(compress(names, np.isin(definitions, sampled_definitions())))
    far = "an error that interval and p leave out"
    if known := " and ".join(rounded(error, 4) for error in errors if error == error):
        is_within = abs(found.difference) < 2 * float(np.sqrt(np.nansum(errors**2)))
        far = f"a standard error of {known}, which interval and p leave out"
        far += " and from which the difference cannot be told" * is_within
    (a, b), called = names, [f"the width of {name}" for name in names]
    whole = next(filter(None, map(nearly_whole, k, width, called)), "")
    levels = with_difference(chance[0], chance[1], chance[0] - chance[1])
    failed = uncertified(rows)
    return sentences(
        (
            all(blocks) and has_last[0] != has_last[1] and found.final_norm != "exclude",
            f"The last block is among {'the blocks of ' * of_models}{names[has_last[1]]} alone, "
            "with the final norm in it where the model has one: without it the difference may be "
            "another.",
        ),
        (
            abs(extent[0] - extent[1]) > 0,
            f"The two go over {extent[0]:g} and {extent[1]:g} blocks, and a part of the difference "
            "may be that alone.",
        ),
        (shared > 1, f"{shared} blocks are in both, so that the two are not independent."),
        (
            of_models and found.k >= 1 and abs(width[0] - width[1]) > 0,
            of_two_widths(found.k, a, width[0], b, width[1]),
        ),
        (whole, f"{whole}."),
        (
            found.column == "definition",
            "Two definitions are two quantities: the difference is one of scores, and not of "
            "coupling.",
        ),
        (
            (abs(a_tokens - b_tokens) > 0).any(),
            f"The two read the prompts as other tokens, {a_tokens.mean():.3g} and "
            f"{b_tokens.mean():.3g} on average, which is enough to move the scores, as by a token "
            "put first.",
        ),
        (
            untrained,
            f"The weights of {' and '.join(untrained)} are one random draw: no interval covers "
            "others.",
        ),
        (
            found.measure == "coupling" and np.isfinite(chance).all(),
            f"Chance gives {levels[0]} and {levels[1]}, {levels[2]} apart; interval and p leave "
            "that in, and those of the measure 'corrected' do not.",
        ),
        (
            found.measure == "corrected" and sampled,
            f"The chance floors of {sampled} are means over 8 random bases, the same for all "
            f"prompts, with {far}.",
        ),
        (
            failed,
            f"Not certified: {counted(failed, 'result')} of {2 * found.n}, of which an SVD did not "
            "pass its checks.",
        ),
    )


def _blocks(found: ModelComparison, value: str, first: Any, layers: float) -> tuple[int, ...]:
    """Those that scores are of; none where the table does not say how many there are."""
    if found.kind != "depth" or np.isnan(layers):
        return ()
    held = ALL_BLOCKS if first is None or first != first else first
    return parse_blocks(value if found.column == OF_BLOCKS else held, int(layers))
