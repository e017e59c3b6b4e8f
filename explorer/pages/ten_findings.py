"""Ten things that were found, each a sentence with its numbers and a way to its figure.

The sentences are made of what ships, so that none says what its figure does not show.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from coupling_core.analysis.graph import layer_graph
from coupling_core.analysis.perturbation import perturbation_radius
from coupling_core.analysis.scores import means
from coupling_core.analysis.spectra import effective_rank
from coupling_core.analysis.step_words import rise_and_fall
from coupling_core.analysis.trajectory import line_shape
from coupling_core.base.numbers import mean as over_tokens
from coupling_core.base.records import DEFAULT_MODEL, DEFAULT_THRESHOLD, Request
from coupling_core.base.units import percent, with_minus
from coupling_core.experiments.gallery import EXAMPLES
from explorer.pages import depth, perturbation, spectrum, trajectories
from explorer.pages import layer_graph as graph
from explorer.pages.tour import shown
from explorer.pages.train_one import page as train_one
from explorer.pages.training import page as training
from explorer.pages.what_if import page as what_if
from explorer.panels.page import Page
from explorer.panels.way import way
from explorer.session.plain_text import plain, rounded
from explorer.session.session import change

_HERE = {"model": DEFAULT_MODEL, "prompt": EXAMPLES[0], "untrained": None, "blocks": ""}


@dataclass(frozen=True)
class Finding:
    """One of them.

    Args:
        told: makes the sentence.
        page: that has its figure.
        chosen: what is chosen there.
    """

    told: Callable[[], str]
    page: Page
    chosen: Mapping[str, Any] = field(default_factory=lambda: _HERE)


def show() -> None:
    """Draw the list, folded; the sentences are made where it is opened."""
    title, key = "Ten findings, each with its figure", "findings@start"
    fold = st.expander(title, key=key, on_change=change, type="compact")
    if not fold.open:
        return
    with fold:
        for number, one in enumerate(ALL, 1):
            st.markdown(f"{number}. {plain(with_minus(one.told()))}")
            way(one.page, f"On {one.page.title}", place=f"-finding-{number}", **one.chosen)


def _of(kind: str, untrained: int | None = None) -> Any:
    return shown.stored(Request(EXAMPLES[0], kind=kind, untrained=untrained))


def _both() -> tuple[dict[str, float], dict[str, float]]:
    """Means of the scores, trained and untrained."""
    return tuple(means(shown.found(one)) for one in (shown.trained(), shown.twin()))  # type: ignore[return-value]


def _coupled() -> str:
    trained, twin = _both()
    return (
        "The blocks of a trained language model share a part of one basis: the mean "
        f"chance-corrected score of all pairs is {rounded(trained['corrected'])}, and that of the "
        f"same network with random weights {rounded(twin['corrected'])}."
    )


def _raw() -> str:
    trained, twin = _both()
    return (
        "Without the correction for chance nobody would see it: the raw scores are "
        f"{rounded(trained['coupling'])} and {rounded(twin['coupling'])}."
    )


def _graph() -> str:
    edges, none = (
        layer_graph(shown.found(one), threshold=DEFAULT_THRESHOLD).number_of_edges()
        for one in (shown.trained(), shown.twin())
    )
    pairs = shown.trained().n_blocks * (shown.trained().n_blocks - 1) // 2
    return (
        f"At a score of {DEFAULT_THRESHOLD:g} or more, {edges} of {pairs} pairs of blocks are "
        f"joined in a graph, and {none or 'none'} of the untrained network."
    )


def _training() -> str:
    return f"In training coupling comes early and goes again. {rise_and_fall(shown.by_step())}"


def _cheapest() -> int:
    """The first of the two neighbours whose exchange costs least."""
    return int(np.diag(shown.cost(), 1).argmin()) + 1


def _exchange() -> str:
    cost, cheap, (a, b) = shown.cost(), _cheapest(), shown.EXCHANGED
    least, most = cost[cheap - 1, cheap], cost[a - 1, b - 1]
    return (
        f"Blocks {cheap} and {cheap + 1} may change places, and the model hardly notices "
        f"({least:.2f} nats); blocks {a} and {b} may not ({most:.1f} nats)."
    )


def _which() -> str:
    over = shown.correlated()
    if over is None:
        return "Which blocks may change places is told by how near they are."
    return (
        "Which blocks may change places is told by how near they are (rank correlation "
        f"{over.distance.rho:.2f}) better than by how coupled they are ({over.raw.rho:.2f}), which "
        f"adds {over.partial.rho:.2f} where distance is held fixed: no more than chance often does."
    )


def _paths() -> str:
    trained, twin = (
        over_tokens(line_shape(_of("trajectory", untrained).states)) for untrained in (None, 0)
    )
    return (
        "Tokens go straighter through a trained model: their paths' line-shape score, which is 1 "
        f"of a straight line, is {trained:.2f}, and {twin:.2f} untrained."
    )


def _spectrum() -> str:
    trained, twin = (
        effective_rank(_of("spectrum", untrained).product_values)[-1] for untrained in (None, 0)
    )
    return (
        f"Of {shown.trained().width} directions of the state, all blocks together let about "
        f"{trained:.0f} through, and those of the untrained network {twin:.0f}."
    )


def _linear() -> str:
    radius = float(perturbation_radius(_of("perturbation"))[0, -1])
    return (
        f"The linearised blocks hold for small changes only: from noise of {percent(radius)} of a "
        "token's embedding on, their product is off by a tenth at the last block."
    )


def _pushed() -> str:
    one = shown.pushed().interval
    return (
        "Coupling that is pushed up in training made small language models no better, but slightly "
        f"worse: {one.mean:+.3f} nats of held-out loss (95\u00a0%: {one.low:+.3f} to "
        f"{one.high:+.3f}, {one.n} seeds)."
    )


ALL = (
    Finding(_coupled, depth.PAGE),
    Finding(_raw, depth.PAGE, _HERE | {"raw": True}),
    Finding(_graph, graph.PAGE),
    Finding(_training, training.PAGE, {"step": 128}),
    Finding(
        _exchange, what_if.PAGE, _HERE | dict(zip(("block", "basis"), shown.EXCHANGED, strict=True))
    ),
    Finding(_which, what_if.PAGE),
    Finding(_paths, trajectories.PAGE),
    Finding(_spectrum, spectrum.PAGE),
    Finding(_linear, perturbation.PAGE),
    Finding(_pushed, train_one.PAGE, {}),
)
