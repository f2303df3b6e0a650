import json
import math

import pytest
import torch
from jaxtyping import TypeCheckError

from wideopt.exceptions import InputError
from wideopt.numerics.empirical import TangentKernel
from wideopt.numerics.evidence import _Problem, fit_evidence, inflation, log_joint
from wideopt.numerics.hyper import Hyper, Prior
from wideopt.numerics.infinite import InfiniteKernel
from wideopt.numerics.network import Architecture
from wideopt.numerics.posterior import fit_posterior
from wideopt.numerics.scales import Scales

REJECTED = (InputError, TypeCheckError)


def standardized(Y):
    return (Y - Y.mean(-1, keepdim=True)) / Y.std(-1, keepdim=True)


def infinite(d, **settings):
    return InfiniteKernel(Architecture(**settings), Scales.ones(d))


@pytest.fixture
def data(uniform):
    X = uniform(25, 2)
    Y = torch.stack([torch.sin(5 * X[:, 0]), X[:, 1] ** 2 + X[:, 0]])
    return X, standardized(Y)


def kernels(generator):
    arch = Architecture(width=8)
    weights = arch.initial_weights(2, generator, (2,))
    return {
        "erf": infinite(2),
        "relu": infinite(2, depth=2, activation="relu"),
        "sin": infinite(2, activation="sin"),
        "finite": TangentKernel.of(arch, weights, Scales.ones(2, (2,))),
    }


@pytest.mark.parametrize("name", ["erf", "relu", "sin", "finite"])
def test_gradient_agrees_with_finite_differences(name, data, generator, uniform):
    X, Y = data
    problem = _Problem.of(kernels(generator)[name], X, Y, Prior())
    psi = Prior(noise=1e-2).typical(2, (3,)).vector + 0.3 * uniform(3, 5)
    index = torch.tensor([1, 0, 3])  # the third is a restart of output 1
    _, grad = problem(psi, index)
    eps = 1e-5
    for j in range(5):
        e = eps * torch.eye(5).double()[j]
        up, down = problem(psi + e, index)[0], problem(psi - e, index)[0]
        torch.testing.assert_close(
            grad[:, j], (up - down) / (2 * eps), rtol=1e-5, atol=1e-5
        )


def test_log_joint_is_evidence_plus_prior(data):
    X, Y = data
    prior, kernel = Prior(), infinite(2)
    hyper = Prior(noise=1e-3, input_scale=2.0).typical(2, (2,))
    posterior = fit_posterior(kernel.rescaled(hyper.scales), X, Y, hyper.noise)
    z = hyper.vector - prior.center(2)
    penalty = (z @ torch.linalg.inv(prior.covariance(2)) * z).sum(-1)
    expected = posterior.log_evidence() - 0.5 * penalty
    value = log_joint(kernel, X, Y, hyper, prior)
    torch.testing.assert_close(value, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["erf", "relu", "sin", "finite"])
def test_fit_climbs_and_outputs_are_independent(name, data, generator):
    X, Y = data
    kernel, start = kernels(generator)[name], Prior().typical(2, (2,))
    fit = fit_evidence(kernel, X, Y, start)
    assert (fit.log_joint > log_joint(kernel, X, Y, start) + 1).all()
    torch.testing.assert_close(fit.log_joint, log_joint(kernel, X, Y, fit.hyper))
    if name != "finite":
        alone = fit_evidence(kernel, X, Y[1], Prior().typical(2))
        # rounding differs in a batch, so the last digits of a flat optimum do
        torch.testing.assert_close(
            alone.log_joint, fit.log_joint[1], rtol=1e-3, atol=1e-2
        )
    again = fit_evidence(kernel, X, Y, fit.hyper)
    assert (again.log_joint >= fit.log_joint - 1e-6).all()


def test_noise_and_relevance_are_found(uniform, generator):
    X = uniform(80, 3)
    noise = torch.randn(80, generator=generator, dtype=torch.float64)
    Y = standardized(torch.sin(6 * X[:, 0]) + 0.3 * noise)
    hyper = fit_evidence(infinite(3), X, Y, Prior().typical(3)).hyper
    assert 0.05 < hyper.noise < 0.4
    assert hyper.log_input[0] > hyper.log_input[1:].max() + 1
    clean = standardized(torch.sin(6 * X[:, 0]))
    assert fit_evidence(infinite(3), X, clean, Prior().typical(3)).hyper.noise < 1e-4


def test_restarts_never_hurt(data, generator):
    X, Y = data
    start = Prior().typical(2, (2,))
    one = fit_evidence(infinite(2), X, Y, start)
    more = fit_evidence(infinite(2), X, Y, start, n_restarts=3, generator=generator)
    # climbs in a batch end at other places within their tolerance
    assert (more.log_joint >= one.log_joint - 1e-2).all()


@pytest.mark.parametrize(
    ("X", "Y"),
    [
        (torch.full((1, 2), 0.5), torch.zeros(1)),  # one observation
        (torch.full((6, 2), 0.5), torch.arange(6.0)),  # duplicates that disagree
        (torch.rand(6, 2), torch.zeros(6)),  # constant output
        (torch.rand(6, 2), 1e8 * torch.ones(6)),  # not standardized at all
    ],
)
def test_degenerate_data(X, Y):
    fit = fit_evidence(infinite(2), X.double(), Y.double(), Prior().typical(2))
    low, high = Prior().bounds(2)
    assert torch.isfinite(fit.hyper.vector).all()
    assert (fit.hyper.vector >= low).all()
    assert (fit.hyper.vector <= high).all()


def test_many_rows_are_thinned_evenly(uniform):
    X = uniform(1001, 1)
    Y = standardized(torch.sin(5 * X[:, 0]))
    start = Prior().typical(1)
    fit = fit_evidence(infinite(1), X, Y, start, n_max=11)
    rows = torch.arange(0, 1001, 100)
    same = fit_evidence(infinite(1), X[rows], Y[rows], start)
    assert torch.equal(fit.hyper.vector, same.hyper.vector)


def test_json_round_trip_is_exact(uniform):
    hyper = Hyper.from_vector(uniform(2, 3, 7) / 3)
    state = json.loads(json.dumps(hyper.to_json()))
    assert torch.equal(Hyper.from_json(state).vector, hyper.vector)
    single = Hyper.from_vector(uniform(4))
    assert torch.equal(Hyper.from_json(single.to_json()).vector, single.vector)
    with pytest.raises(InputError, match="log_noise"):
        Hyper.from_json({"log_input": [0.0]})


def test_prior_scale_shrinks_with_dimension():
    one, many = Prior().typical(1), Prior().typical(16)
    shrink = one.log_input[0] - many.log_input[0]
    torch.testing.assert_close(shrink, torch.tensor(math.log(4.0)).double())


def test_wrong_inputs_raise(data):
    X, Y = data
    start = Prior().typical(2)
    with pytest.raises(InputError, match="float32"):
        fit_evidence(infinite(2), X.float(), Y, start)
    with pytest.raises(REJECTED, match="Y"):
        fit_evidence(infinite(2), X, Y[:, 1:], start)
    with pytest.raises(InputError, match="NaN"):
        fit_evidence(infinite(2), X, Y * math.nan, start)
    with pytest.raises(InputError, match="generator"):
        fit_evidence(infinite(2), X, Y, start, n_restarts=1)


def test_inflation_is_the_mean_squared_left_out_residual(data):
    X, Y = data
    kernel, hyper = infinite(2), Prior(input_scale=0.1, noise=1e-3).typical(2, (2,))
    z2 = torch.zeros(2).double()
    for i in range(len(X)):
        keep = torch.arange(len(X)) != i
        rest = fit_posterior(
            kernel.rescaled(hyper.scales), X[keep], Y[:, keep], hyper.noise
        )
        mean, variance = rest.marginals(X[i : i + 1])
        z2 += (Y[:, i] - mean[:, 0]) ** 2 / (variance[:, 0] + hyper.noise)
    expected = ((z2 + 10) / (len(X) + 10)).clamp_min(1.0)
    assert (expected > 1).any()
    torch.testing.assert_close(
        inflation(kernel, X, Y, hyper), expected, rtol=1e-5, atol=0
    )


def test_inflated_keeps_the_mean_and_scales_the_variance(data, uniform):
    X, Y = data
    kernel, hyper = infinite(2), Prior().typical(2, (2,))
    wide = hyper.inflated(torch.tensor([1.0, 3.0]).double())
    A = uniform(4, 2)
    moments = [
        fit_posterior(kernel.rescaled(h.scales), X, Y, h.noise).marginals(A)
        for h in (hyper, wide)
    ]
    torch.testing.assert_close(moments[0][0], moments[1][0])
    torch.testing.assert_close(3 * moments[0][1][1], moments[1][1][1])
    torch.testing.assert_close(moments[0][1][0], moments[1][1][0])


def test_several_starts_keep_the_best(data):
    X, Y = data
    starts = Prior().starts(2, (2,))
    both = fit_evidence(infinite(2), X, Y, starts)
    for start in starts:
        one = fit_evidence(infinite(2), X, Y, start)
        assert (both.log_joint >= one.log_joint - 1e-2).all()


def test_the_optimum_is_found_where_noise_is_below_rounding(data):
    """A smooth function without noise: huge output scale, tiny input scales."""
    X, Y = data
    problem = _Problem.of(infinite(2), X, Y, Prior())
    fits = [fit_evidence(infinite(2), X, Y, s) for s in Prior().starts(2, (2,))]
    torch.testing.assert_close(fits[0].log_joint, fits[1].log_joint, rtol=0, atol=0.1)
    _, grad = problem(fits[0].hyper.vector, torch.arange(2))
    low, high = Prior().bounds(2)
    is_free = (fits[0].hyper.vector > low) & (fits[0].hyper.vector < high)
    assert (grad * is_free).abs().max() < 0.3


def test_a_hopeless_climb_ends_early_and_a_close_one_does_not():
    X = torch.rand(
        40, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    Y = torch.sin(5 * X[:, 0]) + X[:, 1]
    Y = ((Y - Y.mean()) / Y.std())[None, :]
    kernel = InfiniteKernel(Architecture(1, 2, "erf"), Scales.ones(2))
    start = Prior().starts(2, (1,))
    whole = fit_evidence(kernel, X, Y, start)
    beaten = fit_evidence(kernel, X, Y, start, rival=whole.log_joint + 1e3)
    level = fit_evidence(kernel, X, Y, start, rival=whole.log_joint)

    assert int(beaten.n_iterations) <= 10 < int(whole.n_iterations)
    assert torch.equal(level.hyper.vector, whole.hyper.vector)
