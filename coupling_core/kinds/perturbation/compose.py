"""The Jacobians of the blocks at one token, then noise on its embedding run through them."""

from dataclasses import asdict, replace

import numpy as np
import torch
from torch import Tensor, nn

from coupling_core.base.records import DEFAULT_K
from coupling_core.base.results import PerturbationResult, Progress
from coupling_core.base.results.perturbation import WAYS
from coupling_core.engine import matrix_products
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.hardware import algebra_device
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.pairs.square import buffer
from coupling_core.engine.perturbation import DRAWS, disturbed, noise, rounding
from coupling_core.kinds.one_token import OneToken
from coupling_core.measuring.composing import nothing, with_part
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved

SIZES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""In units of the norm of the embedding: half a decade apart."""


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> PerturbationResult:
    """Measure block by block, then run the noise; each report has the result so far."""
    matrix_products.choice()  # products of many sequences are large in any model
    at = OneToken(asked, loaded)
    L, k, device = at.n_blocks, min(DEFAULT_K, at.width), algebra_device(loaded.device)
    jacobians = buffer(L, at.width, device)
    leading = torch.empty(at.width, 0)
    lengths = {"way": len(WAYS), "size": len(SIZES), "draw": DRAWS, "state": L + 1}
    known = {"noise_sizes": np.array(SIZES), "directions": k, "rounding": np.zeros(L + 1)}
    unknown = nothing(PerturbationResult, np.float32, **lengths)
    so_far = PerturbationResult(**at.about, **unknown | known, certificates=())
    with at.side_by_side() as beside:
        for number, (jacobian, svd) in enumerate(at.svds(beside, k, device), 1):
            jacobians[number - 1] = jacobian
            if number == 1:
                leading = svd.v[:, svd.v.norm(dim=0) > 0.5]  # past the rank they are 0
            so_far = replace(so_far, certificates=(*so_far.certificates, svd.certificate))
            report(Progress("blocks", number, L, so_far))
    replays = Replays(at.reader)
    rounded = rounding(replays, so_far.token, at.norm).cpu().numpy().astype(np.float64)
    so_far = replace(so_far, rounding=rounded)
    return _run(so_far, replays, jacobians, noise(leading, k), at.norm, report)


def _run(
    so_far: PerturbationResult,
    replays: Replays,
    jacobians: Tensor,
    units: Tensor,
    norm: nn.Module | None,
    report: Report,
) -> PerturbationResult:
    """The result with the noise of one way after the other."""
    total = len(WAYS)
    for way, directions in enumerate(units):
        report(Progress("noise", way, total, so_far))
        parts = disturbed(replays, list(jacobians), so_far.token, directions, SIZES, norm)
        found: dict[str, list[np.ndarray]] = {}
        for part in parts:
            for name, values in asdict(part).items():
                found.setdefault(name, []).append(values.cpu().numpy())
            report(Progress("noise", way, total, so_far))
        by_draw = {
            name: np.concatenate(values).reshape(DRAWS, len(SIZES), -1).swapaxes(0, 1)
            for name, values in found.items()
        }
        so_far = with_part(so_far, way, by_draw)
    report(Progress("noise", total, total, so_far))
    return so_far
