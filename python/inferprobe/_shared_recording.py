"""The one recording of this process, which all entered profiles share: rings, torch's profiler.

The rule that people break: garbage collection may end a profile at any time, on any thread, also in
the midst of a change here. What it ends waits until the change is over.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from typing import TYPE_CHECKING

from inferprobe import _core, _torch_profiler
from inferprobe._calls_in_flight import calls_in_flight, mark_calls_in_flight
from inferprobe._entered import Entered

if TYPE_CHECKING:
    from inferprobe._profile import ModuleProfile

FORKED = "the process was forked off while it ran: the results are the parent's"


class SharedRecording:
    """What profiles of this process share. The first one in starts it, the last one out ends it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._changing = False
        self._to_end: deque[Entered] = deque()
        self._native: _core.ModuleRecording | None = None
        self._capacity = 0
        self._entered: set[Entered] = set()
        self._operators: _torch_profiler.Started | None = None
        self._memory = False
        self._users = 0
        self._waiting: list[ModuleProfile] = []

    def enter(self, entered: Entered, profile: ModuleProfile) -> None:
        """All of it, or, where it raises, nothing."""
        with self._lock:
            if self._changing:
                raise RuntimeError("inferprobe.profile is entered in the midst of another's enter")
            self._changing = True
            try:
                self._enter(entered, profile)
            except BaseException:
                self._end(entered)
                raise
            finally:
                self._changing = False
        # The last one to be registered is the first to be called: others then see results.
        atexit.unregister(self.end_all)
        atexit.register(self.end_all)
        self._end_what_waits()

    def leave(self, entered: Entered) -> None:
        with self._lock:
            if self._changing:  # a generator's block, which garbage collection ends
                self._to_end.append(entered)
                return
            self._changing = True
            try:
                self._end(entered)
            finally:
                self._changing = False
        self._end_what_waits()

    def abandon(self, entered: Entered) -> None:
        """Of a profile that is gone."""
        self._to_end.append(entered)
        self._end_what_waits()

    def end_all(self) -> None:
        """At the interpreter's exit: after it, nobody may be watched."""
        self._to_end.extend(self._entered)
        self._end_what_waits()

    def forget(self) -> None:
        """In a child that was forked off: everything here is the parent's."""
        entered, waiting, native = self._entered, self._waiting, self._native
        memory = self._memory
        self.__init__()  # type: ignore[misc]
        _torch_profiler.forget()
        for one in entered:
            one.over = one.forked = True
            one.unwatch()
        for profile in waiting:
            profile._take(_torch_profiler.unavailable(FORKED), memory)
        del native  # gives the child's copy of the rings back

    def _end_what_waits(self) -> None:
        # Never waits for the lock: who has it comes here when it is free again.
        while self._to_end and self._lock.acquire(blocking=False):
            try:
                if self._changing:
                    return
                self._changing = True
                try:
                    if self._to_end:
                        self._end(self._to_end.popleft())
                finally:
                    self._changing = False
            finally:
                self._lock.release()

    def _enter(self, entered: Entered, profile: ModuleProfile) -> None:
        if self._native is None:
            self._native = _core.start_recording(profile._capacity)
            self._capacity = profile._capacity
        self._entered.add(entered)
        entered.native, entered.capacity = self._native, self._capacity
        if profile._operators:
            if self._operators is None:
                self._operators = _torch_profiler.start(
                    memory=profile._memory, device=profile._device
                )
                self._memory = profile._memory
            self._users += 1
            entered.operators = True
        entered.tree = profile._choose()
        entered.watch()
        entered.in_flight = calls_in_flight(entered.tree)
        entered.window = self._native.open()

    def _end(self, entered: Entered) -> None:
        if entered.over:
            return
        entered.over = True
        if entered not in self._entered:
            return
        self._entered.discard(entered)
        try:
            if entered.native is not None and entered.window is not None:
                entered.native.close(entered.window)
                after = calls_in_flight(entered.tree)
                mark_calls_in_flight(entered.tree, entered.in_flight, after)
        finally:
            try:
                entered.unwatch()
                if entered.operators:
                    self._stop_operators(entered)
            finally:
                if not self._entered and self._native is not None:
                    native, self._native = self._native, None
                    native.stop()

    def _stop_operators(self, entered: Entered) -> None:
        profile = entered.profile()
        if profile is not None and entered.window is not None:
            self._waiting.append(profile)
        self._users -= 1
        if self._users > 0 or self._operators is None:
            return
        operators, self._operators = self._operators, None
        waiting, self._waiting = self._waiting, []
        recorded = operators.stop()
        for one in waiting:
            one._take(recorded, self._memory)


shared = SharedRecording()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=shared.forget)
