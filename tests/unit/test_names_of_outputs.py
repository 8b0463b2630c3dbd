"""Names that no file can have are refused before there is anything to write."""

import os
from pathlib import Path

import pytest

from symderiv.foundation.errors import InputError
from symderiv.foundation.files import remove_temporaries, replace_file
from symderiv.foundation.outputs import Output, OutputFolder
from symderiv.storage.checkpoint import Checkpoint, checkpoint_path

MOST = os.pathconf("/", "PC_NAME_MAX")


@pytest.mark.parametrize("letter", ["x", "α"])
def test_the_longest_name_is_written_and_a_longer_one_refused_wherever_it_stands(
    tmp_path: Path, letter: str
) -> None:
    count = (MOST - 3) // len(letter.encode())
    longest = tmp_path / f"{letter * count}.nc"
    replace_file(longest, b"whole")
    assert longest.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == [longest.name]
    longer = letter * (count + 1) + ".nc"
    for path in (tmp_path / longer, tmp_path / "new" / longer, tmp_path / longer / "run.nc"):
        with pytest.raises(InputError, match=f"too long; the limit is {MOST}"):
            Output(path, "nc")
        with pytest.raises(InputError, match="too long"):
            OutputFolder(path)


def test_what_is_written_beside_a_name_needs_room_too(tmp_path: Path) -> None:
    OutputFolder(tmp_path / ("x" * (MOST - 20)), beside=20)
    with pytest.raises(InputError, match=f"the limit is {MOST - 20}"):
        OutputFolder(tmp_path / ("x" * (MOST - 19)), beside=20)
    for no_name in (Path(), tmp_path / ".."):
        with pytest.raises(InputError, match="is not the name of a file"):
            OutputFolder(no_name, beside=20)
    with pytest.raises(InputError, match="too long"):
        Checkpoint(checkpoint_path(tmp_path / ("x" * (MOST - 3))))
    assert not os.listdir(tmp_path)


def test_what_killed_writers_left_of_a_name_of_many_bytes_is_removed(tmp_path: Path) -> None:
    path = tmp_path / f"{'α' * 126}.nc"
    left = tmp_path / f".{'α' * 100}.{2**30}-01234567.tmp"
    left.write_bytes(b"half")
    remove_temporaries(path)
    assert not left.exists()
