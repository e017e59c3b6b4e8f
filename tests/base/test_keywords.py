"""A keyword that a public function has not is answered with the one that was meant."""

import inspect

import pytest
from cases import random_result

import coupling_core as cc
from coupling_core.base.keywords import known_keywords

FUNCTIONS = [name for name in cc.__all__ if inspect.isfunction(getattr(cc, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_says_which_keyword_was_meant(name):
    takes = list(inspect.signature(getattr(cc, name)).parameters)
    with pytest.raises(cc.InputError) as refused:
        getattr(cc, name)(**{takes[-1] + takes[-1][-1]: 1})
    assert f"(did you mean {takes[-1]!r}?): it has {', '.join(takes)}" in str(refused.value)


def test_scores_of_a_result_say_so():
    with pytest.raises(cc.InputError, match="scores has no argument 'kk'"):
        random_result().scores(kk=3)


def test_what_is_known_passes_and_a_missing_argument_is_python_s():
    @known_keywords
    def halved(value, *, by=2):
        """Half of it."""
        return value / by

    assert (halved(3), halved(value=3, by=1), halved.__doc__) == (1.5, 3, "Half of it.")
    with pytest.raises(TypeError, match="missing 1 required"):
        halved(by=3)
