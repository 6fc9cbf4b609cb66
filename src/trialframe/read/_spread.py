"""Many files, by threads where they have to be waited for."""

from __future__ import annotations

import time
from collections import deque
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

Item = TypeVar("Item")
Made = TypeVar("Made")

FIRST, WAITING, WORKERS = 8, 3.0, 16
"""Files that are read one by one to see whether they are waited for; how many times the work the
time must be; and how many files are then waited for at once."""


def each(function: Callable[[Item], Made], items: Sequence[Item]) -> Generator[Made, None, None]:
    """What a function makes of every item, in order.

    Only one thread at a time runs Python, and many that take turns take twice as long as one. So
    threads serve where files are waited for, as on a network, and the first ones tell.
    """
    took = worked = 0.0
    for item in items[:FIRST]:
        start, busy = time.perf_counter(), time.thread_time()
        made = function(item)
        took += time.perf_counter() - start
        worked += time.thread_time() - busy
        yield made
    rest = items[FIRST:]
    yield from map(function, rest) if took < WAITING * worked else _by_threads(function, rest)


def _by_threads(
    function: Callable[[Item], Made], items: Sequence[Item]
) -> Generator[Made, None, None]:
    """The same by threads that nobody waits for at an interrupt, unlike those of a pool."""
    waiting = deque(enumerate(items))
    done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

    def work() -> None:
        while waiting:
            try:
                number, item = waiting.popleft()
            except IndexError:
                return
            try:
                done.put((number, function(item), None))
            except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
                done.put((number, None, error))

    ready: dict[int, tuple[Any, BaseException | None]] = {}
    try:
        for _ in range(min(WORKERS, len(items))):
            Thread(target=work, daemon=True).start()
        for wanted in range(len(items)):
            while wanted not in ready:
                number, *result = done.get()
                ready[number] = (result[0], result[1])
            made, error = ready.pop(wanted)
            if error is not None:
                raise error
            yield made
    finally:
        waiting.clear()
