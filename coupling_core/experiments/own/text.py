"""What models of one's own learn: the topics that Python's `help` knows, as token ids.

They lie on every disk that has a Python, half a million letters of plain English with some code.
"""

from coupling_core.base.folders import user_cache
from coupling_core.experiments.pretraining.corpus import Corpus, encode, read

_FOLDER = "own-text"


def text() -> Corpus:
    """The text, encoded once by a vocabulary of its own and then kept in the user's cache.

    Another version of Python has another text, and a folder of its own.
    """
    from pydoc_data.topics import topics

    documents = [topics[name] for name in sorted(topics)]
    folder = user_cache() / _FOLDER / str(sum(map(len, documents)))
    if not (folder / "held_out.npy").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        encode(documents, folder)
    return read(folder)
