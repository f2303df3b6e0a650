"""The tangent surrogate: identities of the model, and BoTorch's contract."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import pytest
import torch
from botorch.acquisition.analytic import LogExpectedImprovement, UpperConfidenceBound
from botorch.acquisition.knowledge_gradient import qKnowledgeGradient
from botorch.acquisition.logei import (
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
)
from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy
from botorch.acquisition.objective import GenericMCObjective, LinearMCObjective
from botorch.models import SingleTaskGP
from botorch.models.model import Model, ModelList
from botorch.optim.optimize import optimize_acqf
from botorch.sampling.normal import SobolQMCNormalSampler
from torch import Tensor

from wideopt.exceptions import InputError
from wideopt.numerics.training import Training
from wideopt.surrogates import NeuralTangentKernel, Tangent, outputs_of, tangent

D = 3
BOUNDS = torch.tensor([[0.0] * D, [1.0] * D], dtype=torch.float64)

RECIPES = {
    "auto": Tangent(),
    "infinite": Tangent(activation="erf"),
    "deep-relu": Tangent(activation="relu", depth=2),
    "finite": Tangent(activation="erf", width=128),
    "ensemble": Tangent(activation="sin", width=32, n_members=2),
    "tanh": Tangent(activation="tanh", width=64),
    "zero-last": Tangent(activation="silu", width=64, init="zero-last"),
    "fixed": Tangent(activation="erf", width=64, readout="fixed"),
    "trained": Tangent(
        activation="erf", width=128, mean="trained", training=Training("lbfgs")
    ),
}


def points(n: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, D, generator=generator, dtype=torch.float64)


def outputs(X: Tensor, o: int = 2) -> Tensor:
    f = torch.sin(4 * X).sum(-1)
    c = 50 * (X.square().sum(-1) - 1.0)
    return torch.stack([f, c], dim=-1)[..., :o]


# A trained mean depends on the path of its training, so these compare closed forms.
CLOSED_FORM = [name for name, recipe in RECIPES.items() if recipe.mean == "linear"]


@functools.cache
def fitted(name: str) -> Model:
    X = points(24)
    return RECIPES[name].fit(X, outputs(X))


@pytest.fixture(params=RECIPES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def recipe(name: str) -> Tangent:
    return RECIPES[name]


@pytest.fixture
def model(name: str) -> Model:
    return fitted(name)


def test_shapes(model: Model) -> None:
    for shape in ((5, D), (4, 1, D), (2, 3, 2, D)):
        posterior = model.posterior(torch.rand(shape, dtype=torch.float64))
        assert posterior.mean.shape == (*shape[:-1], 2)
        assert posterior.variance.shape == (*shape[:-1], 2)
        assert posterior.mean.dtype == torch.float64
        assert bool((posterior.variance > 0).all())
        draws = posterior.rsample(torch.Size([3]))
        assert draws.shape == (3, *shape[:-1], 2)


def test_single_points_have_the_marginals_of_the_joint(model: Model) -> None:
    A = points(6, seed=1)
    joint, single = model.posterior(A), model.posterior(A.unsqueeze(-2))
    torch.testing.assert_close(joint.mean, single.mean.squeeze(-2))
    torch.testing.assert_close(joint.variance, single.variance.squeeze(-2))


def test_restored_through_json_is_the_same_model(recipe: Tangent, model: Model) -> None:
    X, A = points(24), points(5, seed=2)
    hyper = json.loads(json.dumps(recipe.hyper(model)))
    again = recipe.restore(X, outputs(X), hyper)
    assert torch.equal(model.posterior(A).mean, again.posterior(A).mean)
    assert torch.equal(model.posterior(A).variance, again.posterior(A).variance)


@pytest.mark.parametrize("name", CLOSED_FORM)
def test_extended_equals_restored(recipe: Tangent, model: Model) -> None:
    X, A = points(30), points(5, seed=2)
    X[:24] = points(24)
    Y = outputs(X)
    grown = model
    for i in range(24, 30):
        grown = grown.extended(X[i : i + 1], Y[i : i + 1])
    fresh = recipe.restore(X, Y, recipe.hyper(model))
    scale = Y.std(dim=0)
    error = (grown.posterior(A).mean - fresh.posterior(A).mean) / scale
    assert float(error.abs().max()) < 1e-6  # noise is inferred as nearly zero here
    spread = (grown.posterior(A).variance - fresh.posterior(A).variance) / scale**2
    assert float(spread.abs().max()) < 1e-8


@pytest.mark.parametrize("name", CLOSED_FORM)
def test_conditioning_on_a_batch(model: Model) -> None:
    X, A = points(2, seed=5), points(4, seed=6)
    Y = model.posterior(X).mean + 0.1 * outputs(X).std(dim=0)
    conditioned = model.condition_on_observations(X, Y)
    assert conditioned.batch_shape == torch.Size()
    if len(model.members) == 1:  # members may come to disagree more than before
        before, after = model.posterior(A).variance, conditioned.posterior(A).variance
        assert bool((after <= before + 1e-12).all())
    # A batch of targets at once gives what one after the other gives.
    batch = torch.stack([Y, Y + 1.0])
    both = model.condition_on_observations(X, batch)
    alone = model.condition_on_observations(X, Y + 1.0)
    torch.testing.assert_close(both.posterior(A).mean[1], alone.posterior(A).mean)


def test_subset_of_outputs(model: Model) -> None:
    A = points(4, seed=3)
    whole = model.posterior(A)
    for i, part in enumerate(outputs_of(model)):
        assert part.num_outputs == 1
        torch.testing.assert_close(part.posterior(A).mean[:, 0], whole.mean[:, i])
    picked = model.posterior(A, output_indices=[1])
    torch.testing.assert_close(picked.mean[:, 0], whole.mean[:, 1])


@pytest.mark.parametrize(
    "weights", [[[0.0, 0.3], [1.0, 0.7]], [[1.0, 0.0], [0.0, 1.0]]]
)
def test_members_without_weight_for_an_output_change_nothing(
    weights: list[list[float]],
) -> None:
    whole = fitted("ensemble")
    w = torch.tensor(weights, dtype=torch.float64)
    model = whole._with(whole.members, weights=w)
    A = points(5, seed=3)
    parts = [member.moments(A.unsqueeze(-3)) for member in whole.members]
    mean = sum(w_i[:, None] * m for w_i, (m, _) in zip(w, parts, strict=True))
    C = sum(
        w_i[:, None, None] * (S + (m - mean).unsqueeze(-1) * (m - mean).unsqueeze(-2))
        for w_i, (m, S) in zip(w, parts, strict=True)
    )
    variance = C.diagonal(dim1=-2, dim2=-1)
    for got, wanted in zip(model.moments(A), (mean, C), strict=True):
        torch.testing.assert_close(got, wanted)
    for got, wanted in zip(model.marginals(A), (mean, variance), strict=True):
        torch.testing.assert_close(got, wanted)
    apart = model.marginals_apart(A[:2])  # one point for each of two outputs
    own = (mean[:, :2].diagonal(), variance[:, :2].diagonal())
    for got, wanted in zip(apart, own, strict=True):
        torch.testing.assert_close(got, wanted)
    first = model.subset_output([0])
    assert len(first.members) == int((w[:, 0] > 0).sum())
    torch.testing.assert_close(first.marginals(A)[0], mean[:1])


def test_draws_have_the_moments_of_the_posterior(recipe: Tangent, model: Model) -> None:
    A = points(4, seed=4)
    n = 100 if recipe.depth > 1 else 400  # deep draws are long vectors of weights
    values = model.draw(torch.Generator().manual_seed(0), n_draws=n)(A)
    posterior = model.posterior(A)
    sd = posterior.variance.sqrt()
    assert values.shape == (n, 4, 2)
    assert float(((values.mean(dim=0) - posterior.mean) / sd).abs().max()) < 0.5
    # Draws of an infinite network go through a wide one. The error, O(1/√width) of the
    # prior's deviation, is a larger share of a posterior's that is small.
    slack = 0.6 if math.isinf(recipe.width) else 0.15
    ratio = values.std(dim=0) / sd
    assert float((ratio - 1).abs().max()) < slack


def test_gradients_in_x(model: Model) -> None:
    x = points(1, seed=7).requires_grad_()

    def value(t: Tensor) -> Tensor:
        posterior = model.posterior(t)
        return posterior.mean.sum() + posterior.variance.sum()

    assert torch.autograd.gradcheck(value, (x,), eps=1e-4, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("name", ["auto", "finite", "ensemble", "trained"])
def test_runs_unmodified_in_botorch(recipe: Tangent) -> None:
    X = points(16)
    Y = outputs(X)
    f = recipe.fit(X, Y[:, :1])
    fc = recipe.fit(X, Y)
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=0)
    objective = GenericMCObjective(lambda Z, X=None: Z[..., 0])
    constrained = {
        "objective": objective,
        "constraints": [lambda Z: Z[..., 1]],
        "sampler": sampler,
        "X_pending": points(2, seed=9),
    }
    acquisitions = [
        LogExpectedImprovement(f, best_f=1.0),
        UpperConfidenceBound(f, beta=4.0),
        qLogExpectedImprovement(fc, best_f=1.0, **constrained),
        qLogNoisyExpectedImprovement(
            fc, X_baseline=X[:4], prune_baseline=False, cache_root=False, **constrained
        ),
        qMaxValueEntropy(f, candidate_set=points(50, seed=10), num_mv_samples=4),
        qKnowledgeGradient(f, num_fantasies=3),
    ]
    for acquisition in acquisitions:
        x, value = optimize_acqf(
            acquisition,
            BOUNDS,
            q=1,
            num_restarts=2,
            raw_samples=8,
            options={"maxiter": 5},
        )
        assert x.shape == (1, D), acquisition
        assert bool(torch.isfinite(value).all()), acquisition


def test_fantasies_and_transforms(model: Model) -> None:
    sampler = SobolQMCNormalSampler(torch.Size([5]), seed=0)
    fantasy = model.fantasize(points(2, seed=8), sampler)
    A = points(3, seed=1)
    assert fantasy.posterior(A).mean.shape == (5, 3, 2)
    weights = torch.tensor([1.0, 2.0], dtype=torch.float64)
    value = LinearMCObjective(weights)(fantasy.posterior(A).mean)
    assert value.shape == (5, 3)


@pytest.mark.parametrize("n", [1, 2])
def test_few_points(recipe: Tangent, n: int) -> None:
    X = points(n)
    posterior = recipe.fit(X, outputs(X)).posterior(points(3, seed=1))
    assert bool(torch.isfinite(posterior.mean).all())


def test_duplicates_and_constant_outputs(recipe: Tangent) -> None:
    X = points(4).repeat(3, 1)
    Y = torch.cat([outputs(X, 1), torch.full((12, 1), 7.0, dtype=X.dtype)], dim=1)
    posterior = recipe.fit(X, Y).posterior(points(3, seed=1))
    assert bool(torch.isfinite(posterior.mean).all())
    torch.testing.assert_close(posterior.mean[:, 1], torch.full((3,), 7.0).double())


def test_missing_values_use_the_others() -> None:
    X = points(20)
    Y = outputs(X)
    Y[3, 1] = math.nan
    recipe = Tangent(activation="erf")
    model = recipe.fit(X, Y)
    assert isinstance(model, ModelList)
    assert model.posterior(points(4)).mean.shape == (4, 2)
    restored = recipe.restore(X, Y, json.loads(json.dumps(recipe.hyper(model))))
    A = points(3, seed=1)
    assert torch.equal(model.posterior(A).mean, restored.posterior(A).mean)
    assert [part.num_outputs for part in outputs_of(model)] == [1, 1]


def test_warm_start_is_never_worse() -> None:
    X = points(20)
    recipe = Tangent(activation="erf")
    hyper = recipe.hyper(recipe.fit(X, outputs(X)))
    again = recipe.fit(X, outputs(X), warm=hyper)
    A = points(3, seed=1)
    torch.testing.assert_close(
        again.posterior(A).mean,
        recipe.restore(X, outputs(X), hyper).posterior(A).mean,
        rtol=1e-2,
        atol=1e-2,
    )


def test_learning_on_some_rows_first_ends_where_learning_on_all_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, A = points(60), points(40, seed=5)
    recipe = Tangent(activation="erf")
    whole: Any = recipe.fit(X, outputs(X))
    rows: list[int] = []
    learned = tangent.learned

    def counted(*args: Any, **kwargs: Any) -> Any:
        rows.append(args[2][0].shape[0])
        return learned(*args, **kwargs)

    monkeypatch.setattr(tangent, "_N_FROM_SCRATCH", 25)
    monkeypatch.setattr(tangent, "learned", counted)
    staged: Any = recipe.fit(X, outputs(X))
    assert rows == [20, 60]
    assert staged.train_X.shape[0] == 60
    gap = staged.posterior(A).mean - whole.posterior(A).mean
    assert float(gap.abs().max() / outputs(A).std()) < 0.01
    rough: Any = recipe.fit(X[::3], outputs(X[::3]))
    unrefined: Any = recipe.restore(X, outputs(X), recipe.hyper(rough))
    evidence = [m.members[0].log_evidence() for m in (staged, unrefined)]
    assert bool((evidence[0] > evidence[1]).all())


def test_trained_mean_fits_the_data_better_than_nothing() -> None:
    X = points(24)
    model = RECIPES["trained"].fit(X, outputs(X, 1))
    error = (model.posterior(X).mean - outputs(X, 1)).square().mean().sqrt()
    assert float(error) < 0.1 * float(outputs(X, 1).std())


def test_known_noise_is_kept() -> None:
    X = points(10)
    model = Tangent(activation="erf", noise=0.25).fit(X, outputs(X, 1))
    # Inflation by left-out points may raise it, nothing lowers it.
    assert float(model.noise) >= 0.25 - 1e-9


def test_kernel_in_a_botorch_gp() -> None:
    X = points(12)
    gp = SingleTaskGP(X, outputs(X, 1), covar_module=NeuralTangentKernel(D).double())
    posterior = gp.posterior(points(3, seed=1))
    assert posterior.mean.shape == (3, 1)
    K = gp.covar_module(X).to_dense().detach()
    assert float(torch.linalg.eigvalsh(K).min()) > -1e-8
    torch.testing.assert_close(gp.covar_module(X, diag=True).detach(), K.diagonal())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"activation": "swish"}, "swish"),
        ({"activation": "tanh"}, "tanh"),
        ({"width": 3.5}, "3.5"),
        ({"mean": "deep"}, "deep"),
        ({"mean": "trained"}, "infinite"),
        ({"n_members": 0}, "0"),
        ({"noise": -1.0}, "-1.0"),
        ({"activation": "erf", "depth": 0}, "0"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_recipes(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Tangent(**settings)  # type: ignore[arg-type]
