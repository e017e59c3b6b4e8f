"""Reading a model from its files, wholly or not at all."""

from pathlib import Path
from typing import Any

import torch

from coupling_core.base.errors import ComputeError

_ASIDE = "pooler"
"""Part of some models whose output nothing here is measured of; many checkpoints leave it out."""


def read_whole(
    family: Any,
    where: Path,
    dtype: torch.dtype,
    options: dict[str, Any],
    *,
    of: Path | None = None,
) -> Any:
    """Read a model, and refuse one of whose weights some are missing: they would be random.

    A GGUF file that it is read `of` is named in the complaint.
    """
    model, found = family.from_pretrained(where, dtype=dtype, output_loading_info=True, **options)
    missing = {name for name, _ in model.named_parameters()} & {*found["missing_keys"]}
    lacking = sorted(name for name in missing if _ASIDE not in name)
    if lacking:
        raise ComputeError(
            f"{of or where} has no weights for {lacking[0]}"
            + f" and {len(lacking) - 1} others" * (len(lacking) > 1)
            + f" of {type(model).__name__}, which would be random numbers: copy or download it "
            + ("anew" if of else "anew, or correct `architectures` in its config.json")
        )
    return model
