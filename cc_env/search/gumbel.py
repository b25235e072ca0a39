"""The decisions at the roots of PUCT, compiled: Sequential Halving with Gumbel noise.

Source: Danihelka et al., "Policy improvement by planning with Gumbel", 2022, sections 2 to 4. The
`considered` actions with the best scores share the simulations, then the better half of them, and
so on. The score of an action is its logit plus Gumbel noise, plus sigma of its value once it is
visited. The improved policy is the softmax of logits plus sigma. It is also computed for searches
that use PUCT at the root.

Shapes: T trees, A = `num_actions`, S simulations.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core.rules import Int
from cc_env.jit.compiler import jit
from cc_env.jit.elementary import exp
from cc_env.jit.raw_arrays import as_raw
from cc_env.search.forest import Forest, PUCTSettings, edges_of, repetition_value
from cc_env.search.proofs import proven_at_root

# Subtracted from a score to rank it behind all others.
PENALTY = 1e6
# c_scale and c_visit of the paper, in `_sigma`.
SIGMA_SCALE, SIGMA_VISITS = 0.2, 50


class RootResults(NamedTuple):
    """The results at the roots: training targets and the actions to play."""

    # Legal actions padded with -1, and their probabilities.
    actions: NDArray[np.int32]  # [T, A]
    policy: NDArray[np.float32]  # [T, A]
    # Action to play, and value of the root to the player to move.
    selected_actions: NDArray[np.int64]  # [T]
    values: NDArray[np.float32]  # [T]


def halving_schedule(considered: int, simulations: int) -> list[int]:
    """Return the number of earlier visits of the action that each simulation selects.

    Sequential Halving: all considered actions get the same number of visits, then the better half
    of them, and so on.
    """
    visits = [0] * max(1, considered)
    order: list[int] = []
    phases = max(1, math.ceil(math.log2(len(visits))))
    number = len(visits)
    while len(order) < simulations:
        for _ in range(max(1, simulations // (phases * number))):
            order += visits[:number]
            visits[:number] = [count + 1 for count in visits[:number]]
        number = max(min(2, len(visits)), number // 2)
    return order[:simulations]


@jit
def select_edge(forest: Forest, settings: PUCTSettings, tree: Int, simulation: Int) -> Int:
    """Return the root's edge that a simulation follows by Sequential Halving."""
    root = forest.nodes[tree, 0]
    considered = min(int(root["num_edges"]), settings.considered)
    visits = forest.schedule[considered, simulation]
    edge = _best_edge(forest, settings, tree, visits)
    # If the network's outputs are not finite, any edge will do: `_best_action` detects them.
    return edge if edge >= 0 else np.int64(root["first_edge"])


@jit
def _best_edge(forest: Forest, settings: PUCTSettings, tree: Int, visits: Int) -> Int:
    """Return the root's edge with the best score among those that are not proven losses.

    Edges with this number of visits precede all others. -1 if no score is a number.
    """
    root = forest.nodes[tree, 0]
    max_visits = _max_visits(forest, tree)
    best, highest = np.int64(-1), -math.inf
    for place in range(root["num_edges"]):
        index = np.int64(root["first_edge"]) + place
        edge = forest.edges[tree, index]
        if proven_at_root(forest, tree, edge) >= 0:
            score = forest.root_logits[tree, place]
            if edge["visits"]:
                score += _sigma(max_visits, _value(forest, settings, tree, edge))
            score += forest.gumbel[tree, place]
            if edge["visits"] != visits:
                score -= PENALTY
            if score > highest:
                best, highest = index, score
    return best


@jit
def _max_visits(forest: Forest, tree: Int) -> Int:
    """Return the highest visit count of the root's edges that are not proven losses."""
    root = forest.nodes[tree, 0]
    max_visits = np.int64(0)
    for index in edges_of(root):
        edge = forest.edges[tree, index]
        if proven_at_root(forest, tree, edge) >= 0:
            max_visits = max(max_visits, np.int64(edge["visits"]))
    return max_visits


@jit
def _sigma(max_visits: Int, value: float) -> float:
    """Return sigma of the paper: the value scaled to logits, growing with the visits."""
    return SIGMA_SCALE * (SIGMA_VISITS + max_visits) * value


@jit
def _value(forest: Forest, settings: PUCTSettings, tree: Int, edge: Any) -> float:
    """Return the value of an expanded edge of the root, to the root's player."""
    if edge["draws"]:
        # An edge of the root repeats always or never.
        return repetition_value(edge, -settings.contempt)
    child = forest.nodes[tree, edge["target"]]
    same = child["player"] == forest.nodes[tree, 0]["player"]
    return np.float64(child["value"] if same else -child["value"])


@jit(nogil=True)
def write_results(forest: Forest, settings: PUCTSettings, out: RootResults) -> None:
    """Write the improved policy, the action to play and the value of each root to `out`."""
    forest, out = as_raw(forest), as_raw(out)
    for tree in range(len(forest.nodes)):
        actions, policy = out.actions[tree], out.policy[tree]
        out.values[tree] = _write_policy(forest, settings, tree, actions, policy)
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

    `actions`, int32[A], and `policy`, float32[A], are padded with -1 and 0.
    """
    root = forest.nodes[tree, 0]
    count, first = np.int64(root["num_edges"]), np.int64(root["first_edge"])
    # Not used for a proven root.
    unvisited_value = -1.0 if root["proven"] else _mixed_value(forest, settings, tree)
    max_visits = _max_visits(forest, tree)
    highest = -math.inf
    for place in range(count):
        edge = forest.edges[tree, first + place]
        value = _completed_value(forest, settings, tree, edge, unvisited_value)
        logit = forest.root_logits[tree, place] + _sigma(max_visits, value)
        actions[place], policy[place] = edge["action"], logit
        highest = max(highest, logit)
    total, root_value = 0.0, 0.0
    for place in range(count):
        edge = forest.edges[tree, first + place]
        policy[place] = exp(policy[place] - highest)
        total += policy[place]
        # In the training target, a draw by the action itself has the value 0. Draws by later
        # repetitions have that of the search, with contempt.
        if not edge["draws"] or edge["repetition"]:
            value = _completed_value(forest, settings, tree, edge, unvisited_value)
            root_value += policy[place] * value
    for place in range(count):
        policy[place] /= total
    for place in range(count, len(actions)):
        actions[place], policy[place] = -1, 0.0
    return np.float64(root["value"]) if root["proven"] else root_value / total


@jit
def _completed_value(
    forest: Forest, settings: PUCTSettings, tree: Int, edge: Any, unvisited_value: float
) -> float:
    """Return the value of an edge of the root, `unvisited_value` if it has no node yet.

    The node may exist without a visit if another path led to its position.
    """
    return _value(forest, settings, tree, edge) if edge["target"] >= 0 else unvisited_value


@jit
def _best_action(forest: Forest, settings: PUCTSettings, tree: Int) -> Int:
    """Return the winner of Sequential Halving, or the best action by proof.

    -1 if the root is not expanded, or if the outputs of the network were not finite.
    """
    root, edges = forest.nodes[tree, 0], forest.edges[tree]
    if root["proven"]:
        best: Int = np.int64(root["first_edge"])
        for index in edges_of(root):
            proven = proven_at_root(forest, tree, edges[index])
            if proven > proven_at_root(forest, tree, edges[best]):
                best = np.int64(index)
    else:
        best = _best_edge(forest, settings, tree, _max_visits(forest, tree))
    return np.int64(edges[best]["action"]) if best >= 0 else np.int64(-1)


@jit
def _mixed_value(forest: Forest, settings: PUCTSettings, tree: Int) -> float:
    """Return the value assumed for unvisited root actions (v_mix of the paper).

    It mixes the network's value with the values of visited actions that are not proven losses.
    """
    root = forest.nodes[tree, 0]
    weight, total, visits = 0.0, 0.0, 0
    for index in edges_of(root):
        edge = forest.edges[tree, index]
        if edge["visits"] and proven_at_root(forest, tree, edge) >= 0:
            weight += edge["prior"]
            total += edge["prior"] * _value(forest, settings, tree, edge)
            visits += edge["visits"]
    if not visits:
        return np.float64(root["network_value"])
    return (root["network_value"] + visits * total / weight) / (1 + visits)  # type: ignore[no-any-return]
