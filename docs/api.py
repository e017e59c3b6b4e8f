"""Write the API reference from the docstrings to a folder: `make docs`.

Documented are the modules that others may import. pdoc imports what it documents, so torch and
transformers come with the functions that take a model; no model is loaded, and the app, the command
line and the data sets stay out. Names that `coupling_core` imports only when they are asked for are
asked for here, or pdoc would not see them.
"""

import sys
from pathlib import Path

import pdoc

import coupling_core

MODULES = (
    "coupling_core",
    "coupling_core.sweeps",
    "coupling_core.figures",
    "coupling_core.compat",
    "coupling_core.reference",
)


def write(folder: Path) -> None:
    """Write a page for each module, and an index.

    Args:
        folder: where to; made where it is not there.
    """
    for name in coupling_core.__all__:
        setattr(coupling_core, name, getattr(coupling_core, name))
    pdoc.render.configure(docformat="google", footer_text="Coupling Explorer, Apache-2.0")
    doors = [part for name in MODULES[1:] for part in (f"!{name}$", name)]  # each of them once
    pdoc.pdoc(MODULES[0], *doors, r"!coupling_core\.figures\.", output_directory=folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
