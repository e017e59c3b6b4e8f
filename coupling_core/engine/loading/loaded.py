"""A model in memory, with its tokenizer."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.base.errors import InputError, PromptError, refuse
from coupling_core.base.images import is_image
from coupling_core.engine.loading.pictures import class_names, reads_images, to_tensor
from coupling_core.engine.loading.pictures import token_names as image_token_names
from coupling_core.engine.loading.unwrapping import is_of_bridge
from coupling_core.engine.loading.wrapped import class_name
from coupling_core.engine.plain_torch import plain_torch
from coupling_core.sources.integrity import Stamps
from coupling_core.sources.tokens import Spelling, readable, spelling_of

LIKELY = 5
"""Next tokens, or classes, that are named."""

_FIRST = (
    "; the bridge puts it before the text, and model.cfg.default_prepend_bos = False leaves it out"
)


@dataclass(frozen=True)
class LoadedModel:
    """A model and where it computes.

    Args:
        model: the module; calling it with token ids runs it.
        tokenizer: its tokenizer; of a model that reads images, its image processor.
        device: where it computes; weights held elsewhere, or in another precision, are lent to one
            block at a time (see `in_float32`).
        seconds: how long loading took.
        dtype: what its weights were rounded to.
        fast: whether the fast ways of differentiation are tried.
        own: whether it is a module of the user's own, who may change it between measurements.
        foreign: where code that no library wrote runs in it, in words; "" for nowhere.
        stamps: of the files that it was loaded from, some of which may be read as it computes.
        reading: makes token ids of a text in the tokenizer's place, which still names them; None
            where the tokenizer does.
    """

    model: Any
    tokenizer: Any
    device: torch.device
    seconds: float = 0.0
    dtype: str = "float32"
    fast: bool = True
    own: bool = False
    foreign: str = ""
    stamps: Stamps = field(default_factory=dict)
    reading: Callable[[str], list[int]] | None = None

    @property
    def parameters(self) -> int:
        """How many it has; shared ones count once, packed ones as what they stand for."""
        copied = _copied(self.model)
        packed = (
            (each, getattr(each, "quant_state", None))
            for each in self.model.parameters()
            if id(each) not in copied
        )
        return sum(
            math.prod(state.shape) if state is not None else each.numel() for each, state in packed
        )

    def encode(
        self, prompt: str | tuple[int, ...]
    ) -> list[int] | Float[Tensor, "1 channel height width"]:
        """Token ids of a prompt with the tokenizer's own special tokens, no chat template.

        Of an image, what the model's image processor makes of it.

        Raises:
            InputError: on no token, an id outside the vocabulary, or more than the model takes; on
                an image for a model of texts, and the other way round.
        """
        asked, came = ("an image", "text") if reads_images(self.model) else ("text", "an image")
        refuse(
            (
                reads_images(self.model) != is_image(prompt),
                f"{class_name(self.model)} reads {asked}, and the prompt is {came}",
            ),
            (
                isinstance(prompt, str) and self.tokenizer is None,
                "the prompt is a text or an image, and there is no tokenizer or image processor: "
                "pass the one of the model as tokenizer=, or token ids as the prompt",
            ),
        )
        if is_image(prompt):
            return to_tensor(str(prompt), self.tokenizer, self.model.config)
        if isinstance(prompt, str):
            read = self.reading
            ids = read(prompt) if read else list(self.tokenizer(prompt)["input_ids"])
        else:
            ids = list(prompt)
        if not ids and isinstance(prompt, str) and prompt.strip():
            raise InputError(
                f"the tokenizer makes no token of the prompt {prompt[:60]!r}: is it that of the "
                "model? Beside the weights in a folder belong its files, as "
                "tokenizer.save_pretrained(folder) writes them"
            )
        if not ids:
            raise PromptError("the prompt has no token: give a text of at least one")
        config = self.model.config.get_text_config()
        vocabulary = getattr(config, "vocab_size", None)
        beyond = [i for i in ids if not 0 <= i < vocabulary] if vocabulary else []
        if vocabulary and beyond:
            raise PromptError(
                f"token id {beyond[0]} is out of range: this model has ids 0..{vocabulary - 1}"
                + _FIRST * (self.reading is not None and beyond == ids[:1])
            )
        longest = longest_prompt(self.model)
        if longest is not None and len(ids) > longest:
            raise PromptError(
                f"the prompt has {len(ids)} tokens and this model takes at most {longest}: "
                "shorten it"
            )
        return ids

    def token_names(
        self, read: list[int] | Float[Tensor, "1 channel height width"], ids: list[int]
    ) -> tuple[str, ...]:
        """What the tokens are called that the model made of what it read."""
        if isinstance(read, Tensor):
            return image_token_names(self.model.config, read, len(ids))
        return self.texts(ids)

    def texts(self, ids: list[int]) -> tuple[str, ...]:
        """What each token id stands for, readable.

        Its number, such as "#7", where there is no tokenizer, or the id is one of those with which
        a vocabulary is padded to a round number.
        """
        if self.tokenizer is None:
            return tuple(f"#{i}" for i in ids)
        pieces = self.tokenizer.convert_ids_to_tokens(ids)
        known = iter(readable([p for p in pieces if p is not None], self._spelling))
        return tuple(
            f"#{i}" if piece is None else next(known) for i, piece in zip(ids, pieces, strict=True)
        )

    def vocabulary(self) -> str:
        """All that names tokens: a fast tokenizer in its stored form, a slow one's table."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is not None:
            return str(backend.to_str())
        table = getattr(self.tokenizer, "get_vocab", dict)
        return json.dumps(sorted(table().items()))

    @property
    def _spelling(self) -> Spelling:
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        return Spelling() if backend is None else spelling_of(backend)

    def likely(self, logits: Tensor | None) -> tuple[tuple[str, float], ...]:
        """The most probable next tokens as texts with probabilities; none without logits.

        Of an image, the most probable classes.
        """
        if logits is None:
            return ()
        probabilities, found = logits.float().softmax(-1).topk(min(LIKELY, logits.shape[-1]))
        ids = found.tolist()
        if reads_images(self.model):
            classes = class_names(self.model.config, logits.shape[-1])
            texts = tuple(classes[i] for i in ids)
        else:
            texts = self.texts(ids)
        return tuple(zip(texts, probabilities.tolist(), strict=True))


def longest_prompt(model: Any) -> int | None:
    """How many tokens a model takes at most; None where nothing limits them."""
    config = model.config.get_text_config()
    found = getattr(config, "max_position_embeddings", getattr(config, "max_seq_len", None))
    if not isinstance(found, int) or found <= 0 or _stretches(config):
        return None
    paddings = (
        module.padding_idx
        for name, module in model.named_modules()
        if "position" in name.rpartition(".")[2]
        and hasattr(module, "padding_idx")
        and isinstance(weight := getattr(module, "weight", None), Tensor)
        and len(weight) == found
    )
    # RoBERTa and its kin count positions from behind that of the padding.
    return found - max((1 + padding for padding in paddings if padding is not None), default=0)


def _stretches(config: Any) -> bool:
    """Whether a model's rotary positions grow with the prompt, as dynamic NTK scaling has them."""
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = (rope, *(each for each in rope.values() if isinstance(each, dict)))
    return any(kind.get("rope_type") == "dynamic" for kind in kinds)


def _uncompiled() -> AbstractContextManager[Any]:
    """While it lasts, what `torch.compile` made runs as it was written, so that it can be captured.

    The compiler is not imported for that; where nobody has, nothing is compiled.
    """
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    return torch.compiler.set_stance("force_eager")


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Have a model as it is measured, whoever hands it over and wherever, and leave it as it was.

    It is in evaluation mode (no dropout), and its parameters are constants: `from_pretrained` gives
    them as what is to be trained. Gradients are taken of states alone. What the caller has set of
    torch does not matter, and what was compiled runs as it was written.
    """
    training = [module for module in model.modules() if module.training]
    trained = [
        parameter
        for parameter in model.parameters()
        if parameter.requires_grad and not parameter.is_inference()  # which stays as it is
    ]
    model.eval()
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        with plain_torch(), _uncompiled():
            yield
    finally:
        for module in training:
            module.training = True
        for parameter in trained:
            parameter.requires_grad_(True)


def _copied(model: nn.Module) -> set[int]:
    """What a TransformerLens bridge keeps beside the three parts that it is cut into and runs."""
    bridged = (module for module in model.modules() if is_of_bridge(module))
    parts = (dict(module.named_children()) for module in bridged)
    cut = (of["qkv"] for of in parts if of.keys() >= {"qkv", "q", "k", "v"})
    return {id(parameter) for whole in cut for parameter in whole.parameters()}
