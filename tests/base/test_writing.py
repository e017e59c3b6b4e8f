"""Files that are replaced as a whole: the old one stays where the new one cannot be written."""

import errno
import os

import pytest

from coupling_core.base import writing
from coupling_core.base.errors import ComputeError, InputError


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


@pytest.mark.parametrize(
    ("number", "kind", "told"),
    [
        (errno.ENOSPC, ComputeError, "the disk is full"),
        (errno.EDQUOT, ComputeError, "your quota on the disk is used up .*: free some space"),
        (errno.EIO, ComputeError, "the disk is failing .*: see what the system's log says"),
        (errno.EFBIG, ComputeError, "files of this size are not allowed .*: raise `ulimit -f`"),
        (errno.EMFILE, ComputeError, "too many files are open"),
        (errno.EACCES, InputError, "cannot be written .*: choose a folder"),
    ],
)
def test_a_write_that_fails_is_told_in_plain_words(old, number, kind, told):
    with pytest.raises(kind, match=told), writing.writing(old):
        raise OSError(number, "as the system says it")


def test_a_disk_that_can_name_no_more_files_is_not_full(old, monkeypatch):
    disk = os.statvfs(old.parent)
    none_free = os.statvfs_result((*disk[:4], 10**6, 10**6, 0, 0, *disk[8:]))
    monkeypatch.setattr(os, "statvfs", lambda _: none_free)
    with (
        pytest.raises(ComputeError, match="has room, but for no more files"),
        writing.writing(old),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
