"""Runs the notebooks anew, so that they show what the program says today: `make notebooks`."""

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "notebooks"
LONGEST = 300
"""Seconds that one cell may take, on a machine that is busy with other things too."""


def ran(path: Path) -> Any:
    """A notebook with what its cells give now; what they say on stderr is left out.

    Args:
        path: of an `.ipynb` file.

    Raises:
        nbclient.exceptions.CellExecutionError: where a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(
        notebook, timeout=LONGEST, resources=where, record_timing=False, coalesce_streams=True
    ).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
    return notebook


if __name__ == "__main__":
    for each in sorted(FOLDER.glob("*.ipynb")):
        each.write_text(nbformat.writes(ran(each)) + "\n")
