"""Models: loading them, finding their blocks, computing in float32 whatever they are held in.

    load, load_apart        a model by its name, shared or a copy of one's own  (loading)
    as_loaded, describe     one of the user's own, in memory already         (own)
    request_of, own_code    what a request may ask of such a one, and what in it no key tells  (own)
    forget, give_way        let go of models that are kept in memory         (loading, keeping)
    require_unwritten       that their files are as they were loaded         (loading)
    prepare                 a GGUF file converted once into safetensors      (convert)
    skeleton, rehearsal     a model without its weights, and one to try  (skeleton)
    Wrapped, class_name     a module of another kind, with what is told of it  (wrapped)
    measurable              what is measured of what is handed over          (wrapped, unwrapping)
    shortened, save_whole   a model of some of its blocks alone, written as transformers reads it
    find_blocks             the stack of transformer blocks                  (blocks)
    READS, reads_images     what a model of images calls its input           (pictures)
    Bringing                tensors that accelerate keeps elsewhere          (offloaded)
    in_float32              weights upcast or dequantised, block by block    (weights)

The only importer of transformers and bitsandbytes.
"""

from coupling_core.engine.loading.blocks import (
    find_blocks,
    find_stacks,
    measured_stack,
    start_token,
)
from coupling_core.engine.loading.convert import prepare
from coupling_core.engine.loading.loaded import LoadedModel, evaluating, longest_prompt
from coupling_core.engine.loading.loading import (
    FLOAT32_BYTES,
    SPARE,
    forget,
    give_way,
    load,
    load_apart,
    require_unwritten,
    within_reach,
)
from coupling_core.engine.loading.offloaded import Bringing
from coupling_core.engine.loading.own import as_loaded, describe, own_code, own_name, request_of
from coupling_core.engine.loading.pictures import READS, reads_images
from coupling_core.engine.loading.shortened import (
    reloaded,
    require_shortenable,
    save_whole,
    shortened,
)
from coupling_core.engine.loading.skeleton import (
    Skeleton,
    rehearsal,
    rehearsal_size,
    skeleton,
    stored_precision,
)
from coupling_core.engine.loading.unwrapping import is_of_bridge
from coupling_core.engine.loading.weights import in_float32, is_lent
from coupling_core.engine.loading.wrapped import Wrapped, class_name, measurable

__all__ = [
    "FLOAT32_BYTES",
    "READS",
    "SPARE",
    "Bringing",
    "LoadedModel",
    "Skeleton",
    "Wrapped",
    "as_loaded",
    "class_name",
    "describe",
    "evaluating",
    "find_blocks",
    "find_stacks",
    "forget",
    "give_way",
    "in_float32",
    "is_lent",
    "is_of_bridge",
    "load",
    "load_apart",
    "longest_prompt",
    "measurable",
    "measured_stack",
    "own_code",
    "own_name",
    "prepare",
    "reads_images",
    "rehearsal",
    "rehearsal_size",
    "reloaded",
    "request_of",
    "require_shortenable",
    "require_unwritten",
    "save_whole",
    "shortened",
    "skeleton",
    "start_token",
    "stored_precision",
    "within_reach",
]
