"""go-ucb: what is wrong with a model or an option is said at construction."""

import pytest
import torch

import wideopt as wo

SPACE = {"s": wo.Real(0.1, 50.0, log=True), "t": wo.Real(280.0, 340.0)}


class Rate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vmax = torch.nn.Parameter(torch.tensor(5.0))
        self.km = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return self.vmax * x[:, 0] / (self.km + x[:, 0])


class Wrong(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.k = torch.nn.Parameter(torch.tensor(1.0))
        self.f = f

    def forward(self, x):
        return self.f(x, self.k)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x, k: k * x, r"one number for each row.*returned \(8, 2\)"),
        (lambda x, k: (k * x[:, 0]).sum(), "one number for each row"),
        (lambda x, k: k * x[:, 5], r"failed on an input of shape \(8, 2\)"),
        (lambda x, k: float(k) * x[:, 0], "cannot be differentiated|derivative is 0"),
        (lambda x, k: torch.round(k) * x[:, 0], "every derivative is 0"),
        (lambda x, k: k.detach() * x[:, 0], "every derivative is 0"),
        (
            lambda x, k: torch.sqrt(k - 2) * x[:, 0],
            "gives nan.*initial parameters k = 1",
        ),
        (lambda x, k: k * x[:, 0] / 0.0, "gives inf"),
        (
            lambda x, k: k * (x[:, 0] - x[:, 0].mean()),
            "every row of its input by itself",
        ),
        (lambda x, k: "no", "one number for each row"),
        (lambda x, k: k.item() * x[:, 0], r"every derivative is 0.*\.item\(\)"),
        (lambda x, k: k * x[:, 0] if k * x[0, 0] > 9 else k, "branches|one number"),
        (lambda x, k: k * x[:, 0] * (2 if x[0, 0] > 9 else 1), "no branches on values"),
        (lambda x, k: torch.log(k * (x[:, 0] - 20.0)), r"gives nan.*at the point \["),
    ],
)
def test_wrong_models_are_named_at_construction(f, message):
    with pytest.raises(wo.InputError, match=message) as caught:
        wo.Optimizer(SPACE, method="go-ucb", options={"model": Wrong(f)})
    assert len(str(caught.value)) < 280


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": torch.nn.ReLU()}, "no parameters"),
        ({"model": lambda: 3}, "must take nothing and return a torch.nn.Module"),
        ({"model": lambda x: x}, "makes the model failed"),
        ({"model": 3}, "must be a torch.nn.Module"),
        ({"model": torch.nn.Linear(2, 6000)}, "one number|at most 5000"),
        ({"kappa": 0}, "kappa must be positive"),
        ({"lam": -1}, "lam must be positive"),
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"bounds": {"vmax": [0, 1]}}, "model is not given"),
        ({"bounds": {"vmax": [2, 1]}}, "low < high"),
        ({"model": Rate(), "bounds": {"k": [0, 1]}}, "parameters are vmax, km"),
        ({"model": Rate(), "bounds": {"km": [2, 3]}}, "outside its bounds"),
        ({"constraint_models": Rate}, "must be a list"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(wo.InputError, match=message):
        wo.Optimizer(SPACE, method="go-ucb", options=options)


def test_too_many_constraint_models():
    with pytest.raises(wo.InputError, match="2 models, but there are 1 constraints"):
        wo.Optimizer(
            SPACE, method="go-ucb", n_constraints=1,
            options={"constraint_models": [None, Rate()]},
        )  # fmt: skip


def test_other_methods_take_no_objects():
    with pytest.raises(wo.InputError, match="plain JSON"):
        wo.Optimizer(SPACE, method="gp-ei", options={"model": Rate()})
