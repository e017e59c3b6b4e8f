"""What is chosen on the Tokens page, what is measured for it, and the same outside the app."""

from dataclasses import dataclass, fields, replace
from typing import Annotated, Self

from coupling_core.base.errors import InputError
from coupling_core.base.records import Request, TokenKind, View
from explorer.panels.recipes import Recipes, measuring, program, raw, viewed
from explorer.session.link import Flag, Natural, Parameter
from explorer.session.state import State, Token


@dataclass(frozen=True)
class TokensState(State):
    """What is chosen on this page.

    Args:
        kind: which tokens the Jacobians join.
        fixed: the token that `kind` fixes, 1..n or counted from the end; None is the one that all
            others may be compared with, the first as an input and the last as an output.
        all_pairs: whether tokens are compared on average over all pairs of blocks, rather than in
            the selected one.
        other_token: the selected column, the token of the basis; `token` is the selected row.
        row_window: the first of the tokens shown as rows of a long prompt; 0 shows the selected.
        column_window: the same of the columns.
        matrices: whether tokens are compared by their matrices, rather than by their scores.
    """

    kind: Annotated[TokenKind, Parameter(former="mode")] = "self"
    fixed: Annotated[Token | None, Parameter(of_prompt=True)] = None
    all_pairs: Annotated[Flag, Parameter("all")] = False
    other_token: Annotated[Token, Parameter("other", of_prompt=True)] = -2
    row_window: Annotated[Natural, Parameter("rows", of_prompt=True)] = 0
    column_window: Annotated[Natural, Parameter("columns", of_prompt=True)] = 0
    matrices: Annotated[Flag, Parameter("tiles")] = False

    def token_request(self, block: int, basis: int) -> Request:
        """What has to be measured."""
        pair = {} if self.all_pairs else {"block": block, "other_block": basis}
        fixed = Request.token if self.kind == "self" else self.fixed_token
        return replace(self.request(), kind=self.kind, token=fixed, **pair)

    @property
    def fixed_token(self) -> int:
        """The token that the kind fixes, as chosen or as it is by default."""
        if self.fixed is not None:
            return self.fixed
        return 1 if self.kind == "fixed-input" else Request.token

    def of_request(self, request: Request, k_max: int) -> Self:
        """The selection that leads to this request, which is of two blocks or of all pairs."""
        if request.block is None or request.other_block is None:
            pair = {"all_pairs": True}
        elif min(request.block, request.other_block) < 0:
            raise InputError("its blocks were counted from the end, which no link can carry")
        else:
            pair = {"block": request.block, "basis": request.other_block, "all_pairs": False}
        begun = ("token", "other_token", "row_window", "column_window")
        return replace(
            super().of_request(request, k_max),
            **{item.name: item.default for item in fields(self) if item.name in begun},
            kind=request.kind,
            fixed=None if request.kind == "self" else request.token,
            **pair,
        )


def recipes(request: Request, view: View, state: State) -> Recipes:
    """How to come by the scores outside the app."""
    names = "found.corrected)  # row t, column t'; see also found.coupling, found.chance"
    always = {"k": view.k, "kind": request.kind}
    if request.kind != "self":
        always |= {"token": request.token}
    options = viewed(state, blocks=False)
    options |= {"block": (request.block, None), "other-block": (request.other_block, None)}
    return Recipes(
        program(request, view, "score_positions", names),
        measuring("tokens", request, always, options, raw(state)),
    )
