"""What numba compiles, and the CPU time of each part, from an empty cache.

    python -m benchmarks.compile_profile            # the first step of an environment
    python -m benchmarks.compile_profile decision   # the first decision of `minimax:normal`, too

The first table has the functions by the CPU time of their own compilation, without that of the
functions they call; the second has the passes of the compiler.
"""

import sys
import tempfile
import time
from collections import Counter, defaultdict
from operator import itemgetter

import numba
import numpy as np

from cc_env.jit.numba_internals import event

LINES = 30


class Stopwatch(event.Listener):
    """CPU time between the starts and ends of numba's events, nested ones excluded."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.counts: Counter[str] = Counter()
        # Names of the current events.
        self._names: list[str] = []
        self._last = 0.0

    def on_start(self, started: event.Event) -> None:
        """Assign the time so far to the enclosing event."""
        self._advance()
        data = started.data
        function = getattr(data.get("dispatcher"), "py_func", None)
        name = f"{function.__module__}.{function.__qualname__}" if function else data["name"]
        self._names.append(name.partition(" [")[0])
        self.counts[self._names[-1]] += 1

    def on_end(self, ended: event.Event) -> None:
        """Assign the time since the start, or since a nested event, to this event."""
        self._advance()
        self._names.pop()

    def _advance(self) -> None:
        now = time.process_time()
        if self._names:
            self.seconds[self._names[-1]] += now - self._last
        self._last = now

    def print_table(self) -> None:
        """Print the CPU time, the number of compilations, and the names."""
        print(f"{sum(self.seconds.values()):7.2f} s  {self.counts.total():4}  in all")
        for name, seconds in sorted(self.seconds.items(), key=itemgetter(1), reverse=True)[:LINES]:
            print(f"{seconds:7.3f} s  {self.counts[name]:4}  {name}")


def run(with_decision: bool) -> None:
    """Play the first step of C&C and, if asked for, one decision of `minimax:normal`."""
    import gymnasium

    import cc_env
    from cc_env.match.referee import Clock
    from cc_env.players.specs import make_player

    env = gymnasium.make("cc_env/CaptureConquer-v0")
    _, info = env.reset(seed=1)
    env.step(int(np.flatnonzero(info["action_mask"])[0]))
    if with_decision:
        game = cc_env.make_game("capture_conquer")
        player = make_player("minimax:normal", game)
        player.choose(game.initial, np.random.default_rng(1), Clock())


def main() -> None:
    """Print both tables."""
    functions, passes = Stopwatch(), Stopwatch()
    with (
        tempfile.TemporaryDirectory() as folder,
        event.install_listener("numba:compile", functions),
        event.install_listener("numba:run_pass", passes),
    ):
        numba.config.CACHE_DIR = folder
        began = time.process_time()
        run(sys.argv[1:] == ["decision"])
        print(f"{time.process_time() - began:7.2f} s of CPU time\n")
    functions.print_table()
    print()
    passes.print_table()


if __name__ == "__main__":
    main()
