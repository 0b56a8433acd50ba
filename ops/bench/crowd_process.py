"""Starts simulated people in a process of their own, and exchanges one JSON line for each order."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ops.testbed.processes import CLIENT_STAGE, GRACE_S, Children


class _OrderedProcess:
    """A running module that was given a plan. `connected_s` is how long it took everyone in it to connect."""

    def __init__(self, children: Children, name: str, *, module: str, plan: Mapping[str, Any]) -> None:
        self._name = name
        self._children = children
        self._process = children.spawn(name, ["-m", module], stage=CLIENT_STAGE)
        self.connected_s: float = self.order(plan)["connected_s"]

    def order(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Give an order, and wait for its answer."""
        self.send(order)
        return self.receive()

    def send(self, order: Mapping[str, Any]) -> None:
        """Give an order."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Wait for the answer to the last order."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._children.failure_of(self._name)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def leave(self) -> None:
        """Close all connections and end the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(GRACE_S)
        self._children.end(self._name)


class CrowdProcess(_OrderedProcess):
    """A running `ops.bench.crowd`."""

    def __init__(self, children: Children, name: str, plan: Mapping[str, Any]) -> None:
        super().__init__(children, name, module="ops.bench.crowd", plan=plan)

    def ask(self, label: str, *, places: Sequence[int], times: int) -> dict[str, Any]:
        """Let the people at these places ask at once, `times` in a row. Returns their replies and the CPU it took."""
        self.begin_asking(label, places=places, times=times)
        return self.receive()

    def begin_asking(self, label: str, *, places: Sequence[int], times: int) -> None:
        """The same without waiting: `receive` returns what `ask` does."""
        self.send({"ask": label, "places": list(places), "times": times})


class DeskCrowdProcess(_OrderedProcess):
    """A running `ops.bench.desk_crowd`: screens of staff, and people whose messages ring on them."""

    def __init__(self, children: Children, plan: Mapping[str, Any]) -> None:
        super().__init__(children, "screens of staff", module="ops.bench.desk_crowd", plan=plan)

    def ring(self, flags: int) -> dict[str, Any]:
        """Let as many people write a red message, one after the other. Returns the times of `desk_crowd.ring`."""
        return self.order({"ring": flags})

    def watch(self, conversations: Sequence[int]) -> None:
        """Let one screen read along."""
        self.order({"watch": list(conversations)})

    def unwatch(self, conversations: Sequence[int]) -> None:
        """Let it read no more."""
        self.order({"unwatch": list(conversations)})
