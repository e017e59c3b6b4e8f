"""What was chosen, in a link: each field by a short name, and only where it is not the default.

A field is written once, in the state of its page: its name, its default, and a type that says all
else, for pydantic reads a link's text as that type. No Streamlit in here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, NamedTuple, get_type_hints

from pydantic import (
    AfterValidator,
    BeforeValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)

from coupling_core.base.errors import InputError

_TYPED = {"typed": True}
_MOST = 10**100
"""What no number of a link reaches: with some hundred digits it is no float, with more no text."""
MOST_REPEATED = 100
"""Characters of a value that a message repeats."""
_EXPECTED = {"int": "an integer is expected", "float": "a number is expected"}


def expect(test: Callable[[Any], object], what: str) -> AfterValidator:
    """Part of the type of a field: values that fail a test are refused."""

    def check(value: Any) -> Any:
        if not test(value):
            raise InputError(f"{what} is expected")
        return value

    return AfterValidator(check)


def _flag(text: str | bool) -> bool:
    if isinstance(text, bool):
        return text
    if text not in ("0", "1"):
        raise InputError("one of 0, 1 is expected")
    return text == "1"


def _filled(text: str, asked: ValidationInfo) -> str:
    if not text.strip() and not asked.context:  # of what is typed, the page says what it lacks
        raise InputError("a text is expected")
    return text


Text = Annotated[str, AfterValidator(_filled)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Natural = Annotated[int, expect(lambda n: 0 <= n < _MOST, "an integer of at least 0")]
Count = Annotated[int, expect(lambda n: 1 <= n < _MOST, "an integer of at least 1")]


@dataclass(frozen=True)
class Parameter:
    """Part of the type of a field: what there is to say of it in a link.

    Args:
        name: in a link; empty is the field's own.
        former: the name that older links have for it; empty where they have the same.
        of_prompt: whether it numbers tokens, and so means nothing in another prompt.
        offered: whether a value may be asked for here; None is any.
        page: the title of the one page whose links carry it; empty is every page.
        answered: whether it is what a reader answered, which is in no task for others.
    """

    name: str = ""
    former: str = ""
    of_prompt: bool = False
    offered: Callable[[Any], bool] | None = None
    page: str = ""
    answered: bool = False


class Field(NamedTuple):
    """A field of a state, as links know it.

    Args:
        field: its name in the state.
        default: that no link needs to carry.
        reads: the type that a text is read as.
        parameter: what else there is to say.
    """

    field: str
    default: Any
    reads: "TypeAdapter[Any]"
    parameter: Parameter


class Links:
    """The links that carry some states: those of all pages, each of which keeps its own.

    Args:
        states: of the pages; what they inherit counts once.

    Raises:
        ValueError: where two fields have one name.
    """

    def __init__(self, states: Iterable[type]) -> None:
        self.fields: dict[str, Field] = {}
        """By their names in a link."""
        self._former: dict[str, str] = {}
        known: dict[str, object] = {}
        for state in states:
            hints = get_type_hints(state, include_extras=True)
            for item in fields(state):
                if known.setdefault(item.name, item) is not item:
                    raise ValueError(f"two pages have a field {item.name!r}")
                said = getattr(hints[item.name], "__metadata__", ())
                parameter = next((one for one in said if isinstance(one, Parameter)), Parameter())
                name = parameter.name or item.name
                found = Field(item.name, item.default, TypeAdapter(hints[item.name]), parameter)
                if self.fields.setdefault(name, found).field != item.name:
                    raise ValueError(f"two fields are {name!r} in a link")
                if parameter.former:
                    self._former[parameter.former] = name

    @property
    def defaults(self) -> dict[str, Any]:
        """Every field as it is where nothing was chosen."""
        return {one.field: one.default for one in self.fields.values()}

    def read(self, query: Mapping[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Read a link; what cannot be read keeps its default and is told of."""
        found, problems = self.defaults, []
        for given, text in query.items():
            name = self._former.get(given, given)
            if name not in self.fields:
                problems.append(f"{name} is not known here")
                continue
            field, default, reads, _ = self.fields[name]
            try:
                found[field] = reads.validate_python(text)
            except (InputError, ValidationError) as error:
                became = _text(default) or "empty"
                problems.append(f"{name}={_short(text)} became {became}: {_why(error)}")
        return found, tuple(problems)

    def check(self, chosen: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Values that fields are to have; what no link could say is left out and told of."""
        found, problems = {}, []
        for name, (field, default, reads, _) in self.fields.items():
            if field not in chosen:
                continue
            value = chosen[field]
            try:
                found[field] = (
                    value if value == default else reads.validate_python(value, context=_TYPED)
                )
            except (InputError, ValidationError) as error:
                problems.append(f"{name}={_short(_text(value))} was not taken: {_why(error)}")
        return found, tuple(problems)

    def write(self, chosen: Mapping[str, Any], page: str = "") -> dict[str, str]:
        """Write a link.

        Fields that are left out are the defaults.
        """
        return {
            name: _text(chosen[field])
            for name, (field, default, _, parameter) in self.fields.items()
            if chosen.get(field, default) != default and parameter.page in ("", page)
        }


def _why(error: InputError | ValidationError) -> str:
    if isinstance(error, InputError):
        return str(error)
    found = error.errors(include_url=False)[0]
    kind, _, _ = found["type"].partition("_")
    if kind == "literal":
        choices = found["ctx"]["expected"].replace("'", "").replace(" or ", ", ")
        return f"one of {choices} is expected"
    return _EXPECTED.get(kind, found["msg"])


def _short(text: str) -> str:
    """What a link gave, as a message repeats it."""
    return repr(text if len(text) <= MOST_REPEATED else f"{text[:MOST_REPEATED]}…")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)
