"""The forward pass of a request alone, as its composition runs it."""

from typing import Any

from coupling_core.measuring.common import passport, provenance, reading
from coupling_core.models import LoadedModel
from coupling_core.paths import normed, raw_states
from coupling_core.records import Request, resolve_token


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
    reader = reading(request, loaded, loaded.encode(request.prompt))
    if request.kind == "trajectory":
        norm = reader.kind.final_norm if request.final_norm == "include" else None
        states, logits = normed(raw_states(reader), norm)[-1], None
    else:
        token = request.token if request.kind == "depth" else -1
        moment = reader.at(resolve_token(token, reader.n_tokens))
        states, logits = moment.blocks[-1].output[None], moment.logits
    made = provenance(loaded, reader.kind) | passport(loaded, states, logits)
    return reader.token_ids, made
