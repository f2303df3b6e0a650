"""MES and KG: positive, and equal to BoTorch's own."""

import pytest
import torch
from botorch.acquisition.knowledge_gradient import qKnowledgeGradient
from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.sampling.base import MCSampler
from botorch.utils.sampling import manual_seed

from wideopt.acquisition.information import (
    KnowledgeGradient,
    LogOfPositive,
    max_value_entropy,
    predictive_entropy,
)
from wideopt.surrogates import GaussianProcess
from wideopt.surrogates.base import quiet


@pytest.fixture(scope="module")
def model():
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(12, 2, generator=generator, dtype=torch.float64)
    noise = 0.05 * torch.randn(12, generator=generator, dtype=torch.float64)
    y = (X - 0.4).square().sum(dim=1) + noise
    return GaussianProcess().fit(X, y[:, None])


@pytest.fixture(scope="module")
def cube():
    return torch.rand(40, 2, generator=torch.Generator().manual_seed(1)).double()


class Fixed(MCSampler):
    """A sampler whose standard normals are given."""

    def __init__(self, z):
        super().__init__(sample_shape=torch.Size([len(z)]))
        self.z = z

    def forward(self, posterior):
        scale = posterior.variance.sqrt()
        return posterior.mean + scale * self.z.reshape(-1, *[1] * scale.ndim)


def test_knowledge_gradient_is_positive(model, cube):
    assert (KnowledgeGradient(model, cube[:20])(cube.unsqueeze(-2)) >= 0).all()


def test_knowledge_gradient_is_botorchs_where_the_inner_minima_are_known(model, cube):
    A, x = cube[:20], cube[20:21]
    ours = KnowledgeGradient(model, A, n_outcomes=8)
    inner = torch.cat([A, x])
    # BoTorch maximizes, so its fantasies are the same outcomes of the negated model.
    transform = ScalarizedPosteriorTransform(torch.tensor([-1.0]).double())
    current = -model.posterior(inner).mean.min()
    with quiet(), torch.no_grad():
        fantasies = model.fantasize(x, Fixed(ours.z))
        at = fantasies.posterior(inner).mean[..., 0].argmin(dim=-1)
        theirs = qKnowledgeGradient(
            model,
            num_fantasies=8,
            sampler=Fixed(ours.z),
            posterior_transform=transform,
            current_value=current,
        )(torch.cat([x, inner[at]])[None])
        assert torch.allclose(ours(x[None]), theirs, rtol=1e-4)


def test_knowledge_gradient_has_the_gradient_of_its_values(model, cube):
    acqf = KnowledgeGradient(model, cube[:20])
    x = cube[30:31, None, :].clone().requires_grad_()
    acqf(x).sum().backward()
    for i in range(2):
        step = torch.zeros(1, 1, 2).double()
        step[..., i] = 1e-6
        with torch.no_grad():
            slope = (acqf(x + step) - acqf(x - step)) / 2e-6
        assert torch.allclose(slope, x.grad[0, 0, i], rtol=1e-3, atol=1e-6)


def test_max_value_entropy_is_botorchs(model, cube):
    X = cube[20:].unsqueeze(-2)
    ours = max_value_entropy(model, cube[:20], model.train_inputs[0], seed=3)
    with manual_seed(3), quiet():
        theirs = qMaxValueEntropy(
            model, cube[:20], num_mv_samples=16, num_y_samples=32, maximize=False
        )
    with torch.no_grad():
        assert torch.equal(ours(X), theirs(X))
        assert ours(X).max() > 0


def test_lower_bound_is_positive(model, cube):
    acqf = max_value_entropy(model, cube[:20], cube[:1], seed=3, is_bound=True)
    with torch.no_grad():
        values = acqf(cube.unsqueeze(-2))
    assert (values >= 0).all()
    assert values.max() > 0


def test_predictive_entropy_prefers_what_is_uncertain(model):
    minimizers = torch.tensor([[0.1, 0.3], [0.9, 0.1], [0.3, 0.9]]).double()
    acqf = predictive_entropy(model, minimizers)
    known = model.train_inputs[0][:1]
    with torch.no_grad(), quiet():
        values = acqf(torch.cat([minimizers, known]).unsqueeze(-2))
    assert values[:3].max() > values[3]


def test_log_of_positive(model, cube):
    acqf = KnowledgeGradient(model, cube[:20])
    X = cube[20:].unsqueeze(-2)
    with torch.no_grad():
        values, logs = acqf(X), LogOfPositive(acqf, tau=1e-9)(X)
    large = values > 1e-6
    assert large.any()
    shift = torch.tensor(1e-9).double().log()
    assert torch.allclose(logs[large] + shift, values[large].log())
    assert torch.equal(logs.argsort(), values.argsort())


@pytest.mark.parametrize("value", [-1.0, 0.0, 1e-12, 1.0])
def test_log_of_positive_is_finite_and_has_a_gradient(model, value):
    x = torch.full((1, 1, 1), value, dtype=torch.float64, requires_grad=True)

    class Identity(KnowledgeGradient):
        def forward(self, X):
            return X[..., 0, 0]

    acqf = Identity(model, torch.full((1, 2), 0.5, dtype=torch.float64))
    y = LogOfPositive(acqf)(x)
    y.backward()
    assert y.isfinite().all()
    assert x.grad.item() > 0
