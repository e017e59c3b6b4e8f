"""How a result's Jacobians were had, in lines for people to read."""

from coupling_core.base.results import Result
from coupling_core.base.units import ranges


def ways(result: Result) -> list[str]:
    """Each way that was taken, with the blocks; the slower ones say why no faster one was."""
    made = result.provenance
    taken = made.get("ways", {})
    told = [f"{way}: {_blocks(by_block, result.n_blocks)}" for way, by_block in taken.items()]
    if not made.get("fast", True):
        told.append(f"no fast way was tried, since {made['why_not_fast']}")
    if "derivative_error" in made:
        told.append(
            "each Jacobian agrees with differences of what the model computes to "
            f"{made['derivative_error']:.1e} or better"
        )
    return told


def _blocks(by_block: object, n_blocks: int) -> str:
    """Which blocks; "all" where a way was noted for all at once."""
    if not isinstance(by_block, dict):  # as an earlier version wrote it
        return "some blocks"
    numbers = sorted(int(block) for block in by_block)
    if 0 in numbers or len(numbers) == n_blocks:
        return "all blocks"
    return f"block {numbers[0]}" if len(numbers) == 1 else f"blocks {ranges(numbers)}"
