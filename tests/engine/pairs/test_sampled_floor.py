"""A chance floor without a closed form is a mean over random frames, beside its standard error."""

import numpy as np
import pytest
import torch
from cases import planted_jacobians

from coupling_core.engine.pairs.products import random_frames, sample_chance
from coupling_core.engine.pairs.svd import top_svd

WIDTH, K, FRAMES = 12, 3, 4


def test_the_standard_error_is_that_of_a_mean_over_a_sample_of_frames():
    J = torch.tensor(planted_jacobians(1, WIDTH, 0.5)[0], dtype=torch.float32)
    s = top_svd(J, K).s.numpy()
    frames = random_frames(WIDTH, K, FRAMES, torch.device("cpu"))
    mean, error = sample_chance(J, s, frames, ["preprint"])
    right, left = frames.double().numpy()
    A = [u @ J.double().numpy() @ v.T for u, v in zip(left, right, strict=True)]
    scores = [1 - np.linalg.norm(a - np.diag(np.diag(a))) / np.linalg.norm(a) for a in A]
    assert mean[0, -1] == pytest.approx(np.mean(scores), abs=1e-5)
    assert error[0, -1] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(FRAMES), rel=1e-3)
