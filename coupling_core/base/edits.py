"""Edits of a model's depth: what they are called, and which blocks run where.

The slots 1..L of a model hold its blocks. An edit says what runs in each of them:

    none                  what is there
    skip(l)               slot l passes its input on
    repeat(l)             slot l runs its block twice
    replace(l,m)          slot l runs block m
    interchange(l,m)      the slots l and m run each other's block
    damp(l,a)             slot l gives x + a f^l(x), 0 <= a <= 2
    reverse(a-b)          the slots a..b run their blocks in the opposite order
    parallel(a-b)         blocks a..b all read the input of slot a; their residual maps are averaged

These spellings are those of links, the command line and files. Blocks are numbered 1..L; -1 is the
last.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

from pydantic import Field

from coupling_core.base.choosing import nearest
from coupling_core.base.errors import InputError, refuse
from coupling_core.base.records import Ordinal, record, resolve_block

Verb = Literal["none", "skip", "repeat", "replace", "interchange", "damp", "reverse", "parallel"]
_ONE, _PAIR, _RANGE = r"(-?\d+)", r"(-?\d+),(-?\d+)", r"(-?\d+)-(-?\d+)"
_FORMS: Mapping[Verb, tuple[str, str]] = {
    # what is between the brackets, and an example
    "none": ("", "none"),
    "skip": (_ONE, "skip(12)"),
    "repeat": (_ONE, "repeat(3)"),
    "replace": (_PAIR, "replace(4,7)"),
    "interchange": (_PAIR, "interchange(12,13)"),
    "damp": (_ONE + r",([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)", "damp(5,0.5)"),
    "reverse": (_RANGE, "reverse(8-12)"),
    "parallel": (_RANGE, "parallel(8-11)"),
}


@dataclass(frozen=True)
class Step:
    """One thing that a slot does with the state x that reaches it: x + factor * mean of f^m(x).

    The m are `blocks`, 1..L; with a factor of 1 and a single one that is F^m(x).
    """

    blocks: tuple[int, ...]
    factor: float = 1.0


Slots = tuple[tuple[Step, ...], ...]
"""What each slot does, in order; a slot of no step passes its input on."""


@record
class Edit:
    """An edit of a model's depth; `parse_edit` reads one from its spelling.

    Args:
        verb: what it does.
        blocks: the numbers in its brackets, 1..L or counted from the end.
        factor: a, of `damp` alone.

    Raises:
        InputError: on another verb, or numbers that it does not take.
    """

    verb: Verb = "none"
    blocks: tuple[Ordinal, ...] = ()
    factor: Annotated[float, Field(ge=0, le=2)] = 1.0

    def __post_init__(self) -> None:
        form, example = _FORMS[self.verb]
        has_factor = self.verb == "damp" or self.factor == 1
        if len(self.blocks) != form.count(_ONE) or not has_factor:
            raise InputError(
                f"{self.verb} takes {form.count(_ONE)} block numbers, as in {example}, and only "
                f"damp a factor: {self.blocks} and {self.factor} came"
            )

    def __str__(self) -> str:
        between = "-" if _FORMS[self.verb][0] == _RANGE else ","
        numbers = between.join(map(str, self.blocks))
        if self.verb == "damp":
            numbers += "," + repr(self.factor).removesuffix(".0")
        return f"{self.verb}({numbers})" if self.blocks else self.verb

    def of(self, n_blocks: int) -> "Edit":
        """The same edit of a model of L blocks, in the one form in which it is stored.

        Its blocks are numbered 1..L, and those of `interchange` are in ascending order.

        Raises:
            InputError: where the model lacks a block, a range runs backwards, or a block is to be
                interchanged with itself.
        """
        blocks = tuple(resolve_block(block, n_blocks) for block in self.blocks)
        is_range, is_pair = self.verb in ("reverse", "parallel"), self.verb == "interchange"
        refuse(
            (is_pair and blocks[0] == blocks[-1], f"{self} changes nothing: both are one block"),
            (
                is_range and blocks[0] > blocks[-1],
                f"{self} runs backwards: give the range of blocks upwards",
            ),
        )
        return replace(self, blocks=tuple(sorted(blocks)) if is_pair else blocks)

    def slots(self, n_blocks: int) -> Slots:
        """What each of L slots does."""
        changed = _changed(self.of(n_blocks))
        return tuple(changed.get(slot, (Step((slot,)),)) for slot in range(1, n_blocks + 1))


def _changed(edit: Edit) -> dict[int, tuple[Step, ...]]:
    """What the slots do that an edit changes."""
    match edit.verb, edit.blocks:
        case "skip", (block,):
            return {block: ()}
        case "repeat", (block,):
            return {block: (Step((block,)),) * 2}
        case "replace", (slot, block):
            return {slot: (Step((block,)),)}
        case "interchange", (one, other):
            return {one: (Step((other,)),), other: (Step((one,)),)}
        case "damp", (block,):
            return {block: (Step((block,), edit.factor),) if edit.factor else ()}
        case "reverse", (first, last):
            return {slot: (Step((first + last - slot,)),) for slot in range(first, last + 1)}
        case "parallel", (first, last):
            together = Step(tuple(range(first, last + 1)))
            return {first: (together,), **{slot: () for slot in range(first + 1, last + 1)}}
    return {}


def parse_edit(text: str) -> Edit:
    """Read an edit as it is spelled; spaces and capitals make no difference."""
    bare = re.sub(r"\s+", "", text).lower()
    for verb, (inside, _) in _FORMS.items():
        if found := re.fullmatch(rf"{verb}\({inside}\)" if inside else verb, bare):
            numbers = found.groups()
            factor = float(numbers[-1]) if verb == "damp" else 1.0
            return Edit(verb, tuple(map(int, numbers[: inside.count(_ONE)])), factor)
    forms = ", ".join(form for _, form in _FORMS.values())
    verb_given = bare.partition("(")[0]
    meant = "" if verb_given in _FORMS else nearest(verb_given, get_args(Verb))
    raise InputError(f"the edit {text!r} cannot be read{meant}: expected a form such as {forms}")


@dataclass(frozen=True)
class Edits:
    """Several edits at once, no two of which change the same slot."""

    edits: tuple[Edit, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.edits))

    def slots(self, n_blocks: int) -> Slots:
        """What each of L slots does; raises as `Edit.of`, and where two edits change one slot."""
        plain = Edit().slots(n_blocks)
        together, by = list(plain), dict[int, Edit]()
        for edit in self.edits:
            for slot, steps in enumerate(edit.slots(n_blocks)):
                if steps == plain[slot]:
                    continue
                if slot in by:
                    raise InputError(
                        f"{by[slot]} and {edit} both change what runs in slot {slot + 1}: edits "
                        "that are made at once are of different slots"
                    )
                together[slot], by[slot] = steps, edit
        return tuple(together)


def edits_of(edits: Edit | str | Sequence[Edit | str]) -> Edits:
    """One edit or several, of which some may be spelled."""
    listed = [edits] if isinstance(edits, Edit | str) else edits
    return Edits(tuple(parse_edit(each) if isinstance(each, str) else each for each in listed))


@dataclass(frozen=True)
class Removal:
    """Blocks whose weights are saved, 1..L, ascending.

    `tied` runs the nearest block that stays in the place of each (the one before it, where two are
    as near); else their slots pass their input on.
    """

    blocks: tuple[int, ...]
    tied: bool = False

    def kept(self, n_blocks: int) -> tuple[int, ...]:
        """The blocks that stay, of L; raises `InputError` where none does, or one is not there."""
        stay = tuple(block for block in range(1, n_blocks + 1) if block not in self.blocks)
        if not stay or len(stay) + len(self.blocks) != n_blocks:
            raise InputError(
                f"of a model's {n_blocks} blocks at least one has to stay, and {len(self.blocks)} "
                f"are to go, the last of them block {max(self.blocks, default=0)}"
            )
        return stay

    def slots(self, n_blocks: int) -> Slots:
        """What each of L slots does; raises as `kept`."""
        stay = self.kept(n_blocks)

        def of(slot: int) -> tuple[Step, ...]:
            nearest = min(stay, key=lambda block: (abs(block - slot), block))
            return (Step((nearest,)),) if self.tied or nearest == slot else ()

        return tuple(map(of, range(1, n_blocks + 1)))


Rearranged = Edit | Edits | Removal
"""Whatever says what runs in each slot."""

DAMPED = (0.25, 0.5, 0.75, 1.5)
"""The factors with which every block is damped in a measurement."""


def every_edit(n_blocks: int) -> tuple[Edit, ...]:
    """The edits of one measurement: every block by itself, and every pair of blocks."""
    every = range(1, n_blocks + 1)
    pairs = [(slot, block) for slot in every for block in every if slot != block]
    return (
        *(Edit("skip", (block,)) for block in every),
        *(Edit("repeat", (block,)) for block in every),
        *(Edit("damp", (block,), factor) for factor in DAMPED for block in every),
        *(Edit("replace", pair) for pair in pairs),
        *(Edit("interchange", pair) for pair in pairs if pair[0] < pair[1]),
    )


def flat(slots: Slots) -> tuple[Step, ...]:
    """The steps of all slots, in the order in which they run."""
    return tuple(step for steps in slots for step in steps)
