"""The trees of a search guided by a network, compiled: many at once, which go on in step.

`select` follows each tree to leaves and lays what is seen there side by side, one batch for the
network; `expand` grows the leaves by the policy and backs the values up. A leaf under evaluation
counts as a loss meanwhile ("virtual loss"), so that a tree can have several.

A position that several lines lead to is one node: the trees are graphs (Czech et al., "Monte-Carlo
graph search for AlphaZero", 2021). Visits count for each edge; the value of a node is the mean of
what the network said of it and of its children's values, weighed by the visits of the edges, and is
taken anew whenever a simulation passes. A position that is on the path already, or occurred in the
game before, is a draw.

What is won or lost for certain is proved on the way (Winands et al., "Monte-Carlo Tree Search
Solver", 2008), a win in one decision without asking the network. At the root, where `considered` is
set, actions are tried by Sequential Halving, and the policy is improved by what the tries brought
(Danihelka et al., "Policy improvement by planning with Gumbel", 2022, sections 2 to 4); else PUCT
rules there too (Silver et al., "Mastering the game of Go without human knowledge", 2017).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env import rules
from cc_env.borrow import borrow
from cc_env.compile import jit
from cc_env.rules import DRAW, ONGOING, Bool, Int, Position
from cc_env.search import evaluations
from cc_env.search.evaluations import Evaluations

EARLIER = 512  # positions of a game so far that are known, the newest
LONGEST = 256  # decisions from the root that a simulation follows a tree
NEW, IN_FLIGHT, ENDED = 0, -1, -2  # `children` of a node that has none
SURE = 10_000  # `proven` of a win on the board, less one for each decision to it
TRIES = 64  # simulations of a tree, one after the other, that end where none is to be evaluated
UNTRIED = 0.2  # an action not tried yet is worth so much less than its position
TINY = 1e-12  # a probability
LAST = 1e6  # keeps an action behind all others
SCALE, SCALE_VISITS = 0.2, 50  # of values beside logits, in `_boost`

NODE = np.dtype(
    [
        ("key", np.uint64),  # of the position
        ("value", np.float32),  # to the player to move, -1 to 1
        ("guess", np.float32),  # the same by the network alone
        ("visits", np.int32),
        ("flying", np.int32),  # of them, under evaluation
        ("first", np.int32),  # the first edge; a node's edges lie side by side
        ("children", np.int32),  # edges, or what a node is that has none
        ("proven", np.int16),  # above 0: won for who is to move; below: lost; the more the sooner
        ("player", np.int8),  # to move
        ("on_path", np.int8),  # whether a simulation is passing, or the game did
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("prior", np.float32),  # probability by the policy
        ("visits", np.int32),
        ("draws", np.int32),  # of them, by repetition
        ("repetition", np.float32),  # what that is worth by the rules, to who is to move; 0: a draw
        ("action", np.int32),
        ("target", np.int32),  # the node it leads to; -1: nobody looked
    ],
    align=True,
)


class Forest(NamedTuple):
    """The trees, and the leaves that are being evaluated."""

    nodes: NDArray[Any]  # NODE[trees, most nodes]; the root is the first of its tree
    edges: NDArray[Any]  # EDGE[trees, most edges]
    positions: NDArray[np.uint64]  # [trees, most nodes, fields]
    places: NDArray[np.int64]  # [trees, a power of two]: nodes by their keys, see `_reach`
    searches: NDArray[np.int64]  # [1]: begun so far
    sizes: NDArray[np.int64]  # [trees, 2]: nodes and edges in use
    done: NDArray[np.int64]  # [trees]: simulations
    gumbel: NDArray[np.float32]  # [trees, num_actions]: noise for the root's edges, by place
    schedule: NDArray[np.int64]  # [considered + 1, simulations]: visits of the action to try next
    paths: NDArray[np.int32]  # [leaves, LONGEST + 1, 2]: nodes from the root, the edges after them
    depths: NDArray[np.int32]  # [leaves]: where the path ends
    trees: NDArray[np.int64]  # [leaves]: whose
    planes: NDArray[np.int8]  # [leaves, C, H, W]
    hashes: NDArray[np.uint64]  # [leaves]: of the planes and the legal actions
    kept: Evaluations
    legal: NDArray[np.int32]  # [num_actions]
    logits: NDArray[np.float32]  # [num_actions]: of the legal actions


class Improved(NamedTuple):
    """What a search says about its roots."""

    actions: NDArray[np.int32]  # [trees, num_actions]: the legal ones, then -1
    policy: NDArray[np.float32]  # [trees, num_actions]: their probabilities, then 0
    chosen: NDArray[np.int64]  # [trees]: what to play
    values: NDArray[np.float32]  # [trees]: of the root, to the player to move


class Settings(NamedTuple):
    """How to search."""

    simulations: np.int64  # of each tree
    batch: np.int64  # leaves of each tree that are evaluated together
    exploration: np.float64
    contempt: np.float64  # what a repetition costs the root's player, the opponent gains
    considered: np.int64  # actions to try at the root; 0: PUCT decides


@jit(nogil=True)
def begin(
    start: Position, roots: NDArray[np.uint64], earlier: NDArray[np.uint64], forest: Forest
) -> None:
    """Begin all trees anew, from these positions; `earlier` is as for `Trees.begin`."""
    roots, earlier, forest = borrow(roots), borrow(earlier), borrow(forest)
    forest.searches[0] += 1
    for tree in range(len(forest.nodes)):
        forest.sizes[tree] = 0
        forest.done[tree] = -1  # to evaluate the root is no simulation
        _reach(rules.load(roots[tree], start), forest, tree)
        for index in range(earlier.shape[1] - 1, -1, -1):
            key = earlier[tree, index]
            if key and forest.sizes[tree, 0] < EARLIER:
                node = _node(key, forest, tree)
                if node:  # the root itself is on every path
                    forest.nodes[tree, node]["on_path"] = 1


@jit
def _reach(position: Position, forest: Forest, tree: Int) -> Int:
    """Return the node of a position, a new one where it has none."""
    count = forest.sizes[tree, 0]
    node = _node(rules.key(position), forest, tree)
    if node == count:
        forest.nodes[tree, node]["player"] = rules.to_move(position)
        rules.store(position, forest.positions[tree, node])
    return node


@jit
def _node(key: np.uint64, forest: Forest, tree: Int) -> Int:
    """Return the node with this key, a new one where there is none."""
    stamp = np.int64(forest.searches[0]) << 32
    place = np.int64(key & np.uint64(forest.places.shape[1] - 1))
    while forest.places[tree, place] >= stamp:  # what is below is left of earlier searches
        found = np.int64(forest.places[tree, place]) - stamp
        if forest.nodes[tree, found]["key"] == key:
            return found
        place = (place + 1) & (forest.places.shape[1] - 1)
    node = np.int64(forest.sizes[tree, 0])
    forest.places[tree, place] = stamp + node
    forest.sizes[tree, 0] += 1
    one = forest.nodes[tree, node]
    one["key"], one["children"] = key, NEW
    one["visits"] = one["flying"] = one["proven"] = one["on_path"] = 0
    one["value"] = one["guess"] = 0.0
    return node


@jit(nogil=True)
def select(start: Position, forest: Forest, settings: Settings) -> Int:
    """Run simulations up to leaves that want evaluation; return how many wait in `planes`.

    It is -1 where every tree has its simulations, is proved at the root, or full.
    """
    forest = borrow(forest)
    count: Int = np.int64(0)
    over: Bool = True
    for tree in range(len(forest.nodes)):
        for _ in range(settings.batch):
            if not _next_leaf(start, forest, settings, tree, count):
                break
            count += 1
        over = over and _is_over(forest, settings, tree)
    return np.int64(-1) if over and count == 0 else count


@jit
def _is_over(forest: Forest, settings: Settings, tree: Int) -> Bool:
    most_nodes, most_edges = forest.nodes.shape[1], forest.edges.shape[1]
    spare = len(forest.legal)
    is_full = forest.sizes[tree, 0] + spare + settings.batch > most_nodes
    is_full = is_full or forest.sizes[tree, 1] + spare * settings.batch > most_edges
    is_proved = forest.nodes[tree, 0]["proven"] != 0
    is_done = forest.done[tree] >= settings.simulations
    return bool(is_full or is_proved or is_done)


@jit
def _next_leaf(start: Position, forest: Forest, settings: Settings, tree: Int, slot: Int) -> Bool:
    """Find a leaf to evaluate, for `slot`; back up what is met on the way and known already."""
    root = forest.nodes[tree, 0]
    for _ in range(TRIES):
        if _is_over(forest, settings, tree) or root["children"] == IN_FLIGHT:
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
            is_known = _ends(position, forest, node, leaf)
            if not (is_known or _recall(position, forest, settings, slot)):
                node["children"] = IN_FLIGHT
                return True
        _back_up(forest, settings, slot, repeated)
    return False


@jit
def _descend(start: Position, forest: Forest, settings: Settings, tree: Int, slot: Int) -> Bool:
    """Follow a tree to a leaf, or to a position that is on the path; note the path.

    Return whether it is the latter. Visits under way count as lost.
    """
    nodes, edges = forest.nodes[tree], forest.edges[tree]
    node, depth, repeated = np.int64(0), np.int64(0), False
    forest.trees[slot] = tree
    while True:
        forest.paths[slot, depth, 0] = node
        nodes[node]["visits"] += 1
        nodes[node]["flying"] += 1
        nodes[node]["on_path"] = 1
        if nodes[node]["children"] <= 0 or nodes[node]["proven"] or depth == LONGEST:
            break
        if depth == 0 and settings.considered:
            edge = _candidate(forest, settings, tree)
        else:
            edge = _best_edge(nodes, edges, settings, node)
        forest.paths[slot, depth, 1] = edge
        edges[edge]["visits"] += 1
        if edges[edge]["target"] < 0:
            position = rules.load(forest.positions[tree, node], start)
            after = rules.apply(position, np.int64(edges[edge]["action"]))
            edges[edge]["target"] = _reach(after, forest, tree)
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
    """Take a path back, visits and all."""
    tree, depth = forest.trees[slot], forest.depths[slot]
    for step in range(depth + 1):
        node = forest.nodes[tree, forest.paths[slot, step, 0]]
        node["visits"] -= 1
        node["flying"] -= 1
        if step < depth:
            forest.edges[tree, forest.paths[slot, step, 1]]["visits"] -= 1


@jit
def _back_up(forest: Forest, settings: Settings, slot: Int, repeated: Bool) -> None:
    """Take the values of a path anew, from its end to the root."""
    nodes, edges = forest.nodes[forest.trees[slot]], forest.edges[forest.trees[slot]]
    for depth in range(forest.depths[slot], -1, -1):
        node = forest.paths[slot, depth, 0]
        nodes[node]["flying"] -= 1
        if depth < forest.depths[slot] or repeated:
            _settle(nodes, edges, settings, node)


@jit
def _settle(nodes: NDArray[Any], edges: NDArray[Any], settings: Settings, node: Int) -> None:
    """Take the value of a node anew from its children, and whether it is won or lost for sure."""
    one = nodes[node]
    total, visits, drawn = np.float64(one["guess"]), 1, _drawn(nodes, settings, node)
    best: Int = np.int64(-SURE)
    for index in range(one["first"], one["first"] + one["children"]):
        edge, proven = edges[index], np.int64(0)
        if edge["target"] >= 0:
            child = nodes[edge["target"]]
            sign = np.int64(1 if child["player"] == one["player"] else -1)
            proven = sign * child["proven"]
            if child["visits"] > child["flying"]:
                total += sign * (edge["visits"] - edge["draws"]) * np.float64(child["value"])
                visits += edge["visits"] - edge["draws"]
            total += _repeated(edge, drawn) * edge["draws"]
            visits += edge["draws"]
        best = max(best, proven)
    one["value"] = total / visits
    if best:
        one["proven"] = best - 1 if best > 0 else best + 1
        one["value"] = 1.0 if best > 0 else -1.0


@jit
def _repeated(edge: Any, drawn: float) -> float:
    """Return the value of a repetition by this edge to its player, to whom a draw is `drawn`."""
    return np.float64(edge["repetition"]) if edge["repetition"] else drawn


@jit
def _drawn(nodes: NDArray[Any], settings: Settings, node: Int) -> float:
    """Return the value of a draw by repetition to a node's player."""
    same = nodes[node]["player"] == nodes[0]["player"]
    return -settings.contempt if same else settings.contempt


@jit
def _best_edge(nodes: NDArray[Any], edges: NDArray[Any], settings: Settings, node: Int) -> Int:
    """Return the edge that PUCT prefers, none that loses for certain."""
    one = nodes[node]
    first, weight = np.int64(one["first"]), settings.exploration * math.sqrt(one["visits"])
    best, highest, drawn = first, -math.inf, _drawn(nodes, settings, node)
    for index in range(first, first + one["children"]):
        edge = edges[index]
        proven: Int = np.int64(0)
        value = one["value"] - UNTRIED
        if edge["target"] >= 0:
            child = nodes[edge["target"]]
            proven = _proven_to(np.int64(one["player"]), child)
            if child["on_path"]:
                value = _repeated(edge, drawn)
            elif child["visits"]:
                value = _promise(child, np.int64(one["player"]))
        if proven >= 0:
            bound = value + weight * edge["prior"] / (1 + edge["visits"])
            if bound > highest:
                best, highest = np.int64(index), bound
    return best


@jit
def _promise(child: Any, player: Int) -> float:
    """Return the value of a visited node to a player, what is under evaluation being lost."""
    flying, visits = child["flying"], child["visits"]
    value = child["value"] if child["player"] == player else -child["value"]
    return (value * (visits - flying) - flying) / visits  # type: ignore[no-any-return]


@jit
def _candidate(forest: Forest, settings: Settings, tree: Int) -> Int:
    """Return the root's edge that Sequential Halving tries next."""
    root = forest.nodes[tree, 0]
    first, count = np.int64(root["first"]), np.int64(root["children"])
    wanted = forest.schedule[min(count, settings.considered), forest.done[tree]]
    most = _most_visits(forest, tree)
    best, highest = first, -math.inf
    for place in range(count):
        edge = forest.edges[tree, first + place]
        if _proven(forest, tree, edge) >= 0:
            worth = _worth(forest, settings, tree, edge, most) + forest.gumbel[tree, place]
            if edge["visits"] != wanted:
                worth -= LAST
            if worth > highest:
                best, highest = first + place, worth
    return best


@jit
def _most_visits(forest: Forest, tree: Int) -> Int:
    """Return the visits of the root's edge that has most, of those not lost for certain."""
    root, most = forest.nodes[tree, 0], np.int64(0)
    for index in range(root["first"], root["first"] + root["children"]):
        edge = forest.edges[tree, index]
        if _proven(forest, tree, edge) >= 0:
            most = max(most, np.int64(edge["visits"]))
    return most


@jit
def _worth(forest: Forest, settings: Settings, tree: Int, edge: Any, most: Int) -> float:
    """Return the logit of a root's edge, with what its visits brought."""
    logit = math.log(edge["prior"] + TINY)
    return logit + _boost(most, _value(forest, settings, tree, edge)) if edge["visits"] else logit


@jit
def _boost(most: Int, value: float) -> float:
    """Return how much a value adds to a logit, the more visits the more."""
    return SCALE * (SCALE_VISITS + most) * value


@jit
def _proven(forest: Forest, tree: Int, edge: Any) -> Int:
    """Return what is proved of a root's edge, to the root's player."""
    if edge["target"] < 0:
        return np.int64(0)
    player = np.int64(forest.nodes[tree, 0]["player"])
    return _proven_to(player, forest.nodes[tree, edge["target"]])


@jit
def _proven_to(player: Int, node: Any) -> Int:
    """Return what is proved of a node, above 0 where the player wins."""
    proven = np.int64(node["proven"])
    return proven if node["player"] == player else -proven


@jit
def _value(forest: Forest, settings: Settings, tree: Int, edge: Any) -> float:
    """Return the value of a root's edge that was looked at, to the root's player."""
    if edge["draws"]:
        return _repeated(edge, -settings.contempt)  # at the root what repeats always does
    child = forest.nodes[tree, edge["target"]]
    same = child["player"] == forest.nodes[tree, 0]["player"]
    return np.float64(child["value"] if same else -child["value"])


@jit
def _ends(position: Position, forest: Forest, node: Any, index: Int) -> Bool:
    """Return whether a new node's value is known without the network, and note it."""
    result, sure = rules.outcome(position), SURE
    if result == ONGOING:
        if index == 0 or _winning_action(position, forest) < 0:
            return False
        result, sure = rules.to_move(position), SURE - 1
    node["children"] = ENDED
    if result != DRAW:
        is_won = result == node["player"]
        node["proven"], node["value"] = (sure, 1.0) if is_won else (-sure, -1.0)
    return True


@jit
def _winning_action(position: Position, forest: Forest) -> Int:
    """Return an action that wins at once, or -1."""
    player = rules.to_move(position)
    for index in range(rules.legal_actions(position, forest.legal)):
        action = np.int64(forest.legal[index])
        if rules.outcome(rules.apply(position, action)) == player:
            return action
    return np.int64(-1)


@jit
def _recall(position: Position, forest: Forest, settings: Settings, slot: Int) -> Bool:
    """Lay out what is seen at a leaf; grow it if the network was asked about that before."""
    rules.observe(position, rules.to_move(position), forest.planes[slot])
    count = rules.legal_actions(position, forest.legal)
    forest.hashes[slot] = evaluations.hash_of(forest.planes[slot], forest.legal, count)
    found = evaluations.find(forest.kept, forest.hashes[slot])
    if found < 0:
        return False
    value = evaluations.take(forest.kept, found, forest.logits, count)
    _grow(position, forest, settings, slot, count, value)
    return True


@jit(nogil=True)
def expand(
    start: Position,
    forest: Forest,
    settings: Settings,
    logits: NDArray[np.float32],
    values: NDArray[np.float32],
) -> None:
    """Grow the leaves that `select` found, logits[i] and values[i] being for planes[i]."""
    forest, logits = borrow(forest), borrow(logits)
    for slot in range(len(values)):
        leaf = forest.paths[slot, forest.depths[slot], 0]
        position = rules.load(forest.positions[forest.trees[slot], leaf], start)
        count = rules.legal_actions(position, forest.legal)
        for index in range(count):
            forest.logits[index] = logits[slot, forest.legal[index]]
        value = np.float64(values[slot])
        evaluations.keep(forest.kept, forest.hashes[slot], value, forest.logits, count)
        _grow(position, forest, settings, slot, count, value)
        _back_up(forest, settings, slot, False)


@jit
def _grow(
    position: Position, forest: Forest, settings: Settings, slot: Int, count: Int, value: float
) -> None:
    """Give a leaf an edge for each legal action, with the softmax of the logits for priors."""
    tree, depth = forest.trees[slot], forest.depths[slot]
    node, first = forest.nodes[tree, forest.paths[slot, depth, 0]], forest.sizes[tree, 1]
    highest, total = -math.inf, 0.0
    for index in range(count):
        highest = max(highest, forest.logits[index])
    for index in range(count):
        edge = forest.edges[tree, first + index]
        edge["action"], edge["target"] = forest.legal[index], -1
        edge["visits"] = edge["draws"] = 0
        edge["repetition"] = 0.0
        edge["prior"] = math.exp(forest.logits[index] - highest)
        total += edge["prior"]
    for index in range(count):
        forest.edges[tree, first + index]["prior"] /= total
    node["first"], node["children"] = first, count
    node["guess"] = node["value"] = value
    forest.sizes[tree, 1] += count
    if depth == 0:
        _look_at_ends(position, forest, settings, tree)


@jit
def _look_at_ends(position: Position, forest: Forest, settings: Settings, tree: Int) -> None:
    """Note which of the root's actions end the game at once: nobody looked yet."""
    root = forest.nodes[tree, 0]
    for index in range(root["first"], root["first"] + root["children"]):
        edge = forest.edges[tree, index]
        after = rules.apply(position, np.int64(edge["action"]))
        if rules.outcome(after) != ONGOING:
            edge["target"] = _reach(after, forest, tree)
            _ends(after, forest, forest.nodes[tree, edge["target"]], np.int64(edge["target"]))
    _settle(forest.nodes[tree], forest.edges[tree], settings, np.int64(0))


@jit(nogil=True)
def improved(forest: Forest, settings: Settings, out: Improved) -> None:
    """Write what each tree learned of its root: the policy that a network should have."""
    forest, out = borrow(forest), borrow(out)
    for tree in range(len(forest.nodes)):
        count = np.int64(forest.nodes[tree, 0]["children"])
        out.values[tree] = _improve(forest, settings, tree, out.actions[tree], out.policy[tree])
        out.actions[tree, count:], out.policy[tree, count:] = -1, 0
        out.chosen[tree] = _choice(forest, settings, tree)


@jit
def _improve(
    forest: Forest,
    settings: Settings,
    tree: Int,
    actions: NDArray[np.int32],
    policy: NDArray[np.float32],
) -> float:
    """Write the improved policy of a root, as above; return the value of playing by it."""
    root = forest.nodes[tree, 0]
    untried = -1.0 if root["proven"] else _untried(forest, settings, tree)  # a win needs no others
    most, peak, total, value = _most_visits(forest, tree), -math.inf, 0.0, 0.0
    count = np.int64(root["children"])
    for place in range(count):
        edge = forest.edges[tree, root["first"] + place]
        worth = _boost(most, _value(forest, settings, tree, edge) if _seen(edge) else untried)
        worth += math.log(edge["prior"] + TINY)
        actions[place], policy[place] = edge["action"], worth
        peak = max(peak, worth)
    for place in range(count):
        edge = forest.edges[tree, root["first"] + place]
        policy[place] = math.exp(policy[place] - peak)
        total += policy[place]
        is_drawn = edge["draws"] and not edge["repetition"]
        if not is_drawn:  # whatever contempt makes of it, a draw is worth 0
            seen = _value(forest, settings, tree, edge) if _seen(edge) else untried
            value += policy[place] * seen
    for place in range(count):
        policy[place] /= total
    return np.float64(root["value"]) if root["proven"] else value / total


@jit
def _seen(edge: Any) -> Bool:
    """Return whether anything is known of what a root's edge leads to."""
    return bool(edge["target"] >= 0)


@jit
def _choice(forest: Forest, settings: Settings, tree: Int) -> Int:
    """Return the action that won the Sequential Halving, or what is proved to be best."""
    root = forest.nodes[tree, 0]
    most, decided = _most_visits(forest, tree), root["proven"] != 0
    best, highest = np.int64(-1), -math.inf
    for place in range(root["children"]):
        edge = forest.edges[tree, root["first"] + place]
        proven = _proven(forest, tree, edge)
        if decided:
            worth = np.float64(proven)
        elif proven < 0:
            continue
        else:
            worth = _worth(forest, settings, tree, edge, most) + forest.gumbel[tree, place]
            if edge["visits"] != most:
                worth -= LAST
        if worth > highest:
            best, highest = np.int64(edge["action"]), worth
    return best


@jit
def _untried(forest: Forest, settings: Settings, tree: Int) -> float:
    """Return what an action of the root that was not tried is worth to the player to move.

    It is the network's value mixed with the values of what was tried and is not lost for certain.
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
        return np.float64(root["guess"])
    return (root["guess"] + visits * total / weight) / (1 + visits)  # type: ignore[no-any-return]
