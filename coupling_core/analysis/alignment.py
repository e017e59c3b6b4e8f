"""Two results side by side: which of their parts belong together, and what tells the two apart.

Blocks belong together by their numbers where both models have the same L. Where L differs, block l
of the shallower model, of L blocks, lies at the relative depth

    r = (l - 1) / (L - 1)            0 for the first block, 1 for the last

and belongs to the block of the deeper model whose r is nearest, the shallower of two that are
equally near. Nothing is interpolated, so that every number shown is one that was measured; a block
of the deeper model stands for at most one of the shallower. Tokens belong together by their place
in one prompt, and prompts (`comparing_models`) by their text.
"""

from typing import Any

import numpy as np

from coupling_core.base.results import DepthResult, Result, TokenMeansResult, TokensResult
from coupling_core.base.results.base import short_prompt
from coupling_core.base.units import counted, percent

MOST_OF_WIDTH = 0.5
"""Share of the narrower width above which the verdict warns of K."""


def match_blocks(a: int, b: int) -> list[tuple[int, int]]:
    """Which block of A belongs to which of B, by relative depth, for two numbers of blocks L."""
    if a > b:
        return [(deep, shallow) for shallow, deep in match_blocks(b, a)]
    step = (b - 1) / (a - 1) if a > 1 else 0.0
    # Half way rounds down, to the shallower block; the tolerance is for the rounding of r.
    return [(i + 1, 1 + int(np.ceil(i * step - 0.5 - 1e-9))) for i in range(a)]


def attributes_of_both(a: Any, b: Any) -> dict[str, str | float]:
    """The attributes of two results, or of their scores: `a_model`, `b_model` and so on."""
    sides = {"a": a, "b": b}
    return {f"{side}_{name}": it for side in sides for name, it in sides[side].attributes().items()}


def side_names(a: Result, b: Result) -> tuple[str, str]:
    """Who A and B are: their models, and what else of prompt, token, norm and precision differs.

    Between tokens it is said in any case which blocks and tokens were measured.
    """
    names, details = [], []
    for of in (a, b):
        is_between = isinstance(of, TokensResult | TokenMeansResult)
        names.append(of.model_name + f" {of.measured}" * is_between)
        token = "" if is_between else f"token {getattr(of, 'token', None)}"
        details.append((repr(short_prompt(of)), token, of.final_norm_words, of.precision))
    apart = [part for part in zip(*details, strict=True) if part[0] != part[1]]
    ours, theirs = zip(names, *apart, strict=True)
    return ", ".join(ours), ", ".join(theirs)


def differences(a: Result, b: Result) -> list[str]:
    """In what two measurements differ, besides their numbers; a phrase each."""
    if a is b or (a.key and a.key == b.key):
        return ["nothing: A and B are the same result"]
    sides = [
        {
            "model": of.model_name,
            "revision": of.request.revision or "default",
            "weights": _weights(of),
            "width d": of.width,
            "prompt": repr(of.prompt_text),
            "measured": of.measured,
            "final norm": of.final_norm_words,
        }
        for of in (a, b)
    ]
    both = {name: (sides[0][name], sides[1][name]) for name in sides[0]}
    phrases = [f"{name}: {x} against {y}" for name, (x, y) in both.items() if x != y]
    if read := read_apart(a, b):
        phrases.append(f"tokens of the prompt: {read}")
    if a.n_blocks != b.n_blocks:
        matched = ", matched by nearest relative depth (l - 1) / (L - 1)"
        is_matched = isinstance(a, DepthResult)
        phrases.append(f"blocks: {a.n_blocks} against {b.n_blocks}{matched * is_matched}")
    return phrases or [_under_one_name(a, b)]


def _weights(result: Result) -> str:
    asked = result.request
    stack = f", the {asked.stack}" if asked.stack else ""
    return f"{asked.dtype}{stack}" + f", quantised to {asked.quantize}" * bool(asked.quantize)


def _under_one_name(a: Result, b: Result) -> str:
    """What differs of two results of which all that is asked for is the same."""
    ours, theirs = (of.identity.get("digest") for of in (a, b))
    if not (ours and theirs):
        return (
            "the model itself, perhaps: only results of a store know weights, settings and code, "
            "and variant='...' names what was done to a module"
        )
    if ours == theirs:
        return "how much was stored"
    return "the model itself, under one name: its weights, its settings or its code"


def read_apart(a: Result, b: Result) -> str:
    """That the two read one text as other tokens, where they do; "" else."""
    if a.prompt_text != b.prompt_text or np.array_equal(a.token_ids, b.token_ids):
        return ""
    ours, theirs = (f"{counted(len(of.tokens), 'token')}, {of.tokens[0]!r} first" for of in (a, b))
    return f"A reads it as {ours}, and B as {theirs}"


def nearly_whole(k: float, width: float, of: str) -> str:
    """That a K is most of a width, called `of`, as a sentence without its end; else ""."""
    if not k > MOST_OF_WIDTH * width:
        return ""
    return (
        f"K = {k:g} is {percent(k / width)} of {of}: so many directions are nearly all that there "
        "are, and tell little"
    )


def of_two_widths(k: float, a: str, a_width: float, b: str, b_width: float) -> str:
    """Which shares of their widths one K is of two models."""
    return (
        f"K = {k:g} is {percent(k / a_width)} of the width of {a} ({a_width:g}) and "
        f"{percent(k / b_width)} of that of {b} ({b_width:g}): compare_models(table, ..., k=0.1) "
        "takes the same share of each."
    )
