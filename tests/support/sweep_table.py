"""Tables of sweeps with planted numbers, for the statistics over models and their figures."""

from io import StringIO

import numpy as np
import pandas as pd

from coupling_core import Store
from coupling_core.analysis.statistics import Points
from coupling_core.experiments.sweeps import Journal, write_table
from coupling_core.experiments.sweeps.table import COLUMNS

KS = (4, 8, 16)


def model_row(name: str, family: str, coupling: float, **facts: object) -> dict[str, object]:
    """A model, and the mean coupling that it has at the first K."""
    unknown = dict.fromkeys(("step", "training_tokens", "loss", "score"), np.nan)
    sizes = {"trained": True, "parameters": 1e9, "layers": 16.0, "width": 160.0}
    row = unknown | sizes | {"model": name, "id": name, "revision": "", "family": family} | facts
    return row | {"planted": coupling}


def sweep_of(
    models: list[dict[str, object]], prompts: int = 12, noise: float = 0.02, seed: int = 0
):
    """A table, read back from CSV; coupling falls a little with K and with a prompt's length."""
    rng = np.random.default_rng(seed)
    rows = []
    for model in models:
        for number in range(prompts):
            length = 5.0 + 3 * number
            at_random = rng.normal(0, noise)
            for k in KS:
                corrected = model["planted"] - 0.001 * (k - KS[0]) - 0.002 * number + at_random
                rows.append(
                    {key: value for key, value in model.items() if key != "planted"}
                    | {"prompt": f"prompt {number}", "source": "own", "category": "fact"}
                    | {"difficulty": 1.0 + number % 3, "tokens": length, "kind": "depth", "k": k}
                    | {"coupling": 0.5 + corrected / 2, "chance": 0.5, "corrected": corrected}
                    | {"alignment": corrected, "certified": True, "key": f"{number}"}
                )
    return pd.read_csv(StringIO(pd.DataFrame(rows).to_csv(index=False)))


def zoo(seed: int = 0) -> list[dict[str, object]]:
    """Four families of three sizes, a training run of six steps, and an untrained twin."""
    rng = np.random.default_rng(seed)
    models = []
    for place, family in enumerate(("Alpha", "Beta", "Gamma", "Delta")):
        for size, parameters in enumerate((1e8, 1e9, 7e9)):
            coupling = 0.2 + 0.05 * place + 0.03 * size + rng.normal(0, 0.01)
            known = {} if family == "Delta" else {"training_tokens": 10 ** (10 + size + place / 3)}
            facts = {
                "parameters": parameters * (1 + 0.1 * place),
                "layers": 12.0 * (size + 1),
                "width": (160.0, 640.0, 1920.0)[size],
                "loss": 4 - 3 * coupling + rng.normal(0, 0.05),
                "score": 20 + 90 * coupling + rng.normal(0, 2),
            }
            models.append(model_row(f"{family}-{size}", family, coupling, **facts | known))
    for number, step in enumerate((0, 1, 16, 256, 1000, 4000)):
        facts = {"id": "coupling-explorer/mini-64", "revision": f"step{step}", "step": float(step)}
        facts |= {"trained": step > 0, "parameters": 5e5, "layers": 8.0}
        facts |= {"training_tokens": 1e5 * step, "loss": 7 - 8 * 0.05 * number}
        name = f"coupling-explorer/mini-64@step{step}"
        models.append(model_row(name, "mini-64", 0.05 * number, **facts))
    facts = {"trained": False, "parameters": 1e8, "loss": 9.0}
    return [*models, model_row("Alpha-0, untrained (seed 0)", "Alpha", 0.0, **facts)]


def plant(store: Store, table: pd.DataFrame, name: str = "planted", **plan: object) -> Journal:
    """A sweep in a store: what was planned, and its table."""
    journal = Journal.of(store, name)
    journal.begin({"name": name, "title": f"The sweep {name}", "kinds": ["depth"]} | plan)
    write_table(journal.table, table.reindex(columns=list(COLUMNS)))
    return journal


def prompts_table(**columns) -> pd.DataFrame:
    """Scores of four prompts of two topics."""
    rows = {"model": "m", "kind": "depth", "k": 8, "corrected": [0.1, 0.3, 0.5, np.nan]}
    return pd.DataFrame(rows | {"topic": ["b", "a", "b", "a"]} | columns)


def points_of(x, y, family=None) -> Points:
    """Points from arrays; every model is a run of its own, and a family unless told otherwise."""
    names = [f"model {i}" for i in range(len(x))]
    x, y = (np.asarray(values, np.float64) for values in (x, y))
    rows = {"x": x, "y": y, "model": names, "family": names if family is None else family}
    return Points("coupling", "loss", pd.DataFrame(rows | {"run": names}))
