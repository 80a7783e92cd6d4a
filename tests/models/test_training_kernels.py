from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from comrecgc.models import training_kernels as kernels


def test_adam_takes_the_steps_of_torch() -> None:
    rng = np.random.default_rng(0)
    ours = rng.normal(size=50).astype(np.float32)
    theirs = torch.nn.Parameter(torch.from_numpy(ours.copy()))
    optimiser = torch.optim.Adam([theirs], lr=0.01)
    first, second = np.zeros(50), np.zeros(50)
    for step in range(1, 30):
        gradient = (rng.normal(size=50) * 10.0 ** rng.integers(-4, 3)).astype(np.float32)
        theirs.grad = torch.from_numpy(gradient)
        optimiser.step()
        kernels.adam(ours, gradient, first, second, step, 0.01)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), atol=1e-5)


def test_cross_entropy_and_its_gradient_equal_torch() -> None:
    logits = torch.tensor([[0.3, -2.0], [80.0, -90.0], [1.0, 1.0]], dtype=torch.float64, requires_grad=True)
    targets = np.array([1, 0, 1])
    expected = F.cross_entropy(logits, torch.from_numpy(targets))
    expected.backward()  # type: ignore[no-untyped-call]
    gradient = np.empty((3, 2))
    assert kernels.cross_entropy(logits.detach().numpy(), targets, gradient) == pytest.approx(expected.item())
    assert logits.grad is not None
    np.testing.assert_allclose(gradient, logits.grad.numpy(), atol=1e-12)


def test_normalise_counts_a_row_as_many_times_as_it_stands_for() -> None:
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    counts = np.array([1, 3, 2, 1, 5, 1])
    norm = torch.nn.BatchNorm1d(4, dtype=torch.float64)
    repeated = x.repeat_interleave(torch.from_numpy(counts), dim=0).requires_grad_()
    expected = F.relu(norm(repeated))
    weight, bias = (p.detach().numpy() for p in (norm.weight, norm.bias))
    mean, variance, out = np.empty(4), np.empty(4), np.empty((6, 4))
    assert kernels.normalise(x.numpy(), counts, weight, bias, norm.eps, mean, variance, out) == 13
    rows = np.repeat(np.arange(6), counts)
    np.testing.assert_allclose(out[rows], expected.detach().numpy(), atol=1e-12)

    pulled = torch.randn(13, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected.backward(pulled)  # type: ignore[no-untyped-call]
    summed = np.zeros((6, 4))
    np.add.at(summed, rows, pulled.numpy())
    grad_x, grad_weight, grad_bias = np.empty((6, 4)), np.empty(4), np.empty(4)
    arguments = (x.numpy(), counts, weight, norm.eps, mean, variance, out, summed, grad_x, grad_weight, grad_bias)
    kernels.normalise_backward(*arguments)
    assert repeated.grad is not None
    assert norm.weight.grad is not None
    assert norm.bias.grad is not None
    total = np.zeros((6, 4))
    np.add.at(total, rows, repeated.grad.numpy())
    np.testing.assert_allclose(grad_x, total, atol=1e-10)
    np.testing.assert_allclose(grad_weight, norm.weight.grad.numpy(), atol=1e-10)
    np.testing.assert_allclose(grad_bias, norm.bias.grad.numpy(), atol=1e-10)
