"""The forward pass of a request alone, as its composition runs it."""

from typing import Any

from coupling_core.decode import read
from coupling_core.measuring.common import passport, provenance
from coupling_core.models import LoadedModel
from coupling_core.paths import normed, raw_states
from coupling_core.records import Request
from coupling_core.trace import trace


def forward(request: Request, loaded: LoadedModel) -> tuple[list[int], dict[str, Any]]:
    """Run the prompt through the model, and measure nothing.

    Args:
        request: what was measured.
        loaded: its model, evaluating in float32.

    Returns:
        the token ids that the model reads, and the provenance with the passport that a result
        would have now.

    Raises:
        InputError: where the request cannot be met by this model.
        ComputeError: where a state is not finite.
    """
    reads, stack, device = loaded.encode(request.prompt), request.stack, loaded.device
    if request.kind == "trajectory":
        reader = read(loaded.model, reads, stack=stack, device=device)
        norm = reader.kind.final_norm if request.final_norm == "include" else None
        states, logits = normed(raw_states(reader), norm)[-1], None
        ids, kind = reader.token_ids, reader.kind
    else:
        token = request.token if request.kind == "depth" else -1
        traced = trace(loaded.model, reads, token, stack=stack, device=device)
        states, logits = traced.blocks[-1].output[None], traced.logits
        ids, kind = traced.token_ids, traced.kind
    return ids, provenance(loaded, kind) | passport(loaded, states, logits)
