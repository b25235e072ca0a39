"""Slots for work that many want to do, granted fairly."""

import asyncio
import itertools
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any


class FairSlots:
    """A number of slots that keys take turns to get, however often each of them asks."""

    def __init__(self, count: int, changed: Callable[[], None] = lambda: None) -> None:
        """Begin with all slots free; `changed` is called whenever others wait than before."""
        self._free, self._changed = count, changed
        self._queues: OrderedDict[Hashable, deque[tuple[asyncio.Future[None], Any]]] = OrderedDict()

    async def acquire(self, key: Hashable, item: Any = None) -> None:
        """Wait for a slot; the `item` is listed by `waiting` meanwhile."""
        if self._free:
            self._free -= 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(key, deque()).append((future, item))
        self._changed()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back; the next key gets it."""
        while self._queues:
            key, queue = self._queues.popitem(last=False)
            future, _ = queue.popleft()
            if queue:
                self._queues[key] = queue
            if not future.done():
                future.set_result(None)
                self._changed()
                return
        self._free += 1

    def waiting(self) -> Iterator[Any]:
        """Yield the items that wait, in the order in which they will get a slot."""
        rows = itertools.zip_longest(*self._queues.values())
        for future, item in filter(None, itertools.chain.from_iterable(rows)):
            if not future.done():
                yield item
