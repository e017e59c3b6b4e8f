"""What the tests of tables of many prompts share."""

from pathlib import Path

import by_hand
import pytest
import tiny

from coupling_core import Store, measure_many, wrap


@pytest.fixture(scope="module")
def own():
    """A model of four blocks of width 32."""
    return tiny.model("gpt2", seed=1)


@pytest.fixture(scope="module")
def narrow():
    """A model of three blocks of width 24, of which a layer norm takes one rank."""
    gpt = by_hand.GPT()
    return wrap(gpt, blocks=gpt.blocks)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two models of one family, in folders."""
    path = tmp_path_factory.mktemp("models")
    return [tiny.folder(path / f"model-{seed}", seed=seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def client():
    """A worker of dask in a thread of this process; two would share one model in memory."""
    from dask.distributed import Client

    alone = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with Client(processes=False, **alone) as client:
        yield client


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """`measure_many`, on a store of the file: what one test has measured is read in the next."""
    store = Store(tmp_path_factory.mktemp("kept"), gallery=Path("none"))

    def asked(prompts, models, **said):
        how = {"k": 4, "tokenizer": tiny.tokenizer(), "progress": False, "store": store}
        return measure_many(prompts, models, **how | said)

    return asked
