"""Alpha-beta search: iterative deepening, transposition table, principal variation search.

The search returns the minimax value of a position to the player to move (Knuth and Moore, 1975).
Depth is counted in turns; a turn may take several decisions, each of which is a ply. From depth 5
on, the value can differ from plain minimax: the transposition table may hold a position from a
deeper search, or from a path on which a reply repeated it.

The result of a subtree is valid at every depth if no line was cut off by depth: all lines end with
the game or at exact values of tables. Once this holds at the root, deepening stops. It also stops
at a proven win or loss; in a game with margins, only at the greatest margin.

Nodes are searched by principal variation search: the first action with the full window, the others
with a null window, and again with the full window if they fail high (Reinefeld, 1983). Move
ordering: the table's action first, then the static evaluation after the action, ties broken by
killers and history; at depth 1, killers and history alone. A position that repeats one on its own
path is scored as a draw, or by the game's repetition rule.

A selective search reduces late moves: all actions but the first few are searched less deeply by
some turns, and again to the full depth if their value exceeds the best so far. It reaches greater
depths in the same time and may overlook short lines. Its values differ from plain minimax; its
proofs are valid.

Shapes: A = `num_actions`, L legal actions.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cc_env.core import rules
from cc_env.core.game import Game
from cc_env.core.rules import FIRST, ONGOING, SECOND, Bool, Int, Position
from cc_env.errors import check_bool
from cc_env.jit.compiler import jit
from cc_env.jit.raw_arrays import by_reference
from cc_env.search import limits, transposition
from cc_env.search.result import SearchResult
from cc_env.search.scores import (
    INFINITE,
    MARGIN,
    PROVEN,
    WIN,
    exact_score,
    expected_result,
    repetition_score,
    terminal_score,
)
from cc_env.search.transposition import (
    EXACT,
    FULL_DEPTH,
    LOWER,
    NO_ACTION,
    UPPER,
    TableEntry,
    make_table,
)
from cc_env.search.workspace import (
    ACTION,
    MAX_DEPTH,
    MAX_PLIES,
    RANK,
    ROW,
    Context,
    Frame,
    make_workspace,
)
from cc_env.tablebase.lookup import exact_value
from cc_env.tablebase.tablebase import Tablebase, load_tables
from cc_env.tablebase.values import UNKNOWN

# Move-ordering ranks: the evaluation dominates; a killer outranks any history score.
_STATIC, _KILLER, _MOST_HISTORY = 1 << 20, 1 << 18, (1 << 18) - 1
# A selective search reduces the depth of actions from these places on by 1, 2 and 3 turns, if
# enough turns remain.
_LATE, _LATER, _LATEST = 3, 8, 20
# Multiplied by the number of the search, it salts the keys. Not `mix`, as position keys are
# scrambled words, and a small number is a valid word of a position.
_SALT = np.uint64(0x9FB21C651E98DF25)
# Searches of an action: none, as its value is known; with the full window; with a null window,
# which only tests whether the value exceeds alpha; and the same test to a reduced depth.
_NONE, _FULL_WINDOW, _NULL_WINDOW, _REDUCED = range(4)


@jit
def search(position: Position, frame: Frame, context: Context) -> Int:
    """Return the value of an unfinished position to the player to move.

    It is exact inside the window of the frame, otherwise a bound, and 0 if the search is stopped.
    """
    depth, ply, alpha, beta = frame
    player, key = rules.to_move(position), _key(position, context)
    truncated = context.workspace.truncated
    is_known, value, table_action = _enter(position, key, frame, context)
    if is_known:
        return value
    best: Int = np.int64(-INFINITE)
    best_action: Int = np.int64(NO_ACTION)
    # The table's action is tried before any are generated.
    listed_at = 0 if table_action == NO_ACTION else 1
    index: Int = np.int64(0)
    count: Int = np.int64(listed_at)
    while alpha < beta:
        if index == listed_at:
            count += _rank(position, frame, table_action, context)
        if index == count:
            break
        place = index - listed_at
        action, after = _take(position, frame, place, count - listed_at, table_action, context)
        remaining = depth if rules.mid_turn(after) else depth - 1
        inner = Frame(remaining, ply + 1, alpha, beta)
        is_leaf, value = _evaluate_leaf(after, inner, player, context)
        is_same_player = rules.to_move(after) == player
        reduction = _reduction(remaining, index, context)
        kind = _NONE if is_leaf else _first_search(index, reduction)
        while kind != _NONE:
            turns = remaining - reduction if kind == _REDUCED else remaining
            upper = beta if kind == _FULL_WINDOW else alpha + 1
            low, high = (alpha, upper) if is_same_player else (-upper, -alpha)
            value = search(after, Frame(turns, ply + 1, low, high), context)
            value = value if is_same_player else -value
            kind = _next_search(kind, value, alpha, beta)
        if _is_stopped(context):
            return np.int64(0)
        if value > best:
            best, best_action = value, action
        if best > alpha:
            alpha = best
            _update_line(action, value, ply, context)
        index += 1
    searched: Int = np.int64(FULL_DEPTH) if context.workspace.truncated == truncated else depth
    _leave(key, player, TableEntry(best, best_action, searched, np.int64(0)), frame, context)
    return best


@jit
def _enter(
    position: Position, key: np.uint64, frame: Frame, context: Context
) -> tuple[bool, Int, Int]:
    """Enter a node: return whether its value is known already, the value, the table's action."""
    _visit(frame.ply, context)
    nothing = np.int64(NO_ACTION)
    if frame.ply >= MAX_PLIES - 1:
        context.workspace.truncated += 1
        value = _evaluate(position, rules.to_move(position), context.evaluation, context)
        return True, value, nothing
    if _push_key(key, frame.ply, context):
        context.workspace.truncated += 1
        return True, repetition_score(position, rules.to_move(position)), nothing
    entry = transposition.probe(context.table, key)
    if _is_cutoff(entry, frame):
        context.workspace.truncated += entry.depth != FULL_DEPTH
        return True, _add_plies(entry.value, -frame.ply), nothing
    return False, np.int64(0), entry.action


@jit
def _visit(ply: Int, context: Context) -> None:
    """Count a position, and clear the principal variation from it."""
    context.workspace.nodes += 1
    context.workspace.lines[ply, 0] = NO_ACTION


@jit
def _leave(key: np.uint64, player: Int, result: TableEntry, frame: Frame, context: Context) -> None:
    """Leave a node: store its result in the table, with the bound that its window implies."""
    best, action, depth, _ = result
    bound = LOWER if best >= frame.beta else EXACT if best > frame.alpha else UPPER
    if bound == LOWER:
        _record_cutoff(action, player, frame, context)
    entry = TableEntry(_add_plies(best, frame.ply), action, depth, np.int64(bound))
    transposition.store(context.table, key, entry, context.workspace.age)


@jit
def _key(position: Position, context: Context) -> np.uint64:
    """Return the position's key, salted so that entries of earlier searches do not match."""
    return rules.key(position) ^ np.uint64(context.workspace.salt) * _SALT


@jit
def _push_key(key: np.uint64, ply: Int, context: Context) -> bool:
    """Put the key on the path at `ply`; return whether it occurred before."""
    context.workspace.path[ply] = key
    for earlier in range(ply):  # noqa: SIM110 (compiled)
        if context.workspace.path[earlier] == key:
            return True
    return False


@jit
def _is_cutoff(entry: TableEntry, frame: Frame) -> Bool:
    """Return whether a table entry causes a cutoff; never at full-window nodes."""
    if entry.depth < frame.depth or frame.beta - frame.alpha > 1:
        return False
    value = _add_plies(entry.value, -frame.ply)
    if entry.bound == LOWER:
        return value >= frame.beta
    if entry.bound == UPPER:
        return value <= frame.alpha
    return entry.bound == EXACT


@jit
def _add_plies(value: Int, plies: Int) -> Int:
    """Return a value after adding plies to the score of a proven win or loss, nearer to its end.

    Proven scores count plies from the root in the search, and from their node in the table.
    """
    return value + plies if value >= PROVEN else value - plies if value <= -PROVEN else value


@jit
def _first_search(index: Int, reduction: Int) -> Int:
    """Return the first search of the action at `index` in the move order."""
    if index == 0:
        return np.int64(_FULL_WINDOW)
    return np.int64(_REDUCED if reduction else _NULL_WINDOW)


@jit
def _next_search(kind: Int, value: Int, alpha: Int, beta: Int) -> Int:
    """Return the search of an action after one of this kind, which returned `value`."""
    if value <= alpha or kind == _FULL_WINDOW:
        return np.int64(_NONE)
    if kind == _REDUCED:
        return np.int64(_NULL_WINDOW)
    # A value of beta or more is a cutoff; below, the null window gives only a lower bound.
    return np.int64(_FULL_WINDOW if value < beta else _NONE)


@jit
def _reduction(remaining: Int, place: Int, context: Context) -> Int:
    """Return the initial depth reduction in turns of the action at `place` in the move order."""
    if not context.workspace.is_selective or remaining < 2 or place < _LATE:
        return np.int64(0)
    return np.int64(
        1 + (place >= _LATER and remaining >= 4) + (place >= _LATEST and remaining >= 6)
    )


@jit
def _evaluate_leaf(
    position: Position, frame: Frame, player: Int, context: Context
) -> tuple[bool, Int]:
    """Return whether a position is a leaf, and its value to `player`.

    Leaves are terminal, of known exact value, or at the horizon, where the value is that of the
    quiescence search.
    """
    result = rules.outcome(position)
    if result != ONGOING:
        _visit(frame.ply, context)
        return True, terminal_score(position, result, player, frame.ply)
    exact = exact_value(position, context.tables)
    if exact != UNKNOWN:
        _visit(frame.ply, context)
        value = exact_score(exact, frame.ply)
        return True, value if rules.to_move(position) == player else -value
    if frame.depth > 0:
        return False, np.int64(0)
    context.workspace.truncated += 1
    if rules.to_move(position) == player:
        return True, _quiesce(position, frame, context)
    negated = Frame(frame.depth, frame.ply, -frame.beta, -frame.alpha)
    return True, -_quiesce(position, negated, context)


@jit
def _quiesce(position: Position, frame: Frame, context: Context) -> Int:
    """Return the value to the player to move by quiescence search: tactical actions only.

    The evaluation is the lower bound ("stand pat").
    """
    depth, ply, alpha, beta = frame
    _visit(ply, context)
    player = rules.to_move(position)
    best = _evaluate(position, player, context.evaluation, context)
    base = ply * len(context.workspace.legal)
    count = 0
    if ply < MAX_PLIES - 1:
        count = rules.tactical_actions(position, context.workspace.tactical[base:])
    for index in range(count):
        alpha = best if best > alpha else alpha
        if alpha >= beta:
            break
        after = rules.apply(position, np.int64(context.workspace.tactical[base + index]))
        result, same = rules.outcome(after), rules.to_move(after) == player
        if result != ONGOING:
            context.workspace.nodes += 1
            value = terminal_score(after, result, player, ply + 1)
        else:
            low, high = (alpha, beta) if same else (-beta, -alpha)
            value = _quiesce(after, Frame(depth, ply + 1, low, high), context)
            value = value if same else -value
        best = value if value > best else best
    return best


@jit
def _rank(position: Position, frame: Frame, without: Int, context: Context) -> Int:
    """List the legal actions except `without`, with ranks and successors; return how many.

    At depth 1 no successors are generated: the ranks are killers and history alone.
    """
    workspace, ply = context.workspace, frame.ply
    player, row = rules.to_move(position), ply * len(workspace.legal)
    for index in range(rules.legal_actions(position, workspace.legal)):
        action = np.int64(workspace.legal[index])
        if action == without:
            continue
        history = workspace.history[player, action]
        rank = history if history < _MOST_HISTORY else _MOST_HISTORY
        if action == workspace.killers[ply, 0] or action == workspace.killers[ply, 1]:
            rank += _KILLER
        if frame.depth > 1:
            after = rules.apply(position, action)
            rules.store(after, workspace.positions[row])
            rank += _STATIC * _ordering_score(after, player, context)
        workspace.actions[row, ACTION] = action
        workspace.actions[row, RANK] = rank
        workspace.actions[row, ROW] = row
        row += 1
    return row - ply * len(workspace.legal)


@jit
def _ordering_score(position: Position, player: Int, context: Context) -> Int:
    """Return the score for move ordering to `player`: the final score or a quick evaluation."""
    result = rules.outcome(position)
    if result != ONGOING:
        return terminal_score(position, result, player, np.int64(0))
    return _evaluate(position, player, context.ordering, context)


@jit
def _evaluate(position: Position, player: Int, evaluation: Any, context: Context) -> Int:
    """Return the evaluation to `player`; it is always computed for the root player."""
    root = context.workspace.root_player
    value = rules.evaluate(position, root, evaluation)
    return value if player == root else -value


@jit
def _take(
    position: Position, frame: Frame, place: Int, count: Int, first: Int, context: Context
) -> tuple[Int, Position]:
    """Return the action at `place` in the move order, and its successor; `first` has place -1.

    One step of a selection sort: the highest-ranked of the remaining listed actions is swapped to
    `place`.
    """
    if place < 0:
        return first, rules.apply(position, first)
    actions = context.workspace.actions
    begin = frame.ply * len(context.workspace.legal)
    target = best = begin + place
    highest = actions[target, RANK]
    for row in range(target + 1, begin + count):
        rank = actions[row, RANK]
        if rank > highest:
            best, highest = row, rank
    for column in range(3):
        swapped = actions[target, column]
        actions[target, column], actions[best, column] = actions[best, column], swapped
    action = actions[target, ACTION]
    if frame.depth > 1:
        return action, rules.load(context.workspace.positions[actions[target, ROW]], position)
    return action, rules.apply(position, action)


@jit
def _update_line(action: Int, value: Int, ply: Int, context: Context) -> None:
    """Make `action`, followed by the child's line, the principal variation from `ply`.

    At the root, `value` is recorded as the latest value of the search.
    """
    if ply == 0:
        context.workspace.latest_value = value
    context.workspace.lines[ply, 0] = action
    for index in range(MAX_PLIES - 1):
        context.workspace.lines[ply, index + 1] = context.workspace.lines[ply + 1, index]
        if context.workspace.lines[ply + 1, index] == NO_ACTION:
            break


@jit
def _record_cutoff(action: Int, player: Int, frame: Frame, context: Context) -> None:
    """Update statistics, history and killers for an action that caused a cutoff."""
    workspace = context.workspace
    if player == workspace.root_player:
        workspace.cuts_max += 1
    else:
        workspace.cuts_min += 1
    workspace.history[player, action] += frame.depth * frame.depth
    killers = workspace.killers[frame.ply]
    if killers[0] != action:
        killers[1] = killers[0]
        killers[0] = action


@jit
def _is_stopped(context: Context) -> Bool:
    """Return whether a limit is reached; the first iteration, at depth 1, always finishes."""
    workspace = context.workspace
    is_over_limit = workspace.stop != 0 or workspace.nodes >= workspace.max_nodes
    return bool(workspace.depth > 1 and is_over_limit)


@jit(nogil=True)
def deepen(
    position: Position,
    player: Int,
    depth: Int,
    nodes: Int,
    context: Context,
    best: NDArray[np.int32],
) -> None:
    """Run iterative deepening to `depth` turns, until a limit is reached or the value is certain.

    A limit is reached after `nodes` positions, or when another thread sets `stop` of the workspace.
    The evaluation is computed for `player`. Writes the principal variation to `best`,
    int32[MAX_PLIES] padded with NO_ACTION, and its value to the player to move to `value` of the
    workspace. The line of an interrupted iteration is used if it completed at least one root
    action.
    """
    context = by_reference(context)
    workspace = context.workspace
    _reset(player, nodes, context)
    for turns in range(1, depth + 1):
        _begin_iteration(turns, context)
        frame = Frame(np.int64(turns), np.int64(0), np.int64(-INFINITE), np.int64(INFINITE))
        search(position, frame, context)
        if workspace.lines[0, 0] != NO_ACTION:
            for index in range(MAX_PLIES):
                best[index] = workspace.lines[0, index]
            workspace.value = workspace.latest_value
        if _is_stopped(context):
            break
        workspace.completed_depth = turns
        # A deeper search cannot find a greater margin than the greatest.
        greatest = WIN + MARGIN * (workspace.max_margin - 1) - MAX_PLIES
        decisive = PROVEN if workspace.max_margin == 1 else greatest
        if workspace.truncated == 0 or abs(workspace.value) >= decisive:
            break


@jit(nogil=True)
def score_all(
    position: Position,
    depth: Int,
    nodes: Int,
    context: Context,
    actions: NDArray[np.int32],
    scores: NDArray[np.int64],
) -> Int:
    """Write the legal actions of an unfinished position and their scores; return their number.

    `actions` is int32[A], `scores` int64[2 * A]; the second half is a buffer. All actions are
    searched to the same depth, which increases until a limit of `deepen` is reached or all values
    are certain. The scores of an interrupted iteration are dropped.
    """
    context = by_reference(context)
    workspace = context.workspace
    player = np.int64(rules.to_move(position))
    _reset(player, nodes, context)
    count = rules.legal_actions(position, actions)
    for turns in range(1, depth + 1):
        _begin_iteration(turns, context)
        _push_key(_key(position, context), np.int64(0), context)
        for index in range(count):
            after = rules.apply(position, np.int64(actions[index]))
            scores[count + index] = _score(after, player, turns, context)
        if _is_stopped(context):
            break
        for index in range(count):
            scores[index] = scores[count + index]
        workspace.completed_depth = turns
        if workspace.truncated == 0:
            break
    return np.int64(count)


@jit
def _score(position: Position, player: Int, turns: Int, context: Context) -> Int:
    """Return the value to `player` of a position after one action of a search to `turns` turns."""
    depth = turns if rules.mid_turn(position) else turns - 1
    frame = Frame(depth, np.int64(1), np.int64(-INFINITE), np.int64(INFINITE))
    is_leaf, value = _evaluate_leaf(position, frame, player, context)
    if not is_leaf:
        value = search(position, frame, context)
        value = value if rules.to_move(position) == player else -value
    return value


@jit
def _begin_iteration(turns: Int, context: Context) -> None:
    """Begin an iteration of a search to `turns` turns; earlier iterations count half."""
    workspace = context.workspace
    workspace.depth = turns
    workspace.truncated = 0
    for action in range(workspace.history.shape[1]):
        workspace.history[FIRST, action] //= 2
        workspace.history[SECOND, action] //= 2


@jit
def _reset(player: Int, nodes: Int, context: Context) -> None:
    """Reset the workspace, so that a search by `player` is independent of earlier ones."""
    workspace = context.workspace
    workspace.root_player = player
    workspace.max_nodes = nodes
    for ply in range(MAX_PLIES):
        workspace.killers[ply, 0] = workspace.killers[ply, 1] = NO_ACTION
    for action in range(workspace.history.shape[1]):
        workspace.history[FIRST, action] = workspace.history[SECOND, action] = 0
    workspace.nodes = workspace.cuts_max = workspace.cuts_min = 0
    workspace.depth = workspace.completed_depth = workspace.truncated = 0
    workspace.value = workspace.latest_value = 0
    workspace.salt += 1
    workspace.age = workspace.salt % transposition.AGES
    # Ages wrap around: drop all entries.
    if workspace.age == 0:
        for slot in range(len(context.table)):
            context.table[slot, 0] = context.table[slot, 1] = 0


def make_context(
    game: Game,
    evaluation: Any,
    *,
    table_megabytes: float,
    tables: Tablebase | None = None,
    selective: bool = False,
) -> Context:
    """Return the context for `deepen`, for one thread.

    Raises UnknownOption for an unknown evaluation, BadOption for a table size out of range or
    tables of another game, BadTable for a damaged table.
    """
    weights = rules.with_cache(game.evaluation(evaluation))
    table, workspace = make_table(table_megabytes), make_workspace(game)
    workspace["max_margin"], workspace["is_selective"] = game.max_margin, selective
    ordering = rules.ordering_evaluation(weights)
    return Context(table, workspace, weights, ordering, load_tables(tables, game))


class ScoredActions(NamedTuple):
    """The legal actions of a position with their scores to the player to move."""

    actions: NDArray[np.int32]  # [L]
    scores: NDArray[np.int64]  # [L]
    # Turns searched.
    depth: int
    # Positions visited.
    nodes: int


def _check_limits(depth: int | None, nodes: int | None, seconds: float | None) -> tuple[int, int]:
    """Return the maximum depth and number of nodes of a search; raise BadOption."""
    max_depth = limits.check_limit("depth", depth, MAX_DEPTH)
    max_nodes = limits.check_limit("nodes", nodes)
    limits.check_seconds(seconds)
    limits.require_any(depth=depth, nodes=nodes, seconds=seconds)
    return max_depth, max_nodes


class AlphaBeta:
    """Alpha-beta search for one game. Searches are independent: no table entry outlives one.

    The compiled code releases the GIL, so other threads run meanwhile; Ctrl-C takes effect only
    when the search ends.
    """

    def __init__(
        self,
        game: Game,
        evaluation: Any = None,
        *,
        table_megabytes: float = 16,
        tables: Tablebase | None = None,
        selective: bool = False,
    ) -> None:
        """Allocate the transposition table and the workspace; load `tables` of exact values.

        `evaluation` is one of the game, or its name, by default the first; a `selective` search
        reduces late moves. Raises UnknownOption for an unknown evaluation, BadOption for a table
        size out of range or tables of another game, BadTable for a damaged table.
        """
        check_bool("selective", selective)
        self.game, self._selective = game, bool(selective)
        self._megabytes, self._tables = table_megabytes, tables
        self._context = make_context(
            game,
            evaluation,
            table_megabytes=table_megabytes,
            tables=tables,
            selective=self._selective,
        )
        # The first search compiles, outside of any time limit.
        self.search(game.initial, depth=1)

    def __reduce__(self) -> tuple[Callable[..., "AlphaBeta"], tuple[()]]:
        make = partial(AlphaBeta, self.game, self._context.evaluation)
        # Buffers are not copied.
        options = {"tables": self._tables, "selective": self._selective}
        return partial(make, table_megabytes=self._megabytes, **options), ()

    def search(
        self,
        position: Position,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
    ) -> SearchResult:
        """Search until the first of these limits: `depth` turns, `nodes` positions, `seconds`.

        The result is deterministic unless `seconds` interrupts the search. Depth 1 is always
        completed; a single legal action is returned without a search. Raises BadOption if a limit
        is out of range or no limit is given, IllegalAction if the game is over.

        Examples:

            >>> import cc_env
            >>> game = cc_env.make_game("capture_conquer")
            >>> from cc_env.search import AlphaBeta
            >>> result = AlphaBeta(game).search(game.initial, depth=3)
            >>> result.depth
            3
            >>> game.turn_texts(game.initial, result.line)
            ['0,1-2,1', '5,4-3,4', '0,2-1,2']
        """
        began = time.perf_counter()
        legal = self.game.choices(position)
        max_depth, max_nodes = _check_limits(depth, nodes, seconds)
        if len(legal) == 1:
            return SearchResult(line=(int(legal[0]),))
        workspace = self._context.workspace
        line = np.full(MAX_PLIES, NO_ACTION, np.int32)
        workspace["stop"] = 0
        with limits.alarm(workspace, seconds):
            player = self.game.to_move(position)
            deepen(position, player, max_depth, max_nodes, self._context, line)
        score, completed_depth = int(workspace["value"]), int(workspace["completed_depth"])
        is_complete = completed_depth == workspace["depth"] > 0
        return SearchResult(
            line=tuple(line[: line.tolist().index(NO_ACTION)].tolist()),
            score=score,
            value=expected_result(score),
            depth=completed_depth,
            nodes=int(workspace["nodes"]),
            seconds=time.perf_counter() - began,
            is_exact=bool(is_complete and not workspace["truncated"]),
            cuts_max=int(workspace["cuts_max"]),
            cuts_min=int(workspace["cuts_min"]),
        )

    def score_actions(
        self,
        position: Position,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
    ) -> ScoredActions:
        """Return the scores of all legal actions, searched to the same depth.

        The search ends at the first of the limits, which are those of `search`; depth 1 is always
        completed. It takes longer than a search for the best action alone. Raises as `search`.
        """
        count = len(self.game.choices(position))
        max_depth, max_nodes = _check_limits(depth, nodes, seconds)
        workspace = self._context.workspace
        actions = np.empty(self.game.num_actions, np.int32)
        scores = np.empty(2 * len(actions), np.int64)
        workspace["stop"] = 0
        with limits.alarm(workspace, seconds):
            score_all(position, max_depth, max_nodes, self._context, actions, scores)
        return ScoredActions(
            actions[:count],
            scores[:count],
            int(workspace["completed_depth"]),
            int(workspace["nodes"]),
        )

    def stop(self) -> None:
        """Stop a search that runs in another thread; later searches are not affected."""
        self._context.workspace["stop"] = 1
