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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Protocol, runtime_checkable

from coupling_core.base.choosing import nearest, none_of
from coupling_core.base.errors import InputError
from coupling_core.base.records import resolve_block

_NUMBER = r"-?\d+"
_DECIMAL = r"[-+.\w]+"
_FORMS: Mapping[str, tuple[str, str]] = {
    # verb: what stands between the brackets, as it is read and as it is explained
    "none": ("", "none"),
    "skip": (rf"({_NUMBER})", "skip(12)"),
    "repeat": (rf"({_NUMBER})", "repeat(3)"),
    "replace": (rf"({_NUMBER}),({_NUMBER})", "replace(4,7)"),
    "interchange": (rf"({_NUMBER}),({_NUMBER})", "interchange(12,13)"),
    "damp": (rf"({_NUMBER}),({_DECIMAL})", "damp(5,0.5)"),
    "reverse": (rf"({_NUMBER})-({_NUMBER})", "reverse(8-12)"),
    "parallel": (rf"({_NUMBER})-({_NUMBER})", "parallel(8-11)"),
}
VERBS = tuple(_FORMS)
MOST_DAMPED = 2.0
"""The largest factor of `damp`: a block's residual map doubled."""


@dataclass(frozen=True)
class Step:
    """One thing that a slot does with the state that reaches it: x + factor * mean of f^m(x).

    Args:
        blocks: the m, 1..L; the residual maps of several are averaged.
        factor: of the residual map. With 1 and a single block it is what the block gives, F^m(x).
    """

    blocks: tuple[int, ...]
    factor: float = 1.0


Slots = tuple[tuple[Step, ...], ...]
"""What each slot does, in order; a slot of no step passes its input on."""


@runtime_checkable
class Rearranged(Protocol):
    """Whatever says what runs in each slot: an `Edit`, or blocks that are left out."""

    def slots(self, n_blocks: int) -> Slots:
        """What each of L slots does."""


@dataclass(frozen=True)
class Edit:
    """An edit of a model's depth.

    Args:
        verb: one of `VERBS`.
        blocks: the numbers in its brackets, 1..L or counted from the end.
        factor: a, of `damp` alone.

    Raises:
        InputError: on another verb, or numbers that it does not take.
    """

    verb: str = "none"
    blocks: tuple[int, ...] = ()
    factor: float = 1.0

    def __post_init__(self) -> None:
        if self.verb not in VERBS:
            raise InputError(
                f"{none_of('the verb of an edit', self.verb, VERBS)}; Edit takes it apart from its "
                "blocks, as in Edit('skip', (12,)), and a spelling such as 'skip(12)' is taken in "
                "its place wherever an edit is asked for"
            )
        if not isinstance(self.blocks, tuple):
            raise InputError(
                f"the blocks of an edit are a tuple of their numbers, such as (12,), and "
                f"{self.blocks!r} came"
            )
        wanted = _FORMS[self.verb][0].count(_NUMBER)
        if len(self.blocks) != wanted:
            raise InputError(
                f"{self.verb} takes {wanted} of the numbers of blocks, as in "
                f"{_FORMS[self.verb][1]}, and {len(self.blocks)} came"
            )
        if 0 in self.blocks:
            raise InputError("block 0 does not exist: blocks are numbered 1..L, and -1 is the last")
        if not (isinstance(self.factor, Real) and 0 <= self.factor <= MOST_DAMPED):
            raise InputError(
                f"the factor of damp lies in 0..{MOST_DAMPED:g}, where 0 skips the block and 1 "
                f"leaves it alone, and {self.factor!r} came"
            )
        if self.verb != "damp" and self.factor != 1:
            raise InputError(f"{self.verb} has no factor: only damp has one")

    def __str__(self) -> str:
        numbers = ("-" if "-(" in _FORMS[self.verb][0] else ",").join(map(str, self.blocks))
        if self.verb == "damp":
            numbers += "," + repr(float(self.factor)).removesuffix(".0")
        return f"{self.verb}({numbers})" if self.blocks else self.verb

    def of(self, n_blocks: int) -> "Edit":
        """The same edit of a model of L blocks, in the one form in which it is stored.

        Its blocks are numbered 1..L, and those of `interchange` are in ascending order.

        Raises:
            InputError: where the model lacks a block, a range runs backwards, or a block is to be
                interchanged with itself.
        """
        blocks = tuple(resolve_block(block, n_blocks) for block in self.blocks)
        if self.verb == "interchange":
            if blocks[0] == blocks[1]:
                raise InputError(f"{self} changes nothing: both are block {blocks[0]}")
            blocks = tuple(sorted(blocks))
        if self.verb in ("reverse", "parallel") and blocks[0] > blocks[1]:
            raise InputError(f"{self} runs backwards: give the range of blocks upwards")
        return replace(self, blocks=blocks)

    def slots(self, n_blocks: int) -> Slots:
        """What each of L slots does.

        Raises:
            InputError: where the model lacks a block, or a range runs backwards.
        """
        edit = self.of(n_blocks)
        plain: Slots = tuple((Step((block,)),) for block in range(1, n_blocks + 1))
        changed = _CHANGES[edit.verb](edit)
        return tuple(changed.get(slot, steps) for slot, steps in enumerate(plain, 1))


def parse_edit(text: str) -> Edit:
    """Read an edit as it is spelled; spaces and capitals make no difference.

    Raises:
        InputError: on anything else.
    """
    bare = re.sub(r"\s+", "", text).lower()
    for verb, (inside, _) in _FORMS.items():
        found = re.fullmatch(rf"{verb}\({inside}\)" if inside else verb, bare)
        if found is None:
            continue
        if verb != "damp":
            return Edit(verb, tuple(map(int, found.groups())))
        try:
            return Edit(verb, (int(found[1]),), float(found[2]))
        except ValueError:
            break
    forms = ", ".join(form for _, form in _FORMS.values())
    verb = bare.partition("(")[0]
    meant = "" if verb in VERBS else nearest(verb, VERBS)
    raise InputError(f"the edit {text!r} cannot be read{meant}: expected a form such as {forms}")


@dataclass(frozen=True)
class Edits:
    """Several edits at once, no two of which change the same slot.

    Args:
        edits: in any order.
    """

    edits: tuple[Edit, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.edits))

    def slots(self, n_blocks: int) -> Slots:
        """What each of L slots does.

        Raises:
            InputError: where the model lacks a block, a range runs backwards, or two edits change
                one slot.
        """
        plain = Edit().slots(n_blocks)
        found, by = list(plain), dict[int, Edit]()
        for edit in self.edits:
            for slot, steps in enumerate(edit.slots(n_blocks)):
                if steps == plain[slot]:
                    continue
                if slot in by:
                    raise InputError(
                        f"{by[slot]} and {edit} both change what runs in slot {slot + 1}: edits "
                        "that are made at once are of different slots"
                    )
                found[slot], by[slot] = steps, edit
        return tuple(found)


def edits_of(edits: Edit | str | Sequence[Edit | str]) -> Edits:
    """One edit or several, from their spellings where these are what came.

    Raises:
        InputError: on anything else.
    """
    listed = [edits] if isinstance(edits, Edit | str) else edits
    if not isinstance(listed, Sequence) or not all(isinstance(e, Edit | str) for e in listed):
        raise InputError(
            "an edit is a spelling such as 'skip(12)' or an Edit, or a list of these, and "
            f"{type(edits).__name__} came: {edits!r}"
        )
    return Edits(tuple(parse_edit(each) if isinstance(each, str) else each for each in listed))


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


_Changed = dict[int, tuple[Step, ...]]


def _skip(edit: Edit) -> _Changed:
    return {edit.blocks[0]: ()}


def _repeat(edit: Edit) -> _Changed:
    (block,) = edit.blocks
    return {block: (Step((block,)),) * 2}


def _replace(edit: Edit) -> _Changed:
    slot, block = edit.blocks
    return {slot: (Step((block,)),)}


def _interchange(edit: Edit) -> _Changed:
    one, other = edit.blocks
    return {one: (Step((other,)),), other: (Step((one,)),)}


def _damp(edit: Edit) -> _Changed:
    (block,) = edit.blocks
    return {block: (Step((block,), edit.factor),) if edit.factor else ()}


def _reverse(edit: Edit) -> _Changed:
    first, last = edit.blocks
    return {slot: (Step((first + last - slot,)),) for slot in range(first, last + 1)}


def _parallel(edit: Edit) -> _Changed:
    first, last = edit.blocks
    together = Step(tuple(range(first, last + 1)))
    return {first: (together,), **{slot: () for slot in range(first + 1, last + 1)}}


_CHANGES: Mapping[str, Callable[[Edit], _Changed]] = {
    "none": lambda edit: {},
    "skip": _skip,
    "repeat": _repeat,
    "replace": _replace,
    "interchange": _interchange,
    "damp": _damp,
    "reverse": _reverse,
    "parallel": _parallel,
}
