"""A result in a file of its own: saved, and loaded as it was."""

import numpy as np
import pytest
import tiny
from cases import EVERY_KIND, content

from coupling_core import InputError, Store, load, measure

IDS = (3, 1, 4, 1, 5)


def test_what_is_saved_is_loaded_to_the_bit(tmp_path):
    for make in EVERY_KIND:
        result = make()
        path = result.save(str(tmp_path / "of a paper.safetensors"))
        assert path == tmp_path / "of a paper.safetensors"
        for name in (path, str(path)):
            assert type(load(name)) is type(result)
            assert content(load(name)) == content(result)


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
    with pytest.raises(InputError):
        Store(tmp_path / "kept").put(again)
