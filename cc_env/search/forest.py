"""The search graphs of PUCT, compiled: nodes, edges, and the leaves under evaluation.

Transpositions share a node, so the trees are graphs (Czech et al., "Monte-Carlo graph search for
AlphaZero", 2021). Visits are counted for each edge.

simulations.py selects, expands and backs up; proofs.py proves wins and losses; gumbel.py decides at
the roots.

Shapes: T trees, N nodes and E edges of each, A = `num_actions`, D = MAX_DECISIONS, F fields of a
position, L leaves in a batch, S simulations; C planes, H rows and W columns of an observation.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import as_raw
from cc_env.search.decisive import make_buffer
from cc_env.search.output_cache import OutputCache, make_cache
from cc_env.tablebase.lookup import LoadedTables, NoTables

# Latest positions of the game so far that are checked for repetition.
MAX_EARLIER_POSITIONS = 512
# Depth limit of a simulation, in decisions.
MAX_DEPTH = 256
# Assumed when nodes are allocated.
EDGES_PER_NODE = 8
# The states of a node: without an evaluation, under evaluation, of known value and without edges,
# with an edge for each legal action.
NEW, IN_FLIGHT, TERMINAL, EXPANDED = range(4)

NODE = np.dtype(
    [
        # Key of the position.
        ("key", np.uint64),
        # Values to the player to move, -1 to 1: of the search, and of the network.
        ("value", np.float32),
        ("network_value", np.float32),
        # Visits, and those of them whose leaf is under evaluation.
        ("visits", np.int32),
        ("in_flight", np.int32),
        # Index of the first edge, and number of edges.
        ("first_edge", np.int32),
        ("num_edges", np.int32),
        # Positive if won for the player to move, negative if lost; larger means sooner.
        ("proven", np.int16),
        # Player to move.
        ("player", np.int8),
        # NEW, IN_FLIGHT, TERMINAL or EXPANDED.
        ("state", np.int8),
        # 1 if a move to the node repeats a position: an earlier one of the game, or one on the path
        # of the current simulation.
        ("repeats", np.int8),
    ],
    align=True,
)
EDGE = np.dtype(
    [
        # Probability by the policy.
        ("prior", np.float32),
        # Visits, and those of them that ended in a repetition.
        ("visits", np.int32),
        ("draws", np.int32),
        # Value of a repetition to the player to move; 0 for a draw.
        ("repetition", np.float32),
        ("action", np.int32),
        # Child node; -1 if not expanded.
        ("target", np.int32),
    ],
    align=True,
)


class Leaves(NamedTuple):
    """The leaves under evaluation."""

    trees: NDArray[np.int64]  # [L]
    # (node, edge taken) from the root to the leaf, and the index of the leaf.
    paths: NDArray[np.int32]  # [L, MAX_DEPTH + 1, 2]
    depths: NDArray[np.int32]  # [L]
    # Observations, and hashes of observation and legal actions.
    planes: NDArray[np.int8]  # [L, C, H, W]
    hashes: NDArray[np.uint64]  # [L]


class Forest(NamedTuple):
    """The trees, and the batch of leaves under evaluation."""

    # NODE and EDGE records, and their numbers; node 0 is the root.
    nodes: NDArray[Any]  # [T, N]
    edges: NDArray[Any]  # [T, E]
    num_nodes: NDArray[np.int64]  # [T]
    num_edges: NDArray[np.int64]  # [T]
    positions: NDArray[np.uint64]  # [T, N, F]
    # Hash table of nodes by key, with open addressing; its size is a power of two. An entry is a
    # node plus `searches` << 32. Smaller entries are of earlier searches, so none is ever deleted.
    slots: NDArray[np.int64]  # [T, size]
    # Number of searches started.
    searches: NDArray[np.int64]  # [1]
    leaves: Leaves
    # Logits and Gumbel noise of the root's edges, in their order.
    root_logits: NDArray[np.float64]  # [T, A]
    gumbel: NDArray[np.float32]  # [T, A]
    # Visits so far of the root action to be selected next, see `gumbel.halving_schedule`.
    schedule: NDArray[np.int64]  # [considered + 1, S]
    cache: OutputCache
    # Buffers for the legal actions of each decision of a turn, and for their logits.
    legal: NDArray[np.int32]  # [D, A]
    logits: NDArray[np.float32]  # [A]
    # Exact values of positions, NoTables or LoadedTables.
    tables: Any


class PUCTSettings(NamedTuple):
    """The options of a search."""

    # Simulations of each tree, and its leaves in a batch.
    simulations: int
    batch: int
    # c_puct, the weight of the priors.
    exploration: float
    # A drawn repetition has the value -contempt to the root's player.
    contempt: float
    # Root actions in Sequential Halving; 0: PUCT at the root, too.
    considered: int


def make_forest(
    game: Game, count: int, capacity: int, settings: PUCTSettings, tables: LoadedTables | NoTables
) -> Forest:
    """Return `count` empty trees of `capacity` edges for searches with at most these settings."""
    leaves, considered = count * settings.batch, settings.considered
    scheduled = settings.simulations if considered else 0
    # Nodes that fill the edges, one for each action of the root, and the earlier positions.
    nodes = capacity // min(EDGES_PER_NODE, game.num_actions)
    nodes += game.num_actions + MAX_EARLIER_POSITIONS
    return Forest(
        nodes=np.empty((count, nodes), NODE),
        edges=np.empty((count, capacity), EDGE),
        num_nodes=np.zeros(count, np.int64),
        num_edges=np.zeros(count, np.int64),
        positions=np.empty((count, nodes, len(game.initial)), np.uint64),
        slots=np.zeros((count, 2 ** (2 * nodes).bit_length()), np.int64),
        searches=np.zeros(1, np.int64),
        leaves=Leaves(
            trees=np.zeros(leaves, np.int64),
            paths=np.zeros((leaves, MAX_DEPTH + 1, 2), np.int32),
            depths=np.zeros(leaves, np.int32),
            planes=np.zeros((leaves, *game.observation_shape), np.int8),
            hashes=np.zeros(leaves, np.uint64),
        ),
        root_logits=np.zeros((count, game.num_actions), np.float64),
        gumbel=np.zeros((count, game.num_actions), np.float32),
        schedule=np.zeros((considered + 1, scheduled), np.int64),
        cache=make_cache(),
        legal=make_buffer(game.num_actions),
        logits=np.empty(game.num_actions, np.float32),
        tables=tables,
    )


@jit(nogil=True)
def restart(
    start: Position, roots: NDArray[np.uint64], earlier: NDArray[np.uint64], forest: Forest
) -> None:
    """Restart all trees.

    `start` is any position of the game (for its type). `roots` are the fields of the positions,
    uint64[T, F], and `earlier` the keys of earlier positions of each game, uint64[T, any number],
    padded with 0.
    """
    roots, earlier, forest = as_raw(roots), as_raw(earlier), as_raw(forest)
    forest.searches[0] += 1
    for tree in range(len(forest.nodes)):
        forest.num_nodes[tree] = forest.num_edges[tree] = 0
        find_or_add(rules.load(roots[tree], start), forest, tree)
        for index in range(earlier.shape[1] - 1, -1, -1):
            key = earlier[tree, index]
            if key and forest.num_nodes[tree] < MAX_EARLIER_POSITIONS:
                # No simulation goes on from such a node, so it needs no position. The root is on
                # every path.
                node = _find_or_add_key(key, forest, tree)
                if node:
                    forest.nodes[tree, node]["repeats"] = 1


@jit
def find_or_add(position: Position, forest: Forest, tree: Int) -> Int:
    """Return the node of a position; create it if there is none."""
    count = forest.num_nodes[tree]
    node = _find_or_add_key(rules.key(position), forest, tree)
    if node == count:
        forest.nodes[tree, node]["player"] = rules.to_move(position)
        rules.store(position, forest.positions[tree, node])
    return node


@jit
def _find_or_add_key(key: np.uint64, forest: Forest, tree: Int) -> Int:
    """Return the node with this key; create it if there is none."""
    stamp = np.int64(forest.searches[0]) << 32
    place = np.int64(key & np.uint64(forest.slots.shape[1] - 1))
    while forest.slots[tree, place] >= stamp:
        existing = np.int64(forest.slots[tree, place]) - stamp
        if forest.nodes[tree, existing]["key"] == key:
            return existing
        place = (place + 1) & (forest.slots.shape[1] - 1)
    node = np.int64(forest.num_nodes[tree])
    forest.slots[tree, place] = stamp + node
    forest.num_nodes[tree] += 1
    record = forest.nodes[tree, node]
    record["key"], record["state"] = key, NEW
    record["first_edge"] = record["num_edges"] = 0
    record["visits"] = record["in_flight"] = record["proven"] = record["repeats"] = 0
    record["value"] = record["network_value"] = 0.0
    return node


@jit
def edges_of(node: Any) -> range:
    """Return the indices of the edges of a node."""
    first = np.int64(node["first_edge"])
    return range(first, first + np.int64(node["num_edges"]))


@jit
def num_simulations(forest: Forest, tree: Int) -> Int:
    """Return the simulations of a tree, -1 at the start: the root's first visit evaluates it."""
    return np.int64(forest.nodes[tree, 0]["visits"]) - 1


@jit
def repetition_value(edge: Any, value_of_draw: float) -> float:
    """Return the value, for the player of an edge, of the repetition that it leads to.

    A drawn repetition has the value `value_of_draw`.
    """
    return np.float64(edge["repetition"]) if edge["repetition"] else value_of_draw
