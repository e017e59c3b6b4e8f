"""measure_many on a dask client that is handed over, and what it tells on its way."""

import pandas as pd
import pytest

from coupling_core import ComputeError, Store, measure_many
from coupling_core.base import pace
from coupling_core.experiments import many_on_dask, many_progress

TEXTS = ("The cat sat", "on the mat", "The dog sat on the mat")


def test_the_table_is_the_same_on_a_client(client, folders, tmp_path, monkeypatch):
    here = measure_many(TEXTS, folders, k=4, store=tmp_path / "here", progress=False)
    at_once = []

    def measured(*asked, **how):
        at_once.append(many_on_dask._ALONE.locked())
        return of_worker(*asked, **how)

    of_worker = many_on_dask.measure
    monkeypatch.setattr(many_on_dask, "measure", measured)
    there = measure_many(
        TEXTS, folders, k=4, store=tmp_path / "there", client=client, progress=False
    )
    pd.testing.assert_frame_equal(here, there)
    assert at_once == [True] * 6  # by the workers, each alone
    entries = [each for each in Store(tmp_path / "there").entries() if not each.read_only]
    assert {each.key for each in entries} == set(there["key"])


def test_what_a_worker_refuses_is_left_out(client, folders, tmp_path):
    prompts = [TEXTS[0], [9_999]]
    how = {"k": 4, "store": tmp_path / "kept", "client": client, "progress": False}
    with pytest.warns(UserWarning, match="9999"):
        table = measure_many(prompts, folders[:1], **how)
    assert list(table["prompt"]) == [TEXTS[0]]


def test_a_store_that_the_workers_do_not_share_is_told(client, folders, tmp_path, monkeypatch):
    elsewhere, measured = Store(tmp_path / "elsewhere"), many_on_dask.measure
    monkeypatch.setattr(many_on_dask, "measure", lambda asked, _, **how: measured(asked, elsewhere))
    how = {"k": 4, "store": tmp_path / "kept", "client": client, "progress": False}
    with pytest.raises(ComputeError, match="disk"):
        measure_many(TEXTS[:1], folders[:1], **how)


def test_lines_come_where_no_bar_is_drawn_and_who_stops_it_is_told(capsys, monkeypatch):
    monkeypatch.setattr(pace, "APART", 0.0)
    monkeypatch.setattr(pace, "READ", -1.0)
    with many_progress.telling(3, shown=True) as advance:
        advance("a", done=0)
        for _ in range(3):
            advance("a")
    told = [line[:13] for line in capsys.readouterr().err.splitlines() if line]
    assert told == ["prompt 2 of 3", "prompt 3 of 3"]

    def stopped():
        with many_progress.telling(9, shown=False) as advance:
            advance("a")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="1 of 9"):
        stopped()
    assert not "".join(capsys.readouterr()).strip()
