"""Files that are sealed as they should be, and hold what no measurement gives."""

from dataclasses import replace

import numpy as np
import pytest
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

DEPTH = random_result()


def forged(record, **changes):
    """A record as a file leads to it: no annotation is checked."""
    made = object.__new__(type(record))
    for name, value in {**vars(record), **changes}.items():
        object.__setattr__(made, name, value)
    return made


def paths():
    found = trajectory_result()
    provenance = {**found.provenance, **DEPTH.provenance}
    found = replace(found, provenance=provenance)
    return replace(found, key=str(make_key(found.request, found.identity)))


def damaged(name, at, value):
    array = getattr(DEPTH, name).copy()
    array[at] = value
    return {name: array}


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


WHAT_IF = what_if_result()
WHAT_IF = replace(WHAT_IF, key=str(make_key(WHAT_IF.request, WHAT_IF.identity)))
NO_EFFECTS: dict[str, dict[str, object]] = {
    "an edit too many": {"edits": (*WHAT_IF.edits, "skip(9)")},
    "an edit twice": {"edits": (*WHAT_IF.edits[1:], WHAT_IF.edits[1])},
    "no edit": {"edits": ("swap(1)", *WHAT_IF.edits[1:])},
    "a refusal of another edit": {"refused": {"reverse(1-2)": "no"}},
    "an effect of nothing": {"measured_of": "thoughts"},
    "tokens that are not there": {
        name: getattr(WHAT_IF, name)[..., :2]
        for name in ("divergence", "loss", "stays", "own_loss")
    },
}


SPECTRUM = spectrum_result()
SPECTRUM = replace(SPECTRUM, key=str(make_key(SPECTRUM.request, SPECTRUM.identity)))
NO_SPECTRUM: dict[str, dict[str, object]] = {
    "a token too far": {"token": 9},
    "a certificate too few": {"certificates": SPECTRUM.certificates[1:]},
    "three parts": {"eigenvalues": np.zeros((5, 8, 3))},
    "a product too many": {"participation": np.ones((5, 6))},
    "another width": {"width": 9},
}


@pytest.mark.parametrize("changes", NO_SPECTRUM.values(), ids=NO_SPECTRUM)
def test_spectra_that_no_measurement_gives_are_refused(changes):
    with pytest.raises(InputError, match="is no sound result"):
        require_sound(replace(SPECTRUM, **changes))


@pytest.mark.parametrize("changes", NO_EFFECTS.values(), ids=NO_EFFECTS)
def test_effects_that_no_measurement_gives_are_refused(changes):
    with pytest.raises(InputError, match="is no sound result"):
        require_sound(replace(WHAT_IF, **changes))


NOISE = perturbation_result()
NOISE = replace(NOISE, key=str(make_key(NOISE.request, NOISE.identity)))
NO_NOISE: dict[str, dict[str, object]] = {
    "a certificate too few": {"certificates": NOISE.certificates[1:]},
    "sizes that fall": {"noise_sizes": NOISE.noise_sizes[::-1].copy()},
    "a size of nothing": {"noise_sizes": np.array([0.0, 0.1, 1.0])},
    "rounding that is no number": {"rounding": np.full(6, np.nan)},
    "more directions than the width": {"directions": 9},
    "two ways": {
        name: getattr(NOISE, name)[:2]
        for name in ("distance", "cosine", "linear_distance", "linear_cosine", "error")
    },
}


@pytest.mark.parametrize("changes", NO_NOISE.values(), ids=NO_NOISE)
def test_noise_that_no_measurement_gives_is_refused(changes):
    with pytest.raises(InputError, match="is no sound result"):
        require_sound(replace(NOISE, **changes))


DIRECTIONS = directions_result()
DIRECTIONS = replace(DIRECTIONS, key=str(make_key(DIRECTIONS.request, DIRECTIONS.identity)))
NO_DIRECTIONS: dict[str, dict[str, object]] = {
    "a token that is not there": {"token": 9},
    "a certificate too few": {"certificates": DIRECTIONS.certificates[1:]},
    "a token without a text": {"vocabulary": {}},
    "another width": {"width": 7},
    "a rank above K": {"rank": DIRECTIONS.rank + 1},
    "another readout": {"missing": {"sings": "no"}},
}


@pytest.mark.parametrize("changes", NO_DIRECTIONS.values(), ids=NO_DIRECTIONS)
def test_directions_that_no_measurement_gives_are_refused(changes):
    with pytest.raises(InputError, match="is no sound result"):
        require_sound(replace(DIRECTIONS, **changes))


@pytest.mark.parametrize("changes", FORGED.values(), ids=FORGED)
def test_what_no_measurement_gives_is_refused(changes):
    with pytest.raises(InputError, match="is no sound result"):
        require_sound(forged(DEPTH, **changes))


@pytest.mark.parametrize(
    "result", [DEPTH, paths(), WHAT_IF, SPECTRUM, DIRECTIONS], ids=lambda one: one.request.kind
)
def test_what_was_measured_is_let_in(result):
    require_sound(decode(encode(result)))


def test_every_result_that_ships_is_let_in():
    store = Store()
    for entry in store.entries():
        require_sound(store.get(entry.key))
