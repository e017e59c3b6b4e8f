"""Licences and known vulnerabilities of all that is installed here: `make audit`, and CI.

Vulnerabilities are asked of PyPI. Where that does not answer, as where a mirror serves files alone,
this is said, and is no failure: what was found on the day before still holds.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

OWN = "coupling-explorer"
REFUSED = re.compile(r"\b(A|L)?GPL|General Public|Affero|SSPL|Commons Clause|Non-?Commercial", re.I)
"""Signs of licences that would bind whoever passes this program on."""
PROBE = "pip"
"""Asked for first: everybody's index has it."""


def main() -> None:
    """Tell what is wrong, and leave with status 1 where anything is."""
    found = {str(one.name): one for one in distributions() if one.name != OWN}
    wrong = [*licences(found), *vulnerabilities(found)]
    say(*wrong, f"{len(found)} packages looked at, {len(wrong)} things wrong")
    sys.exit(bool(wrong))


def licences(found: dict[str, Distribution]) -> Iterator[str]:
    """Packages whose licence is refused, or that name none."""
    for name, one in sorted(found.items()):
        told = licence(one)
        if not told or REFUSED.search(told):
            yield f"{name} {one.version}: licence {told or 'not named'}"


def licence(one: Distribution) -> str:
    """What a package says of its licence, in whichever field it does."""
    about = one.metadata
    signs = [each for each in about.get_all("Classifier", []) if each.startswith("License ::")]
    first = (about.get("License") or "").strip().partition("\n")[0]
    return about.get("License-Expression") or ", ".join(signs) or first or begins(one)


def begins(one: Distribution) -> str:
    """The first line of a package's licence file, for one that names its licence nowhere else."""
    file = one.metadata.get("License-File") or ""
    text = one.read_text(f"licenses/{file}") if file else None
    return (text or "").strip().partition("\n")[0]


def vulnerabilities(found: dict[str, Distribution]) -> Iterator[str]:
    """What PyPI knows of these very versions."""
    if not asked({PROBE: found[PROBE]}):
        say("PyPI does not answer here: vulnerabilities were not looked for")
        return
    told = asked(found)
    for name in sorted(found.keys() - {each["name"] for each in told}):
        yield f"{name} {found[name].version}: PyPI does not know it"
    for each in told:
        for one in each["vulns"]:
            mended = ", ".join(one["fix_versions"]) or "nowhere yet"
            yield f"{each['name']} {each['version']}: {one['id']}, mended in {mended}"


def asked(found: dict[str, Distribution]) -> list[dict]:
    """Those of these packages that PyPI answers for, with what it knows."""
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "pins.txt"
        pins.write_text("".join(f"{name}=={one.version}\n" for name, one in found.items()))
        options = ("--no-deps", "--disable-pip", "--format=json", "--progress-spinner=off")
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", *options, "--requirement", pins],
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        listed = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return []
    return [each for each in listed if "skip_reason" not in each]


def say(*lines: str) -> None:
    """Print lines."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
