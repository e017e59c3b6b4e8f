"""What a snapshot must not hold: versions, and digits that differ between machines."""

import re
from typing import Any

VERSION = r"numpy \d+[\w.]*\w"


def masked(said: Any, pattern: str = VERSION, mask: str = "numpy VERSION") -> Any:
    """The same with each match of a pattern replaced, in the texts of a dictionary of any depth."""
    if isinstance(said, dict):
        return {name: masked(text, pattern, mask) for name, text in said.items()}
    return re.sub(pattern, mask, said) if isinstance(said, str) else said
