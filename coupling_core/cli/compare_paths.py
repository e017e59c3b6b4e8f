"""`coupling compare` of two trajectories: how straight and how even the paths of each are."""

from pathlib import Path

from coupling_core.analysis.exports import to_csv, to_parquet
from coupling_core.analysis.path_comparison import PathComparison
from coupling_core.base.errors import InputError
from coupling_core.base.records import PathView
from coupling_core.cli import files
from coupling_core.cli.terminal import print_json, print_lines, print_table

TABLES = {".csv": to_csv, ".parquet": to_parquet}


def compare_paths(found: PathComparison, out: Path | None, *, as_json: bool) -> None:
    """Tell what a comparison of paths comes to.

    Args:
        found: the comparison.
        out: the file to write, a table or a figure; None writes none.
        as_json: whether JSON is printed.

    Raises:
        InputError: where the file would have arrays, or a figure of paths of other tokens.
    """
    if out is not None:
        files.write(out, _content(found, files.ending(out)))
    table = found.to_pandas()
    if as_json:
        named = {"a": found.a, "b": found.b}
        sides = {side: {"key": of.key, "model": of.model_name} for side, of in named.items()}
        told = {"same_tokens": found.same_tokens, "numbers": table.to_dict("records")}
        print_json(sides | told)
        return
    print_lines(
        f"A           {found.a.model_name} {found.a.measured}",
        f"B           {found.b.model_name} {found.b.measured}",
        "",
    )
    rows = [
        (name, *(f"{value:z.4g}" for value in means), _above(above, tokens))
        for name, *means, above, tokens in table.itertuples(index=False)
    ]
    print_table(("number", "A", "B", "A - B", "more in A"), rows, right=True)
    print_lines(*(["", f"written     {out}"] if out else []))


def _content(found: PathComparison, ending: str) -> bytes:
    if ending in TABLES:
        return TABLES[ending](found.to_pandas())
    if ending in (".npz", ".nc"):
        raise InputError(f"of two trajectories there is a table or a figure, and no {ending} file")
    from coupling_core import figures  # plotly

    return figures.render(found.plot().figure, ending, found.a, PathView())


def _above(above: float, tokens: float) -> str:
    """At how many tokens A has more; "" where the two have other tokens."""
    return "" if above != above else f"{above:.0f} of {tokens:.0f} tokens"
