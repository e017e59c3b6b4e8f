"""A model of 2 GB in bfloat16, streamed: its memory, and that its numbers are the resident ones.

    python benchmarks/streaming.py

Builds a folder of random weights in the shape of TinyLlama-1.1B, measures it in two fresh
processes (weights memory-mapped and lent to one block at a time; weights upcast and resident), and
deletes it.
"""

import json
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

SHAPE = {
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}
PROMPT = tuple(range(100, 116))
ALLOWED = 700_000_000
"""Bytes of anonymous memory that a streamed run may take beyond one block and its Jacobian."""
RESULTS = Path(__file__).parent / "results" / "streaming.json"


def build(folder: Path) -> None:
    """Write random bfloat16 weights, in shards, and a tokenizer."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    model = LlamaForCausalLM._from_config(LlamaConfig(**SHAPE), dtype=torch.bfloat16)
    model.save_pretrained(folder, max_shard_size="500MB")
    words = Tokenizer(WordLevel({"a": 0}, unk_token="a"))
    PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)


def run(folder: Path, mode: str) -> None:
    """Measure in this process, and print what it took."""
    import numpy as np

    from coupling_core import Request, measure
    from coupling_core.models import load

    request = Request(PROMPT, model=str(folder))
    peak = Peak()
    loaded = load(request, "cpu", streamed=mode == "streamed")
    result = measure(request, model=loaded.model, device="cpu")
    arrays = {
        name: getattr(result, name)
        for name in ("singular_values", "diagonal", "off_diagonal", "matrices", "angles", "chance")
    }
    np.savez(folder / f"{mode}.npz", **arrays)
    certified = sum(certificate.certified for certificate in result.certificates)
    seconds = result.provenance["seconds"]
    took = {"peak_anonymous": peak.stop(), "seconds": seconds, "certified": certified}
    sys.stdout.write(json.dumps(took))


class Peak:
    """The most anonymous memory that this process holds while it is watched."""

    def __init__(self) -> None:
        self._most, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            status = Path("/proc/self/status").read_text()
            self._most = max(self._most, 1024 * int(re.search(r"RssAnon:\s+(\d+)", status)[1]))

    def stop(self) -> int:
        """End watching, and tell the peak in bytes."""
        self._done.set()
        self._thread.join()
        return self._most


def main() -> None:
    """Build, measure both ways, compare, write the result."""
    import numpy as np

    from coupling_core import hardware

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = [sys.executable, __file__]
        subprocess.run([*script, "build", name], check=True)
        weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        took = {}
        for mode in ("streamed", "resident"):
            ran = subprocess.run([*script, mode, name], check=True, stdout=subprocess.PIPE)
            took[mode] = json.loads(ran.stdout)
        streamed, resident = (np.load(folder / f"{mode}.npz") for mode in took)
        same = all(np.array_equal(streamed[n], resident[n], equal_nan=True) for n in streamed)
    d, ff, kv = SHAPE["hidden_size"], SHAPE["intermediate_size"], 256
    block = 4 * (2 * d * d + 2 * d * kv + 3 * d * ff)
    jacobian = 4 * d * d
    found = {
        "weights_bytes": weights,
        "one_float32_block_bytes": block,
        "jacobian_bytes": jacobian,
        "allowed_bytes": block + jacobian + ALLOWED,
        "identical": same,
        **took,
        "versions": hardware.versions(),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    sys.stdout.write(RESULTS.read_text())


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            main()
        case ["build", where]:
            build(Path(where))
        case [how, where]:
            run(Path(where), how)
