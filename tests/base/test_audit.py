"""Licences of what is installed, as `make audit` looks at them."""

import runpy
from email.message import Message
from pathlib import Path
from types import SimpleNamespace

AUDIT = runpy.run_path(str(Path(__file__).parents[2] / "requirements" / "audit.py"))


def package(files: dict[str, str] | None = None, **fields: str) -> SimpleNamespace:
    metadata = Message()
    for name, value in fields.items():
        metadata[name.replace("_", "-")] = value
    return SimpleNamespace(metadata=metadata, version="1.0", read_text=(files or {}).get)


def test_a_licence_that_binds_others_is_found_and_so_is_none():
    found = {
        "free": package(License_Expression="MIT OR Apache-2.0"),
        "old": package(Classifier="License :: OSI Approved :: BSD License"),
        "text": package(License="MIT License\n\nnot the GPL"),
        "bound": package(License_Expression="AGPL-3.0-only"),
        "file": package({"licenses/LICENSE": "MIT License\n\nnot the GPL"}, License_File="LICENSE"),
        "bound file": package({"licenses/C": "GNU GENERAL PUBLIC LICENSE\n"}, License_File="C"),
        "mute": package(),
    }
    told = list(AUDIT["licences"](found))
    assert [line.partition(" 1.0: ")[0] for line in told] == ["bound", "bound file", "mute"]
    assert "AGPL-3.0-only" in told[0]
