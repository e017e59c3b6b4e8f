"""What measures it."""

import torch

from coupling_core.base.records import resolve_token
from coupling_core.base.results import Progress
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.token_paths import normed, raw_states
from coupling_core.measuring.composing import begin
from coupling_core.measuring.measure import Report
from coupling_core.sources.resolved import Resolved
from toy import NormsResult


def compose(asked: Resolved, loaded: LoadedModel, report: Report) -> NormsResult:
    reader, about = begin(asked, loaded)
    norm = reader.kind.final_norm if asked.request.final_norm == "include" else None
    token = resolve_token(asked.request.token, reader.n_tokens)
    with torch.no_grad():
        norms = normed(raw_states(reader), norm)[:, token - 1].norm(dim=-1)
    result = NormsResult(**about, token=token, norms=norms.cpu().numpy())
    report(Progress("blocks", reader.n_blocks, reader.n_blocks, result))
    return result
