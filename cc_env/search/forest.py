"""The search trees of PUCT, compiled: many trees that advance together, evaluated in batches.

`select` descends each tree to its leaves and writes their observations into one batch for the
network; `expand` adds the children with the policy as priors, and backs the values up. A leaf under
evaluation counts as a loss ("virtual loss"), so that one tree can have several leaves in a batch.

Transpositions share a node, so the trees are graphs (Czech et al., "Monte-Carlo graph search for
AlphaZero", 2021). Visits are counted for each edge. The value of a node is the mean of the
network's value and its children's values, weighted by the visits of the edges; it is recomputed on
every backup. A position that is already on the path, or occurred earlier in the game, is a draw.

The edges of all nodes but the root are in descending order of their priors. As unvisited actions
have the same value, they are expanded in this order, and those after the first one that is not
expanded can be skipped.

Wins and losses are proven and backed up as in MCTS-Solver (Winands et al., "Monte-Carlo Tree Search
Solver", 2008); a win within the turn needs no evaluation by the network. At the root, if
`considered` is set, actions are selected by Sequential Halving, and the improved policy follows
Danihelka et al., "Policy improvement by planning with Gumbel", 2022, sections 2 to 4; otherwise
PUCT selects there too (Silver et al., "Mastering the game of Go without human knowledge", 2017).

Shapes: T trees, N nodes and E edges of each, A = `num_actions`, D = MAX_DECISIONS, F fields of a
position, L leaves in a batch, S simulations; C planes, H rows and W columns of an observation.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.rules import DRAW, ONGOING, Bool, Int, Position
from cc_env.jit.compiler import jit
from cc_env.jit.elementary import exp, log
from cc_env.jit.raw_arrays import as_raw
from cc_env.search import decisive, evaluations
from cc_env.search.decisive import NO_WIN
from cc_env.search.evaluations import EvaluationCache, find_slot, hash_observation
from cc_env.tablebase.lookup import exact_value
from cc_env.tablebase.values import UNKNOWN, result_of, turns_of

# Latest positions of the game so far that are checked for repetition.
MAX_EARLIER_POSITIONS = 512
# Depth limit of a simulation, in decisions.
MAX_DEPTH = 256
# `children` of a node without children.
NEW, IN_FLIGHT, TERMINAL = 0, -1, -2
# `proven` of a finished, won game; minus one for each decision before it.
PROVEN_WIN = 10_000
# Limit of consecutive simulations of one tree that end without a leaf to evaluate.
MAX_SIMULATIONS_IN_A_ROW = 64
# The value of an unvisited action is that of its node minus this.
FPU_REDUCTION = 0.2
# Added to probabilities before taking logarithms.
EPSILON = 1e-12
# Subtracted from a score to rank it behind all others.
PENALTY = 1e6
# c_scale and c_visit of the paper, in `_sigma`.
SIGMA_SCALE, SIGMA_VISITS = 0.2, 50

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
        # Index of the first edge, and number of edges, or NEW, IN_FLIGHT, TERMINAL.
        ("first", np.int32),
        ("children", np.int32),
        # Positive if won for the player to move, negative if lost; larger means sooner.
        ("proven", np.int16),
        # Player to move.
        ("player", np.int8),
        # 1 if on the path of the simulation, or if it occurred earlier in the game.
        ("on_path", np.int8),
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


class Forest(NamedTuple):
    """The trees, and the batch of leaves under evaluation."""

    # NODE and EDGE records; node 0 is the root.
    nodes: NDArray[Any]  # [T, N]
    edges: NDArray[Any]  # [T, E]
    positions: NDArray[np.uint64]  # [T, N, F]
    # Hash table from keys to nodes, with open addressing; its size is a power of two.
    slots: NDArray[np.int64]  # [T, size]
    # Number of searches started, the stamp of `slots`.
    searches: NDArray[np.int64]  # [1]
    # Nodes and edges in use.
    sizes: NDArray[np.int64]  # [T, 2]
    # Completed simulations.
    done: NDArray[np.int64]  # [T]
    # Gumbel noise of the root's edges, in their order.
    gumbel: NDArray[np.float32]  # [T, A]
    # Visits so far of the action to be selected next.
    schedule: NDArray[np.int64]  # [considered + 1, S]
    # (node, edge taken) from the root.
    paths: NDArray[np.int32]  # [L, MAX_DEPTH + 1, 2]
    # Index of each leaf in its path, its tree, its observation, and the hash of observation and
    # legal actions.
    depths: NDArray[np.int32]  # [L]
    trees: NDArray[np.int64]  # [L]
    planes: NDArray[np.int8]  # [L, C, H, W]
    hashes: NDArray[np.uint64]  # [L]
    cache: EvaluationCache
    # Buffers for the legal actions of each decision of a turn, and for their logits.
    legal: NDArray[np.int32]  # [D, A]
    logits: NDArray[np.float32]  # [A]
    # Exact values of positions, NoTables or LoadedTables.
    tables: Any


class RootResults(NamedTuple):
    """The results at the roots: training targets and the actions to play."""

    # Legal actions padded with -1, and their probabilities.
    actions: NDArray[np.int32]  # [T, A]
    policy: NDArray[np.float32]  # [T, A]
    # Action to play, and value of the root to the player to move.
    selected_actions: NDArray[np.int64]  # [T]
    values: NDArray[np.float32]  # [T]


class PUCTSettings(NamedTuple):
    """The options of a search."""

    # Simulations of each tree, and its leaves in a batch.
    simulations: np.int64
    batch: np.int64
    # c_puct, the weight of the priors.
    exploration: np.float64
    # A drawn repetition has the value -contempt to the root's player.
    contempt: np.float64
    # Root actions in Sequential Halving; 0: PUCT at the root, too.
    considered: np.int64


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
        forest.sizes[tree] = 0
        # Evaluating the root does not count as a simulation.
        forest.done[tree] = -1
        _find_or_add_position(rules.load(roots[tree], start), forest, tree)
        for index in range(earlier.shape[1] - 1, -1, -1):
            key = earlier[tree, index]
            if key and forest.sizes[tree, 0] < MAX_EARLIER_POSITIONS:
                node = _find_or_add_key(key, forest, tree)
                # The root is on every path.
                if node:
                    forest.nodes[tree, node]["on_path"] = 1


@jit
def _find_or_add_position(position: Position, forest: Forest, tree: Int) -> Int:
    """Return the node of a position; create it if there is none."""
    count = forest.sizes[tree, 0]
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
    # Smaller entries are of earlier searches.
    while forest.slots[tree, place] >= stamp:
        existing = np.int64(forest.slots[tree, place]) - stamp
        if forest.nodes[tree, existing]["key"] == key:
            return existing
        place = (place + 1) & (forest.slots.shape[1] - 1)
    node = np.int64(forest.sizes[tree, 0])
    forest.slots[tree, place] = stamp + node
    forest.sizes[tree, 0] += 1
    record = forest.nodes[tree, node]
    record["key"], record["children"] = key, NEW
    record["visits"] = record["in_flight"] = record["proven"] = record["on_path"] = 0
    record["value"] = record["network_value"] = 0.0
    return node


@jit(nogil=True)
def select(start: Position, forest: Forest, settings: PUCTSettings) -> Int:
    """Run simulations for one batch; return the number of leaves in `forest.planes`.

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
    is_full = forest.sizes[tree, 0] + spare + settings.batch > max_nodes
    is_full = is_full or forest.sizes[tree, 1] + spare * settings.batch > max_edges
    is_proven = forest.nodes[tree, 0]["proven"] != 0
    is_done = forest.done[tree] >= settings.simulations
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
        if _is_finished(forest, settings, tree) or root["children"] == IN_FLIGHT:
            return False
        repeated = _descend(start, forest, settings, tree, slot)
        leaf = forest.paths[slot, forest.depths[slot], 0]
        node = forest.nodes[tree, leaf]
        if node["children"] == IN_FLIGHT:
            _undo(forest, slot)
            return False
        forest.done[tree] += 1
        if node["children"] == NEW:
            position = rules.load(forest.positions[tree, leaf], start)
            is_known = _set_terminal(position, forest, node, leaf)
            if not (is_known or _expand_from_cache(position, forest, settings, slot)):
                node["children"] = IN_FLIGHT
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
    repeated = False
    forest.trees[slot] = tree
    while True:
        forest.paths[slot, depth, 0] = node
        nodes[node]["visits"] += 1
        nodes[node]["in_flight"] += 1
        nodes[node]["on_path"] = 1
        if nodes[node]["children"] <= 0 or nodes[node]["proven"] or depth == MAX_DEPTH:
            break
        if depth == 0 and settings.considered:
            considered = min(np.int64(nodes[0]["children"]), settings.considered)
            visits = forest.schedule[considered, forest.done[tree]]
            # Outputs of a network that are not finite are detected by `_best_action`.
            edge = max(_best_root_edge(forest, settings, tree, visits), np.int64(nodes[0]["first"]))
        else:
            edge = _best_edge(nodes, edges, settings, node)
        forest.paths[slot, depth, 1] = edge
        edges[edge]["visits"] += 1
        if edges[edge]["target"] < 0:
            position = rules.load(forest.positions[tree, node], start)
            after = rules.apply(position, np.int64(edges[edge]["action"]))
            edges[edge]["target"] = _find_or_add_position(after, forest, tree)
            edges[edge]["repetition"] = rules.reward(
                rules.repetition_outcome(after), np.int64(nodes[node]["player"])
            )
        target = np.int64(edges[edge]["target"])
        if nodes[target]["on_path"]:
            edges[edge]["draws"] += 1
            repeated = True
            break
        node, depth = target, depth + 1
    forest.depths[slot] = depth
    for step in range(depth + 1):
        nodes[forest.paths[slot, step, 0]]["on_path"] = 0
    return repeated


@jit
def _undo(forest: Forest, slot: Int) -> None:
    """Undo the visits of a descent."""
    tree, depth = forest.trees[slot], forest.depths[slot]
    for step in range(depth + 1):
        node = forest.nodes[tree, forest.paths[slot, step, 0]]
        node["visits"] -= 1
        node["in_flight"] -= 1
        if step < depth:
            forest.edges[tree, forest.paths[slot, step, 1]]["visits"] -= 1


@jit
def _back_up(forest: Forest, settings: PUCTSettings, slot: Int, repeated: Bool) -> None:
    """Recompute the values on a path, from the leaf to the root."""
    nodes, edges = forest.nodes[forest.trees[slot]], forest.edges[forest.trees[slot]]
    for depth in range(forest.depths[slot], -1, -1):
        node = forest.paths[slot, depth, 0]
        nodes[node]["in_flight"] -= 1
        if depth < forest.depths[slot] or repeated:
            _update(nodes, edges, settings, node)


@jit
def _update(nodes: NDArray[Any], edges: NDArray[Any], settings: PUCTSettings, node: Int) -> None:
    """Recompute a node's value from its children, and whether it is a proven win or loss."""
    record = nodes[node]
    # The network's value counts like a visit.
    total = np.float64(record["network_value"])
    visits = 1
    draw_value = _draw_value(nodes, settings, node)
    best: Int = np.int64(-PROVEN_WIN)
    for index in range(record["first"], record["first"] + record["children"]):
        edge = edges[index]
        proven = np.int64(0)
        if edge["target"] >= 0:
            child = nodes[edge["target"]]
            sign = np.int64(1 if child["player"] == record["player"] else -1)
            proven = sign * child["proven"]
            if child["visits"] > child["in_flight"]:
                total += sign * (edge["visits"] - edge["draws"]) * np.float64(child["value"])
                visits += edge["visits"] - edge["draws"]
            total += _repetition_value(edge, draw_value) * edge["draws"]
            visits += edge["draws"]
        best = max(best, proven)
        if _ends_scan(edge, node):
            break
    record["value"] = total / visits
    if best:
        record["proven"] = best - 1 if best > 0 else best + 1
        record["value"] = 1.0 if best > 0 else -1.0


@jit
def _repetition_value(edge: Any, draw_value: float) -> float:
    """Return the value, for the player of an edge, of the repetition that it leads to.

    A drawn repetition has the value `draw_value`.
    """
    return np.float64(edge["repetition"]) if edge["repetition"] else draw_value


@jit
def _draw_value(nodes: NDArray[Any], settings: PUCTSettings, node: Int) -> float:
    """Return the value of a drawn repetition to a node's player."""
    same = nodes[node]["player"] == nodes[0]["player"]
    return -settings.contempt if same else settings.contempt


@jit
def _best_edge(nodes: NDArray[Any], edges: NDArray[Any], settings: PUCTSettings, node: Int) -> Int:
    """Return the edge with the highest PUCT bound among those that are not proven losses."""
    record = nodes[node]
    first = np.int64(record["first"])
    weight = settings.exploration * math.sqrt(record["visits"])
    draw_value = _draw_value(nodes, settings, node)
    best, highest = first, -math.inf
    for index in range(first, first + record["children"]):
        edge = edges[index]
        proven: Int = np.int64(0)
        value = record["value"] - FPU_REDUCTION
        if edge["target"] >= 0:
            child = nodes[edge["target"]]
            proven = _proven_to(np.int64(record["player"]), child)
            if child["on_path"]:
                value = _repetition_value(edge, draw_value)
            elif child["visits"]:
                value = _value_with_virtual_loss(child, np.int64(record["player"]))
        if proven >= 0:
            bound = value + weight * edge["prior"] / (1 + edge["visits"])
            if bound > highest:
                best, highest = np.int64(index), bound
        if _ends_scan(edge, node):
            break
    return best


@jit
def _ends_scan(edge: Any, node: Int) -> Bool:
    """Return whether the edges after this one can be skipped.

    That is the case if it is not expanded, and the node is not the root.
    """
    return bool(node != 0 and edge["target"] < 0)


@jit
def _value_with_virtual_loss(child: Any, player: Int) -> float:
    """Return the value of a visited node to a player; visits under evaluation count as losses."""
    in_flight, visits = child["in_flight"], child["visits"]
    value = child["value"] if child["player"] == player else -child["value"]
    return (value * (visits - in_flight) - in_flight) / visits  # type: ignore[no-any-return]


@jit
def _best_root_edge(forest: Forest, settings: PUCTSettings, tree: Int, visits: Int) -> Int:
    """Return the root's edge with the best score among those that are not proven losses.

    Edges with this number of visits precede all others. -1 if no score is a number.
    """
    root = forest.nodes[tree, 0]
    first = np.int64(root["first"])
    max_visits = _max_visits_of_root(forest, tree)
    best, highest = np.int64(-1), -math.inf
    for place in range(root["children"]):
        edge = forest.edges[tree, first + place]
        if _proven(forest, tree, edge) >= 0:
            score = (
                _root_score(forest, settings, tree, edge, max_visits) + forest.gumbel[tree, place]
            )
            if edge["visits"] != visits:
                score -= PENALTY
            if score > highest:
                best, highest = first + place, score
    return best


@jit
def _max_visits_of_root(forest: Forest, tree: Int) -> Int:
    """Return the highest visit count of the root's edges that are not proven losses."""
    root = forest.nodes[tree, 0]
    max_visits = np.int64(0)
    for index in range(root["first"], root["first"] + root["children"]):
        edge = forest.edges[tree, index]
        if _proven(forest, tree, edge) >= 0:
            max_visits = max(max_visits, np.int64(edge["visits"]))
    return max_visits


@jit
def _root_score(
    forest: Forest, settings: PUCTSettings, tree: Int, edge: Any, max_visits: Int
) -> float:
    """Return the logit of a root's edge, plus sigma of its value once it is visited."""
    logit = log(edge["prior"] + EPSILON)
    return (
        logit + _sigma(max_visits, _value(forest, settings, tree, edge))
        if edge["visits"]
        else logit
    )


@jit
def _sigma(max_visits: Int, value: float) -> float:
    """Return sigma of the paper: the value scaled to logits, growing with the visits."""
    return SIGMA_SCALE * (SIGMA_VISITS + max_visits) * value


@jit
def _proven(forest: Forest, tree: Int, edge: Any) -> Int:
    """Return the `proven` score of a root's edge, to the root's player."""
    if edge["target"] < 0:
        return np.int64(0)
    player = np.int64(forest.nodes[tree, 0]["player"])
    return _proven_to(player, forest.nodes[tree, edge["target"]])


@jit
def _proven_to(player: Int, node: Any) -> Int:
    """Return the `proven` score of a node to a player: above 0 for a win."""
    proven = np.int64(node["proven"])
    return proven if node["player"] == player else -proven


@jit
def _value(forest: Forest, settings: PUCTSettings, tree: Int, edge: Any) -> float:
    """Return the value of an expanded edge of the root, to the root's player."""
    if edge["draws"]:
        # An edge of the root repeats always or never.
        return _repetition_value(edge, -settings.contempt)
    child = forest.nodes[tree, edge["target"]]
    same = child["player"] == forest.nodes[tree, 0]["player"]
    return np.float64(child["value"] if same else -child["value"])


@jit
def _set_terminal(position: Position, forest: Forest, node: Any, index: Int) -> Bool:
    """Set the value of a new node if it needs no network; return whether it was set.

    That is the case if the game is over, the turn can be won, or tables have the exact value.
    """
    result: Int = np.int64(rules.outcome(position))
    proven: Int = np.int64(PROVEN_WIN)
    exact = exact_value(position, forest.tables) if result == ONGOING else np.int64(UNKNOWN)
    if exact != UNKNOWN and index:
        node["children"] = TERMINAL
        node["value"] = result_of(exact)
        node["proven"] = result_of(exact) * (PROVEN_WIN - turns_of(exact))
        return True
    if result == ONGOING:
        decisions = decisive.decisions_to_win(position, forest.legal) if index else NO_WIN
        if decisions == NO_WIN:
            return False
        result, proven = np.int64(rules.to_move(position)), PROVEN_WIN - decisions
    node["children"] = TERMINAL
    if result != DRAW:
        is_won = result == node["player"]
        node["proven"], node["value"] = (proven, 1.0) if is_won else (-proven, -1.0)
    return True


@jit
def _expand_from_cache(
    position: Position, forest: Forest, settings: PUCTSettings, slot: Int
) -> Bool:
    """Write a leaf's observation to `slot`; expand it if its evaluation is cached.

    Return whether it was expanded.
    """
    rules.observe(position, rules.to_move(position), forest.planes[slot])
    count = rules.legal_actions(position, forest.legal[0])
    forest.hashes[slot] = hash_observation(forest.planes[slot], forest.legal[0], count)
    entry = find_slot(forest.cache, forest.hashes[slot])
    if entry < 0:
        return False
    value = evaluations.read(forest.cache, entry, forest.logits, count)
    _grow(position, forest, settings, slot, count, value)
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
    `forest.planes[:L]`.
    """
    forest, logits = as_raw(forest), as_raw(logits)
    for slot in range(len(values)):
        leaf = forest.paths[slot, forest.depths[slot], 0]
        position = rules.load(forest.positions[forest.trees[slot], leaf], start)
        count = rules.legal_actions(position, forest.legal[0])
        for index in range(count):
            forest.logits[index] = logits[slot, forest.legal[0, index]]
        value = np.float64(values[slot])
        evaluations.store(forest.cache, forest.hashes[slot], value, forest.logits, count)
        _grow(position, forest, settings, slot, count, value)
        _back_up(forest, settings, slot, False)


@jit
def _grow(
    position: Position, forest: Forest, settings: PUCTSettings, slot: Int, count: Int, value: float
) -> None:
    """Add an edge for each legal action to a leaf; its prior is the softmax of the logits."""
    tree, depth = forest.trees[slot], forest.depths[slot]
    node = forest.nodes[tree, forest.paths[slot, depth, 0]]
    first = forest.sizes[tree, 1]
    # The edges of the root keep the order of the legal actions, that of `gumbel`.
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
        forest.edges[tree, first + index]["prior"] /= total
    node["first"], node["children"] = first, count
    node["network_value"] = node["value"] = value
    forest.sizes[tree, 1] += count
    if depth == 0:
        _expand_terminal_children(position, forest, settings, tree)


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
def _expand_terminal_children(
    position: Position, forest: Forest, settings: PUCTSettings, tree: Int
) -> None:
    """Expand the root's actions whose value needs no network, before any is visited.

    They end the game or win within the turn, or tables have the exact value of the next position.
    """
    root = forest.nodes[tree, 0]
    for index in range(root["first"], root["first"] + root["children"]):
        edge = forest.edges[tree, index]
        after = rules.apply(position, np.int64(edge["action"]))
        is_over = rules.outcome(after) != ONGOING
        if (
            is_over
            or exact_value(after, forest.tables) != UNKNOWN
            or (rules.mid_turn(after) and decisive.decisions_to_win(after, forest.legal) < NO_WIN)
        ):
            edge["target"] = _find_or_add_position(after, forest, tree)
            _set_terminal(
                after, forest, forest.nodes[tree, edge["target"]], np.int64(edge["target"])
            )
    _update(forest.nodes[tree], forest.edges[tree], settings, np.int64(0))


@jit(nogil=True)
def write_results(forest: Forest, settings: PUCTSettings, out: RootResults) -> None:
    """Write the improved policy, the action to play and the value of each root to `out`."""
    forest, out = as_raw(forest), as_raw(out)
    for tree in range(len(forest.nodes)):
        count = np.int64(forest.nodes[tree, 0]["children"])
        out.values[tree] = _write_policy(
            forest, settings, tree, out.actions[tree], out.policy[tree]
        )
        out.actions[tree, count:], out.policy[tree, count:] = -1, 0
        out.selected_actions[tree] = _best_action(forest, settings, tree)


@jit
def _write_policy(
    forest: Forest,
    settings: PUCTSettings,
    tree: Int,
    actions: NDArray[np.int32],
    policy: NDArray[np.float32],
) -> float:
    """Write the improved policy of a root; return its value under that policy.

    `actions`, int32[A], and `policy`, float32[A], are filled for the legal actions.
    """
    root = forest.nodes[tree, 0]
    # Not used for a proven root.
    unvisited_value = -1.0 if root["proven"] else _mixed_value(forest, settings, tree)
    max_visits = _max_visits_of_root(forest, tree)
    highest = -math.inf
    count = np.int64(root["children"])
    for place in range(count):
        edge = forest.edges[tree, root["first"] + place]
        q = _value(forest, settings, tree, edge) if edge["target"] >= 0 else unvisited_value
        logit = log(edge["prior"] + EPSILON) + _sigma(max_visits, q)
        actions[place], policy[place] = edge["action"], logit
        highest = max(highest, logit)
    total, value = 0.0, 0.0
    for place in range(count):
        edge = forest.edges[tree, root["first"] + place]
        policy[place] = exp(policy[place] - highest)
        total += policy[place]
        # In the training target, a draw by the action itself has the value 0. Draws by later
        # repetitions have that of the search, with contempt.
        if not edge["draws"] or edge["repetition"]:
            q = _value(forest, settings, tree, edge) if edge["target"] >= 0 else unvisited_value
            value += policy[place] * q
    for place in range(count):
        policy[place] /= total
    return np.float64(root["value"]) if root["proven"] else value / total


@jit
def _best_action(forest: Forest, settings: PUCTSettings, tree: Int) -> Int:
    """Return the winner of Sequential Halving, or the best action by proof.

    -1 if the root is not expanded, or if the outputs of the network were not finite.
    """
    root, edges = forest.nodes[tree, 0], forest.edges[tree]
    if root["proven"]:
        best: Int = np.int64(root["first"])
        for index in range(root["first"], root["first"] + root["children"]):
            if _proven(forest, tree, edges[index]) > _proven(forest, tree, edges[best]):
                best = np.int64(index)
    else:
        best = _best_root_edge(forest, settings, tree, _max_visits_of_root(forest, tree))
    return np.int64(edges[best]["action"]) if best >= 0 else np.int64(-1)


@jit
def _mixed_value(forest: Forest, settings: PUCTSettings, tree: Int) -> float:
    """Return the value assumed for unvisited root actions (v_mix of the paper).

    It mixes the network's value with the values of visited actions that are not proven losses.
    """
    root = forest.nodes[tree, 0]
    weight, total, visits = 0.0, 0.0, 0
    for index in range(root["first"], root["first"] + root["children"]):
        edge = forest.edges[tree, index]
        if edge["visits"] and _proven(forest, tree, edge) >= 0:
            weight += edge["prior"]
            total += edge["prior"] * _value(forest, settings, tree, edge)
            visits += edge["visits"]
    if not visits:
        return np.float64(root["network_value"])
    return (root["network_value"] + visits * total / weight) / (1 + visits)  # type: ignore[no-any-return]
