"""What a sweep's table [[prompts]] says."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from coupling_core.base.choosing import none_of
from coupling_core.base.errors import InputError, refuse
from coupling_core.base.folders import expanded
from coupling_core.sources.prompts.benchmarks import BENCHMARKS, Benchmark

_KINDS = ("text", "file", "dataset")
_OF_A_DATASET = ("config", "split", "revision", "folder")
_PATHS = ("file", "folder")
_NUMBERS = ("sample", "seed")
_SPLIT = re.compile(r"\w{1,50}", re.ASCII)


@dataclass(frozen=True)
class PromptSource:
    """Where prompts come from: one of `text`, `file` and `dataset`, and what is taken of it.

    Args:
        text: a prompt.
        file: of own prompts, or a folder of images.
        dataset: the name of a data set, one of `BENCHMARKS`.
        config: one of its configurations; the data set's first unless told.
        split: of the data set; the one that `BENCHMARKS` names unless told.
        revision: branch, tag or commit on the hub; unless told, the main branch as it was when it
            was first read here.
        folder: a copy of the data set on this disk, laid out as on the hub.
        sample: how many prompts to draw; None takes all, in their order.
        seed: of the sample.

    Raises:
        InputError: where this names no source, or more than one, or what does not fit it.
    """

    text: str | None = None
    file: Path | None = None
    dataset: str | None = None
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    folder: Path | None = None
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise InputError(f"prompts: {problem}")

    def _problem(self) -> str:
        """What is wrong with it; "" for nothing."""
        said = [name for name in (*_KINDS, *_OF_A_DATASET) if getattr(self, name) is not None]
        given = [name for name in said if name in _KINDS]
        if len(given) != 1 or (self.dataset is None and said != given):
            return (
                f"give one of {', '.join(_KINDS)}, and beside a dataset alone "
                f"{', '.join(_OF_A_DATASET)}; {' and '.join(said) or 'none'} came"
            )
        if self.text is not None and not self.text.strip():
            return "text is empty"
        if self.sample is not None and self.sample < 1:
            return f"sample is a number from 1, and {self.sample} came"
        return self._problem_of_dataset(self.dataset) if self.dataset is not None else ""

    def _problem_of_dataset(self, name: str) -> str:
        if name not in BENCHMARKS:
            return none_of("dataset", name, BENCHMARKS)
        forms = self.benchmark.forms
        if self.config is not None and self.config not in forms:
            return none_of(f"config of {name}", self.config, forms)
        if self.split is not None and not _SPLIT.fullmatch(self.split):
            return f"split is a name such as 'test' or 'validation', and {self.split!r} came"
        if self.revision is not None and self.folder is not None:
            return "revision is of the hub, and a folder came: give one of both"
        return ""

    @property
    def benchmark(self) -> Benchmark:
        """The data set."""
        return BENCHMARKS[str(self.dataset)]

    @classmethod
    def parse(cls, table: Mapping[str, Any], base: Path = Path()) -> "PromptSource":
        """Read a table of a TOML file.

        Args:
            table: its keys are the arguments above.
            base: the file's folder, which paths are relative to.

        Raises:
            InputError: on an unknown key, a value of another type, or what does not fit together.
        """
        known = [field.name for field in fields(cls)]
        for key, value in table.items():
            meant = " (did you mean 'text'?)" * (key == "prompt")
            wanted, kind = (int, "a whole number") if key in _NUMBERS else (str, "a text in quotes")
            refuse(
                (key not in known, f"prompts: {none_of('key', key, known)}{meant}"),
                (type(value) is not wanted, f"prompts: {key} is {kind}, and {value!r} came"),
            )
        paths = {key: base / expanded(table[key]) for key in _PATHS if key in table}
        return cls(**{**table, **paths})
