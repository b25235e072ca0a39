"""Policies: the decisions of players in compiled code, for many games in one call.

A policy is a NamedTuple; its class selects the function that `decide` calls. It contains the
buffers of its search, so every thread needs policies of its own.

Shapes: A = `num_actions`, N positions, F fields of a position.
"""

# mypy: disable-error-code="empty-body"

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cc_env.core import random_streams, rules
from cc_env.core.bitboard import mix
from cc_env.core.game import Game
from cc_env.core.rules import Int, Position
from cc_env.errors import BadPlayer
from cc_env.jit.compiler import jit, rule
from cc_env.jit.raw_arrays import as_raw
from cc_env.search import greedy
from cc_env.search.alphabeta import deepen, score_all
from cc_env.search.mcts import Tree, UCTSettings, make_tree, run_simulations
from cc_env.search.sampling import sample
from cc_env.search.scores import INFINITE
from cc_env.search.workspace import MAX_PLIES, Context
from cc_env.tablebase.tablebase import KEEPING_END, VALUE, VALUES_END, Probing, probe_into

# Megabytes of the transposition table of each thread.
TABLE_MEGABYTES = 1.0
# Nodes of a Monte-Carlo tree.
MAX_NODES = 2**20


@rule
def decide(policy: "Policy", position: Position, state: np.uint64) -> int:
    """Return the action of a policy in an unfinished position.

    `state`, of a stream of `random_streams`, determines all random choices.
    """


@jit(nogil=True)
def decide_all(
    start: Position,
    packed_policy: "Policy",
    positions: NDArray[np.uint64],
    states: NDArray[np.uint64],
    actions: NDArray[np.int64],
) -> None:
    """Write the actions of a policy in unfinished positions, uint64[N, F], into int64[N].

    `start` is any position of the game, for its type; `states`, uint64[N], are those of `decide`.
    """
    policy = as_raw(packed_policy)
    for index in range(len(positions)):
        position = rules.load(positions[index], start)
        actions[index] = decide(policy, position, states[index])


def policy_of(player: object) -> "Policy | None":
    """Return `player.make_policy()`; None if a player has no such method, or no policy.

    Raises BadPlayer if the result is anything else.
    """
    policy = player.make_policy() if hasattr(player, "make_policy") else None
    try:
        if policy is not None:
            decide.function_for([type(policy)])  # type: ignore[attr-defined]
    except TypeError:
        expected = "a policy of cc_env.search.policies, or None"
        raise BadPlayer(f"{player!r}: make_policy() is {policy!r}; expected: {expected}") from None
    return policy


class RandomPolicy(NamedTuple):
    """Plays a uniformly random legal action."""

    legal: NDArray[np.int32]  # [A]

    @classmethod
    def make(cls, game: Game) -> Self:
        """Return the policy for a game."""
        return cls(np.empty(game.num_actions, np.int32))


class GreedyPolicy(NamedTuple):
    """Decides as `GreedyPlayer`."""

    evaluation: Any
    # Buffers of `greedy.write_scores`.
    legal: NDArray[np.int32]  # [4 * A]
    scores: NDArray[np.int64]  # [A]

    @classmethod
    def make(cls, game: Game, evaluation: Any) -> Self:
        """Return the policy for a game and an evaluation."""
        legal = np.empty(4 * game.num_actions, np.int32)
        return cls(rules.with_cache(evaluation), legal, np.empty(game.num_actions, np.int64))


class AlphaBetaPolicy(NamedTuple):
    """Decides as a search of `AlphaBeta` to `depth` turns or `nodes` positions."""

    depth: np.int64
    nodes: np.int64
    context: Context
    line: NDArray[np.int32]  # [MAX_PLIES]

    @classmethod
    def make(cls, context: Context, depth: int, nodes: int) -> Self:
        """Return the policy with a context of `alphabeta.make_context`."""
        return cls(np.int64(depth), np.int64(nodes), context, np.empty(MAX_PLIES, np.int32))


class SampledAlphaBetaPolicy(NamedTuple):
    """Draws an action by the scores of a search of `AlphaBeta`, with a temperature."""

    depth: np.int64
    nodes: np.int64
    temperature: np.float64
    context: Context
    # Buffers of `score_all`.
    legal: NDArray[np.int32]  # [A]
    scores: NDArray[np.int64]  # [2 * A]

    @classmethod
    def make(cls, game: Game, context: Context, depth: int, nodes: int, temperature: float) -> Self:
        """Return the policy with a context of `alphabeta.make_context` and its limits."""
        return cls(
            np.int64(depth),
            np.int64(nodes),
            np.float64(temperature),
            context,
            np.empty(game.num_actions, np.int32),
            np.empty(2 * game.num_actions, np.int64),
        )


class UCTPolicy(NamedTuple):
    """Decides as a search of `MCTS`."""

    tree: Tree
    settings: UCTSettings

    @classmethod
    def make(cls, game: Game, settings: UCTSettings) -> Self:
        """Return the policy for a game; its tree has room for all simulations, within limits."""
        settings = settings._replace(evaluation=rules.with_cache(settings.evaluation))
        capacity = min((int(settings.simulations) + 1) * game.num_actions, MAX_NODES)
        return cls(make_tree(game, max(capacity, 2 * game.num_actions)), settings)


class PerfectPolicy(NamedTuple):
    """Decides as `PerfectPlayer`, by `fallback` in positions that no table covers."""

    probing: Probing
    # Whether it keeps the margin, and the turns of draws and losses, too.
    needs_best: np.bool_
    fallback: Any


Policy = (
    RandomPolicy
    | GreedyPolicy
    | AlphaBetaPolicy
    | SampledAlphaBetaPolicy
    | UCTPolicy
    | PerfectPolicy
)


@jit
def _decide_randomly(policy: RandomPolicy, position: Position, state: np.uint64) -> Int:
    count = rules.legal_actions(position, policy.legal)
    return np.int64(policy.legal[random_streams.below(state, count)])


@jit
def _decide_greedily(policy: GreedyPolicy, position: Position, state: np.uint64) -> Int:
    player = np.int64(rules.to_move(position))
    legal, scores = policy.legal, policy.scores
    count = greedy.write_scores(position, player, policy.evaluation, legal, scores)
    highest: Int = np.int64(-INFINITE)
    num_best: Int = np.int64(0)
    # The actions with the highest score move to the front of the list.
    for index in range(count):
        if scores[index] > highest:
            highest, num_best = scores[index], np.int64(0)
        if scores[index] == highest:
            legal[num_best] = legal[index]
            num_best += 1
    return np.int64(legal[random_streams.below(state, num_best)])


@jit
def _decide_by_alpha_beta(policy: AlphaBetaPolicy, position: Position, state: np.uint64) -> Int:
    legal = policy.context.workspace.legal
    if rules.legal_actions(position, legal) == 1:
        return np.int64(legal[0])
    player = np.int64(rules.to_move(position))
    deepen(position, player, policy.depth, policy.nodes, policy.context, policy.line)
    return np.int64(policy.line[0])


@jit
def _decide_by_sampling(
    policy: SampledAlphaBetaPolicy, position: Position, state: np.uint64
) -> Int:
    legal, scores, context = policy.legal, policy.scores, policy.context
    if rules.legal_actions(position, legal) == 1:
        return np.int64(legal[0])
    count = score_all(position, policy.depth, policy.nodes, context, legal, scores)
    return np.int64(legal[sample(scores[:count], policy.temperature, state)])


@jit
def _decide_by_uct(policy: UCTPolicy, position: Position, state: np.uint64) -> Int:
    tree = policy.tree
    if rules.legal_actions(position, tree.legal[0]) == 1:
        return np.int64(tree.legal[0, 0])
    # The search draws from a stream of its own.
    run_simulations(position, tree, policy.settings, mix(state))
    first = best = np.int64(tree.first_child[0])
    for child in range(first, first + tree.num_children[0]):
        if tree.visits[child] > tree.visits[best]:
            best = np.int64(child)
    return np.int64(tree.action[best])


@jit
def _decide_perfectly(policy: PerfectPolicy, position: Position, state: np.uint64) -> Int:
    length = probe_into(position, policy.probing)
    if length <= 0:
        return np.int64(decide(policy.fallback, position, state))
    output = policy.probing.output
    first, end = output[VALUES_END], output[KEEPING_END]
    if policy.needs_best or output[VALUE] > 0:
        first, end = end, length
    return np.int64(output[first + random_streams.below(state, end - first)])


decide.add(RandomPolicy, function=_decide_randomly)  # type: ignore[attr-defined]
decide.add(GreedyPolicy, function=_decide_greedily)  # type: ignore[attr-defined]
decide.add(AlphaBetaPolicy, function=_decide_by_alpha_beta)  # type: ignore[attr-defined]
decide.add(SampledAlphaBetaPolicy, function=_decide_by_sampling)  # type: ignore[attr-defined]
decide.add(UCTPolicy, function=_decide_by_uct)  # type: ignore[attr-defined]
decide.add(PerfectPolicy, function=_decide_perfectly)  # type: ignore[attr-defined]
