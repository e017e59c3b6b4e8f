"""Checks that several tests share, and the tolerances that they use."""

from typing import Any

import torch

TOLERANCE = {
    torch.float32: 2e-5,  # d eps of a 64 x 64 product, with room for two products in a row
    torch.float64: 1e-12,  # the same in double precision
}


def check_svd(jacobian: torch.Tensor, svd, exact: torch.Tensor) -> None:
    """Orthonormal, ordered, near the exact singular values, and reconstructing J on its range."""
    tolerance = TOLERANCE[jacobian.dtype] * float(exact[0])
    k = len(svd.s)
    eye = torch.eye(k, dtype=jacobian.dtype)
    assert svd.u.dtype == svd.s.dtype == svd.v.dtype == jacobian.dtype
    assert svd.u.device == svd.s.device == svd.v.device == jacobian.device
    assert torch.norm(svd.u.T @ svd.u - eye) <= TOLERANCE[jacobian.dtype]
    assert torch.norm(svd.v.T @ svd.v - eye) <= TOLERANCE[jacobian.dtype]
    assert (svd.s[:-1] >= svd.s[1:]).all()
    assert torch.allclose(svd.s, exact[:k], atol=tolerance, rtol=0)
    assert torch.norm(jacobian @ svd.v - svd.u * svd.s) <= tolerance * k
    assert torch.norm(jacobian.T @ svd.u - svd.v * svd.s) <= tolerance * k


def relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Relative error in the Frobenius norm."""
    return float((found - expected).norm() / expected.norm())


def trace(figure: Any, name: str) -> Any:
    """The one trace of a plotly figure that has this name."""
    (found,) = [one for one in figure.data if one.name == name]
    return found
