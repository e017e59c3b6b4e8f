"""`coupling prune`, run as people run it, on a tiny model."""

import json

import pytest
from command_line import printed

pytestmark = pytest.mark.full
TEXTS = """The cat sat on the mat because it was tired
and the dog lay down beside it
the mat was on the cat
it was the dog
beside the mat it sat down
the tired dog sat on the cat
"""


@pytest.fixture
def command(run, folder, tmp_path):
    (tmp_path / "texts.txt").write_text(TEXTS)
    return lambda *args: run("prune", "--model", folder, "--texts", "texts.txt", *args)


def test_all_rankings_are_priced_and_written(command, tmp_path):
    said = printed(command("--remove", "1-2", "--json", "--out", "plan.json"))
    rankings = {"coupling", "influence", "angle", "kl", "last", "random"}
    assert {row["by"] for row in said["curve"]} == rankings
    assert (said["ranked_on"], said["judged_on"]) == (2, 4)
    assert len(said["by_block"]["coupling"]) == 4
    written = json.loads((tmp_path / "plan.json").read_text())
    assert written["source"] == "texts of texts.txt"
    assert len(written["cuts"]) == 2 * (5 + 20)


def test_a_model_is_saved_beside_a_table_for_people_and_one_as_csv(command, tmp_path):
    status, out, err = command("--by", "last", "--remove", "1", "--save", "short")
    assert (status, "saved       short" in out) == (0, True), err
    assert json.loads((tmp_path / "short" / "config.json").read_text())["num_hidden_layers"] == 3
    both = ("--by", "last", "--by", "random")
    status, out, err = command(*both, "--remove", "2", "--out", "p.csv")
    assert (status, "last" in out) == (0, True), err
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 3
