"""What a reader has chosen, and its form in a link. No Streamlit in here."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from coupling_core.analysis.by_step import path_request
from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.errors import InputError
from coupling_core.base.records import (
    DEFAULT_K,
    DEFAULT_MODEL,
    DEFAULT_THRESHOLD,
    DTYPES,
    FINAL_NORMS,
    FITS,
    LAYOUTS,
    MEASURES,
    METHODS,
    MODEL_SIZES,
    MODEL_SUBSETS,
    NODE_COLORS,
    PARTS,
    PERFORMANCES,
    PROMPT_NUMBERS,
    QUANTISATIONS,
    ROLES,
    STACKS,
    TOKEN_KINDS,
    VISION_KINDS,
    Dtype,
    FinalNorm,
    Fit,
    Layout,
    Measure,
    Method,
    ModelSize,
    ModelSubset,
    NodeColor,
    Part,
    PathView,
    Performance,
    PromptNumber,
    Quantisation,
    Request,
    Role,
    Stack,
    TokenKind,
    View,
    VisionKind,
    parse_blocks,
)
from coupling_core.experiments.gallery import VISION_K
from coupling_core.sources.suites import DEFAULT_K as SUITE_K
from coupling_core.sources.suites import DEFAULT_SUITE, Suite, find_suite
from coupling_core.store.request_key import parse_key

DEFAULT_PROMPT = "What is the capital of France? The capital is"
FIGURE_3 = tuple(range(9, 17))
"""The blocks of the paper's Figure 3."""
ALONG = ("straightness", "growth", "steps", "entropy", "linearised", "singular-values")
"""What the Trajectories page draws along the paths, a group of figures at a time."""
FIRST_STEP = 256
"""The training step shown first: there the coupling of the smallest suite is at its highest."""
MOST_SUITES = 3
"""Training runs side by side: with more of them a step change would not be seen at once."""
BY_STEP = ("coupling", "locality", "paths")
"""What the Training page draws by step, a group of figures at a time."""
MAX_MOSAIC = 24
"""Most blocks a side that a mosaic shows; beyond it a stride is taken."""


@dataclass(frozen=True)
class State:
    """Everything that a link carries; what is measured first, then how it is looked at.

    Args:
        model: alias, hub id, folder or .gguf file.
        revision: branch, tag or commit of a hub model; empty is its default.
        prompt: the text.
        token: the token measured, 1..n or -1 for the last.
        untrained: seed of the freshly initialised twin; None is the trained model.
        dtype: precision to which the weights are rounded.
        quantize: bitsandbytes' form of the weights; None leaves them as they are.
        stack: of an encoder-decoder model; None is its decoder.
        final_norm: whether the final norm belongs to the last block.
        k: number of leading triplets.
        definition: which score.
        p: order of the norm in `paper`.
        role: "A" or "B".
        blocks: block range as text; empty is every block.
        figure_3: whether the mosaic shows the paper's blocks 9-16 rather than the block range.
        block: the selected row, the block of the Jacobian.
        basis: the selected column, the block of the basis.
        signed: whether matrices are drawn with their signs.
        raw: whether the raw score is drawn in place of the chance-corrected one.
        auto_range: whether colours span the drawn values rather than the fixed range.
        mode: which tokens the Jacobians join where tokens are compared.
        fixed: the token that `mode` fixes, 1..n or counted from the end; None is the one that all
            others may be compared with, the first as an input and the last as an output.
        all_pairs: whether tokens are compared on average over all pairs of blocks, rather than in
            the selected one.
        other_token: the selected column, the token of the basis; `token` is the selected row.
        row_window: the first of the tokens shown as rows of a long prompt; 0 shows the selected.
        column_window: the same of the columns.
        matrices: whether tokens are compared by their matrices, rather than by their scores.
        threshold: smallest weight of an edge of the layer graph.
        layout: where its nodes lie.
        node_color: what colours them.
        left: store key of the result A of a comparison; empty is what the sidebar asks for.
        right: store key of B; empty is the untrained twin of A.
        fit: what the principal components of paths are fitted on.
        part: whether paths go through all blocks, or through half of them.
        first: whether the first token's path is drawn, which often lies far from all others.
        dimensions: in which paths are drawn, 2 or 3.
        along: which numbers are drawn along the paths.
        suites: names of the training runs that are looked at, between commas.
        step: of training; where a run has no such checkpoint, its nearest is shown.
        suite_k: number of leading triplets where training runs are looked at.
        by_step: which numbers are drawn by training step.
        sweep: the folder of the sweep that is looked at; empty is the first.
        sweep_k: number of leading triplets there, below 1 their share of the width; 0 is the
            smallest that all models have.
        measure: of coupling, where many models are looked at.
        against: which performance; None is one that is known.
        subset: of the models.
        method: of correlation.
        model_size: the number of a model that coupling is drawn against.
        prompt_number: the number of a prompt that coupling is drawn against.
        of_model: the model whose prompts are drawn; empty is the first.
        picture: which one the Vision page shows; empty is the first.
        patch: the token of it that is measured, 1..n.
        vision_seed: of the runs whose maps are drawn.
        rate: of stochastic depth, the run that is looked at; empty is the first.
        vision_kind: what is compared over the runs.
        vision_k: number of leading triplets there.
    """

    model: str = DEFAULT_MODEL
    revision: str = ""
    prompt: str = DEFAULT_PROMPT
    token: int = -1
    untrained: int | None = None
    dtype: Dtype = "float32"
    quantize: Quantisation | None = None
    stack: Stack | None = None
    final_norm: FinalNorm = "include"
    k: int = DEFAULT_K
    definition: str = "paper"
    p: float = 1.0
    role: Role = "A"
    blocks: str = ""
    figure_3: bool = True
    block: int = 12
    basis: int = 11
    signed: bool = False
    raw: bool = False
    auto_range: bool = False
    mode: TokenKind = "self"
    fixed: int | None = None
    all_pairs: bool = False
    other_token: int = -2
    row_window: int = 0
    column_window: int = 0
    matrices: bool = False
    threshold: float = DEFAULT_THRESHOLD
    layout: Layout = "line"
    node_color: NodeColor = "community"
    left: str = ""
    right: str = ""
    fit: Fit = "last"
    part: Part = "all"
    first: bool = False
    dimensions: int = 2
    along: str = ALONG[0]
    suites: str = DEFAULT_SUITE
    step: int = FIRST_STEP
    suite_k: int = SUITE_K
    by_step: str = BY_STEP[0]
    sweep: str = ""
    sweep_k: float = 0.0
    measure: Measure = "corrected"
    against: Performance | None = None
    subset: ModelSubset = "all"
    method: Method = "pearson"
    model_size: ModelSize = "parameters"
    prompt_number: PromptNumber = "tokens"
    of_model: str = ""
    picture: str = ""
    patch: int = 1
    vision_seed: int = 0
    rate: str = ""
    vision_kind: VisionKind = "depth"
    vision_k: int = VISION_K

    def request(self) -> Request:
        """What has to be measured; raises `InputError` where no model could do it."""
        return Request(
            prompt=self.prompt,
            model=self.model,
            token=self.token,
            k=self.k,
            final_norm=self.final_norm,
            revision=self.revision or None,
            untrained=self.untrained,
            dtype=self.dtype,
            quantize=self.quantize,
            stack=self.stack,
        )

    def token_request(self, block: int, basis: int) -> Request:
        """What has to be measured to compare tokens.

        Args:
            block: l, as selected and within the model's blocks.
            basis: l', likewise.
        """
        pair = {} if self.all_pairs else {"block": block, "other_block": basis}
        fixed = Request.token if self.mode == "self" else self.fixed_token
        return replace(self.request(), kind=self.mode, token=fixed, **pair)

    @property
    def fixed_token(self) -> int:
        """The token that the mode fixes, as chosen or as it is by default."""
        if self.fixed is not None:
            return self.fixed
        return 1 if self.mode == "fixed-input" else Request.token

    def path_request(self) -> Request:
        """What has to be measured of the paths of all tokens, of which none is chosen."""
        return path_request(self.request())

    def suite_request(self) -> Request:
        """What has to be measured of every checkpoint of a training run, as float32 and trained."""
        return Request(
            prompt=self.prompt,
            token=self.token,
            # Any K up to the default one is in every result: the request stays the same.
            k=SUITE_K if self.suite_k <= DEFAULT_K else self.suite_k,
            final_norm=self.final_norm,
        )

    def checkpoint_request(self) -> Request:
        """The same of the checkpoint that is shown of the first training run."""
        suite = self.chosen_suites()[0]
        return suite.request(self.suite_request(), self.nearest_step(suite.steps))

    def nearest_step(self, steps: Iterable[int]) -> int:
        """The step that is shown where there are these."""
        return min(steps, key=lambda step: (abs(step - self.step), step))

    def suite_view(self, n_blocks: int | None = None) -> View:
        """How training runs are looked at."""
        return replace(self.view(n_blocks), k=self.suite_k)

    def chosen_suites(self) -> tuple[Suite, ...]:
        """The training runs that are looked at."""
        return tuple(map(find_suite, dict.fromkeys(self.suites.split(","))))

    def path_view(self) -> PathView:
        """How paths are looked at."""
        return PathView(self.fit, self.part, self.first)

    def view(self, n_blocks: int | None = None) -> View:
        """How it is looked at; the block range can be read only where L is known."""
        blocks = parse_blocks(self.blocks, n_blocks) if n_blocks and self.blocks else None
        return View(self.k, self.definition, self.p, self.role, blocks)

    def mosaic_blocks(self, n_blocks: int) -> tuple[tuple[int, ...], int]:
        """Blocks of the mosaic and the stride that keeps them few enough to be seen."""
        chosen = parse_blocks(self.blocks, n_blocks)
        if self.figure_3 and n_blocks >= FIGURE_3[-1]:
            chosen = FIGURE_3
        stride = -(-len(chosen) // MAX_MOSAIC)
        return chosen[::stride], stride

    def of_request(self, request: Request, k_max: int) -> "State":
        """The same way of looking at another measurement, which holds `k_max` triplets.

        Raises:
            InputError: where its prompt is no text.
        """
        if not isinstance(request.prompt, str):
            raise InputError("it was measured from token ids, which no link can carry")
        return replace(
            self._of_kind(request),
            model=request.model,
            revision=request.revision or "",
            prompt=request.prompt,
            untrained=request.untrained,
            dtype=request.dtype,
            quantize=request.quantize,
            stack=request.stack,
            final_norm=request.final_norm,
            k=min(self.k, k_max or self.k),
        )

    def _of_kind(self, request: Request) -> "State":
        """The selection that leads to this request."""
        if request.kind not in TOKEN_KINDS:
            return replace(self, token=request.token)
        of_prompt = ("token", "other_token", "row_window", "column_window")
        begun = replace(self, **{name: getattr(State, name) for name in of_prompt})
        fixed = None if request.kind == "self" else request.token
        if request.block is None or request.other_block is None:
            return replace(begun, mode=request.kind, fixed=fixed, all_pairs=True)
        if min(request.block, request.other_block) < 0:
            raise InputError("its blocks were counted from the end, which no link can carry")
        pair = {"block": request.block, "basis": request.other_block, "all_pairs": False}
        return replace(begun, mode=request.kind, fixed=fixed, **pair)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError("an integer is expected") from None


def _at_least(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if (number := _whole(text)) < least:
            raise InputError(f"an integer of at least {least} is expected")
        return number

    return read


def _token(text: str) -> int:
    return Request(prompt="any", token=_whole(text)).token


def _order(text: str) -> float:
    try:
        return View(p=float(text)).p
    except ValueError:
        raise InputError("a number is expected") from None


def _threshold(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise InputError("a number from 0 to 1 is expected")
    return number


def _key(text: str) -> str:
    if parse_key(text) is None:
        raise InputError("the key of a stored result is expected")
    return text


def _one_of(choices: Collection[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise InputError(f"one of {', '.join(choices)} is expected")
        return text

    return read


def _flag(text: str) -> bool:
    return _one_of(("0", "1"))(text) == "1"


def _suites(text: str) -> str:
    names = text.split(",")
    if len(names) > MOST_SUITES:
        raise InputError(f"at most {MOST_SUITES} names are expected")
    for name in names:
        find_suite(name)
    return text


def _folder(text: str) -> str:
    if not re.fullmatch(r"[\w][\w.-]{0,80}", text):
        raise InputError("the name of a sweep is expected")
    return text


def _triplets(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 < number < 1 or (1 <= number < 10**6 and number.is_integer())):
        raise InputError("an integer from 1, or a share of the width below 1, is expected")
    return number


def _picture(text: str) -> str:
    if not re.fullmatch(r"[\w-]{1,40}(/[\w-]{1,40})?", text):
        raise InputError("the name of a picture is expected")
    return text


def _rate(text: str) -> str:
    if not re.fullmatch(r"0(\.\d{1,6})?", text):
        raise InputError("a number from 0 up to, but not, 1 is expected")
    return text


def _words(text: str) -> str:
    if not text.strip():
        raise InputError("a text is expected")
    return text


_READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "model": ("model", _words),
    "rev": ("revision", _words),
    "prompt": ("prompt", _words),
    "token": ("token", _token),
    "untrained": ("untrained", _at_least(0)),
    "dtype": ("dtype", _one_of(DTYPES)),
    "quant": ("quantize", _one_of(QUANTISATIONS)),
    "stack": ("stack", _one_of(STACKS)),
    "norm": ("final_norm", _one_of(FINAL_NORMS)),
    "k": ("k", _at_least(1)),
    "def": ("definition", _one_of(DEFINITIONS)),
    "p": ("p", _order),
    "role": ("role", _one_of(ROLES)),
    "blocks": ("blocks", _words),
    "fig3": ("figure_3", _flag),
    "block": ("block", _at_least(1)),
    "basis": ("basis", _at_least(1)),
    "signed": ("signed", _flag),
    "raw": ("raw", _flag),
    "auto": ("auto_range", _flag),
    "mode": ("mode", _one_of(TOKEN_KINDS)),
    "fixed": ("fixed", _token),
    "all": ("all_pairs", _flag),
    "other": ("other_token", _token),
    "rows": ("row_window", _at_least(0)),
    "columns": ("column_window", _at_least(0)),
    "tiles": ("matrices", _flag),
    "threshold": ("threshold", _threshold),
    "layout": ("layout", _one_of(LAYOUTS)),
    "nodes": ("node_color", _one_of(NODE_COLORS)),
    "left": ("left", _key),
    "right": ("right", _key),
    "fit": ("fit", _one_of(FITS)),
    "part": ("part", _one_of(PARTS)),
    "first": ("first", _flag),
    "dims": ("dimensions", lambda text: int(_one_of(("2", "3"))(text))),
    "along": ("along", _one_of(ALONG)),
    "suites": ("suites", _suites),
    "step": ("step", _at_least(0)),
    "sk": ("suite_k", _at_least(1)),
    "by": ("by_step", _one_of(BY_STEP)),
    "sweep": ("sweep", _folder),
    "gk": ("sweep_k", _triplets),
    "measure": ("measure", _one_of(MEASURES)),
    "against": ("against", _one_of(PERFORMANCES)),
    "subset": ("subset", _one_of(MODEL_SUBSETS)),
    "method": ("method", _one_of(METHODS)),
    "size": ("model_size", _one_of(MODEL_SIZES)),
    "number": ("prompt_number", _one_of(PROMPT_NUMBERS)),
    "of": ("of_model", _words),
    "picture": ("picture", _picture),
    "patch": ("patch", _at_least(1)),
    "seed": ("vision_seed", _at_least(0)),
    "rate": ("rate", _rate),
    "vkind": ("vision_kind", _one_of(VISION_KINDS)),
    "vk": ("vision_k", _at_least(1)),
}
"""Name in a link: field, and how its text is read."""


def from_query(query: Mapping[str, str]) -> tuple[State, tuple[str, ...]]:
    """Read a link; what cannot be read keeps its default and is told of."""
    fields: dict[str, Any] = {}
    problems = []
    for name, text in query.items():
        if name not in _READERS:
            problems.append(f"{name} is not known here")
            continue
        field, read = _READERS[name]
        try:
            fields[field] = read(text)
        except InputError as error:
            default = getattr(State, field)
            problems.append(f"{name}={text!r} became {_text(default) or 'empty'}: {error}")
    return State(**fields), tuple(problems)


def to_query(state: State) -> dict[str, str]:
    """Write a link: short names, and only what differs from the default."""
    values = {name: getattr(state, field) for name, (field, _) in _READERS.items()}
    return {
        name: _text(value)
        for name, value in values.items()
        if value != getattr(State, _READERS[name][0])
    }


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)
