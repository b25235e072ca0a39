"""Tree search guided by a network: PUCT on one position, or on many games at once.

The caller runs the network: `Trees.select` returns a batch of observations, `Trees.expand` takes
their evaluations. The algorithm is in simulations.py and gumbel.py, its data in forest.py.

Shapes: T trees, F fields of a position, A = `num_actions`, L leaves in a batch, K earlier
positions; C planes, H rows and W columns of an observation.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import Int, Position
from cc_env.errors import BadOption, check_integer
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.search import limits, simulations
from cc_env.search.alphabeta import deepen, make_context
from cc_env.search.forest import PUCTSettings, make_forest, restart
from cc_env.search.gumbel import RootResults, halving_schedule, write_results
from cc_env.search.result import SearchResult
from cc_env.search.scores import expected_result
from cc_env.search.transposition import NO_ACTION
from cc_env.search.workspace import MAX_PLIES, Context
from cc_env.tablebase.tablebase import Tablebase, load_tables

# From observations, int8[L, C, H, W], to logits, float32[L, A], and values, float32[L], to the
# player to move.
Evaluate = Callable[[NDArray[np.int8]], tuple[NDArray[np.float32], NDArray[np.float32]]]

# Default capacity of a tree.
MAX_EDGES = 2**22
# Searches of few simulations use smaller batches.
MIN_BATCHES = 16
# Depth in turns of alpha-beta at leaves, and the size of its transposition table.
LEAF_DEPTH = 2
LEAF_TABLE_MEGABYTES = 0.5


class Trees:
    """Searches of `count` positions of one game that advance together."""

    def __init__(
        self,
        game: Game,
        count: int = 1,
        *,
        simulations: int | None = None,
        batch: int = 1,
        capacity: int | None = None,
        exploration: float = 1.5,
        contempt: float = 0.0,
        considered: int = 0,
        tables: Tablebase | None = None,
    ) -> None:
        """Allocate `capacity` edges for each tree, 3 per action of the game or more.

        None is enough for all simulations.

        `batch` is the number of leaves per tree and batch. `exploration` is c_puct, the weight of
        the priors. `contempt` is the penalty of a drawn repetition to the root's player.
        `considered` root actions enter Sequential Halving; 0: PUCT at the root, too. `tables` have
        the exact values of leaves. Raises BadOption for values out of range or tables of another
        game, BadTable for a damaged one.
        """
        self.game, self.count = game, limits.check_limit("count", count)
        max_simulations = limits.check_limit("simulations", simulations)
        batch = limits.check_limit("batch", batch)
        limits.check_exploration(exploration)
        limits.check_contempt(contempt)
        if considered and simulations is None:
            raise BadOption(f"considered={considered} needs a number of simulations")
        if capacity is None:
            max_expanded = min(max_simulations, MAX_EDGES // game.num_actions) + batch + 2
            capacity = max_expanded * game.num_actions
        check_integer("capacity", capacity, 3 * game.num_actions)
        if (batch + 2) * game.num_actions > capacity:
            at_most = capacity // game.num_actions - 2
            expected = f"1 to {at_most}, with room for {capacity} edges"
            raise BadOption(f"batch={batch}; expected: {expected}")
        self._settings = PUCTSettings(
            max_simulations, batch, float(exploration), float(contempt), int(considered)
        )
        loaded_tables = load_tables(tables, game)
        self._forest = make_forest(game, self.count, capacity, self._settings, loaded_tables)
        # Number of simulations for which the schedule was written.
        self._scheduled = 0
        shape = self.count, game.num_actions
        self._results = RootResults(
            np.empty(shape, np.int32),
            np.empty(shape, np.float32),
            np.empty(self.count, np.int64),
            np.empty(self.count, np.float32),
        )
        self._current = self._settings

    def restart(
        self,
        positions: NDArray[np.uint64],
        rng: np.random.Generator | None = None,
        *,
        earlier: NDArray[np.uint64] | None = None,
        simulations: int | None = None,
        batch: int | None = None,
    ) -> None:
        """Restart the trees from positions of unfinished games, uint64[T, F].

        With `rng` the root's actions get Gumbel noise, so that the chosen action is a sample.
        `earlier` are the keys of the positions that occurred in each game so far, uint64[T, K],
        padded with 0. `simulations` and `batch` may be lower than the trees were allocated for.
        Raises BadOption if they are higher or below 1, ValueError for arrays of another shape.
        """
        allocated = self._settings
        self._current = allocated._replace(
            simulations=limits.check_limit("simulations", simulations, allocated.simulations),
            batch=limits.check_limit("batch", batch, allocated.batch),
        )
        earlier = np.zeros((self.count, 0), np.uint64) if earlier is None else earlier
        if positions.shape != (self.count, len(self.game.initial)) or len(earlier) != self.count:
            shapes = f"({self.count}, {len(self.game.initial)}), ({self.count}, any number)"
            raise ValueError(
                f"positions{positions.shape}, earlier{earlier.shape}; expected: {shapes}"
            )
        self._write_schedule()
        self._forest.gumbel[:] = 0 if rng is None else rng.gumbel(size=self._forest.gumbel.shape)
        restart(self.game.initial, positions, earlier, self._forest)
        self._num_leaves = 0

    def _write_schedule(self) -> None:
        """Write the schedule of Sequential Halving for the number of simulations of this search."""
        considered, simulations = self._current.considered, self._current.simulations
        if considered and simulations != self._scheduled:
            rows = [halving_schedule(number, simulations) for number in range(considered + 1)]
            self._forest.schedule[:, :simulations] = rows
            self._scheduled = simulations

    def select(self) -> NDArray[np.int8] | None:
        """Return the observations to evaluate, int8[L, C, H, W]; None when the search is over.

        L is 0 if many simulations in a row needed no evaluation; call `select` again. The array is
        a view that the next `select` overwrites.
        """
        count = int(simulations.select(self.game.initial, self._forest, self._current))
        self._num_leaves = max(0, count)
        return None if count < 0 else self._forest.leaves.planes[:count]

    def leaf_positions(self) -> NDArray[np.uint64]:
        """Return the positions of the last `select`, uint64[L, F]."""
        slots, leaves = np.arange(self._num_leaves), self._forest.leaves
        nodes = leaves.paths[slots, leaves.depths[slots], 0]
        positions: NDArray[np.uint64] = self._forest.positions[leaves.trees[slots], nodes]
        return positions

    def expand(self, logits: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        """Expand the leaves of the last `select`: logits float32[L, A], values float32[L].

        The logits may have more than A columns. Raises ValueError for arrays of another shape.
        """
        has_all_logits = logits.ndim == 2 and logits.shape[1] >= self.game.num_actions
        if (
            not has_all_logits
            or len(logits) != self._num_leaves
            or values.shape != (self._num_leaves,)
        ):
            shapes = f"({self._num_leaves}, {self.game.num_actions}), ({self._num_leaves},)"
            raise ValueError(f"logits{logits.shape}, values{values.shape}; expected: {shapes}")
        self._num_leaves = 0
        simulations.expand(self.game.initial, self._forest, self._current, logits, values)

    def run(self, evaluate: Evaluate) -> None:
        """Run the search until all simulations are done."""
        while (planes := self.select()) is not None:
            if len(planes):
                self.expand(*evaluate(planes))

    def clear_cache(self) -> None:
        """Clear the cache of evaluations; necessary when the network changes."""
        self._forest.cache.keys[:] = 0

    def results(self) -> RootResults:
        """Return policies, chosen actions and values, in arrays that the next call overwrites."""
        write_results(self._forest, self._current, self._results)
        return self._results

    @property
    def simulations(self) -> int:
        """The number of simulations done, in all trees together."""
        return int(np.maximum(self._forest.nodes[:, 0]["visits"] - 1, 0).sum())

    def best_line(self) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], float]:
        """Return the first tree's principal variation, its root's (action, visits), its value.

        The line follows proven wins, the shortest first, else the most visited action.
        """
        nodes = self._forest.nodes[0]
        node = 0
        line: list[int] = []
        visited: set[int] = set()
        while nodes[node]["num_edges"] and node not in visited:
            visited.add(node)
            best = self._edges(node)[_best(nodes, nodes[node], self._edges(node))]
            if line and not best["visits"]:
                break
            line.append(int(best["action"]))
            if best["target"] < 0:
                break
            node = int(best["target"])
        edges = self._edges(0)
        ordered = edges[np.argsort(-edges["visits"], kind="stable")]
        visits = tuple(zip(ordered["action"].tolist(), ordered["visits"].tolist(), strict=True))
        return tuple(line), visits, float(nodes[0]["value"])

    def _edges(self, node: int) -> NDArray[Any]:
        record = self._forest.nodes[0, node]
        return self._forest.edges[
            0, record["first_edge"] : record["first_edge"] + record["num_edges"]
        ]


class PUCT:
    """PUCT on one position. Every search starts with an empty tree; evaluations stay cached.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> import numpy as np
        >>> from cc_env.search import PUCT
        >>> def uniform_network(planes):
        ...     logits = np.zeros((len(planes), game.num_actions), np.float32)
        ...     return logits, np.zeros(len(planes), np.float32)
        >>> result = PUCT(game, uniform_network).search(game.initial, simulations=64)
        >>> sum(count for action, count in result.visits)
        64
    """

    def __init__(
        self,
        game: Game,
        evaluate: Evaluate,
        *,
        batch: int = 16,
        exploration: float = 1.5,
        contempt: float = 0.0,
        capacity: int = MAX_EDGES,
        tables: Tablebase | None = None,
        evaluation: Any = None,
    ) -> None:
        """Search with the network `evaluate`, which maps a batch of observations to outputs.

        `batch` is the number of leaves per batch, less in searches of few simulations;
        `exploration` the weight of the priors; `contempt` the penalty of a drawn repetition;
        `capacity` the number of edges; `tables` have the exact values of leaves. With an
        `evaluation` of the game, or its name, the value of a leaf is the mean of the network's and
        that of alpha-beta to depth LEAF_DEPTH. Raises BadOption for values out of range or tables
        of another game, UnknownOption for an unknown evaluation, BadTable for a damaged table.
        """
        self.game, self._evaluate, self._batch = game, evaluate, limits.check_limit("batch", batch)
        self._leaf_search = None if evaluation is None else _LeafSearch(game, evaluation)
        self._trees = Trees(
            game,
            batch=batch,
            exploration=exploration,
            contempt=contempt,
            capacity=capacity,
            tables=tables,
        )
        # The first search compiles.
        self.search(game.initial, simulations=1)
        self._trees.clear_cache()

    def search(
        self,
        position: Position,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
        earlier: Sequence[Position] = (),
    ) -> SearchResult:
        """Search until the first limit, `simulations` or `seconds`; at least one batch.

        `earlier` are positions of the game so far; a return to one of them is a draw. A single
        legal action is returned without a search. Raises BadOption if a limit is out of range or
        no limit is given, IllegalAction if the game is over.
        """
        began = time.perf_counter()
        legal = self.game.choices(position)
        limits.check_seconds(seconds)
        limits.require_any(simulations=simulations, seconds=seconds)
        max_simulations = limits.check_limit("simulations", simulations)
        if len(legal) == 1:
            return SearchResult(line=(int(legal[0]),))
        batch = max(1, min(self._batch, max_simulations // MIN_BATCHES))
        keys = np.array([[self.game.key(occurred) for occurred in earlier]], np.uint64)
        root = np.array([position], np.uint64)
        self._trees.restart(root, earlier=keys, simulations=max_simulations, batch=batch)
        deadline = began + (math.inf if seconds is None else seconds)
        self._run(deadline)
        line, visits, value = self._trees.best_line()
        return SearchResult(
            line=line,
            value=value,
            depth=len(line),
            nodes=self._trees.simulations,
            seconds=time.perf_counter() - began,
            visits=visits,
        )

    def _run(self, deadline: float) -> None:
        """Search until the end, or until another batch would pass the deadline."""
        longest_batch = 0.0
        now = time.perf_counter()
        while (planes := self._trees.select()) is not None:
            if len(planes):
                logits, values = self._evaluate(planes)
                if self._leaf_search:
                    search_values = self._leaf_search(self._trees.leaf_positions())
                    values = np.mean((values, search_values), 0, np.float32)
                self._trees.expand(logits, values)
            before, now = now, time.perf_counter()
            longest_batch = max(longest_batch, now - before)
            if now + longest_batch > deadline:
                return


class _LeafSearch:
    """Alpha-beta on the leaves of a tree."""

    def __init__(self, game: Game, evaluation: Any) -> None:
        self._start = game.initial
        self._context = make_context(game, evaluation, table_megabytes=LEAF_TABLE_MEGABYTES)

    def __call__(self, positions: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Return the values to the player to move, float32[L], of positions uint64[L, F]."""
        values = np.empty(len(positions), np.float32)
        _search_positions(self._start, positions, LEAF_DEPTH, self._context, values)
        return values


@jit(nogil=True)
def _search_positions(
    start: Position,
    positions: NDArray[np.uint64],
    depth: Int,
    context: Context,
    values: NDArray[np.float32],
) -> None:
    """Write the value, -1 to 1, of each unfinished position for the player to move."""
    positions, context, values = as_raw(positions), as_raw(context), as_raw(values)
    line = np.full(MAX_PLIES, NO_ACTION, np.int32)
    for row in range(len(positions)):
        position = rules.load(positions[row], start)
        deepen(position, rules.to_move(position), depth, limits.NO_LIMIT, context, line)
        values[row] = expected_result(context.workspace.value)


def _best(nodes: NDArray[Any], node: Any, edges: NDArray[Any]) -> int:
    """Return the index of the edge to play: the best by proof, else the most visited."""
    children = nodes[edges["target"]]
    signs = np.where(children["player"] == node["player"], 1, -1)
    proven = np.where(edges["target"] < 0, 0, signs * children["proven"])
    if proven.max() != 0:
        return int(proven.argmax())
    return int(np.where(proven < 0, -1, edges["visits"] + edges["prior"]).argmax())
