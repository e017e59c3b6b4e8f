"""Any model: chosen, probed, and what the page says before it is measured."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from fake_hub import REPO, FakeHub, client, lay_out
from handling import plain_words, press
from screen import PAGES
from streamlit.testing.v1 import AppTest

from coupling_core import ComputeError, Request
from coupling_core.base.settings import settings
from explorer.server import admission, backend

pytestmark = pytest.mark.full

OTHER = "Another model…"
OWN = "coupling-explorer/mini-64"


def facts(app: AppTest) -> dict[str, str]:
    """What a probe showed: the terms of the list, and what stands beside them."""
    shown = next(html.proto.body for html in app.get("html") if "<dl" in html.proto.body)
    rows = shown.split("<dt>")[1:]
    return {name: text.split("</dd>")[0] for name, text in (row.split("</dt><dd>") for row in rows)}


def controls(app: AppTest) -> set[str]:
    """The labels of the sidebar's controls."""
    kinds = ("selectbox", "text_input", "segmented_control", "button")
    return {str(getattr(one, "label", "")) for kind in kinds for one in app.sidebar.get(kind)}


def buttons(app: AppTest) -> list[str]:
    """Of the page itself."""
    return [button.label for button in app.main.button]


@pytest.fixture
def hub(
    in_this_process: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeHub]:
    """A hub of the test's own with one model of two revisions, and an empty cache."""
    fake = FakeHub({name: tiny.folder(tmp_path / "served" / name) for name in ("main", "step1000")})
    client(monkeypatch, tmp_path, fake)
    yield fake
    fake.close()


def test_a_folder_is_chosen_and_probed(open_page, tmp_path) -> None:
    folder = tiny.folder(tmp_path / "gpt2", "gpt2")
    app = open_page("Start")
    app.selectbox(key="model@list").set_value(OTHER).run()
    app.text_input(key="model@own").set_value(str(folder)).run()
    assert app.query_params["model"] == str(folder)
    assert not {"Revision", "Stack"} & controls(app)
    press(app, "Probe")
    assert facts(app) == {
        "architecture": "GPT2LMHeadModel",
        "parameters": f"{sum(p.numel() for p in tiny.model('gpt2').parameters()):,}",
        "stored as": "float32",
        "blocks": "4",
        "width d": "32",
        "heads": "4",
        "attention": "causal",
        "longest prompt": "64 tokens",
    }
    app.text_input(key="model@own").set_value(str(tmp_path)).run()
    assert not [html for html in app.get("html") if "<dl" in html.proto.body]
    press(app, "Probe")
    assert "config.json" in app.sidebar.error[0].value
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "no-such-family"}))
    press(app := open_page("Runs", model=str(folder)), "Probe")
    assert "architecture" in app.sidebar.error[0].value


def test_what_does_not_fit_is_refused(in_this_process, open_page, link, monkeypatch) -> None:
    from coupling_core.engine import hardware
    from coupling_core.engine.loading import forget
    from coupling_core.measuring import memory

    forget()  # models of earlier tests would give way, and their memory counts
    monkeypatch.setattr(memory, "LIBRARIES", 0)
    monkeypatch.setattr(hardware, "free_memory", lambda device: 1000)
    app = open_page("Depth", **link)
    assert "0 kB may be used" in app.warning[0].value
    request = Request(**link)
    with pytest.raises(ComputeError, match="0 kB may be used"):
        admission.require_memory(backend.resolved(request), None)
    monkeypatch.setattr(hardware, "free_memory", lambda device: settings().memory_reserve + 10**9)
    assert not app.run().warning
    admission.require_memory(backend.resolved(request), None)


def test_page_and_worker_ask_about_the_device_that_is_set(open_page, link, monkeypatch) -> None:
    monkeypatch.setenv("COUPLING_DEVICE", "cuda:99")
    app = open_page("Depth", **link)
    assert "cuda:99" in app.error[0].value
    assert not buttons(app)


def test_stacks_and_costs_are_told_before_a_measurement(open_page, tmp_path) -> None:
    app = open_page("Depth", model=str(tiny.folder(tmp_path / "t5", "t5")), prompt="The cat")
    told = plain_words(app)
    for words in ("4 causal blocks of the decoder", "of memory is needed", "of computing"):
        assert words in told
    assert "Compute" in buttons(app)
    app.segmented_control(key="stack@sidebar").set_value("encoder").run()
    assert app.query_params["stack"] == "encoder"
    assert "4 bidirectional blocks of the encoder" in plain_words(app)
    app.switch_page(PAGES["Runs"]).run()
    app.selectbox(key="model@list").set_value("smollm2-135m").run()
    assert "stack" not in app.query_params
    assert "Stack" not in controls(app)


def test_the_form_of_the_weights_is_part_of_the_link_and_a_twin_has_none(open_page) -> None:
    app = open_page("Runs", dtype="bfloat16")
    app.selectbox(key="quantize@sidebar").set_value("nf4").run()
    assert dict(app.query_params) == {"dtype": "bfloat16", "quant": "nf4"}
    app.toggle(key="untrained@sidebar").set_value(True).run()
    assert "quant" not in app.query_params
    assert app.selectbox(key="quantize@sidebar").disabled
    assert not app.error


@pytest.fixture
def suite(tmp_path: Path) -> None:
    """A training run of two steps that was made on this machine; the last has a name of its own."""
    folders = {f"step{n}": tiny.folder(tmp_path / f"{n}", "gpt_neox", n) for n in (8, 4)}
    lay_out(tmp_path / "home" / "suites", folders | {"main": folders["step8"]}, OWN)


def test_a_training_run_is_chosen_with_its_step(open_page, suite, monkeypatch) -> None:
    app = open_page("Runs")
    assert "mini-64" in app.selectbox(key="model@list").options
    app.selectbox(key="model@list").set_value(OWN).run()
    step = app.selectbox(key="revision@step-mini-64")
    assert (step.label, step.options, step.value) == ("Training step", ["4", "8"], "step8")
    assert "Revision" not in controls(app)
    step.set_value("step4").run()
    assert (app.query_params["model"], app.query_params["rev"]) == (OWN, "step4")
    app = open_page("Depth", model=OWN, rev="step5")
    assert app.selectbox(key="revision@step-mini-64").value == "step5"
    assert "step4 and step8" in app.error[0].value
    monkeypatch.setenv("COUPLING_MODE", "demo")  # which offers it too
    app = open_page("Depth", model=OWN, rev="step4", prompt="The cat", k="4")
    assert "4 causal blocks, width 32" in plain_words(app)


def test_what_is_wrong_with_a_hub_suite_is_said(open_page, tmp_path, monkeypatch) -> None:
    client(monkeypatch, tmp_path)
    assert open_page("Runs", model="EleutherAI/pythia-2.8b").sidebar.warning
    assert not open_page("Runs", model="EleutherAI/pythia-70m").sidebar.warning


def test_a_hub_model_is_probed_by_its_config_alone_and_its_download_told(open_page, hub) -> None:
    app = open_page("Runs", model=REPO)
    assert app.selectbox(key="revision@sidebar").options == ["main", "step1000"]
    press(app, "Probe")
    assert facts(app)["architecture"] == "LlamaForCausalLM"
    assert hub.fetched() == {"config.json"}
    app.selectbox(key="revision@sidebar").set_value("step1000").run()
    assert app.query_params["rev"] == "step1000"
    app = open_page("Depth", model=REPO, prompt="The cat")
    assert "To be downloaded first" in plain_words(app)
    assert "4 causal blocks, width 32" in plain_words(app)
    assert "Compute" in buttons(app)
    assert "model.safetensors" not in {name for method, name in hub.asked if method == "GET"}


def test_a_gated_model_asks_for_a_token_and_offers_no_button(open_page, hub) -> None:
    hub.gated = True
    app = open_page("Depth", model=REPO, prompt="The cat")
    assert "hf auth login" in app.error[0].value
    assert not buttons(app)


def test_a_hub_out_of_reach_is_told(open_page, hub) -> None:
    hub.close()
    app = open_page("Depth", model=REPO, prompt="The cat")
    assert "out of reach" in app.error[0].value
    press(app, "Probe")
    assert "out of reach" in app.sidebar.error[0].value
