"""Tree search guided by a network: PUCT of one position, and the same over many games at once.

Whoever searches evaluates: `Trees.select` says what is to be looked at, `Trees.expand` takes what
the network said of it. How the trees grow is in forest.py.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env.errors import UnknownOption
from cc_env.game import Game
from cc_env.rules import Position
from cc_env.search import evaluations, forest, limits
from cc_env.search.forest import EARLIER, EDGE, LONGEST, NODE, Forest, Improved, Settings
from cc_env.search.report import Report

# What evaluates: logits float32[N, num_actions], values float32[N] to the player to move, of
# observations int8[N, C, H, W].
Evaluate = Callable[[NDArray[np.int8]], tuple[NDArray[np.float32], NDArray[np.float32]]]

MOST_EDGES = 2**22  # of a tree, by default
EDGES = 8  # for each node, where room is made
SHARE = 16  # of the simulations, at least as many batches


class Trees:
    """Searches of `count` positions of one game that go on in step."""

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
    ) -> None:
        """Make room for `capacity` edges a tree; None: enough for all its simulations.

        `batch` leaves of each tree are evaluated together; `exploration` weighs the priors;
        a repetition is thought to cost the root's player `contempt`; `considered` actions are tried
        at the root by Sequential Halving, 0 leaves it to PUCT.
        Raises UnknownOption on bad values.
        """
        self.game, self.count = game, limits.whole("count", count)
        most = limits.whole("simulations", simulations)
        batch = limits.whole("batch", batch)
        limits.check_exploration(exploration)
        limits.check_contempt(contempt)
        if considered and simulations is None:
            raise UnknownOption(f"considered={considered}; that takes a number of simulations")
        if capacity is None:
            capacity = (min(most, MOST_EDGES // game.num_actions) + batch + 2) * game.num_actions
        if (batch + 2) * game.num_actions > capacity:
            at_most = capacity // game.num_actions - 2
            raise UnknownOption(
                f"batch={batch}; with room for {capacity} edges it is 1 to {at_most}"
            )
        self._settings = Settings(
            np.int64(most),
            np.int64(batch),
            np.float64(exploration),
            np.float64(contempt),
            np.int64(considered),
        )
        self._forest = self._make_forest(capacity, self.count * batch)
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
        nodes = capacity // min(EDGES, game.num_actions) + game.num_actions + EARLIER
        return Forest(
            nodes=np.empty((count, nodes), NODE),
            edges=np.empty((count, capacity), EDGE),
            positions=np.empty((count, nodes, len(game.initial)), np.uint64),
            places=np.zeros((count, 2 ** (2 * nodes).bit_length()), np.int64),
            searches=np.zeros(1, np.int64),
            sizes=np.zeros((count, 2), np.int64),
            done=np.zeros(count, np.int64),
            gumbel=np.zeros((count, game.num_actions), np.float32),
            schedule=np.array(rows, np.int64),
            paths=np.zeros((leaves, LONGEST + 1, 2), np.int32),
            depths=np.zeros(leaves, np.int32),
            trees=np.zeros(leaves, np.int64),
            planes=np.zeros((leaves, *game.observation_shape), np.int8),
            hashes=np.zeros(leaves, np.uint64),
            kept=evaluations.empty(),
            legal=np.empty(game.num_actions, np.int32),
            logits=np.empty(game.num_actions, np.float32),
        )

    def begin(
        self,
        positions: NDArray[np.uint64],
        rng: np.random.Generator | None = None,
        *,
        earlier: NDArray[np.uint64] | None = None,
        simulations: int | None = None,
        batch: int | None = None,
    ) -> None:
        """Begin anew from positions, uint64[count, fields], in none of which the game is over.

        With `rng` the root's actions get Gumbel noise: what is chosen is drawn by the policy.
        `earlier` are the keys of the positions that occurred in the games so far, uint64[count, K],
        0 for none. Fewer simulations and leaves together than the trees were made for may be asked
        for. Raises UnknownOption where it is more, ValueError for arrays of another shape.
        """
        most = self._settings
        self._now = most._replace(
            simulations=np.int64(limits.whole("simulations", simulations, int(most.simulations))),
            batch=np.int64(limits.whole("batch", batch, int(most.batch))),
        )
        earlier = np.zeros((self.count, 0), np.uint64) if earlier is None else earlier
        if positions.shape != (self.count, len(self.game.initial)) or len(earlier) != self.count:
            wanted = f"{self.count} positions of {len(self.game.initial)} words"
            raise ValueError(
                f"positions{positions.shape}, earlier{earlier.shape}; wanted: {wanted}"
            )
        self._forest.gumbel[:] = 0 if rng is None else rng.gumbel(size=self._forest.gumbel.shape)
        forest.begin(self.game.initial, positions, earlier, self._forest)
        self._waiting = 0

    def select(self) -> NDArray[np.int8] | None:
        """Return what wants evaluation, int8[N, C, H, W]; None when the search is over.

        N is 0 where long there was nothing that is not known. It is a view that the next `select`
        overwrites.
        """
        waiting = int(forest.select(self.game.initial, self._forest, self._now))
        self._waiting = max(0, waiting)
        return None if waiting < 0 else self._forest.planes[:waiting]

    def expand(self, logits: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        """Go on with the evaluation, as `Evaluate` returns it, of what `select` returned.

        Raises ValueError for arrays of another shape.
        """
        wide = logits.ndim == 2 and logits.shape[1] >= self.game.num_actions
        if not wide or len(logits) != self._waiting or values.shape != (self._waiting,):
            wanted = f"({self._waiting}, {self.game.num_actions}), ({self._waiting},)"
            raise ValueError(f"logits{logits.shape}, values{values.shape}; wanted: {wanted}")
        self._waiting = 0
        forest.expand(self.game.initial, self._forest, self._now, logits, values)

    def run(self, evaluate: Evaluate) -> None:
        """Search to the end."""
        while (planes := self.select()) is not None:
            if len(planes):
                self.expand(*evaluate(planes))

    def forget(self) -> None:
        """Forget all evaluations: another network comes."""
        self._forest.kept.keys[:] = 0

    def improved(self) -> "Improved":
        """Return what was learned, in arrays that the next call overwrites."""
        forest.improved(self._forest, self._now, self._improved)
        return self._improved

    @property
    def simulations(self) -> int:
        """How many there were in all trees."""
        return int(np.maximum(self._forest.done, 0).sum())

    def found(self) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], float]:
        """Return of the first tree: its best line, the root's actions with their visits, its value.

        What is won is played, the sooner the better; else what was visited most.
        """
        nodes, node = self._forest.nodes[0], 0
        line: list[int] = []
        seen: set[int] = set()
        while nodes[node]["children"] > 0 and node not in seen:
            seen.add(node)
            best = self._edges(node)[_best(nodes, nodes[node], self._edges(node))]
            if line and not best["visits"]:
                break
            line.append(int(best["action"]))
            if best["target"] < 0:
                break
            node = int(best["target"])
        tried = self._edges(0)
        order = np.argsort(-tried["visits"], kind="stable")
        visits = tuple((int(tried["action"][i]), int(tried["visits"][i])) for i in order)
        return tuple(line), visits, float(nodes[0]["value"])

    def _edges(self, node: int) -> NDArray[Any]:
        one = self._forest.nodes[0, node]
        return self._forest.edges[0, one["first"] : one["first"] + one["children"]]


class PUCT:
    """The search of one position. Every search begins with an empty tree."""

    def __init__(
        self,
        game: Game,
        evaluate: Evaluate,
        *,
        batch: int = 16,
        exploration: float = 1.5,
        contempt: float = 0.0,
        capacity: int = MOST_EDGES,
    ) -> None:
        """Search by what `evaluate` says; the rest is as for `Trees`.

        Fewer than `batch` leaves are evaluated together where only few simulations are asked for.
        """
        self.game, self._evaluate, self._batch = game, evaluate, limits.whole("batch", batch)
        self._trees = Trees(
            game, batch=batch, exploration=exploration, contempt=contempt, capacity=capacity
        )
        self.search(game.initial, simulations=1)  # compiles
        self._trees.forget()

    def search(
        self,
        position: Position,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
        earlier: Sequence[Position] = (),
    ) -> Report:
        """Return what was found in so many simulations or seconds, at least by looking once.

        `earlier` are positions of the game so far; to come back to one is a draw. Where only one
        action is legal nothing is looked at. Raises UnknownOption for limits that are none and
        where there is no limit, IllegalAction where the game is over.
        """
        began = time.perf_counter()
        legal = self.game.choices(position)
        limits.check_seconds(seconds)
        limits.check_any(simulations=simulations, seconds=seconds)
        most = limits.whole("simulations", simulations)
        if len(legal) == 1:
            spent = time.perf_counter() - began
            return Report(line=(int(legal[0]),), value=None, depth=0, nodes=0, seconds=spent)
        batch = max(1, min(self._batch, most // SHARE))
        keys = np.array([[self.game.key(each) for each in earlier]], np.uint64)
        root = np.array([position], np.uint64)
        self._trees.begin(root, earlier=keys, simulations=most, batch=batch)
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
        """Search to the end, or until another batch would be too late."""
        longest, now = 0.0, time.perf_counter()
        while (planes := self._trees.select()) is not None:
            if len(planes):
                self._trees.expand(*self._evaluate(planes))
            before, now = now, time.perf_counter()
            longest = max(longest, now - before)
            if now + longest > deadline:
                return


def _best(nodes: NDArray[Any], node: Any, edges: NDArray[Any]) -> int:
    """Return which of a node's edges to play."""
    children = nodes[edges["target"]]
    signs = np.where(children["player"] == node["player"], 1, -1)
    proven = np.where(edges["target"] < 0, 0, signs * children["proven"])
    if proven.max() != 0:
        return int(proven.argmax())
    return int(np.where(proven < 0, -1, edges["visits"] + edges["prior"]).argmax())


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
