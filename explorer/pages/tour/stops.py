"""The eight stops: what is said, asked, drawn and answered at each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from explorer.pages import depth
from explorer.pages.tour import shown
from explorer.pages.tour.shown import BASIS, BLOCK, EXCHANGED, FAR, REQUEST
from explorer.pages.tour.state import TourState
from explorer.pages.training import page as training
from explorer.pages.what_if import page as what_if
from explorer.panels.page import Page
from explorer.session.plain_text import plain

Words = Callable[[TourState], str]
PAIR = f"blocks {BLOCK} and {BASIS}"


@dataclass(frozen=True)
class Stop:
    """A stop.

    Args:
        title: of it.
        text: what is said first, in Markdown.
        question: to be guessed.
        answers: to choose from.
        right: which of them is, from 0.
        draw: its figures.
        told: the answer, with numbers of these figures, in Markdown.
        is_hidden: whether the figures are the answer, and come after the guess.
        onwards: a page that has more of it, and what the way there is called.
        chosen: what is chosen there.
    """

    title: str
    text: Words
    question: str
    answers: tuple[str, ...]
    right: int
    draw: Callable[[TourState], None]
    told: Words
    is_hidden: bool = False
    onwards: tuple[Page, str] | None = None
    chosen: Mapping[str, Any] = field(default_factory=dict)


def _block(_: TourState) -> str:
    d = shown.trained().width
    return (
        f"A transformer is a stack of blocks. Each block reads the state of a token, a list of {d} "
        "numbers, and adds a small change to it. Move the state a little, and the change moves "
        f"too: how, says the block's **Jacobian**, a table of {d} times {d} numbers. A block "
        "reacts strongly if the state moves in some directions, and hardly at all in others."
    )


def _reacts(_: TourState) -> str:
    return (
        f"The reaction is {shown.strongest(BLOCK):.1f} times that to a random direction. The "
        "Jacobian's **singular vectors** are these directions in order of strength: those that a "
        "block reads, and those that it writes. They are the **basis** in which the block works."
    )


def _plane(_: TourState) -> str:
    return (
        "Do two blocks work in one basis? Write what block 1 does in the basis of block 2, and "
        "look at the matrix. Here is how that looks in a plane, where a basis is two arrows. This "
        "is a drawing, and no real model."
    )


def _turned(state: TourState) -> str:
    beside = abs(shown.in_basis(state.turn)[0, 1])
    return (
        "The green arrows then lie on the orange ones. A **bright diagonal on a dark ground** says "
        "that two blocks work in one basis, and such blocks are called **coupled**. Where you have "
        f"turned it now, the entries beside the diagonal are {beside:.2f}."
    )


def _before(_: TourState) -> str:
    result = shown.trained()
    return (
        f"Now a real model: {plain(result.model_name)}, with {result.n_blocks} blocks, as it reads "
        f"“{plain(REQUEST.prompt_words)}”. In the map below each cell is a pair of blocks, and its "
        "colour says how coupled they are, on a scale on which **0 is what a basis drawn at random "
        "gives, and 1 is one basis shared perfectly**. First the model's **untrained twin**: the "
        "same network with random weights, which has learned nothing."
    )


def _untrained(_: TourState) -> str:
    return (
        f"The mean over all pairs of different blocks is {_number(shown.mean(shown.twin()))}. "
        "Random weights give every block a basis of its own, which has nothing to do with that of "
        "any other. Only the diagonal is grey: there a block is compared with itself, which says "
        "nothing."
    )


def _after(_: TourState) -> str:
    return (
        "The same network has now been trained on text; the prompt is the same. Which pairs of "
        "blocks will be coupled?"
    )


def _trained(_: TourState) -> str:
    result = shown.trained()
    return (
        f"The mean is now {_number(shown.mean(result))}: of neighbours "
        f"{_number(shown.mean(result, 1, 1))}, and of blocks more than {FAR} apart still "
        f"{_number(shown.mean(result, FAR + 1))}, where the twin has "
        f"{_number(shown.mean(shown.twin()))}. So **training made the blocks work partly in one "
        "basis**, all through the model. Partly: these numbers are far from 1. (The bright last "
        "row is of another kind: the last block has the model's final norm in it, and is left out "
        "of these means.)"
    )


def _close(_: TourState) -> str:
    return (
        "Each cell of the map on the left stands for a matrix: what one block does, written in the "
        "basis of another. On the right is that of the pair in the red square. The brighter a "
        "place on its diagonal, the more strongly the block reacts to a direction of the other."
    )


def _matrix(_: TourState) -> str:
    result = shown.trained()
    score = shown.found(result).corrected[BLOCK - 1, BASIS - 1]
    row, column, most = shown.highest(result)
    return (
        f"In {PAIR} that is so in part: their score is {_number(score)}, where 0 is chance and 1 "
        "would be one basis. "
        f"The most coupled pair are blocks {row} and {column}, with {_number(most)}. The weights "
        "of two coupled blocks are not the same; only the directions are shared."
    )


def _raw(_: TourState) -> str:
    score = shown.found(shown.trained())
    raw = score.coupling[BLOCK - 1, BASIS - 1]
    return (
        f"The score that the papers define is not {_number(score.corrected[BLOCK - 1, BASIS - 1])} "
        f"for {PAIR}. It is {_number(raw)}, and 1 is the most that there is. That sounds like a "
        "lot. But is it more than chance?"
    )


def _chance(state: TourState) -> str:
    score = shown.found(shown.trained())
    raw, floor = (of[BLOCK - 1, BASIS - 1] for of in (score.coupling, score.chance))
    drawn = f" You have drawn {state.draws}: the grey points." * bool(state.draws)
    return (
        f"A random basis gets {_number(floor)} on average, the **chance floor**.{drawn} It is so "
        "high because of how the score is defined, and it says nothing about the model. So the "
        f"maps show how far a pair is above it: ({_number(raw)} - {_number(floor)}) / (1 - "
        f"{_number(floor)}) = {_number((raw - floor) / (1 - floor))}. That is why 0 is chance. "
        "Without it even an untrained model would seem strongly coupled."
    )


def _learning(_: TourState) -> str:
    last = shown.by_step()[-1]
    return (
        f"A small model learns English for {last.step:,} steps. At the beginning its blocks are "
        "not coupled at all. How will the mean coupling of its blocks go on?"
    )


def _learned(_: TourState) -> str:
    numbers = shown.by_step()
    first, last = numbers[0], numbers[-1]
    top = max(numbers, key=lambda one: one.corrected)
    return (
        f"It rises from {_number(first.corrected)} to {_number(top.corrected)} at step "
        f"{top.step:,}, then falls to {_number(last.corrected)}. Meanwhile the loss falls all the "
        f"way, from {first.loss:.2f} to {last.loss:.2f}: the model gets better to the end. So "
        "coupling comes about in training, but **more training is not more coupling**, and within "
        "one run more coupling is not a better model. Drag the step from 0."
    )


def _exchanging(_: TourState) -> str:
    return (
        "If two blocks work in one basis, perhaps each could do the other's work. Take the trained "
        "model, let two blocks change places, and look how far what the model says is changed: 0 "
        "nats is not at all. Can coupled blocks be exchanged?"
    )


def _exchanged(_: TourState) -> str:
    cost, (a, b) = shown.cost(), EXCHANGED
    told = (
        f"Exchanging {PAIR} changes what the model says by {cost[BLOCK - 1, BASIS - 1]:.2f} nats, "
        f"exchanging {a} and {b}, which are neighbours too, by {cost[a - 1, b - 1]:.1f}. "
    )
    if over := shown.correlated():
        told += (
            "Over many prompts and all pairs, how little an exchange does goes with how near the "
            f"blocks are (correlation {over.distance.rho:.2f}) more than with how coupled they are "
            f"({over.raw.rho:.2f}). Among pairs equally far apart, coupling adds "
            f"{over.partial.rho:.2f}, which may be chance (p = {over.partial_mantel_p:.1f}). So "
            "**coupling does not tell which blocks may be exchanged**."
        )
    return told


def _end() -> str:
    pushed = shown.pushed().interval
    return (
        "- A block reacts most to a few directions. They are the basis in which it works.\n"
        "- Two blocks are **coupled** where one's Jacobian, written in the other's basis, has a "
        "bright diagonal on a dark ground.\n"
        "- **0 is chance, 1 is a basis shared perfectly.** Raw scores are high by chance alone.\n"
        "- An untrained network is not coupled. Training makes blocks coupled, in part, near ones "
        "most.\n"
        "- The papers find that better models are more coupled. **That does not prove that "
        "coupling makes them good.** In training it rises and falls while the model only gets "
        f"better; and {pushed.n} small models whose coupling was pushed up as they learned were "
        f"slightly worse for it (held-out loss {pushed.mean:+.3f} nats).\n"
        "- Coupled blocks are not the same, and cannot simply be exchanged."
    )


def _number(value: float) -> str:
    """Three digits, and never minus zero."""
    return f"{round(float(value), 3) + 0.0:.3f}"


ALL = (
    Stop(
        "What a block does",
        _block,
        f"Move the state along the direction to which block {BLOCK} reacts most. How strong is the "
        "reaction, beside that to a random direction?",
        ("About the same", "About 5 times as strong", "About 50 times as strong"),
        1,
        shown.draw_reaction,
        _reacts,
        is_hidden=True,
    ),
    Stop(
        "Two bases",
        _plane,
        "Turn the basis of block 2 until the matrix is bright on its diagonal and dark beside it. "
        "What is then true?",
        (
            "Block 2 does nothing",
            "Both blocks have the same directions",
            "The second basis lies halfway between those of the first",
        ),
        1,
        shown.draw_bases,
        _turned,
    ),
    Stop(
        "Guess: a network that has learned nothing",
        _before,
        "How will the map of the untrained twin look?",
        ("Dark everywhere", "Bright where blocks are neighbours", "Bright everywhere"),
        0,
        shown.draw_untrained,
        _untrained,
        is_hidden=True,
    ),
    Stop(
        "Guess: the same network, trained",
        _after,
        "Where will the map of the trained model be brighter?",
        (
            "Nowhere",
            "At neighbours only",
            "At neighbours most, and at blocks far apart too",
        ),
        2,
        shown.draw_both,
        _trained,
        is_hidden=True,
        onwards=(depth.PAGE, "Try other prompts on Depth"),
        chosen={"untrained": None},
    ),
    Stop(
        "A pair from close up",
        _close,
        "What does a bright diagonal on a dark ground say of two blocks?",
        (
            "They have the same weights",
            "The directions that one of them uses are those that the other uses too",
            "The model is sure of its answer",
        ),
        1,
        shown.draw_pair,
        _matrix,
        onwards=(depth.PAGE, "All that is known of this pair, on Depth"),
        chosen={"untrained": None},
    ),
    Stop(
        "Is it chance?",
        _raw,
        f"What raw score will block {BLOCK} get in a basis that is drawn at random?",
        ("About 0", "About 0.5", "About 0.85"),
        2,
        shown.draw_random,
        _chance,
        is_hidden=True,
    ),
    Stop(
        "As a model learns",
        _learning,
        "How does coupling go as the model learns?",
        ("It rises to the end", "It rises, and then falls", "It stays where it is"),
        1,
        shown.draw_training,
        _learned,
        is_hidden=True,
        onwards=(training.PAGE, "More training runs on Training"),
    ),
    Stop(
        "Exchange two blocks",
        _exchanging,
        "Can coupled blocks be exchanged?",
        (
            "Yes, whatever the pair",
            "Near ones often, and how near they are says more than how coupled they are",
            "No exchange does any harm, coupled or not",
        ),
        1,
        shown.draw_exchange,
        _exchanged,
        is_hidden=True,
        onwards=(what_if.PAGE, "Try your own exchange on What if"),
    ),
)
AT_THE_END = _end
