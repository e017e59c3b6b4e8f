"""A prompt's tokens, as texts that people can read, without torch."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from coupling_core.base.errors import CouplingError
from coupling_core.base.reading import read_bytes
from coupling_core.sources.identity import Source

CHARACTERS = 3
"""Characters a token where tokens cannot be counted yet: few, so that memory is not promised."""

PATCHES = 14
"""Along a side of an image: 224 pixels in patches of 16."""
BEFORE_PATCHES = 2
"""Tokens before those of the patches, a few."""

LARGEST = 2**27
"""Bytes of a tokenizer's file: that of a quarter of a million words has 35 MB."""

MOST_SHARED = 12
"""Tokens that spell characters together at most, so that a row of them ends."""

_BYTE = re.compile(r"\\x([89a-f][0-9a-f])")
_SIGNS = str.maketrans({" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\xa0": "⍽"})
_SEEN_SPACE = re.compile(r"(?<=\S) (?=\S)")


@dataclass(frozen=True)
class Tokens:
    """A tokenised prompt.

    Args:
        texts: what each token stands for, readable.
        ids: the token ids.
        special: whether the tokenizer added the token (beginning of sequence, [SEP], ...).
    """

    texts: tuple[str, ...]
    ids: tuple[int, ...]
    special: tuple[bool, ...]


def counted(special: Sequence[bool]) -> str:
    """How many tokens a prompt has, in words."""
    n, added = len(special), sum(special)
    told = "1 token" if n == 1 else f"{n:,} tokens"
    if not added:
        return told
    return f"{told}, of which the tokenizer added {added}"


def tokenize(prompt: str, source: Source) -> Tokens | None:
    """Tokenise a prompt with the model's own special tokens, no chat template.

    It is None where the tokenizer is not on this disk yet, or cannot be read: to load the model
    then says why.
    """
    path = source.folder / "tokenizer.json"
    try:
        if not (path.is_file() and source.is_converted):
            return None
        path = path.resolve()
        return _tokens(prompt, path, path.stat().st_mtime_ns)
    except (CouplingError, OSError):
        return None


def run_apart(run: "Run") -> None:
    """Have tokenizers run elsewhere from now on: on some files their library ends the process.

    What runs them calls what it is given in a process that may die, and gives what it gives.
    """
    global _run
    _run = run


Run = Callable[[Callable[[], Tokens | None]], Tokens | None]


def _here(work: Callable[[], Tokens | None]) -> Tokens | None:
    return work()


_run: Run = _here


def patches(config: Mapping[str, Any]) -> int:
    """Tokens of an image by the sizes of its model's config; the most common ones where unknown."""
    config = config.get("vision_config", config)
    try:
        side = int(config["image_size"]) // int(config["patch_size"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        side = PATCHES
    return side**2 + BEFORE_PATCHES


@dataclass(frozen=True)
class Spelling:
    """How a tokenizer's pieces stand for text.

    Args:
        byte_level: whether bytes are spelled as characters, as GPT-2's are.
        added: pieces that were added to the vocabulary, and stand for themselves.
    """

    byte_level: bool = False
    added: frozenset[str] = frozenset()


def readable(pieces: list[str], spelling: Spelling) -> tuple[str, ...]:
    r"""Turn a vocabulary's pieces into text: byte-level and sentencepiece spaces, newlines, UTF-8.

    Bytes that are only part of a character are written as hexadecimal, such as `\xe2`.
    """
    if not spelling.byte_level:
        return tuple(piece.replace("▁", " ") for piece in pieces)
    return tuple(piece if piece in spelling.added else _from_bytes(piece) for piece in pieces)


@dataclass(frozen=True)
class Group:
    """Tokens next to one another that spell characters together; mostly one.

    Args:
        first: the first of them, 1..n.
        count: how many they are.
        text: what they stand for together.
    """

    first: int
    count: int
    text: str


def grouped(texts: Sequence[str]) -> list[Group]:
    """The tokens of a prompt, those together that share a character: its bytes say little."""
    found, at = [], 0
    while at < len(texts):
        count, text = _together(texts[at : at + MOST_SHARED])
        found.append(Group(at + 1, count, text))
        at += count
    return found


def _together(texts: Sequence[str]) -> tuple[int, str]:
    """How many of these tokens, from the first on, are whole characters, and which."""
    spelled = b""
    for count, text in enumerate(texts, start=1):
        if not _BYTE.search(text):
            break
        spelled += _as_bytes(text)
        with suppress(UnicodeDecodeError):
            return count, spelled.decode()
    return 1, texts[0]


def _as_bytes(text: str) -> bytes:
    pieces = _BYTE.split(text)  # what lies between two bytes, and their digits, in turn
    return b"".join(
        bytes.fromhex(piece) if at % 2 else piece.encode() for at, piece in enumerate(pieces)
    )


def visible(text: str) -> str:
    """A token's text with signs for what would not be seen: spaces, line breaks, tabs, nothing.

    A single space between two letters is seen.
    """
    shown = " ".join(part.translate(_SIGNS) for part in _SEEN_SPACE.split(text))
    return with_bytes_named(shown) or "∅"


def with_bytes_named(text: str) -> str:
    """A token's text as `readable` writes it, its bytes of no whole character as ⟨byte FC⟩."""
    return _BYTE.sub(lambda found: f"⟨byte\u00a0{found[1].upper()}⟩", text)


def spelling_of(tokenizer: Any) -> Spelling:
    """How a tokenizer (of `tokenizers`) spells.

    Its two parts that would do so are asked, and not its JSON as a whole, of which the vocabulary
    is nearly all.
    """
    parts = filter(None, (tokenizer.decoder, tokenizer.pre_tokenizer))
    added = tokenizer.get_added_tokens_decoder().values()
    return Spelling(
        any(b'"ByteLevel"' in part.__getstate__() for part in parts),
        frozenset(token.content for token in added),
    )


@cache
def _bytes_of_characters() -> dict[str, int]:
    """GPT-2's spelling: printable bytes stand for themselves, the others are moved past U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(0x100) if byte not in printable]
    moved = {chr(0x100 + index): byte for index, byte in enumerate(hidden)}
    return {chr(byte): byte for byte in printable} | moved


def _from_bytes(piece: str) -> str:
    spelled = _bytes_of_characters()
    if not all(character in spelled for character in piece):
        return piece
    return bytes(spelled[character] for character in piece).decode(errors="backslashreplace")


@lru_cache(maxsize=256)
def _tokens(prompt: str, path: Path, modified: int) -> Tokens | None:
    return _run(partial(encoded, prompt, path, modified))


def encoded(prompt: str, path: Path, modified: int) -> Tokens | None:
    """A prompt's tokens by a tokenizer's file.

    It is None where the file is no tokenizer, or fails on this text; one that was written anew is
    read anew.
    """
    try:
        tokenizer, spelling = _tokenizer(path, modified)
        encoding = tokenizer.encode(prompt)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # the library has no class of its own, and panics past `Exception`
        return None
    return Tokens(
        texts=readable(encoding.tokens, spelling),
        ids=tuple(encoding.ids),
        special=tuple(bool(flag) for flag in encoding.special_tokens_mask),
    )


@lru_cache(maxsize=4)  # a training run has one for each of its steps
def _tokenizer(path: Path, modified: int) -> tuple[Any, Spelling]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(read_bytes(path, LARGEST))
    # Some are saved with the batches in mind that they were trained on.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, spelling_of(tokenizer)
