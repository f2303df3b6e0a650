"""Fourth derivatives of tanh networks: Taylor series against nested differentiation.

    python benchmarks/pde_derivatives.py [--points 1000] [--width 200] [--order 4]

Networks of one to three hidden layers with two inputs, float64, one thread, in two
tasks: the derivative at every point, and the gradient of its mean square in the
weights, which training on an equation needs. Printed: the median time by
`wideopt.pde.partial`, and how many times as long nested reverse mode and nested forward
mode take, one point at a time under `vmap`, and nested `torch.autograd.grad` of the sum
over all points, the fastest reverse mode we know. They take turns, so that a busy
machine slows all of them. The line on products is the most that any Taylor mode could
gain on reverse mode by point: its time over that of the matrix products of a series,
one for each order and layer (the first layer has two), with a single tanh a layer.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.func import functional_call, grad, jvp, vmap

import wideopt as wo

Function = Callable[[Tensor], Tensor]
Derivative = Callable[[Function, Tensor, int], Tensor]


def taylor(u: Function, x: Tensor, order: int) -> Tensor:
    return wo.pde.partial(u, x, 0, order)


def reverse(u: Function, x: Tensor, order: int) -> Tensor:
    if order == 0:
        return u(x)
    return grad(lambda z: reverse(u, z, order - 1))(x)[0]


def forward(u: Function, x: Tensor, order: int) -> Tensor:
    if order == 0:
        return u(x)
    unit = torch.eye(len(x), dtype=x.dtype)[0]
    return jvp(lambda z: forward(u, z, order - 1), (x,), (unit,))[1]


def summed(net: torch.nn.Module, X: Tensor, order: int, *, is_trained: bool) -> Tensor:
    """The derivative, or the gradient of its mean square, by sums over points."""
    x = X.clone().requires_grad_()
    y = net(x).squeeze(-1)
    for k in range(order):
        is_graph = is_trained or k < order - 1
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=is_graph)
        y = slope[:, 0]
    if is_trained:
        weights = list(net.parameters())
        # the last bias has no part in a derivative
        grads = torch.autograd.grad(y.square().mean(), weights, allow_unused=True)
        return torch.cat([g.flatten() for g in grads if g is not None])
    return y


WAYS: dict[str, Derivative] = {"taylor": taylor, "reverse": reverse, "forward": forward}


def network(depth: int, width: int) -> torch.nn.Module:
    layers: list[torch.nn.Module] = [torch.nn.Linear(2, width), torch.nn.Tanh()]
    for _ in range(depth - 1):
        layers += [torch.nn.Linear(width, width), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 1)).double()


def tasks(
    net: torch.nn.Module, X: Tensor, order: int, way: Derivative
) -> list[Function]:
    weights = {name: weight.detach() for name, weight in net.named_parameters()}

    def values(weights: dict[str, Tensor]) -> Tensor:
        def u(x: Tensor) -> Tensor:
            return functional_call(net, weights, (x,)).squeeze(-1)

        return vmap(lambda x: way(u, x, order))(X)

    return [
        lambda: values(weights),
        lambda: grad(lambda weights: values(weights).square().mean())(weights),
    ]


def products(net: torch.nn.Module, X: Tensor, order: int) -> Callable[[], object]:
    """The products and activations that a series cannot do without."""
    layers = [layer for layer in net.modules() if isinstance(layer, torch.nn.Linear)]
    first, *rest = ((layer.weight.detach().T, layer.in_features) for layer in layers)
    inputs = [torch.rand(len(X), width, dtype=X.dtype) for _, width in rest]

    def run() -> None:
        for _ in range(2):
            z = X @ first[0]
        torch.tanh(z)
        for (weight, _), Z in zip(rest, inputs, strict=True):
            for _ in range(order + 1):
                z = Z @ weight
            if weight.shape[1] > 1:  # no output
                torch.tanh(z)

    return run


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--order", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    X = torch.rand(args.points, 2, dtype=torch.float64)
    for depth in (1, 2, 3):
        net = network(depth, args.width)
        runs = {name: tasks(net, X, args.order, way) for name, way in WAYS.items()}
        runs["summed reverse"] = [
            lambda net=net: summed(net, X, args.order, is_trained=False),
            lambda net=net: summed(net, X, args.order, is_trained=True),
        ]
        runs["products"] = [products(net, X, args.order)]
        exact, ours = runs["reverse"][0](), runs["taylor"][0]()
        error = float((ours - exact).abs().max() / exact.abs().max())
        print(f"{depth} hidden layers, order {args.order}: difference {error:.1e}")
        for index, task in enumerate(("derivative", "gradient of its square")):
            present = {name: run[index] for name, run in runs.items() if run[index:]}
            times: dict[str, list[float]] = {name: [] for name in present}
            for _ in range(args.repeats):
                for name, run in present.items():
                    times[name].append(seconds(run))
            median = {name: statistics.median(each) for name, each in times.items()}
            ratios = (
                f"{name} mode {median[name] / median['taylor']:.1f} times"
                for name in ("reverse", "summed reverse", "forward")
            )
            print(f"  {task}: {1e3 * median['taylor']:.1f} ms; {', '.join(ratios)}")
            if "products" in median:
                bound = median["reverse"] / median["products"]
                print(f"  products and a tanh: reverse mode {bound:.1f} times")


if __name__ == "__main__":
    main()
