"""A model of one's own, trained from the page: to its end, and where something comes between."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from driving import WAIT, App, Visit, serving, wait_for_chart
from playwright.sync_api import Page, expect

SMALL = "/Train_one?own_blocks=2&own_width=32"
LARGE = "/Train_one?own_blocks=12&own_width=128"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("app")
    with serving(folder / "store", folder / "log.txt", COUPLING_HOME=str(home)) as served:
        yield served


def train(page: Page) -> None:
    page.get_by_role("button", name="Train", exact=True).click()


def suite(home: Path, name: str) -> Path:
    return home / "suites" / f"models--coupling-explorer--{name}"


def test_one_is_trained_to_its_end_and_opens_on_the_other_pages(visit: Visit, home: Path) -> None:
    page = visit(SMALL)
    train(page)
    expect(page.get_by_text("my-run-1: step")).to_be_visible()
    wait_for_chart(page, "map-my-run-1")
    expect(page.get_by_text("on other pages")).to_be_visible()
    assert len(list((suite(home, "my-run-1") / "refs").glob("step*"))) == 10
    expect(page.get_by_text("step 500")).to_be_visible()
    for name, figure in (("Training", "scores"), ("Depth", "mosaic")):
        page.get_by_role("button", name=name, exact=True).click()
        wait_for_chart(page, figure)  # stored: nothing has to be computed
        assert "my-run-1" in page.url
        page.get_by_role("link", name="Train one").click()
        wait_for_chart(page, "map-my-run-1")
    page.get_by_role("button", name="What if", exact=True).click()
    expect(page.get_by_role("button", name="Compute")).to_be_visible()
    assert "my-run-1" in page.url


def test_cancelling_leaves_no_half_suite(visit: Visit, home: Path) -> None:
    page = visit(LARGE + "&own_name=ended")
    train(page)
    expect(page.get_by_text("ended: step")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("was cancelled")).to_be_visible()
    assert not suite(home, "ended").exists()
    assert not list((home / "suites" / ".training").glob("*"))


@pytest.mark.slow
def test_a_killed_worker_leaves_none_and_another_takes_its_place(
    visit: Visit, app: App, home: Path
) -> None:
    page = visit(LARGE + "&own_name=killed")
    train(page)
    expect(page.get_by_text("killed: step")).to_be_visible()
    children = psutil.Process(app.pid).children(recursive=True)
    (worker,) = [
        child for child in children if "coupling_core.experiments.own.training" in child.cmdline()
    ]
    os.kill(worker.pid, signal.SIGKILL)
    expect(page.get_by_text("ended by SIGKILL")).to_be_visible()
    assert not suite(home, "killed").exists()
    page = visit(SMALL + "&own_name=next")
    train(page)
    expect(page.get_by_text("on other pages").first).to_be_visible()
    assert suite(home, "next").is_dir()


@pytest.mark.slow
def test_a_closed_tab_leaves_a_whole_suite_or_none(visit: Visit, home: Path) -> None:
    page = visit(SMALL + "&own_name=closed")
    train(page)
    expect(page.get_by_text("closed: step")).to_be_visible()
    page.context.close()
    end = time.monotonic() + WAIT / 1000
    while not suite(home, "closed").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert len(list((suite(home, "closed") / "refs").glob("step*"))) == 10
    assert (suite(home, "closed") / "watched.json").is_file()
