"""Joint ascent over points and parameters, against closed forms and brute force."""

import torch

import wideopt as wo
from wideopt.acquisition.optimism import Belief, FirstOrderBound, FirstStep
from wideopt.data.dataset import Dataset
from wideopt.numerics.ellipsoid import Ball
from wideopt.numerics.parametric import LinearSigmoidLinear, Parametric
from wideopt.search.joint import ascend, climb, maximize_jointly
from wideopt.search.maximize import Search, score

F64 = torch.float64


class Linear(torch.nn.Module):
    """w'φ(u) with φ = (1, u, u²): the bound to first order is exact."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(5, dtype=F64))

    def forward(self, u):
        one = torch.ones_like(u[:, :1])
        return torch.cat([one, u, u.square()], dim=1) @ self.w


def belief_of(module, seed=0, n=6, lam=0.1, beta=0.05):
    p = sum(parameter.numel() for parameter in module.parameters())
    generator = torch.Generator().manual_seed(seed)
    zero, end = torch.zeros(p, dtype=F64), torch.full((p,), torch.inf, dtype=F64)
    model = Parametric(module, lambda U: U, zero, zero + 1.0, -end, end)
    center = torch.randn(p, generator=generator, dtype=F64)
    U = torch.rand(n, 2, generator=generator, dtype=F64)
    _, G = model.at(center, U)
    return Belief(model, Ball.around(center, G, lam).with_beta(beta))


def data_of(space=((0, 1), (0, 1))):
    return Dataset.of(wo.Space(list(space)), [], [], 0)


def grid(n=60):
    ticks = torch.linspace(0, 1, n, dtype=F64)
    return torch.cartesian_prod(ticks, ticks)


def test_linear_model_reaches_the_exact_optimum():
    for seed in range(3):
        beliefs = [belief_of(Linear(), seed)]
        generator = torch.Generator().manual_seed(0)
        x = maximize_jointly(beliefs, data_of(), generator, Search(64, 0, 4, 60))
        exact = FirstOrderBound(beliefs)
        best = float(score(exact, grid()).max())
        assert float(score(exact, x[None])[0]) > best - 1e-3
        # for a linear model the first step of the parameters is the last
        torch.testing.assert_close(
            score(FirstStep(beliefs), grid(9)), score(exact, grid(9))
        )


def test_climb_beats_brute_force_within_the_ball():
    for seed in range(3):
        belief = belief_of(LinearSigmoidLinear(2, 4), seed, beta=0.5)
        starts = grid(4)
        _, heights = climb([belief], starts, [0, 1], Search(max_iter=80))
        assert (heights >= score(FirstStep([belief]), starts) - 1e-9).all()
        generator = torch.Generator().manual_seed(seed)
        V = torch.randn(4096, belief.model.p, generator=generator, dtype=F64)
        V = V / V.norm(dim=1, keepdim=True)
        U = torch.rand(4096, 2, generator=generator, dtype=F64)
        assert float(heights.max()) > float(-belief.values(V, U).min())


def test_climb_moves_the_free_dimensions_only_and_stays_in_the_cube():
    belief = belief_of(LinearSigmoidLinear(2, 4))
    starts = grid(4)
    points, _ = climb([belief], starts, [1], Search(max_iter=40))
    assert torch.equal(points[:, 0], starts[:, 0])
    assert not torch.equal(points[:, 1], starts[:, 1])
    assert ((points >= 0) & (points <= 1)).all()
    points, heights = climb([belief], starts, [], Search(max_iter=40))
    assert torch.equal(points, starts)
    assert torch.isfinite(heights).all()


def test_a_constraint_is_believed_where_its_ball_allows():
    f, c = belief_of(Linear(), 0, beta=1e-12), belief_of(Linear(), 5, beta=1e-12)
    generator = torch.Generator().manual_seed(0)
    x = maximize_jointly([f, c], data_of(), generator, Search(256, 0, 4, 60))
    assert float(c.bound(x[None])[0]) < 1e-3
    values = score(FirstOrderBound([f, c]), grid())
    assert (
        float(score(FirstOrderBound([f, c]), x[None])[0]) > float(values.max()) - 0.05
    )


def test_the_papers_ascent_climbs_and_stays_legal():
    belief = belief_of(LinearSigmoidLinear(2, 4), beta=0.5)
    generator = torch.Generator().manual_seed(3)
    start = ascend([belief], data_of(), generator, n_steps=0)
    generator = torch.Generator().manual_seed(3)
    x = ascend([belief], data_of(), generator, n_steps=200, rate=0.02)
    assert ((x >= 0) & (x <= 1)).all()
    h = belief.model.one(belief.ball.center, torch.stack([start, x]))
    assert float(h[1]) < float(h[0])
