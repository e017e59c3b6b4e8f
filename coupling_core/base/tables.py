"""A table of measurements, as functions that read one take it."""

from coupling_core.base.errors import InputError, a_type


def require_table(table: object) -> None:
    """Refuse what is no table, and say where one comes from.

    Raises:
        InputError: says what came.
    """
    from pandas import DataFrame  # half a second to import

    if isinstance(table, DataFrame):
        return
    pair = "; sweeps.make_table gives two: table, damaged = sweeps.make_table(plan)"
    raise InputError(
        f"{a_type(table)} came where a table is needed, as measure_many(...) gives it"
        f"{pair * isinstance(table, tuple)}"
    )
