"""What a trainer reports to has the curves too, where its package is installed."""

import pytest
import test_watching as watched

from coupling_core.experiments.watching.callback import CouplingCallback

pytestmark = pytest.mark.slow


def trained(tmp_path, name):
    watch = CouplingCallback(watched.PROBES, every=2, share=1.0)
    trainer = watched.trained(tmp_path, watch, report_to=[name])
    return [look.numbers["corrected"] for look in watch.looks], trainer


def test_tensorboard_has_curves_and_maps_beside_the_losses(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    expected, _ = trained(tmp_path, "tensorboard")
    (folder,) = (tmp_path / "out" / "runs").iterdir()
    found = EventAccumulator(str(folder), size_guidance={"images": 0}).Reload()
    told = found.Scalars("coupling/corrected")
    assert [one.step for one in told] == [0, 2, 3]
    assert [one.value for one in told] == pytest.approx(expected, rel=1e-5)
    assert len(found.Images("coupling/map")) == 3
    assert found.Scalars("train/loss")


def test_wandb_offline_has_them(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    expected, _ = trained(tmp_path, "wandb")
    summary = dict(wandb.run.summary)
    wandb.finish()
    assert summary["coupling/corrected"] == pytest.approx(expected[-1], rel=1e-6)
    assert summary["train/loss"]
    assert list(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    assert list(tmp_path.glob("wandb/offline-run-*/files/media/images/coupling/map*.png"))
