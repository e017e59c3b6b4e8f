"""Prompts from own text, own files and public data sets, and samples of them.

    prompt      one prompt, and where it stands in its source
    source      what a sweep's table [[prompts]] says
    files       own files: a prompt a line, JSONL, CSV
    columns     what stands beside prompts there, as columns of a table
    benchmarks  the data sets that are known, and how their rows become prompts
    fetching    rows of a data set, from the hub or from a folder
    pools       all prompts of a split, kept on this disk
    drawing     samples that only a seed and the texts determine
    sampling    from a source to its prompts, and the record of where they came from

`datasets` is slow to import, and is so only where rows are read: prompts that are kept need none.
"""

from coupling_core.sources.prompts.benchmarks import BENCHMARKS
from coupling_core.sources.prompts.columns import own_cells, own_columns, read_back, set_own
from coupling_core.sources.prompts.files import TEXTS, read_content, read_file
from coupling_core.sources.prompts.prompt import Prompt, known_names, repeated
from coupling_core.sources.prompts.sampling import Origin, Sample, load
from coupling_core.sources.prompts.source import PromptSource
