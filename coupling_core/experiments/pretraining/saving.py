"""What a run leaves in its folder: the state it goes on from, and how it was made."""

import json
from pathlib import Path
from typing import Any

import torch

from coupling_core.base.errors import ComputeError
from coupling_core.engine.hardware import device_name, versions

STATE = "run.pt"
MADE = "recipe.json"


def save_state(repository: Path, plan: dict[str, Any], state: dict[str, Any]) -> None:
    """Write what a run can be gone on with, whole or not at all."""
    new = repository / f"{STATE}.new"
    torch.save({"plan": json.dumps(plan), **state}, new)
    new.replace(repository / STATE)


def read_state(
    repository: Path, plan: dict[str, Any], device: torch.device
) -> dict[str, Any] | None:
    """What was saved of a run; None where it has not begun.

    Raises:
        ComputeError: where the folder has a run of another plan.
    """
    path = repository / STATE
    if not path.is_file():
        return None
    saved: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    require_plan(repository, json.loads(saved["plan"]), plan)
    return saved


def require_plan(repository: Path, found: Any, plan: dict[str, Any]) -> None:
    """Refuse to go on with the run of another plan.

    Args:
        repository: its folder.
        found: the plan that was written there.
        plan: the one that is asked for; JSON has lists for its tuples.

    Raises:
        ComputeError: where they differ.
    """
    if found != json.loads(json.dumps(plan)):
        raise ComputeError(
            f"{repository} holds a run of another recipe: remove the folder, or finish "
            "that run with the version that began it"
        )


def write_made(
    repository: Path, plan: dict[str, Any], seconds: float, device: torch.device, **more: Any
) -> None:
    """Note how a run that has ended was made."""
    made = {
        "plan": plan,
        **more,
        "seconds": round(seconds),
        "device": device_name(device),
        "threads": torch.get_num_threads(),
        "versions": versions(),
    }
    new = repository / f"{MADE}.new"
    new.write_text(json.dumps(made, indent=1) + "\n")
    new.replace(repository / MADE)
