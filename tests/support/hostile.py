"""What nobody should give: texts, numbers, paths and files, for everything that takes any."""

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

IS_FUZZ = settings.get_current_profile_name() == "fuzz"
CASES = settings.default.max_examples if IS_FUZZ else 160
"""Over all tests: ten thousand by `make fuzz`, and a few, always the same, in the suite."""


def cases(percent: float) -> settings:
    """The settings of a test that takes this share of the cases."""
    return settings(
        max_examples=max(1, round(CASES * percent / 100)),
        derandomize=not IS_FUZZ,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


class Touch:
    """Pickled, it makes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


DEEP = "[" * 100_000
"""JSON that is nested without end."""
NASTY = (
    *("", " ", "\t", "\n", "\r\n", "\0", "a\0b", "\x1b[31m"),
    *("\x7f", "\u202e", "\ufeff", "\U0010ffff"),
    *("\ud800", "\udcff", "a\udc80b", "é" * 300, "a" * 20_000, "🙂" * 500, "\u0301" * 200),
    *("0", "-0", "-1", "+1", "1.0", "1e3", "1e309", "-1e309", "nan", "-nan", "inf", "Infinity"),
    *("1_000", "0x10", "٣", "½", "9" * 30, "9" * 5000, "-" + "9" * 30, "2147483648", "1e-400"),
    *("true", "None", "null", "[]", "{}", '{"prompt": 1}', "[bold]x[/bold]", ":cat:", "[/]"),
    *("-", "--", "--help", "--json", "-h", "@x", "%00", "%s%n", "$(id)", "`id`", "';--", "${HOME}"),
    *("..", "../..", "../../secret", "/", "//", "~", "~nobody/x", "/etc/passwd", "/dev/null"),
    *("file:///etc/passwd", "C:\\x", "a/b", "a/../b", "a/b@main", "owner/name:x", "x" * 300 + "/y"),
    *("1-", "-4", "4-1", "1-4:0", "1-99999999999", "1,,2", "3,7", "1-4:2", " 2 ", "2;3"),
    *("cpu:7", "cuda:99", "meta", "cpu:-1", "mps", "<script>alert(1)</script>", "x.bin", "x.pt"),
)
TEXTS = (
    st.sampled_from(NASTY)
    | st.text(max_size=30)
    | st.text(st.characters(), max_size=30)  # with halves of characters
    | st.integers().map(str)
    | st.integers(-5, 70).map(str)
    | st.floats().map(str)
)
