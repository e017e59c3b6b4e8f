"""Numbers with their units, as people write them."""


def size(n_bytes: float) -> str:
    """Bytes in words: 640 kB, 3.1 MB, 1.2 GB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    return f"{n_bytes / 1e3:.0f} kB"
