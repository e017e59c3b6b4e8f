"""The frozen records that travel between the stages, the store, the figures and the pages.

Axis names are the same everywhere: `role` (A, B), `block` (1..L, in the order of the model),
`state` (0..L),
`token` (1..n), `d` (width of the residual stream), `k` (singular triplets, largest first). Blocks
and tokens are
numbered from 1 for people; arrays are indexed from 0.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from coupling_core.errors import InputError

SCHEMA = 1
"""Version of the stored form. Every change that moves a number raises it."""

DEFAULT_MODEL = "smollm2-135m"
DEFAULT_K = 50
DEFAULT_K_VIEW = 32

Definition = Literal["paper", "released", "page", "preprint", "alignment"]
Role = Literal["A", "B"]
FinalNorm = Literal["include", "exclude"]
Dtype = Literal["float32", "bfloat16", "float16"]
Quantisation = Literal["nf4", "int8"]
Stack = Literal["encoder", "decoder"]
DEFINITIONS: tuple[Definition, ...] = get_args(Definition)
ROLES: tuple[Role, ...] = get_args(Role)
FINAL_NORMS: tuple[FinalNorm, ...] = get_args(FinalNorm)
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
QUANTISATIONS: tuple[Quantisation, ...] = get_args(Quantisation)
STACKS: tuple[Stack, ...] = get_args(Stack)
SAMPLED_DEFINITIONS: tuple[Definition, ...] = ("released", "preprint")
"""The definitions whose chance floor has no closed form and is sampled while the Jacobian is at
hand."""


@dataclass(frozen=True)
class Request:
    """What determines a depth-wise result.

    Args:
        prompt: the text, or the token ids themselves.
        model: an alias, a hub id, a folder with config and safetensors, or a .gguf file.
        token: the token measured, 1..n or counted from the end (-1 is the last).
        k: how many singular triplets are wanted; at least `DEFAULT_K` are measured where the width
            allows.
        k_view: side of the stored corner of each coupling matrix; None takes what a stored result
            has, and
            min(K, 32) where one is computed.
        final_norm: whether the model's final norm belongs to its last block (paper, Eq. 7).
        revision: branch, tag or commit of a hub model.
        untrained: seed of a freshly initialised twin of the model; None is the trained model.
        dtype: precision to which the weights are rounded; the arithmetic is float32 in any case.
        quantize: bitsandbytes' form of the blocks' weights, measured as what they dequantise to;
            None leaves them as they are.
        stack: which of the two stacks of an encoder-decoder model; None is the decoder there, and
            the only stack of any other model.

    Raises:
        InputError: on values that no model could satisfy.
    """

    prompt: str | tuple[int, ...]
    model: str = DEFAULT_MODEL
    token: int = -1
    k: int = DEFAULT_K
    k_view: int | None = None
    final_norm: FinalNorm = "include"
    revision: str | None = None
    untrained: int | None = None
    dtype: Dtype = "float32"
    quantize: Quantisation | None = None
    stack: Stack | None = None
    kind: Literal["depth"] = "depth"

    def __post_init__(self) -> None:
        if not self.prompt or (isinstance(self.prompt, str) and not self.prompt.strip()):
            raise InputError("the prompt is empty: give a text of at least one token")
        if not isinstance(self.prompt, str):
            object.__setattr__(self, "prompt", tuple(int(i) for i in self.prompt))
        if not self.model.strip():
            raise InputError(
                "the model is empty: give an alias, a hub id, a folder or a .gguf file"
            )
        if self.token == 0:
            raise InputError("token 0 does not exist: tokens are numbered 1..n, and -1 is the last")
        if self.k < 1:
            raise InputError(f"K must be at least 1, and {self.k} was asked for")
        if self.k_view is not None and not 1 <= self.k_view <= self.k_max:
            raise InputError(
                f"k-view must lie in 1..{self.k_max} (the measured K), and {self.k_view} came"
            )
        for name, value, values in (
            ("final norm", self.final_norm, FINAL_NORMS),
            ("dtype", self.dtype, DTYPES),
            ("quantize", self.quantize, (None, *QUANTISATIONS)),
            ("stack", self.stack, (None, *STACKS)),
        ):
            if value not in values:
                expected = ", ".join(str(v) for v in values if v)
                raise InputError(f"{name} must be one of {expected}, and {value!r} came")
        if self.quantize and self.untrained is not None:
            raise InputError(
                "an untrained twin cannot be quantised: its weights exist in float32 only; "
                "leave out one of the two"
            )
        if self.untrained is not None and not 0 <= self.untrained < 2**63:
            raise InputError(
                f"the seed of an untrained model must be an integer >= 0, and {self.untrained} came"
            )

    @property
    def k_max(self) -> int:
        """Triplets to measure: every smaller K is then a slice of the stored result."""
        return max(DEFAULT_K, self.k)

    @property
    def corner(self) -> int:
        """Side of the leading corner of each coupling matrix to keep."""
        return self.k_view or min(self.k, DEFAULT_K_VIEW)


@dataclass(frozen=True)
class View:
    """How a stored result is looked at: none of this ever starts a computation.

    Args:
        k: number of leading triplets, 1..Kmax of the result.
        definition: which score (see `coupling_core.scores`).
        p: order of the norm of the singular values in the `paper` definition.
        role: "A" for U^T J V, "B" for V^T J U.
        blocks: block numbers shown, in order; None shows all.

    Raises:
        InputError: on a value outside these ranges.
    """

    k: int = DEFAULT_K
    definition: Definition = "paper"
    p: float = 1.0
    role: Role = "A"
    blocks: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"K must be at least 1, and {self.k} was asked for")
        if self.definition not in DEFINITIONS:
            raise InputError(
                f"definition must be one of {', '.join(DEFINITIONS)}, and {self.definition!r} came"
            )
        if self.role not in ROLES:
            raise InputError(f"the role must be A or B, and {self.role!r} was given")
        if not (math.isfinite(self.p) and self.p >= 1):
            raise InputError(
                f"the order p of a norm must be a finite number >= 1, and {self.p} was given"
            )


@dataclass(frozen=True)
class Certificate:
    """How far one block's truncated SVD was checked, in float64 from the Jacobian itself.

    Args:
        certified: whether every test passed.
        method: "arpack" or "full".
        orthonormality: max(norm_F(U^T U - I), norm_F(V^T V - I)).
        residual: max over k of norm(J v - u s) and norm(J^T u - v s), in units of s_1.
        reason: which test failed, with its figure; empty when certified.
    """

    certified: bool
    method: str
    orthonormality: float
    residual: float
    reason: str = ""


@dataclass(frozen=True)
class DepthResult:
    """Depth-wise coupling at one token: enough to draw any K <= Kmax under any definition.

    A block that is not measured yet (a partial result) has NaN in every array.

    Args:
        key: the store key.
        request: what was asked.
        identity: who the model is (alias and hash, commit, ...), JSON-able.
        tokens: token texts.
        token_ids: token ids.
        token: the token measured, 1..n.
        width: d, width of the residual stream.
        singular_values: the top Kmax of each block's Jacobian.
        next_singular_value: s_{Kmax+1}, which shows the gap at Kmax; NaN where Kmax = d.
        jacobian_norm: norm_F(J).
        rank: numerical rank of the measured part, at most Kmax; scores with K above it are
            undefined (NaN).
        diagonal: A_kk and B_kk; row = block of the Jacobian, column = block of the basis.
        off_diagonal: squared Frobenius norm of the off-diagonal entries of the leading k x k
            corner, for every k.
        matrices: leading corner of A and B divided by s_1 of the row's block, so that float16
            always holds it.
        chance: sampled chance floor of `SAMPLED_DEFINITIONS`, in that order.
        chance_error: its standard error.
        angle_k: the K at which principal angles are stored.
        angles: principal angles in degrees between the top-K left (side 0) and right (side 1)
            singular subspaces of
            two blocks, smallest first, NaN past K.
        certificates: one per block.
        next_tokens: the model's most probable next tokens after the measured one, with their
            probabilities.
        provenance: library versions, device, seconds, ...; never part of the key.
    """

    key: str
    request: Request
    identity: Mapping[str, Any]
    tokens: tuple[str, ...]
    token_ids: Int[np.ndarray, " token"]
    token: int
    width: int
    singular_values: Float[np.ndarray, "block k"]
    next_singular_value: Float[np.ndarray, " block"]
    jacobian_norm: Float[np.ndarray, " block"]
    rank: Int[np.ndarray, " block"]
    diagonal: Float[np.ndarray, "role block block k"]
    off_diagonal: Float[np.ndarray, "role block block k"]
    matrices: Float[np.ndarray, "role block block k_view k_view"]
    chance: Float[np.ndarray, "sampled block k"]
    chance_error: Float[np.ndarray, "sampled block k"]
    angle_k: Int[np.ndarray, " grid"]
    angles: Float[np.ndarray, "side grid block block k_angle"]
    certificates: tuple[Certificate, ...]
    next_tokens: tuple[tuple[str, float], ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model_name(self) -> str:
        """What to call the model, with the seed of an untrained twin."""
        name = str(self.identity.get("name", self.request.model))
        seed = self.request.untrained
        return name if seed is None else f"{name}, untrained (seed {seed})"

    @property
    def prompt_text(self) -> str:
        """The prompt as it was given; its tokens' texts where it came as token ids."""
        prompt = self.request.prompt
        return prompt if isinstance(prompt, str) else "".join(self.tokens)

    @property
    def token_words(self) -> str:
        """Which token was measured: its number, and its text."""
        return f"{self.token} of {len(self.tokens)}, {self.tokens[self.token - 1]!r}"

    @property
    def final_norm_words(self) -> str:
        """Whether a final norm belongs to the last block, or that this model has none."""
        if not self.provenance.get("final_norm", True):
            return "no final norm"
        return f"final norm {self.request.final_norm}d"

    @property
    def n_blocks(self) -> int:
        """L, the number of blocks."""
        return self.singular_values.shape[0]

    @property
    def k_max(self) -> int:
        """How many triplets are stored."""
        return self.singular_values.shape[1]

    @property
    def k_view(self) -> int:
        """Side of the stored corner of A and B."""
        return self.matrices.shape[-1]

    @property
    def certified(self) -> bool:
        """Whether every block's SVD passed its certificate."""
        return all(c.certified for c in self.certificates)

    def matrix(
        self, block: int, basis: int, role: Role = "A"
    ) -> Float[np.ndarray, "k_view k_view"]:
        """Leading corner of A^{block, basis} (or B) in its own units; blocks count from 1."""
        stored = self.matrices[ROLES.index(role), block - 1, basis - 1].astype(np.float32)
        return stored * np.float32(self.singular_values[block - 1, 0])


@dataclass(frozen=True)
class Progress:
    """Where a running measurement stands.

    Args:
        stage: what is being done.
        done: finished blocks; bytes that have arrived, while downloading.
        total: blocks in all, 0 while that is not known; bytes in all, while downloading.
        partial: the result so far, NaN where a block is not finished; None before the first block
            is.
        note: what people should know before this step begins; told once.
    """

    stage: Literal["downloading", "loading", "tracing", "blocks", "saving"]
    done: int = 0
    total: int = 0
    partial: DepthResult | None = None
    note: str = ""


def parse_blocks(text: str | None, n_blocks: int) -> tuple[int, ...]:
    """Read a block range: `1-30`, `3,7`, `1-30:2`, or a mix; None or an empty text is every block.

    Raises:
        InputError: on another form, a number outside 1..L, or fewer than one block.
    """
    if text is None or not text.strip():
        return tuple(range(1, n_blocks + 1))
    chosen: list[int] = []
    for part in text.split(","):
        form = re.fullmatch(r"(\d+)(?:-(\d+))?(?::(\d+))?", part.strip())
        if form is None:
            raise InputError(
                f"blocks {text!r} cannot be read: expected a form such as 1-{n_blocks}, "
                f"3,7 or 1-{n_blocks}:2"
            )
        start, stop, step = int(form[1]), int(form[2] or form[1]), int(form[3] or 1)
        if step < 1 or not 1 <= start <= stop <= n_blocks:
            raise InputError(
                f"blocks {text!r} are out of range: this model has blocks 1..{n_blocks}, "
                "counted upwards with a stride of at least 1"
            )
        chosen += range(start, stop + 1, step)
    return tuple(sorted(set(chosen)))
