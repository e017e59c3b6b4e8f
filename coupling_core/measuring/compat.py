"""The two functions of the package that the papers' authors released, over this engine.

Who used that package changes one import:

    from coupling_core.compat import coupling_from_hooks, run_coupling_hf

Both give mis-couplings, 0 where two blocks are coupled (one minus a score of ours), for every pair
of blocks, row l = block of the Jacobian, column l' = block of the basis. With M = U_l'^T J_l V_l'
(`coupling_ujv`) or M = V_l'^T J_l U_l' (`coupling_vju`), cut to the leading K triplets:

    trace      norm_F(abs(M) - S_K) / trace(S_K)
    norm       norm_F(abs(M) - S_K) / norm_p(s_K)         p = 2

What this released definition does otherwise than the paper (Eq. 9), and is kept here:

- it takes |M| before S is subtracted, where the paper keeps the signs; p is 2, in the paper 1;
- the Jacobian is that of the last token, and the last block's contains the model's final norm, as
  Eq. 7 has it: the last of a model's `hidden_states` is normed. `token` and `final_norm` choose
  otherwise.

What is done otherwise here than by the released code:

- Jacobians come from replaying a block at one token, and the SVD is of the top K triplets with a
  certificate; the values agree to 1e-5.
- A K above the width is left out (there: the values of K = width under its name), and a pair of
  which one Jacobian has a rank below K is NaN (there: arbitrary null vectors).
- `index` and `index_in` of hooks always hold (there: only with an activation), and the identity
  is subtracted only where both are the same token, as the residual stream has it.
- `verbose` logs instead of printing: `logging.basicConfig(level=logging.INFO)` shows it.
- It runs where the model is, in float32 and evaluation mode; anything else is refused.
- The dictionaries are plain ones, so that `torch.load` reads a saved one in its safe mode.
"""

import io
import itertools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from coupling_core.analysis.scores import score
from coupling_core.base.definitions import norm_by_k
from coupling_core.base.errors import ComputeError, InputError, refuse
from coupling_core.base.folders import expanded
from coupling_core.base.records import FinalNorm, KBeyondWidth, Request
from coupling_core.base.results import DepthResult, Progress
from coupling_core.base.writing import write_whole, writing
from coupling_core.engine.jacobians.gradients import batched_gradients
from coupling_core.engine.pairs.coupling import Pairs
from coupling_core.engine.pairs.svd import top_svd
from coupling_core.engine.plain_torch import plain_torch
from coupling_core.measuring.measure import measure, require_device

KS = (10, 30, 50)
"""The K of the released package."""

Tables = dict[int, dict[str, Float[Tensor, "block block"]]]
"""K, then "trace" or "norm", to mis-couplings; float32, in main memory."""

_log = logging.getLogger(__name__)


class PromptCoupling(TypedDict):
    """What `run_coupling_hf` has of one prompt."""

    prompt: str
    coupling_ujv: Tables
    coupling_vju: Tables


def run_coupling_hf(
    model: nn.Module,
    tokenizer: Any,
    model_name: str,
    prompts: Sequence[str],
    start: int | None = None,
    end: int | None = None,
    save: bool = False,
    out_path: str | os.PathLike[str] | None = None,
    device: str | torch.device | None = None,
    verbose: bool = False,
    *,
    token: int = -1,
    final_norm: FinalNorm = "include",
) -> dict[int, PromptCoupling]:
    """Mis-couplings of all pairs of blocks at one token, prompt by prompt, for K in `KS`.

    Args:
        model: a float32 causal language model of transformers.
        tokenizer: its tokenizer.
        model_name: begins the name of the saved file.
        prompts: the texts.
        start: the number that the first prompt gets; None is 0. It skips no prompt: pass what is
            left of a list that is worked off in parts, and where in the list that part begins.
        end: one more than the last number; None is the number of prompts.
        save: whether to write the dictionary with `torch.save` to `{model_name}_coupling.pt`.
        out_path: the folder of that file; None is the current one.
        device: where the model is, for those who want it checked; None is wherever it is.
        verbose: whether to log each step at level INFO instead of DEBUG.
        token: the token measured, 1..n or counted from the end; the released package knows -1.
        final_norm: whether the final norm belongs to the last block; "include" there.

    Returns:
        By number: `prompt`, and `coupling_ujv` and `coupling_vju` as `coupling_from_hooks` has
        them.

    Raises:
        InputError: where an argument cannot be met; before anything is computed where it can be
            told by then.
        ComputeError: where the computing fails.
    """
    if device is not None:
        require_device(next(model.parameters()).device, str(device))
    file = _output(out_path, model_name) if save else None
    # Fifty triplets are measured for any K up to 50, or as many as the model is wide.
    requests = {
        number: Request(prompt, token=token, k=1, final_norm=final_norm)
        for number, prompt in _numbered(prompts, start, end)
    }
    out: dict[int, PromptCoupling] = {}
    for number, request in requests.items():
        report = _reporter(f"prompt {number}", verbose)
        found = cast(
            DepthResult, measure(request, model=model, tokenizer=tokenizer, progress=report)
        )
        ujv, vju = _tables(
            found.singular_values,
            found.rank,
            found.diagonal,
            found.off_diagonal,
            _within(KS, found.width),
        )
        out[number] = {"prompt": str(request.prompt), "coupling_ujv": ujv, "coupling_vju": vju}
    if file is not None:
        _save(out, file)
    return out


@plain_torch()
def coupling_from_hooks(
    hooks: Mapping[Any, Mapping[int, Tensor]],
    p: float = 2,
    num_sing_vecs: Sequence[int] = KS,
    index: int = -1,
    index_in: int | None = None,
    activation: Callable[[Tensor], Tensor] | None = None,
    chunks: int = 4,
    verbose: bool = False,
    device: str | torch.device | None = None,
) -> tuple[Tables, Tables]:
    """Mis-couplings of all pairs of blocks, from their states with the graph that joins them.

    Args:
        hooks: for each block, in order, its states `{0: before, 1: after}` with the residual
            stream in both, (batch token d); the first of the batch counts.
        p: order of the norm in "norm".
        num_sing_vecs: the K; those above d are left out.
        index: output token, counted from 0 as Python does, -1 the last.
        index_in: input token; None is the same token.
        activation: applied to the state after a block before the Jacobian is taken.
        chunks: into how many batches the d gradients of a block are split.
        verbose: whether to log each step at level INFO instead of DEBUG.
        device: where the states are, for those who want it checked; None is wherever they are.

    Returns:
        `coupling_ujv` and `coupling_vju`: K, then "trace" or "norm", to a tensor (block block).

    Raises:
        InputError: where the states are not joined by a graph, or an argument cannot be met.
        ComputeError: where a Jacobian is zero or not finite.
    """
    if not p >= 1:
        raise InputError(f"the order p of a norm must be at least 1, and {p} came")
    first = next(iter(hooks.values()))[0]
    if device is not None:
        require_device(first.device, str(device))
    width = first.shape[-1]
    ks = _within(num_sing_vecs, width)
    pairs = Pairs(len(hooks), width, max(ks), 1, first.device)
    report = _reporter("hooks", verbose)
    for done, (name, states) in enumerate(hooks.items(), 1):
        before, after = states[0], states[1]
        _require_states(name, before, after, (index, index_in), width)
        jacobian = _jacobian(name, before, after, index, index_in, activation, chunks)
        jacobian = jacobian.to(pairs.device)
        pairs.add(jacobian, top_svd(jacobian, pairs.k))
        report(Progress("blocks", done, len(hooks)))
    found = pairs.arrays()
    return _tables(
        found["singular_values"], found["rank"], found["diagonal"], found["off_diagonal"], ks, p
    )


def _tables(
    singular_values: Float[np.ndarray, "block k"],
    rank: Int[np.ndarray, " block"],
    diagonal: Float[np.ndarray, "role block block k"],
    off_diagonal: Float[np.ndarray, "role block block k"],
    ks: Sequence[int],
    p: float = 2,
) -> tuple[Tables, Tables]:
    """Mis-couplings from A and then from B, by the numerators that a measurement stores."""
    s = singular_values.astype(np.float64)[:, None]  # (block, 1, k): the row's, for every column
    distance = (1 - score(diagonal, off_diagonal, s, "released")) * norm_by_k(s, 2)
    exists = np.arange(1, s.shape[-1] + 1) <= np.minimum.outer(rank, rank)[..., None]
    distance = np.where(exists, distance, np.nan)
    divided = {"trace": distance / norm_by_k(s, 1), "norm": distance / norm_by_k(s, p)}
    ujv, vju = (
        {
            k: {name: torch.tensor(x[role, :, :, k - 1]).float() for name, x in divided.items()}
            for k in ks
        }
        for role in range(2)
    )
    return ujv, vju


def _jacobian(
    name: Any,
    before: Float[Tensor, "batch token d"],
    after: Float[Tensor, "batch token d"],
    index: int,
    index_in: int | None,
    activation: Callable[[Tensor], Tensor] | None,
    chunks: int,
) -> Float[Tensor, "d d"]:
    """J of the residual map from one token to one token; row i is the gradient of output i."""
    source = index if index_in is None else index_in
    y = (after if activation is None else activation(after))[0, index]
    rows = []
    for chunk in torch.eye(len(y), dtype=y.dtype, device=y.device).chunk(chunks):
        (gradient,) = batched_gradients(y, [before], chunk)
        if gradient is None:
            raise InputError(
                f"hooks[{name!r}]: the state after does not depend on the state before; expected "
                "two states of one forward pass, without detach() between them"
            )
        rows.append(gradient[:, 0, source])
    jacobian = torch.cat(rows)
    n, d = before.shape[1:]
    if jacobian.shape != (d, d):
        raise InputError(
            f"hooks[{name!r}]: the activation makes {len(jacobian)} of {d} values; coupling needs "
            "one that keeps the width"
        )
    if source % n == index % n:  # the skip connection joins a token to itself alone
        jacobian.diagonal().sub_(1)
    if not torch.isfinite(jacobian).all() or not jacobian.any():
        raise ComputeError(f"the Jacobian of hooks[{name!r}] is zero or not finite (NaN, infinity)")
    return jacobian


def _require_states(
    name: Any, before: Tensor, after: Tensor, indices: tuple[int | None, ...], width: int
) -> None:
    """Refuse states that no Jacobian of this width can be taken from."""
    for state in (before, after):
        fits = state.ndim == 3 and state.shape == before.shape and state.shape[-1] == width
        refuse(
            (
                not fits or state.dtype != torch.float32,
                f"hooks[{name!r}] has a state of shape {tuple(state.shape)} in {state.dtype}: "
                f"expected (batch, token, {width}) in float32 before and after every block, as of "
                "a model loaded with dtype=float32",
            ),
            (
                not state.requires_grad,
                f"hooks[{name!r}] has a state without a graph: run the model outside "
                "torch.no_grad, and where its weights are frozen, on inputs_embeds that require "
                "gradients",
            ),
        )
    n = before.shape[1]
    for index in indices:
        if index is not None and not -n <= index < n:
            raise InputError(f"token {index} is out of range: these hooks have tokens 0..{n - 1}")


def _within(ks: Sequence[int], width: int) -> list[int]:
    """The K that exist at this width."""
    kept = [k for k in ks if k <= width]
    if not kept or min(kept) < 1:
        raise KBeyondWidth(min(ks, default=0), width)
    return kept


def _numbered(prompts: Sequence[str], start: int | None, end: int | None) -> list[tuple[int, str]]:
    """Prompts with their numbers, from `start` until `end` or the last prompt."""
    if isinstance(prompts, str):
        raise InputError("prompts is one text: expected a list of them; put it in brackets")
    begin, stop = start or 0, len(prompts) if end is None else end
    return list(itertools.islice(enumerate(prompts, begin), stop - begin))


def _output(out_path: str | os.PathLike[str] | None, model_name: str) -> Path:
    """The file to save in; refused at once where it could not be written after hours."""
    file = expanded(out_path or ".") / f"{model_name}_coupling.pt"
    if not file.parent.is_dir():
        raise InputError(
            f"{str(file.parent)!r} is no folder, and {file.name} is to be saved there: create it, "
            "or pass another out_path, or a model_name without a slash"
        )
    return file


def _save(out: dict[int, PromptCoupling], file: Path) -> None:
    buffer = io.BytesIO()
    torch.save(out, buffer)
    with writing(file, "pass another out_path"):
        write_whole(file, buffer.getvalue())


def _reporter(what: str, verbose: bool) -> Callable[[Progress], None]:
    level = logging.INFO if verbose else logging.DEBUG

    def report(progress: Progress) -> None:
        _log.log(level, "%s: %s %d/%d", what, progress.stage, progress.done, progress.total)

    return report
