"""What the pages about a list of prompts share: the mean, and where each prompt stands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from coupling_core import figures
from coupling_core.analysis.comparing_models import compare_models
from coupling_core.analysis.exports import to_csv
from coupling_core.analysis.over_prompts import (
    OfPrompt,
    few_words,
    interval_words,
    of_prompt,
    origin,
    spread_words,
)
from coupling_core.analysis.scores import Interval, known_interval
from coupling_core.analysis.verdict import MIDDLE, Verdict, verdict_over
from coupling_core.base.records import Request, View, parse_blocks
from coupling_core.base.results import DepthResult
from coupling_core.base.units import counted, ranges, rounded, with_minus
from coupling_core.figures.style import score_name, score_terms
from explorer.asking import listing
from explorer.asking.several import counterpart
from explorer.panels.chart import draw, made
from explorer.panels.kept import kept
from explorer.panels.recipes import Recipes
from explorer.panels.strip import Quiet, take_along
from explorer.panels.switches import switch
from explorer.server import prompt_lists
from explorer.server.prompt_lists import SHIPPED, PromptList
from explorer.session.fitting import narrow
from explorer.session.plain_text import plain
from explorer.session.session import change, value
from explorer.session.state import State

LONG = 20
"""Letters of a list of blocks, beyond which an axis has how many they are."""
LEAST = 2
"""Prompts that both models have, from which on they are compared."""


@dataclass(frozen=True)
class Numbers:
    """A number of each prompt.

    Args:
        listed: the list.
        values: by the prompts' numbers in it, from 1; NaN where one has none. Those that are not
            measured are missing.
        title: what the number is, with its unit.
        column: its name in a table.
        origin: the "title" and the "source" of files.
        terms: definition and K; "" where it has none.
        chance: what it is by chance, or in an ideal case; None where there is no such value.
        zero: what has that value.
        beside: the same of another model with the same prompts, where there is one.
        other: what to call that one, "trained" or "untrained".
        other_chance: what its number is by chance, where that is another one.
    """

    listed: PromptList
    values: Mapping[int, float]
    title: str
    column: str
    origin: Mapping[str, object]
    terms: str = ""
    chance: float | None = None
    zero: str = "chance"
    beside: Mapping[int, float] = field(default_factory=dict)
    other: str = ""
    other_chance: float | None = None

    @property
    def is_twin(self) -> bool:
        """Whether the numbers are the untrained twin's, beside the trained model's."""
        return self.other == "trained"

    @property
    def over(self) -> Interval:
        """Their mean, and how sure it is."""
        return known_interval(np.array(list(self.values.values()), np.float64))

    def table(self) -> pd.DataFrame:
        """A row a prompt."""
        rows = [
            {
                "number": number,
                self.column: value,
                **({f"{self.column}_{self.other}": self.beside[number]} if self.beside else {}),
                "prompt": self.listed.prompts[number - 1].text,
                "category": self.listed.prompts[number - 1].category,
            }
            for number, value in self.values.items()
        ]
        named = any(row["category"] for row in rows)
        return pd.DataFrame(rows).drop(columns=[] if named or not rows else ["category"])


def view_of(state: State) -> View:
    """How the prompts are looked at; where no K was chosen, one that the model has."""
    view, most = state.view(), narrow(state)
    return replace(view, k=most) if most and state.k == State.k else view


def scores_of(result: DepthResult, view: View, blocks: str) -> OfPrompt:
    """What is kept of a prompt's result, at these blocks as they were typed."""
    return of_prompt(result, replace(view, blocks=parse_blocks(blocks, result.n_blocks)))


def measured(
    requests: Sequence[Request],
    look: Callable[..., Any],
    *args: Any,
    twin: Sequence[Request] = (),
) -> dict[int, Any]:
    """What is kept of the prompts that are stored; the rest is offered to be measured."""
    found = listing.stored(requests, look, *args)
    lacking = [number for number in range(1, len(requests) + 1) if number not in found]
    if lacking:
        listing.offer(requests, lacking, twin=twin)
    return found


def tell(numbers: Numbers, what: str, verdict: Verdict | None = None) -> None:
    """Say what the prompts come to, which of them are the ends, and whether they are few.

    A `verdict` has the mean and its interval already.
    """
    over = numbers.over
    if not over.n:
        st.info("None of these prompts has such a number.")
        return
    spread = spread_words(numbers.values, of="of the untrained twin" if numbers.is_twin else "")
    if verdict:
        st.markdown(f"**{plain(with_minus(str(verdict)))}**")
        st.caption(with_minus(f"{plain(verdict.reason)} {spread}"))
    else:
        mean = (
            f"Over {counted(over.n, 'prompt')}, the mean {plain(what)} is "
            f"**{interval_words(over)}**"
        )
        gives = "chance gives" if numbers.zero == "chance" else f"{numbers.zero} would have"
        mean += f", where {gives} {rounded(numbers.chance)}." if numbers.chance else "."
        st.markdown(with_minus(f"{mean} {spread}"))
    if few := few_words(over.n, of_coupling=numbers.zero == "chance"):
        st.warning(few, icon=":material/warning:")


def twin_of(
    requests: Sequence[Request], found: Mapping[int, OfPrompt], look: tuple[Any, ...]
) -> dict[int, OfPrompt]:
    """What is kept of the counterpart, trained or untrained, of the prompts that are shown.

    There is nothing where one of the prompts lacks it: the two are compared over the same ones.
    """
    other = listing.stored([counterpart(request) for request in requests], *look)
    return {number: other[number] for number in found} if found.keys() <= other.keys() else {}


def offer_twin(
    requests: Sequence[Request], found: Mapping[int, OfPrompt], look: tuple[Any, ...]
) -> None:
    """Offer to measure the counterpart too, once the model itself is measured."""
    if len(found) < len(requests):
        return
    others = [counterpart(request) for request in requests]
    other = listing.stored(others, *look)
    listing.offer(others, sorted(found.keys() - other.keys()), beside=True)


def judged(
    requests: Sequence[Request],
    found: Mapping[int, OfPrompt],
    twin: Mapping[int, OfPrompt],
    *,
    corrected: bool,
) -> Verdict | None:
    """Whether the blocks are coupled, in scores that are chance-corrected or raw.

    None where that cannot be said.
    """
    if not twin:
        return None
    is_twin = requests[0].untrained is not None
    trained, untrained = (twin, found) if is_twin else (found, twin)
    return kept(
        verdict_over, tuple(trained.values()), tuple(untrained.values()), corrected=corrected
    )


def difference(
    found: Mapping[int, OfPrompt],
    twin: Mapping[int, OfPrompt],
    *,
    corrected: bool,
    is_twin: bool,
) -> list[str]:
    """How a model differs from its counterpart, prompt by prompt, in a sentence.

    Nothing is said of too few prompts, and of raw scores, whose floors differ too.
    """
    if not (twin and corrected) or len(found) < LEAST:
        return []
    told = kept(_versus, tuple(found.items()), tuple(twin.items()))
    which = "Untrained minus trained" if is_twin else "Trained minus untrained"
    return [plain(with_minus(f"{which}, prompt by prompt: {told}."))]


def _versus(found: Sequence[tuple[int, OfPrompt]], twin: Sequence[tuple[int, OfPrompt]]) -> str:
    """How a model differs from its counterpart, prompt by prompt."""
    rows = [
        {
            "model": one.model,
            "prompt": str(number),
            "kind": "depth",
            "corrected": one.mean(corrected=True),
        }
        for of in (found, twin)
        for number, one in of
    ]
    table = pd.DataFrame(rows).assign(k=found[0][1].scores.view.k)
    return compare_models(table, *(of[0][1].model for of in (found, twin))).difference_words


def blocks_switch(n_blocks: int, place: str) -> None:
    """Draw what chooses the blocks that are averaged; any others are typed in the sidebar."""
    first, last = MIDDLE[0], MIDDLE[-1]
    words = {"": "All"} | ({f"{first}-{last}": f"{first}-{last}"} if n_blocks >= last else {})
    if (typed := value("blocks")) not in words:
        words |= {typed: typed}
    if len(words) > 1:
        switch("Blocks", "blocks", words, place=place)


def strip_of(numbers: Numbers, nth: int) -> None:
    """Draw where each prompt stands, and what there is to say of the one that is chosen.

    It is the `nth`, from 1; 0 is none.
    """
    texts = {number: numbers.listed.prompts[number - 1].words for number in numbers.values}
    levels = {
        numbers.zero: numbers.chance,
        f"chance of the {numbers.other} model": numbers.other_chance,
    }
    figure = made(
        figures.prompt_strip,
        dict(numbers.values),
        texts,
        numbers.over,
        numbers.title,
        origin=numbers.origin,
        terms=numbers.terms,
        levels={name: at for name, at in levels.items() if at is not None},
        selected=nth,
        beside=dict(numbers.beside),
        other=numbers.other,
        name="prompts, untrained" if numbers.is_twin else "prompts",
    )
    draw(figure, "prompts", None, lambda: numbers.table().set_index("number"), picks=("nth",))
    if nth in numbers.values:
        _one(numbers, nth)


def _one(numbers: Numbers, nth: int) -> None:
    prompt = numbers.listed.prompts[nth - 1]
    kind = f", {prompt.category}" if prompt.category else ""
    st.markdown(
        f"**Prompt {nth}**{plain(kind)}: “{plain(prompt.words)}”, "
        f"**{with_minus(rounded(numbers.values[nth]))}**"
    )
    st.button(
        "See it alone",
        icon=":material/arrow_forward:",
        on_click=change,
        kwargs={"prompt": prompt.text, "prompts": State.prompts, "nth": State.nth},
        key="alone@list",
    )


def by_category(numbers: Numbers) -> None:
    """Tell the mean of each category of prompts, where the list has several."""
    groups: dict[str, list[float]] = {}
    for number, one in numbers.values.items():
        if category := numbers.listed.prompts[number - 1].category:
            groups.setdefault(category, []).append(one)
    if len(groups) < LEAST:
        return
    rows = [(name, known_interval(np.array(group))) for name, group in groups.items()]
    st.table(
        pd.DataFrame(
            {
                "Category": [plain(name) for name, _ in rows],
                "Prompts": [over.n for _, over in rows],
                "Mean": [with_minus(interval_words(over)) for _, over in rows],
            }
        ).set_index("Category")
    )


def tools(
    numbers: Numbers, recipes: Recipes, guide: str, files: Sequence[tuple[str, Any, str]], line: str
) -> None:
    """Say what is drawn in a line, and offer link, files, recipes and a guide."""
    listed = numbers.listed
    own = (
        ("Numbers by prompt (.csv)", lambda: to_csv(numbers.table()), "prompts.csv"),
        (
            "The prompts (.jsonl)",
            lambda: prompt_lists.to_jsonl(listed.prompts).encode(),
            "prompts.jsonl",
        ),
    )
    facts = [plain(str(numbers.origin.get("source", "")))]
    take_along((*files, *own), recipes, guide, Quiet(line, facts))
    if not prompt_lists.has_link(listed.name):
        st.caption(
            "No link can carry this list, which is here for this visit alone: keep its file, "
            "which Export has."
        )
    if listed.repeated:
        st.caption(f"{counted(listed.repeated, 'prompt')} came more than once, and count once.")


def file_called(listed: PromptList) -> str:
    """What recipes call the file of a list."""
    is_ours = listed.name == SHIPPED
    return "sweeps/prompts.jsonl" if is_ours else "prompts.jsonl"


def means(
    listed: PromptList,
    found: Mapping[int, OfPrompt],
    view: View,
    *,
    corrected: bool,
    twin: Mapping[int, OfPrompt] | None = None,
    other: str = "",
) -> Numbers:
    """The mean score of each prompt over its pairs of different blocks."""
    parts = list(found.values())
    of, beside = (
        {number: one.mean(corrected=corrected) for number, one in each.items()}
        for each in (found, twin or {})
    )
    return Numbers(
        listed,
        of,
        f"Mean {score_name(corrected).lower()}, {_which(parts)}",
        "corrected" if corrected else "coupling",
        origin(parts, listed.title, view),
        score_terms(view),
        0.0 if corrected else _floor(parts),
        beside=beside,
        other=other,
        other_chance=_floor(list(twin.values())) if twin and not corrected else None,
    )


def _which(parts: Sequence[OfPrompt]) -> str:
    """The blocks that were averaged, in words."""
    blocks = parts[0].scores.blocks
    if len(blocks) == parts[0].n_blocks:
        return "all blocks"
    text = ranges(blocks)
    return counted(len(blocks), "block") if len(text) > LONG else f"blocks {text}"


def _floor(parts: Sequence[OfPrompt]) -> float | None:
    """Mean over the prompts of their chance floors; None where no pair has a score."""
    over = known_interval(np.array([one.scores.mean().chance for one in parts]))
    return over.mean if over.n else None


def pair_words(found: Mapping[int, OfPrompt], pair: tuple[int, int], *, corrected: bool) -> str:
    """The mean score of one pair of blocks over the prompts, as Markdown; "" where it has none."""
    name = "chance-corrected score" if corrected else "score c"
    blocks = next(iter(found.values())).scores.blocks
    block, basis = pair
    if block == basis or not {block, basis} <= set(blocks):
        return ""
    at = blocks.index(block), blocks.index(basis)
    values = [
        (one.scores.corrected if corrected else one.scores.coupling)[at] for one in found.values()
    ]
    over = known_interval(np.array(values, np.float64))
    floor = known_interval(np.array([one.scores.chance[at] for one in found.values()])).mean
    return (
        f"Jacobian of block {block} in the basis of block {basis}: mean {name} "
        f"**{interval_words(over)}**" + f", chance floor {rounded(floor)}" * (not corrected)
    )
