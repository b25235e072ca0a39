"""Monte-Carlo tree search: UCT (Kocsis and Szepesvári, 2006), with one node for each decision.

A simulation selects a leaf by upper confidence bounds (UCB1), expands it, and evaluates it by a
random playout or by the evaluation. An action that wins within the turn becomes the only child.

Shapes: N = capacity, in nodes; D = MAX_DECISIONS, A = `num_actions`.
"""

import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams, rules
from cc_env.core.game import Game
from cc_env.core.rules import FIRST, ONGOING, Bool, Int, Position
from cc_env.errors import UnknownOption, format_list
from cc_env.jit.compiler import jit
from cc_env.jit.elementary import log
from cc_env.jit.raw_arrays import as_raw
from cc_env.search import decisive, limits
from cc_env.search.decisive import make_buffer
from cc_env.search.result import SearchResult
from cc_env.search.scores import expected_result
from cc_env.tablebase.lookup import exact_value
from cc_env.tablebase.tablebase import Tablebase, load_tables
from cc_env.tablebase.values import UNKNOWN, result_of

# Evaluations of leaves.
PLAYOUTS = "random", "evaluation"
# Depth limit of a simulation in the tree, in decisions.
MAX_DEPTH = 256
# Decisions after which a random playout is scored as a draw.
MAX_PLAYOUT = 200
# Up to this number of visits, their logarithm is read from a table.
NUM_LOGARITHMS = 4096
# `first_child` of a node without children; the root, 0, is not a child.
UNEXPANDED = 0

# The number of nodes, the length of the longest path, the number of completed simulations, and 1 to
# stop the search.
COUNTS = np.dtype([(name, np.int64) for name in ("size", "depth", "done", "stop")])


class Tree(NamedTuple):
    """The nodes, in the order of their creation; the children of a node are contiguous."""

    first_child: NDArray[np.int32]  # [N]
    num_children: NDArray[np.int32]  # [N]
    # The action that leads to the node, and the player who takes it.
    action: NDArray[np.int32]  # [N]
    mover: NDArray[np.int8]  # [N]
    visits: NDArray[np.int32]  # [N]
    # Sum of the results to `mover`, each -1 to 1.
    total: NDArray[np.float64]  # [N]
    # Nodes of the current simulation.
    path: NDArray[np.int32]  # [MAX_DEPTH + 1]
    # Buffer for the legal actions of each decision of a turn.
    legal: NDArray[np.int32]  # [D, A]
    # The logarithms of 1, 2, ..., once the first search has begun.
    logarithms: NDArray[np.float64]  # [NUM_LOGARITHMS]
    # A COUNTS record.
    counts: Any


class UCTSettings(NamedTuple):
    """The options of a search."""

    simulations: np.int64
    # The constant of UCB1.
    exploration: np.float64
    # Whether leaves are evaluated by the evaluation instead of random playouts.
    by_evaluation: np.bool_
    # Weights, a NamedTuple.
    evaluation: Any
    # Exact values of positions, NoTables or LoadedTables.
    tables: Any


@jit(nogil=True)
def run_simulations(root: Position, tree: Tree, settings: UCTSettings, state: np.uint64) -> None:
    """Run simulations until a limit is reached; `state` seeds the random generator."""
    tree, settings = as_raw(tree), as_raw(settings)
    counts = tree.counts
    counts.size = 1
    counts.depth = counts.done = 0
    _clear(tree, 0)
    if tree.logarithms[-1] == 0:
        for index in range(NUM_LOGARITHMS):
            tree.logarithms[index] = log(index + 1.0)
    while counts.done < settings.simulations and not (counts.stop and counts.done):
        position, depth, state = _descend(root, tree, settings, state)
        value, state = _evaluate_leaf(position, tree, settings, state)
        for index in range(depth + 1):
            node = tree.path[index]
            tree.visits[node] += 1
            tree.total[node] += value if tree.mover[node] == FIRST else -value
        counts.depth = max(counts.depth, depth)
        counts.done += 1


@jit
def _clear(tree: Tree, node: Int) -> None:
    tree.first_child[node] = UNEXPANDED
    tree.num_children[node] = tree.visits[node] = 0
    tree.total[node] = 0.0


@jit
def _descend(
    position: Position, tree: Tree, settings: UCTSettings, state: np.uint64
) -> tuple[Position, Int, np.uint64]:
    """Descend to a leaf, expanding it on its second visit; store the path.

    A position within a turn whose node is an only child is expanded on its first visit, so that a
    win within a turn is found at once. Return the leaf's position, its depth, and the next state of
    the random generator.
    """
    node: Int = np.int64(0)
    depth: Int = np.int64(0)
    is_forced: Bool = False
    tree.path[0] = 0
    while depth < MAX_DEPTH:
        if not tree.num_children[node]:
            is_due = tree.visits[node] > 0 or depth == 0
            is_due = is_due or (is_forced and rules.mid_turn(position))
            if (
                not is_due
                or rules.outcome(position) != ONGOING
                or (depth and exact_value(position, settings.tables) != UNKNOWN)
                or not _expand(position, node, tree)
            ):
                break
        is_forced = tree.num_children[node] == 1
        node = _best_child(node, tree, settings.exploration, state)
        state = random_streams.advance(state)
        position = rules.apply(position, np.int64(tree.action[node]))
        depth += 1
        tree.path[depth] = node
    return position, depth, state


@jit
def _expand(position: Position, node: Int, tree: Tree) -> Bool:
    """Add the children of a node; only the winning one if an action wins within the turn.

    Return False, without children, if the tree is full.
    """
    count = np.int64(rules.legal_actions(position, tree.legal[0]))
    player = rules.to_move(position)
    begin = tree.counts.size
    if begin + count > len(tree.first_child):
        return False
    tree.first_child[node] = begin
    winning, _ = decisive.winning_action(position, tree.legal, count)
    if winning >= 0:
        count = np.int64(1)
        tree.legal[0, 0] = winning
    for index in range(count):
        child = begin + index
        _clear(tree, child)
        tree.action[child] = tree.legal[0, index]
        tree.mover[child] = player
    tree.num_children[node] = count
    tree.counts.size = begin + count
    return True


@jit
def _best_child(node: Int, tree: Tree, exploration: float, state: np.uint64) -> Int:
    """Return the child with the highest upper confidence bound; unvisited children come first.

    The scan starts at a random child, which breaks ties.
    """
    count: Int = np.int64(tree.num_children[node])
    offset = random_streams.below(state, count)
    total_visits = tree.visits[node]
    log_visits = (
        tree.logarithms[total_visits] if total_visits < NUM_LOGARITHMS else log(total_visits + 1.0)
    )
    best, highest = np.int64(0), -math.inf
    for index in range(count):
        child = np.int64(tree.first_child[node]) + (index + offset) % count
        visits = tree.visits[child]
        if not visits:
            return child
        bound = tree.total[child] / visits + exploration * math.sqrt(log_visits / visits)
        if bound > highest:
            best, highest = child, bound
    return best


@jit
def _evaluate_leaf(
    position: Position, tree: Tree, settings: UCTSettings, state: np.uint64
) -> tuple[float, np.uint64]:
    """Return a leaf's value for the first player, -1 to 1, and the generator's next state.

    It is the outcome, the exact value, the evaluation, or the result of a random playout.
    """
    result = rules.outcome(position)
    exact = exact_value(position, settings.tables) if result == ONGOING else np.int64(UNKNOWN)
    if exact != UNKNOWN:
        value = np.float64(result_of(exact))
        return value if rules.to_move(position) == FIRST else -value, state
    if settings.by_evaluation and result == ONGOING:
        score = rules.evaluate(position, np.int64(FIRST), settings.evaluation)
        return expected_result(np.int64(score)), state
    for _ in range(MAX_PLAYOUT):
        if result != ONGOING:
            break
        count = rules.legal_actions(position, tree.legal[0])
        action = tree.legal[0, random_streams.below(state, count)]
        state = random_streams.advance(state)
        position = rules.apply(position, np.int64(action))
        result = rules.outcome(position)
    return rules.reward(result, np.int64(FIRST)), state


def make_tree(game: Game, capacity: int) -> Tree:
    """Return an empty tree of at most `capacity` nodes."""
    return Tree(
        first_child=np.empty(capacity, np.int32),
        num_children=np.empty(capacity, np.int32),
        action=np.empty(capacity, np.int32),
        mover=np.zeros(capacity, np.int8),
        visits=np.empty(capacity, np.int32),
        total=np.empty(capacity, np.float64),
        path=np.zeros(MAX_DEPTH + 1, np.int32),
        legal=make_buffer(game.num_actions),
        logarithms=np.zeros(NUM_LOGARITHMS, np.float64),
        counts=np.zeros(1, COUNTS)[0],
    )


class MCTS:
    """UCT for one game. Every search starts with an empty tree.

    Examples:

        >>> import cc_env
        >>> game = cc_env.make_game("capture_conquer")
        >>> import numpy as np
        >>> from cc_env.search import MCTS
        >>> result = MCTS(game).search(game.initial, np.random.default_rng(0), simulations=100)
        >>> sum(count for action, count in result.visits)
        100
    """

    def __init__(
        self,
        game: Game,
        evaluation: Any = None,
        *,
        playout: str = "evaluation",
        exploration: float = 1.0,
        capacity: int = 2**20,
        tables: Tablebase | None = None,
    ) -> None:
        """Allocate a tree of `capacity` nodes; once it is full, simulations go on without growth.

        `evaluation` is one of the game, or its name, by default the first; `exploration` is the
        constant of UCB1; `tables` have the exact values of leaves, and the best action if they
        contain the root. Raises UnknownOption for an unknown playout or evaluation, BadOption for a
        number out of range or tables of another game, BadTable for a damaged one.
        """
        if playout not in PLAYOUTS:
            raise UnknownOption(f"playout={playout!r}; expected: {format_list(PLAYOUTS)}")
        limits.check_exploration(exploration)
        self.game, self._tables = game, tables
        self._options = (
            np.float64(exploration),
            np.bool_(playout == "evaluation"),
            rules.with_cache(game.evaluation(evaluation)),
            load_tables(tables, game),
        )
        capacity = max(limits.check_limit("capacity", capacity), 2 * game.num_actions)
        self._tree = make_tree(game, capacity)
        # The first search compiles.
        self.search(game.initial, np.random.default_rng(0), simulations=1)

    def settings(self, simulations: int | None) -> UCTSettings:
        """Return the settings of a search of at most `simulations`.

        All searches of this object share one cache of the evaluation. Raises BadOption for an
        invalid number.
        """
        return UCTSettings(np.int64(limits.check_limit("simulations", simulations)), *self._options)

    def search(
        self,
        position: Position,
        rng: np.random.Generator,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
    ) -> SearchResult:
        """Search until the first limit, `simulations` or `seconds`; at least one simulation.

        A single legal action is returned without a search. Raises BadOption if a limit is out of
        range or no limit is given, IllegalAction if the game is over.
        """
        began = time.perf_counter()
        legal = self.game.choices(position)
        limits.check_seconds(seconds)
        limits.require_any(simulations=simulations, seconds=seconds)
        settings = self.settings(simulations)
        if len(legal) == 1:
            return SearchResult(line=(int(legal[0]),))
        counts = self._tree.counts
        counts["stop"] = 0
        state = rng.integers(2**64, dtype=np.uint64)
        with limits.alarm(counts, seconds):
            run_simulations(position, self._tree, settings, state)
        line, visits, value = self._read_results()
        exact = None if self._tables is None else self._tables.get(position)
        # Simulations do not distinguish wins: take one of the soonest.
        if exact is not None:
            best = next((action for action, _ in visits if action in exact.best), exact.best[0])
            line, value = line if line[0] == best else (best,), float(exact.value)
        return SearchResult(
            line=line,
            value=value,
            depth=int(counts["depth"]),
            nodes=int(counts["done"]),
            seconds=time.perf_counter() - began,
            visits=visits,
        )

    def stop(self) -> None:
        """Stop a search that runs in another thread; later searches are not affected."""
        self._tree.counts["stop"] = 1

    def _read_results(self) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], float]:
        """Return the most visited line, the root's actions with their visits, and its value."""
        tree = self._tree
        line = []
        node = 0
        while tree.visits[node] and tree.num_children[node]:
            node = max(self._children(node), key=lambda child: int(tree.visits[child]))
            line.append(int(tree.action[node]))
        children = sorted(self._children(0), key=lambda child: -int(tree.visits[child]))
        visits = tuple((int(tree.action[child]), int(tree.visits[child])) for child in children)
        return tuple(line), visits, float(tree.total[children[0]] / tree.visits[children[0]])

    def _children(self, node: int) -> range:
        first = int(self._tree.first_child[node])
        return range(first, first + int(self._tree.num_children[node]))
