"""Load a model, find its blocks. The only importer of transformers."""

import gc
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoTokenizer,
)
from transformers.modeling_layers import GradientCheckpointingLayer

from coupling_core import hub
from coupling_core.errors import ComputeError, InputError
from coupling_core.hardware import choose_device
from coupling_core.identity import ALIASES, Source, locate
from coupling_core.records import Progress, Request
from coupling_core.tokens import is_byte_level, readable


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory, in evaluation mode and float32.

    Args:
        model: the module; calling it with token ids runs it.
        tokenizer: its tokenizer.
        seconds: how long loading took.
    """

    model: Any
    tokenizer: Any
    seconds: float = 0.0

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    def encode(self, prompt: str | tuple[int, ...]) -> list[int]:
        """Token ids of a prompt with the tokenizer's own special tokens, no chat template.

        Raises:
            InputError: on no token, an id outside the vocabulary, or more than the model takes.
        """
        if isinstance(prompt, str):
            if self.tokenizer is None:
                raise InputError("the prompt is a text and there is no tokenizer: pass one")
            ids = list(self.tokenizer(prompt)["input_ids"])
        else:
            ids = list(prompt)
        if not ids:
            raise InputError("the prompt has no token: give a text of at least one")
        config = self.model.config.get_text_config()
        vocabulary = getattr(config, "vocab_size", None)
        if vocabulary and not all(0 <= i < vocabulary for i in ids):
            raise InputError(f"a token id is out of range: this model has ids 0..{vocabulary - 1}")
        longest = getattr(config, "max_position_embeddings", None)
        if longest and len(ids) > longest:
            raise InputError(
                f"the prompt has {len(ids)} tokens and this model takes at most {longest}: "
                "shorten it"
            )
        return ids

    def texts(self, ids: list[int]) -> tuple[str, ...]:
        """What each token id stands for, readable; its number where there is no tokenizer."""
        if self.tokenizer is None:
            return tuple(f"#{i}" for i in ids)
        pieces = self.tokenizer.convert_ids_to_tokens(ids)
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        return readable(pieces, backend is not None and is_byte_level(backend.to_str()))

    def likely(self, logits: Tensor | None, count: int = 5) -> tuple[tuple[str, float], ...]:
        """The most probable next tokens as texts with probabilities; none without logits."""
        if logits is None or logits.shape[-1] < count:
            return ()
        probabilities, ids = logits.float().softmax(-1).topk(count)
        return tuple(zip(self.texts(ids.tolist()), probabilities.tolist(), strict=True))


_lock = Lock()
_last: tuple[object, LoadedModel] | None = None


def load(
    request: Request,
    device: str | None = None,
    report: Callable[[Progress], None] | None = None,
) -> LoadedModel:
    """Load the request's model, or hand out the one loaded last if it is the same.

    Args:
        request: names the model, its revision, and the seed of an untrained twin.
        device: where to put it; None takes CUDA where there is one, then MPS, then the CPU.
        report: told while a hub model is downloaded; an exception it raises stops that.

    Raises:
        InputError: where the request names no model.
        ComputeError: where downloading or loading fails.
    """
    global _last
    wanted = (locate(request), request.untrained, choose_device(device))
    with _lock:
        if _last is None or _last[0] != wanted:
            _last = None  # the old weights go before the new ones come
            gc.collect()
            where = _where(wanted[0], report or (lambda _: None))
            _last = (wanted, _load(where, *wanted))
        return _last[1]


def wrap(model: nn.Module, tokenizer: Any) -> LoadedModel:
    """Take a model of the user's own.

    Raises:
        InputError: where its weights are not float32.
    """
    dtypes = {p.dtype for p in model.parameters() if p.is_floating_point()}
    if dtypes != {torch.float32}:
        shown = ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in dtypes))
        raise InputError(
            f"the model's weights are {shown or 'not floating point'} and float32 is needed: "
            "a Jacobian in lower precision can be wrong by a third; load it with dtype=float32"
        )
    return LoadedModel(model, tokenizer)


def describe(model: nn.Module, hashed: bool) -> dict[str, Any]:
    """Identity of a model of the user's own: its class and, if `hashed`, its weights' sha256."""
    identity = {"kind": "object", "name": type(model).__name__, "digest": ""}
    if hashed:
        digest = hashlib.sha256(repr(model).encode())
        for name, tensor in sorted(model.state_dict().items()):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
        identity["digest"] = digest.hexdigest()
    return identity


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode (no dropout), and back."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def prepare(name: str) -> Path:
    """Convert an alias or a .gguf file into a safetensors folder, once, so that it loads fast."""
    source = locate(Request(prompt="-", model=name))
    if source.kind == "gguf":
        _convert(source)
    return source.converted


def find_blocks(model: nn.Module) -> nn.ModuleList:
    """The transformer blocks: the outermost ModuleList of gradient-checkpointing layers.

    Raises:
        InputError: where there is none, or more than one (an encoder beside a decoder).
    """
    stacks: dict[str, nn.ModuleList] = {}
    for name, module in model.named_modules():
        inside = any(name.startswith(f"{outer}.") for outer in stacks)
        if isinstance(module, nn.ModuleList) and len(module) and not inside:
            if all(isinstance(layer, GradientCheckpointingLayer) for layer in module):
                stacks[name] = module
    kind = type(model).__name__
    if not stacks:
        raise InputError(
            f"{kind} has no transformer blocks that can be replayed: expected a list of layers "
            "as the decoder and encoder families of transformers have"
        )
    if len(stacks) > 1:
        raise InputError(
            f"{kind} has {len(stacks)} stacks of blocks ({', '.join(stacks)}): "
            "pass the part that holds one of them as the model"
        )
    return next(iter(stacks.values()))


def _load(where: Path, source: Source, untrained: int | None, device: torch.device) -> LoadedModel:
    start = time.perf_counter()
    with _plain_errors(source), _quiet():
        if source.kind == "gguf":
            _convert(source)
        options: dict[str, Any] = {"trust_remote_code": False}
        tokenizer = AutoTokenizer.from_pretrained(where, **options)
        config = AutoConfig.from_pretrained(where, **options)
        family = _auto_class(config)
        if untrained is None:
            model = family.from_pretrained(
                where, use_safetensors=True, dtype=torch.float32, **options
            )
        else:
            with torch.random.fork_rng():
                torch.manual_seed(untrained)
                model = family.from_config(config, dtype=torch.float32)
        model = model.eval().requires_grad_(False).to(device)
    return LoadedModel(model, tokenizer, time.perf_counter() - start)


def _where(source: Source, report: Callable[[Progress], None]) -> Path:
    # By path, so that loading itself never asks the hub.
    if source.kind == "hub":
        return hub.download(source.location, source.digest, report, source.revision)
    return source.converted


def _auto_class(config: Any) -> Any:
    names = " ".join(config.architectures or ())
    if "ForCausalLM" in names or "LMHeadModel" in names:
        return AutoModelForCausalLM
    return AutoModelForMaskedLM if "ForMaskedLM" in names else AutoModel


def _convert(source: Source) -> None:
    """Read a GGUF file through transformers and save it as a folder, atomically."""
    if (source.converted / "config.json").is_file():
        return
    file = Path(source.location)
    _require_alias_file(source, file)
    source.converted.parent.mkdir(parents=True, exist_ok=True)
    with _plain_errors(source), _quiet():
        folder = Path(tempfile.mkdtemp(prefix=".converting-", dir=source.converted.parent))
        try:
            where: dict[str, Any] = {"gguf_file": file.name, "trust_remote_code": False}
            AutoTokenizer.from_pretrained(file.parent, **where).save_pretrained(folder)
            model: Any = AutoModelForCausalLM.from_pretrained(
                file.parent, dtype=torch.float32, **where
            )
            # The weights are plain float32 now; what still says otherwise would block saving.
            del model.config.quantization_config
            model.hf_quantizer = None
            model.is_quantized = False
            model.save_pretrained(folder)
            folder.replace(source.converted)
        except OSError:
            if not source.converted.is_dir():  # else another process was first: same content
                raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _require_alias_file(source: Source, file: Path) -> None:
    alias = next((a for a in ALIASES.values() if a.sha256 == source.digest), None)
    if alias is None:
        return
    if not file.is_file():
        raise ComputeError(f"the package that ships {alias.name} is missing: `{alias.install}`")
    found = locate(Request(prompt="-", model=str(file))).digest
    if found != alias.sha256:
        raise ComputeError(
            f"{file.name} has sha256 {found[:12]}… instead of {alias.sha256[:12]}…: "
            f"another version of the package is installed; `{alias.install}`"
        )


@contextmanager
def _plain_errors(source: Source) -> Iterator[None]:
    """Say in plain words why a model does not load."""
    try:
        yield
    except (InputError, ComputeError, torch.OutOfMemoryError, MemoryError):
        raise
    except Exception as error:  # loaders raise whatever their formats raise
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ComputeError(f"{source.name} does not load: {first}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' notices and progress bars off the terminal while loading."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
