"""The stops: what is said, asked, drawn and answered at each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from coupling_core.analysis.step_words import rise_and_fall
from coupling_core.base.units import with_minus
from explorer.pages import compare, depth
from explorer.pages.tour import shown
from explorer.pages.tour.shown import BASIS, BLOCK, EXCHANGED, FAR, REQUEST
from explorer.pages.tour.state import TourState
from explorer.pages.training import page as training
from explorer.pages.what_if import page as what_if
from explorer.panels.page import Page
from explorer.session.plain_text import plain, rounded

Words = Callable[[TourState], str]
PAIR = f"blocks {BLOCK} and {BASIS}"
HARDLY = 0.05
"""Scores below this are called hardly coupled."""


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
        "numbers, and adds a small change to it. If the state is moved a little, that change moves "
        f"too. The block's **Jacobian**, a table of {d} times {d} numbers, says how. A block "
        "reacts to moves in some directions more strongly than to moves in others."
    )


def _reacts(_: TourState) -> str:
    return (
        f"The reaction is {shown.strongest(BLOCK):.1f} times that to a random direction. The "
        "Jacobian's **singular vectors** are these directions in order of strength. They come in "
        "pairs: where the state is moved along a direction v that the block reads, its change "
        "moves along the direction u that it writes. Both lists together are the **basis** in "
        "which the block works."
    )


def _plane(_: TourState) -> str:
    return (
        "Do two blocks work in one basis? Write what block 1 does in the basis of block 2, and "
        "look at the matrix. Here is how that looks in a plane, where a basis is two arrows and a "
        "matrix has four numbers. This is a drawing, and no real model: in it u and v are the same."
    )


def _turned(state: TourState) -> str:
    beside = abs(shown.in_basis(state.turn)[0, 1])
    return (
        "The green arrows then lie along the orange ones. A **bright diagonal on a dark ground** "
        "says that two blocks work in one basis, and such blocks are called **coupled**. How "
        "bright each place on the diagonal is tells how strong that direction is; what counts is "
        f"that all is dark beside it. Where you have turned it now, {beside:.2f} stands there."
    )


def _before(_: TourState) -> str:
    result = shown.trained()
    return (
        f"Now a real model: {plain(result.model_name)}, with {result.n_blocks} blocks, as it reads "
        f"“{plain(REQUEST.prompt_words)}”. In the map that comes next each cell is a pair of "
        "blocks, and its colour says how coupled they are, on a scale on which **0 is what a basis "
        "drawn at random gives, and 1 is one basis shared perfectly**. First the model's "
        "**untrained twin**: the same network with random weights, which has learned nothing."
    )


def _untrained(_: TourState) -> str:
    return (
        f"The mean over all pairs of different blocks is {rounded(shown.mean(shown.twin()))}. "
        "Random weights give every block a basis of its own, which has nothing to do with that of "
        "any other. Only the diagonal is grey: there a block is compared with itself, which is 1 "
        "whatever the model, and says nothing. It is not the bright diagonal of the drawing "
        "before, which was inside the matrix of one pair."
    )


def _after(_: TourState) -> str:
    return (
        "The same network has now been trained on text; the prompt is the same. Which pairs of "
        "blocks will be coupled?"
    )


def _trained(_: TourState) -> str:
    result = shown.trained()
    return (
        f"The mean is now {rounded(shown.mean(result))}: of neighbours "
        f"{rounded(shown.mean(result, 1, 1))}, and of blocks more than {FAR} apart still "
        f"{rounded(shown.mean(result, FAR + 1))}, where the twin has "
        f"{rounded(shown.mean(shown.twin()))}. So **training made the blocks work partly in one "
        "basis**, those in the middle of the model most. Partly: these numbers are far from 1. "
        "The last row is of another kind, and left out of these means: behind the last block the "
        "model rescales the state once more. That is counted as part of the block, which so cannot "
        "be compared with the rest."
    )


def _close(_: TourState) -> str:
    return (
        "Behind each cell of the map is a matrix: what one block does, written in the basis of "
        "another. You see that of the pair in the orange square; click on another cell, and you "
        "see that of another pair. The strongest directions come first."
    )


def _matrix(state: TourState) -> str:
    pair = shown.pair(state)
    of_trained, of_twin = (
        shown.found(result).corrected[pair[0] - 1, pair[1] - 1]
        for result in (shown.trained(), shown.twin())
    )
    if of_trained < HARDLY:
        return (
            f"But this pair, blocks {pair[0]} and {pair[1]}, is hardly coupled in the trained "
            f"model either ({rounded(of_trained)}, and {rounded(of_twin)} untrained). Try {PAIR}."
        )
    row, column, most = shown.highest(shown.trained())
    return (
        "In the untrained twin there is noise where the trained model has a diagonal. For blocks "
        f"{pair[0]} and {pair[1]} the map has {rounded(of_trained)} trained and "
        f"{rounded(of_twin)} untrained. For comparison: the highest cell of the map, its last "
        f"row and its last column aside, is {rounded(most)}, block {row} in the basis of block "
        f"{column}. Two coupled blocks do not have the same weights. They share directions."
    )


def _raw(_: TourState) -> str:
    score = shown.found(shown.trained())
    raw = score.coupling[BLOCK - 1, BASIS - 1]
    return (
        f"On the map {PAIR} have {rounded(score.corrected[BLOCK - 1, BASIS - 1])}. The research "
        "papers on coupling begin with another number, the raw score: 1 for a perfect diagonal, "
        f"and less the further the matrix is from it. It is {rounded(raw)} for this pair, which "
        "sounds like a lot. But is it more than chance?"
    )


def _chance(state: TourState) -> str:
    score = shown.found(shown.trained())
    raw, floor = (of[BLOCK - 1, BASIS - 1] for of in (score.coupling, score.chance))
    drawn = f" You have drawn {state.draws}: the grey points." * bool(state.draws)
    return (
        f"A random basis gets {rounded(floor)} on average, the **chance floor**.{drawn} In such a "
        "basis the matrix has no diagonal, and is nearly empty. The raw score is 1 less its "
        "distance from the perfect diagonal, divided by the plain sum of the block's strengths "
        "(the curve of the first stop). That sum is large: here "
        f"{1 / (1 - floor):.0f} times the distance, so that the score is 1 - 1 / "
        f"{1 / (1 - floor):.1f} without any diagonal. The maps show how far a pair is "
        f"above the floor: ({raw:.4f} - {floor:.4f}) / (1 - {floor:.4f}) = "
        f"{rounded((raw - floor) / (1 - floor))}. That is why 0 is chance on them. Without that "
        "correction even an untrained model would seem strongly coupled."
    )


def _learning(_: TourState) -> str:
    last = shown.by_step()[-1]
    return (
        "Another model, small enough to be measured all along: it learns English for "
        f"{last.step:,} steps. At the beginning its blocks are not coupled at all."
    )


def _learned(_: TourState) -> str:
    return (
        f"{rise_and_fall(shown.by_step())} The model gets better to the end. So coupling comes "
        "about in training, but **more training is not more coupling**, and within this run more "
        "coupling is not a better model. Drag the step, and see which pairs light up."
    )


def _exchanging(_: TourState) -> str:
    return (
        "If two blocks work in one basis, perhaps each could do the other's work. Take SmolLM2 "
        "again, let two of its blocks change places, and see how far its predictions of the "
        "next token are from what they were. That is measured in nats: 0 is no change, 1 is "
        "much, and 10 is ruin."
    )


def _exchanged(state: TourState) -> str:
    cost, (a, b) = shown.cost(), EXCHANGED
    own, other = shown.pair(state)
    told = (
        f"Exchanging {PAIR} costs {cost[BLOCK - 1, BASIS - 1]:.2f} nats. Near is no guarantee: "
        f"blocks {a} and {b} are neighbours too, and exchanging them costs "
        f"{cost[a - 1, b - 1]:.1f}. "
    )
    if {own, other} != {BLOCK, BASIS} and own != other:
        told += f"You have chosen {own} and {other}: {cost[own - 1, other - 1]:.2f} nats. "
    if over := shown.correlated():
        told += (
            "Over many prompts and all pairs, a cheap exchange goes with blocks that are near "
            f"(correlation {over.distance.rho:.2f}) more than with blocks that are coupled "
            f"({over.raw.rho:.2f}). If one compares only pairs that are equally far apart, "
            f"coupling says almost nothing more ({over.partial.rho:.2f}, which may be chance). So "
            "**coupling does not tell which blocks may be exchanged**. In the second map bright is "
            "cheap; click on a cell for another pair."
        )
    return told


def _another(_: TourState) -> str:
    other = shown.second()
    return (
        f"Is that so in every model? {plain(other.model_name)} has twice the parameters of "
        f"SmolLM2, {other.n_blocks} blocks, and was trained on more text. It reads the same prompt."
    )


def _two(_: TourState) -> str:
    models = (shown.trained(), shown.second())
    ours, theirs = (with_minus(rounded(shown.mean(result))) for result in models)
    (own, _), (other, by_chance) = map(shown.overlap, models)
    return (
        f"Its mean is {theirs}, and not {ours}: below chance, which is pink. But it is not that "
        "its blocks have nothing in common. The space that the strongest directions of one block "
        f"span overlaps with that of another by {rounded(other)} on average, in SmolLM2 by "
        f"{rounded(own)}, by chance {rounded(by_chance)}. So **coupling is two things: to share a "
        "space, and to pair the directions in it one by one**. Gemma's blocks do more of the first "
        "and less of the second, which the score counts. Whether larger models are alike, two "
        "cannot tell."
    )


def _end() -> str:
    pushed = shown.pushed().interval
    return (
        "- A block reacts to some directions more than to others. Its directions, in order of "
        "strength, are the basis in which it works.\n"
        "- Two blocks are **coupled** where one's Jacobian, written in the other's basis, has a "
        "bright diagonal on a dark ground.\n"
        "- **0 is chance, 1 is a basis shared perfectly.** Raw scores are high by chance alone.\n"
        "- An untrained network is not coupled. Training couples blocks in part, and coupling may "
        "fall again as it goes on.\n"
        "- Of finished models, the papers find, the better ones are more coupled. **That does not "
        "prove that coupling makes them good.** Within one training run it rises and falls while "
        f"the model only gets better; and {pushed.n} small models whose coupling was pushed up as "
        "they learned were slightly worse than the same without the push (held-out loss "
        f"{pushed.mean:+.3f} nats).\n"
        "- Some blocks can change places at little cost, but coupling does not tell which.\n"
        "- Blocks may share a space without pairing the directions in it. Such a model has a low "
        "score."
    )


ALL = (
    Stop(
        "What a block does",
        _block,
        f"Move the state along the direction to which block {BLOCK} reacts most. How strong is the "
        "reaction, compared with that to a random direction?",
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
        ("Nowhere", "At neighbours only", "At neighbours, and at blocks farther apart too"),
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
        "How will the matrix of the same pair look in the untrained twin?",
        ("It has the same diagonal", "It has no diagonal", "All of it is exactly zero"),
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
            "Yes: the more coupled, the cheaper it is, near or far",
            "Some can, but how near they are says more than how coupled they are",
            "None can: every exchange destroys what the model says",
        ),
        1,
        shown.draw_exchange,
        _exchanged,
        is_hidden=True,
        onwards=(what_if.PAGE, "Try your own exchange on What if"),
    ),
    Stop(
        "A second model",
        _another,
        "How coupled are the blocks of the larger model?",
        (
            "More, in nearly all pairs",
            "Less: they share spaces, but hardly pair the directions in them",
            "Not at all: they have nothing in common",
        ),
        1,
        shown.draw_two,
        _two,
        is_hidden=True,
        onwards=(compare.PAGE, "Both models, and their difference, on Compare"),
    ),
)
AT_THE_END = _end
