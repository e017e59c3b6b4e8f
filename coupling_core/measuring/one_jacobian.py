"""jacobian(...): one block's Jacobian itself, made and checked as in a measurement."""

from dataclasses import replace
from typing import Any

from coupling_core.base.errors import InputError
from coupling_core.base.jacobian import BlockJacobian
from coupling_core.base.records import DEFAULT_K, FinalNorm, Quantisation, Stack
from coupling_core.measuring.asked import Prompt, is_named, request_for
from coupling_core.measuring.measure import asked_of, jacobian_of
from coupling_core.measuring.watched import Watching, watched


def jacobian(
    model: Any,
    prompt: Prompt,
    *,
    block: int | None = None,
    token: int | None = None,
    k: int | None = None,
    tokenizer: Any = None,
    final_norm: FinalNorm = "include",
    revision: str | None = None,
    untrained: int | None = None,
    dtype: Any = "float32",
    quantize: Quantisation | None = None,
    stack: Stack | None = None,
    device: Any = None,
    fast: bool = True,
    progress: Watching = None,
) -> BlockJacobian:
    """The Jacobian of one block at one token, with its singular triplets and their certificate.

    It is what `measure` takes of that block, to the bit, and nothing of it is kept. The other
    arguments mean what they do there.

    Args:
        model: an alias, a hub id, a folder or a .gguf file; or a module of your own; None is the
            default model.
        prompt: a text; token ids as a list or a tensor (token); the path of an image.
        block: l, 1..L; -1 is the last. It has to be said.
        token: t, 1..n; -1 is the last. None is the last of a text, and the class token of an image.
        k: how many singular triplets are given, 1..d; None is 50, or d where that is less.
        tokenizer: that of a module of your own; not needed where the prompt is token ids.
        final_norm: whether the final norm belongs to the last block (paper, Eq. 7).
        revision: branch, tag or commit of a hub model.
        untrained: seed of a freshly initialised twin of the model; None is the trained one.
        dtype: what the weights are rounded to; the arithmetic is float32 in any case.
        quantize: bitsandbytes' form of the weights.
        stack: which of the two stacks of an encoder-decoder model; None is the decoder.
        device: where to compute; None takes CUDA where there is one.
        fast: differentiate by the fast ways where they give what the definition gives.
        progress: told at each step; an exception it raises stops the measurement. None shows a bar
            in a terminal or a notebook, and False shows none.

    Returns:
        `J` (d d), `u` (d k), `s` (k) and `v` (d k) as NumPy arrays in float32, without a unit;
        `certificate`.

    Raises:
        InputError: where no block is said, the model has no such block or token, or K exceeds its
            width.
        ComputeError: where the computing fails, or J is not what the block computes.
    """
    if block is None:
        raise InputError(
            "jacobian(...) is of one block: say which, such as block=1, or block=-1 for the last; "
            "measure(...) takes those of all blocks"
        )
    said = {
        "token": token,
        "k": k,
        "final_norm": final_norm,
        "revision": revision,
        "untrained": untrained,
        "dtype": dtype,
        "quantize": quantize,
        "stack": stack,
    }
    request = request_for(prompt, model, said)
    asked, own = asked_of(request, None if is_named(model) else model, tokenizer)
    place = None if device is None else str(device)
    with watched(progress) as report:
        found = jacobian_of(asked, block, own=own, device=place, fast=fast, progress=report)
    most = DEFAULT_K if k is None else k
    u, s, v = found.u[:, :most], found.s[:most], found.v[:, :most]
    return replace(found, u=u, s=s, v=v, rank=min(found.rank, most))
