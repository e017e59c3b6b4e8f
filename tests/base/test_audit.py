"""What is looked at of the packages that are installed."""

import json
import runpy
import subprocess
from email.message import Message
from pathlib import Path
from types import SimpleNamespace

import pytest

AUDIT = runpy.run_path(str(Path(__file__).parents[2] / "requirements" / "audit.py"))


def package(files: dict[str, str] | None = None, **fields: str) -> SimpleNamespace:
    metadata = Message()
    for name, value in fields.items():
        metadata[name.replace("_", "-")] = value
    return SimpleNamespace(metadata=metadata, version="1.0", read_text=(files or {}).get)


def test_a_licence_that_binds_others_is_refused_and_none_is_told():
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
    assert told == [
        "bound 1.0: licence AGPL-3.0-only",
        "bound file 1.0: licence GNU GENERAL PUBLIC LICENSE",
        "mute 1.0: licence not named",
    ]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", []),  # out of reach
        ([{"name": "pip", "skip_reason": "Dependency not found on PyPI"}], []),
        (
            [
                {"name": "pip", "version": "1.0", "vulns": []},
                {
                    "name": "other",
                    "version": "1.0",
                    "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}],
                },
            ],
            [
                "strange 1.0: PyPI does not know it",
                "other 1.0: PYSEC-1, mended in 1.1",
            ],
        ),
    ],
)
def test_vulnerabilities_are_told_where_the_index_answers(answer, expected, monkeypatch):
    said = json.dumps({"dependencies": answer}) if answer else "no connection"
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=said))
    found = {name: package() for name in ("pip", "other", "strange")}
    assert list(AUDIT["vulnerabilities"](found)) == expected
