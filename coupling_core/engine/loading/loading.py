"""Load the model that a request names."""

import itertools
import logging
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BitsAndBytesConfig,
)

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.extras import needed
from coupling_core.base.records import Dtype, Quantisation, Request
from coupling_core.base.results import Progress
from coupling_core.engine.hardware import choose_device, usable_memory
from coupling_core.engine.loading.configs import read_config
from coupling_core.engine.loading.convert import convert, require_shipped
from coupling_core.engine.loading.keeping import Kept, Key
from coupling_core.engine.loading.loaded import LoadedModel
from coupling_core.engine.loading.pictures import family_reads_images, image_processor
from coupling_core.engine.loading.precision import (
    precision_of,
    restore_buffers,
    round_to,
    stored_tensors,
    stored_weights,
)
from coupling_core.engine.loading.reading import read_whole
from coupling_core.engine.loading.weights import is_quantised
from coupling_core.engine.loading.words import plain_errors, quiet
from coupling_core.engine.out_of_memory import when_short
from coupling_core.engine.plain_torch import plain_torch
from coupling_core.sources import hub, integrity
from coupling_core.sources.identity import Source
from coupling_core.sources.resolved import Resolved

FLOAT32_BYTES = 4
SPARE = 0.3
"""Part of the free memory that float32 weights leave to Jacobians and to everything else; a model
that does not fit is streamed."""

Report = Callable[[Progress], None]
_lock = Lock()
_kept = Kept()
when_short(lambda: _kept.release())
_log = logging.getLogger(__name__)


@plain_torch()
def load(
    asked: Resolved,
    device: str | None = None,
    report: Report | None = None,
    *,
    streamed: bool | None = None,
) -> LoadedModel:
    """Load a request's model, or hand it out where it is kept in memory (see `keeping`).

    Args:
        asked: names the model, its revision, precision, quantisation, and the seed of an untrained
            twin.
        device: where it computes; None takes CUDA where there is one, then MPS, then the CPU.
        report: told while a hub model is downloaded, and once a GGUF file is converted; an
            exception it raises stops the loading.
        streamed: keep the weights memory-mapped as they are stored and lend them to one block at a
            time; None does so where float32 weights would not fit. The numbers are the same.

    Raises:
        InputError: where there is no such device, or no model to load.
        ComputeError: where downloading or loading fails.
    """
    request, source, place = asked.request, asked.files, choose_device(device)
    key = Key.of(source, request, place, streamed)
    with _lock:
        if source.is_converted and (found := _kept.get(key)):
            return found
        report = report or (lambda _: None)
        where = _where(source, report)
        loaded = _load(source, where, request, place, streamed, report)
        _kept.put(key, loaded)
        told = {"model": key.location, "digest": key.digest, "seconds": round(loaded.seconds, 3)}
        _log.info("model loaded", extra=told)
        return loaded


@plain_torch()
def load_apart(
    asked: Resolved, device: str | None = None, report: Report | None = None
) -> LoadedModel:
    """Load a request's model as a copy that nobody else has: whoever asks may change it.

    Its weights lie in memory in any case, for those of a mapped file are not to be written to.
    """
    report = report or (lambda _: None)
    report(Progress("loading"))
    source, place = asked.files, choose_device(device)
    with _lock:
        where = _where(source, report)
        loaded = _load(source, where, asked.request, place, False, report)
    if asked.request.quantize is None:
        _unmap(loaded.model)
    return loaded


def forget(location: str | None = None, digest: str | None = None) -> None:
    """Let go of kept models, and of the files that they keep open; raises nothing.

    A location or a content of None is any.
    """
    _kept.release(location, digest)


def require_unwritten(asked: Resolved, loaded: LoadedModel) -> None:
    """Refuse what was computed from files that were written to meanwhile, and let go of the model.

    Weights that lie in a mapped file are read as they are needed. Those of a folder are copied, and
    its hash tells.
    """
    source = asked.source
    if source is None or source.kind == "folder":
        return
    try:
        integrity.require_unwritten(source, loaded.stamps)
    except ComputeError:
        forget(source.location, source.digest)
        raise


def within_reach(device: torch.device) -> int:
    """Bytes that a measurement may take on a device, once no model is kept there."""
    return _kept.within_reach(device)


def give_way(asked: Resolved, device: torch.device, needed: int) -> None:
    """Let go of kept models other than the request's until it has the memory that it needs.

    The bytes are with those of its model.
    """
    _kept.give_way(device, needed, Key.of(asked.files, asked.request, device))


def _load(
    source: Source,
    where: Path,
    request: Request,
    device: torch.device,
    streamed: bool | None,
    report: Report,
) -> LoadedModel:
    start = time.perf_counter()
    still_wanted = partial(report, Progress("loading"))
    if source.kind == "gguf":
        convert(source, report)
        still_wanted()  # who waits may have left meanwhile
    elif source.kind == "folder":
        require_shipped(source)
    weights = request.untrained is None
    with (
        integrity.verified(source, still_wanted, weights=weights) as stamps,
        plain_errors(source),
        quiet(),
    ):
        options: dict[str, Any] = {"trust_remote_code": False}
        config = read_config(where, {})
        require_known_quantisation(config)
        family = auto_class(config)
        if family_reads_images(family, config):
            tokenizer = image_processor(where, options)
        else:
            tokenizer = AutoTokenizer.from_pretrained(where, **options)  # nosec B615  # the same
        entries = stored_weights(where, config)
        _kept.make_room(device, FLOAT32_BYTES * entries.total())
        if request.untrained is not None:
            model = _untrained(family, config, request.untrained, request.dtype).to(device)
        else:
            options |= {"use_safetensors": True}
            shared = source.kind == "folder"
            model = _trained(family, entries, where, options, request, device, streamed, shared)
        model = model.eval().requires_grad_(False)
    seconds = time.perf_counter() - start
    return LoadedModel(model, tokenizer, device, seconds, request.dtype, stamps=stamps)


def _where(source: Source, report: Report) -> Path:
    # By path, so that loading itself never asks the hub.
    if source.kind == "hub":
        return hub.download(source.location, source.digest, report, source.revision)
    return source.converted


def auto_class(config: Any) -> Any:
    """The class of transformers that loads a model with its head, where it has one."""
    names = " ".join(config.architectures or ())
    if "ForCausalLM" in names or "LMHeadModel" in names:
        return AutoModelForCausalLM
    if "ForImageClassification" in names:
        return AutoModelForImageClassification
    if config.is_encoder_decoder and "ForConditionalGeneration" in names:
        return AutoModelForSeq2SeqLM
    return AutoModelForMaskedLM if "ForMaskedLM" in names else AutoModel


def require_known_quantisation(config: Any) -> None:
    """Refuse weights that were stored in a form which is not differentiated exactly."""
    settings = getattr(config, "quantization_config", None)
    if settings is None:
        return
    method = settings.get("quant_method") if isinstance(settings, dict) else settings.quant_method
    if str(getattr(method, "value", method)) != "bitsandbytes":
        raise InputError(
            f"the weights are quantised by {method}, which cannot be differentiated exactly: "
            "expected bitsandbytes, or the unquantised model"
        )


def _untrained(family: Any, config: Any, seed: int, dtype: Dtype) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = family.from_config(config, dtype=torch.float32)
    round_to(model.parameters(), getattr(torch, dtype), torch.float32)
    return model


def _trained(
    family: Any,
    entries: Counter[str],
    where: Path,
    options: dict[str, Any],
    request: Request,
    device: torch.device,
    streamed: bool | None,
    shared: bool,
) -> Any:
    if request.quantize is not None:
        if request.dtype != Request.dtype:
            raise InputError(
                f"weights that are quantised ({request.quantize}) are not rounded to "
                f"{request.dtype} as well: leave out one of the two"
            )
        form = {"quantization_config": _quantisation(request.quantize), "device_map": {"": device}}
        model = read_whole(family, where, torch.float32, options | form)
        if not any(map(is_quantised, model.modules())):
            raise InputError(
                f"bitsandbytes finds nothing to quantise in {type(model).__name__}, whose layers "
                "are not plain linear ones: leave out the quantisation"
            )
        return model
    dtype: torch.dtype = getattr(torch, request.dtype)
    if streamed is None:
        streamed = FLOAT32_BYTES * entries.total() > (1 - SPARE) * usable_memory(device)
    if not streamed:
        model = read_whole(family, where, torch.float32, options).float()
        round_to(stored_tensors(model), dtype, torch.float32)
        model = model.to(device)
        if shared:
            _unmap(model)
        return model
    held = precision_of(entries) if dtype == torch.float32 else dtype
    model = read_whole(family, where, held, options)
    restore_buffers(model, family)
    if dtype != torch.float32:  # some families keep what they hold most dear in float32
        round_to(stored_tensors(model), dtype, held)
    return model


def _unmap(model: Any) -> None:
    """Copy weights that lie in a mapped file into memory.

    Whoever writes anew into the folder that a model was loaded from, as `cp` and a training run do,
    would change them under a measurement; and where the file is cut short, reading them ends the
    process.
    """
    for tensor in itertools.chain(model.parameters(), model.buffers()):
        if not tensor.untyped_storage().resizable():
            tensor.data = tensor.data.clone()


def _quantisation(form: Quantisation) -> BitsAndBytesConfig:
    with needed("quant"):
        import bitsandbytes  # noqa: F401 - transformers quantises with it
    if form == "int8":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32
    )
