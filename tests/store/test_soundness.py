"""Files that are sealed as they should be, and hold what no measurement gives."""

from dataclasses import replace

import numpy as np
from cases import (
    directions_result,
    perturbation_result,
    random_result,
    spectrum_result,
    trajectory_result,
    what_if_result,
)

from coupling_core.base.errors import InputError
from coupling_core.store.archive import decode, encode
from coupling_core.store.disk import Store
from coupling_core.store.request_key import make_key
from coupling_core.store.soundness import require_sound


def keyed(result, **changes):
    """A result under the key of its request, as the store has it."""
    result = replace(result, **changes)
    return replace(result, key=str(make_key(result.request, result.identity)))


DEPTH = random_result()
PATHS = keyed(trajectory_result(), provenance=DEPTH.provenance)
WHAT_IF, SPECTRUM = keyed(what_if_result()), keyed(spectrum_result())
NOISE, DIRECTIONS = keyed(perturbation_result()), keyed(directions_result())
EVERY = (DEPTH, PATHS, WHAT_IF, SPECTRUM, NOISE, DIRECTIONS)


def forged(record, **changes):
    """A record as a file leads to it: no annotation is checked."""
    made = object.__new__(type(record))
    for name, value in {**vars(record), **changes}.items():
        object.__setattr__(made, name, value)
    return made


def damaged(name, at, value):
    array = getattr(DEPTH, name).copy()
    array[at] = value
    return {name: array}


def parts(result, names, at):
    """Some of its arrays, each cut in the same way."""
    return {name: getattr(result, name)[at] for name in names.split()}


FORGED = {
    "a token too many": {"tokens": (*DEPTH.tokens, " more")},
    "another token": {"token": 5},
    "a block less": {"jacobian_norm": DEPTH.jacobian_norm[1:]},
    "a role too many": {"diagonal": np.concatenate([DEPTH.diagonal, DEPTH.diagonal[:1]])},
    "another K": {"diagonal": DEPTH.diagonal[..., :-1]},
    "another type": {"rank": DEPTH.rank.astype(np.float32)},
    "an infinite number": damaged("matrices", (0, 0, 0, 0, 0), np.inf),
    "no singular value": damaged("singular_values", (2, 3), np.nan),
    "a rank beyond K": damaged("rank", 0, 9),
    "angles of another K": {"angle_k": DEPTH.angle_k + 100},
    "a certificate less": {"certificates": DEPTH.certificates[1:]},
    "a certificate in words": {
        "certificates": (forged(DEPTH.certificates[0], residual="small"), *DEPTH.certificates[1:])
    },
    "a narrow model": {"width": 3},
    "a width in words": {"width": "16"},
    "no date": {"provenance": {k: v for k, v in DEPTH.provenance.items() if k != "date"}},
    "an age in seconds": {"provenance": {**DEPTH.provenance, "seconds": "1.5"}},
    "half a character": {"tokens": ("\ud83d", *DEPTH.tokens[1:])},
    "a request in words": {"request": forged(DEPTH.request, token="2")},
    "a number for a name": {"identity": {**DEPTH.identity, "name": 7}},
}
NO_EFFECTS = {
    "an edit too many": {"edits": (*WHAT_IF.edits, "skip(9)")},
    "an edit twice": {"edits": (*WHAT_IF.edits[1:], WHAT_IF.edits[1])},
    "no edit": {"edits": ("swap(1)", *WHAT_IF.edits[1:])},
    "a refusal of another edit": {"refused": {"reverse(1-2)": "no"}},
    "an effect of nothing": {"measured_of": "thoughts"},
    "tokens that are not there": parts(
        WHAT_IF, "divergence loss stays own_loss", (..., slice(None, 2))
    ),
}
NO_SPECTRUM = {
    "a token too far": {"token": 9},
    "a certificate too few": {"certificates": SPECTRUM.certificates[1:]},
    "three parts": {"eigenvalues": np.zeros((5, 8, 3))},
    "a product too many": {"participation": np.ones((5, 6))},
    "another width": {"width": 9},
}
NO_NOISE = {
    "a certificate too few": {"certificates": NOISE.certificates[1:]},
    "sizes that fall": {"noise_sizes": NOISE.noise_sizes[::-1].copy()},
    "a size of nothing": {"noise_sizes": np.array([0.0, 0.1, 1.0])},
    "rounding that is no number": {"rounding": np.full(6, np.nan)},
    "more directions than the width": {"directions": 9},
    "two ways": parts(NOISE, "distance cosine linear_distance linear_cosine error", slice(2)),
}
NO_DIRECTIONS = {
    "a token that is not there": {"token": 9},
    "a certificate too few": {"certificates": DIRECTIONS.certificates[1:]},
    "a token without a text": {"vocabulary": {}},
    "another width": {"width": 7},
    "a rank above K": {"rank": DIRECTIONS.rank + 1},
    "another readout": {"missing": {"sings": "no"}},
}


def let_in(result, table):
    """What is let in of changes to a result, none of which should be."""
    found = []
    for name, changes in table.items():
        try:
            require_sound(forged(result, **changes))
        except InputError as error:
            assert "is no sound result" in str(error)  # noqa: PT017
        else:
            found.append(name)
    return found


def test_what_no_measurement_gives_is_refused():
    assert let_in(DEPTH, FORGED) == []
    assert let_in(WHAT_IF, NO_EFFECTS) == []
    assert let_in(SPECTRUM, NO_SPECTRUM) == []
    assert let_in(NOISE, NO_NOISE) == []
    assert let_in(DIRECTIONS, NO_DIRECTIONS) == []


def test_what_was_measured_is_let_in():
    for result in EVERY:
        require_sound(decode(encode(result)))


def test_every_result_that_ships_is_let_in():
    store = Store()
    for entry in store.entries():
        require_sound(store.get(entry.key))
