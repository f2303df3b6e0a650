"""Lines: how a coordinator reaches agents, in this process or in an executor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar, runtime_checkable

from wideopt.exceptions import WideoptError
from wideopt.multiagent.desk import answer, site_alone
from wideopt.multiagent.history import History
from wideopt.multiagent.messages import Message, Party, Signal
from wideopt.multiagent.site import Site
from wideopt.multiagent.wire import Spec, reply_of, request

__all__ = ["Direct", "Inline", "Line", "Pooled", "Remote", "Transport"]

T = TypeVar("T")


@runtime_checkable
class Line(Protocol):
    """The way to one agent. Calls return at once, with a future."""

    def turn(self, signal: Signal) -> Future[Message]:
        """Evaluate what was chosen last, then choose in the light of a signal."""
        ...

    def settle(self) -> Future[None]:
        """Evaluate what was chosen last."""
        ...

    def history(self) -> History:
        """All trials: for those who may see them."""
        ...


@runtime_checkable
class Transport(Protocol):
    """Opens lines to agents, and closes them."""

    def lines(self, specs: Sequence[Spec]) -> AbstractContextManager[list[Line]]:
        """One line for each agent."""
        ...


class Direct:
    """A line to a party in this very thread: its futures are done."""

    def __init__(self, party: Party) -> None:
        self._party, self._is_asked = party, False

    def turn(self, signal: Signal) -> Future[Message]:
        """Evaluate, if something was chosen, and choose."""
        if self._is_asked:
            self._party.evaluate()
        self._is_asked = True
        return _finished(self._party.choose(signal))

    def settle(self) -> Future[None]:
        """Evaluate."""
        self._party.evaluate()
        return _finished(None)

    def history(self) -> History:
        """The trials of a site."""
        assert isinstance(self._party, Site)
        return History.of(self._party)


class Inline:
    """All agents in this process."""

    @contextmanager
    def lines(self, specs: Sequence[Spec]) -> Iterator[list[Line]]:
        """Lines to sites that are made here."""
        yield [Direct(site_alone(spec)) for spec in specs]


class Remote(ABC):
    """A line over which texts pass; `_sent` says how."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    @abstractmethod
    def _sent(self, text: str) -> Future[str]:
        """The answer to a request, in the future."""

    def turn(self, signal: Signal) -> Future[Message]:
        """Ask for a turn."""
        return self._asked(request("turn", signal))

    def settle(self) -> Future[None]:
        """Ask for an evaluation."""
        return self._asked(request("settle"))

    def history(self) -> History:
        """Ask for everything."""
        found: History = self._asked(request("history")).result()
        return found

    def _asked(self, text: str) -> Future[Any]:
        reply: Future[Any] = Future()

        def pass_on(done: Future[str]) -> None:
            try:
                reply.set_result(reply_of(self.spec, done.result()))
            except BrokenExecutor as error:
                reply.set_exception(_broken(error))
            except BaseException as error:
                reply.set_exception(error)

        self._sent(text).add_done_callback(pass_on)
        return reply


class Pooled:
    """Agents in any executor, each call in whatever worker is free.

    An agent is made anew from its journal where it was last seen elsewhere. All workers
    must see the same folder.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @contextmanager
    def lines(self, specs: Sequence[Spec]) -> Iterator[list[Line]]:
        """Lines that submit calls."""
        yield [_PooledLine(spec, self._executor) for spec in specs]


class _PooledLine(Remote):
    def __init__(self, spec: Spec, executor: Executor) -> None:
        super().__init__(spec)
        self._executor = executor

    def _sent(self, text: str) -> Future[str]:
        try:
            return self._executor.submit(answer, self.spec, text)
        except BrokenExecutor as error:
            raise _broken(error) from None


def _broken(error: BrokenExecutor) -> WideoptError:
    return WideoptError(
        f"The executor lost a worker ({error}) and cannot go on; the same call with "
        "the same storage does, and executor=wo.multiagent.Processes() restarts "
        "workers by itself."
    )


def _finished(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future
