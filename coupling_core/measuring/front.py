"""measure(...) as people call it: a text and what is asked of it, or a Request.

The overloads tell a type checker which result a kind gives; what measures is `measuring.measure`.
"""

import os
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, Unpack, overload

from coupling_core.base.errors import InputError
from coupling_core.base.folders import expanded
from coupling_core.base.records import FinalNorm, Kind, Quantisation, Request, Stack, TokenKind
from coupling_core.base.results import (
    DepthResult,
    DirectionsResult,
    PerturbationResult,
    Result,
    SpectrumResult,
    TokenMeansResult,
    TokensResult,
    TrajectoryResult,
    WhatIfResult,
)
from coupling_core.measuring import measure as requests
from coupling_core.measuring.asked import Options, Prompt, is_named, request_for, require_unsaid
from coupling_core.measuring.origin import Origin, seen_at
from coupling_core.measuring.watched import Watching, watched
from coupling_core.store.disk import Store, as_store


class _Unsaid(Enum):
    """That nobody said where results are kept, which differs from keeping none."""

    STORE = "unless told otherwise, as `store` says"

    def __repr__(self) -> str:
        return self.value


UNSAID: Final = _Unsaid.STORE
Shelf = Store | str | os.PathLike[str] | None


@overload
def measure(
    prompt: Request,
    store: Shelf = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    variant: str = "",
    device: Any = None,
    fast: bool = True,
    progress: Watching = None,
) -> Result: ...
@overload
def measure(
    prompt: Prompt,
    store: Shelf | Literal[_Unsaid.STORE] = UNSAID,
    *,
    kind: Literal["depth"] = "depth",
    **options: Unpack[Options],
) -> DepthResult: ...
@overload
def measure(
    prompt: Prompt,
    store: Shelf | Literal[_Unsaid.STORE] = UNSAID,
    *,
    kind: TokenKind,
    block: int,
    other_block: int | None = None,
    **options: Unpack[Options],
) -> TokensResult: ...
@overload
def measure(
    prompt: Prompt,
    store: Shelf | Literal[_Unsaid.STORE] = UNSAID,
    *,
    kind: TokenKind,
    block: None = None,
    **options: Unpack[Options],
) -> TokenMeansResult: ...
@overload
def measure(
    prompt: Prompt,
    store: Shelf | Literal[_Unsaid.STORE] = UNSAID,
    *,
    kind: Literal["trajectory"],
    **options: Unpack[Options],
) -> TrajectoryResult: ...
@overload
def measure(
    prompt: Prompt,
    store: Shelf | Literal[_Unsaid.STORE] = UNSAID,
    *,
    kind: Literal["what-if"],
    **options: Unpack[Options],
) -> WhatIfResult: ...
@overload
def measure(
    prompt: Prompt,
    store: Shelf | Literal[_Unsaid.STORE] = UNSAID,
    *,
    kind: Literal["spectrum"],
    **options: Unpack[Options],
) -> SpectrumResult: ...
@overload
def measure(
    prompt: Prompt,
    store: Shelf | Literal[_Unsaid.STORE] = UNSAID,
    *,
    kind: Literal["perturbation"],
    **options: Unpack[Options],
) -> PerturbationResult: ...
@overload
def measure(
    prompt: Prompt,
    store: Shelf | Literal[_Unsaid.STORE] = UNSAID,
    *,
    kind: Literal["directions"],
    **options: Unpack[Options],
) -> DirectionsResult: ...
@overload
def measure(
    prompt: Prompt | Request,
    store: Shelf | Literal[_Unsaid.STORE] = UNSAID,
    *,
    kind: Kind,
    block: int | None = None,
    other_block: int | None = None,
    **options: Unpack[Options],
) -> Result: ...
def measure(
    prompt: Any,
    store: Any = UNSAID,
    *,
    model: Any = None,
    tokenizer: Any = None,
    kind: str = "depth",
    token: int | None = None,
    block: int | None = None,
    other_block: int | None = None,
    k: int | None = None,
    k_view: int | None = None,
    final_norm: FinalNorm = "include",
    revision: str | None = None,
    untrained: int | None = None,
    dtype: Any = "float32",
    quantize: Quantisation | None = None,
    stack: Stack | None = None,
    variant: str = "",
    device: Any = None,
    fast: bool = True,
    progress: Watching = None,
) -> Result:
    """Measure a prompt: from the store where it was measured before, else now.

        measure("The cat sat on the mat")
        measure("The cat sat on the mat", model=my_model, tokenizer=my_tokenizer, kind="self")
        measure(Request("The cat sat on the mat"), Store())

    No key identifies a module that runs code of your own (a hook, a patched forward, a class of a
    notebook): its result is neither looked for nor stored, says so in its provenance where there is
    a store (`not_stored`), and has no key, unless `variant` names what it is.

    Args:
        prompt: a text; the token ids themselves, as a list or a tensor (token); the path of an
            image as a `Path`; or a `Request`, which has its own fields from `kind` to `stack`.
        store: where results are kept, a `Store` or its folder; None keeps nothing. By default,
            what is asked of a model by its name is kept in the store of the command line; of a
            module of your own, and of a `Request`, nothing is kept.
        model: an alias, a hub id, a folder or a .gguf file; or a module of your own, measured as it
            is, in any precision, wrapped by PEFT or not; None is the default model.
        tokenizer: that of a module of your own; not needed where the prompt is token ids.
        kind: `depth` compares the blocks at one token; `self`, `fixed-input` and `fixed-output`
            the tokens of the prompt; `trajectory` follows every token through the blocks;
            `what-if` skips, repeats, damps, replaces and interchanges blocks; `spectrum` takes
            the eigenvalues of each block's linear map at one token; `perturbation` adds noise to a
            token's embedding; `directions` reads out the leading singular vectors at one token.
        token: the token measured, or the one that is fixed, 1..n; -1 is the last. None is the
            last of a text and the class token of an image, and of `fixed-input` the first: the
            last reaches no other.
        block: l, between tokens: the block of the Jacobian, 1..L; -1 is the last, and None the mean
            over all pairs of blocks.
        other_block: l', the block of the basis; None is l itself.
        k: how many singular triplets are wanted, 1..d, and the K at which the result is looked at
            where nobody says another, as `scores(k=...)` does. At least 50 are measured, or d where
            that is less, as where nobody says K.
        k_view: side of the stored corner of each coupling matrix; None is 32, between tokens 16, or
            d where that is less.
        final_norm: whether the final norm belongs to the last block (paper, Eq. 7).
        revision: branch, tag or commit of a hub model.
        untrained: seed of a freshly initialised twin of the model; None is the trained one.
        dtype: what the weights are rounded to, as a text or a `torch.dtype`; the arithmetic is
            float32 in any case.
        quantize: bitsandbytes' form of the weights, measured as what they dequantise to.
        stack: which of the two stacks of an encoder-decoder model; None is the decoder.
        variant: what you did to your module, such as "MLP 3 ablated"; another text, another key.
        device: where to compute, such as "cuda:0"; None takes CUDA where there is one. A module of
            your own is measured where it is.
        fast: differentiate by the fast ways where they give what the definition gives; else by the
            definition alone, over the whole sequence. The numbers are the same to rounding.
        progress: told at each step; an exception it raises stops the measurement. None shows a bar
            in a terminal or a notebook, and elsewhere writes a line on stderr every ten seconds;
            False tells nothing.

    Returns:
        the result of the kind: a `DepthResult`; between tokens a `TokensResult` of a block, or a
        `TokenMeansResult` of all pairs; a `TrajectoryResult`; a `WhatIfResult`; a
        `SpectrumResult`; a `PerturbationResult`; a `DirectionsResult`. A type checker knows which
        from `kind=`; of a `Request`, whose kind is a value and no type, it knows a `Result`.

    Raises:
        InputError: where what is asked cannot be met by this model.
        ComputeError: where the computing fails.
    """
    said = {
        "kind": kind,
        "token": token,
        "block": block,
        "other_block": other_block,
        "k": k,
        "k_view": k_view,
        "final_norm": final_norm,
        "revision": revision,
        "untrained": untrained,
        "dtype": dtype,
        "quantize": quantize,
        "stack": stack,
    }
    _require_folder(store)
    if isinstance(prompt, Request):
        require_unsaid(said, model)
        request, unsaid = prompt, None
    else:
        request = request_for(prompt, model, said)
        unsaid = Store() if store is UNSAID and is_named(model) else None
    with watched(progress) as report:
        found = requests.measure(
            request,
            unsaid if store is UNSAID else shelf(store),
            model=None if is_named(model) else model,
            tokenizer=tokenizer,
            variant=variant,
            device=None if device is None else str(device),
            fast=fast,
            progress=report,
        )
    origin = None if is_named(model) else Origin(model, tokenizer)
    return seen_at(found, request.k, origin)


def _require_folder(store: object) -> None:
    """Refuse a model in the place of the store: another model's numbers would be given for it."""
    if not isinstance(store, str):
        return
    if not (expanded(store).is_dir() or Path(store).is_absolute() or store.startswith((".", "~"))):
        raise InputError(
            f"the store is {store!r}, and there is no such folder: a model is given as "
            f"model={store!r}, and a folder that shall be made as ./{store} or as a Path"
        )


def shelf(store: Shelf | Literal[_Unsaid.STORE]) -> Store | None:
    """A store, from its folder where that came; the command line's where nothing is said."""
    if store is UNSAID:
        return Store()
    return None if store is None else as_store(store)
