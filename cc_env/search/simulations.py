"""The simulations of PUCT, compiled: many trees that advance together, evaluated in batches.

`select` descends each tree to its leaves and writes their observations into one batch for the
network; `expand` adds the edges with the policy as priors, and backs the values up. A leaf under
evaluation counts as a loss ("virtual loss"), so that one tree can have several leaves in a batch.

The value of a node is the mean of the network's value and its children's values, weighted by the
visits of the edges; it is recomputed on every backup, since the children are shared. A position
that is already on the path, or occurred earlier in the game, is a draw.

Actions are selected by PUCT (Silver et al., "Mastering the game of Go without human knowledge",
2017). At the root, if `considered` is set, gumbel.py selects them.

Shapes: T trees, A = `num_actions`, L leaves in a batch.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.rules import Bool, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.elementary import exp, log
from cc_env.jit.raw_arrays import as_raw
from cc_env.search import gumbel, output_cache
from cc_env.search.forest import (
    EXPANDED,
    IN_FLIGHT,
    MAX_DEPTH,
    NEW,
    Forest,
    PUCTSettings,
    edges_of,
    find_or_add,
    num_simulations,
    repetition_value,
)
from cc_env.search.output_cache import find_slot, hash_observation
from cc_env.search.proofs import PROVEN_WIN, is_known_after_action, proven_to, set_terminal

# Limit of consecutive simulations of one tree that end without a leaf to evaluate.
MAX_SIMULATIONS_IN_A_ROW = 64
# Added to probabilities before taking logarithms.
EPSILON = 1e-12
# The value of an unvisited action is that of its node minus this.
FPU_REDUCTION = 0.2


@jit(nogil=True)
def select(start: Position, forest: Forest, settings: PUCTSettings) -> Int:
    """Run simulations for one batch; return the number of leaves in `forest.leaves.planes`.

    Returns -1 if every tree is finished: all simulations done, the root proven, or out of space.
    """
    forest = as_raw(forest)
    count: Int = np.int64(0)
    is_finished: Bool = True
    for tree in range(len(forest.nodes)):
        for _ in range(settings.batch):
            if not _next_leaf(start, forest, settings, tree, count):
                break
            count += 1
        is_finished = is_finished and _is_finished(forest, settings, tree)
    return np.int64(-1) if is_finished and count == 0 else count


@jit
def _is_finished(forest: Forest, settings: PUCTSettings, tree: Int) -> Bool:
    """Return whether all simulations are done, the root is proven, or the tree may lack space."""
    max_nodes, max_edges = forest.nodes.shape[1], forest.edges.shape[1]
    spare = forest.legal.shape[1]
    is_full = forest.num_nodes[tree] + spare + settings.batch > max_nodes
    is_full = is_full or forest.num_edges[tree] + spare * settings.batch > max_edges
    is_proven = forest.nodes[tree, 0]["proven"] != 0
    is_done = num_simulations(forest, tree) >= settings.simulations
    return bool(is_full or is_proven or is_done)


@jit
def _next_leaf(
    start: Position, forest: Forest, settings: PUCTSettings, tree: Int, slot: Int
) -> Bool:
    """Run simulations until one reaches a leaf to evaluate, in `slot`; return whether one did.

    Leaves of known value are backed up at once.
    """
    root = forest.nodes[tree, 0]
    for _ in range(MAX_SIMULATIONS_IN_A_ROW):
        if _is_finished(forest, settings, tree) or root["state"] == IN_FLIGHT:
            return False
        repeated = _descend(start, forest, settings, tree, slot)
        leaf = forest.leaves.paths[slot, forest.leaves.depths[slot], 0]
        node = forest.nodes[tree, leaf]
        if node["state"] == IN_FLIGHT:
            _undo(forest, slot)
            return False
        if node["state"] == NEW:
            position = rules.load(forest.positions[tree, leaf], start)
            is_known = set_terminal(position, forest, tree, np.int64(leaf))
            if not (is_known or _expand_from_cache(position, forest, settings, slot)):
                node["state"] = IN_FLIGHT
                return True
        _back_up(forest, settings, slot, repeated)
    return False


@jit
def _descend(start: Position, forest: Forest, settings: PUCTSettings, tree: Int, slot: Int) -> Bool:
    """Descend a tree to a leaf or a repetition and store the path; return whether it repeats.

    Visits whose leaf is under evaluation count as losses (virtual loss).
    """
    nodes, edges = forest.nodes[tree], forest.edges[tree]
    node = depth = np.int64(0)
    simulation = num_simulations(forest, tree)
    repeated = False
    forest.leaves.trees[slot] = tree
    while True:
        forest.leaves.paths[slot, depth, 0] = node
        nodes[node]["visits"] += 1
        nodes[node]["in_flight"] += 1
        nodes[node]["repeats"] = 1
        if nodes[node]["state"] != EXPANDED or nodes[node]["proven"] or depth == MAX_DEPTH:
            break
        if depth == 0 and settings.considered:
            edge = gumbel.select_edge(forest, settings, tree, simulation)
        else:
            edge = _best_edge(nodes, edges, settings, node)
        forest.leaves.paths[slot, depth, 1] = edge
        edges[edge]["visits"] += 1
        if edges[edge]["target"] < 0:
            _expand_edge(start, forest, tree, node, edge)
        target = np.int64(edges[edge]["target"])
        if nodes[target]["repeats"]:
            edges[edge]["draws"] += 1
            repeated = True
            break
        node, depth = target, depth + 1
    forest.leaves.depths[slot] = depth
    for step in range(depth + 1):
        nodes[forest.leaves.paths[slot, step, 0]]["repeats"] = 0
    return repeated


@jit
def _expand_edge(start: Position, forest: Forest, tree: Int, node: Int, edge: Int) -> None:
    """Find or add the node that an edge of `node` leads to."""
    position = rules.load(forest.positions[tree, node], start)
    record, player = forest.edges[tree, edge], np.int64(forest.nodes[tree, node]["player"])
    after = rules.apply(position, np.int64(record["action"]))
    record["target"] = find_or_add(after, forest, tree)
    record["repetition"] = rules.reward(rules.repetition_outcome(after), player)


@jit
def _undo(forest: Forest, slot: Int) -> None:
    """Undo the visits of a descent."""
    tree, depth = forest.leaves.trees[slot], forest.leaves.depths[slot]
    for step in range(depth + 1):
        node = forest.nodes[tree, forest.leaves.paths[slot, step, 0]]
        node["visits"] -= 1
        node["in_flight"] -= 1
        if step < depth:
            forest.edges[tree, forest.leaves.paths[slot, step, 1]]["visits"] -= 1


@jit
def _expand_from_cache(
    position: Position, forest: Forest, settings: PUCTSettings, slot: Int
) -> Bool:
    """Write a leaf's observation to `slot`; expand it if its evaluation is cached.

    Return whether it was expanded.
    """
    rules.observe(position, rules.to_move(position), forest.leaves.planes[slot])
    count = rules.legal_actions(position, forest.legal[0])
    key = hash_observation(forest.leaves.planes[slot], forest.legal[0], count)
    forest.leaves.hashes[slot] = key
    entry = find_slot(forest.cache, key)
    if entry < 0:
        return False
    value = output_cache.read(forest.cache, entry, forest.logits, count)
    _add_edges(position, forest, settings, slot, count, value)
    return True


@jit(nogil=True)
def expand(
    start: Position,
    forest: Forest,
    settings: PUCTSettings,
    logits: NDArray[np.float32],
    values: NDArray[np.float32],
) -> None:
    """Expand and back up the leaves of the batch.

    `logits`, float32[L, A or more], and `values`, float32[L], are the network's outputs for
    `forest.leaves.planes[:L]`.
    """
    forest, logits = as_raw(forest), as_raw(logits)
    for slot in range(len(values)):
        leaf = forest.leaves.paths[slot, forest.leaves.depths[slot], 0]
        position = rules.load(forest.positions[forest.leaves.trees[slot], leaf], start)
        count = rules.legal_actions(position, forest.legal[0])
        for index in range(count):
            forest.logits[index] = logits[slot, forest.legal[0, index]]
        value = np.float64(values[slot])
        output_cache.store(forest.cache, forest.leaves.hashes[slot], value, forest.logits, count)
        _add_edges(position, forest, settings, slot, count, value)
        _back_up(forest, settings, slot, False)


@jit
def _add_edges(
    position: Position, forest: Forest, settings: PUCTSettings, slot: Int, count: Int, value: float
) -> None:
    """Add an edge for each legal action to a leaf; its prior is the softmax of the logits."""
    tree, depth = forest.leaves.trees[slot], forest.leaves.depths[slot]
    node = forest.nodes[tree, forest.leaves.paths[slot, depth, 0]]
    first = forest.num_edges[tree]
    # The edges of the root keep the order of the legal actions, that of `gumbel`; those of all
    # other nodes are in descending order of their priors, on which `_is_rest_unexpanded` relies.
    if depth:
        _sort_by_logits(forest, count)
    highest = -math.inf
    for index in range(count):
        highest = max(highest, forest.logits[index])
    total = 0.0
    for index in range(count):
        edge = forest.edges[tree, first + index]
        edge["action"], edge["target"] = forest.legal[0, index], -1
        edge["visits"] = edge["draws"] = 0
        edge["repetition"] = 0.0
        edge["prior"] = exp(forest.logits[index] - highest)
        total += edge["prior"]
    for index in range(count):
        edge = forest.edges[tree, first + index]
        edge["prior"] /= total
        if depth == 0:
            forest.root_logits[tree, index] = log(edge["prior"] + EPSILON)
    node["first_edge"], node["num_edges"], node["state"] = first, count, EXPANDED
    node["network_value"] = node["value"] = value
    forest.num_edges[tree] += count
    if depth == 0:
        _expand_known_children(position, forest, settings, tree)


@jit
def _sort_by_logits(forest: Forest, count: Int) -> None:
    """Sort the legal actions by their logits, the highest first; equal ones keep their order."""
    legal, logits = forest.legal[0], forest.logits
    for end in range(1, count):
        action, logit = legal[end], logits[end]
        place = end
        while place and logits[place - 1] < logit:
            legal[place], logits[place] = legal[place - 1], logits[place - 1]
            place -= 1
        legal[place], logits[place] = action, logit


@jit
def _expand_known_children(
    position: Position, forest: Forest, settings: PUCTSettings, tree: Int
) -> None:
    """Expand the root's actions whose value needs no network, before any is visited.

    They end the game or win within the turn, or tables have the exact value of the next position.
    """
    for index in edges_of(forest.nodes[tree, 0]):
        edge = forest.edges[tree, index]
        after = rules.apply(position, np.int64(edge["action"]))
        if is_known_after_action(after, forest):
            edge["target"] = find_or_add(after, forest, tree)
            set_terminal(after, forest, tree, np.int64(edge["target"]))
    _update(forest.nodes[tree], forest.edges[tree], settings, np.int64(0))


@jit
def _back_up(forest: Forest, settings: PUCTSettings, slot: Int, repeated: Bool) -> None:
    """Recompute the values on a path, from the leaf to the root."""
    tree, leaf_depth = forest.leaves.trees[slot], forest.leaves.depths[slot]
    nodes, edges = forest.nodes[tree], forest.edges[tree]
    for depth in range(leaf_depth, -1, -1):
        node = np.int64(forest.leaves.paths[slot, depth, 0])
        nodes[node]["in_flight"] -= 1
        if depth < leaf_depth or repeated:
            _update(nodes, edges, settings, node)


@jit
def _update(nodes: NDArray[Any], edges: NDArray[Any], settings: PUCTSettings, node: Int) -> None:
    """Recompute a node's value from its children, and whether it is a proven win or loss."""
    record = nodes[node]
    # The network's value counts like a visit.
    total = np.float64(record["network_value"])
    visits = 1
    value_of_draw = _draw_value(nodes, settings, node)
    best: Int = np.int64(-PROVEN_WIN)
    for index in edges_of(record):
        edge = edges[index]
        proven = np.int64(0)
        if edge["target"] >= 0:
            child = nodes[edge["target"]]
            sign = np.int64(1 if child["player"] == record["player"] else -1)
            proven = sign * child["proven"]
            if child["visits"] > child["in_flight"]:
                total += sign * (edge["visits"] - edge["draws"]) * np.float64(child["value"])
                visits += edge["visits"] - edge["draws"]
            total += repetition_value(edge, value_of_draw) * edge["draws"]
            visits += edge["draws"]
        best = max(best, proven)
        if _is_rest_unexpanded(edge, node):
            break
    record["value"] = total / visits
    if best:
        record["proven"] = best - 1 if best > 0 else best + 1
        record["value"] = 1.0 if best > 0 else -1.0


@jit
def _best_edge(nodes: NDArray[Any], edges: NDArray[Any], settings: PUCTSettings, node: Int) -> Int:
    """Return the edge with the highest PUCT bound among those that are not proven losses."""
    record = nodes[node]
    weight = settings.exploration * math.sqrt(record["visits"])
    value_of_draw = _draw_value(nodes, settings, node)
    best, highest = np.int64(record["first_edge"]), -math.inf
    for index in edges_of(record):
        edge = edges[index]
        proven: Int = np.int64(0)
        value = record["value"] - FPU_REDUCTION
        if edge["target"] >= 0:
            child = nodes[edge["target"]]
            proven = proven_to(np.int64(record["player"]), child)
            if child["repeats"]:
                value = repetition_value(edge, value_of_draw)
            elif child["visits"]:
                value = _value_with_virtual_loss(child, np.int64(record["player"]))
        if proven >= 0:
            bound = value + weight * edge["prior"] / (1 + edge["visits"])
            if bound > highest:
                best, highest = np.int64(index), bound
        if _is_rest_unexpanded(edge, node):
            break
    return best


@jit
def _draw_value(nodes: NDArray[Any], settings: PUCTSettings, node: Int) -> float:
    """Return the value of a drawn repetition to a node's player."""
    same = nodes[node]["player"] == nodes[0]["player"]
    return -settings.contempt if same else settings.contempt


@jit
def _is_rest_unexpanded(edge: Any, node: Int) -> Bool:
    """Return whether this edge of a node and all edges after it are known to be unexpanded.

    Except at the root, edges are in descending order of their priors. As unexpanded ones have the
    same value, `_best_edge` expands them in this order.
    """
    return bool(node != 0 and edge["target"] < 0)


@jit
def _value_with_virtual_loss(child: Any, player: Int) -> float:
    """Return the value of a visited node to a player; visits under evaluation count as losses."""
    in_flight, visits = child["in_flight"], child["visits"]
    value = child["value"] if child["player"] == player else -child["value"]
    return (value * (visits - in_flight) - in_flight) / visits  # type: ignore[no-any-return]
