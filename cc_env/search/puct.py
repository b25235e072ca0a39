"""Tree search guided by a network, over many games at once: PUCT, with Gumbel's root for training.

All trees go on in step. `select` follows each of them to leaves and lays what is seen there side by
side, one batch for the network; whoever searches evaluates it; `expand` grows the leaves by the
policy and backs the values up. A leaf under evaluation counts as a loss meanwhile ("virtual loss"),
so that a tree can have several.

What is won or lost for certain is proved on the way (Winands et al., "Monte-Carlo Tree Search
Solver", 2008), a win in one decision without asking the network; a position that occurred on the
path before is a draw. At the root, where `considered` is set, actions are tried by Sequential
Halving, and the policy is improved by what the tries brought (Danihelka et al., "Policy improvement
by planning with Gumbel", 2022, sections 2 to 4); else PUCT rules there too (Silver et al.,
"Mastering the game of Go without human knowledge", 2017).
"""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env import rules
from cc_env.borrow import borrow
from cc_env.compile import jit
from cc_env.errors import UnknownOption
from cc_env.game import Game
from cc_env.rules import DRAW, FIRST, ONGOING, Bool, Int, Position
from cc_env.search import limits
from cc_env.search.report import Report

# What evaluates: logits float32[N, num_actions], values float32[N] to the player to move, of
# observations int8[N, C, H, W].
Evaluate = Callable[[NDArray[np.int8]], tuple[NDArray[np.float32], NDArray[np.float32]]]

LONGEST = 256  # decisions from the root that a simulation follows a tree
UNGROWN, IN_FLIGHT = 0, -1  # `first` of a node without children: no node's child is node 0
SURE = 10_000  # `proven` of a win on the board, less one for each decision to it
MOST_NODES = 2**21  # of a tree, by default
SHARE = 16  # of the simulations, at least as many waves
TRIES = 16  # simulations of a tree in one wave that end where no evaluation is wanted
UNTRIED = 0.2  # an action not tried yet is worth so much less than its position
TINY = 1e-12  # a probability
LAST = 1e6  # keeps an action behind all others
SCALE, SCALE_VISITS = 0.2, 50  # of values beside logits, in `_boost`

NODE = np.dtype(
    [
        ("total", np.float32),  # sum of results to the mover, -1 to 1 each
        ("visits", np.int32),
        ("prior", np.float32),  # probability by the policy
        ("first", np.int32),  # the first child; children lie side by side
        ("children", np.int32),
        ("action", np.int32),  # what led here
        ("proven", np.int16),  # above 0: won for the mover; below: lost; the more the sooner
        ("mover", np.int8),  # who played `action`
    ],
    align=True,
)


class Forest(NamedTuple):
    """The trees, and the leaves that are being evaluated."""

    nodes: NDArray[Any]  # NODE[trees * capacity]: tree t begins at t * capacity with its root
    roots: NDArray[np.uint64]  # [trees, fields]: positions
    values: NDArray[np.float32]  # [trees]: of the roots by the network, to the player to move
    sizes: NDArray[np.int64]  # [trees]: nodes in use
    done: NDArray[np.int64]  # [trees]: simulations
    gumbel: NDArray[np.float32]  # [trees, num_actions]: noise for the root's children, by place
    schedule: NDArray[np.int64]  # [considered + 1, simulations]: visits of the action to try next
    paths: NDArray[np.int32]  # [leaves, LONGEST + 1]: nodes from the root
    depths: NDArray[np.int32]  # [leaves]: where the path ends
    trees: NDArray[np.int64]  # [leaves]: whose
    leaves: NDArray[np.uint64]  # [leaves, fields]: positions
    planes: NDArray[np.int8]  # [leaves, C, H, W]
    keys: NDArray[np.uint64]  # [LONGEST + 1]: of the positions on a path
    legal: NDArray[np.int32]  # [num_actions]


class Improved(NamedTuple):
    """What a search says about its roots."""

    actions: NDArray[np.int32]  # [trees, num_actions]: the legal ones, then -1
    policy: NDArray[np.float32]  # [trees, num_actions]: their probabilities, then 0
    chosen: NDArray[np.int64]  # [trees]: what to play
    values: NDArray[np.float32]  # [trees]: of the root, to the player to move


class Settings(NamedTuple):
    """How to search."""

    simulations: np.int64  # of each tree
    wave: np.int64  # leaves of each tree that are evaluated together
    exploration: np.float64
    considered: np.int64  # actions to try at the root; 0: PUCT decides


@jit(nogil=True)
def begin(start: Position, forest: Forest) -> None:
    """Make every tree a root, not grown yet, for the position in `roots`."""
    forest = borrow(forest)
    capacity = len(forest.nodes) // len(forest.roots)
    for tree in range(len(forest.roots)):
        position = rules.load(forest.roots[tree], start)
        mover = np.int64(1) - rules.to_move(position)
        _clear(forest, tree * capacity, np.int64(-1), mover, 1.0)
        forest.sizes[tree], forest.done[tree] = 1, -1  # to evaluate the root is no simulation


@jit
def _clear(forest: Forest, node: Int, action: Int, mover: Int, prior: float) -> None:
    one = forest.nodes[node]
    one["total"] = one["visits"] = one["children"] = one["proven"] = 0
    one["first"] = UNGROWN
    one["action"], one["mover"], one["prior"] = action, mover, prior


@jit(nogil=True)
def select(start: Position, forest: Forest, settings: Settings) -> Int:
    """Run simulations up to leaves that want evaluation; return how many wait in `planes`.

    None are left where every tree has its simulations, is proved at the root, or full.
    """
    forest = borrow(forest)
    count: Int = np.int64(0)
    for tree in range(len(forest.roots)):
        for _ in range(settings.wave):
            if not _next_leaf(start, forest, settings, tree, count):
                break
            count += 1
    return count


@jit
def _next_leaf(start: Position, forest: Forest, settings: Settings, tree: Int, slot: Int) -> Bool:
    """Find a leaf to evaluate, for `slot`; back up what is met on the way and known already."""
    capacity = len(forest.nodes) // len(forest.roots)
    room = capacity - len(forest.legal) * settings.wave
    for _ in range(TRIES):
        root = tree * capacity
        is_over = forest.done[tree] >= settings.simulations or forest.sizes[tree] > room
        if is_over or forest.nodes[root]["proven"] or forest.nodes[root]["first"] == IN_FLIGHT:
            return False
        position, repeated = _descend(start, forest, settings, tree, slot)
        node = forest.nodes[forest.paths[slot, forest.depths[slot]]]
        if node["first"] == IN_FLIGHT:
            _undo(forest, slot)
            return False
        forest.done[tree] += 1
        forest.trees[slot] = tree
        value, known = _known(position, forest, slot)
        if repeated:
            value, known = 0.0, True
        if not known:
            node["first"] = IN_FLIGHT
            rules.store(position, forest.leaves[slot])
            rules.observe(position, rules.to_move(position), forest.planes[slot])
            return True
        _back_up(forest, slot, value)
    return False


@jit
def _descend(
    start: Position, forest: Forest, settings: Settings, tree: Int, slot: Int
) -> tuple[Position, Bool]:
    """Follow a tree to a leaf; note the path; return its position, and whether it is repeated."""
    position = rules.load(forest.roots[tree], start)
    node: Int = np.int64(tree * (len(forest.nodes) // len(forest.roots)))
    depth: Int = np.int64(0)
    repeated = False
    forest.keys[0] = rules.key(position)
    _visit(forest, slot, depth, node)
    while forest.nodes[node]["first"] > 0 and depth < LONGEST and not repeated:
        if depth == 0 and settings.considered:
            node = _candidate(forest, settings, tree)
        else:
            node = _best_child(forest, settings, node)
        position = rules.apply(position, np.int64(forest.nodes[node]["action"]))
        depth += 1
        _visit(forest, slot, depth, node)
        key = rules.key(position)
        for earlier in range(depth):
            repeated |= forest.keys[earlier] == key
        forest.keys[depth] = key
    forest.depths[slot] = depth
    return position, repeated


@jit
def _visit(forest: Forest, slot: Int, depth: Int, node: Int) -> None:
    """Count a visit, as lost until `_back_up` knows better."""
    forest.paths[slot, depth] = node
    forest.nodes[node]["visits"] += 1
    forest.nodes[node]["total"] -= 1.0


@jit
def _undo(forest: Forest, slot: Int) -> None:
    for depth in range(forest.depths[slot] + 1):
        node = forest.nodes[forest.paths[slot, depth]]
        node["visits"] -= 1
        node["total"] += 1.0


@jit
def _back_up(forest: Forest, slot: Int, value: float) -> None:
    """Give the nodes of a path the result, to the first player."""
    for depth in range(forest.depths[slot] + 1):
        node = forest.nodes[forest.paths[slot, depth]]
        node["total"] += 1.0 + (value if node["mover"] == FIRST else -value)


@jit
def _best_child(forest: Forest, settings: Settings, parent: Int) -> Int:
    """Return the child that PUCT prefers, none that is lost for certain."""
    one = forest.nodes[parent]
    first, visits = np.int64(one["first"]), np.float64(one["visits"])
    untried = one["total"] / visits
    if forest.nodes[first]["mover"] != one["mover"]:
        untried = -untried
    untried -= UNTRIED
    weight = settings.exploration * math.sqrt(visits)
    best, highest = first, -math.inf
    for index in range(first, first + one["children"]):
        child = forest.nodes[index]
        if child["proven"] >= 0:
            value = child["total"] / child["visits"] if child["visits"] else untried
            bound = value + weight * child["prior"] / (1 + child["visits"])
            if bound > highest:
                best, highest = np.int64(index), bound
    return best


@jit
def _candidate(forest: Forest, settings: Settings, tree: Int) -> Int:
    """Return the root's child that Sequential Halving tries next."""
    root = forest.nodes[tree * (len(forest.nodes) // len(forest.roots))]
    first, count = np.int64(root["first"]), np.int64(root["children"])
    wanted = forest.schedule[min(count, settings.considered), forest.done[tree]]
    most = _most_visits(forest, root)
    best, highest = first, -math.inf
    for place in range(count):
        child = forest.nodes[first + place]
        if child["proven"] >= 0:
            worth = _worth(forest, child, most) + forest.gumbel[tree, place]
            if child["visits"] != wanted:
                worth -= LAST
            if worth > highest:
                best, highest = first + place, worth
    return best


@jit
def _most_visits(forest: Forest, root: Any) -> Int:
    most: Int = np.int64(0)
    for index in range(root["first"], root["first"] + root["children"]):
        most = max(most, np.int64(forest.nodes[index]["visits"]))
    return most


@jit
def _worth(forest: Forest, child: Any, most: Int) -> float:
    """Return the logit of a root's child, with what its visits brought."""
    logit = math.log(child["prior"] + TINY)
    return logit + _boost(most, _value(child)) if child["visits"] else logit


@jit
def _boost(most: Int, value: float) -> float:
    """Return how much a value adds to a logit, the more visits the more."""
    return SCALE * (SCALE_VISITS + most) * value


@jit
def _value(node: Any) -> float:
    """Return the value of a visited node to its mover."""
    if node["proven"]:
        return 1.0 if node["proven"] > 0 else -1.0
    return node["total"] / node["visits"]  # type: ignore[no-any-return]


@jit
def _known(position: Position, forest: Forest, slot: Int) -> tuple[float, Bool]:
    """Return a leaf's result to the first player where no network need be asked; prove it."""
    result = rules.outcome(position)
    depth, sure = forest.depths[slot], SURE
    if result == DRAW:
        return 0.0, True
    if result == ONGOING:
        if depth == 0 or _winning_action(position, forest) < 0:
            return 0.0, False
        result, sure = rules.to_move(position), SURE - 1
    node = forest.nodes[forest.paths[slot, depth]]
    node["proven"] = sure if node["mover"] == result else -sure
    _prove(forest, slot)
    return 1.0 if result == FIRST else -1.0, True


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
def _prove(forest: Forest, slot: Int) -> None:
    """Go up a path as far as what was just proved decides its nodes."""
    for depth in range(forest.depths[slot] - 1, -1, -1):
        node = forest.nodes[forest.paths[slot, depth]]
        best: Int = np.int64(-SURE)
        for index in range(node["first"], node["first"] + node["children"]):
            best = max(best, np.int64(forest.nodes[index]["proven"]))
        if best == 0:
            return
        best += -1 if best > 0 else 1
        same = forest.nodes[node["first"]]["mover"] == node["mover"]
        node["proven"] = best if same else -best


@jit(nogil=True)
def expand(
    start: Position,
    forest: Forest,
    logits: NDArray[np.float32],
    values: NDArray[np.float32],
) -> None:
    """Grow the leaves that `select` found, logits[i] and values[i] being for planes[i]."""
    forest, logits = borrow(forest), borrow(logits)
    for slot in range(len(values)):
        position = rules.load(forest.leaves[slot], start)
        tree, node = forest.trees[slot], np.int64(forest.paths[slot, forest.depths[slot]])
        player = rules.to_move(position)
        _grow(position, forest, tree, node, logits[slot])
        if forest.depths[slot] == 0:
            forest.values[tree] = values[slot]
            _prove_root(position, forest, node, slot)
        _back_up(forest, slot, np.float64(values[slot] if player == FIRST else -values[slot]))


@jit
def _grow(
    position: Position, forest: Forest, tree: Int, node: Int, logits: NDArray[np.float32]
) -> None:
    """Give a node its children, with the softmax of their logits for priors."""
    count = rules.legal_actions(position, forest.legal)
    player = rules.to_move(position)
    first = tree * (len(forest.nodes) // len(forest.roots)) + forest.sizes[tree]
    highest, total = -math.inf, 0.0
    for index in range(count):
        highest = max(highest, logits[forest.legal[index]])
    for index in range(count):
        action = np.int64(forest.legal[index])
        weight = math.exp(logits[action] - highest)
        total += weight
        _clear(forest, first + index, action, player, weight)
    for index in range(count):
        forest.nodes[first + index]["prior"] /= total
    forest.nodes[node]["first"], forest.nodes[node]["children"] = first, count
    forest.sizes[tree] += count


@jit
def _prove_root(position: Position, forest: Forest, root: Int, slot: Int) -> None:
    """Note which actions end the game at once: at the root nobody looked yet."""
    first, player = np.int64(forest.nodes[root]["first"]), rules.to_move(position)
    for index in range(first, first + forest.nodes[root]["children"]):
        child = forest.nodes[index]
        result = rules.outcome(rules.apply(position, np.int64(child["action"])))
        if result not in (ONGOING, DRAW):
            child["proven"] = SURE if result == player else -SURE
            forest.paths[slot, 1], forest.depths[slot] = index, 1
            _prove(forest, slot)
            forest.depths[slot] = 0


@jit(nogil=True)
def improved(forest: Forest, out: Improved) -> None:
    """Write what each tree learned of its root: the policy that a network should have."""
    forest, out = borrow(forest), borrow(out)
    for tree in range(len(forest.roots)):
        value = _mixed_value(forest, tree)
        count = _improve(forest, tree, value, out.actions[tree], out.policy[tree])
        out.actions[tree, count:], out.policy[tree, count:] = -1, 0
        out.chosen[tree], out.values[tree] = _choice(forest, tree), value


@jit
def _improve(
    forest: Forest,
    tree: Int,
    value: float,
    actions: NDArray[np.int32],
    policy: NDArray[np.float32],
) -> Int:
    """Write the improved policy of a root, as above; return how many actions are legal."""
    root = forest.nodes[tree * (len(forest.nodes) // len(forest.roots))]
    most, peak, total = _most_visits(forest, root), -math.inf, 0.0
    untried = -1.0 if root["proven"] else value  # what a won root did not need to try
    count = np.int64(root["children"])
    for place in range(count):
        child = forest.nodes[root["first"] + place]
        seen = child["visits"] or child["proven"]
        worth = math.log(child["prior"] + TINY) + _boost(most, _value(child) if seen else untried)
        actions[place], policy[place] = child["action"], worth
        peak = max(peak, worth)
    for place in range(count):
        policy[place] = math.exp(policy[place] - peak)
        total += policy[place]
    for place in range(count):
        policy[place] /= total
    return count


@jit
def _choice(forest: Forest, tree: Int) -> Int:
    """Return the action that won the Sequential Halving, or what is proved to be best."""
    root = forest.nodes[tree * (len(forest.nodes) // len(forest.roots))]
    most, decided = _most_visits(forest, root), root["proven"] != 0
    best, highest = np.int64(-1), -math.inf
    for place in range(root["children"]):
        child = forest.nodes[root["first"] + place]
        if decided:
            worth = np.float64(child["proven"])
        elif child["proven"] < 0:
            continue
        else:
            worth = _worth(forest, child, most) + forest.gumbel[tree, place]
            if child["visits"] != most:
                worth -= LAST
        if worth > highest:
            best, highest = np.int64(child["action"]), worth
    return best


@jit
def _mixed_value(forest: Forest, tree: Int) -> float:
    """Return the root's value to the player to move: the network's, mixed with what was tried."""
    root = forest.nodes[tree * (len(forest.nodes) // len(forest.roots))]
    if root["proven"]:
        return -_value(root)
    weight, total, visits = 0.0, 0.0, 0
    for index in range(root["first"], root["first"] + root["children"]):
        child = forest.nodes[index]
        if child["visits"]:
            weight += child["prior"]
            total += child["prior"] * _value(child)
            visits += child["visits"]
    if not visits:
        return np.float64(forest.values[tree])
    return (forest.values[tree] + visits * total / weight) / (1 + visits)  # type: ignore[no-any-return]


class Trees:
    """Searches of `count` positions of one game that go on in step."""

    def __init__(
        self,
        game: Game,
        count: int = 1,
        *,
        simulations: int | None = None,
        wave: int = 1,
        capacity: int | None = None,
        exploration: float = 1.5,
        considered: int = 0,
    ) -> None:
        """Make room for `capacity` nodes a tree; None: enough for all its simulations.

        `wave` leaves of each tree are evaluated together; `exploration` weighs the priors;
        `considered` actions are tried at the root by Sequential Halving, 0 leaves it to PUCT.
        Raises UnknownOption on bad values.
        """
        self.game, self.count = game, limits.whole("count", count)
        most = limits.whole("simulations", simulations)
        wave = limits.whole("wave", wave)
        if not (isinstance(exploration, int | float) and exploration >= 0):
            raise UnknownOption(f"exploration={exploration!r}; it is 0 or more")
        if considered and simulations is None:
            raise UnknownOption(f"considered={considered}; that takes a number of simulations")
        if capacity is None:
            capacity = (min(most, MOST_NODES // game.num_actions) + wave + 2) * game.num_actions
        self._settings = Settings(
            np.int64(most), np.int64(wave), np.float64(exploration), np.int64(considered)
        )
        self._forest = self._make_forest(capacity, self.count * wave)
        shape = self.count, game.num_actions
        self._improved = Improved(
            np.empty(shape, np.int32),
            np.empty(shape, np.float32),
            np.empty(self.count, np.int64),
            np.empty(self.count, np.float32),
        )
        self._now = self._settings

    def _make_forest(self, capacity: int, leaves: int) -> Forest:
        game, count, considered = self.game, self.count, int(self._settings.considered)
        tries = int(self._settings.simulations) if considered else 0
        rows = [_halving(number, tries) for number in range(considered + 1)]
        return Forest(
            nodes=np.empty(count * capacity, NODE),
            roots=np.zeros((count, len(game.initial)), np.uint64),
            values=np.zeros(count, np.float32),
            sizes=np.zeros(count, np.int64),
            done=np.zeros(count, np.int64),
            gumbel=np.zeros((count, game.num_actions), np.float32),
            schedule=np.array(rows, np.int64),
            paths=np.zeros((leaves, LONGEST + 1), np.int32),
            depths=np.zeros(leaves, np.int32),
            trees=np.zeros(leaves, np.int64),
            leaves=np.zeros((leaves, len(game.initial)), np.uint64),
            planes=np.zeros((leaves, *game.observation_shape), np.int8),
            keys=np.zeros(LONGEST + 1, np.uint64),
            legal=np.empty(game.num_actions, np.int32),
        )

    def begin(
        self,
        positions: NDArray[np.uint64],
        rng: np.random.Generator | None = None,
        *,
        simulations: int | None = None,
        wave: int | None = None,
    ) -> None:
        """Begin anew from positions, uint64[count, fields], in none of which the game is over.

        With `rng` the root's actions get Gumbel noise: what is chosen is drawn by the policy. Fewer
        simulations and leaves together than the trees were made for may be asked for.
        """
        most = self._settings
        self._now = most._replace(
            simulations=np.int64(simulations or most.simulations), wave=np.int64(wave or most.wave)
        )
        self._forest.roots[:] = positions
        self._forest.gumbel[:] = 0 if rng is None else rng.gumbel(size=self._forest.gumbel.shape)
        begin(self.game.initial, self._forest)

    def select(self) -> NDArray[np.int8]:
        """Return what wants evaluation, int8[N, C, H, W]; N is 0 when the search is over.

        It is a view that the next `select` overwrites.
        """
        waiting = int(select(self.game.initial, self._forest, self._now))
        return self._forest.planes[:waiting]

    def expand(self, logits: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        """Go on with the evaluation, as `Evaluate` returns it, of what `select` returned."""
        expand(self.game.initial, self._forest, logits, values)

    def run(self, evaluate: Evaluate) -> None:
        """Search to the end."""
        while len(planes := self.select()):
            self.expand(*evaluate(planes))

    def improved(self) -> "Improved":
        """Return what was learned, in arrays that the next call overwrites."""
        improved(self._forest, self._improved)
        return self._improved

    @property
    def simulations(self) -> int:
        """How many there were in all trees."""
        return int(np.maximum(self._forest.done, 0).sum())

    def found(self) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], float]:
        """Return of the first tree: its best line, the root's actions with their visits, its value.

        What is won is played, the sooner the better; else what was visited most.
        """
        nodes, node = self._forest.nodes, 0
        line: list[int] = []
        while nodes[node]["first"] > 0:
            children = self._children(node)
            best = _best(nodes[children])
            node = children.start + best
            if line and not nodes[node]["visits"]:
                break
            line.append(int(nodes[node]["action"]))
        tried = nodes[self._children(0)]
        order = np.argsort(-tried["visits"], kind="stable")
        visits = tuple((int(tried["action"][i]), int(tried["visits"][i])) for i in order)
        root = nodes[0]
        value = np.sign(root["proven"]) or root["total"] / root["visits"]
        return tuple(line), visits, -float(value)  # to the opponent, who made the root

    def _children(self, node: int) -> slice:
        first = int(self._forest.nodes[node]["first"])
        return slice(first, first + int(self._forest.nodes[node]["children"]))


class PUCT:
    """The search of one position. Every search begins with an empty tree."""

    def __init__(
        self,
        game: Game,
        evaluate: Evaluate,
        *,
        wave: int = 16,
        exploration: float = 1.5,
        capacity: int = MOST_NODES,
    ) -> None:
        """Search by what `evaluate` says; the rest is as for `Trees`.

        Fewer than `wave` leaves are evaluated together where only few simulations are asked for.
        """
        self.game, self._evaluate, self._wave = game, evaluate, limits.whole("wave", wave)
        self._trees = Trees(game, wave=wave, exploration=exploration, capacity=capacity)
        self.search(game.initial, simulations=1)  # compiles

    def search(
        self,
        position: Position,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
    ) -> Report:
        """Return what was found in so many simulations or seconds, at least by looking once.

        Where only one action is legal nothing is looked at. Raises UnknownOption for limits that
        are none and where there is no limit, IllegalAction where the game is over.
        """
        began = time.perf_counter()
        legal = self.game.legal_actions(position)
        if not len(legal):
            raise self.game.illegal(position, None)
        limits.check_seconds(seconds)
        limits.check_any(simulations=simulations, seconds=seconds)
        most = limits.whole("simulations", simulations)
        if len(legal) == 1:
            spent = time.perf_counter() - began
            return Report(line=(int(legal[0]),), value=None, depth=0, nodes=0, seconds=spent)
        wave = max(1, min(self._wave, most // SHARE))
        self._trees.begin(np.array([position], np.uint64), simulations=most, wave=wave)
        deadline = began + (math.inf if seconds is None else seconds)
        self._run(deadline)
        line, visits, value = self._trees.found()
        return Report(
            line=line,
            value=value,
            depth=len(line),
            nodes=self._trees.simulations,
            seconds=time.perf_counter() - began,
            visits=visits,
        )

    def _run(self, deadline: float) -> None:
        """Search to the end, or until another wave would be too late."""
        longest, now = 0.0, time.perf_counter()
        while len(planes := self._trees.select()):
            self._trees.expand(*self._evaluate(planes))
            before, now = now, time.perf_counter()
            longest = max(longest, now - before)
            if now + longest > deadline:
                return


def _best(children: NDArray[Any]) -> int:
    """Return which of these nodes to play."""
    wins = children["proven"]
    if wins.max() != 0:
        return int(wins.argmax())
    return int(np.where(wins < 0, -1, children["visits"] + children["prior"]).argmax())


def _halving(considered: int, simulations: int) -> list[int]:
    """Return how many visits the action that each simulation tries has by then.

    Of the actions considered, all get equally many; then the better half of them, and so on.
    """
    visits = [0] * max(1, considered)
    order: list[int] = []
    phases = max(1, math.ceil(math.log2(len(visits))))
    number = len(visits)
    while len(order) < simulations:
        for _ in range(max(1, simulations // (phases * number))):
            order += visits[:number]
            visits[:number] = [each + 1 for each in visits[:number]]
        number = max(min(2, len(visits)), number // 2)
    return order[:simulations]
