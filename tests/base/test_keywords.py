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


def halving():
    """A function of one value that may come without its name."""

    @known_keywords
    def halved(value, *, by=2, plus=0):
        """Half of it."""
        return value / by + plus

    return halved


def test_what_is_known_passes():
    halved = halving()
    assert (halved(3), halved(value=3, by=1), halved.__doc__) == (1.5, 3, "Half of it.")


@pytest.mark.parametrize(
    ("args", "named", "told"),
    [
        ((), {"by": 3}, r"^halved needs value: it is called as halved\(value, \.\.\.\)$"),
        (
            (3, 2),
            {},
            r"^halved takes only value without a name, and 2 came: name the others, of by=, plus=$",
        ),
    ],
)
def test_too_few_and_too_many_are_told(args, named, told):
    with pytest.raises(cc.InputError, match=told):
        halving()(*args, **named)


def test_self_is_counted_by_nobody():
    class Number:
        """With a method."""

        @known_keywords
        def over(self, by):
            """One over it."""
            return 1 / by

    assert Number().over(2) == 0.5
    with pytest.raises(cc.InputError, match="over needs by"):
        Number().over()
    with pytest.raises(cc.InputError, match="over takes only by without a name, and 2 came: help"):
        Number().over(1, 2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_says_what_it_needs(name):
    needed = [
        one.name
        for one in inspect.signature(getattr(cc, name)).parameters.values()
        if one.default is one.empty
    ]
    if needed:
        with pytest.raises(
            cc.InputError, match=rf"^{name} needs {' and '.join(needed)}: it is called"
        ):
            getattr(cc, name)()
