"""Files that are replaced as a whole: the old one stays where the new one cannot be written."""

import pytest

from coupling_core.base import writing


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    return path


def test_a_new_file_takes_the_place_of_the_old_one(old):
    with writing.replacing(old) as new:
        new.write_text("new")
        assert old.read_text() == "old"
    assert old.read_text() == "new"
    assert list(old.parent.iterdir()) == [old]


def test_what_fails_half_way_leaves_the_old_one_alone(old):
    def fail():
        with writing.replacing(old) as new:
            new.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert old.read_text() == "old"
    assert list(old.parent.iterdir()) == [old]


def test_a_note_makes_its_folder_and_says_whether_it_was_written(old):
    inside = old.parent / "new" / "note"
    assert writing.write_quietly(inside, "noted")
    assert inside.read_text() == "noted"
    assert not writing.write_quietly(old / "note", "noted")
