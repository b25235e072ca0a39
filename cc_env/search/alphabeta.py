"""Alpha-beta search: iterative deepening, transposition table, principal variation search.

The value of a position to the player to move is that of plain minimax to a depth counted in turns,
which may hold several decisions; but of turns that cannot change it only so much is looked at as
proves that (Knuth and Moore, 1975). From depth 5 on a value can differ from that of plain minimax:
the table may know a position from a deeper search, or from a path on which a reply repeated it.

What was searched to the end of the game, nothing left out, holds for every depth; where that is
the whole game the search is over. In a game with margins it goes on until then, or to the greatest.

What comes after the first turn is searched with a window of no width, and again if it was better
after all (Reinefeld, 1983). Tried first are the table's action, then what makes the evaluation best
(captures and conquests among them), killers and history deciding ties; just above the horizon,
history alone. A position that occurs again on the path to it is a draw, or what the
rules make of that, see `scores.repeated`.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cc_env import rules
from cc_env.borrow import borrow
from cc_env.compile import jit
from cc_env.game import Game
from cc_env.rules import ONGOING, Bool, Int, Position
from cc_env.search import limits, memory, table
from cc_env.search.memory import (
    ACTION,
    AGE,
    CUT_SHORT,
    CUTS_MAX,
    CUTS_MIN,
    DEPTH,
    DONE,
    FOUND,
    MARGINS,
    MAX_DEPTH,
    MAX_NODES,
    MOST_DEPTH,
    NODES,
    PLIES,
    RANK,
    ROOT_PLAYER,
    ROW,
    SALT,
    STOP,
    VALUE,
    Frame,
    Tools,
)
from cc_env.search.report import Report
from cc_env.search.scores import INFINITE, MARGIN, PROVEN, WIN, expected, final, repeated
from cc_env.search.table import EXACT, LOWER, NONE, TO_THE_END, UPPER, Found

# What a rank is made of: the evaluation leads; a killer is worth more than all history.
_STATIC, _KILLER, _MOST_HISTORY = 1 << 20, 1 << 18, (1 << 18) - 1
# Keeps searches apart. Not `scramble`, of which keys are made: small numbers are positions, too.
_SALT = np.uint64(0x9FB21C651E98DF25)


@jit
def search(position: Position, frame: Frame, tools: Tools) -> Int:
    """Return the value, to the player to move, of a position in which the game goes on."""
    depth, ply, alpha, beta = frame
    player, key = rules.to_move(position), _key(position, tools)
    cut_short = tools.memory.counts[CUT_SHORT]
    is_known, value, first = _enter(position, key, frame, tools)
    if is_known:
        return value
    best: Int = np.int64(-INFINITE)
    best_action: Int = np.int64(NONE)
    listed_at = 0 if first == NONE else 1  # the table's action needs no list
    index: Int = 0
    count: Int = listed_at
    while alpha < beta:
        if index == listed_at:
            count += _rank(position, frame, first, tools)
        if index == count:
            break
        place = index - listed_at
        action, after = _take(position, frame, place, count - listed_at, first, tools)
        left = depth if rules.mid_turn(after) else depth - 1
        is_end, value = _end(after, Frame(left, ply + 1, alpha, beta), player, tools)
        same, top = rules.to_move(after) == player, beta if index == 0 else alpha + 1
        while not is_end:
            child = Frame(left, ply + 1, alpha if same else -top, top if same else -alpha)
            value = search(after, child, tools)
            value = value if same else -value
            is_end = top == beta or not alpha < value < beta
            top = beta
        if _is_stopped(tools):
            return np.int64(0)
        if value > best:
            best, best_action = value, action
        if best > alpha:
            alpha = best
            _extend(action, value, ply, tools)
        index += 1
    searched: Int = np.int64(TO_THE_END) if tools.memory.counts[CUT_SHORT] == cut_short else depth
    _leave(key, player, Found(best, best_action, searched, np.int64(0)), frame, tools)
    return best


@jit
def _enter(position: Position, key: np.uint64, frame: Frame, tools: Tools) -> tuple[bool, Int, Int]:
    """Return whether the value is known without searching, the value, and the table's action."""
    tools.memory.counts[NODES] += 1
    tools.memory.lines[frame.ply, 0] = NONE
    nothing = np.int64(NONE)
    if frame.ply >= PLIES - 1:
        tools.memory.counts[CUT_SHORT] += 1
        return True, _worth(position, rules.to_move(position), tools), nothing
    if _is_repeated(key, frame.ply, tools):
        tools.memory.counts[CUT_SHORT] += 1
        return True, repeated(position, rules.to_move(position)), nothing
    found = table.probe(tools.table, key)
    if _settles(found, frame):
        tools.memory.counts[CUT_SHORT] += found.depth != TO_THE_END
        return True, _from_here(found.value, frame.ply), nothing
    return False, np.int64(0), found.action


@jit
def _leave(key: np.uint64, player: Int, found: Found, frame: Frame, tools: Tools) -> None:
    """Keep what a node has found; its bound follows from the frame."""
    best, action, depth, _ = found
    bound = LOWER if best >= frame.beta else EXACT if best > frame.alpha else UPPER
    if bound == LOWER:
        _note_cut(action, player, frame, tools)
    entry = Found(_from_there(best, frame.ply), action, depth, np.int64(bound))
    table.keep(tools.table, key, entry, tools.memory.counts[AGE])


@jit
def _key(position: Position, tools: Tools) -> np.uint64:
    """Return the key of the position in this search; entries of older ones do not match it."""
    return rules.key(position) ^ np.uint64(tools.memory.counts[SALT]) * _SALT


@jit
def _is_repeated(key: np.uint64, ply: Int, tools: Tools) -> bool:
    """Note the key on the path; return whether it was there already."""
    tools.memory.path[ply] = key
    for earlier in range(ply):  # noqa: SIM110 (compiled)
        if tools.memory.path[earlier] == key:
            return True
    return False


@jit
def _settles(found: Found, frame: Frame) -> Bool:
    """Return whether an entry of the table answers the frame; the open window is searched anew."""
    if found.depth < frame.depth or frame.beta - frame.alpha > 1:
        return False
    value = _from_here(found.value, frame.ply)
    if found.bound == LOWER:
        return value >= frame.beta
    if found.bound == UPPER:
        return value <= frame.alpha
    return found.bound == EXACT


@jit
def _from_here(value: Int, ply: Int) -> Int:
    """Return the value counted from the root: wins in the table are counted from their node."""
    return value - ply if value >= PROVEN else value + ply if value <= -PROVEN else value


@jit
def _from_there(value: Int, ply: Int) -> Int:
    """Return the value counted from the node at this ply."""
    return value + ply if value >= PROVEN else value - ply if value <= -PROVEN else value


@jit
def _end(position: Position, frame: Frame, player: Int, tools: Tools) -> tuple[bool, Int]:
    """Return whether the search need not go on from here, and if so the value to `player`."""
    result = rules.outcome(position)
    if result != ONGOING:
        tools.memory.counts[NODES] += 1
        tools.memory.lines[frame.ply, 0] = NONE
        return True, final(position, result, player, frame.ply)
    if frame.depth > 0:
        return False, np.int64(0)
    tools.memory.counts[CUT_SHORT] += 1
    if rules.to_move(position) == player:
        return True, _quiesce(position, frame, tools)
    turned = Frame(frame.depth, frame.ply, -frame.beta, -frame.alpha)
    return True, -_quiesce(position, turned, tools)


@jit
def _quiesce(position: Position, frame: Frame, tools: Tools) -> Int:
    """Return the value to the player to move where only tactical actions are looked at.

    He may also stop here, with the evaluation, unless tactical actions are all that there are.
    """
    depth, ply, alpha, beta = frame
    tools.memory.counts[NODES] += 1
    tools.memory.lines[ply, 0] = NONE
    player = rules.to_move(position)
    best = _worth(position, player, tools)
    base = ply * len(tools.memory.legal)
    count = 0
    if ply < PLIES - 1:
        count = rules.tactical_actions(position, tools.memory.tactical[base:])
    for index in range(count):
        alpha = max(alpha, best)
        if alpha >= beta:
            break
        after = rules.apply(position, np.int64(tools.memory.tactical[base + index]))
        result, same = rules.outcome(after), rules.to_move(after) == player
        if result != ONGOING:
            tools.memory.counts[NODES] += 1
            value = final(after, result, player, ply + 1)
        else:
            low, high = (alpha, beta) if same else (-beta, -alpha)
            value = _quiesce(after, Frame(depth, ply + 1, low, high), tools)
            value = value if same else -value
        best = max(best, value)
    return best


@jit
def _rank(position: Position, frame: Frame, without: Int, tools: Tools) -> Int:
    """List the legal actions but one, with ranks and what they lead to; return how many.

    Just above the horizon nothing is played for the ranks.
    """
    memory, ply = tools.memory, frame.ply
    player, row = rules.to_move(position), ply * len(memory.legal)
    for index in range(rules.legal_actions(position, memory.legal)):
        action = np.int64(memory.legal[index])
        if action == without:
            continue
        rank = min(memory.history[player, action], _MOST_HISTORY)
        if action == memory.killers[ply, 0] or action == memory.killers[ply, 1]:
            rank += _KILLER
        if frame.depth > 1:
            after = rules.apply(position, action)
            rules.store(after, memory.positions[row])
            rank += _STATIC * _static(after, player, tools)
        memory.actions[row, ACTION] = action
        memory.actions[row, RANK] = rank
        memory.actions[row, ROW] = row
        row += 1
    return row - ply * len(memory.legal)


@jit
def _static(position: Position, player: Int, tools: Tools) -> Int:
    """Return the value to `player` without looking further."""
    result = rules.outcome(position)
    if result != ONGOING:
        return final(position, result, player, np.int64(0))
    return _worth(position, player, tools)


@jit
def _worth(position: Position, player: Int, tools: Tools) -> Int:
    """Return the evaluation for `player`, always as the player to move at the root sees it."""
    root = tools.memory.counts[ROOT_PLAYER]
    value = rules.evaluate(position, root, tools.evaluation)
    return value if player == root else -value


@jit
def _take(
    position: Position, frame: Frame, place: Int, count: Int, first: Int, tools: Tools
) -> tuple[Int, Position]:
    """Return the best action that is left, and what it leads to; before place 0 it is `first`.

    It is brought to its place in the list, which has `count` actions.
    """
    if place < 0:
        return first, rules.apply(position, first)
    actions = tools.memory.actions
    begin = frame.ply * len(tools.memory.legal)
    here = best = begin + place
    highest = actions[here, RANK]
    for row in range(here + 1, begin + count):
        rank = actions[row, RANK]
        if rank > highest:
            best, highest = row, rank
    for column in range(3):
        actions[best, column], actions[here, column] = actions[here, column], actions[best, column]
    action = actions[here, ACTION]
    if frame.depth > 1:
        return action, rules.load(tools.memory.positions[actions[here, ROW]], position)
    return action, rules.apply(position, action)


@jit
def _extend(action: Int, value: Int, ply: Int, tools: Tools) -> None:
    """Make `action`, followed by the line after it, the principal variation from this ply."""
    if ply == 0:
        tools.memory.counts[FOUND] = value
    tools.memory.lines[ply, 0] = action
    for index in range(PLIES - 1):
        tools.memory.lines[ply, index + 1] = tools.memory.lines[ply + 1, index]
        if tools.memory.lines[ply + 1, index] == NONE:
            break


@jit
def _note_cut(action: Int, player: Int, frame: Frame, tools: Tools) -> None:
    """Remember the action that caused a cut-off."""
    memory = tools.memory
    memory.counts[CUTS_MAX if player == memory.counts[ROOT_PLAYER] else CUTS_MIN] += 1
    memory.history[player, action] += frame.depth * frame.depth
    killers = memory.killers[frame.ply]
    if killers[0] != action:
        killers[1] = killers[0]
        killers[0] = action


@jit
def _is_stopped(tools: Tools) -> Bool:
    """Return whether a limit is reached; the first iteration, of one turn, is always finished."""
    counts = tools.memory.counts
    return bool(counts[DEPTH] > 1 and (counts[STOP] != 0 or counts[NODES] >= counts[MAX_NODES]))


@jit(nogil=True)
def deepen(position: Position, tools: Tools, best: NDArray[np.int32]) -> None:
    """Search deeper and deeper, until a limit or a certain end, with `counts` set up for it.

    `best` (int32[PLIES]) becomes the principal variation, `counts[VALUE]` its value. An iteration
    that was stopped counts if it has seen more than the best action of the one before.
    """
    tools = borrow(tools)
    counts = tools.memory.counts
    for depth in range(1, counts[MAX_DEPTH] + 1):
        counts[DEPTH] = depth
        counts[CUT_SHORT] = 0
        tools.memory.history[:] //= 2
        frame = Frame(np.int64(depth), np.int64(0), np.int64(-INFINITE), np.int64(INFINITE))
        search(position, frame, tools)
        if tools.memory.lines[0, 0] != NONE:
            best[:] = tools.memory.lines[0]
            counts[VALUE] = counts[FOUND]
        if _is_stopped(tools):
            break
        counts[DONE] = depth
        most = PROVEN if counts[MARGINS] == 1 else WIN + MARGIN * (counts[MARGINS] - 1) - PLIES
        if counts[CUT_SHORT] == 0 or abs(counts[VALUE]) >= most:
            break


class AlphaBeta:
    """The search for one game. Every search begins with an empty table.

    It is compiled code, in which other threads run on, but Ctrl-C has to wait for the limit.
    """

    def __init__(self, game: Game, evaluation: Any = None, *, table_megabytes: float = 16) -> None:
        """Make room; `evaluation` is as for `Game.evaluation`.

        Raises UnknownOption for an evaluation that is not there, and for a size that is none.
        """
        self.game = game
        chosen = game.evaluation(evaluation)
        self._tools = Tools(table.empty(table_megabytes), memory.make(game), chosen)
        self._megabytes, self._searches = table_megabytes, 0
        self.search(game.initial, depth=1)  # compiles, so that no limit of time pays for it

    def __reduce__(self) -> tuple[Callable[..., "AlphaBeta"], tuple[()]]:
        make = partial(AlphaBeta, self.game, self._tools.evaluation)
        return partial(make, table_megabytes=self._megabytes), ()  # no search needs another's room

    def search(
        self,
        position: Position,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
    ) -> Report:
        """Return what was found up to `depth` turns, `nodes` positions, or in `seconds`.

        The result depends on the arguments alone, unless `seconds` cut it short. At least one turn
        is always looked ahead; where only one action is legal nothing is. Raises UnknownOption for
        limits that are none and where there is no limit, IllegalAction where the game is over.
        """
        began = time.perf_counter()
        legal = self.game.choices(position)
        most = limits.whole("depth", depth, MOST_DEPTH), limits.whole("nodes", nodes)
        limits.check_seconds(seconds)
        limits.check_any(depth=depth, nodes=nodes, seconds=seconds)
        counts = self._prepare(position, most)
        line = np.full(PLIES, NONE, np.int32)
        if len(legal) == 1:
            line[0] = legal[0]
        else:
            with limits.alarm(counts, STOP, seconds):
                deepen(position, self._tools, line)
        found = counts.tolist()
        score = None if len(legal) == 1 else found[VALUE]
        return Report(
            line=tuple(line[: line.tolist().index(NONE)].tolist()),
            score=score,
            value=None if score is None else expected(score),
            depth=found[DONE],
            nodes=found[NODES],
            seconds=time.perf_counter() - began,
            is_exact=found[DONE] == found[DEPTH] > 0 and not found[CUT_SHORT],
            cuts_max=found[CUTS_MAX],
            cuts_min=found[CUTS_MIN],
        )

    def stop(self) -> None:
        """Let a search that runs in another thread end soon; later ones run as asked."""
        self._tools.memory["counts"][STOP] = 1

    def _prepare(self, position: Position, most: tuple[int, int]) -> NDArray[np.int64]:
        """Forget the search before; return the counts, set up for a new one."""
        memory = self._tools.memory
        memory["killers"][:] = NONE
        memory["history"][:] = 0
        counts: NDArray[np.int64] = memory["counts"]
        counts[:] = 0
        counts[MAX_DEPTH], counts[MAX_NODES] = most
        counts[ROOT_PLAYER], counts[MARGINS] = self.game.to_move(position), self.game.max_margin
        self._searches += 1
        counts[AGE] = self._searches % table.AGES
        if not counts[AGE]:  # entries from here on are no longer older
            self._tools.table[:] = 0
        counts[SALT] = self._searches
        return counts
