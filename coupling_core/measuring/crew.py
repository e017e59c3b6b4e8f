"""How many processes measure many requests to one model side by side: decided before it is loaded.

This imports no torch before it is asked, so that a process asks that has it, or has to import it.
"""

from collections.abc import Sequence

from coupling_core.base.records import Request
from coupling_core.measuring.forecast import Crew
from coupling_core.sources.resolved import resolve

ALONE = Crew(1, 0, 0)
"""This process, as it is."""


def crew(
    request: Request,
    lengths: Sequence[int],
    device: str | None,
    free: int,
    most: int,
    worth: float = 0.0,
) -> Crew:
    """How many processes of one core each measure requests; one where several would gain nothing.

    A GPU fills itself. A model that streams from the disk fills that. What code of one's own does
    in this process, a new one knows nothing of.

    Args:
        request: one of them; they differ in their prompts.
        lengths: tokens of each of them.
        device: where to compute, as `measure` has it.
        free: bytes of memory for all processes.
        most: how many at most.
        worth: seconds of computing that are not worth other processes.
    """
    from coupling_core.engine import hardware, loading
    from coupling_core.measuring import cost, memory
    from coupling_core.measuring.probe import probe

    asked = resolve(request)
    if hardware.choose_device(device).type != "cpu":
        return ALONE
    # Whether a model is causal counts where tokens are joined, and takes seconds to find out.
    found = probe(asked, rehearse=cost.is_between(request))
    if found.refusal or not found.width or loading.own_code(loading.skeleton(asked.files).model):
        return ALONE
    if worth:
        rates = cost.machine_rates()
        seconds = [cost.predict_seconds(request, found, n, rates) for n in lengths]
        if sum(each or worth for each in seconds) <= worth:
            return ALONE
    mapped = (
        asked.files.kind != "folder"  # whose weights are copied
        and ("float32" in found.stored.split(", ") or asked.files.kind == "gguf")
        and (request.dtype, request.quantize, request.untrained) == ("float32", None, None)
    )
    return memory.crew(request, found, max(lengths), free, most, mapped=mapped)
