"""Robot pushing with 14 parameters: two hands push two objects to their goals.

Wang and Jegelka (2017), Wang et al. (2018); 004, section 7.2.3. Each hand has 7
parameters: where it starts (x, y), its velocity (vx, vy), how long it moves (in tenths
of a second), its angle at the start and its angular velocity. With s_j the start of
object j, g_j its goal and e_j where it comes to rest,

    reward = Σ_j ‖s_j - g_j‖ - ‖e_j - g_j‖.

The plane is seen from above: there is no gravity, and friction with the ground slows
the objects down. A hand is a paddle whose motor holds its velocities against what it
pushes, as far as its strength allows; when its time is over it brakes.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from wideopt.exceptions import WideoptError
from wideopt.space import Real, Space

__all__ = ["Instance", "instance", "push", "reward", "space"]

Place: TypeAlias = tuple[float, float]

_STARTS: tuple[Place, Place] = ((0.0, 2.0), (0.0, -2.0))
_GOALS: tuple[Place, Place] = ((4.0, 3.5), (-4.0, 3.5))  # those of Wang et al.
_REACH = 5.0  # half the side of the square in which hands and goals lie
_NEAREST = 2.0  # least distance of a goal from its object's start
_STEPS_PER_SECOND = 100
_N_ITERATIONS = 10  # of Box2D's solvers in a step
_SETTLE = 100  # steps after the hands have stopped
_HAND = (0.3, 1.0)  # half sides of the paddle
_RADIUS = 1.0  # of an object
_HAND_DENSITY, _OBJECT_DENSITY = 1.0, 0.05
_CONTACT_FRICTION = 0.01
_DRAG_FORCE, _DRAG_TORQUE = 5.0, 2.0  # friction with the ground, at most
_STRENGTH = 30.0  # of a motor: force per mass and missing velocity


@dataclass(frozen=True)
class Instance:
    """Where the two objects are to go."""

    goals: tuple[Place, Place]


def instance(seed: int) -> Instance:
    """The goals of a seed; 0 has the published ones, others are drawn."""
    if seed == 0:
        return Instance(_GOALS)
    rng = np.random.default_rng(seed)
    first, second = (_goal(start, rng) for start in _STARTS)
    return Instance((first, second))


def _goal(start: Place, rng: np.random.Generator) -> Place:
    while True:
        x, y = (float(value) for value in rng.uniform(-_REACH, _REACH, size=2))
        if math.dist(start, (x, y)) >= _NEAREST:
            return x, y


def space() -> Space:
    """The 14 parameters, 7 of each hand, in the order of the module's text."""
    hand = (
        *(Real(-_REACH, _REACH), Real(-_REACH, _REACH)),
        *(Real(-10.0, 10.0), Real(-10.0, 10.0)),
        *(Real(2.0, 30.0), Real(0.0, 2 * math.pi), Real(-5.0, 5.0)),
    )
    return Space([*hand, *hand])


def reward(goals: Sequence[Place], x: Any) -> float:
    """How much nearer to their goals both objects end."""
    ends = push(x)
    return sum(
        math.dist(start, goal) - math.dist(end, goal)
        for start, goal, end in zip(_STARTS, goals, ends, strict=True)
    )


def push(x: Any) -> tuple[Place, Place]:
    """Where the two objects come to rest."""
    box2d = _box2d()
    world = box2d.b2World(gravity=(0, 0), doSleep=False)
    ground = world.CreateStaticBody()
    first, second = (_object(world, ground, start) for start in _STARTS)
    hands = [
        _Hand(world, [float(v) for v in part]) for part in np.split(np.asarray(x), 2)
    ]
    for step in range(max(hand.n_steps for hand in hands) + _SETTLE):
        for hand in hands:
            hand.drive(step)
        world.Step(1 / _STEPS_PER_SECOND, _N_ITERATIONS, _N_ITERATIONS)
        world.ClearForces()
    return _place(first), _place(second)


@functools.cache
def _box2d() -> Any:
    try:
        with warnings.catch_warnings():
            # raised as an error, a warning of its extension ends the process
            warnings.simplefilter("ignore")
            import Box2D  # type: ignore[import-untyped]
    except ImportError:
        raise WideoptError(
            'Robot pushing needs the package box2d: pip install "wideopt[bench]".'
        ) from None
    return Box2D


def _object(world: Any, ground: Any, start: Place) -> Any:
    """A disk that is dragged by the ground."""
    body = world.CreateDynamicBody(position=start)
    body.CreateCircleFixture(
        radius=_RADIUS, density=_OBJECT_DENSITY, friction=_CONTACT_FRICTION
    )
    world.CreateFrictionJoint(
        bodyA=ground,
        bodyB=body,
        localAnchorA=start,
        localAnchorB=(0, 0),
        maxForce=_DRAG_FORCE,
        maxTorque=_DRAG_TORQUE,
    )
    return body


class _Hand:
    """A paddle with a motor."""

    def __init__(self, world: Any, parameters: Sequence[float]) -> None:
        x, y, vx, vy, duration, angle, spin = parameters
        self.n_steps = round(duration * _STEPS_PER_SECOND / 10)
        self._velocity, self._spin = (vx, vy), spin
        self._body = world.CreateDynamicBody(position=(x, y), angle=angle, bullet=True)
        self._body.CreatePolygonFixture(
            box=_HAND, density=_HAND_DENSITY, friction=_CONTACT_FRICTION
        )

    def drive(self, step: int) -> None:
        """Apply the motor's force and torque; after the last step it brakes."""
        body, is_moving = self._body, step < self.n_steps
        vx, vy = self._velocity if is_moving else (0.0, 0.0)
        spin = self._spin if is_moving else 0.0
        now = body.linearVelocity
        scale = body.mass * _STRENGTH
        force = (scale * (vx - now[0]), scale * (vy - now[1]))
        body.ApplyForceToCenter(force, wake=True)
        torque = body.inertia * _STRENGTH * (spin - body.angularVelocity)
        body.ApplyTorque(torque, wake=True)


def _place(body: Any) -> Place:
    return float(body.position[0]), float(body.position[1])
