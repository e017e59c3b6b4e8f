"""load_model(...): a model that is named, as a module of one's own."""

from typing import Any

from coupling_core.base.errors import InputError, a_type
from coupling_core.base.records import Quantisation
from coupling_core.measuring.asked import is_named, request_for
from coupling_core.measuring.watched import Watching, watched
from coupling_core.sources.resolved import resolve


def load_model(
    model: Any = None,
    *,
    revision: str | None = None,
    untrained: int | None = None,
    dtype: Any = "float32",
    quantize: Quantisation | None = None,
    device: Any = None,
    progress: Watching = None,
) -> tuple[Any, Any]:
    """Load a model by its name, as a module that you may hook, edit, train and measure.

        module, tokenizer = load_model()
        found = measure("The cat sat", kind="directions", model=module, tokenizer=tokenizer)
        steer(found, block=3, model=module, tokenizer=tokenizer)

    It is a copy of your own, which nothing else computes with. Calls that name a model need none:
    they share one, which stays in memory from call to call.

    Args:
        model: an alias, a hub id, a folder or a .gguf file; None is the default model.
        revision: branch, tag or commit of a hub model.
        untrained: seed of a freshly initialised twin of the model; None is the trained one.
        dtype: what the weights are rounded to; they are held in float32 in any case.
        quantize: bitsandbytes' form of the weights.
        device: where to, such as "cuda:0"; None takes CUDA where there is one.
        progress: told as the model is loaded. None shows a bar in a terminal or a notebook, and
            False shows none.

    Returns:
        the module of transformers, in evaluation mode and without gradients of its weights; and its
        tokenizer, or of a model that reads images its image processor.

    Raises:
        InputError: where nothing is so called, or a module came, which is loaded already.
        ComputeError: where downloading or loading fails.
    """
    if not is_named(model):
        raise InputError(
            f"the model is {a_type(model)}: expected a name, such as 'smollm2-135m'; a "
            "module is measured as it is, with measure(..., model=module)"
        )
    said = {"revision": revision, "untrained": untrained, "dtype": dtype, "quantize": quantize}
    asked = resolve(request_for("-", model, said))
    with watched(progress) as report:
        from coupling_core.engine import loading

        place = None if device is None else str(device)
        loaded = loading.load_apart(asked, place, report)
    return loaded.model, loaded.tokenizer
