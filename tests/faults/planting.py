"""Planted faults: slips of the source that the tests must notice, and how one is made in a tree.

A fault finds its place by the name of a function and an expression or statement in it, as `ast`
reads them, so that files may move and lines be laid out anew.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("faults.txt")
HANGS = "hangs"
"""Stands among the tests of a fault that one notices by running out of time."""
PACKAGES = ("coupling_core", "explorer")


class LostError(Exception):
    """A fault whose place is not there, or there twice."""


@dataclass(frozen=True)
class Fault:
    """One slip.

    Args:
        name: what is wrong then.
        at: the package, and behind a colon the qualified name of the function or class in its
            module; "" is all of the module.
        code: an expression or a statement in it.
        becomes: what stands in its place.
        tests: files or folders of tests that notice it, below `tests`, the cheapest first.
        hangs: whether a test that runs out of time has noticed it.
    """

    name: str
    at: str
    code: str
    becomes: str
    tests: tuple[str, ...]
    hangs: bool = False


def faults() -> list[Fault]:
    """All of the list."""
    lines = [line for line in LIST.read_text().splitlines() if line and line[0] != "#"]
    return [_fault(*lines[at : at + 4]) for at in range(0, len(lines), 4)]


def _fault(name: str, place: str, code: str, becomes: str) -> Fault:
    at, *tests = place.split()
    in_time = tuple(test for test in tests if test != HANGS)
    return Fault(name, at, code.strip(), becomes.strip(), in_time, HANGS in tests)


def planted(fault: Fault, tree: Path) -> tuple[Path, str]:
    """The file of a tree in which a fault is, and its text with the fault.

    Raises:
        LostError: where it has no place, or more than one.
    """
    package, _, function = fault.at.partition(":")
    (wanted,) = ast.parse(fault.code).body
    node: ast.AST = wanted.value if isinstance(wanted, ast.Expr) else wanted
    found: list[tuple[Path, ast.AST]] = []
    for folder in dict.fromkeys((package, package.split(".")[0], *PACKAGES)):
        found = list(_places(tree / folder.replace(".", "/"), function, node))
        if found:
            break
    if len(found) != 1:
        raise LostError(f"{fault.at} has {fault.code!r} {len(found)} times")
    ((path, place),) = found
    new = f"({fault.becomes})" if isinstance(node, ast.expr) else fault.becomes
    return path, _replaced(path.read_bytes(), place, new)


def _places(folder: Path, function: str, wanted: ast.AST) -> Iterator[tuple[Path, ast.AST]]:
    *_, bare = names = function.split(".") if function else [""]
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        if f"def {bare}(" not in text and f"class {bare}" not in text and function:
            continue
        for scope in _scopes(_parsed(text), names if function else []):
            yield from ((path, node) for node in ast.walk(scope) if _is(node, wanted))


def _is(node: ast.AST, wanted: ast.AST) -> bool:
    return type(node) is type(wanted) and ast.dump(node) == ast.dump(wanted)


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _scopes(tree: ast.AST, names: list[str]) -> Iterator[ast.AST]:
    """Functions or classes of a qualified name."""
    if not names:
        yield tree
        return
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name == names[0]:
                yield from _scopes(node, names[1:])
        else:  # defined under an `if`, or in a `with`
            yield from _scopes(node, names)


def _replaced(source: bytes, node: ast.AST, new: str) -> str:
    lines = source.splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
    before = b"".join(lines[:first]) + lines[first][: node.col_offset]  # type: ignore[attr-defined]
    after = lines[last][node.end_col_offset :] + b"".join(lines[last + 1 :])  # type: ignore[attr-defined]
    return (before + new.encode() + after).decode()
