"""A text as token ids, and the vocabulary that made them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt16

VOCABULARY = 1024
END_OF_TEXT = "<|endoftext|>"
HELD_OUT_EVERY = 20
"""Every twentieth document is never learned from."""


@dataclass(frozen=True)
class Corpus:
    """A text as token ids, with the end-of-text token after each document.

    Args:
        learned: ids that are trained on.
        held_out: ids of the documents that are not.
        tokenizer: the file that made them, in the form of `tokenizers`.
    """

    learned: UInt16[np.ndarray, " learned"]
    held_out: UInt16[np.ndarray, " held_out"]
    tokenizer: Path


def encode(texts: list[str], folder: Path) -> None:
    """Learn a byte-level vocabulary from the texts that are learned, and encode all of them."""
    from tokenizers import ByteLevelBPETokenizer

    learned = [text for i, text in enumerate(texts) if i % HELD_OUT_EVERY != HELD_OUT_EVERY - 1]
    held_out = texts[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY]
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(
        learned, vocab_size=VOCABULARY, special_tokens=[END_OF_TEXT], show_progress=False
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    end = tokenizer.token_to_id(END_OF_TEXT)
    # The one that tells that all is there comes last.
    for name, documents in (("learned", learned), ("held_out", held_out)):
        ids = [[*encoded.ids, end] for encoded in tokenizer.encode_batch(documents)]
        np.save(folder / f"{name}.npy", np.concatenate(ids).astype(np.uint16))


def read(folder: Path) -> Corpus:
    """What was encoded into a folder."""
    learned, held_out = (
        np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("learned", "held_out")
    )
    return Corpus(learned, held_out, folder / "tokenizer.json")
