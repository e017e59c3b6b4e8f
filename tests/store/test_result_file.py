"""A result in a file of its own: saved, loaded, and refused where it is not what was saved."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
from cases import (
    EVERY_KIND,
    content,
    random_result,
)

from coupling_core import InputError, Store, load, measure
from coupling_core.store import archive

IDS = (3, 1, 4, 1, 5)


@pytest.mark.parametrize("make", EVERY_KIND)
def test_what_is_saved_is_loaded_to_the_bit(make, tmp_path):
    result = make()
    path = result.save(str(tmp_path / "of a paper.safetensors"))
    assert path == tmp_path / "of a paper.safetensors"
    for name in (path, str(path)):
        again = load(name)
        assert type(again) is type(result)
        assert content(again) == content(result)


def test_it_is_the_file_that_the_store_keeps(tmp_path):
    store = Store(tmp_path / "kept")
    result = measure(IDS, store, model=tiny.model("llama"), k=4)
    saved = result.save(tmp_path / f"{result.key}.safetensors")
    assert content(load(store.path(result.key))) == content(load(saved)) == content(result)
    other = Store(tmp_path)  # the folder of such a file is a store
    assert content(other.get(result.key)) == content(result)


def test_a_result_that_was_not_stored_is_saved_and_loaded_too(tmp_path):
    result = measure(IDS, None, model=tiny.model("llama"), k=4)
    assert not result.key
    again = load(result.save(tmp_path / "result.safetensors"))
    assert content(again) == content(result)
    np.testing.assert_array_equal(again.scores(k=4).corrected, result.scores(k=4).corrected)
    with pytest.raises(InputError, match="is not that of the result's request"):
        Store(tmp_path / "kept").put(again)


@pytest.mark.parametrize("name", ["result", "result.csv", "result.nc", "map.pdf"])
def test_another_ending_is_refused_with_the_way_to_other_files(name, tmp_path):
    with pytest.raises(InputError, match=r"saved as \.safetensors.*to_pandas.*plot\(\)\.save"):
        random_result().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_what_is_not_measured_to_its_end_is_not_saved(tmp_path):
    partial = replace(random_result(), jacobian_norm=np.full(5, np.nan))
    with pytest.raises(InputError, match="not measured to its end"):
        partial.save(tmp_path / "result.safetensors")


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="choose a folder that exists"):
        random_result().save(tmp_path / "nowhere" / "result.safetensors")


def test_a_file_that_is_damaged_forged_or_none_is_refused(tmp_path):
    path = random_result().save(tmp_path / "result.safetensors")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"result\.safetensors is damaged"):
        load(path)
    path.write_bytes(archive.encode(replace(random_result(), width=3)))  # narrower than its K
    with pytest.raises(InputError, match=r"result\.safetensors is no sound result"):
        load(path)
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "nothing.safetensors")


def test_a_key_of_another_request_is_refused(tmp_path):
    path = tmp_path / "result.safetensors"
    path.write_bytes(archive.encode(replace(random_result(), key=random_result(seed=1).key)))
    with pytest.raises(InputError, match="is not that of its request"):
        load(path)
