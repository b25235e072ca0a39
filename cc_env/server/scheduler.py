"""Fair scheduling of work that competes for a limited number of slots."""

import asyncio
import itertools
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator


class FairSlots:
    """A fixed number of slots, granted to waiting keys in turn, one request per key and round."""

    def __init__(self, count: int, on_queue_change: Callable[[], None] = lambda: None) -> None:
        """Start with all slots free; `on_queue_change` is called when the queue changes."""
        self._free_count, self._on_queue_change = count, on_queue_change
        self._queues = OrderedDict[Hashable, deque[tuple[asyncio.Future[None], object]]]()

    async def acquire(self, key: Hashable, item: object = None) -> None:
        """Wait for a slot, in turn with other keys; until then, `waiting_items` yields `item`."""
        if self._free_count:
            self._free_count -= 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(key, deque()).append((future, item))
        self._on_queue_change()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Return a slot; it goes to the next waiting key."""
        while self._queues:
            key, queue = self._queues.popitem(last=False)
            future, _ = queue.popleft()
            if queue:
                self._queues[key] = queue
            if not future.done():
                future.set_result(None)
                self._on_queue_change()
                return
        self._free_count += 1

    def waiting_items(self) -> Iterator[object]:
        """Yield the waiting items in the order in which they will get a slot."""
        rounds = itertools.zip_longest(*self._queues.values())
        for future, item in filter(None, itertools.chain.from_iterable(rounds)):
            if not future.done():
                yield item
