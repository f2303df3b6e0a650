import torch

from wideopt.numerics.lbfgs import minimize_each


def rosenbrock(x):
    return (100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(-1)


def objective(f):
    """Value and gradient of f(x, index), and a record of what was evaluated."""
    asked = []

    def fun(x, index):
        asked.append(index.tolist())
        x = x.detach().requires_grad_()
        value = f(x, index)
        (grad,) = torch.autograd.grad(value.sum(), x)
        return value.detach(), grad

    return fun, asked


def test_each_problem_reaches_its_minimum(uniform):
    fun, _ = objective(lambda x, i: rosenbrock(x) * 10.0**i)
    best = minimize_each(
        fun, 2 * uniform(5, 4) - 1, max_iterations=300, tolerance=1e-14
    )
    assert best.is_converged.all()
    torch.testing.assert_close(best.x, torch.ones(5, 4).double(), rtol=0, atol=1e-3)


def test_problems_do_not_touch_each_other(uniform):
    x0 = 2 * uniform(4, 3) - 1
    fun, _ = objective(lambda x, _: rosenbrock(x))
    together = minimize_each(fun, x0, max_iterations=40)
    for i in range(4):
        alone = minimize_each(fun, x0[i : i + 1], max_iterations=40)
        assert alone.n_iterations[0] == together.n_iterations[i]
        torch.testing.assert_close(alone.x[0], together.x[i])


def test_a_stuck_problem_stops_nobody(uniform):
    def f(x, index):
        factor = torch.where(index == 0, torch.nan, 1.0)
        return factor * (x - 3).square().sum(-1)

    fun, asked = objective(f)
    x0 = uniform(3, 2)
    best = minimize_each(fun, x0)
    assert torch.equal(best.x[0], x0[0])
    assert best.is_converged.tolist() == [False, True, True]
    torch.testing.assert_close(best.x[1:], torch.full((2, 2), 3.0).double())
    assert all(0 not in rows for rows in asked[1:])


def test_backs_out_of_regions_that_are_not_finite():
    fun, _ = objective(lambda x, _: (x - torch.log(x)).sum(-1))  # NaN for x < 0
    best = minimize_each(fun, torch.full((1, 2), 30.0).double(), tolerance=1e-12)
    torch.testing.assert_close(best.x, torch.ones(1, 2).double(), rtol=0, atol=1e-4)


def test_bounds(uniform):
    fun, _ = objective(lambda x, _: rosenbrock(x))
    low, high = torch.full((3,), -0.5).double(), torch.full((3,), 0.8).double()
    best = minimize_each(
        fun, 4 * uniform(6, 3) - 2, bounds=(low, high), tolerance=1e-12
    )
    assert (best.x >= low).all()
    assert (best.x <= high).all()
    expected = torch.tensor([0.8, 0.64, 0.4096]).double()
    far = rosenbrock(expected[None])
    assert (best.f <= far + 1e-6).all()


def test_never_worse_than_the_start(uniform):
    fun, _ = objective(lambda x, _: torch.sin(20 * x).sum(-1) + x.abs().sum(-1))
    x0 = uniform(8, 3)
    best = minimize_each(fun, x0, max_iterations=5)
    assert (best.f <= fun(x0, torch.arange(8))[0]).all()
    assert (best.n_iterations <= 5).all()
