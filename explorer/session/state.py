"""What a reader has chosen that several pages share. No Streamlit in here.

Each page's own state extends this one, where the page is; `link` has their form in a link.
"""

import re
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from pydantic import AfterValidator

from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.errors import InputError
from coupling_core.base.images import is_image, to_pixels
from coupling_core.base.records import (
    DEFAULT_K,
    DEFAULT_MODEL,
    DEFAULT_THRESHOLD,
    Dtype,
    FinalNorm,
    Fit,
    Layout,
    Level,
    Measure,
    Part,
    PathView,
    Quantisation,
    Request,
    Role,
    Stack,
    View,
    parse_blocks,
)
from coupling_core.base.results import Result
from explorer.session.link import Count, Flag, Natural, Parameter, Text, expect

DEFAULT_PROMPT = "What is the capital of France? The capital is"

Token = Annotated[
    int,
    expect(lambda token: abs(token) < 10**100, "a token's number"),
    AfterValidator(lambda token: Request("any", token=token).token),
]
_Order = Annotated[float, AfterValidator(lambda p: View(p=p).p)]
_List = Annotated[
    str,
    expect(lambda name: re.fullmatch("|shipped|[0-9a-f]{16}", name), "the name of a list"),
    Parameter("list"),
]
_Threshold = Annotated[float, expect(lambda least: 0 <= least <= 1, "a number from 0 to 1")]


def _legible(prompt: str) -> str:
    if is_image(prompt):
        to_pixels(prompt)
    return prompt


Prompt = Annotated[Text, AfterValidator(_legible)]
_known = expect(lambda x: x in DEFINITIONS, f"one of {', '.join(DEFINITIONS)}")


@dataclass(frozen=True)
class State:
    """What is measured, then how it is looked at.

    Args:
        model: alias, hub id, folder or .gguf file.
        revision: branch, tag or commit of a hub model; empty is its default.
        prompt: the text.
        prompts: the list of prompts that is measured in place of the one, by its name; empty is
            none. Pages that show no lists pass over it.
        nth: the prompt of the list that is looked at, from 1; 0 is none.
        token: the token measured, 1..n or -1 for the last.
        untrained: seed of the freshly initialised twin; None is the trained model.
        dtype: precision to which the weights are rounded.
        quantize: bitsandbytes' form of the weights; None leaves them as they are.
        stack: of an encoder-decoder model; None is its decoder.
        final_norm: whether the final norm belongs to the last block.
        k: number of leading triplets; at its default, a narrower model is looked at with all that
            it has.
        definition: which score.
        p: order of the norm in `paper`.
        role: "A" or "B".
        level: the chance level of scores.
        blocks: block range as text; empty is every block.
        block: the selected row, the block of the Jacobian.
        basis: the selected column, the block of the basis.
        signed: whether matrices are drawn with their signs.
        raw: whether the raw score is drawn in place of the chance-corrected one.
        auto_range: whether colours span the drawn values rather than the fixed range.
        threshold: smallest weight of an edge of the layer graph.
        layout: where its nodes lie.
        fit: what the principal components of paths are fitted on.
        part: whether paths go through all blocks, or through half of them.
        first: whether the first token's path is drawn, which often lies far from all others.
        measure: of coupling, where many models are looked at.
        present: whether the page is shown to a lecture room.
    """

    model: Text = DEFAULT_MODEL
    revision: Annotated[Text, Parameter("rev")] = ""
    prompt: Prompt = DEFAULT_PROMPT
    prompts: _List = ""
    nth: Natural = 0
    token: Annotated[Token, Parameter(of_prompt=True)] = -1
    untrained: Natural | None = None
    dtype: Dtype = "float32"
    quantize: Annotated[Quantisation | None, Parameter("quant")] = None
    stack: Stack | None = None
    final_norm: Annotated[FinalNorm, Parameter("norm")] = "include"
    k: Count = DEFAULT_K
    definition: Annotated[str, _known, Parameter("def")] = "paper"
    p: _Order = 1.0
    role: Role = "A"
    level: Level = "frames"
    blocks: Text = ""
    block: Count = 12
    basis: Count = 11
    signed: Flag = False
    raw: Flag = False
    auto_range: Annotated[Flag, Parameter("auto")] = False
    threshold: _Threshold = DEFAULT_THRESHOLD
    layout: Layout = "line"
    fit: Fit = "last"
    part: Part = "all"
    first: Flag = PathView.first
    measure: Measure = "corrected"
    present: Flag = False

    def request(self, kind: str = "depth") -> Request:
        """What has to be measured; raises `InputError` where no model could do it."""
        k = None if self.k == State.k else self.k
        return Request(**_shared(self), revision=self.revision or None, k=k).of_kind(kind)

    def view(self, *of: Result, blocks: bool = True) -> View:
        """How results are looked at.

        Args:
            *of: the results. Where no K was chosen, it is one that each of them has.
            blocks: whether the chosen range of blocks counts, which is read as one of the first
                result; between tokens there is none.
        """
        unsaid = self.k == State.k
        k = min([self.k, *(one.default_k for one in of if unsaid and one.k_max)])
        chosen = self.range_of(of[0].n_blocks) if blocks and of else None
        return View(k, self.definition, self.p, self.role, chosen, self.level)

    def range_of(self, n_blocks: int) -> tuple[int, ...] | None:
        """The chosen range of a model's blocks; None is all of them."""
        return parse_blocks(self.blocks, n_blocks) if self.blocks else None

    def path_view(self) -> PathView:
        """How paths are looked at."""
        return PathView(self.fit, self.part, self.first)

    def of_request(self, request: Request, k_max: int) -> Self:
        """The same way of looking at another measurement, which holds `k_max` triplets."""
        if not isinstance(request.prompt, str):
            raise InputError("it was measured from token ids, which no link can carry")
        k, revision = min(self.k, k_max or self.k), request.revision or ""
        one = {"prompts": State.prompts, "nth": State.nth}
        return replace(self, **_shared(request), **one, revision=revision, k=k)


def _shared(of: State | Request) -> dict[str, Any]:
    """What a state and the request for what it shows have alike."""
    names = ("model", "prompt", "token", "untrained", "dtype", "quantize", "stack", "final_norm")
    return {name: getattr(of, name) for name in names}
