"""Two vectors leave an agent each round, and nothing else does."""

import dataclasses
import json

import numpy as np
import pytest

import wideopt as wo
from wideopt.multiagent import Agent, Coordinator, Message, Party, Site, run_rounds
from wideopt.multiagent.coordinator import ExchangeAdmm, SumOfConstraints
from wideopt.multiagent.messages import Prices, Residual, Totals
from wideopt.surrogates import Tangent

FAST = Tangent(activation="erf", is_tuned=False, noise=1e-3, input_scale=2.0)
SIGNALS = {"Prices": Prices, "Totals": Totals, "Residual": Residual}


def vectors(fields):
    return {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}


class Wire:
    """A party behind a line that carries JSON, and keeps a copy of all that passes."""

    def __init__(self, site):
        self.up, self.down = [], []

        def choose(text):
            name, fields = json.loads(text)
            message = site.choose(SIGNALS[name](**vectors(fields)))
            return json.dumps(dataclasses.asdict(message))

        # The site is out of reach: only these two calls are known here.
        self._choose, self._evaluate = choose, site.evaluate

    def choose(self, signal):
        text = json.dumps([type(signal).__name__, dataclasses.asdict(signal)])
        self.down.append(text)
        self.up.append(self._choose(text))
        return Message(**vectors(json.loads(self.up[-1])))

    def evaluate(self):
        assert self._evaluate() is None


def agent(i, m, has_affine):
    def fun(x):
        return (x[0] - 0.3 * i) ** 2, [x[0] - 0.4, -x[0]][:m]

    A = [[1.0]] if has_affine else None
    options = {"surrogate": FAST, "n_restarts": 0, "n_candidates": 64}
    return Agent(fun, [(-1, 1)], A=A, n_constraints=m, **options)


@pytest.mark.parametrize(
    ("rule", "m", "has_affine"),
    [
        (Coordinator(2, (0.5,), eta=0.4), 2, True),
        (SumOfConstraints(2), 2, False),
        (ExchangeAdmm((0.5,)), 0, True),
    ],
)
def test_all_that_crosses(rule, m, has_affine):
    agents = [agent(i, m, has_affine) for i in range(3)]
    direct = [Site(a, i) for i, a in enumerate(agents)]
    hidden = [Site(a, i) for i, a in enumerate(agents)]
    wires = [Wire(site) for site in hidden]
    signals = run_rounds(wires, rule, 4)
    assert signals == run_rounds(direct, rule, 4)  # so nothing else was needed
    for wire, site in zip(wires, hidden, strict=True):
        assert len(wire.up) == len(wire.down) == 4
        outcomes = {v for t in site.trials for v in (t.y, *(t.c or ()))}
        for text, trial in zip(wire.up, site.rounds, strict=True):
            sent = json.loads(text)
            assert list(sent) == ["Ax", "g"]
            assert len(sent["Ax"]) == int(has_affine)
            assert len(sent["g"]) == m
            assert outcomes.isdisjoint(sent["g"])
            if has_affine:
                assert sent["Ax"] == [pytest.approx(trial.x[0])]
    # everyone hears the same
    assert len({tuple(wire.down) for wire in wires}) == 1


def test_a_message_holds_two_vectors_and_cannot_grow():
    assert [f.name for f in dataclasses.fields(Message)] == ["Ax", "g"]
    message = Message((1.0,), (2.0,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.Ax = (0.0,)
    names = {n for n in vars(Party) if not n.startswith("_")}
    assert names == {"choose", "evaluate"}


def test_the_bound_is_of_the_point_and_below_the_truth():
    site = Site(agent(1, 2, False), 0)
    message = site.choose(Coordinator(2, eta=0.4).first())
    site.evaluate()
    assert message.Ax == ()
    assert np.all(np.array(message.g) <= np.array(site.rounds[-1].c))


def test_constraints_without_a_part_are_zero():
    def fun(x):
        return x[0] ** 2, [x[0] - 0.5]

    one = Agent(fun, [(-1, 1)], n_constraints=3, constraints=[1], surrogate=FAST)
    message = Site(one, 0).choose(Coordinator(3, eta=0.4).first())
    assert message.g[0] == message.g[2] == 0.0
    assert message.g[1] != 0.0


def test_names_are_public():
    assert wo.multiagent.Message is Message
