"""What loading says: the libraries' notices kept off the terminal, their errors in plain words."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import transformers
from transformers import modeling_gguf_pytorch_utils as reader

from coupling_core.base.errors import Cancelled, ComputeError, InputError
from coupling_core.base.memory import is_out_of_memory
from coupling_core.sources.identity import Source

_REASONS = {
    "trust_remote_code": (
        "it needs program code from its repository, which is never run here; choose a model that "
        "transformers itself knows"
    ),
    "instantiate the backend tokenizer": (
        "it has no tokenizer; write one beside the weights (`tokenizer.save_pretrained(folder)`)"
    ),
    "does not recognize this architecture": (
        "this version of transformers does not know its architecture; a newer one may"
    ),
    "ignore_mismatched_sizes": (
        "its weights have other shapes than its head or config says; copy or download it anew"
    ),
    "this reader handles": (
        "it is of another version of GGUF than 2 and 3; convert the model anew with llama.cpp"
    ),
    "safetensors": (
        "it has no readable weights in safetensors, and pickled ones are never loaded; convert it "
        "(`model.save_pretrained(folder)`), and give the folder"
    ),
}

_switches = RLock()


@contextmanager
def plain_errors(source: Source) -> Iterator[None]:
    """Say in plain words why a model does not load."""
    try:
        yield
    except (InputError, ComputeError, Cancelled):
        raise
    except Exception as error:  # loaders raise whatever their formats raise
        if is_out_of_memory(error):
            raise
        text = str(error).strip()
        first = next(iter(text.splitlines()), type(error).__name__)
        reason = next((words for sign, words in _REASONS.items() if sign in text), first)
        raise ComputeError(f"{source.name} does not load: {reason}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' notices and progress bars off the terminal while a model is built.

    In one thread at a time: these switches are the whole process's, and so are others that the
    libraries set meanwhile. A model that is loaded while another is built without weights would get
    none either.
    """
    logging = transformers.utils.logging
    with _switches:
        level, bars, bar = logging.get_verbosity(), logging.is_progress_bar_enabled(), reader.tqdm
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        reader.tqdm = logging.tqdm  # its own bar does not know the switch
        try:
            yield
        finally:
            reader.tqdm = bar
            logging.set_verbosity(level)
            if bars:
                logging.enable_progress_bar()
