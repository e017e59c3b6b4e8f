"""A row of a user's own catalogue of models, as a record and as a line."""

from pathlib import Path

from coupling_core.sources.catalogue import CatalogueModel

FILE = Path(__file__).parents[2] / "sweeps" / "models.csv"
HEAD = FILE.read_text().partition("\n")[0]
OWN = CatalogueModel("me/mine", "Mine", 1_000_000, 4, 64, score=12.5, tuned=True, note='a, "b"\nc')
ROW = "me/mine,Mine,1000,4,64,,12.5,RoPE,yes,,"
